//! AGTP from an agent's side: verbs as HTTP methods or in frames, and checks of what every answer carries.
//!
//! These frames are valid ones. Tests send hostile frames with `send` of a `Conn` on the same port.

use super::ask::Ask;
use super::client::Conn;
use super::desk::Desk;
use super::jwks::text;
use super::message::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

/// An agent that no desk under test knows, and another.
pub const CALLER: &str = "61de55ba3388aec4fdf6ecfc6eef846fb0f1b13e28cc8381270c27ffa313aee5";
pub const OTHER: &str = "0000000000000000000000000000000000000000000000000000000000000002";
pub const MANIFEST: &str = "application/vnd.agtp.manifest+json";

/// A request of that agent. Its `Accept` distinguishes a verb from the HTTP method of the same name.
pub fn verb(method: &str, target: &str) -> Ask {
    anonymous(method, target).agent(CALLER)
}

/// A request without an agent's name.
pub fn anonymous(method: &str, target: &str) -> Ask {
    Ask::new(method, target).accept("application/vnd.agtp+json, */*;q=0.5")
}

impl Ask {
    pub fn agent(mut self, id: &str) -> Ask {
        self.headers.retain(|(name, _)| name != "Agent-ID");
        self.header("Agent-ID", id)
    }

    pub fn scopes(self, scopes: &str) -> Ask {
        self.header("Authority-Scope", scopes)
    }

    pub fn json(self, input: &Value) -> Ask {
        self.header("Content-Type", "application/vnd.agtp+json").body(input.to_string())
    }
}

impl Desk {
    /// A connection to the AGTP socket.
    pub async fn socket(&self) -> Conn {
        Conn::open(self.ports.agtp).await
    }

    /// Sends one request on that socket, on a new connection.
    pub async fn speak(&self, ask: Ask) -> Response {
        self.frames(ask.frame()).await
    }

    /// Sends exact bytes on that socket and returns the first response.
    pub async fn frames(&self, bytes: impl AsRef<[u8]>) -> Response {
        let mut conn = self.socket().await;
        conn.send(bytes).await;
        conn.response("AGTP").await
    }

    /// The document that the server publishes for anonymous clients.
    pub async fn published(&self) -> Value {
        let response = self.call(anonymous("DISCOVER", "/")).await;
        assert_eq!((response.status, response.media_type().as_str()), (200, MANIFEST), "{}", response.text());
        response.json()
    }
}

/// The published endpoint with this method and path, if there is one.
pub fn endpoint<'a>(manifest: &'a Value, pair: &str) -> Option<&'a Value> {
    let (method, path) = pair.split_once(' ').expect("METHOD /path");
    let all = manifest["endpoints"].as_array().unwrap_or_else(|| panic!("endpoints: {manifest}"));
    all.iter().find(|e| e["method"] == method && e["path"] == path)
}

/// Checks a response with this status and what each answer carries. Returns the body, or null.
#[track_caller]
pub fn assert_told(response: &Response, status: u16, what: &str) -> Value {
    assert_eq!(response.status, status, "{what}: {}", response.text());
    assert_eq!(response.headers.all("server-id"), ["shop.test"], "{what}: {:?}", response.headers);
    let id = response.header("response-id").unwrap_or_else(|| panic!("{what}: no Response-ID"));
    assert!(is_time_ordered(id), "{what}: Response-ID {id} is neither a UUIDv7 nor a ULID");
    for retired in ["AGTP-Version", "AGTP-Method", "AGTP-Status", "Principal-ID", "Server-Agent-ID"] {
        assert!(!response.headers.has(retired), "{what}: {retired} is retired");
    }
    if status == 204 {
        let silent = response.body.is_empty() && !response.headers.has("content-type");
        assert!(silent, "{what}: {:?} {}", response.headers, response.text());
        return Value::Null;
    }
    let kind = response.media_type();
    let own = kind.starts_with("application/vnd.agtp") && kind.ends_with("+json");
    assert!(own || kind == "application/json", "{what}: {kind}: {}", response.text());
    response.json()
}

/// Checks a refusal: a code and a sentence in `error`, and nothing of the site's answers. Returns the body.
#[track_caller]
pub fn assert_refusal(response: &Response, status: u16, what: &str) -> Value {
    let body = assert_told(response, status, what);
    let error = &body["error"];
    assert!(error["code"].as_str().is_some_and(|c| !c.is_empty()), "{what}: {body}");
    assert!(error["message"].as_str().is_some_and(|m| m.len() > 10), "{what}: {body}");
    body
}

