//! An action is started soon after it was promised, or not at all.

use std::time::Duration;

use crate::{
    caller::Caller,
    desk::{
        Called, Carried, Desk, Outcome,
        testing::{Around, ask, at_desk, declared},
    },
    site::{Learned, Snapshot},
    state::testing::run,
};

const PAY: &str = "[[capabilities]]\nid = 'pay'\ntype = 'commit_action'\nauth = 'none'\nendpoint = '/pay'\n\
    risk_level = 'low'\nidempotency_required = true\nrequires_user_confirmation = false\n";

fn pay(desk: &Desk<'_>) -> Carried {
    let caller = Caller::at([192, 0, 2, 1].into());
    run(desk.carry_out(ask(&caller, Called::Declared(0), None)))
}

#[test]
fn a_call_that_is_held_up_after_it_was_promised_is_taken_back_and_not_made() {
    let around = Around::default();
    let snapshot = Snapshot::compile(&declared(PAY), &Learned::default());
    at_desk(&around, &snapshot, |desk| {
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
