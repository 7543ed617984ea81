//! Promise: a visiting agent finds the desk by every way in the handshake, and everything it finds is true.
//!
//! Other files test other parts of the handshake, so that nothing is written twice:
//!
//! - the manifest: `manifests::manifests_ahp_is_valid`, and here by the whole schema
//! - HEAD: `manifests::manifests_answer_head_like_get_without_a_body`
//! - Link on every response: `link::link_is_on_…` (four tests); on every reply of the conversation:
//!   `handshake::assert_reply`
//! - the site's own Link: `link::link_lines_of_the_site_survive`
//! - the notice, once: `notice::notice_says_what_exists_and_is_hidden_from_people`,
//!   `notice::notice_of_the_sites_own_takes_the_place_of_ours`
//! - the places of the notice: `notice::notice_is_on_error_pages_too`, `untouched::…`
//! - raw, compressed, re-framed pages: `notice::notice_for_every_client_coding_and_framing_…`, `reframing::…`,
//!   `encodings::…`
//! - hidden without a style: `notice::notice_says_what_exists_and_is_hidden_from_people`
//! - Accept: `negotiation::…`
//! - the conversation: `handshake_converse`, `handshake_sessions`
//! - content types: `handshake_types`
//! - credentials and confirmation: `handshake_authority`
//! - late answers: `handshake_async`, `handshake_person`, `handshake_callback`
//! - errors and rate headers: `handshake_errors`; at the other endpoints:
//!   `endpoints::endpoints_say_the_rate_on_every_answer`
//! - scopes of limits: `handshake_errors`, `addresses::…`, `limits::…`
//! - budgets: `handshake_budget`
//! - MCP: `mcp::…`
//! - OpenAPI: `handshake_openapi`
//! - everything else passes: `untouched::…`, `protocols::…`, `streaming::…`

use crate::support::page::PAGE;
use crate::support::{Ask, Origin, Reply, Request, Setup, Via, agency, eventually};
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn clause_01_the_manifest_fits_the_schema() {
    let (_origin, desk) = agency::open().await;
    let manifest = desk.manifest().await;
    assert_eq!((&manifest["ahp"], &manifest["name"]), (&json!("0.1"), &json!("Example Travel")));
    assert!(manifest["capabilities"].as_array().is_some_and(|c| c.len() >= 11), "{manifest}");
    // And that of a site that declares nothing, and that of one which offers its pages only.
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    for content in ["concierge = true", "concierge = false"] {
        Setup::before(&origin).reading(&format!("{content}\nstart = []")).start().await.manifest().await;
    }
}

#[tokio::test]
async fn clause_02_the_manifests_head_is_its_head() {
    let (_origin, desk) = agency::open().await;
    let whole = desk.get("/.well-known/agent.json").await;
    let head = desk.ask(Via::H1, Ask::head("/.well-known/agent.json")).await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    for name in ["content-type", "content-length", "etag", "cache-control", "link"] {
        assert_eq!(head.header(name), whole.header(name), "{name}");
    }
}

#[tokio::test]
async fn clause_10_the_manifest_says_modes_limits_signals() {
    let (_origin, desk) = agency::open().await;
    let manifest = desk.manifest().await;
    assert_eq!(manifest["modes"], json!(["MODE1", "MODE2", "MODE3"]), "higher modes list all (C14)");
    for tier in ["unauthenticated", "authenticated"] {
        assert!(manifest["rate_limits"][tier]["requests"].is_string(), "{manifest}");
        assert!(manifest["rate_limits"][tier]["token_budget"].is_string(), "{manifest}");
    }
    assert!(manifest["content_signals"]["ai_input"].is_boolean(), "{manifest}");
    assert_eq!(manifest["async"]["supported"], true, "something comes later: {manifest}");
    assert!(manifest.get("rate_limit").is_none(), "deprecated (C4)");
    for capability in manifest["capabilities"].as_array().expect("capabilities") {
        for never in ["auth_required", "action_required"] {
            assert!(capability.get(never).is_none(), "C2: {capability}");
        }
    }
}

