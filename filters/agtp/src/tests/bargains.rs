//! Contracts: quotas, and concurrent proposals.

use std::{
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering},
    task::{Context, Poll, Waker},
};

use async_trait::async_trait;
use serde_json::json;

use super::stall::{Stall, Told, ask, propose};
use frontdesk_state::{Change, Committed, NotKept, Record, Records, testing::Shelf};

/// PROPOSE of the count, on a connection.
fn stock(connection: usize) -> super::stall::Asked {
    propose("QUERY /stock", &["lamp_id"]).on(&format!("c{connection}"))
}

fn id(told: &Told) -> String {
    told.body["synthesis_id"].as_str().unwrap_or_else(|| panic!("{}", told.body)).to_owned()
}

#[test]
fn what_was_made_on_other_connections_locks_nobody_out() {
    let stall = Stall::open();
    let made: Vec<Told> = (0..101).map(|connection| stall.tell(&stock(connection))).collect();
    assert!(made.iter().all(|told| told.status == 263), "{:?}", made.last());
    let find = |at: usize| {
        let call = ask("QUERY", "/stock?lamp_id=1").on(&format!("c{at}"));
        stall.tell(&call.header("contract-synthesized", &id(&made[at]))).status
    };
    assert_eq!([0, 1, 100].map(find), [404, 200, 200], "the oldest gave way");
    // A contract without an end of its own does not make room.
    let stall = Stall::open();
    for session in 0..100 {
        stall.tell(&stock(0).header("session-id", &format!("s{session}"))).is(263);
    }
    stall.tell(&stock(1)).is(463);
}

#[test]
fn the_same_is_agreed_on_once_on_a_connection() {
    let stall = Stall::open();
    let first = id(&stall.tell(&stock(0)));
    assert_eq!(id(&stall.tell(&stock(0))), first);
    let kind = stall.tell(&stock(0)).header("content-type").map(str::to_owned);
    assert_eq!(kind.as_deref(), Some("application/vnd.agtp.endpoint+json"));
    assert_ne!(id(&stall.tell(&stock(1))), first);
    let shorter = stall.tell(&stock(0).body(json!({ "requested_duration": 60 })));
    assert_ne!(id(&shorter), first);
    assert_eq!(shorter.body["granted_duration"], 60);
    stall.tell(&ask("SUSPEND", "/").body(json!({ "synthesis_id": first }))).is(200);
    assert_ne!(id(&stall.tell(&stock(0))), first, "that one is over");
}

#[test]
fn a_session_is_named_as_it_can_be_held_to() {
    let stall = Stall::open();
    for session in ["", "a b", &"s".repeat(129)] {
        stall.tell(&ask("SUSPEND", "/").body(json!({ "session_id": session }))).is(422);
        stall.tell(&stock(0).body(json!({ "session_id": session }))).is(400);
        let told = stall.tell(&ask("QUERY", "/catalog").header("session-id", session)).is(400);
        assert_eq!(told["code"], "invalid-session-id");
    }
    let session = "s".repeat(128);
    stall.tell(&ask("QUERY", "/catalog").header("session-id", &session)).is(200);
    stall.tell(&ask("SUSPEND", "/").body(json!({ "session_id": session }))).is(200);
    stall.tell(&ask("QUERY", "/catalog").header("session-id", &session)).is(409);
}

/// Simulates a faster writer this many times.
struct Racing<'a> {
    shelf: &'a Shelf,
    losses: AtomicUsize,
}

#[async_trait]
impl Records for Racing<'_> {
    async fn get(&self, key: &str) -> Result<Option<Record>, NotKept> {
        self.shelf.get(key).await
    }

    async fn commit(&self, changes: &[Change]) -> Result<Committed, NotKept> {
        let lost = self.losses.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if lost.is_ok() { Ok(Committed::Conflict(0, None)) } else { self.shelf.commit(changes).await }
    }
}

#[test]
fn who_is_slower_than_others_tries_again_and_is_told_that_they_are_many() {
    let stall = Stall::open();
    let racing = |losses| Racing { shelf: &stall.shelf, losses: AtomicUsize::new(losses) };
    stall.tell(&ask("QUERY", "/catalog").header("session-id", "s")).is(200);
    let suspend = ask("SUSPEND", "/").body(json!({ "session_id": "s" }));
    let made = stall.tell_over(&racing(40), &stock(0));
    let release = ask("SUSPEND", "/").body(json!({ "synthesis_id": id(&made) }));
    for asked in [&suspend, &release, &stock(1)] {
        let told = stall.tell_over(&racing(usize::MAX), asked);
        assert_eq!((told.status, &told.body["reason"]), (503, &json!("store_busy")), "{}", told.body);
        assert_eq!(told.header("retry-after"), Some("1"));
        assert!(stall.tell_over(&racing(40), asked).status < 300);
    }
}

