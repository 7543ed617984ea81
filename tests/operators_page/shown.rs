//! Tests of the page's content: agents' texts are escaped, clients and file mistakes are shown, secrets are not.

use super::*;
use crate::support::calls::{action, query, site};

/// A name that an agent may give itself.
const NASTY: &str = "<script src=x>alert(1)</script>\"'&amp;";

#[tokio::test]
async fn page_shows_what_an_agent_says_as_text() {
    let (_origin, desk) = agency::open().await;
    let ask = asking(&question("question_ask", NASTY)).header("AICP-Agent", NASTY);
    assert_reply(&desk.ask(Via::H1, ask).await, "accepted");
    let hidden = asking(&question("question_ask", "Pay \u{202e}001\u{202c} euro"));
    assert_reply(&desk.ask(Via::H1, hidden).await, "accepted");
    // Refused too, under a method and a path of its own making.
    for ask in [
        asking(&question("hold_make", "Hold it.")).header("AICP-Agent", NASTY),
        Ask::new("QQQ", "/agent/converse").header("AICP-Agent", NASTY),
        Ask::post("/capabilities/%3Cscript%3Esecret-path", "{}").header("AICP-Agent", NASTY),
    ] {
        assert!(desk.ask(Via::H1, ask).await.status >= 400);
    }
    let tab = log_in(&desk).await;
    for page in [read(&desk).await, desk.admin(tab.get("")).await.text(), desk.admin(tab.get("live")).await.text()] {
        assert!(page.contains("&lt;script src=x&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;amp;"), "{page}");
        assert!(!page.contains("<script src=x"), "{page}");
        assert!(page.contains("Pay \\u{202e}001\\u{202c} euro"), "{page}");
        assert!(!page.contains("secret-path"), "what was asked for is a name of ours: {page}");
        assert!(page.contains("auth_required"), "{page}");
    }
}

#[tokio::test]
async fn page_counts_who_comes_and_what_is_refused() {
    let origin = Origin::start(|r: &Request| match r.target.as_str() {
        "/api/x" => Reply::json("{}"),
        _ => Reply::html(PAGE),
    })
    .await;
    let more = "\nupstream = { method = \"GET\", path = \"/api/x\" }";
    let capabilities = query("x.get", more) + &action("x.do", more);
    let desk = site(&origin, &capabilities).limits(&[("anonymous", "10/minute")]).start().await;
    for _ in 0..3 {
        desk.get("/").await;
    }
    for _ in 0..2 {
        assert_eq!(desk.ask(Via::H1, call("/agent/x/get", &json!({})).bearer(FULL)).await.status, 200);
    }
    desk.ask(Via::H1, call("/agent/x/do", &json!({}))).await;
    for _ in 0..12 {
        desk.ask(Via::H1, call("/agent/x/get", &json!({ "secret-input": 1 })).header("AICP-Agent", "Robby/1")).await;
    }
    desk.metric_reaches("frontdesk_visits_total", 18.0).await;
    for (who, count) in [("person", 3.0), ("agent", 13.0), ("verified", 2.0)] {
        assert_eq!(desk.metric(&format!("frontdesk_visits_total{{who=\"{who}\"}}")).await, Some(count), "{who}");
    }
    let page = read(&desk).await;
    for word in [
        "href=\"/explain/rate_limited\"",
        "href=\"/manual/runbook\"",
        "POST x.get",
        "POST x.do",
        "auth_required",
        "Robby/1",
        "10 of 10",
        "127.0.0.1, says to be",
    ] {
        assert!(page.contains(word), "{word} in {page}");
    }
    assert!(!page.contains("secret-input") && !page.contains(FULL), "{page}");
    eventually("bars", SOON, async || read(&desk).await.contains("<rect class=\"people\"")).await;
}

#[tokio::test]
async fn page_tells_what_is_wrong_with_the_file_and_no_secret() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let dead = crate::support::setup::dead_address();
    let setup = Setup::before(&origin)
        .set("harness", "url = \"http://127.0.0.1:1/ahp\"\ntoken = \"hush-1\"")
        .set("log", "access = false");
    let desk = setup.start().await;
    let good = std::fs::read_to_string(&desk.config).expect("the configuration");
    let page = read(&desk).await;
    let hash = desk.admin_get("/config").await.json()["hash"].as_str().expect("a hash").to_owned();
    assert!(page.contains(&hash) && page.contains("The file says what runs."), "{page}");
    assert!(page.contains("is unreachable"), "the harness: {page}");

    let mistaken = good
        .replace("hush-1", "hush-2")
        .replace("access = false", "access = true\nlevell = \"debug\"")
        .replace("[log]", "[admin]\ntoken_sha256s = \"hush-3\"\n[log]");
    desk.replace_config(&mistaken);
    assert_eq!(desk.reload().await.status, 422);
    let page = read(&desk).await;
    for word in ["was not taken into use", "levell", "- log.access = false", "+ log.access = true", "+ log.levell = "] {
        assert!(page.contains(word), "{word} in {page}");
    }
    assert!(page.contains(&hash), "what runs is what ran: {page}");
    assert!(!page.contains("hush"), "{page}");

    desk.replace_config(&good.replace("[log]", "[log"));
    assert_eq!(desk.reload().await.status, 422);
    let page = read(&desk).await;
    assert!(page.contains("as far as it can be read") && !page.contains("hush"), "{page}");

    std::fs::remove_file(&desk.config).expect("removing it");
    desk.reload().await;
    assert!(read(&desk).await.contains("The file cannot be read"));

    desk.replace_config(&good.replace(&desk.ports.http.to_string(), &dead.to_string()));
    assert_eq!(desk.reload().await.status, 200);
    let page = read(&desk).await;
    assert!(
        page.contains("listen.http has changed in the file") && page.contains("The file says what runs."),
        "{page}"
    );
}
