//! Promise: the operator's policy for the site's content is stated everywhere that crawlers look.

use crate::support::page::PAGE;
use crate::support::{Ask, Desk, Origin, Reply, Request, Setup, Via};

const SIGNAL: &str = "search=yes, ai-input=yes, ai-train=no";
const USAGE: &str = "train-ai=n, search=y";
const RULES: &str = "Content-Signal: search=yes, ai-input=yes, ai-train=no\nContent-Usage: train-ai=n, search=y\n";

async fn before(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> (Origin, Desk) {
    let origin = Origin::start(handler).await;
    let desk = Setup::before(&origin).set("content_signals", "ai_train = false").start().await;
    (origin, desk)
}

#[tokio::test]
async fn signals_stand_on_pages_and_their_markdown() {
    let (_origin, desk) = before(|r: &Request| match r.target.as_str() {
        "/own" => Reply::html(PAGE).header("Content-Usage", "train-ai=y"),
        "/api" => Reply::json("{}"),
        _ => Reply::html(PAGE),
    })
    .await;
    for ask in [Ask::get("/"), Ask::head("/"), Ask::get("/").accept("text/markdown")] {
        let response = desk.ask(Via::H1, ask).await;
        assert_eq!(response.header("content-signal"), Some(SIGNAL));
        assert_eq!(response.header("content-usage"), Some(USAGE));
    }
    let own = desk.get("/own").await;
    assert_eq!(own.headers.all("content-usage"), ["train-ai=y"], "the site's own word holds");
    assert_eq!(own.header("content-signal"), Some(SIGNAL));
    assert!(!desk.get("/api").await.headers.has("content-signal"), "only pages");
    assert_eq!(desk.get("/robots.txt").await.media_type(), "text/html", "what is no robots.txt stays");
    let manifest = desk.get("/.well-known/agent.json").await.json();
    assert_eq!(manifest["content_signals"]["ai_train"], false, "and the manifest says the same");
}

#[tokio::test]
async fn signals_by_default_stand_in_robots_txt_and_the_manifest_and_say_nothing_of_training() {
    let origin = Origin::start(|r: &Request| match r.target.as_str() {
        "/robots.txt" => Reply::new(404).body("no"),
        _ => Reply::html(PAGE),
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    assert!(!desk.get("/").await.headers.has("content-signal"));
    let robots = desk.get("/robots.txt").await;
    assert_eq!((robots.status, robots.media_type().as_str()), (200, "text/plain"));
    let robots = robots.text();
    assert!(robots.contains("\nContent-Signal: search=yes, ai-input=yes\nContent-Usage: search=y\n"), "{robots}");
    assert!(!robots.contains("train") && !robots.contains("Disallow"), "{robots}");
    let manifest = desk.get("/.well-known/agent.json").await.json();
    let signals = manifest["content_signals"].as_object().expect("signals").clone();
    assert_eq!((&signals["ai_input"], &signals["search"]), (&true.into(), &true.into()));
    assert!(!signals.contains_key("ai_train"), "{signals:?}");
    let off = Setup::before(&origin).set("discovery", "robots = false").start().await;
    assert_eq!(off.get("/robots.txt").await.status, 404, "the site's own");
}

#[tokio::test]
async fn signals_join_the_rules_of_robots_txt() {
    let file = "# ours\nUser-agent: GPTBot\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\nSitemap: /map.xml";
    let (origin, desk) = before(move |_: &Request| {
        Reply::new(200).header("Content-Type", "text/plain").header("ETag", "\"r\"").body(file)
    })
    .await;
    let response = desk.get("/robots.txt").await;
    let expected = format!(
        "# ours\nUser-agent: GPTBot\n{RULES}Disallow: /a\n\nUser-agent: *\n{RULES}Disallow: /b\nSitemap: /map.xml"
    );
    assert!(file.contains("Sitemap"), "it names its own, so none is added");
    assert_eq!((response.status, response.text()), (200, expected));
    assert_eq!(response.header("content-length"), Some(response.body.len().to_string().as_str()));
    let tag = response.header("etag").expect("a tag").to_owned();
    assert_ne!(tag, "\"r\"");
    let again = desk.ask(Via::H1, Ask::get("/robots.txt").header("If-None-Match", &tag)).await;
    assert_eq!((again.status, again.body.len()), (304, 0));
    assert!(!origin.last().headers.has("if-none-match"));
    let head = desk.ask(Via::H1, Ask::head("/robots.txt")).await;
    assert_eq!((head.header("etag"), head.body.len()), (Some(tag.as_str()), 0));
}

#[tokio::test]
async fn signals_make_a_robots_txt_where_there_is_none() {
    let (_origin, desk) = before(|_: &Request| Reply::new(404).header("Content-Type", "text/html").body("no")).await;
    let response = desk.get("/robots.txt").await;
    assert_eq!((response.status, response.media_type().as_str()), (200, "text/plain"));
    let text = response.text();
    for name in ["GPTBot", "ClaudeBot", "ChatGPT-User", "OAI-SearchBot", "PerplexityBot", "Google-Extended", "CCBot"] {
        assert!(text.contains(&format!("User-agent: {name}\n")), "{name}: {text}");
    }
    let everybody = format!("\nUser-agent: *\n{RULES}Allow: /\n\nSitemap: http://site.test/sitemap.xml\n");
    assert!(text.ends_with(&everybody) && !text.contains("Disallow"), "{text}");
}

#[tokio::test]
async fn signals_leave_what_is_no_robots_txt() {
    for (reply, status) in [
        (Reply::html(PAGE), 200),
        (Reply::new(500).body("oh"), 500),
        (Reply::new(403).header("Content-Type", "text/plain").body("User-agent: *"), 403),
        (Reply::new(200).header("Content-Type", "text/plain").body("#".repeat(600_000)), 200),
        (Reply::new(200).header("Content-Type", "text/plain").header("Cache-Control", "no-transform").body("#"), 200),
    ] {
        let body = reply.whole();
        let (_origin, desk) = before(move |_: &Request| reply.clone()).await;
        let response = desk.get("/robots.txt").await;
        let text = response.text();
        assert_eq!(response.status, status);
        assert!(!text.contains("Content-Signal"), "{text:.200}");
        assert!(response.media_type() == "text/html" || response.body == body[..], "{text:.200}");
    }
}
