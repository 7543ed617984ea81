//! Tests that the crawler follows only links to documents: the signs of a document, and the log about other links.

use super::*;

/// Requests of the crawler, without those for robots.txt and lists.
fn pages_asked(origin: &Origin) -> Vec<String> {
    targets(origin).into_iter().filter(|t| !t.ends_with(".txt") && !t.ends_with(".xml")).collect()
}

/// As a server of files sends a page.
fn file(title: &str, links: &[&str]) -> Reply {
    page(title, links)
        .header("Last-Modified", "Sat, 01 Jan 2022 00:00:00 GMT")
        .header("ETag", "\"61cf9980-264\"")
        .header("Accept-Ranges", "bytes")
}

#[tokio::test]
async fn crawl_follows_nothing_that_may_act_and_says_so() {
    let origin = Origin::start(|request: &Request| match request.target.as_str() {
        "/robots.txt" | "/llms.txt" => missing(),
        "/sitemap.xml" => text("http://shop.test/?p=1\nhttp://shop.test/posts/7/delete\nhttp://shop.test/jobs/stop\n"),
        "/" => Reply::html(
            "<title>Jobs</title><main><h1>Jobs</h1><p>They run.</p><a href=\"/index.html?action=stopall\">Stop All</a>\
             <a href=\"/posts/2/delete/\">x</a><a href=\"/posts/3\" data-method=\"delete\">y</a>\
             <a href=\"/posts/4/raise\" onclick=\"return confirm('Sure?')\">z</a><a href=\"/queue/flushq\">e</a>\
             <a href=\"/list?page=2\">next</a><a href=\"/H\">on</a><form><a href=\"/in-form\">f</a></form></main>",
        ),
        target => page(target, &[]),
    })
    .await;
    let desk = Setup::before(&origin).reading(BY_EVIDENCE).set("site", "origin = \"http://shop.test\"").start().await;
    round(&desk).await;
    assert_eq!(pages_asked(&origin), ["/", "/?p=1", "/jobs/stop"], "what the site lists, and nothing else");
    assert!(metric(&desk, "frontdesk_crawl_requests_total{result=\"acts\"}").await >= 9.0);
    let log = desk.stderr();
    let told: Vec<&str> = log.lines().filter(|line| line.contains("a link was not followed")).collect();
    assert_eq!(told.len(), 2, "the first of each kind: {log}");
    assert!(told[0].contains("it may act") && told[0].contains("link=/posts/7/delete page=/sitemap.xml"), "{log}");
    assert!(told[1].contains("content.follow") && told[1].contains("link=/queue/flushq page=/"), "{log}");
}

#[tokio::test]
async fn crawl_presses_nothing_in_a_console() {
    let origin = Origin::start(|request: &Request| match request.target.as_str() {
        "/robots.txt" | "/sitemap.xml" | "/llms.txt" => missing(),
        "/" => page(
            "Back office",
            &[
                "/garage/open",
                "/vm/web-1/start",
                "/object_cut",
                "/ledon",
                "/promote/bob",
                "/nutzer/5/sperren",
                "/about",
            ],
        )
        .header("ETag", "W/\"5c-x\""),
        _ => Reply::new(302).header("Location", "/"),
    })
    .await;
    let desk = Setup::before(&origin).reading(BY_EVIDENCE).start().await;
    round(&desk).await;
    assert_eq!(pages_asked(&origin), ["/"]);
    assert_eq!(metric(&desk, "frontdesk_crawl_requests_total{result=\"acts\"}").await, 7.0);
}

#[tokio::test]
async fn crawl_reads_files_whatever_they_are_called() {
    let origin = Origin::start(|request: &Request| match request.target.as_str() {
        "/" => file("Manual", &["git-reset.html", "cli/", "/api/restart", "/cli/stop.html?x=1"]),
        "/git-reset.html" => file("git-reset", &["delete.html"]),
        "/cli/" => file("CLI", &["/cli/stop/", "/cli/5/kill.html"]),
        "/delete.html" | "/cli/stop/" | "/cli/5/kill.html" => file(&request.target, &[]),
        _ => missing(),
    })
    .await;
    let desk = Setup::before(&origin).reading(BY_EVIDENCE).start().await;
    round(&desk).await;
    let all = ["/", "/cli/", "/cli/5/kill.html", "/cli/stop/", "/delete.html", "/git-reset.html"];
    assert_eq!(pages_asked(&origin), all);
    assert_eq!(metric(&desk, "frontdesk_content_pages").await, 6.0);
}

#[tokio::test]
async fn crawl_follows_the_paths_that_the_operator_names() {
    let origin = Origin::start(|request: &Request| match request.target.as_str() {
        "/" => page("Start", &["/docs/install", "/docs/5/delete", "/docs/list?page=2", "/about"]),
        "/docs/install" | "/docs/5/delete" => page(&request.target, &[]),
        _ => missing(),
    })
    .await;
    let desk = Setup::before(&origin).reading(&format!("{BY_EVIDENCE}\nfollow = [\"/docs/*\"]")).start().await;
    round(&desk).await;
    assert_eq!(pages_asked(&origin), ["/", "/docs/install"]);
}

#[tokio::test]
async fn crawl_reads_what_a_feed_lists() {
    let origin = Origin::start(|request: &Request| match request.target.as_str() {
        "/" => Reply::html(
            "<title>Blog</title><link rel=alternate type=application/rss+xml href=/feed/><main><h1>Blog</h1>\
             <p>Posts.</p><a href=/cart/add/5>x</a></main>",
        ),
        "/feed/" => Reply::new(200).header("Content-Type", "application/rss+xml").body(
            "<rss><channel><item><link>http://shop.test/2024/first-post/</link></item></channel></rss>",
        ),
        "/2024/first-post/" => Reply::html(
            "<title>First</title><link rel=canonical href=/2024/first-post/><meta property=og:type content=article>\
             <main><h1>First</h1><p>Words.</p><a href=/2024/second-post/>next</a><a href=/like/first-post/>x</a></main>",
        ),
        "/2024/second-post/" => page("Second", &["/2024/third-post/"]),
        _ => missing(),
    })
    .await;
    let desk = Setup::before(&origin).reading(BY_EVIDENCE).set("site", "origin = \"http://shop.test\"").start().await;
    round(&desk).await;
    assert_eq!(pages_asked(&origin), ["/", "/2024/first-post/", "/2024/second-post/", "/feed/"]);
}

#[tokio::test]
async fn crawl_follows_queries_where_the_operator_says_so() {
    let origin = Origin::start(|request: &Request| match request.target.as_str() {
        "/" => page("Start", &["/list?page=2", "/list?action=clear"]),
        "/list?page=2" => page("Two", &["/list?page=3&delete=7", "/list?page=3"]),
        "/list?page=3" => page("Three", &[]),
        _ => missing(),
    })
    .await;
    let desk = Setup::before(&origin).reading(&format!("{FAST}\nfollow_queries = true")).start().await;
    round(&desk).await;
    let asked: Vec<String> = targets(&origin).into_iter().filter(|target| target.contains('?')).collect();
    assert_eq!(asked, ["/list?page=2", "/list?page=3"]);
}