/// Checks a refusal with this code.
#[track_caller]
pub fn assert_code(response: &Response, status: u16, code: &str, what: &str) -> Value {
    let body = assert_refusal(response, status, what);
    assert_eq!(body["error"]["code"], code, "{what}: {body}");
    body
}

/// Checks a refusal whose member `name` is `value`, at the top level and inside `error`.
#[track_caller]
pub fn assert_says(response: &Response, status: u16, name: &str, value: impl Into<Value>, what: &str) -> Value {
    let body = assert_refusal(response, status, what);
    assert_eq!(member(&body, name, what), value.into(), "{what}: {name} of {body}");
    body
}

/// A member at the top level that is repeated inside `error`.
#[track_caller]
pub fn member(body: &Value, name: &str, what: &str) -> Value {
    assert!(!body[name].is_null(), "{what}: no {name} at the top of {body}");
    assert_eq!(body[name], body["error"][name], "{what}: {name} is not the same inside error: {body}");
    body[name].clone()
}

/// The confirmation token of a 262, which must describe the action.
#[track_caller]
pub fn assert_unconfirmed(response: &Response, what: &str) -> String {
    let body = assert_says(response, 262, "type", "confirmation-required", what);
    let asked = &body["confirmation"];
    for name in ["summary", "consequence", "expires_at"] {
        assert!(asked[name].as_str().is_some_and(|s| !s.is_empty()), "{what}: {name}: {body}");
    }
    asked["token"].as_str().unwrap_or_else(|| panic!("{what}: a token: {body}")).to_owned()
}

/// The content of an answer's Attribution-Record. Another test checks its signature.
#[track_caller]
pub fn record(response: &Response, what: &str) -> Value {
    let jws = response.header("attribution-record").unwrap_or_else(|| panic!("{what}: none in {:?}", response.headers));
    let parts: Vec<&str> = jws.split('.').collect();
    assert_eq!(parts.len(), 3, "{what}: {jws}");
    assert_eq!(response.header("audit-id"), Some(sha256(jws).as_str()), "{what}: Audit-ID is the hash of the record");
    assert_eq!(decoded(parts[0])["alg"], "EdDSA", "{what}");
    decoded(parts[1])
}

fn decoded(part: &str) -> Value {
    let bytes = URL_SAFE_NO_PAD.decode(part).unwrap_or_else(|e| panic!("{part} is not base64url: {e}"));
    serde_json::from_slice(&bytes).unwrap_or_else(|e| panic!("not JSON ({e}): {}", text(bytes)))
}

/// SHA-256 in lower-case hex.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    hex(ring::digest::digest(&ring::digest::SHA256, bytes.as_ref()).as_ref())
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// 64 characters of lower-case hex.
pub fn is_hash(value: &Value) -> bool {
    value.as_str().is_some_and(|s| s.len() == 64 && s.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)))
}

/// A UUID of version 7, or a ULID.
pub fn is_time_ordered(id: &str) -> bool {
    let hex = |c: char| c.is_ascii_hexdigit() || c == '-';
    let uuid = id.len() == 36 && id.as_bytes()[14] == b'7' && id.chars().all(hex);
    let ulid =
        id.len() == 26 && id.chars().all(|c| c.is_ascii_digit() || (c.is_ascii_uppercase() && !"ILOU".contains(c)));
    uuid || ulid
}

/// A proposed endpoint that is valid in every point.
pub fn proposal(method: &str, path: &str, properties: Value) -> Value {
    json!({
        "method": method,
        "path": path,
        "description": "What the agent needs.",
        "semantic": {
            "intent": "Look up what the agent needs.",
            "actor": "agent",
            "outcome": "The agent knows it.",
            "capability": "discovery",
            "confidence": 0.9,
            "impact": "informational",
            "is_idempotent": true,
        },
        "input_schema": { "type": "object", "properties": properties, "additionalProperties": false },
        "output_schema": { "type": "object", "additionalProperties": true },
    })
}

/// PROPOSE with this endpoint, wrapped as the draft recommends.
pub fn propose(endpoint: &Value) -> Ask {
    let body = json!({ "method": "PROPOSE", "task_id": "t-1", "parameters": { "endpoint": endpoint } });
    verb("PROPOSE", "/").json(&body)
}
