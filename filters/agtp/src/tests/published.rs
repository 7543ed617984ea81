//! Public contracts that were proposed at run time.

use serde_json::{Value, json};

use super::stall::{Stall, ask, propose};

/// The simulated site with a public contract.
fn published(pair: &str, inputs: &[&str]) -> Stall {
    let stall = Stall::open();
    let forever = propose(pair, inputs).body(json!({ "persistent": true })).operating();
    assert_eq!(stall.tell(&forever).is(263)["persistent"], true);
    stall
}

#[test]
fn its_path_is_known_under_other_verbs() {
    let stall = published("QUERY /stock", &["lamp_id"]);
    let told = stall.tell(&ask("FETCH", "/stock"));
    let allow = told.header("allow").map(str::to_owned);
    let told = told.is(405);
    let listed: Vec<_> = told["allowed_methods_for_path"].as_array().into_iter().flatten().collect();
    assert_eq!(allow, Some(listed.iter().filter_map(|verb| verb.as_str()).collect::<Vec<_>>().join(", ")), "{told}");
    assert_eq!(told["allowed_methods_for_path"], json!(["QUERY"]), "{told}");
    stall.tell(&ask("FETCH", "/stocks")).is(404);
    stall.tell(&ask("QUERY", "/stock?lamp_id=1")).is(200);
}

#[test]
fn it_is_an_action_that_can_be_executed() {
    let stall = published("QUERY /stock", &["lamp_id"]);
    let execute = |action: &str, parameters: Value| {
        stall.tell(&ask("EXECUTE", "/").body(json!({ "action": action, "parameters": parameters })))
    };
    assert_eq!(execute("QUERY /stock", json!({ "lamp_id": "7" })).is(200)["left"], 3);
    execute("QUERY /stock", json!({})).is(422);
    assert_eq!(execute("QUERY /stocks", json!({})).is(422)["code"], "unknown-action");
    assert_eq!(stall.asked(), ["GET /api/stock?lamp_id=7"]);
}

#[test]
fn what_its_path_says_is_no_input_of_it() {
    let stall = published("FETCH /shelves/7", &["side"]);
    let manifest = stall.tell(&ask("DISCOVER", "/").anonymous()).is(200);
    let all = manifest["endpoints"].as_array().unwrap();
    let shown = all.iter().find(|endpoint| endpoint["path"] == "/shelves/7").unwrap();
    let schema = &shown["input_schema"];
    assert_eq!(schema["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["side"]);
    assert!(schema["required"].as_array().is_none_or(Vec::is_empty), "{schema}");
    stall.tell(&ask("FETCH", "/shelves/7")).is(200);
    stall.tell(&ask("EXECUTE", "/").body(json!({ "action": "FETCH /shelves/7" }))).is(200);
    assert_eq!(stall.asked(), ["GET /api/shelves/7", "GET /api/shelves/7"]);
}
