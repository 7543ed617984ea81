//! Promise: inputs that a call over MCP lacks are asked of the person, with a form of their own schemas, by clients that
//! can ask; every other mistake, and what no form may ask for, is told to the model.

use crate::support::calls::{BARE, FULL, action, site, upstream_calls};
use crate::support::events::Events;
use crate::support::handshake::with;
use crate::support::rpc::{self, NEWEST, message, post};
use crate::support::{Ask, Desk, Origin, Reply, Request, Response, Setup, Via};
use serde_json::{Value, json};

async fn hotel() -> Origin {
    Origin::start(|r: &Request| match r.target.split('?').next().unwrap_or_default() {
        "/api/rooms" => Reply::new(201).header("Content-Type", "application/json").body(r#"{"room":"r-1"}"#),
        _ => Reply::new(404).body("none"),
    })
    .await
}

const INPUTS: &str = r#"{ type = "object", required = ["name", "nights", "board"], properties = {
    name = { type = "string", title = "Your name", maxLength = 30, pattern = "^[A-Z]" },
    nights = { type = "integer", minimum = 1, maximum = 30, default = 2 },
    board = { type = "string", oneOf = [{ const = "half", title = "Half board" }, { const = "full", title = "Full board" }] },
    extras = { type = "array", items = { type = "string", enum = ["sea", "dog"] } },
} }"#;

fn setup(origin: &Origin, schema: &str, confirmed: bool) -> Setup {
    let schema = schema.replace('\n', " ");
    let mut book = action(
        "book",
        &format!("\ninput_schema = {schema}\nupstream = {{ method = \"POST\", path = \"/api/rooms\" }}"),
    );
    if confirmed {
        book = book.replace("requires_user_confirmation = false", "requires_user_confirmation = true")
            + "[capabilities.confirmation]\nsummary = \"Book for {{ input.name }}, {{ input.nights }} nights.\"\n";
    }
    site(origin, &book)
}

/// A call of a client of 2026-07-28.
fn call(elicitation: Value, arguments: Value, more: Value) -> Ask {
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": elicitation } });
    let params = with(json!({ "name": "book", "arguments": arguments, "_meta": meta }), more);
    post(message("tools/call", params).to_string())
        .header("MCP-Protocol-Version", NEWEST)
        .header("Mcp-Method", "tools/call")
        .header("Mcp-Name", "book")
}

async fn called(desk: &Desk, ask: Ask) -> Value {
    rpc::result(&desk.ask(Via::H1, ask.bearer(FULL)).await)
}

fn answer(result: &Value, key: &str, answer: Value) -> Value {
    assert_eq!(result["resultType"], "input_required", "{result}");
    json!({ "requestState": result["requestState"], "inputResponses": { key: answer } })
}

fn accept(content: Value) -> Value {
    json!({ "action": "accept", "content": content })
}

/// What the site was sent.
#[track_caller]
fn booked(origin: &Origin) -> Vec<Value> {
    upstream_calls(origin).iter().map(|request| serde_json::from_slice(&request.body).expect("JSON")).collect()
}

#[tokio::test]
async fn missing_inputs_are_asked_with_their_schemas() {
    let origin = hotel().await;
    let desk = setup(&origin, INPUTS, false).start().await;
    let asked = called(&desk, call(json!({}), json!({ "name": "Ada" }), json!({}))).await;
    let request = &asked["inputRequests"]["inputs"];
    assert_eq!((&request["method"], &request["params"]["mode"]), (&json!("elicitation/create"), &json!("form")));
    let text = request["params"]["message"].as_str().expect("a message");
    assert!(text.contains("It is book.") && text.contains("nights, board"), "{text}");
    let expected = json!({ "type": "object", "required": ["nights", "board"], "properties": {
        "nights": { "type": "integer", "minimum": 1, "maximum": 30, "default": 2 },
        "board": { "type": "string", "oneOf": [
            { "const": "half", "title": "Half board" }, { "const": "full", "title": "Full board" }] },
    } });
    let mut schema = request["params"]["requestedSchema"].clone();
    schema["required"].as_array_mut().expect("names").sort_by_key(|name| name == "board");
    assert_eq!(schema, expected);
    let filled = answer(&asked, "inputs", accept(json!({ "nights": 3, "board": "half" })));
    let done = called(&desk, call(json!({}), json!({ "name": "Ada" }), filled)).await;
    assert!(done.to_string().contains("r-1") && done["resultType"] == "complete", "{done}");
    assert_eq!(booked(&origin), [json!({ "name": "Ada", "nights": 3, "board": "half" })]);
}

