//! What is agreed on: how much of it one may have, and what becomes of it where many ask at once.

use serde_json::json;

use super::stall::{Stall, Told, ask, propose};

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
    // What is bound to nothing that ends by itself does not.
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
    assert_ne!(id(&stall.tell(&stock(1))), first);
    let shorter = stall.tell(&stock(0).body(json!({ "requested_duration": 60 })));
    assert_ne!(id(&shorter), first);
    assert_eq!(shorter.body["granted_duration"], 60);
    stall.tell(&ask("SUSPEND", "/").body(json!({ "synthesis_id": first }))).is(200);
    assert_ne!(id(&stall.tell(&stock(0))), first, "that one is over");
}
