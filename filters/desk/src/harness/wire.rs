//! The JSON-RPC 2.0 envelope, as the Agent Harness Protocol 2.4 restricts it.
//!
//! Ids are strings; a message with another id is no request. Every failure here is an error and never a decision, so
//! that the caller can close the call. A message with a duplicate member is rejected, because two readers could
//! disagree on its id or its decision.

use std::time::SystemTime;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::kinds::Kind;
use crate::rfc3339;
use frontdesk_base::{fresh_id, strict};

/// The protocol version. Only the part before the dot has to match.
pub const VERSION: &str = "2.4";

/// `error.code`: the peer speaks another major version.
pub const UNSUPPORTED_VERSION: i64 = -32000;
/// `error.code`: the input is no message.
pub const NO_MESSAGE: i64 = -32600;
/// `error.code`: unknown method.
pub const NO_METHOD: i64 = -32601;
/// `error.code`: the parameters are invalid or exceed a limit.
pub const BAD_PARAMS: i64 = -32602;
/// `error.code`: the harness could not decide.
pub const HANDLER_FAILED: i64 = -32603;

/// The methods.
pub const HANDSHAKE: &str = "ahp/handshake";
pub const EVENT: &str = "ahp/event";
pub const QUERY: &str = "ahp/query";
pub const BATCH: &str = "ahp/batch";

/// A request to be sent.
#[derive(Debug, Clone)]
pub struct Question {
    pub id: String,
    pub message: Bytes,
}

impl Question {
    /// A request with a fresh id.
    pub fn new(method: &str, params: &Value) -> Self {
        let id = fresh_id().to_string();
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        Self { message: message.to_string().into(), id }
    }

    /// The result in an answer.
    ///
    /// # Errors
    ///
    /// Why it is no answer, for the log. If an error stands beside a result, the error counts.
    pub fn answer(&self, message: &[u8]) -> Result<Value, String> {
        let answer = strict::read(message).map_err(|why| format!("the answer cannot be parsed: {why}"))?;
        if answer["jsonrpc"] != "2.0" {
            return Err("the answer is not JSON-RPC 2.0".into());
        }
        if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
            let message = error["message"].as_str().unwrap_or_default();
            let message: String = message.chars().filter(|c| !c.is_control()).take(200).collect();
            return Err(format!("it said error {}: {message}", error["code"]));
        }
        if answer["id"] != self.id.as_str() {
            return Err("the answer has another id than the question".into());
        }
        let mut answer = answer;
        match answer.get_mut("result") {
            Some(result) if !result.is_null() => Ok(result.take()),
            _ => Err("the answer has neither a result nor an error".into()),
        }
    }
}

/// The `id` of a message; `None` where it is duplicate or no string.
pub fn id(message: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        id: String,
    }
    // serde would accept a list as the members in their order.
    let is_object = message.trim_ascii_start().first() == Some(&b'{');
    is_object.then(|| serde_json::from_slice(message).ok()).flatten().map(|Named { id }| id)
}

/// A notification.
pub fn notification(params: &Value) -> Bytes {
    json!({ "jsonrpc": "2.0", "method": EVENT, "params": params }).to_string().into()
}

/// The fields around an event's payload.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    pub session_id: &'a str,
    pub agent_id: &'a str,
    /// How many events led to this one.
    pub depth: u32,
    /// An object, or nothing.
    pub metadata: Option<&'a Value>,
}

/// An event's `params`.
pub fn event(kind: Kind, around: &Around<'_>, payload: &Value) -> Value {
    let mut event = json!({
        "event_type": kind.name(),
        "session_id": around.session_id,
        "agent_id": around.agent_id,
        "timestamp": now(),
        "depth": around.depth,
        "payload": payload,
    });
    if let Some(metadata) = around.metadata {
        event["metadata"] = metadata.clone();
    }
    event
}

