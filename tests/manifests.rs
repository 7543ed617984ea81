//! Promise: agents find valid manifests at the well-known paths, which are cacheable and cheap to revalidate.

use crate::support::{Ask, Desk, Origin, Reply, Request, Response, Setup, Via};
use serde_json::Value;

const CAPABILITY: &str = r#"
[[capabilities]]
id = "flights.search"
type = "query"
description = "Search flights."
method = "POST"
endpoint = "/agent/flights/search"
risk_level = "low"
auth = "optional"
input_schema = { type = "object", required = ["origin"], properties = { origin = { type = "string" } } }
[capabilities.upstream]
method = "GET"
path = "/api/flights-internal"
"#;

const KEY_HASH: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

async fn desk() -> (Origin, Desk) {
    let origin = Origin::start(|_: &Request| Reply::new(404).body("none")).await;
    let keys = format!("[[auth.api_keys]]\nname = \"partner-a\"\nsha256 = \"{KEY_HASH}\"\n");
    let desk = Setup::before(&origin)
        .set("site", "name = \"Example Travel\"\norigin = \"https://example-travel.com\"\ndescription = \"Flights.\"")
        .set("auth", "type = \"api_key\"")
        .set("content_signals", "ai_train = false\nai_input = true")
        .tail(&(keys + CAPABILITY))
        .start()
        .await;
    (origin, desk)
}

fn matches(text: &str, allowed: fn(char) -> bool) -> bool {
    !text.is_empty() && text.chars().all(allowed)
}

#[tokio::test]
async fn manifests_ahp_is_valid() {
    let (_origin, desk) = desk().await;
    let response = desk.get("/.well-known/agent.json").await;
    assert_eq!((response.status, response.media_type().as_str()), (200, "application/json"));
    let manifest = response.json();
    let known = [
        "ahp",
        "name",
        "description",
        "modes",
        "endpoints",
        "capabilities",
        "authentication",
        "rate_limits",
        "rate_limit",
        "content_signals",
        "async",
        "links",
        "integrations",
    ];
    for key in manifest.as_object().expect("an object").keys() {
        assert!(known.contains(&key.as_str()), "{key} is not in the schema");
    }
    let (major, minor) = manifest["ahp"].as_str().and_then(|v| v.split_once('.')).expect("ahp: N.N");
    assert!(matches(major, |c| c.is_ascii_digit()) && matches(minor, |c| c.is_ascii_digit()), "{}", manifest["ahp"]);
    assert_eq!(manifest["name"], "Example Travel");
    let modes: Vec<&str> = manifest["modes"].as_array().expect("modes").iter().filter_map(Value::as_str).collect();
    assert!(modes.contains(&"MODE1"), "higher modes list all: {modes:?}");
    assert!(modes.iter().all(|m| ["MODE1", "MODE2", "MODE3"].contains(m)), "{modes:?}");
    let signals = &manifest["content_signals"];
    assert_eq!((&signals["ai_input"], &signals["ai_train"]), (&Value::Bool(true), &Value::Bool(false)));
    let limits = manifest["rate_limits"].as_object().expect("rate_limits (§11.5)");
    for (tier, limit) in limits {
        assert!(["unauthenticated", "authenticated"].contains(&tier.as_str()), "{tier}");
        let (count, unit) = limit["requests"].as_str().and_then(|r| r.split_once('/')).expect("requests");
        assert!(matches(count, |c| c.is_ascii_digit()), "{count}");
        assert!(["second", "minute", "hour", "day"].contains(&unit), "{unit}");
    }
    for endpoint in manifest["endpoints"].as_object().into_iter().flatten() {
        assert!(["converse", "content"].contains(&endpoint.0.as_str()) && endpoint.1.is_string(), "{endpoint:?}");
    }
}

