//! Promise: a document that the site already has at one of our well-known paths wins, unless the operator says otherwise.

use crate::support::page::PAGE;
use crate::support::rates::is_let_through;
use crate::support::{Ask, Desk, Origin, Reply, Request, Setup, Via, eventually};
use std::time::Duration;

const CARD: &str = "{\"name\":\"An A2A card\",\"url\":\"https://a2a.example\",\"skills\":[]}";

async fn site_with_a_card() -> Origin {
    let answer = |r: &Request| match r.target.as_str() {
        "/.well-known/agent.json" => Reply::json(CARD),
        "/" => Reply::html(PAGE),
        _ => Reply::new(404).body("none"),
    };
    Origin::start(answer).await.owns_well_known()
}

async fn link_of(desk: &Desk) -> String {
    desk.get("/").await.headers.joined("link")
}

#[tokio::test]
async fn conflict_leaves_the_site_its_document_and_moves_ours() {
    let origin = site_with_a_card().await;
    let desk = Setup::before(&origin).start().await;
    eventually("Link follows to /.well-known/ahp.json", Duration::from_secs(20), async || {
        link_of(&desk).await.contains("</.well-known/ahp.json>; rel=\"ahp-manifest\"")
    })
    .await;
    assert_eq!(desk.get("/.well-known/agent.json").await.text(), CARD, "the site's own");
    let ours = desk.get("/.well-known/ahp.json").await;
    assert_eq!((ours.status, ours.media_type().as_str()), (200, "application/json"));
    assert!(ours.json()["ahp"].is_string());
    let link = link_of(&desk).await;
    assert!(link.contains("</.well-known/agent-interface.toml>; rel=\"agent-interface\""), "the other stays: {link}");
    assert!(!link.contains("</.well-known/agent.json>"), "{link}");
    let page = desk.get("/").await.page();
    assert!(page.contains("/.well-known/ahp.json") && !page.contains("/.well-known/agent.json"), "{page}");
    let inline = desk.ask(Via::H1, Ask::get("/").accept("application/agent+json")).await;
    assert!(inline.json()["ahp"].is_string(), "negotiation still finds ours");
}

#[tokio::test]
async fn conflict_of_the_contract_moves_that_one() {
    let answer = |r: &Request| match r.target.as_str() {
        "/.well-known/agent-interface.toml" => {
            Reply::new(200).header("Content-Type", "application/toml").body("own = true\n")
        }
        "/" => Reply::html(PAGE),
        _ => Reply::new(404).body("none"),
    };
    let origin = Origin::start(answer).await.owns_well_known();
    let desk = Setup::before(&origin).start().await;
    eventually("Link follows to /.well-known/aicp.toml", Duration::from_secs(20), async || {
        link_of(&desk).await.contains("</.well-known/aicp.toml>; rel=\"agent-interface\"")
    })
    .await;
    assert_eq!(desk.get("/.well-known/agent-interface.toml").await.text(), "own = true\n");
    assert_eq!(desk.get("/.well-known/aicp.toml").await.media_type(), "application/aicp+toml");
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#;
    let listed = desk.call(Ask::post("/mcp", list).header("Content-Type", "application/json")).await.text();
    assert!(
        listed.contains("/.well-known/aicp.toml") && !listed.contains("/.well-known/agent-interface.toml"),
        "{listed}"
    );
}

#[tokio::test]
async fn conflict_is_ours_if_the_operator_says_frontdesk() {
    let answer = |r: &Request| match r.target.as_str() {
        "/llms.txt" => Reply::new(200).header("Content-Type", "text/plain").body("the site's own words"),
        "/.well-known/agent.json" => Reply::json(CARD),
        "/" => Reply::html(PAGE),
        _ => Reply::new(404).body("none"),
    };
    let origin = Origin::start(answer).await.owns_well_known();
    let desk = Setup::before(&origin).set("discovery", "on_conflict = \"frontdesk\"").start().await;
    eventually("what is no well-known document stays the site's", Duration::from_secs(20), async || {
        desk.get("/llms.txt").await.text() == "the site's own words"
    })
    .await;
    assert!(desk.get("/.well-known/agent.json").await.json()["ahp"].is_string());
    assert!(link_of(&desk).await.contains("</.well-known/agent.json>; rel=\"ahp-manifest\""));
}

#[tokio::test]
async fn conflict_is_none_when_the_site_answers_every_path_with_its_page() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await.owns_well_known();
    let desk = Setup::before(&origin).start().await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(desk.get("/.well-known/agent.json").await.json()["ahp"].is_string(), "a page is not a document");
    assert!(link_of(&desk).await.contains("</.well-known/agent.json>; rel=\"ahp-manifest\""));
}

#[tokio::test]
async fn conflict_is_none_while_the_site_is_down() {
    let dead = format!("http://{}", crate::support::setup::dead_address());
    let desk = Setup::before_urls(&[dead]).start().await;
    assert!(desk.get("/.well-known/agent.json").await.json()["ahp"].is_string());
}

