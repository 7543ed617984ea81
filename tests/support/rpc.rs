//! JSON-RPC over HTTP as clients of three MCP generations use it, and a travel site.

use super::ask::{Ask, Via};
use super::calls::{action, query, site};
use super::desk::Desk;
use super::message::{Request, Response};
use super::origin::Origin;
use super::reply::Reply;
use super::setup::Setup;
use serde_json::{Value, json};

pub const NEWEST: &str = "2026-07-28";

/// The travel site: flights, and numbered holds.
pub async fn origin() -> Origin {
    Origin::start(|r: &Request| match r.target.split('?').next().unwrap_or_default() {
        "/api/flights" => Reply::json(r#"{"results":[{"id":"fare_1","price":250}],"total":1}"#),
        "/api/holds" => Reply::new(201).header("Content-Type", "application/json").body(r#"{"hold_id":"h-1"}"#),
        "/api/broken" => Reply::new(500).body("no"),
        _ => Reply::new(404).body("none"),
    })
    .await
}

/// A search, an action without confirmation, one with it, and one that fails.
pub fn capabilities() -> String {
    let places = r#"
input_schema = { type = "object", required = ["origin"], additionalProperties = false, properties = { origin = { type = "string", minLength = 3 }, max_price = { type = "number" } } }
output_schema = { type = "object", required = ["total"], properties = { total = { type = "integer" } } }
upstream = { method = "GET", path = "/api/flights" }"#;
    let fare = r#"
input_schema = { type = "object", required = ["fare_id"], properties = { fare_id = { type = "string" } } }
upstream = { method = "POST", path = "/api/holds" }"#;
    let confirmed = format!(
        "{fare}\nidempotency_required = true\n[capabilities.confirmation]\nsummary = \"Hold {{{{ input.fare_id }}}}.\"\nconsequence = \"It is reserved.\""
    );
    query("flights.search", places)
        + &action("holds.now", fare)
        + &action("holds.asked", &confirmed)
            .replace("requires_user_confirmation = false", "requires_user_confirmation = true")
        + &query("broken", "\nupstream = { method = \"GET\", path = \"/api/broken\" }")
}

/// A desk in front of it.
pub async fn travel() -> (Origin, Desk) {
    let origin = origin().await;
    let desk = before(&origin).start().await;
    (origin, desk)
}

pub fn before(origin: &Origin) -> Setup {
    site(origin, &capabilities())
}

pub fn message(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })
}

pub fn post(body: impl AsRef<[u8]>) -> Ask {
    Ask::post("/mcp", body).header("Content-Type", "application/json")
}

pub fn call(name: &str, arguments: Value) -> Value {
    message("tools/call", json!({ "name": name, "arguments": arguments }))
}

/// The form since 2026-07-28: everything in the body, and the method in headers.
pub fn stateless(method: &str, mut params: Value) -> Ask {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = NEWEST.into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": "test", "version": "1" });
    let name = params["name"].as_str().or(params["uri"].as_str()).map(str::to_owned);
    let ask = post(message(method, params).to_string())
        .header("MCP-Protocol-Version", NEWEST)
        .header("Mcp-Method", method)
        .accept("application/json, text/event-stream");
    match name {
        Some(name) => ask.header("Mcp-Name", &name),
        None => ask,
    }
}

impl Desk {
    pub async fn rpc(&self, ask: Ask) -> Response {
        self.ask(Via::H1, ask).await
    }

    /// Sends a message and returns its result.
    pub async fn result(&self, body: &Value) -> Value {
        result(&self.rpc(post(body.to_string())).await)
    }
}

#[track_caller]
pub fn result(response: &Response) -> Value {
    assert_eq!((response.status, response.media_type().as_str()), (200, "application/json"), "{}", response.text());
    assert!(response.headers.tokens("cache-control").contains(&"no-store".to_owned()), "{:?}", response.headers);
    let body = response.json();
    assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), &json!(7)), "{body}");
    assert!(body.get("error").is_none() && body["result"].is_object(), "{body}");
    body["result"].clone()
}

/// Checks an error and returns it.
#[track_caller]
pub fn error(response: &Response, status: u16, code: i64) -> Value {
    assert_eq!((response.status, response.media_type().as_str()), (status, "application/json"), "{}", response.text());
    let body = response.json();
    assert_eq!((&body["jsonrpc"], &body["error"]["code"]), (&json!("2.0"), &json!(code)), "{body}");
    assert!(body["error"]["message"].as_str().is_some_and(|m| m.len() > 10), "{body}");
    assert!(body.get("result").is_none(), "{body}");
    body["error"].clone()
}

/// Checks a result that reports a failed tool, and returns the handshake's error.
#[track_caller]
pub fn failed(result: &Value, code: &str) -> Value {
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(result["content"][0]["type"], "text", "{result}");
    assert!(result["content"][0]["text"].as_str().is_some_and(|t| t.len() > 5), "{result}");
    let error = result["_meta"]["error"].clone();
    assert_eq!((&error["status"], &error["code"]), (&json!("error"), &json!(code)), "{result}");
    error
}