#[tokio::test]
async fn manifests_ahp_capabilities_fit_the_schema() {
    let (_origin, desk) = desk().await;
    let manifest = desk.get("/.well-known/agent.json").await.json();
    let known = [
        "name",
        "description",
        "mode",
        "action_type",
        "response_types",
        "accept_fallback",
        "input_schema",
        "output_schema",
    ];
    for capability in manifest["capabilities"].as_array().into_iter().flatten() {
        let name = capability["name"].as_str().expect("a name");
        assert!(matches(name, |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'), "{name}");
        assert!(capability["description"].is_string() && capability["mode"].is_string(), "{capability}");
        for key in capability.as_object().expect("an object").keys() {
            assert!(known.contains(&key.as_str()), "{key} of {name} is not in the schema");
        }
    }
}

#[tokio::test]
async fn manifests_aicp_is_toml_with_what_was_declared() {
    let (_origin, desk) = desk().await;
    let response = desk.get("/.well-known/agent-interface.toml").await;
    assert_eq!((response.status, response.media_type().as_str()), (200, "application/aicp+toml"));
    let contract: toml::Table = toml::from_str(&response.text()).expect("TOML");
    assert_eq!(contract["aicp_version"].as_str(), Some("0.1"));
    assert_eq!(contract["site"]["name"].as_str(), Some("Example Travel"));
    let first = &contract["capabilities"].as_array().expect("capabilities")[0];
    assert_eq!(first["id"].as_str(), Some("flights.search"));
    assert_eq!(first["endpoint"].as_str(), Some("/agent/flights/search"));
    assert!(first.get("upstream").is_none(), "how the site is called is nobody's business");
}

#[tokio::test]
async fn manifests_tell_no_secrets() {
    let (_origin, desk) = desk().await;
    for path in ["/.well-known/agent.json", "/.well-known/agent-interface.toml", "/.well-known/agent-interface"] {
        let text = desk.get(path).await.text();
        for secret in [KEY_HASH, "partner-a", "/api/flights-internal", "api_keys"] {
            assert!(!text.contains(secret), "{secret} in {path}");
        }
    }
}

#[tokio::test]
async fn manifests_negotiate_toml_or_json() {
    let (_origin, desk) = desk().await;
    for (accept, kind) in [
        (None, "application/aicp+toml"),
        (Some("*/*"), "application/aicp+toml"),
        (Some("application/aicp+toml"), "application/aicp+toml"),
        (Some("application/aicp+json"), "application/aicp+json"),
        (Some("application/aicp+toml;q=0.2, application/aicp+json"), "application/aicp+json"),
        (Some("application/aicp+json;q=0.5, application/aicp+toml;q=0.9"), "application/aicp+toml"),
        (Some("application/aicp+toml;version=0.1"), "application/aicp+toml"),
    ] {
        let ask = Ask::get("/.well-known/agent-interface");
        let response = desk.ask(Via::H1, if let Some(a) = accept { ask.accept(a) } else { ask }).await;
        assert_eq!((response.status, response.media_type().as_str()), (200, kind), "{accept:?}");
        assert!(response.headers.tokens("vary").contains(&"accept".to_owned()), "{accept:?}");
    }
    let toml: toml::Table = toml::from_str(&desk.get("/.well-known/agent-interface.toml").await.text()).expect("TOML");
    let ask = Ask::get("/.well-known/agent-interface").accept("application/aicp+json");
    let json = desk.ask(Via::H1, ask).await.json();
    assert_eq!(serde_json::to_value(toml).expect("as JSON"), json, "the same contract in both");
}

#[tokio::test]
async fn manifests_in_an_unknown_version_are_refused() {
    let (_origin, desk) = desk().await;
    let ask = Ask::get("/.well-known/agent-interface").accept("application/aicp+toml;version=9.9");
    let response = desk.ask(Via::H1, ask).await;
    assert_eq!((response.status, response.media_type().as_str()), (406, "application/aom+json"));
    assert_eq!(response.json()["error"]["code"], "unsupported_aicp_version");
    assert!(response.headers.tokens("vary").contains(&"accept".to_owned()));
}

fn strong_tag(response: &Response) -> String {
    let tag = response.header("etag").expect("an ETag");
    assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() > 2, "strong: {tag}");
    tag.to_owned()
}

#[tokio::test]
async fn manifests_are_revalidated_with_a_strong_tag() {
    let (_origin, desk) = desk().await;
    for path in ["/.well-known/agent.json", "/.well-known/agent-interface.toml", "/.well-known/agent-interface"] {
        let tag = strong_tag(&desk.get(path).await);
        for list in [tag.clone(), format!("\"x\", {tag}"), format!("W/{tag}"), "*".to_owned()] {
            let again = desk.ask(Via::H1, Ask::get(path).header("If-None-Match", &list)).await;
            assert_eq!((again.status, again.body.len()), (304, 0), "{path}, If-None-Match: {list}");
            assert_eq!(again.header("etag"), Some(tag.as_str()), "{path}");
        }
        let other = desk.ask(Via::H1, Ask::get(path).header("If-None-Match", "\"x\"")).await;
        assert_eq!(other.status, 200, "{path}");
    }
    let at = |accept: &str| Ask::get("/.well-known/agent-interface").accept(accept);
    let toml = strong_tag(&desk.ask(Via::H1, at("application/aicp+toml")).await);
    let json = strong_tag(&desk.ask(Via::H1, at("application/aicp+json")).await);
    assert_ne!(toml, json, "each variant has its own");
}

#[tokio::test]
async fn manifests_may_be_cached_for_manifest_max_age() {
    let (_origin, desk) = desk().await;
    for path in ["/.well-known/agent.json", "/.well-known/agent-interface.toml"] {
        let response = desk.get(path).await;
        let control = response.headers.tokens("cache-control");
        assert!(control.contains(&"max-age=3600".to_owned()), "{path}: {control:?}");
        assert!(control.contains(&"stale-while-revalidate=86400".to_owned()), "{path}: {control:?}");
    }
}

#[tokio::test]
async fn manifests_answer_head_like_get_without_a_body() {
    let (_origin, desk) = desk().await;
    let mut conn = desk.conn().await;
    for path in ["/.well-known/agent.json", "/.well-known/agent-interface.toml", "/.well-known/agent-interface"] {
        let get = conn.ask(&Ask::get(path)).await;
        let head = conn.ask(&Ask::head(path)).await;
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
        for name in ["content-type", "content-length", "etag", "cache-control", "link", "vary"] {
            assert_eq!(head.headers.all(name), get.headers.all(name), "{name} of {path}");
        }
        assert_eq!(get.header("content-length"), Some(get.body.len().to_string().as_str()));
    }
}

#[tokio::test]
async fn manifests_refuse_other_methods() {
    let (origin, desk) = desk().await;
    for path in ["/.well-known/agent.json", "/.well-known/agent-interface.toml", "/.well-known/agent-interface"] {
        for method in ["POST", "PUT", "DELETE", "PATCH"] {
            let response = desk.ask(Via::H1, Ask::new(method, path).body("{}")).await;
            assert_eq!(response.status, 405, "{method} {path}");
            let allow = response.headers.tokens("allow");
            assert!(allow.contains(&"get".to_owned()) && allow.contains(&"head".to_owned()), "{allow:?}");
        }
    }
    assert!(origin.asked().is_empty(), "the site sees none of it");
}

#[tokio::test]
async fn manifests_keep_the_connection_after_an_answer() {
    let (_origin, desk) = desk().await;
    let mut conn = desk.conn().await;
    for _ in 0..3 {
        assert_eq!(conn.ask(&Ask::get("/.well-known/agent.json")).await.status, 200);
        assert_eq!(conn.ask(&Ask::get("/missing")).await.status, 404);
    }
}