#[tokio::test]
async fn conflict_is_found_on_a_site_that_insists_on_https() {
    let answer = |r: &Request| match (r.header("x-forwarded-proto"), r.target.as_str()) {
        (Some("https"), "/.well-known/agent.json") => Reply::json(CARD),
        (Some("https"), "/") => Reply::html(PAGE),
        (Some("https"), _) => Reply::new(404).body("none"),
        (_, target) => Reply::new(301).header("Location", &format!("https://site.test{target}")),
    };
    let origin = Origin::start(answer).await.owns_well_known();
    // TLS ends in front of us.
    let desk = Setup::before(&origin)
        .set("site", "origin = \"https://site.test\"")
        .set("listen", "trusted_proxies = [\"127.0.0.0/8\"]")
        .start()
        .await;
    let https = |path: &str| Ask::get(path).header("X-Forwarded-Proto", "https");
    eventually("Link follows to /.well-known/ahp.json", Duration::from_secs(20), async || {
        let response = desk.ask(Via::H1, https("/")).await;
        response.headers.joined("link").contains("</.well-known/ahp.json>; rel=\"ahp-manifest\"")
    })
    .await;
    assert_eq!(desk.ask(Via::H1, https("/.well-known/agent.json")).await.text(), CARD, "the site's own");
}

#[tokio::test]
async fn conflict_is_looked_for_again_after_a_swap_to_another_site() {
    let (plain, owner) = (
        Origin::start(|r: &Request| if r.target == "/" { Reply::html(PAGE) } else { Reply::new(404).body("none") })
            .await
            .owns_well_known(),
        site_with_a_card().await,
    );
    let desk = Setup::before(&plain).start().await;
    assert!(desk.get("/.well-known/agent.json").await.json()["ahp"].is_string());
    // What is asked at the start is answered before the swap.
    eventually("the first site was asked", Duration::from_secs(10), async || !plain.requests().is_empty()).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    desk.swap(&Setup::before(&owner)).await;
    eventually("ours moves", Duration::from_secs(10), async || {
        link_of(&desk).await.contains("</.well-known/ahp.json>; rel=\"ahp-manifest\"")
    })
    .await;
    assert_eq!(desk.get("/.well-known/agent.json").await.text(), CARD, "the new site's own");
    desk.swap(&Setup::before(&plain)).await;
    eventually("ours moves back", Duration::from_secs(10), async || {
        link_of(&desk).await.contains("</.well-known/agent.json>; rel=\"ahp-manifest\"")
    })
    .await;
    assert!(desk.get("/.well-known/agent.json").await.json()["ahp"].is_string());
}

const SITES_OWN: &str = "{\"openapi\":\"3.1.0\"}";

/// What an existing site may have where agent endpoints are by default: a document, and something that takes POST only.
async fn site_with_endpoints() -> Origin {
    let answer = |r: &Request| match (r.method.as_str(), r.target.as_str()) {
        ("GET", "/openapi.json") => Reply::json(SITES_OWN),
        ("POST", "/mcp") => Reply::json("{\"jsonrpc\":\"2.0\"}"),
        ("OPTIONS", "/mcp") => Reply::new(204).header("Allow", "POST"),
        ("GET", "/") => Reply::html(PAGE),
        _ => Reply::new(404).body("none"),
    };
    Origin::start(answer).await.owns_well_known()
}

#[tokio::test]
async fn conflict_at_a_default_path_leaves_the_site_what_it_has() {
    let origin = site_with_endpoints().await;
    let desk = Setup::before(&origin).start().await;
    eventually("the site's own description", Duration::from_secs(20), async || {
        desk.get("/openapi.json").await.status == 200
    })
    .await;
    let call = || Ask::new("POST", "/mcp").body("{}");
    eventually("the site's own endpoint", Duration::from_secs(20), async || {
        desk.ask(Via::H1, call()).await.status == 200
    })
    .await;
    let converse = desk.ask(Via::H1, Ask::new("POST", "/agent/converse").body("{}")).await;
    assert_eq!((converse.status, &converse.json()["status"]), (400, &"error".into()), "nobody has that but us");
}

#[tokio::test]
async fn conflict_at_a_path_that_was_chosen_is_the_operators_will() {
    let origin = site_with_endpoints().await;
    let desk = Setup::before(&origin).set("paths", "openapi = \"/openapi.json\"").start().await;
    eventually("the site was asked", Duration::from_secs(20), async || {
        desk.ask(Via::H1, Ask::new("POST", "/mcp").body("{}")).await.status == 200
    })
    .await;
    let ours = desk.get("/openapi.json").await;
    assert!(is_let_through(ours.status) && ours.text() != SITES_OWN, "{}", ours.status);
}

#[tokio::test]
async fn conflict_at_converse_moves_ours_to_where_the_manifest_says() {
    let answer = |r: &Request| match (r.method.as_str(), r.target.as_str()) {
        ("POST", "/agent/converse") => Reply::json("{\"own\":true}"),
        (_, "/agent/converse") => Reply::new(405).header("Allow", "POST"),
        ("GET", "/") => Reply::html(PAGE),
        _ => Reply::new(404).body("none"),
    };
    let origin = Origin::start(answer).await.owns_well_known();
    let desk = Setup::before(&origin).start().await;
    let ask = |path: &str| {
        let question = "{\"capability\":\"site_info\",\"query\":\"Who are you?\"}";
        Ask::post(path, question).header("Content-Type", "application/json")
    };
    eventually("the site's own endpoint", Duration::from_secs(20), async || {
        desk.ask(Via::H1, ask("/agent/converse")).await.json()["own"] == true
    })
    .await;
    let manifest = desk.get("/.well-known/agent.json").await.json();
    assert_eq!(manifest["endpoints"]["converse"], "/.well-known/ahp/converse", "{manifest}");
    let answered = desk.ask(Via::H1, ask("/.well-known/ahp/converse")).await;
    assert_eq!(answered.json()["status"], "success", "{}", answered.text());
    let catalog = desk.get("/.well-known/api-catalog").await.text();
    assert!(catalog.contains("/.well-known/ahp/converse") && !catalog.contains("\"/agent/converse"), "{catalog}");
}
