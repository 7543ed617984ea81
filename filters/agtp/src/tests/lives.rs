//! An agent's stored history, which others cannot displace.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::stall::{HOSTED, Stall, ask, propose};
use frontdesk_desk::rfc3339;

fn change(method: &str) -> super::stall::Asked {
    ask(method, "/").operating().body(json!({ "agent_id": HOSTED, "reason": "x" }))
}

fn history(stall: &Stall) -> Vec<Value> {
    let told = stall.tell(&ask("INSPECT", "/").operating().body(json!({ "target": "lifecycle" }))).is(200);
    told["entries"].as_array().unwrap().clone()
}

#[test]
fn what_an_agent_lets_go_of_takes_nothing_out_of_its_history() {
    let stall = Stall::open();
    let suspended = stall.tell(&change("DEACTIVATE")).is(200);
    let reinstated = stall.tell(&change("REINSTATE")).is(200);
    // Another caller claims to be the hosted agent, again and again.
    for round in 0..60 {
        let as_hosted = |asked: super::stall::Asked| asked.header("agent-id", HOSTED).on(&format!("c{round}"));
        let made = stall.tell(&as_hosted(propose("QUERY /stock", &["lamp_id"]))).is(263);
        let release = ask("SUSPEND", "/").body(json!({ "synthesis_id": made["synthesis_id"] }));
        stall.tell(&as_hosted(release)).is(200);
    }
    let history = history(&stall);
    for event in [&suspended, &reinstated] {
        let kept = history.iter().any(|entry| entry["audit_id"] == event["audit_id"]);
        assert!(kept, "{} is forgotten", event["event_type"]);
    }
    let releases = history.iter().filter(|entry| entry["payload"]["event_type"] == "rcns_release");
    assert_eq!(releases.count(), 50, "they have a bound of their own");
    let again = stall.tell(&change("REINSTATE")).is(200);
    assert_eq!((&again["noop"], &again["audit_id"]), (&json!(true), &reinstated["audit_id"]));
}

#[test]
fn both_of_what_happened_are_told_with_the_newest_first() {
    let stall = Stall::open();
    let made = stall.tell(&propose("QUERY /stock", &["lamp_id"]).header("agent-id", HOSTED)).is(263);
    let release = json!({ "synthesis_id": made["synthesis_id"] });
    stall.tell(&ask("SUSPEND", "/").header("agent-id", HOSTED).body(release)).is(200);
    stall.tell(&change("DEACTIVATE")).is(200);
    let history = history(&stall);
    let types: Vec<_> = history.iter().map(|entry| entry["payload"]["event_type"].as_str().unwrap()).collect();
    assert_eq!(types, ["agent-lifecycle-suspended", "rcns_release"]);
}

#[test]
fn a_session_is_resumed_by_a_moment_in_one_spelling() {
    let stall = Stall::open();
    let soon = rfc3339(SystemTime::now() + Duration::from_secs(600));
    stall.tell(&ask("QUERY", "/catalog").header("session-id", "s")).is(200);
    let suspend =
        |by: &str| stall.tell(&ask("SUSPEND", "/").body(json!({ "session_id": "s", "resume_by": by }))).status;
    assert_eq!(suspend(&soon), 200);
    // Later and earlier than any timestamp of the same day, as text.
    assert_eq!([suspend(&soon.replace('T', "t")), suspend(&soon.replace('T', " "))], [422, 422]);
}

#[test]
fn the_words_of_an_approval_reach_the_caller() {
    let stall = Stall::open();
    let asked = json!({ "task_id": "t", "reason": "ethical_flag", "context": "x" });
    let escalated = stall.tell(&ask("ESCALATE", "/").body(asked)).is(202);
    let id = &escalated["escalation_id"];
    let word = json!({ "target_id": id, "status": "accepted", "reason": "Go on, with care." });
    stall.tell(&ask("CONFIRM", "/").operating().body(word)).is(200);
    let told = stall.tell(&ask("INSPECT", "/").body(json!({ "target": "escalation", "escalation_id": id }))).is(200);
    assert_eq!((&told["status"], &told["answer"]), (&json!("completed"), &json!("Go on, with care.")), "{told}");
    assert_eq!(told["result"]["decision"], "approved");
}

#[test]
fn a_doubt_may_come_in_an_envelope_whose_members_are_called_as_its_own() {
    let stall = Stall::open();
    let doubt = json!({ "method": "ESCALATE", "task_id": "t9", "context": { "a": 1 }, "parameters": { "reason": "scope_limit" } });
    let told = stall.tell(&ask("ESCALATE", "/").body(doubt.clone())).is(202);
    let brought = &told["result"]["escalation_id"];
    let found =
        stall.tell(&ask("INSPECT", "/").body(json!({ "target": "escalation", "escalation_id": brought }))).is(200);
    assert_eq!(found["status"], "pending", "{found}");
    // The parameter takes precedence.
    let mut both = doubt;
    both["parameters"]["task_id"] = 7.into();
    stall.tell(&ask("ESCALATE", "/").body(both)).is(422);
}

