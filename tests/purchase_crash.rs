//! Promise: after a crash with an unknown outcome, a retry does not repeat a purchase, unless the site declares that it
//! may.

use crate::support::calls::{
    FULL, assert_answer, assert_fault, call, confirmation_token, declare, site, upstream_calls,
};
use crate::support::{Ask, Dir, Origin, Reply, Request, SOON, Step, eventually};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};

/// The site takes the first purchase and never answers; later ones it answers.
async fn silent_once() -> Origin {
    let taken = AtomicBool::new(false);
    Origin::start(move |r: &Request| -> crate::support::Answer {
        let first = r.target.starts_with("/api/") && !taken.swap(true, Ordering::Relaxed);
        if first { vec![Step::Stall].into() } else { Reply::json("{\"bought\":true}").into() }
    })
    .await
}

fn purchase(more: &str) -> String {
    let own = "\nrisk_level = \"high\"\nauth = \"required\"\nidempotency_required = true";
    let upstream = "\n[capabilities.upstream]\nmethod = \"POST\"\npath = \"/api/purchases\"\n";
    declare("purchase", "commit_action", &format!("{own}{upstream}{more}"))
}

fn ask(key: &str) -> Ask {
    call("/agent/purchase", &json!({ "hold": 1 })).bearer(FULL).header("Idempotency-Key", key)
}

#[tokio::test]
async fn purchase_left_in_the_dark_by_a_crash_is_not_made_again() {
    for (more, again) in [("", false), ("idempotent = true", true)] {
        let (origin, dir) = (silent_once().await, Dir::new());
        let store = format!("url = \"file:{}\"", dir.join("store").display());
        std::fs::create_dir_all(dir.join("store")).expect("a directory for the store");
        let setup = site(&origin, &purchase(more)).set("store", &store);
        let mut desk = setup.clone().start().await;
        let confirmation = confirmation_token(&desk.call(ask("k1")).await);
        let confirmed = ask("k1").header("AICP-Confirmation", &confirmation);
        let mut conn = desk.conn().await;
        conn.send(confirmed.bytes()).await;
        eventually("the purchase", SOON, async || upstream_calls(&origin).len() == 1).await;
        desk.signal(libc::SIGKILL);
        desk.wait_exit(SOON).await;

        let desk = setup.start().await;
        let response = desk.call(confirmed).await;
        if again {
            assert_answer(&response, 200, "the site may safely be called again");
        } else {
            assert_fault(&response, 409, "outcome_unknown", "a retry");
            assert_fault(&desk.call(ask("k1")).await, 409, "outcome_unknown", "another, without the token");
        }
        assert_eq!(upstream_calls(&origin).len(), 1 + usize::from(again), "{more}");
    }
}

#[tokio::test]
async fn purchase_made_before_a_crash_is_replayed_after_it() {
    let (origin, dir) = (Origin::start(|_: &Request| Reply::json("{\"bought\":true}")).await, Dir::new());
    std::fs::create_dir_all(dir.join("store")).expect("a directory for the store");
    let store = format!("url = \"file:{}\"", dir.join("store").display());
    let setup = site(&origin, &purchase("")).set("store", &store);
    let mut desk = setup.clone().start().await;
    let confirmation = confirmation_token(&desk.call(ask("k1")).await);
    let confirmed = ask("k1").header("AICP-Confirmation", &confirmation);
    let first = assert_answer(&desk.call(confirmed.clone()).await, 200, "a purchase");
    desk.signal(libc::SIGKILL);
    desk.wait_exit(SOON).await;
    let desk = setup.start().await;
    let again = desk.call(confirmed).await;
    assert_eq!(again.header("idempotency-replayed"), Some("true"), "{}", again.text());
    assert_eq!(assert_answer(&again, 200, "a retry")["data"], first["data"]);
    let spent = desk.call(ask("k2").header("AICP-Confirmation", &confirmation)).await;
    assert_fault(&spent, 428, "confirmation_invalid", "a token is spent for good");
    assert_eq!(upstream_calls(&origin).len(), 1);
}
