//! Tests of pages without Markdown: the page passes (it fails open), the site's own Markdown passes, with one request.

use super::*;

#[tokio::test]
async fn markdown_of_the_sites_own_passes_untouched() {
    let (origin, desk) = before(|r: &Request| match r.header("accept") {
        Some(accept) if accept.contains("text/markdown") => Reply::new(200)
            .header("Content-Type", "text/markdown; charset=utf-8; variant=GFM")
            .header("ETag", "\"own\"")
            .body("*Own* words"),
        _ => Reply::html(PAGE),
    })
    .await;
    let response = asked(&desk, "/x").await;
    assert_eq!((response.text().as_str(), response.header("etag")), ("*Own* words", Some("\"own\"")));
    assert_eq!(response.header("content-type"), Some("text/markdown; charset=utf-8; variant=GFM"));
    assert_eq!(origin.asked().len(), 1, "asked once");
}

#[tokio::test]
async fn markdown_fails_open() {
    let (origin, desk) = before(|r: &Request| {
        let deep = || "<div>".repeat(20_000) + "deep";
        match r.target.as_str() {
            "/keep" => Reply::html(TEA).header("Cache-Control", "no-transform"),
            "/gone" => Reply::new(410).header("Content-Type", "text/html").body(TEA),
            "/deep" => Reply::html(deep()),
            "/huge" => Reply::html("<p>word</p>".repeat(500_000)),
            "/huge-chunked" => Reply::html("<p>word</p>".repeat(500_000)).chunked(),
            "/image" => Reply::new(200).header("Content-Type", "image/png").body("png"),
            "/video" => Reply::new(200).header("Content-Type", "video/mp4").body(vec![0; 200_000]),
            "/broken" => Reply::html("not gzip").header("Content-Encoding", "gzip"),
            "/empty" => Reply::html("<nav>Menu</nav>"),
            "/away" => Reply::new(302).header("Location", "/tea"),
            "/failed" => Reply::new(500).header("Content-Type", "text/html").body("<h1>Oh</h1>"),
            _ => Reply::html(TEA),
        }
    })
    .await;
    for (path, status, kind) in [
        ("/keep", 200, "text/html"),
        ("/gone", 410, "text/html"),
        ("/deep", 200, "text/html"),
        ("/huge", 200, "text/html"),
        ("/huge-chunked", 200, "text/html"),
        ("/image", 200, "image/png"),
        ("/video", 200, "video/mp4"),
        ("/broken", 200, "text/html"),
        ("/empty", 200, "text/html"),
        ("/away", 302, ""),
        ("/failed", 500, "text/html"),
    ] {
        let response = asked(&desk, path).await;
        assert_eq!(
            (response.status, response.media_type().as_str(), response.complete),
            (status, kind, true),
            "{path}"
        );
        assert!(!response.headers.has("x-markdown-tokens"), "{path}");
    }
    assert_eq!(asked(&desk, "/keep").await.text(), TEA, "not a byte of ours");
    let instead = desk.get("/deep.md").await;
    // The site has a page at every address that it does not know; this one cannot be had as Markdown.
    assert_eq!((instead.status, instead.header("location")), (302, Some("/deep")));
    drop(origin);
}

#[tokio::test]
async fn markdown_that_cannot_be_made_leads_to_the_page() {
    let (_origin, desk) = before(|r: &Request| match r.target.as_str() {
        "/deep" => Reply::html("<div>".repeat(20_000)),
        "/huge" => Reply::html("<p>word</p>".repeat(500_000)),
        _ => Reply::new(404).body("no"),
    })
    .await;
    for page in ["/deep", "/huge"] {
        let response = desk.get(&format!("{page}.md")).await;
        assert_eq!((response.status, response.header("location")), (302, Some(page)));
    }
    for elsewhere in ["//evil.example/deep.md", "/\\evil.example/deep.md"] {
        let response = desk.get(elsewhere).await;
        assert!(!response.headers.has("location"), "{elsewhere}: {:?}", response.headers);
    }
}

#[tokio::test]
async fn markdown_of_what_is_excluded_is_not_made() {
    let origin = Origin::start(tea).await;
    let desk = Setup::before(&origin).set("content", "exclude = [\"/private/*\"]").start().await;
    for path in ["/private", "/private/tea", "/%70rivate/tea"] {
        let page = asked(&desk, path).await;
        assert_eq!((page.status, page.media_type().as_str()), (200, "text/html"), "{path}");
        assert_eq!(origin.last().header("accept"), Some(MARKDOWN), "{path}: it passes as it was asked for");
        assert!(!page.headers.has("x-markdown-tokens"), "{path}");
        assert!(!page.page().contains("text/markdown"), "{path}: nothing is announced either");
    }
    assert_eq!(desk.get("/private/tea.md").await.text(), "no", "the site's own answer");
    assert_markdown(&asked(&desk, "/privateer").await, "the next one");
    assert!(desk.get("/privateer").await.page().contains("text/markdown"));
}

#[tokio::test]
async fn markdown_can_be_switched_off() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before(&origin).set("content", "markdown = false").start().await;
    let page = asked(&desk, "/x").await;
    assert_eq!(page.media_type(), "text/html");
    assert!(!page.page().contains("text/markdown"), "nothing is announced either");
    desk.get("/x.md").await;
    assert_eq!(origin.last().target, "/x.md");
    assert_eq!(origin.last().header("accept-encoding"), None, "it passes as it came");
}

/// What is used up by being fetched is fetched once, whatever it turns out to be.
#[tokio::test]
async fn markdown_is_never_asked_for_twice() {
    let rows = || "a,b\n".repeat(50_000);
    let (origin, desk) = before(move |r: &Request| match r.target.as_str() {
        "/once?long" | "/raw/own.md?long" => Reply::new(200).header("Content-Type", "text/csv").body(rows()),
        "/once?chunked" | "/raw/own.md?chunked" => {
            Reply::new(200).header("Content-Type", "text/csv").body(rows()).pieces_of(50_000).chunked()
        }
        "/huge?html" => Reply::html("<p>words</p>".repeat(400_000)).chunked(),
        "/cut?off" => Reply::new(200).header("Content-Type", "text/csv").body(rows()).chunked().hang_up(),
        _ => Reply::new(404).body("no"),
    })
    .await;
    for via in [Via::H1, Via::H2c] {
        for path in ["/once?long", "/once?chunked", "/raw/own.md?long", "/raw/own.md?chunked", "/huge?html"] {
            let before = origin.asked().len();
            let response = desk.ask(via, Ask::get(path).accept(MARKDOWN)).await;
            assert_eq!((response.status, response.complete), (200, true), "{path} {via:?}");
            let expected = if path == "/huge?html" { "<p>words</p>".repeat(400_000) } else { rows() };
            assert!(response.text() == expected, "{path} {via:?}: {} bytes", response.body.len());
            assert_eq!(origin.asked().len() - before, 1, "{path} {via:?}");
        }
        let head = desk.ask(via, Ask::head("/once?long").accept(MARKDOWN)).await;
        assert_eq!((head.status, head.body.len()), (200, 0));
        assert!(!desk.ask(via, Ask::get("/cut?off").accept(MARKDOWN)).await.complete, "{via:?}");
    }
}
