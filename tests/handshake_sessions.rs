//! Promise: a conversation has a memory and an end, belongs to its caller, and is started by the desk alone.

use crate::support::calls::{BARE, FULL, last_upstream, upstream_calls};
use crate::support::handshake::{
    asking, assert_error, assert_reply, assert_success, polling, question, saying, session, with,
};
use crate::support::rpc::{self, failed};
use crate::support::{Ask, Desk, Dir, Origin, SOON, Via, agency, eventually};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::time::{Duration, Instant};

async fn with_sessions(lines: &str) -> (Origin, Desk) {
    let origin = Origin::start(agency::says).await;
    let desk = agency::before(&origin).set("sessions", lines).start().await;
    (origin, desk)
}

fn stock() -> Value {
    question("stock_check", "What is left?")
}

fn in_session(id: &str) -> Value {
    with(stock(), json!({ "session_id": id }))
}

#[tokio::test]
async fn clause_15_a_session_comes_back_as_it_was_given() {
    let (_origin, desk) = agency::open().await;
    let id = session(&desk.told(&stock()).await);
    assert!((16..=128).contains(&id.len()), "nobody guesses it: {id}");
    for _ in 0..3 {
        assert_eq!(session(&desk.told(&in_session(&id)).await), id);
    }
    // Another capability goes on in the same conversation.
    let other = with(question("site_info", "Who are you?"), json!({ "session_id": id }));
    assert_eq!(session(&desk.told(&other).await), id);
    let mut others = HashSet::new();
    for _ in 0..20 {
        others.insert(session(&desk.told(&stock()).await));
    }
    assert_eq!(others.len(), 20, "a question without one begins one");
}

#[tokio::test]
async fn clause_15_ten_turns_are_answered_and_the_eleventh_is_not() {
    let (origin, desk) = agency::open().await;
    let id = session(&desk.told(&stock()).await);
    for turn in 2..=10 {
        let reply = assert_reply(&desk.ask(Via::H1, asking(&in_session(&id))).await, &format!("turn {turn}"));
        assert_eq!(reply["status"], "success", "turn {turn}: {reply}");
    }
    let before = upstream_calls(&origin).len();
    for _ in 0..2 {
        assert_error(&desk.ask(Via::H1, asking(&in_session(&id))).await, 400, "invalid_request", "one turn too many");
    }
    assert_eq!(upstream_calls(&origin).len(), before);
    desk.told(&stock()).await;
}

#[tokio::test]
async fn clause_15_turns_are_counted_for_twenty_at_once() {
    let (_origin, desk) = with_sessions("max_turns = 5").await;
    let id = session(&desk.told(&stock()).await);
    let mut running = Vec::new();
    for _ in 0..20 {
        let (mut conn, ask) = (desk.conn().await, asking(&in_session(&id)));
        running.push(tokio::spawn(async move { conn.ask(&ask).await }));
    }
    let mut answered = 0;
    for task in running {
        let response = task.await.expect("a client");
        let reply = assert_reply(&response, "at once");
        answered += usize::from(reply["status"] == "success");
        assert!([200, 400, 409, 429, 503].contains(&response.status), "{reply}");
    }
    assert!((1..=4).contains(&answered), "four turns were left, {answered} were answered");
}

#[tokio::test]
async fn clause_15_a_session_is_forgotten_when_nothing_is_said() {
    let (_origin, desk) = with_sessions("idle = \"4s\"").await;
    desk.told(&stock()).await;
    let id = session(&desk.told(&stock()).await);
    let begun = Instant::now();
    // It is idleness that ends it, not age.
    while begun.elapsed() < Duration::from_secs(6) {
        tokio::time::sleep(Duration::from_millis(1200)).await;
        desk.told(&in_session(&id)).await;
    }
    tokio::time::sleep(Duration::from_millis(4800)).await;
    assert_error(&desk.ask(Via::H1, asking(&in_session(&id))).await, 400, "invalid_request", "expired");
}

#[tokio::test]
async fn clause_15_a_session_cannot_be_invented() {
    let (origin, desk) = agency::open().await;
    let long = "a".repeat(128);
    for id in ["abc-123", "01a2025b-0096-7435-a2f4-0054eff20c7e", "x", "../../etc/passwd", "{frontdesk}", "é", &long] {
        for _ in 0..2 {
            // Refused each time: the first try has not made it.
            let response = desk.ask(Via::H1, asking(&in_session(id))).await;
            assert_error(&response, 400, "invalid_request", id);
        }
    }
    assert!(upstream_calls(&origin).is_empty(), "nothing is done for an invented one");
}

#[tokio::test]
async fn clause_15_a_session_belongs_to_who_began_it() {
    let (_origin, desk) = agency::open().await;
    let (of_full, of_nobody) = (desk.told_to(FULL, &stock()).await, desk.told(&stock()).await);
    let (of_full, of_nobody) = (session(&of_full), session(&of_nobody));
    let invented = desk.ask(Via::H1, asking(&in_session("abc-123"))).await.json();
    for (what, id, ask) in [
        ("another key", &of_full, asking(&in_session(&of_full)).bearer(BARE)),
        ("no key", &of_full, asking(&in_session(&of_full))),
        ("a key for an anonymous one", &of_nobody, asking(&in_session(&of_nobody)).bearer(FULL)),
    ] {
        let reply = assert_error(&desk.ask(Via::H1, ask).await, 400, "invalid_request", what);
        // The same answer as for an invented id, so that its existence stays secret.
        assert_eq!(reply["message"], invented["message"], "{what}: {id}");
    }
    let elsewhere = desk.ask_from(2, &asking(&in_session(&of_nobody))).await;
    assert_error(&elsewhere, 400, "invalid_request", "an anonymous one from another address");
    assert_success(&desk.ask_from(2, &asking(&in_session(&of_full)).bearer(FULL)).await, "a key may move");
    assert_eq!(session(&desk.told(&in_session(&of_nobody)).await), of_nobody);
}