#[tokio::test]
async fn missing_inputs_are_asked_until_they_are_there_and_stay_for_the_confirmation() {
    let origin = hotel().await;
    let desk = setup(&origin, INPUTS, true).start().await;
    let first = called(&desk, call(json!({}), json!({}), json!({}))).await;
    let name = answer(&first, "inputs", accept(json!({ "name": "Ada" })));
    let second = called(&desk, call(json!({}), json!({}), name)).await;
    let properties = second["inputRequests"]["inputs"]["params"]["requestedSchema"]["properties"].clone();
    let still: Vec<&String> = properties.as_object().expect("properties").keys().collect();
    assert_eq!(still, ["board", "nights"], "{second}");
    assert_ne!(first["requestState"], second["requestState"]);
    let rest = answer(&second, "inputs", accept(json!({ "nights": 3, "board": "full" })));
    let third = called(&desk, call(json!({}), json!({}), rest)).await;
    let confirmation = third["inputRequests"]["confirmation"]["params"]["message"].as_str().expect("a question");
    assert!(confirmation.contains("Book for \"Ada\", 3 nights."), "{confirmation}");
    assert!(booked(&origin).is_empty());
    // The state is this caller's, and unchanged.
    let yes = answer(&third, "confirmation", accept(json!({ "ok": true })));
    let other = desk.ask(Via::H1, call(json!({}), json!({}), yes.clone()).bearer(BARE)).await;
    assert_eq!(other.json()["error"]["code"], -32602, "{}", other.text());
    let done = called(&desk, call(json!({}), json!({}), yes.clone())).await;
    assert!(done.to_string().contains("r-1"), "{done}");
    assert_eq!(booked(&origin), [json!({ "name": "Ada", "nights": 3, "board": "full" })]);
    // Once.
    let again = called(&desk, call(json!({}), json!({}), yes)).await;
    assert_eq!(again["resultType"], "input_required", "{again}");
    assert_eq!(booked(&origin).len(), 1);
}

#[tokio::test]
async fn missing_inputs_that_nobody_gives_are_told_to_the_model() {
    let origin = hotel().await;
    let desk = setup(&origin, INPUTS, false).start().await;
    let told = |result: &Value| {
        assert_eq!((&result["isError"], &result["resultType"]), (&json!(true), &json!("complete")), "{result}");
        result["content"][0]["text"].as_str().expect("words").to_owned()
    };
    for no in [json!({ "action": "decline" }), json!({ "action": "cancel" }), json!({ "action": "accept" })] {
        let asked = called(&desk, call(json!({}), json!({}), json!({}))).await;
        let result = called(&desk, call(json!({}), json!({}), answer(&asked, "inputs", no))).await;
        assert!(told(&result).contains("nights"), "{result}");
    }
    // An answer to something else is none; what was not asked for is not taken.
    let asked = called(&desk, call(json!({}), json!({}), json!({}))).await;
    let other = answer(&asked, "other", accept(json!({ "name": "Ada" })));
    assert_eq!(called(&desk, call(json!({}), json!({}), other)).await["resultType"], "input_required");
    let more = json!({ "name": "Ada", "nights": 3, "board": "half", "extras": ["sea"], "price": 1 });
    let done = called(&desk, call(json!({}), json!({}), answer(&asked, "inputs", accept(more)))).await;
    assert!(done.to_string().contains("r-1"), "{done}");
    assert_eq!(booked(&origin), [json!({ "name": "Ada", "nights": 3, "board": "half" })]);
    // What the person filled in is checked like everything else.
    let asked = called(&desk, call(json!({}), json!({}), json!({}))).await;
    let wrong = json!({ "name": "ada", "nights": 300, "board": "none" });
    let result = called(&desk, call(json!({}), json!({}), answer(&asked, "inputs", accept(wrong)))).await;
    assert!(told(&result).contains("/nights"), "{result}");
    assert_eq!(booked(&origin).len(), 1);
}

