//! Promise: the site's agent skills can be listed and read over MCP, and are those that it publishes.

use crate::support::rpc::{before, error, message, origin, post, stateless};
use crate::support::{Desk, Via};
use serde_json::{Value, json};

async fn asked(desk: &Desk, method: &str, params: Value) -> Value {
    let response = desk.rpc(stateless(method, params)).await;
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()["result"].clone()
}

#[tokio::test]
async fn mcp_skills_are_those_that_the_site_publishes() {
    let origin = origin().await;
    let desk = before(&origin).set("discovery", "skills = true").start().await;
    let about = asked(&desk, "server/discover", json!({})).await;
    assert_eq!(about["capabilities"]["extensions"]["io.modelcontextprotocol/skills"], json!({}), "{about}");
    let listed = asked(&desk, "skills/list", json!({})).await;
    assert!(listed["ttlMs"].is_u64() && listed["cacheScope"] == "public", "{listed}");
    let skills = listed["skills"].as_array().expect("a list");
    assert!(skills.len() > 1, "{listed}");
    for skill in skills {
        let (uri, name) =
            (skill["uri"].as_str().expect("an address"), skill["frontmatter"]["name"].as_str().expect("a name"));
        assert_eq!(uri, format!("skill://{name}/SKILL.md"));
        let got = asked(&desk, "skills/get", json!({ "uri": uri })).await;
        assert_eq!(&got["skill"], skill);
        let read = asked(&desk, "resources/read", json!({ "uri": uri })).await;
        let text = read["contents"][0]["text"].as_str().expect("a text");
        assert_eq!(read["contents"][0]["mimeType"], "text/markdown", "{read}");
        let published = desk.get(&format!("/.well-known/agent-skills/{name}/SKILL.md")).await;
        assert_eq!(published.text(), text);
        let file = &skill["resources"][0];
        assert_eq!((&file["uri"], &file["size"]), (&json!(uri), &json!(text.len())), "{skill}");
        let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
        let digest: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(file["digest"], format!("sha256:{digest}"), "{skill}");
        assert!(
            text.starts_with(&format!("---\nname: {name}\ndescription: {}\n---", skill["frontmatter"]["description"]))
        );
    }
    let resources = asked(&desk, "resources/list", json!({})).await;
    assert!(resources["resources"].as_array().expect("a list").iter().any(|one| one["uri"] == skills[0]["uri"]));
    // Older clients read them as resources.
    let params = json!({ "uri": skills[0]["uri"] });
    let older = desk.ask(Via::H1, post(message("resources/read", params).to_string())).await;
    assert!(older.text().contains("SKILL.md"), "{}", older.text());
}

#[tokio::test]
async fn mcp_skills_that_are_not_there_are_refused() {
    let origin = origin().await;
    let desk = before(&origin).set("discovery", "skills = true").start().await;
    for uri in
        [json!("skill://nothing/SKILL.md"), json!("skill://../SKILL.md"), json!("/index.json"), json!(7), json!(null)]
    {
        error(&desk.rpc(stateless("skills/get", json!({ "uri": uri }))).await, 400, -32602);
    }
    error(&desk.rpc(stateless("skills/list", json!({ "cursor": "2" }))).await, 400, -32602);
    let without = before(&origin).set("discovery", "skills = false").start().await;
    let about = asked(&without, "server/discover", json!({})).await;
    assert_eq!(about["capabilities"]["extensions"].get("io.modelcontextprotocol/skills"), None, "{about}");
    assert_eq!(asked(&without, "skills/list", json!({})).await["skills"], json!([]));
}
