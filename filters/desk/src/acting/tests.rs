//! An action starts soon after its reservation, or not at all; a refused one leaves no record.

use crate::Compiled;
use std::collections::HashMap;
use std::{sync::atomic::Ordering, time::Duration};

use crate::{
    Called, Carried, Desk, Outcome, Told,
    promised::kept,
    records,
    testing::{Around, ask, at_desk_with, declared},
};
use frontdesk_caller::Caller;
use frontdesk_state::{
    Record,
    testing::{Shelf, Shelving, run},
};
use serde_json::{Value, json};

const PAY: &str = "[[capabilities]]\nid = 'pay'\ntype = 'commit_action'\nauth = 'none'\nendpoint = '/pay'\n\
    risk_level = 'low'\nidempotency_required = true\nrequires_user_confirmation = false\n";

fn pay(desk: &Desk<'_>) -> Carried {
    let caller = Caller::at([192, 0, 2, 1].into());
    run(desk.carry_out(ask(&caller, Called::Declared(0), None)))
}

#[test]
fn a_call_that_is_held_up_after_it_was_promised_is_taken_back_and_not_made() {
    let (around, shelf) = (Around::default(), Shelf::default());
    let compiled = Compiled::new(&declared(PAY), &HashMap::new());
    at_desk_with(&around, &compiled, &shelf, |desk| {
        *around.passes.lock() = Duration::from_millis(2001);
        let carried = pay(desk);
        let Outcome::Fault(refusal) = &carried.outcome else { panic!("{carried:?}") };
        assert_eq!((refusal.reason, refusal.retry_after), ("started_too_late", Some(1)));
        assert!(!carried.account.in_doubt && around.asked.lock().is_empty(), "{carried:?}");

        // Its key is free again.
        *around.passes.lock() = Duration::from_millis(1999);
        let carried = pay(desk);
        assert!(matches!(&carried.outcome, Outcome::Done(done) if !done.replayed), "{carried:?}");
        assert_eq!(around.asked.lock().len(), 1);
    });
}

#[test]
fn a_call_is_taken_back_where_the_answer_to_its_promise_is_lost() {
    let (around, shelf) = (Around::default(), Shelf::default());
    let compiled = Compiled::new(&declared(PAY), &HashMap::new());
    at_desk_with(&around, &compiled, &shelf, |desk| {
        *shelf.state.lock() = Shelving::MuteToCommits;
        let carried = pay(desk);
        let Outcome::Fault(refusal) = &carried.outcome else { panic!("{carried:?}") };
        assert_eq!(refusal.reason, "store_away");
        assert!(around.asked.lock().is_empty() && shelf.kept.lock().is_empty(), "{:?}", shelf.kept.lock());
        *shelf.state.lock() = Shelving::Well;
        let carried = pay(desk);
        assert!(matches!(&carried.outcome, Outcome::Done(done) if !done.replayed), "{carried:?}");
    });
}

const BUY: &str = "[[capabilities]]\nid = 'buy'\ntype = 'commit_action'\nauth = 'none'\nendpoint = '/buy'\n\
    risk_level = 'high'\nidempotency_required = true\nrequires_user_confirmation = true\n";

#[test]
fn a_confirmed_purchase_asks_for_its_records_three_times() {
    let (around, shelf) = (Around::default(), Shelf::default());
    let compiled = Compiled::new(&declared(BUY), &HashMap::new());
    at_desk_with(&around, &compiled, &shelf, |desk| {
        let caller = Caller::at([192, 0, 2, 1].into());
        let buy = |token: Option<&str>| {
            let ask = ask(&caller, Called::Declared(0), token);
            let before = shelf.trips.load(Ordering::Relaxed);
            let carried = run(desk.carry_out(ask));
            (carried, shelf.trips.load(Ordering::Relaxed) - before)
        };
        let (asked, _) = buy(None);
        let Outcome::NeedsConfirmation(asked) = asked.outcome else { panic!("{asked:?}") };
        // One trip for key and token, one to begin, one to end; rate limits take one more elsewhere.
        let (bought, trips) = buy(Some(&asked.token));
        assert!(matches!(&bought.outcome, Outcome::Done(done) if !done.replayed), "{bought:?}");
        assert_eq!(trips, 3);
        let (again, trips) = buy(Some(&asked.token));
        assert!(matches!(&again.outcome, Outcome::Done(done) if done.replayed), "{again:?}");
        assert_eq!((trips, around.asked.lock().len()), (1, 1));
    });
}

/// The record of a key under the name of earlier versions, with the Host header in it.
fn named_with_host(caller: &Caller) -> String {
    let holder = caller.holder().bytes();
    format!("i:{}", records::fingerprint(&[&holder, b"site.test", b"pay", b"k"]))
}

#[test]
fn what_was_promised_before_an_update_is_not_carried_out_again_after_it() {
    let caller = Caller::at([192, 0, 2, 1].into());
    let input = records::fingerprint(&[json!({ "what": "x" }).to_string().as_bytes()]);
    let record = |value: Value, version| Record { value: value.to_string().into(), version };
    let under_way = json!({ "state": "begun", "input": input, "holder": "here", "until": u64::MAX });
    let begun = json!({ "state": "begun", "input": input, "holder": "gone", "until": u64::MAX });
    let other = json!({ "state": "begun", "input": "another", "holder": "here", "until": u64::MAX });
    let told = Told::of(http::StatusCode::OK, json!({ "order": "o-1" }).into());
    let ended = json!({ "state": "ended", "input": input, "told": kept(Ok(&told)) });
    let compiled = Compiled::new(&declared(PAY), &HashMap::new());
    for (value, expected) in [
        (under_way, Some("idempotency_in_flight")),
        (begun, Some("outcome_unknown")),
        (other, Some("idempotency_key_reused")),
        (ended, None),
    ] {
        let (around, shelf) = (Around::default(), Shelf::default());
        shelf.kept.lock().insert(named_with_host(&caller), record(value, 1));
        at_desk_with(&around, &compiled, &shelf, |desk| {
            let carried = pay(desk);
            match (&carried.outcome, expected) {
                (Outcome::Fault(refusal), Some(reason)) => assert_eq!(refusal.reason, reason, "{carried:?}"),
                (Outcome::Done(done), None) => assert!(done.replayed, "{carried:?}"),
                _ => panic!("{expected:?}: {carried:?}"),
            }
            assert!(around.asked.lock().is_empty(), "{expected:?}");
        });
    }
}

#[test]
fn what_may_be_done_again_goes_on_under_the_name_that_its_key_had_before_an_update() {
    let caller = Caller::at([192, 0, 2, 1].into());
    let input = records::fingerprint(&[json!({ "what": "x" }).to_string().as_bytes()]);
    let value = json!({ "state": "begun", "input": input, "holder": "gone", "until": u64::MAX });
    let (around, shelf) = (Around::default(), Shelf::default());
    shelf.kept.lock().insert(named_with_host(&caller), Record { value: value.to_string().into(), version: 1 });
    let text = format!("{PAY}upstream = {{ idempotent = true }}\n");
    let compiled = Compiled::new(&declared(&text), &HashMap::new());
    at_desk_with(&around, &compiled, &shelf, |desk| {
        for replayed in [false, true] {
            let carried = pay(desk);
            assert!(matches!(&carried.outcome, Outcome::Done(done) if done.replayed == replayed), "{carried:?}");
        }
    });
    assert_eq!((around.asked.lock().len(), shelf.kept.lock().len()), (1, 1));
}