#[tokio::test]
async fn clause_15_sessions_survive_a_swap_and_with_a_file_store_a_restart() {
    let (origin, dir) = (Origin::start(agency::says).await, Dir::new());
    let setup = agency::before(&origin).set("store", &format!("url = \"file:{}\"", dir.path().display()));
    let mut desk = setup.clone().start().await;
    let id = session(&desk.told(&stock()).await);
    desk.swap(&setup.clone().set("log", "level = \"warn\"")).await;
    assert_eq!(session(&desk.told(&in_session(&id)).await), id, "after a swap");
    desk.signal(libc::SIGTERM);
    desk.wait_exit(SOON).await;
    let desk = setup.start().await;
    assert_eq!(session(&desk.told(&in_session(&id)).await), id, "after a restart");
}

/// A concierge of the agency's own, whose schema contains the conversation's fields.
const GUIDE: &str = r#"
[[capabilities]]
id = "guide"
type = "query"
description = "Guides."
risk_level = "low"
auth = "none"
input_schema = { type = "object", required = ["query", "session_id"], additionalProperties = false, properties = { query = { type = "string" }, session_id = { type = "string" }, clarification = { type = "string" }, where = { type = "string" } } }
upstream = { method = "POST", path = "/api/advice" }
[capabilities.ahp]
mode = "MODE2"
"#;

/// What the concierge was told last.
fn told(origin: &Origin) -> Value {
    serde_json::from_slice(&last_upstream(origin).body).expect("JSON")
}

#[tokio::test]
async fn clause_15_a_concierge_is_told_no_session_but_one_that_is() {
    let origin = Origin::start(agency::says).await;
    let desk = agency::before(&origin).tail(GUIDE).start().await;
    for name in ["advice", "guide"] {
        let ask = question(name, "How do I get there?");
        let id = session(&desk.told(&ask).await);
        assert_eq!(told(&origin)["session_id"], id, "{name}");
        let before = upstream_calls(&origin).len();
        for (claimed, value) in [("session_id", "forged"), ("session_id", &id), ("clarification", "by rail")] {
            let forged = with(ask.clone(), json!({ "input": { "where": "x", claimed: value } }));
            let refused = desk.ask(Via::H1, saying(forged.to_string())).await;
            let refused = assert_error(&refused, 400, "invalid_request", name);
            assert!(refused["message"].as_str().is_some_and(|words| words.contains(claimed)), "{refused}");
        }
        let op = |more: Value| {
            let body = with(json!({ "query": "And back?" }), more).to_string();
            Ask::post(&format!("/capabilities/{name}"), body).header("Content-Type", "application/json")
        };
        let forged = desk.call(op(json!({ "session_id": "forged" }))).await;
        assert_error(&forged, 400, "invalid_request", name);
        let call = |more: Value| rpc::call(name, with(json!({ "query": "And back?" }), more));
        failed(&desk.result(&call(json!({ "session_id": "0".repeat(32) }))).await, "invalid_request");
        assert_eq!(upstream_calls(&origin).len(), before, "{name}: nothing goes up");
        let goes_on = json!({ "session_id": id, "clarification": "by rail", "where": "Kyoto" });
        assert_success(&desk.call(op(goes_on.clone())).await, name);
        let expected = with(goes_on.clone(), json!({ "query": "And back?" }));
        assert_eq!(told(&origin), expected, "{name}: as an operation");
        assert_eq!(desk.result(&call(goes_on)).await["_meta"]["session_id"], id, "{name}");
        assert_eq!(told(&origin), expected, "{name}: as a tool");
    }
    let tools = desk.result(&rpc::message("tools/list", json!({}))).await;
    let guide = tools["tools"].as_array().expect("tools").iter().find(|tool| tool["name"] == "guide").expect("guide");
    assert_eq!(guide["inputSchema"]["required"], json!(["query"]), "{guide}");
}

#[tokio::test]
async fn clause_15_a_promise_does_not_begin_to_count_anew() {
    let (_origin, desk) = with_sessions("max_turns = 14").await;
    let mut id = session(&desk.told_to(FULL, &stock()).await);
    for _ in 2..=12 {
        id = session(&desk.told_to(FULL, &with(stock(), json!({ "session_id": id }))).await);
    }
    let report = with(question("report_make", "All of it"), json!({ "session_id": id }));
    let promised = assert_reply(&desk.ask(Via::H1, asking(&report).bearer(FULL)).await, "the 13th");
    assert_ne!(session(&promised), id, "it goes on under a name of its own");
    let goes_on = with(stock(), json!({ "session_id": session(&promised) }));
    desk.told_to(FULL, &goes_on).await;
    let refused = desk.ask(Via::H1, asking(&goes_on).bearer(FULL)).await;
    assert_error(&refused, 400, "invalid_request", "the 15th");
    eventually("its end", SOON, async || {
        desk.ask(Via::H1, polling(&promised).bearer(FULL)).await.json()["status"] == "success"
    })
    .await;
}