#[tokio::test]
async fn missing_inputs_are_asked_only_where_a_form_may_and_a_client_can() {
    let origin = hotel().await;
    let desk = setup(&origin, INPUTS, false).start().await;
    for (elicitation, arguments) in [
        (json!(null), json!({})),
        (json!({ "url": {} }), json!({})),
        // Something else is wrong besides: the model corrects it first.
        (json!({}), json!({ "nights": "many" })),
    ] {
        let result = called(&desk, call(elicitation, arguments, json!({}))).await;
        assert_eq!((&result["isError"], &result["resultType"]), (&json!(true), &json!("complete")), "{result}");
    }
    // Who may not call is told so, and their person is not bothered.
    let nobody = desk.ask(Via::H1, call(json!({}), json!({}), json!({}))).await;
    assert!(!nobody.text().contains("input_required"), "{}", nobody.text());
    for schema in [
        r#"{ type = "object", required = ["password"], properties = { password = { type = "string" } } }"#,
        r#"{ type = "object", required = ["n", "card_number"], properties = { n = { type = "integer" }, card_number = { type = "string" } } }"#,
        r#"{ type = "object", required = ["code"], properties = { code = { type = "string", format = "password" } } }"#,
        r#"{ type = "object", required = ["guests"], properties = { guests = { type = "array", items = { type = "object" } } } }"#,
    ] {
        let desk = setup(&origin, schema, false).start().await;
        let result = called(&desk, call(json!({}), json!({}), json!({}))).await;
        assert_eq!(
            (&result["isError"], &result["resultType"]),
            (&json!(true), &json!("complete")),
            "{schema}: {result}"
        );
    }
    assert!(booked(&origin).is_empty());
}

/// A session, and its POSTs.
async fn session(desk: &Desk, version: &'static str) -> impl Fn(&Value) -> Ask {
    let params = json!({ "protocolVersion": version, "capabilities": { "elicitation": {} } });
    let begun = desk.rpc(post(message("initialize", params).to_string())).await;
    let id = begun.header("mcp-session-id").expect("a session").to_owned();
    move |body: &Value| {
        post(body.to_string())
            .header("MCP-Protocol-Version", version)
            .header("Mcp-Session-Id", &id)
            .accept("application/json, text/event-stream")
            .bearer(FULL)
    }
}

#[tokio::test]
async fn missing_inputs_are_asked_on_the_stream_of_a_call() {
    let origin = hotel().await;
    let desk = setup(&origin, INPUTS, true).start().await;
    for (n, version) in [(1, "2025-06-18"), (2, "2025-11-25")] {
        let posts = session(&desk, version).await;
        let mut events = Events::of(&desk, &posts(&rpc::call("book", json!({ "name": "Ada" })))).await;
        let form = events.next().await;
        let board = &form["params"]["requestedSchema"]["properties"]["board"];
        let titles = json!([{ "const": "half", "title": "Half board" }, { "const": "full", "title": "Full board" }]);
        let expected = match version {
            "2025-06-18" => {
                json!({ "type": "string", "enum": ["half", "full"], "enumNames": ["Half board", "Full board"] })
            }
            _ => json!({ "type": "string", "oneOf": titles }),
        };
        assert_eq!((&form["method"], board), (&json!("elicitation/create"), &expected), "{form}");
        let says = |id: &Value, result: Value| posts(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
        let heard: Response =
            desk.ask(Via::H1, says(&form["id"], accept(json!({ "nights": 1, "board": "full" })))).await;
        assert_eq!(heard.status, 202, "{}", heard.text());
        let question = events.next().await;
        assert!(question["params"]["message"].as_str().is_some_and(|text| text.contains("\"Ada\", 1")), "{question}");
        assert_eq!(booked(&origin).len(), n - 1);
        desk.ask(Via::H1, says(&question["id"], accept(json!({ "ok": true })))).await;
        let done = events.next().await;
        assert!(done.to_string().contains("r-1"), "{done}");
        assert_eq!(booked(&origin).len(), n);
    }
    // Declined: the model is told what is missing.
    let posts = session(&desk, "2025-06-18").await;
    let mut events = Events::of(&desk, &posts(&rpc::call("book", json!({ "name": "Ada" })))).await;
    let form = events.next().await;
    let no = json!({ "jsonrpc": "2.0", "id": form["id"], "result": { "action": "decline" } });
    desk.ask(Via::H1, posts(&no)).await;
    let told = events.next().await;
    assert_eq!(told["result"]["isError"], true, "{told}");
    assert!(told["result"]["content"][0]["text"].as_str().is_some_and(|text| text.contains("nights")), "{told}");
    assert_eq!(booked(&origin).len(), 2);
}