/// The present time in RFC 3339 form.
pub fn now() -> String {
    rfc3339(SystemTime::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(answer: Value) -> Result<Value, String> {
        let question = Question { id: "q".into(), message: Bytes::new() };
        question.answer(answer.to_string().as_bytes())
    }

    #[test]
    fn only_a_whole_answer_with_our_id_is_one() {
        assert_eq!(
            answered(json!({"jsonrpc": "2.0", "id": "q", "result": {"decision": "allow"}})).unwrap()["decision"],
            "allow"
        );
        for (wrong, says) in [
            (json!({"jsonrpc": "2.0", "id": "p", "result": {}}), "another id"),
            (json!({"jsonrpc": "2.0", "id": 1, "result": {}}), "another id"),
            (json!({"jsonrpc": "1.0", "id": "q", "result": {}}), "not JSON-RPC"),
            (json!({"jsonrpc": "2.0", "id": "q"}), "neither"),
            (json!({"jsonrpc": "2.0", "id": "q", "result": null}), "neither"),
            (
                json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32603, "message": "down\n"}}),
                "error -32603: down",
            ),
            (json!({"jsonrpc": "2.0", "id": "q", "result": {"decision": "allow"}, "error": {"code": 1}}), "error 1"),
            (json!([]), "not JSON-RPC"),
        ] {
            assert!(answered(wrong.clone()).unwrap_err().contains(says), "{wrong}");
        }
    }

    #[test]
    fn what_is_said_twice_or_would_be_rounded_is_no_answer() {
        let question = Question { id: "q".into(), message: Bytes::new() };
        for wrong in [
            r#"{"jsonrpc":"2.0","id":"q","result":{"decision":"block","reason":"no","decision":"allow"}}"#,
            r#"{"jsonrpc":"2.0","id":"q","result":{"decision":"block","reason":"no"},"result":{"decision":"allow"}}"#,
            r#"{"jsonrpc":"2.0","id":"q","error":{"code":1},"error":null,"result":{"decision":"allow"}}"#,
            r#"{"jsonrpc":"2.0","id":"another","id":"q","result":{"decision":"allow"}}"#,
            r#"{"jsonrpc":"2.0","id":"q","result":{"decision":"modify","modified_payload":{"arguments":{"a":1},"\u0061rguments":{"a":2}}}}"#,
            r#"{"jsonrpc":"2.0","id":"q","result":{"decision":"modify","modified_payload":{"arguments":{"a":12345678901234567890123}}}}"#,
        ] {
            assert!(question.answer(wrong.as_bytes()).unwrap_err().contains("cannot be parsed"), "{wrong}");
        }
    }

    #[test]
    fn a_message_answers_one_or_nobody() {
        assert_eq!(id(br#" {"id":"\u0071","result":{"id":"x","a":1,"a":2}}"#).as_deref(), Some("q"));
        for nobodys in [
            r#"{"id":"p","id":"q"}"#,
            r#"{"id":"q","\u0069d":"p"}"#,
            r#"{"id":1}"#,
            r#"{"id":null}"#,
            "{}",
            r#"["q"]"#,
            r#"{"id":"q"} {}"#,
            r#"{"id":"q""#,
        ] {
            assert_eq!(id(nobodys.as_bytes()), None, "{nobodys}");
        }
    }

    #[test]
    fn a_question_has_a_string_for_an_id_and_an_event_a_depth() {
        let around = Around { session_id: "s", agent_id: "a", depth: 0, metadata: None };
        let question = Question::new(EVENT, &event(Kind::PreAction, &around, &json!({"tool_name": "x"})));
        let sent: Value = serde_json::from_slice(&question.message).unwrap();
        assert_eq!(sent["id"], question.id.as_str());
        assert_eq!(sent["params"]["event_type"], "pre_action");
        assert_eq!(sent["params"]["depth"], 0);
        assert!(sent["params"].get("metadata").is_none());
    }
}
