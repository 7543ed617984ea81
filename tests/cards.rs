//! Promise: MCP's server card, the AI catalog and the agent skills say what is there, agree with what is answered, and
//! make way for the site's own.

use crate::support::page::PAGE;
use crate::support::{Ask, Desk, Origin, Reply, Request, Response, Setup, Via, eventually, handoff::sha256};
use serde_json::{Value, json};
use std::time::Duration;

const CARDS: [&str; 3] = ["/mcp/server-card", "/.well-known/mcp/server-card.json", "/.well-known/mcp.json"];
const CATALOG: &str = "/.well-known/ai-catalog.json";
const SKILLS: &str = "/.well-known/agent-skills/index.json";
const CAPABILITIES: &str = r#"
[[capabilities]]
id = "flights.search"
type = "query"
description = "Search flights."
method = "POST"
endpoint = "/agent/flights/search"
risk_level = "low"
auth = "none"
input_schema = { type = "object", required = ["origin"], properties = { origin = { type = "string", examples = ["MAD"] } } }
[capabilities.upstream]
method = "GET"
path = "/api/flights"
[[capabilities]]
id = "internal.audit"
type = "query"
description = "Nobody sees this."
method = "POST"
endpoint = "/agent/internal"
risk_level = "low"
exposed = false
"#;

async fn site() -> Origin {
    Origin::start(|request: &Request| match request.target.as_str() {
        "/" => Reply::html(PAGE),
        target if target.starts_with("/api/flights") => Reply::json("{\"found\":[\"F1\"]}"),
        _ => Reply::new(404).body("none"),
    })
    .await
}

async fn desk(origin: &Origin) -> Desk {
    Setup::before(origin)
        .set("site", "name = \"Example Travel\"\norigin = \"http://site.test\"\ndescription = \"Flights.\"")
        .tail(CAPABILITIES)
        .start()
        .await
}

async fn initialize(desk: &Desk) -> Value {
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
    let answer = desk.call(Ask::post("/mcp", hello).header("Content-Type", "application/json")).await;
    answer.json()["result"].clone()
}

fn header(response: &Response, name: &str) -> String {
    response.headers.joined(name)
}

#[tokio::test]
async fn cards_agree_with_what_initialize_says() {
    let origin = site().await;
    let desk = desk(&origin).await;
    let said = initialize(&desk).await;
    let first = desk.get(CARDS[0]).await.json();
    for path in CARDS {
        let answer = desk.get(path).await;
        assert_eq!((answer.status, answer.media_type().as_str()), (200, "application/mcp-server-card+json"), "{path}");
        assert_eq!(header(&answer, "cache-control"), "public, max-age=3600");
        assert_eq!(header(&answer, "access-control-allow-origin"), "*");
        assert_eq!(header(&answer, "access-control-expose-headers"), "ETag");
        let card = answer.json();
        assert_eq!(card, first, "{path}");
        assert_eq!((&card["title"], &card["version"]), (&said["serverInfo"]["name"], &said["serverInfo"]["version"]));
        assert_eq!(card["description"], said["instructions"]);
        assert_eq!(card["name"], "test.site/site");
        let remote = &card["remotes"][0];
        assert_eq!((&remote["type"], &remote["url"]), (&json!("streamable-http"), &json!("http://site.test/mcp")));
        let versions = remote["supportedProtocolVersions"].as_array().expect("versions");
        assert!(versions.contains(&said["protocolVersion"]), "{card}");
        for member in card.as_object().expect("an object").keys() {
            let known = ["$schema", "name", "version", "description", "title", "websiteUrl", "remotes"];
            assert!(known.contains(&member.as_str()), "{member}");
        }
        let known = desk.ask(Via::H1, Ask::get(path).header("If-None-Match", &header(&answer, "etag"))).await;
        assert_eq!(known.status, 304, "{path}");
    }
}

#[tokio::test]
async fn cards_have_the_host_that_a_client_uses_where_none_is_declared() {
    let origin = site().await;
    let desk = Desk::run_upstream(&origin.url()).await;
    let here = "http://site.test";
    let card = desk.get(CARDS[0]).await.json();
    assert_eq!((&card["name"], &card["remotes"][0]["url"]), (&json!("test.site/site"), &json!(format!("{here}/mcp"))));
    let catalog = desk.get(CATALOG).await.json();
    assert!(
        catalog["entries"]
            .as_array()
            .expect("entries")
            .iter()
            .all(|entry| { entry["url"].as_str().expect("an address").starts_with(here) })
    );
}

