//! Tests of the site's own pages: filtered for agents, unchanged for people, and some hidden from all.

use super::*;
use crate::support::Tls;

#[tokio::test]
async fn firewall_looks_through_markdown_llms_txt_and_the_concierge() {
    let origin = leaking().await;
    let desk = site(&origin, "").reading("rate = \"200/second\"\nstart = [\"/tea\"]").start().await;
    let packed = Ask::get("/packed").accept("text/markdown").header("Accept-Encoding", "gzip");
    for ask in [Ask::get("/tea").accept("text/markdown"), Ask::get("/tea.md"), packed] {
        let response = desk.call(ask.clone()).await;
        assert_eq!(response.status, 200, "{}", response.text());
        assert_clean(&response.text(), &ask.target);
        assert!(response.text().contains("[redacted:github-token], of"), "readable: {}", response.text());
        assert!(
            response.headers.joined(FLAGS).contains("secret-redacted;rules=aws-access-key+github-token"),
            "{:?}",
            response.headers
        );
    }
    assert!(desk.metric("frontdesk_firewall_total{rule=\"github-token\"}").await >= Some(2.0));
    eventually("the site is read", SOON, async || {
        desk.get("/llms.txt").await.text().contains("(https://site.test/tea")
    })
    .await;
    let llms = desk.get("/llms.txt").await;
    assert_clean(&llms.text(), "llms.txt");
    assert!(llms.text().contains("[redacted:"), "{}", llms.text());
    let question = json!({ "capability": "content_search", "query": "Which tea does the old token brew?" });
    let answer = desk.call(call("/agent/converse", &question)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_clean(&answer.text(), "the concierge");
    assert!(answer.text().contains("[redacted:"), "it had something to tell: {}", answer.text());
    let listed = desk.rpc(rpc::post(rpc::message("resources/list", json!({})).to_string())).await;
    assert_clean(&listed.text(), "resources/list");
    let read = rpc::message("resources/read", json!({ "uri": "https://site.test/tea" }));
    let read = desk.rpc(rpc::post(read.to_string())).await;
    assert!(read.text().contains("[redacted:"), "{}", read.text());
    assert_clean(&read.text(), "resources/read");

    let desk = site(&origin, "").set("firewall", "secrets = \"block\"").start().await;
    let response = desk.call(Ask::get("/tea").accept("text/markdown")).await;
    assert_eq!(response.status, 502, "{}", response.text());
    assert_clean(&response.text(), "a page that is blocked");
    assert!(desk.metric("frontdesk_firewall_total{rule=\"github-token\"}").await >= Some(1.0));
}

#[tokio::test]
async fn firewall_never_touches_what_people_get() {
    let origin = leaking().await;
    let tls = Tls::new();
    let lines = "secrets = \"block\"\npii = \"block\"\ninjection = \"block\"";
    let desk = before(&origin)
        .set("firewall", lines)
        .set("discovery", "notice = false\nlink_header = false")
        .tls(&tls)
        .start()
        .await;
    for via in [Via::H1, Via::H2Tls] {
        let response = desk.ask(via, Ask::get("/tea").accept("text/html")).await;
        assert_eq!((response.status, response.text()), (200, page()), "{via:?}");
        assert!(response.header(FLAGS).is_none());
        let data = desk.ask(via, Ask::get("/api/leak")).await;
        assert_eq!(data.text(), leak(), "the site's own API is the site's");
    }
    // Nor is a page that the notice is put into.
    let desk = before(&origin).set("firewall", lines).start().await;
    let response = desk.ask(Via::H1, Ask::get("/tea").accept("text/html")).await;
    let (page, text) = (page(), response.text());
    let at = |mark: &str| page.find(mark).expect(mark);
    let (head, main) = (&page[..at("</head>")], &page[at("<main>")..at("</main>")]);
    assert!(text.len() > page.len() && text.starts_with(head) && text.contains(main), "{text}");
    assert!(response.header(FLAGS).is_none());
}

/// Thirty ways and more to ask for what is hidden.
const HIDDEN: [&str; 49] = [
    "/.ai/handoff/STATUS.md",
    "/.ai",
    "/.ai/",
    "/.AI/handoff/MANIFEST.json",
    "//.ai//handoff",
    "/docs/../.ai/x",
    "/./.ai/x",
    "/docs/.ai/x",
    "/%2eai/x",
    "/%2Eai/x",
    "/.%61i/x",
    "/.a%69/x",
    "/%2e%61%69/x",
    "/.ai%2fhandoff%2fSTATUS.md",
    "/%2f.ai/x",
    "/.ai%5cx",
    "/x%5c.ai%5cy",
    "/.ai;x/y",
    "/.ai;/y",
    "/x;y/.ai/z",
    "/.ai./x",
    "/.ai../x",
    "/.ai%20/x",
    "/.ai%00/x",
    "/.ai?x=1",
    "/.ai/x?y",
    "/%252eai/x",
    "/.aiignore",
    "/sub/.aiignore",
    "/.AIIGNORE",
    "/.aiignore.",
    "/.aiignore::$DATA",
    "/HANDOFF.lock",
    "/handoff.LOCK/",
    "/pii-allowlist.json",
    "/%70ii-allowlist.json;v=1",
    "/docs/.ai/../x",
    "/.aiignore%3f",
    "/.aiignore%23",
    "/.aiignore%253fx",
    "/%c0%aeaiignore",
    "/%u002eaiignore",
    "/.ai%e2%80%8cignore",
    "/.aiigno%c2%adre",
    "/HANDOFF.loc%e2%84%aa",
    "/%ef%bc%8eaiignore",
    "/AIIGNO~1",
    "/HANDOF~1.LOC",
    "/PII-AL~1.JSO",
];

#[tokio::test]
async fn firewall_hides_what_a_repository_keeps_for_its_agents() {
    let origin = Origin::start(|_: &Request| Reply::html("<html><body>the repository's</body></html>")).await;
    let tls = Tls::new();
    let desk = Setup::before(&origin).tls(&tls).start().await;
    for target in HIDDEN {
        for method in ["GET", "HEAD", "POST"] {
            let response = desk.call(Ask::new(method, target)).await;
            assert_eq!(response.status, 404, "{method} {target}: {}", response.text());
            assert!(!response.text().contains("repository"), "{method} {target}");
        }
    }
    assert_eq!(desk.ask(Via::H2Tls, Ask::get("/.ai/x")).await.status, 404);
    let markdown = desk.call(Ask::get("/.ai/handoff/STATUS").accept("text/markdown")).await;
    assert_eq!(markdown.status, 404, "as Markdown neither");
    let seen: Vec<String> = origin.asked().iter().map(|r| r.target.clone()).collect();
    assert!(seen.is_empty(), "the site saw {seen:?}");
    let counted = desk.metric("frontdesk_rejections_total{reason=\"hidden\"}").await;
    assert_eq!(counted, Some((HIDDEN.len() * 3 + 2) as f64));
    for target in ["/.air", "/ai/x", "/x.ai", "/?q=/.ai/x", "/handoff.lock.html"] {
        assert_eq!(desk.get(target).await.status, 200, "{target} is the site's");
    }
    let open = Setup::before(&origin).set("firewall", "hide = false").start().await;
    assert_eq!(open.get("/.ai/handoff/STATUS.md").await.status, 200);
}
