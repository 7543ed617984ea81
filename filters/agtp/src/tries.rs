//! Records that many change at once: each reads, writes if nobody else has in the meantime, and else tries again.

use std::{future::poll_fn, task::Poll};

use super::said::Wrong;
use frontdesk_desk::records::random;

/// How often that is tried. Of all who try at the same time one succeeds: so many may.
pub(super) const TRIES: usize = 64;
/// How often somebody steps aside between two of them, at most.
const MOST_ASIDE: usize = 16;

/// Lets others go first, so many that those who lost together do not come back together.
pub(super) async fn step_aside() {
    let often = random::<1>().map_or(0, |[byte]| usize::from(byte) % MOST_ASIDE);
    for _ in 0..=often {
        let mut stepped = false;
        poll_fn(|context| match std::mem::replace(&mut stepped, true) {
            true => Poll::Ready(()),
            false => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        })
        .await;
    }
}

/// 503: the others were always faster, and the store is well.
pub(super) fn busy() -> Wrong {
    let message = "Too many change the same at this moment. Nothing was done; try again.";
    let mut wrong = Wrong::new(503, "unavailable", message).with("reason", "store_busy").after(1);
    wrong.reason = "store_busy";
    wrong
}