#[test]
fn what_is_brought_to_a_person_is_brought_once() {
    let stall = Stall::open();
    let doubt =
        |task: &str| ask("ESCALATE", "/").body(json!({ "task_id": task, "reason": "ethical_flag", "context": "x" }));
    let first = stall.tell(&doubt("t")).is(202);
    let again = stall.tell(&doubt("t"));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.is(202), first);
    assert_ne!(stall.tell(&doubt("u")).is(202)["escalation_id"], first["escalation_id"]);
    let keyed = |task: &str| doubt(task).header("idempotency-key", "k");
    let under_a_key = stall.tell(&keyed("t")).is(202);
    assert_ne!(under_a_key, first);
    assert_eq!(stall.tell(&keyed("t")).is(202), under_a_key);
    assert_eq!(stall.tell(&keyed("u")).is(409)["reason"], "idempotency_key_reused");
    // Without a key each message is a new one.
    let notice = || ask("NOTIFY", "/").body(json!({ "recipient": "operator", "content": "x" }));
    let told = [notice(), notice(), notice().header("idempotency-key", "k"), notice().header("idempotency-key", "k")]
        .map(|notice| stall.tell(&notice).is(200)["notification_id"].clone());
    assert!(told[0] != told[1] && told[1] != told[2] && told[2] == told[3], "{told:?}");
    // A refused request leaves no record.
    let nobody = || notice().body(json!({ "recipient": "nobody" })).header("idempotency-key", "k-2");
    stall.tell(&nobody()).is(404);
    stall.tell(&notice().header("idempotency-key", "k-2")).is(200);
    // The same statement again gets the first answer.
    let word = ask("CONFIRM", "/").operating();
    let word = word.body(json!({ "target_id": first["escalation_id"], "status": "accepted" }));
    let said = stall.tell(&word).is(200);
    assert_eq!(stall.tell(&word).is(200), said);
    stall.tell(&word.clone().body(json!({ "status": "rejected" }))).is(409);
    // The manifest publishes it so.
    let manifest = stall.tell(&ask("DISCOVER", "/").anonymous()).is(200);
    let floor = manifest["embedded_methods"].as_array().unwrap();
    let other: Vec<_> = floor.iter().filter(|verb| verb["idempotent"] == false).map(|verb| &verb["name"]).collect();
    assert_eq!(json!(other), json!(["PROPOSE", "EXECUTE", "DELEGATE", "SUSPEND", "NOTIFY"]));
}

#[test]
fn of_two_agents_at_one_address_each_sees_its_own() {
    let stall = Stall::open();
    let doubt = json!({ "task_id": "t", "reason": "ethical_flag", "context": "x" });
    let asked = stall.tell(&ask("ESCALATE", "/").body(doubt)).is(202);
    for target in ["escalation", "task"] {
        let inspect = json!({
            "target": target, "escalation_id": asked["escalation_id"], "task_id": asked["escalation_id"],
        });
        let inspect = ask("INSPECT", "/").body(inspect);
        stall.tell(&inspect).is(200);
        stall.tell(&inspect.clone().header("agent-id", &"b".repeat(64))).is(404);
        stall.tell(&inspect.anonymous()).is(404);
    }
}

#[test]
fn only_a_session_that_was_used_is_suspended() {
    let stall = Stall::open();
    let suspend = |session: &str| ask("SUSPEND", "/").body(json!({ "session_id": session }));
    for n in 0..30 {
        let told = stall.tell(&suspend(&format!("never-{n}"))).is(404);
        assert_eq!(told["code"], "session-not-found", "{told}");
    }
    // Nor does SUSPEND itself count as use of a session.
    stall.tell(&suspend("s").header("session-id", "s")).is(404);
    assert!(stall.shelf.kept.lock().keys().all(|key| !key.starts_with("u:")), "it takes no place");
    // Any request in a session makes it a used one, for its agent.
    for (n, used) in [ask("QUERY", "/catalog"), ask("DISCOVER", "/methods"), propose("QUERY /stock", &["lamp_id"])]
        .into_iter()
        .enumerate()
    {
        let session = format!("used-{n}");
        stall.tell(&used.header("session-id", &session));
        stall.tell(&suspend(&session).header("agent-id", HOSTED)).is(404);
        let told = stall.tell(&suspend(&session)).is(200);
        let held = stall.tell(&ask("QUERY", "/catalog").header("session-id", &session)).is(409);
        assert_eq!(held["reason"], "session-suspended");
        let nonce = told["resumption_nonce"].as_str().unwrap();
        let resumed = ask("QUERY", "/catalog").header("session-id", &session).header("resumption-nonce", nonce);
        stall.tell(&resumed).is(200);
        stall.tell(&suspend(&session)).is(200);
    }
}

#[test]
fn sessions_of_one_caller_take_a_bounded_place() {
    let stall = Stall::open();
    for n in 0..300 {
        stall.tell(&ask("DISCOVER", "/methods").header("session-id", &format!("s-{n}"))).is(200);
    }
    let kept: usize = {
        let kept = stall.shelf.kept.lock();
        kept.iter().filter(|(key, _)| key.starts_with("u:")).map(|(_, record)| record.value.len()).sum()
    };
    assert!((1_000..8_000).contains(&kept), "{kept}");
    let suspend = |n: usize| stall.tell(&ask("SUSPEND", "/").body(json!({ "session_id": format!("s-{n}") }))).status;
    assert_eq!([suspend(299), suspend(44), suspend(43), suspend(0)], [200, 200, 404, 404]);
    for n in 280..298 {
        assert_eq!(suspend(n), 200);
    }
    assert_eq!(suspend(279), 503, "twenty are suspended");
}
