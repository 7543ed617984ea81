//! Promise: the site is crawled politely, as an anonymous client, and the result makes its llms.txt.

mod follow;
mod llms_txt;
mod names;
mod rounds;
mod told;

use crate::support::{Ask, Desk, Dir, Gate, Origin, Reply, Request, Setup, Via, eventually};
use std::collections::HashMap;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};
use std::time::{Duration, Instant};

/// A round over a small site, with others busy beside.
const A_WHILE: Duration = Duration::from_secs(20);
/// Fast, so that a test does not have to wait, and with links followed from every page.
const FAST: &str = "rate = \"200/second\"\nfollow = [\"/*\"]";
/// Fast, with nothing said of what is a document.
const BY_EVIDENCE: &str = "rate = \"200/second\"";

fn page(title: &str, links: &[&str]) -> Reply {
    let links: String = links.iter().map(|link| format!("<li><a href=\"{link}\">{link}</a></li>")).collect();
    Reply::html(format!(
        "<!DOCTYPE html><html lang=\"en\"><head><title>{title}</title>\
         <meta name=\"description\" content=\"All about {title}.\"></head>\
         <body><main><h1>{title}</h1><p>This page is about {title}, and about nothing else.</p>\
         <ul>{links}</ul></main></body></html>"
    ))
}

fn missing() -> Reply {
    Reply::new(404).header("Content-Type", "text/html").body("<html><body><p>Not here.</p></body></html>")
}

fn text(body: &str) -> Reply {
    Reply::new(200).header("Content-Type", "text/plain").body(body)
}

/// Requests of the crawler: neither of a test, nor a probe for something of the site's own.
fn crawled(origin: &Origin) -> Vec<Request> {
    origin
        .requests()
        .into_iter()
        .filter(|r| r.header("x-forwarded-for").is_some() && r.header("x-asked-by").is_none())
        .collect()
}

fn targets(origin: &Origin) -> Vec<String> {
    let mut targets: Vec<String> = crawled(origin).into_iter().map(|r| r.target).collect();
    targets.sort();
    targets
}

async fn metric(desk: &Desk, name: &str) -> f64 {
    desk.metric(name).await.unwrap_or_else(|| panic!("no metric {name}"))
}

/// Waits for a round to end.
async fn round(desk: &Desk) {
    let began = metric(desk, "frontdesk_crawl_last_complete_timestamp_seconds").await;
    eventually("the site is read", A_WHILE, async || {
        metric(desk, "frontdesk_crawl_last_complete_timestamp_seconds").await > began
    })
    .await;
}

fn shop(request: &Request) -> Reply {
    match request.target.as_str() {
        "/robots.txt" => text("User-agent: *\nDisallow: /secret\nSitemap: /sitemap-of-robots.xml\n"),
        "/sitemap.xml" => Reply::new(200).header("Content-Type", "application/xml").body(
            "<?xml version=\"1.0\"?><urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\
             <url><loc>https://shop.test/listed</loc></url><url><loc>https://shop.test/secret/listed</loc></url>\
             <url><loc>https://elsewhere.test/listed</loc></url></urlset>",
        ),
        "/sitemap-of-robots.xml" => text("https://shop.test/from-robots\n"),
        "/" => page(
            "The shop",
            &[
                "/about",
                "docs/one",
                "/secret/x",
                "/admin/panel",
                "/private/x",
                "https://elsewhere.test/x",
                "/moved",
                "/leads-away",
            ],
        ),
        "/about" => page("About us", &["/", "/agent/converse", "/noindex", "/tagged", "/logo.png"]),
        "/docs/one" => page("Docs one", &["/docs/two?utm_source=x#part"]),
        "/docs/two" | "/listed" | "/from-robots" | "/behind" => page(&request.target[1..], &[]),
        "/noindex" => Reply::html(
            "<html><head><title>N</title><meta name=\"robots\" content=\"noindex\"></head>\
             <body><p>Not to be found.</p><a href=\"/behind\">x</a></body></html>",
        ),
        "/tagged" => page("Tagged", &[]).header("X-Robots-Tag", "noindex"),
        "/moved" => Reply::new(301).header("Location", "/docs/one"),
        "/leads-away" => Reply::new(302).header("Location", "https://elsewhere.test/login"),
        _ => missing(),
    }
}

const SITE: &str = "name = \"Shop\"\norigin = \"https://shop.test\"\ndescription = \"Sells things.\"";

