//! Promise: every page of the site is available as Markdown, by `Accept` or at PATH.md, and all other clients get the
//! page.

mod left;
mod memory;

use std::time::{Duration, Instant};

use crate::support::page::PAGE;
use crate::support::{Ask, Coding, Desk, Origin, Reply, Request, Response, Setup, Via};

const TEA: &str = "<!doctype html><html lang=en><head><title>Tea | Shop</title></head><body>\
    <nav><a href='/'>Home</a></nav><main><h1>Tea</h1><p>See <a href='../prices?a=1#now'>prices</a>.</p>\
    <table><tr><th>Tea<th>Price<tr><td>Green<td>3</table><pre><code class=language-sh>brew tea</code></pre></main>\
    <footer>Imprint</footer></body></html>";

const MARKDOWN: &str = "text/markdown";

async fn before(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> (Origin, Desk) {
    let origin = Origin::start(handler).await;
    let desk = Setup::before(&origin).set("listen", "h2c = true").start().await;
    (origin, desk)
}

/// The page, and nothing where its Markdown would be.
fn tea(request: &Request) -> Reply {
    match request.target.ends_with(".md") {
        true => Reply::new(404).body("no"),
        false => Reply::html(TEA).header("ETag", "\"site\""),
    }
}

async fn asked(desk: &Desk, path: &str) -> Response {
    desk.ask(Via::H1, Ask::get(path).accept(MARKDOWN)).await
}

#[track_caller]
fn assert_markdown(response: &Response, what: &str) -> String {
    assert_eq!(response.status, 200, "{what}: {}", response.text());
    assert_eq!(response.header("content-type"), Some("text/markdown; charset=utf-8"), "{what}: {}", response.text());
    assert_eq!(response.header("content-length"), Some(response.body.len().to_string().as_str()), "{what}");
    let tokens: u32 = response.header("x-markdown-tokens").expect("X-Markdown-Tokens").parse().expect("a number");
    assert!(tokens > 0 && tokens as usize <= response.body.len(), "{what}: {tokens} tokens");
    let tags = response.headers.all("etag");
    assert!(tags.len() == 1 && tags[0].starts_with('"'), "{what}: one strong tag, not {tags:?}");
    let text = response.text();
    let opened = text.strip_prefix("---\ntitle: \"").and_then(|text| text.split_once("\n---\n\n"));
    opened.unwrap_or_else(|| panic!("{what}: it opens with front matter: {text}")).1.to_owned()
}

#[tokio::test]
async fn markdown_opens_with_what_the_page_says_of_itself() {
    let (_origin, desk) = before(|r: &Request| match r.target.as_str() {
        "/said" => Reply::html(TEA.replace(
            "<title>",
            "<meta name=description content='Green: tea'><link rel=canonical href=/tea><meta \
             property='article:modified_time' content='2026-05-06T07:08:09+00:00'><title>",
        ))
        .header("Last-Modified", "Sat, 01 Jan 2022 00:00:00 GMT"),
        "/file" => Reply::html(TEA).header("Last-Modified", "Sat, 01 Jan 2022 00:00:00 GMT"),
        _ => Reply::html(TEA),
    })
    .await;
    for (path, expected) in [
        (
            "/said",
            "---\ntitle: \"Tea | Shop\"\ndescription: \"Green: tea\"\ncanonical: \"http://site.test/tea\"\n\
             last-updated: \"2026-05-06T07:08:09+00:00\"\nlanguage: \"en\"\n---\n\n# Tea",
        ),
        (
            "/file",
            "---\ntitle: \"Tea | Shop\"\ncanonical: \"http://site.test/file\"\n\
             last-updated: \"2022-01-01T00:00:00Z\"\nlanguage: \"en\"\n---\n\n# Tea",
        ),
        ("/", "---\ntitle: \"Tea | Shop\"\ncanonical: \"http://site.test/\"\nlanguage: \"en\"\n---\n\n# Tea"),
    ] {
        let text = asked(&desk, path).await.text();
        assert!(text.starts_with(expected), "{path}: {text}");
    }
    let origin = Origin::start(tea).await;
    let off = Setup::before(&origin).set("content", "front_matter = false").start().await;
    assert!(asked(&off, "/tea").await.text().starts_with("# Tea"));
}

#[tokio::test]
async fn markdown_is_what_the_page_says() {
    let (_origin, desk) = before(tea).await;
    let response = asked(&desk, "/docs/tea").await;
    let expected = "# Tea\n\nSee [prices](http://site.test/prices?a=1#now).\n\n| Tea | Price |\n| --- | --- |\n\
         | Green | 3 |\n\n```sh\nbrew tea\n```\n";
    assert_eq!(assert_markdown(&response, "by Accept"), expected);
    assert_eq!(assert_markdown(&desk.get("/docs/tea.md").await, "by path"), expected);
}

#[tokio::test]
async fn markdown_is_for_who_prefers_it_explicitly() {
    let (origin, desk) = before(|_: &Request| Reply::html(TEA)).await;
    for accept in [
        "text/markdown",
        "Text/Markdown; charset=utf-8",
        "text/html;q=0.5, text/markdown;q=0.9",
        "text/markdown, text/html;q=0.9, */*;q=0.1",
    ] {
        let response = desk.ask(Via::H1, Ask::get("/tea?x=1").accept(accept)).await;
        assert_markdown(&response, accept);
        assert_eq!(response.headers.tokens("vary"), ["accept"], "{accept}");
        assert_eq!(response.header("cache-control"), Some("private, no-cache"), "{accept}");
        assert!(response.headers.joined("link").contains("</tea?x=1>; rel=\"canonical\""), "{accept}");
        assert_eq!(origin.last().target, "/tea?x=1");
    }
    for accept in ["*/*", "text/*", "text/html, text/markdown", "text/markdown;q=0", "text/html, text/markdown;q=0.9"] {
        let response = desk.ask(Via::H1, Ask::get("/tea").accept(accept)).await;
        assert_eq!(response.media_type(), "text/html", "{accept}");
        assert!(response.headers.tokens("vary").contains(&"accept".to_owned()), "{accept}: the page has a variant");
    }
    let post = desk.ask(Via::H1, Ask::post("/tea", "a=1").accept(MARKDOWN)).await;
    assert_eq!((post.media_type().as_str(), origin.last().method.as_str()), ("text/html", "POST"));
}

#[tokio::test]
async fn markdown_is_not_sent_twice_and_head_says_what_get_would() {
    let (origin, desk) = before(tea).await;
    for (path, accept) in [("/tea", MARKDOWN), ("/tea.md", "*/*")] {
        let first = desk.ask(Via::H1, Ask::get(path).accept(accept)).await;
        let tag = first.header("etag").expect("a tag").to_owned();
        assert_ne!(tag, "\"site\"", "its own");
        let again = Ask::get(path).accept(accept).header("If-None-Match", &format!("\"other\", {tag}"));
        let again = desk.ask(Via::H1, again).await;
        assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, Some(tag.as_str())), "{path}");
        assert!(!origin.last().headers.has("if-none-match"), "the tag is not the site's");
        let head = desk.ask(Via::H1, Ask::head(path).accept(accept)).await;
        assert_eq!((head.status, head.body.len()), (200, 0));
        for name in ["content-type", "content-length", "etag", "x-markdown-tokens", "vary", "cache-control"] {
            assert_eq!(head.header(name), first.header(name), "{path}: {name}");
        }
        let range = desk.ask(Via::H1, Ask::get(path).accept(accept).header("Range", "bytes=0-9")).await;
        assert_eq!(range.status, 200, "a range of the page is none of the Markdown");
    }
    let html = desk.ask(Via::H1, Ask::get("/tea").accept("text/html")).await;
    assert_ne!(html.header("etag"), desk.get("/tea.md").await.header("etag"));
}