/// An in-memory store with a pause before every step.
struct Slow<'a>(&'a Shelf);

async fn pause() {
    let mut waited = false;
    std::future::poll_fn(|_| if std::mem::replace(&mut waited, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

#[async_trait]
impl Records for Slow<'_> {
    async fn get(&self, key: &str) -> Result<Option<Record>, NotKept> {
        pause().await;
        self.0.get(key).await
    }

    async fn commit(&self, changes: &[Change]) -> Result<Committed, NotKept> {
        pause().await;
        self.0.commit(changes).await
    }
}

#[test]
fn many_at_once_get_all_that_they_ask_for() {
    let stall = Stall::open();
    let slow = Slow(&stall.shelf);
    let asked: Vec<_> = (0..24).map(stock).collect();
    let mut under_way: Vec<Pin<Box<dyn Future<Output = Told> + '_>>> =
        asked.iter().map(|asked| Box::pin(stall.told(&slow, asked)) as _).collect();
    let mut context = Context::from_waker(Waker::noop());
    // Alternates between the tasks, one step each.
    while !under_way.is_empty() {
        under_way.retain_mut(|told| match told.as_mut().poll(&mut context) {
            Poll::Ready(told) => {
                assert_eq!(told.status, 263, "{}", told.body);
                false
            }
            Poll::Pending => true,
        });
    }
    let listed = stall.tell(&ask("DISCOVER", "/contracts").operating()).is(200);
    assert_eq!(listed.as_array().unwrap().len(), 24);
}

#[test]
fn what_is_handed_out_is_a_schema_that_can_be_sent_back() {
    let stall = Stall::open();
    let made = stall.tell(&propose("QUERY /catalog", &["category"])).is(263);
    let schema = &made["endpoint"]["input_schema"];
    assert!(schema["properties"]["category"].is_object() && schema.get("required").is_none(), "{schema}");
    stall.tell(&ask("PROPOSE", "/").body(json!({ "endpoint": made["endpoint"] }))).is(263);
}

#[test]
fn nothing_is_judged_where_nothing_is_put_together() {
    let stall = Stall::with("[agtp]\nserver_id = 'stall.test'");
    let mut bare = propose("QUERY /stock", &[]);
    bare = bare.body(json!({ "endpoint": { "method": "QUERY", "path": "/stock" } }));
    let of_no_verb = propose("FROBNICATE /stock", &[]);
    for asked in [bare, of_no_verb, ask("PROPOSE", "/"), propose("QUERY /stock", &[]).anonymous()] {
        assert_eq!(stall.tell(&asked).is(463)["reason"], "synthesis-disabled");
    }
}

#[test]
fn what_is_over_is_told_as_it_ended() {
    let stall = Stall::open();
    let release = ask("SUSPEND", "/").body(json!({ "synthesis_id": id(&stall.tell(&stock(0))) }));
    assert_eq!(stall.tell(&release).is(200)["status"], "released");
    let revoke = release.clone().body(json!({ "target": "contract" })).operating();
    let told = stall.tell(&revoke.method("REVOKE")).is(200);
    assert_eq!((&told["status"], &told["noop"]), (&json!("released"), &json!(true)));
}

#[test]
fn where_something_may_be_negotiated_every_answer_says_by_which_version() {
    let stall = Stall::open();
    for asked in [stock(0), ask("QUERY", "/catalog"), ask("QUERY", "/nowhere"), ask("DISCOVER", "/").anonymous()] {
        assert_eq!(stall.tell(&asked).header("agtp-api-version"), Some("1.0"));
    }
    assert_eq!(stall.refused(&stock(0)).header("agtp-api-version"), Some("1.0"));
    let settled = Stall::with("[agtp]\n[agtp.policies.rcns]\nenabled = true");
    assert_eq!(settled.tell(&ask("QUERY", "/catalog")).header("agtp-api-version"), None);
    let manifest = settled.tell(&ask("DISCOVER", "/").anonymous());
    assert_eq!(manifest.header("agtp-api-version"), Some("1.0"));
    let features = manifest.body["server"]["supported_features"].to_string();
    assert!(!features.contains("rcns"), "every gate is closed: {features}");
}