#[tokio::test]
async fn cards_catalog_and_skills_lead_only_to_what_is_there() {
    let origin = site().await;
    let desk = Desk::run_upstream(&origin.url()).await;
    let here = "http://site.test";
    let answer = desk.get(CATALOG).await;
    assert_eq!((answer.status, answer.media_type().as_str()), (200, "application/ai-catalog+json"));
    let catalog = answer.json();
    assert_eq!(catalog["specVersion"], "1.0");
    let entries = catalog["entries"].as_array().expect("entries");
    let mut names: Vec<&str> = entries.iter().filter_map(|entry| entry["identifier"].as_str()).collect();
    for name in ["mcp", "skills", "openapi", "ahp", "aicp"] {
        assert!(names.contains(&format!("urn:air:site.test:{name}:site").as_str()), "{name} in {names:?}");
    }
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all, "each name once");
    for entry in entries {
        let path = entry["url"].as_str().expect("an address").strip_prefix(here).expect("an address here");
        let there = desk.get(path).await;
        let kind = entry["type"].as_str().expect("a type");
        assert_eq!(there.status, 200, "{entry}");
        assert_eq!(there.media_type(), kind.split(';').next().unwrap_or_default(), "{entry}");
    }
}

#[tokio::test]
async fn skills_have_true_digests_and_an_example_that_works() {
    let origin = site().await;
    let desk = Setup::before(&origin).tail(CAPABILITIES).start().await;
    let here = "http://site.test";
    let index = desk.get(SKILLS).await.json();
    assert_eq!(index["$schema"], "https://schemas.agentskills.io/discovery/0.2.0/schema.json");
    let skills = index["skills"].as_array().expect("skills");
    let names: Vec<&str> = skills.iter().filter_map(|skill| skill["name"].as_str()).collect();
    assert_eq!(names, ["site-read-and-ask", "site-flights"], "what is not exposed has none");
    for skill in skills {
        assert_eq!(skill["type"], "skill-md");
        let path = skill["url"].as_str().expect("an address").strip_prefix(here).expect("an address here");
        let file = desk.get(path).await;
        assert_eq!((file.status, file.media_type().as_str()), (200, "text/markdown"));
        assert_eq!(skill["digest"], format!("sha256:{}", sha256(&file.body)));
        assert!(file.text().starts_with(&format!("---\nname: {}\n", skill["name"].as_str().expect("a name"))));
    }
    // The example of a call, as it stands there.
    let text = desk.get("/.well-known/agent-skills/site-flights/SKILL.md").await.text();
    assert!(text.contains(&format!("curl -s -X POST '{here}/agent/flights/search'")), "{text}");
    let body = text.split("-d '").nth(1).and_then(|rest| rest.split('\'').next()).expect("a body");
    let called = desk.call(Ask::post("/agent/flights/search", body).header("Content-Type", "application/json")).await;
    assert_eq!(called.status, 200, "{}", called.text());
    // And that of a question.
    let text = desk.get("/.well-known/agent-skills/site-read-and-ask/SKILL.md").await.text();
    let body = text.split("-d '").nth(1).and_then(|rest| rest.split('\'').next()).expect("a body");
    let asked = desk.call(Ask::post("/agent/converse", body).header("Content-Type", "application/json")).await;
    assert_eq!(asked.status, 200, "{}", asked.text());
}

#[tokio::test]
async fn cards_and_skills_of_the_site_win() {
    let origin = Origin::start(|request: &Request| match request.target.as_str() {
        "/" => Reply::html(PAGE),
        "/.well-known/mcp.json" | CATALOG | SKILLS => Reply::json("{\"own\":true}"),
        _ => Reply::new(404).body("none"),
    })
    .await
    .owns_well_known();
    let desk = Setup::before(&origin).tail(CAPABILITIES).start().await;
    for path in ["/.well-known/mcp.json", CATALOG, SKILLS] {
        eventually(path, Duration::from_secs(20), async || desk.get(path).await.text() == "{\"own\":true}").await;
    }
    assert_eq!(desk.get(CARDS[0]).await.status, 200, "the other cards stay");
    assert_eq!(desk.get("/.well-known/agent-skills/site-flights/SKILL.md").await.status, 404);
}

#[tokio::test]
async fn cards_and_skills_are_off_by_one_key_each() {
    let origin = site().await;
    let desk = Setup::before(&origin).set("discovery", "server_card = false\nskills = false").start().await;
    for path in CARDS.iter().chain(&[CATALOG, SKILLS]) {
        assert_eq!(desk.get(path).await.text(), "none", "{path} is the site's");
    }
    let moved = Setup::before(&origin).set("paths", "mcp = \"/agents/mcp\"").start().await;
    assert_eq!(moved.get("/agents/mcp/server-card").await.status, 200);
    assert_eq!(moved.get(CARDS[0]).await.text(), "none");
}
