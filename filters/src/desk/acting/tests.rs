//! An action is started soon after it was promised, or not at all; what is refused leaves no promise behind.

use std::{sync::atomic::Ordering, time::Duration};

use crate::{
    caller::Caller,
    desk::{
        Called, Carried, Desk, Outcome,
        testing::{Around, ask, at_desk_with, declared},
    },
    site::{Learned, Snapshot},
    state::testing::{Shelf, Shelving, run},
};

const PAY: &str = "[[capabilities]]\nid = 'pay'\ntype = 'commit_action'\nauth = 'none'\nendpoint = '/pay'\n\
    risk_level = 'low'\nidempotency_required = true\nrequires_user_confirmation = false\n";

fn pay(desk: &Desk<'_>) -> Carried {
    let caller = Caller::at([192, 0, 2, 1].into());
    run(desk.carry_out(ask(&caller, Called::Declared(0), None)))
}

#[test]
fn a_call_that_is_held_up_after_it_was_promised_is_taken_back_and_not_made() {
    let (around, shelf) = (Around::default(), Shelf::default());
    let snapshot = Snapshot::compile(&declared(PAY), &Learned::default());
    at_desk_with(&around, &snapshot, &shelf, |desk| {
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
    let snapshot = Snapshot::compile(&declared(PAY), &Learned::default());
    at_desk_with(&around, &snapshot, &shelf, |desk| {
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
    let snapshot = Snapshot::compile(&declared(BUY), &Learned::default());
    at_desk_with(&around, &snapshot, &shelf, |desk| {
        let caller = Caller::at([192, 0, 2, 1].into());
        let buy = |token: Option<&str>| {
            let ask = ask(&caller, Called::Declared(0), token);
            let before = shelf.trips.load(Ordering::Relaxed);
            let carried = run(desk.carry_out(ask));
            (carried, shelf.trips.load(Ordering::Relaxed) - before)
        };
        let (asked, _) = buy(None);
        let Outcome::NeedsConfirmation(asked) = asked.outcome else { panic!("{asked:?}") };
        // The key with the token, the begin, and the end; its limits are one more, elsewhere.
        let (bought, trips) = buy(Some(&asked.token));
        assert!(matches!(&bought.outcome, Outcome::Done(done) if !done.replayed), "{bought:?}");
        assert_eq!(trips, 3);
        let (again, trips) = buy(Some(&asked.token));
        assert!(matches!(&again.outcome, Outcome::Done(done) if done.replayed), "{again:?}");
        assert_eq!((trips, around.asked.lock().len()), (1, 1));
    });
}