#[tokio::test]
async fn markdown_at_its_own_address_is_the_page_of_that_path() {
    let (origin, desk) = before(|r: &Request| match r.target.split('?').next().unwrap_or_default() {
        "/" | "/docs/" | "/tea" | "/guide.html" | "/folder/" | "/a.html" => {
            Reply::html(TEA.replace("Imprint", &r.target)).header("Cache-Control", "public, max-age=60")
        }
        "/folder" => Reply::new(301).header("Location", "/folder/"),
        "/moved" => Reply::new(302).header("Location", "/login"),
        "/private" => Reply::new(401).body("who?"),
        "/README.md" => Reply::new(200).header("Content-Type", "text/markdown").header("ETag", "\"own\"").body("# Own"),
        "/view.md" => Reply::html(PAGE),
        "/data" => Reply::json("{}"),
        _ => Reply::new(404).header("Content-Type", "text/html").body("<h1>No</h1>"),
    })
    .await;
    for (path, page) in [
        ("/index.md", "/"),
        ("/docs/index.md", "/docs/"),
        ("/tea.md", "/tea"),
        ("/tea.md?x=1", "/tea?x=1"),
        ("/guide.md", "/guide.html"),
        ("/a.html.md", "/a.html"),
    ] {
        let response = desk.get(path).await;
        assert_markdown(&response, path);
        assert_eq!(origin.last().target, page);
        assert_eq!(response.headers.tokens("vary"), ["accept"], "{path}: a browser gets what the site has there");
        assert_eq!(response.header("cache-control"), Some("public, max-age=60"), "{path}: kept like its page");
        let link = response.headers.joined("link");
        assert!(link.contains(&format!("<{page}>; rel=\"alternate\"; type=\"text/html\"")), "{path}: {link}");
    }
    let own = desk.get("/README.md").await;
    assert_eq!((own.text().as_str(), own.header("etag")), ("# Own", Some("\"own\"")), "the site's own wins");
    assert!(!own.headers.has("x-markdown-tokens"));
    assert_eq!(desk.get("/view.md").await.media_type(), "text/html", "whatever it is");
    assert_eq!(desk.get("/moved.md").await.header("location"), Some("/login"));
    assert_eq!(desk.get("/private.md").await.status, 401);
    assert_eq!(desk.get("/folder.md").await.header("location"), Some("/folder/"), "no further than the site leads");
    for nothing in ["/nothing.md", "/data.md", "/agent/converse.md", "/mcp.md"] {
        let response = desk.get(nothing).await;
        assert_eq!((response.status, response.text().as_str()), (404, "<h1>No</h1>"), "{nothing}: as the site says it");
    }
}

