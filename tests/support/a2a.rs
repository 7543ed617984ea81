//! A2A over JSON-RPC as clients of both versions use it, against the travel site.

use super::ask::{Ask, Via};
use super::calls::{FULL, upstream_calls};
use super::desk::Desk;
use super::origin::Origin;
use super::rpc;
use serde_json::{Value, json};

/// The client's version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Version {
    V1,
    V03,
}
pub use Version::{V1, V03};

impl Version {
    fn method(self, name: &str) -> &'static str {
        match (self, name) {
            (V1, "send") => "SendMessage",
            (V1, "get") => "GetTask",
            (V1, "cancel") => "CancelTask",
            (V03, "send") => "message/send",
            (V03, "get") => "tasks/get",
            (V03, "cancel") => "tasks/cancel",
            _ => panic!("{name}"),
        }
    }

    pub fn state(self, word: &str) -> String {
        match self {
            V03 => word.to_owned(),
            V1 => format!("TASK_STATE_{}", word.replace('-', "_").to_uppercase()),
        }
    }

    pub fn part(self, kind: &str, value: Value) -> Value {
        match self {
            V1 => json!({ kind: value }),
            V03 => json!({ "kind": kind, kind: value }),
        }
    }

    /// A request of a client of this version.
    pub fn ask(self, name: &str, params: Value) -> Ask {
        let body = rpc::message(self.method(name), params).to_string();
        let ask = Ask::post("/a2a", body).header("Content-Type", "application/json");
        if self == V1 { ask.header("A2A-Version", "1.0") } else { ask }
    }

    /// A message with these parts, and more members of the message.
    pub fn message(self, id: &str, parts: Value, more: Value) -> Ask {
        let role = if self == V1 { "ROLE_USER" } else { "user" };
        let mut message = json!({ "messageId": id, "role": role, "parts": parts });
        if self == V03 {
            message["kind"] = "message".into();
        }
        message.as_object_mut().expect("a message").extend(more.as_object().cloned().unwrap_or_default());
        self.ask("send", json!({ "message": message }))
    }

    pub fn words(self, words: &str, more: Value) -> Ask {
        self.message("m-words", json!([self.part("text", words.into())]), more)
    }

    pub fn data(self, id: &str, data: Value, more: Value) -> Ask {
        self.message(id, json!([self.part("data", data)]), more)
    }
}

/// The result of a request that has to succeed.
pub async fn result(desk: &Desk, ask: Ask) -> Value {
    rpc::result(&desk.ask(Via::H1, ask).await)
}

/// The task in the result of a message.
pub async fn task(desk: &Desk, version: Version, ask: Ask) -> Value {
    let result = result(desk, ask).await;
    let task = if version == V1 { result["task"].clone() } else { result.clone() };
    assert!(task["id"].is_string() && task["status"]["timestamp"].is_string(), "{result}");
    assert_eq!(task.get("kind").is_some(), version == V03, "{task}");
    task
}

/// The message in the result of a message.
pub async fn message(desk: &Desk, version: Version, ask: Ask) -> Value {
    let result = result(desk, ask).await;
    let message = if version == V1 { result["message"].clone() } else { result.clone() };
    assert!(message["messageId"].is_string() && message["contextId"].is_string(), "{result}");
    assert_eq!(message["role"], if version == V1 { "ROLE_AGENT" } else { "agent" }, "{message}");
    message
}

pub async fn get(desk: &Desk, version: Version, task: &Value, key: &str) -> Value {
    result(desk, version.ask("get", json!({ "id": task["id"] })).bearer(key)).await
}

pub fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap_or_else(|| panic!("no state: {task}"))
}

pub fn of(task: &Value) -> Value {
    json!({ "taskId": task["id"], "contextId": task["contextId"] })
}

pub fn hold(version: Version, id: &str, fare: &str) -> Ask {
    version.data(id, json!({ "capability": "holds.asked", "input": { "fare_id": fare } }), json!({})).bearer(FULL)
}

pub async fn error(desk: &Desk, ask: Ask, code: i64) -> Value {
    rpc::error(&desk.ask(Via::H1, ask).await, 200, code)
}

pub fn holds(origin: &Origin) -> usize {
    upstream_calls(origin).iter().filter(|request| request.target == "/api/holds").count()
}