#[tokio::test]
async fn clause_11_what_is_advertised_answers() {
    let (_origin, desk) = agency::open().await;
    // A Host that a stranger chose changes nothing.
    let asked = Ask::get("/.well-known/agent.json").header("Host", "evil.test");
    let manifest = desk.ask(Via::H1, asked).await.json();
    assert!(!manifest.to_string().contains("evil.test"), "{manifest}");
    let mut all: Vec<(String, Value)> = Vec::new();
    for (name, of) in manifest["integrations"].as_object().into_iter().flatten() {
        all.push((name.clone(), of["url"].clone()));
    }
    for (name, url) in manifest["endpoints"].as_object().into_iter().flatten() {
        all.push((name.clone(), url.clone()));
    }
    assert!(all.iter().any(|(name, _)| name == "converse"), "{manifest}");
    for (name, url) in all {
        let url = url.as_str().expect("an address");
        let path = url.strip_prefix("https://site.test").unwrap_or(url);
        assert!(path.starts_with('/'), "{name}: {url}");
        let found = desk.get(path).await.status;
        assert!([200, 405].contains(&found), "{name}: GET {path} is {found}");
        if found == 405 {
            let posted = desk.ask(Via::H1, Ask::post(path, "{}").header("Content-Type", "application/json")).await;
            assert_eq!(posted.status, 400, "{name}: POST {path}: {}", posted.text());
        }
    }
}

/// Pages, and no llms.txt unless `own` is one.
async fn readable(own: Option<&'static str>) -> Origin {
    Origin::start(move |r: &Request| match (r.target.as_str(), own) {
        ("/llms.txt", Some(text)) => Reply::new(200).header("Content-Type", "text/plain; charset=utf-8").body(text),
        ("/", _) => Reply::html(
            "<!doctype html><html lang=en><head><title>The Ferry</title></head><body><main><h1>The Ferry</h1>\
             <p>It leaves at nine.</p><a href=\"/fares\">Fares</a></main></body></html>",
        ),
        ("/fares", _) => Reply::html(
            "<!doctype html><html lang=en><head><title>Fares</title></head><body><main><h1>Fares</h1>\
             <p>A crossing costs four euro.</p></main></body></html>",
        ),
        _ => Reply::new(404).body("none"),
    })
    .await
}

#[tokio::test]
async fn clause_12_and_13_there_is_content_to_read_where_the_manifest_says() {
    let origin = readable(None).await;
    let desk = Setup::before(&origin).reading("rate = \"1000/second\"\nfollow = [\"/*\"]").start().await;
    let place = desk.manifest().await["endpoints"]["content"].as_str().expect("endpoints.content").to_owned();
    eventually("the site is read", Duration::from_secs(20), async || desk.get(&place).await.text().contains("/fares"))
        .await;
    let content = desk.ask(Via::H1, Ask::get(&place)).await;
    assert_eq!(content.status, 200);
    assert!(["text/plain", "text/markdown"].contains(&content.media_type().as_str()), "{:?}", content.headers);
    let head = desk.ask(Via::H1, Ask::head(&place)).await;
    assert_eq!((head.status, head.body.len(), head.media_type()), (200, 0, content.media_type()));
}

#[tokio::test]
async fn clause_12_the_sites_own_llms_txt_wins() {
    let origin = readable(Some("# Ours\n\n> Written by hand.\n")).await;
    let desk = Setup::before(&origin).reading("rate = \"1000/second\"\nfollow = [\"/*\"]").start().await;
    eventually("the site's own", Duration::from_secs(20), async || {
        desk.get("/llms.txt").await.text() == "# Ours\n\n> Written by hand.\n"
    })
    .await;
    assert_eq!(desk.manifest().await["endpoints"]["content"], "/llms.txt");
}

#[tokio::test]
async fn clause_36_an_agent_of_mode_1_needs_no_post() {
    let origin = readable(None).await;
    let desk = agency::before(&origin).reading("rate = \"1000/second\"\nfollow = [\"/*\"]").start().await;
    let page = desk.get("/").await;
    let place = page.headers.joined("link");
    let place = place.split(['<', '>']).nth(1).expect("an address in Link").to_owned();
    let manifest = desk.get(&place).await.json();
    let content = manifest["endpoints"]["content"].as_str().expect("content").to_owned();
    assert_eq!(desk.get(&content).await.status, 200);
    assert!(manifest["modes"].as_array().is_some_and(|m| m.contains(&json!("MODE1"))), "{manifest}");
}