#[tokio::test]
async fn markdown_is_announced_in_the_page() {
    let (_origin, desk) = before(|r: &Request| match r.target.as_str() {
        "/own" => Reply::html(PAGE.replace("<title>", "<link rel='alternate' type='Text/Markdown' href='/o'><title>")),
        "/feed" => {
            Reply::html(PAGE.replace("<title>", "<link rel=alternate type='application/rss+xml' href=/f><title>"))
        }
        "/gone" => Reply::new(404).header("Content-Type", "text/html").body(PAGE),
        "/theme/" => {
            let generator = "<meta name=\"generator\" content=\"mkdocs-1.6.1, mkdocs-material-9.8.2\"><title>";
            Reply::html(PAGE.replace("<title>", generator))
        }
        _ => Reply::html(PAGE),
    })
    .await;
    let theme = desk.get("/theme/").await.page();
    let as_list = "<link rel=\"alternate \" href=\"/theme/index.md\" type=\"text/markdown\">";
    assert_eq!(theme.matches(as_list).count(), 1, "{theme}");
    let link = |path: &str| format!("<link rel=\"alternate\" href=\"{path}\" type=\"text/markdown\">");
    for (path, markdown) in [("/", "/index.md"), ("/x?a=1&b=%22", "/x.md?a=1&amp;b=%22"), ("/feed", "/feed.md")] {
        let page = desk.get(path).await.page();
        assert_eq!(page.matches(&link(markdown)).count(), 1, "{path}: {page}");
    }
    for path in ["/own", "/gone"] {
        assert!(!desk.get(path).await.page().contains("type=\"text/markdown\""), "{path}");
    }
}

/// Datasette answers any ending with its page, and single-page applications lead back to their start page.
#[tokio::test]
async fn markdown_is_there_where_the_site_has_a_page_or_a_way_back_at_its_path() {
    let (_origin, desk) = before(|r: &Request| match r.target.as_str() {
        "/index.md" => Reply::new(302).header("Location", "/"),
        "/away.md" => Reply::new(302).header("Location", "/login"),
        "/own.md" => Reply::new(200).header("Content-Type", "text/markdown").body("# Own"),
        "/notes/plain.md" => Reply::new(200).header("Content-Type", "text/plain").body("# Plain"),
        "/wiki/Read.md" => Reply::html(TEA),
        "/wiki/Read" | "/wiki/Read.html" => Reply::new(404).body("no"),
        _ => Reply::html(TEA),
    })
    .await;
    for path in ["/tea.md", "/index.md", "/docs/tea.md?x=1"] {
        let response = desk.get(path).await;
        assert!(assert_markdown(&response, path).starts_with("# Tea"), "{path}");
        assert_eq!(response.headers.tokens("vary"), ["accept"], "{path}");
    }
    assert_eq!(desk.get("/away.md").await.status, 302);
    assert_eq!(desk.get("/own.md").await.text(), "# Own");
    assert_eq!(desk.get("/notes/plain.md").await.text(), "# Plain");
    // A page whose own name ends so stays where there is no other.
    assert_eq!(desk.get("/wiki/Read.md").await.media_type(), "text/html");
}

