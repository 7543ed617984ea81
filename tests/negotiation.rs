//! Promise: a client that explicitly prefers `application/agent+json` gets the manifest at any page's URL, and no other
//! client does.

use crate::support::page::PAGE;
use crate::support::{Ask, Desk, Origin, Reply, Request, Setup, Via};

async fn desk() -> (Origin, Desk) {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before(&origin).start().await;
    (origin, desk)
}

#[tokio::test]
async fn negotiation_gives_the_manifest_to_who_prefers_it() {
    let (origin, desk) = desk().await;
    let manifest = desk.get("/.well-known/agent.json").await;
    for accept in [
        "application/agent+json",
        "APPLICATION/Agent+JSON",
        "application/agent+json, text/html;q=0.9, */*;q=0.1",
        "text/html;q=0.3, application/agent+json;q=0.8",
    ] {
        let response = desk.ask(Via::H1, Ask::get("/any/page?x=1").accept(accept)).await;
        assert_eq!((response.status, response.media_type().as_str()), (200, "application/json"), "{accept}");
        assert_eq!(response.json(), manifest.json(), "{accept}");
        let control = response.headers.tokens("cache-control");
        assert!(control.contains(&"private".into()) && control.contains(&"no-cache".into()), "{control:?}");
        assert!(!control.iter().any(|c| c.starts_with("max-age")), "{control:?}");
        assert!(response.headers.tokens("vary").contains(&"accept".to_owned()), "{accept}");
    }
    let lines = Ask::get("/any/page").accept("text/html;q=0.5").accept("application/agent+json");
    assert_eq!(desk.ask(Via::H1, lines).await.json(), manifest.json(), "what several lines say counts as one list");
    assert!(origin.asked().is_empty());
}

#[tokio::test]
async fn negotiation_gives_the_page_to_everybody_else() {
    let (_origin, desk) = desk().await;
    for accept in [
        "text/html, application/agent+json;q=0.5",
        "*/*",
        "application/*",
        "application/json",
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8",
        "application/agent+json;q=0",
        "application/agent+json;q=0, */*",
        "application/agent+jsonx",
        ";;;,,,",
    ] {
        let response = desk.ask(Via::H1, Ask::get("/any/page").accept(accept)).await;
        assert!(response.page().contains("<h1>Welcome</h1>"), "the page for {accept}: {}", response.text());
    }
    assert!(desk.get("/any/page").await.page().contains("<h1>Welcome</h1>"), "and without an Accept");
}

#[tokio::test]
async fn negotiation_marks_pages_with_vary_accept() {
    let origin = Origin::start(|r: &Request| if r.target == "/" { Reply::html(PAGE) } else { Reply::json("{}") }).await;
    let desk = Setup::before(&origin).start().await;
    let vary = |r: crate::support::Response| r.headers.tokens("vary");
    assert!(vary(desk.get("/").await).contains(&"accept".to_owned()), "a page has variants");
    assert!(!vary(desk.get("/api").await).contains(&"accept".to_owned()), "an API answer has none");
}

#[tokio::test]
async fn negotiation_answers_head_and_leaves_other_methods_alone() {
    let (origin, desk) = desk().await;
    let head = desk.ask(Via::H1, Ask::head("/any").accept("application/agent+json")).await;
    assert_eq!((head.status, head.media_type().as_str(), head.body.len()), (200, "application/json", 0));
    assert!(origin.asked().is_empty());
    let post = Ask::post("/form", "a=1").accept("application/agent+json");
    desk.ask(Via::H1, post).await;
    assert_eq!(origin.last().method, "POST", "a POST is the site's");
}

#[tokio::test]
async fn negotiation_redirects_if_told_so() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before(&origin).set("discovery", "accept = \"redirect\"").start().await;
    for method in ["GET", "HEAD"] {
        let response = desk.ask(Via::H1, Ask::new(method, "/any").accept("application/agent+json")).await;
        assert_eq!(response.status, 302);
        assert_eq!(response.header("location"), Some("/.well-known/agent.json"), "relative, whatever the Host");
        assert!(response.headers.tokens("vary").contains(&"accept".to_owned()));
    }
    let own = Ask::get("/.well-known/agent.json").accept("application/agent+json");
    assert_eq!(desk.ask(Via::H1, own).await.status, 200, "the manifest itself does not redirect");
}
