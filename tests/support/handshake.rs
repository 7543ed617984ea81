//! The handshake from a visiting agent's side: questions, and the checks that every reply must pass.
//!
//! The schemas are copies of the published ones, corrected where those contradict the specification (tests/data).

use super::ask::{Ask, Via};
use super::client::Conn;
use super::desk::Desk;
use super::message::Response;
use super::rates::{api_key, rate};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::sync::LazyLock;

pub const CONVERSE: &str = "/agent/converse";

static MANIFEST: LazyLock<Validator> = LazyLock::new(|| schema(include_str!("../data/ahp-manifest.json")));
static REQUEST: LazyLock<Validator> = LazyLock::new(|| schema(include_str!("../data/ahp-request.json")));
static RESPONSE: LazyLock<Validator> = LazyLock::new(|| schema(include_str!("../data/ahp-response.json")));

fn schema(text: &str) -> Validator {
    let schema = serde_json::from_str(text).expect("a schema");
    jsonschema::draft7::new(&schema).expect("a schema of draft 7")
}

#[track_caller]
fn assert_fits(schema: &Validator, value: &Value, what: &str) {
    let wrong: Vec<String> = schema.iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(wrong.is_empty(), "{what}: {wrong:#?} in {value:#}");
}

/// A question with only the required members and the version.
pub fn question(capability: &str, query: &str) -> Value {
    json!({ "ahp": "0.1", "capability": capability, "query": query })
}

/// `question` with additional members.
pub fn with(mut question: Value, more: Value) -> Value {
    question.as_object_mut().expect("a question").extend(more.as_object().cloned().expect("members"));
    question
}

/// The request of this question, which must be valid.
#[track_caller]
pub fn asking(question: &Value) -> Ask {
    assert_fits(&REQUEST, question, "the question itself");
    saying(question.to_string())
}

/// The request with any body.
pub fn saying(body: impl AsRef<[u8]>) -> Ask {
    Ask::post(CONVERSE, body).header("Content-Type", "application/json")
}

/// The request for the state of an answer.
#[track_caller]
pub fn polling(accepted: &Value) -> Ask {
    Ask::get(accepted["poll"].as_str().unwrap_or_else(|| panic!("no address to poll: {accepted}")))
}

impl Desk {
    /// The manifest, which must be valid.
    pub async fn manifest(&self) -> Value {
        let response = self.get("/.well-known/agent.json").await;
        assert_eq!((response.status, response.media_type().as_str()), (200, "application/json"));
        assert_manifest(&response.json(), "the manifest");
        response.json()
    }

    /// The answer to a question, which must be valid.
    pub async fn told(&self, question: &Value) -> Value {
        assert_success(&self.ask(Via::H1, asking(question)).await, &question.to_string())
    }

    /// The answer to a question with this key.
    pub async fn told_to(&self, key: &str, question: &Value) -> Value {
        assert_success(&self.ask(Via::H1, asking(question).bearer(key)).await, &question.to_string())
    }

    /// The same from 127.0.0.`host`.
    pub async fn ask_from(&self, host: u8, ask: &Ask) -> Response {
        Conn::open_from(host, self.ports.http).await.ask(ask).await
    }
}

#[track_caller]
pub fn assert_manifest(manifest: &Value, what: &str) {
    assert_fits(&MANIFEST, manifest, what);
}

/// Checks what holds for every reply and returns it.
#[track_caller]
pub fn assert_reply(response: &Response, what: &str) -> Value {
    assert_eq!(response.media_type(), "application/json", "{what}: {} {}", response.status, response.text());
    let reply = response.json();
    assert_fits(&RESPONSE, &reply, what);
    // On every answer: the rate headers and the Link.
    rate(response, what);
    assert!(response.headers.joined("link").contains("rel=\"ahp-manifest\""), "{what}: {:?}", response.headers);
    let control = response.headers.tokens("cache-control");
    assert!(control.iter().any(|c| c == "no-store" || c == "private"), "{what}: {control:?}");
    let ok = reply["status"] != "error";
    assert_eq!(response.status < 400, ok, "{what}: {} {reply}", response.status);
    reply
}

/// Checks a success (the answer in words, its type and the signals) and returns the reply.
#[track_caller]
pub fn assert_success(response: &Response, what: &str) -> Value {
    let reply = assert_reply(response, what);
    assert_eq!((response.status, &reply["status"]), (200, &json!("success")), "{what}: {reply}");
    let (answer, meta) = (&reply["response"], &reply["meta"]);
    assert!(answer["answer"].as_str().is_some_and(|a| !a.is_empty()), "{what}: no answer in words: {reply}");
    assert!(answer["content_type"].is_string(), "{what}: {reply}");
    assert_eq!(answer["content_type"], meta["content_type"], "{what}: {reply}");
    assert!(meta["content_signals"]["ai_input"].is_boolean(), "{what}: {reply}");
    assert!(meta["capability_used"].is_string() && meta["mode"].is_string(), "{what}: {reply}");
    assert!(meta["tokens_used"].is_u64() && meta["cached"].is_boolean(), "{what}: {reply}");
    reply
}

/// Checks an error of the closed list and returns the reply.
#[track_caller]
pub fn assert_error(response: &Response, status: u16, code: &str, what: &str) -> Value {
    let reply = assert_reply(response, what);
    assert_eq!((response.status, &reply["code"]), (status, &json!(code)), "{what}: {reply}");
    assert_eq!(reply["status"], "error", "{what}: {reply}");
    assert!(reply["message"].as_str().is_some_and(|m| m.len() > 10), "{what}: {reply}");
    let control = response.headers.tokens("cache-control");
    assert!(control.contains(&"no-store".to_owned()), "{what}: {control:?}");
    reply
}

/// Checks a clarification, in both spellings, and returns the reply.
#[track_caller]
pub fn assert_asks_back(response: &Response, what: &str) -> Value {
    let reply = assert_reply(response, what);
    assert_eq!((response.status, &reply["status"]), (200, &json!("clarification_needed")), "{what}: {reply}");
    assert_eq!(reply["clarification_question"], reply["clarification"]["question"], "{what}: {reply}");
    assert!(reply["clarification"]["free_form"].is_boolean(), "{what}: {reply}");
    reply
}

/// The session of a reply, which must have one.
#[track_caller]
pub fn session(reply: &Value) -> String {
    reply["session_id"].as_str().unwrap_or_else(|| panic!("no session: {reply}")).to_owned()
}

/// The operator's token, and the setting that accepts it.
pub const OPERATOR: &str = "sesame-of-the-operator";

pub fn operators_token() -> String {
    let known = api_key("x", OPERATOR, "");
    known.lines().find(|l| l.starts_with("sha256")).expect("a hash").replace("sha256", "token_sha256")
}