#[tokio::test]
async fn markdown_is_made_of_any_coding_and_charset_that_is_known() {
    let (_origin, desk) = before(|r: &Request| {
        let (path, _) = r.target.split_once('?').unwrap_or((&r.target, ""));
        let page = "<title>T</title><p>Grüße</p>";
        let latin: Vec<u8> = page.chars().map(|c| u8::try_from(u32::from(c)).expect("latin")).collect();
        match path {
            "/latin" => Reply::new(200).header("Content-Type", "text/html; charset=iso-8859-1").body(latin),
            "/unsaid" => Reply::new(200).header("Content-Type", "text/html").body(latin),
            "/shift" => Reply::new(200)
                .header("Content-Type", "text/html; charset=shift_jis")
                .body(b"<title>T</title><p>\x93\xfa\x96{</p>"),
            "/misnamed" => Reply::new(200).header("Content-Type", "text/html; charset=klingon").body(page),
            "/refused" => Reply::new(200).header("Content-Type", "text/html; charset=hz-gb-2312").body("<p>x</p>"),
            coding if ["/identity", "/gzip", "/br", "/zstd", "/deflate"].contains(&coding) => {
                let coding = Coding::named(coding.trim_start_matches('/'));
                let name = coding.name().unwrap_or("identity");
                Reply::html(coding.encode(page.as_bytes())).header("Content-Encoding", name)
            }
            _ => Reply::new(404).body("no"),
        }
    })
    .await;
    for path in ["/identity", "/gzip", "/br", "/zstd", "/deflate", "/latin", "/unsaid", "/misnamed"] {
        let text = assert_markdown(&asked(&desk, path).await, path);
        assert_eq!(text, "# T\n\nGrüße\n", "{path}");
    }
    assert_eq!(assert_markdown(&asked(&desk, "/shift").await, "/shift"), "# T\n\n日本\n");
    let left = asked(&desk, "/refused").await;
    assert_eq!((left.media_type().as_str(), left.text().as_str()), ("text/html", "<p>x</p>"));
}

#[tokio::test]
async fn markdown_of_private_pages_is_asked_for_with_the_clients_own_credentials() {
    let (origin, desk) = before(|r: &Request| match (r.header("cookie"), r.header("authorization")) {
        (Some("session=1"), Some("Basic YTpi")) => {
            Reply::html(TEA.replace("Tea", "Secret tea")).header("Set-Cookie", "seen=1")
        }
        _ => Reply::new(401).body("who?"),
    })
    .await;
    for path in ["/me", "/me.md"] {
        let mine = Ask::get(path).accept(MARKDOWN).header("Cookie", "session=1").header("Authorization", "Basic YTpi");
        let response =
            desk.ask(Via::H1, mine.header("X-Frontdesk-Caller", "root").header("X-Real-IP", "1.2.3.4")).await;
        let up = origin.last();
        assert_eq!((up.header("x-real-ip"), up.header("x-frontdesk-caller")), (Some("127.0.0.1"), None), "{path}");
        assert!(assert_markdown(&response, path).contains("Secret tea"));
        assert_eq!(response.header("set-cookie"), Some("seen=1"));
        let kept = if path == "/me" { "private, no-cache" } else { "no-cache" };
        assert_eq!(response.header("cache-control"), Some(kept), "{path}");
        assert_eq!(asked(&desk, path).await.status, 401, "{path}: nothing is kept for others");
    }
}

#[tokio::test]
async fn markdown_is_limited_as_content_and_what_the_site_has_is_not() {
    let origin = Origin::start(|r: &Request| match r.target.as_str() {
        "/own.md" => Reply::new(200).header("Content-Type", "text/markdown").body("own"),
        "/x" => Reply::html(TEA),
        _ => Reply::new(404).body("no"),
    })
    .await;
    let desk = Setup::before(&origin).limits(&[("content", "2/minute")]).start().await;
    assert_eq!(asked(&desk, "/x").await.status, 200);
    let second = desk.get("/x.md").await;
    assert_eq!(second.status, 200);
    assert!(second.headers.has("ratelimit"), "{:?}", second.headers);
    for path in ["/x", "/x.md"] {
        assert_eq!(asked(&desk, path).await.status, 429, "{path}");
    }
    assert_eq!(desk.get("/own.md").await.status, 200);
    assert_eq!(desk.get("/x").await.status, 200, "people are not counted");
}

#[tokio::test]
async fn markdown_is_told_in_log_and_metrics() {
    let (_origin, desk) = before(|_: &Request| Reply::html(TEA)).await;
    asked(&desk, "/x").await;
    assert_eq!(desk.metric("frontdesk_pages_made_total{what=\"markdown\"}").await, Some(1.0));
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(5) {
        let told = desk.access_log().iter().any(|line| line["frontdesk.page"] == "markdown");
        if told {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no access line says so: {:?}", desk.access_log());
}

#[tokio::test]
async fn markdown_is_the_same_over_http_2() {
    let origin = Origin::start_h2(|_: &Request| Reply::html(TEA)).await;
    let tls = crate::support::Tls::new();
    let desk = Setup::before(&origin).tls(&tls).start().await;
    let response = desk.ask(Via::H2Tls, Ask::get("/tea").accept(MARKDOWN)).await;
    assert!(assert_markdown(&response, "HTTP/2").contains("(https://"), "{}", response.text());
}
