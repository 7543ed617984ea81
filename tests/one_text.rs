//! Promise: all documents for agents describe the site and a capability in the same words, and mark a shortened text.

use crate::support::calls::{declare, site};
use crate::support::{Ask, Desk, Origin, Reply, Request, Via};
use serde_json::{Value, json};

/// A site whose texts have one character more than the manifest has room for.
async fn wordy() -> Desk {
    let origin = Origin::start(|_: &Request| Reply::new(404).body("none")).await;
    let described = declare("look.up", "query", "\nrisk_level = \"low\"\nauth = \"none\"");
    let described = described.replacen("description = \"", &format!("description = \"{}", "ä".repeat(257)), 1);
    let lines = format!(
        "name = \"{}\"\ndescription = \"{}\"\norigin = \"https://site.test\"",
        "n".repeat(129),
        "d".repeat(513)
    );
    site(&origin, &described).instead("site", &lines).reading("start = []\nllms_txt = \"auto\"").start().await
}

async fn json_of(desk: &Desk, target: &str, accept: &str) -> Value {
    desk.ask(Via::H1, Ask::get(target).header("Accept", accept)).await.json()
}

#[tokio::test]
async fn every_document_says_the_same_of_a_text_that_is_too_long() {
    let desk = wordy().await;
    let (name, description) = (format!("{}…", "n".repeat(127)), format!("{}…", "d".repeat(511)));
    let capability = format!("{}…", "ä".repeat(255));
    let manifest = desk.manifest().await;
    let contract = json_of(&desk, "/.well-known/agent-interface", "application/aicp+json").await;
    let openapi = json_of(&desk, "/openapi.json", "application/json").await;
    for (what, said) in [
        ("the manifest", &manifest),
        ("the contract", &contract["site"]),
        ("OpenAPI", &json!({ "name": openapi["info"]["title"], "description": openapi["info"]["description"] })),
    ] {
        assert_eq!((&said["name"], &said["description"]), (&json!(name), &json!(description)), "{what}");
    }
    let llms = desk.get("/llms.txt").await.text();
    assert!(llms.contains(&format!("# {name}\n")) && llms.contains(&format!("> {description}\n")), "{llms}");
    let list = crate::support::rpc::message("tools/list", json!({}));
    let tools = desk.rpc(crate::support::rpc::post(list.to_string())).await.json();
    let found = |all: &Value, key: &str, name: &str| {
        let all = all.as_array().expect("a list");
        all.iter().find(|one| one[key] == name).unwrap_or_else(|| panic!("no {name}"))["description"].clone()
    };
    assert_eq!(found(&manifest["capabilities"], "name", "look_up"), capability);
    assert_eq!(found(&contract["capabilities"], "id", "look.up"), capability);
    assert_eq!(found(&tools["result"]["tools"], "name", "look_up"), capability);
    assert_eq!(openapi["paths"]["/capabilities/look_up"]["post"]["summary"], capability);
}