#[tokio::test]
async fn crawl_reads_as_a_stranger_and_only_what_it_may() {
    let origin = Origin::start(shop).await;
    let setup = Setup::before(&origin).reading(&format!("{FAST}\nexclude = [\"/admin/*\", \"/private/*\"]"));
    let desk = setup.set("site", SITE).start().await;
    round(&desk).await;
    for request in crawled(&origin) {
        assert_eq!(request.method, "GET");
        assert_eq!(request.header("host"), Some("shop.test"));
        assert_eq!(request.header("x-forwarded-for"), Some("192.0.2.1"), "an address of RFC 5737");
        assert_eq!(request.header("x-real-ip"), Some("192.0.2.1"), "wherever the site looks");
        assert_eq!(request.header("x-forwarded-proto"), Some("https"));
        assert!(request.header("user-agent").is_some_and(|agent| agent.starts_with("frontdesk/")));
        assert_eq!(request.header("accept-encoding"), Some("identity"));
        for never in ["cookie", "authorization", "x-frontdesk-verified"] {
            assert_eq!(request.header(never), None, "{}", request.target);
        }
    }
    let expected = [
        "/",
        "/about",
        "/behind",
        "/docs/one",
        "/docs/two",
        "/from-robots",
        "/leads-away",
        "/listed",
        "/llms.txt",
        "/moved",
        "/noindex",
        "/robots.txt",
        "/sitemap-of-robots.xml",
        "/sitemap.xml",
        "/tagged",
    ];
    // Ours, by now or from the start: it is never asked for once it is known to be.
    let asked: Vec<String> = targets(&origin).into_iter().filter(|target| target != "/llms.txt").collect();
    let expected: Vec<&str> = expected.into_iter().filter(|target| *target != "/llms.txt").collect();
    assert_eq!(asked, expected, "each once, and nothing else");
    assert_eq!(metric(&desk, "frontdesk_content_pages").await, 7.0);
    assert_eq!(metric(&desk, "frontdesk_crawl_requests_total{result=\"off_site\"}").await, 1.0);
    assert_eq!(metric(&desk, "frontdesk_crawl_requests_total{result=\"hidden\"}").await, 2.0);
}

#[tokio::test]
async fn crawl_can_be_switched_off() {
    let origin = Origin::start(shop).await;
    let desk = Setup::before(&origin).reading("concierge = false\nllms_txt = \"off\"").start().await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(targets(&origin), [""; 0]);
    assert_eq!(desk.get("/llms.txt").await.status, 404);
    assert_eq!(origin.asked().len(), 1, "it is the site's");
}

#[tokio::test]
async fn crawl_of_a_site_without_end_ends() {
    let origin = Origin::start(|request: &Request| match request.target.as_str() {
        "/robots.txt" => missing(),
        target => {
            let base = target.trim_end_matches('/');
            let links: Vec<String> = (0..20).map(|n| format!("{base}/{n}-{}", base.len())).collect();
            page(target, &links.iter().map(String::as_str).collect::<Vec<_>>())
        }
    })
    .await;
    let desk = Setup::before(&origin).reading(&format!("{FAST}\nmax_pages = 30")).start().await;
    round(&desk).await;
    assert_eq!(metric(&desk, "frontdesk_content_pages").await, 30.0);
    assert!(targets(&origin).len() <= 200);
}

#[tokio::test]
async fn crawl_keeps_its_rate_and_tells_what_it_knows_meanwhile() {
    let at: Arc<Mutex<HashMap<String, Instant>>> = Arc::default();
    let seen = at.clone();
    let origin = Origin::start(move |request: &Request| {
        if request.header("x-forwarded-for").is_some() {
            seen.lock().expect("the times").insert(request.target.clone(), Instant::now());
        }
        match request.target.as_str() {
            "/" => page("Start", &(0..50).map(|n| ["/a", "/b", "/c", "/d", "/e"][n % 5]).collect::<Vec<_>>()),
            "/a" | "/b" | "/c" | "/d" | "/e" => page(&request.target[1..], &[]),
            _ => missing(),
        }
    })
    .await;
    let desk = Setup::before(&origin).reading("rate = \"2/second\"\nfollow = [\"/*\"]\nstart = [\"/\"]").start().await;
    eventually("a first page is known", A_WHILE, async || metric(&desk, "frontdesk_content_pages").await >= 1.0).await;
    assert!(targets(&origin).len() < 6, "and the rest is not read yet");
    round(&desk).await;
    let mut times: Vec<Instant> = at.lock().expect("the times").values().copied().collect();
    times.sort();
    assert_eq!(times.len(), 7);
    // Six pauses of half a second; what a busy machine adds only makes it longer.
    assert!(times[6] - times[0] >= Duration::from_millis(2900), "{:?}", times[6] - times[0]);
}

#[tokio::test]
async fn crawl_waits_for_a_robots_txt_that_fails() {
    let down = Arc::new(AtomicUsize::new(1));
    let state = down.clone();
    let origin = Origin::start(move |request: &Request| match request.target.as_str() {
        "/robots.txt" if state.load(Ordering::Relaxed) == 1 => Reply::new(503),
        "/robots.txt" => missing(),
        "/" => page("Start", &[]),
        _ => missing(),
    })
    .await;
    let desk = Setup::before(&origin).reading(FAST).start().await;
    eventually("it asks", A_WHILE, async || !targets(&origin).is_empty()).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(targets(&origin).iter().all(|target| target == "/robots.txt"), "nothing may be read");
    let before = desk.get("/llms.txt").await;
    assert_eq!((before.status, before.header("cache-control")), (200, Some("no-cache")));
    assert!(before.text().contains("[Start page](http://site.test/)"), "{}", before.text());
    down.store(0, Ordering::Relaxed);
    round(&desk).await;
    assert!(desk.get("/llms.txt").await.text().contains("# Start\n"));
}

async fn known_at(desk: &Desk, count: f64) {
    eventually("the pages are known", A_WHILE, async || metric(desk, "frontdesk_content_pages").await >= count).await;
}

#[tokio::test]
async fn crawl_does_not_hold_up_the_end() {
    let origin = Origin::start(shop).await;
    let mut desk = Setup::before(&origin).reading("rate = \"1/hour\"").start().await;
    eventually("it has begun", A_WHILE, async || !targets(&origin).is_empty()).await;
    desk.signal(libc::SIGTERM);
    let (status, _) = desk.wait_exit(Duration::from_secs(8)).await;
    assert!(status.success());
}
