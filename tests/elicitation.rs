//! Promise: an MCP client that can ask its person is asked for a confirmation, and the model never holds anything that
//! confirms (MCP 2026-07-28, multi round-trip requests).

use crate::support::calls::{BARE, FULL, action, site, upstream_calls};
use crate::support::rpc::{self, NEWEST, post};
use crate::support::{Ask, Desk, Origin, Reply, Request, Response, Setup, Via};
use serde_json::{Value, json};
use std::time::Duration;

async fn shop() -> Origin {
    Origin::start(|r: &Request| match r.target.split('?').next().unwrap_or_default() {
        "/api/orders" => Reply::new(201).header("Content-Type", "application/json").body(r#"{"order":"o-1"}"#),
        _ => Reply::new(404).body("none"),
    })
    .await
}

fn setup(origin: &Origin, more: &str) -> Setup {
    let lines = format!(
        "\ninput_schema = {{ type = \"object\", required = [\"book\"], properties = {{ book = {{ type = \"string\" }} }} }}\n\
         upstream = {{ method = \"POST\", path = \"/api/orders\" }}\n\
         [capabilities.confirmation]\nsummary = \"Buy {{{{ input.book }}}}.\"\nconsequence = \"Your card is charged.\"\n{more}"
    );
    let buy = action("buy", &lines).replace("requires_user_confirmation = false", "requires_user_confirmation = true");
    site(origin, &buy)
}

/// A call of a client of today, with these abilities.
fn call(elicitation: Value, arguments: Value, more: Value) -> Ask {
    let mut params = json!({ "name": "buy", "arguments": arguments, "_meta": {
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": elicitation },
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    } });
    params.as_object_mut().expect("params").extend(more.as_object().cloned().unwrap_or_default());
    post(rpc::message("tools/call", params).to_string())
        .header("MCP-Protocol-Version", NEWEST)
        .header("Mcp-Method", "tools/call")
        .header("Mcp-Name", "buy")
        .accept("application/json, text/event-stream")
        .bearer(FULL)
}

fn emma() -> Value {
    json!({ "book": "Emma" })
}

async fn asked(desk: &Desk) -> (Value, String) {
    let response = desk.ask(Via::H1, call(json!({}), emma(), json!({}))).await;
    input_required(&response)
}

#[track_caller]
fn input_required(response: &Response) -> (Value, String) {
    let result = response.json()["result"].clone();
    assert_eq!(result["resultType"], "input_required", "{}", response.text());
    let state = result["requestState"].as_str().expect("a state").to_owned();
    (result["inputRequests"]["confirmation"].clone(), state)
}

fn answer(state: &str, answer: Value) -> Value {
    json!({ "requestState": state, "inputResponses": { "confirmation": answer } })
}

fn yes() -> Value {
    json!({ "action": "accept", "content": { "ok": true } })
}

fn orders(origin: &Origin) -> usize {
    upstream_calls(origin).len()
}

#[tokio::test]
async fn elicitation_a_yes_is_carried_out_once() {
    let origin = shop().await;
    let desk = setup(&origin, "").start().await;
    let response = desk.ask(Via::H1, call(json!({}), emma(), json!({}))).await;
    let (request, state) = input_required(&response);
    assert_eq!((&request["method"], &request["params"]["mode"]), (&json!("elicitation/create"), &json!("form")));
    let message = request["params"]["message"].as_str().expect("a message");
    assert!(message.contains("Emma") && message.contains("Your card is charged."), "{message}");
    let schema = &request["params"]["requestedSchema"];
    assert_eq!(schema["properties"]["ok"]["type"], "boolean", "{schema}");
    assert_eq!(schema["required"], json!(["ok"]));
    // Nothing in it confirms anything over another dialect.
    let heard: Vec<String> = response.text().split('"').map(str::to_owned).collect();
    for text in heard.iter().filter(|text| text.len() > 20) {
        let tried = Ask::post("/agent/buy", emma().to_string()).header("Content-Type", "application/json");
        let tried = desk.call(tried.header("AICP-Confirmation", &text.replace(['\n', '\r'], " ")).bearer(FULL)).await;
        assert_eq!(tried.status, 428, "{text}");
    }
    assert_eq!(orders(&origin), 0);
    let done = desk.ask(Via::H1, call(json!({}), emma(), answer(&state, yes()))).await;
    assert!(done.text().contains("o-1"), "{}", done.text());
    assert_eq!(done.json()["result"]["resultType"], "complete");
    let replayed = desk.ask(Via::H1, call(json!({}), emma(), answer(&state, yes()))).await;
    assert_eq!(replayed.json()["result"]["resultType"], "input_required", "{}", replayed.text());
    assert_eq!(orders(&origin), 1);
}

#[tokio::test]
async fn elicitation_a_no_does_nothing() {
    let origin = shop().await;
    let desk = setup(&origin, "").start().await;
    for no in [
        json!({ "action": "decline" }),
        json!({ "action": "cancel" }),
        json!({ "action": "accept", "content": { "ok": false } }),
    ] {
        let (_, state) = asked(&desk).await;
        let result = desk.ask(Via::H1, call(json!({}), emma(), answer(&state, no.clone()))).await;
        assert!(result.text().contains("nothing is done"), "{no}: {}", result.text());
        assert_eq!(result.json()["result"]["resultType"], "complete");
    }
    // No answer to what was asked: the person is asked again.
    for none in [
        json!({ "action": "accept", "content": { "ok": "yes" } }),
        json!({ "action": "accept", "content": {} }),
        json!({ "action": "accept" }),
        json!("accept"),
        json!(null),
    ] {
        let (_, state) = asked(&desk).await;
        input_required(&desk.ask(Via::H1, call(json!({}), emma(), answer(&state, none))).await);
        let other = json!({ "requestState": state, "inputResponses": { "other": yes() } });
        input_required(&desk.ask(Via::H1, call(json!({}), emma(), other)).await);
    }
    assert_eq!(orders(&origin), 0);
}

#[tokio::test]
async fn elicitation_a_state_serves_its_own_call_only() {
    let origin = shop().await;
    let desk = setup(&origin, "").start().await;
    let (_, state) = asked(&desk).await;
    // Changed, or another caller's.
    let mut changed = state.clone().into_bytes();
    changed[20] = if changed[20] == b'A' { b'B' } else { b'A' };
    let changed = String::from_utf8(changed).expect("text");
    for (state, key) in [(changed.as_str(), FULL), ("AAAA", FULL), ("", FULL), (state.as_str(), BARE)] {
        let ask = call(json!({}), emma(), answer(state, yes())).header("X-AHP-Key", key);
        let ask = if key == BARE { call_as(key, answer(state, yes())) } else { ask };
        let refused = desk.ask(Via::H1, ask).await.json();
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    // Another input: what was confirmed is not what is called.
    let other = desk.ask(Via::H1, call(json!({}), json!({ "book": "Ulysses" }), answer(&state, yes()))).await;
    let (request, _) = input_required(&other);
    assert!(request["params"]["message"].as_str().expect("a message").contains("Ulysses"));
    assert_eq!(orders(&origin), 0);
    // The right one still counts.
    let done = desk.ask(Via::H1, call(json!({}), emma(), answer(&state, yes()))).await;
    assert!(done.text().contains("o-1"), "{}", done.text());
}

fn call_as(key: &str, more: Value) -> Ask {
    let ask = call(json!({}), emma(), more);
    Ask { headers: ask.headers.into_iter().filter(|(name, _)| name != "Authorization").collect(), ..ask }.bearer(key)
}

#[tokio::test]
async fn elicitation_expires_with_the_confirmation() {
    let origin = shop().await;
    let desk = setup(&origin, "expires = \"1s\"").start().await;
    let (_, state) = asked(&desk).await;
    tokio::time::sleep(Duration::from_millis(2100)).await;
    input_required(&desk.ask(Via::H1, call(json!({}), emma(), answer(&state, yes()))).await);
    assert_eq!(orders(&origin), 0);
}

#[tokio::test]
async fn elicitation_is_for_clients_that_declare_it() {
    let origin = shop().await;
    let desk = setup(&origin, "").start().await;
    for declared in [json!(null), json!({ "url": {} })] {
        let response = desk.ask(Via::H1, call(declared, emma(), json!({}))).await.json();
        assert_eq!(response["result"]["resultType"], "complete", "{response}");
        assert!(response["result"]["_meta"]["confirmation"].is_string(), "{response}");
    }
}

#[tokio::test]
async fn elicitation_leads_to_the_confirmation_page() {
    let origin = shop().await;
    let desk = setup(&origin, "by = \"page\"").start().await;
    let response = desk.ask(Via::H1, call(json!({ "url": {}, "form": {} }), emma(), json!({}))).await;
    let (request, state) = input_required(&response);
    assert_eq!(request["params"]["mode"], "url", "{request}");
    let url = request["params"]["url"].as_str().expect("an address");
    let path = url.strip_prefix("https://site.test").expect("of this site").to_owned();
    let waiting = desk.ask(Via::H1, call(json!({ "url": {} }), emma(), answer(&state, json!({ "action": "accept" }))));
    let press = Ask::post(&path, "decision=confirm")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("Sec-Fetch-Site", "same-origin");
    let person = async {
        tokio::time::sleep(Duration::from_millis(700)).await;
        assert_eq!(orders(&origin), 0);
        desk.call(press).await
    };
    let (done, pressed) = tokio::join!(waiting, person);
    assert_eq!(pressed.status, 303);
    assert!(done.text().contains("o-1"), "the call waited for the person: {}", done.text());
    assert_eq!(orders(&origin), 1);
}

#[tokio::test]
async fn elicitation_asks_what_the_capability_needs_to_know() {
    let origin = shop().await;
    let lines = "\nrisk_level = \"low\"\nauth = \"optional\"\n\
        input_schema = { type = \"object\", required = [\"city\"], properties = { city = { type = \"string\" } } }\n\
        upstream = { method = \"GET\", path = \"/api/orders\" }\n[capabilities.ahp]\nextract = { city = \"in ([A-Z][a-z]+)\" }";
    let desk = site(&origin, &crate::support::calls::declare("weather", "query", lines)).start().await;
    let ask = |more: Value| {
        let mut params = json!({ "name": "weather", "arguments": { "query": "How is it?" }, "_meta": {
            "io.modelcontextprotocol/protocolVersion": NEWEST,
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        } });
        params.as_object_mut().expect("params").extend(more.as_object().cloned().unwrap_or_default());
        post(rpc::message("tools/call", params).to_string())
            .header("MCP-Protocol-Version", NEWEST)
            .header("Mcp-Method", "tools/call")
            .header("Mcp-Name", "weather")
            .bearer(FULL)
    };
    let first = desk.ask(Via::H1, ask(json!({}))).await.json();
    assert_eq!(first["result"]["resultType"], "input_required", "it asks back: {first}");
    let request = &first["result"]["inputRequests"]["clarification"];
    assert_eq!(request["params"]["requestedSchema"]["properties"]["answer"]["type"], "string", "{first}");
    let state = first["result"]["requestState"].clone();
    let said = json!({ "action": "accept", "content": { "answer": "in Madrid" } });
    let answered = ask(json!({ "requestState": state, "inputResponses": { "clarification": said } }));
    let answered = desk.ask(Via::H1, answered).await;
    assert!(answered.text().contains("o-1"), "{}", answered.text());
}
