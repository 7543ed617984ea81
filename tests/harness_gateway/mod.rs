//! Promise: other agents reach the operator's harnesses through Frontdesk over any transport. Callers are identified,
//! events are checked and recorded, and of several answers the strictest wins.

mod checked;
mod combined;
mod kinds;
mod tls;

use crate::support::ask::{Ask, Via};
use crate::support::calls::FULL;
use crate::support::harnesses::{
    GATEWAY, OFFERED, Policy, before, client, gateway, greeted, over_http, over_stdio, over_unix, over_websocket,
    server,
};
use crate::support::{Desk, Dir, Response, SOON, eventually};
use a3s_ahp::{AhpClient, AuthConfig, Decision, EventType};
use serde_json::{Value, json};

/// An event's `params`.
fn event(kind: &str, payload: Value) -> Value {
    json!({
        "event_type": kind, "session_id": "s-1", "agent_id": "a-1", "timestamp": "2026-05-01T00:00:00Z",
        "depth": 0, "payload": payload,
    })
}

fn message(id: Value, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// A message of a known caller.
fn post(body: impl AsRef<[u8]>) -> Ask {
    Ask::post(GATEWAY, body).header("Content-Type", "application/json").header("x-api-key", FULL)
}

async fn send(desk: &Desk, message: &Value) -> Response {
    desk.ask(Via::H1, post(message.to_string())).await
}

/// A payload of each kind that has to be a certain one.
fn payload(kind: &str) -> Value {
    match kind {
        "run_lifecycle" => json!({"run_id": "r", "session_id": "s", "status": "executing", "updated_at": "t",
            "prompt": "p", "started_at": null, "metadata": {"a": 1}}),
        "task_list" => json!({"run_id": "r", "session_id": "s", "updated_at": "t", "tasks": [
            {"id": "1", "title": "t", "status": "in_progress", "depends_on": ["0"],
             "evidence": [{"kind": "log", "summary": "s", "artifact": {"id": "a", "size_bytes": 3}}]}]}),
        "verification" => json!({"run_id": "r", "session_id": "s", "status": "needs_review", "updated_at": "t",
            "checks": [{"id": "c", "subject": "s", "status": "passed", "command": "make"}], "residual_risks": ["x"]}),
        "idle" => json!({"idle_duration_ms": 5, "idle_reason": "done", "last_event_type": "success"}),
        "intent_detection" => json!({"session_id": "s", "prompt": "buy", "workspace": "/w"}),
        "context_perception" => json!({"session_id": "s", "intent": "understand",
            "target": {"location": {"path": ".", "location_type": "workspace"}}, "domain": "coding",
            "context": {"workspace": "/w", "relevant_history": [{"item_type": "i", "content": "c", "timestamp": -1}]},
            "constraints": {"max_results": 3, "include_sources": false}}),
        "memory_recall" => json!({"session_id": "s", "query": "q", "memory_type": "m", "max_results": 3,
            "working_directory": "/w"}),
        "planning" => json!({"session_id": "s", "task_description": "d",
            "available_strategies": ["step_by_step", {"custom": "own"}], "constraints": null}),
        "reasoning" => json!({"session_id": "s", "reasoning_type": "re_act", "problem_statement": "p", "hints": ["h"]}),
        "rate_limit" => json!({"session_id": "s", "limit_type": {"custom": "x"}, "retry_after_ms": 5,
            "current_usage": "9"}),
        "confirmation" => json!({"session_id": "s", "confirmation_type": "cost_confirm", "message": "m",
            "options": ["a"]}),
        _ => json!({"tool_name": "allow", "any": ["thing", 1.5, null]}),
    }
}

/// Kinds with a decision of their own, and the one that the harnesses of the tests make.
const SPECIAL: [(&str, &str); 8] = [
    ("idle", "allow"),
    ("intent_detection", "allow"),
    ("context_perception", "allow"),
    ("memory_recall", "allow"),
    ("planning", "allow"),
    ("reasoning", "allow"),
    ("rate_limit", "retry"),
    ("confirmation", "approve"),
];

/// Kinds without an answer.
const TOLD: [&str; 10] = [
    "post_action",
    "post_response",
    "session_start",
    "session_end",
    "error",
    "heartbeat",
    "success",
    "run_lifecycle",
    "task_list",
    "verification",
];

fn kind(name: &str) -> EventType {
    serde_json::from_value(json!(name)).expect("a kind")
}

/// The audit log, once it has this many lines about events.
async fn lines(desk: &Desk, count: usize) -> Vec<Value> {
    let read = || -> Vec<Value> {
        let text = std::fs::read_to_string(desk.dir.join("audit.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    eventually("the lines of the audit log", SOON, async || read().len() >= count).await;
    read()
}
