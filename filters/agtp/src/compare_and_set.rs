//! Retries for records with many concurrent writers: read, write if unchanged, else try again.

use std::{future::poll_fn, task::Poll};

use super::response::AgtpError;
use frontdesk_desk::records::random;

/// Maximum attempts. In each round one writer succeeds, so this many concurrent writers can.
pub(super) const TRIES: usize = 64;
/// Maximum yields between two attempts.
const MOST_ASIDE: usize = 16;

/// Yields a random number of times, so that the losers of one round do not collide again.
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

/// 503: all attempts lost against other writers; the store is healthy.
pub(super) fn busy() -> AgtpError {
    let message = "Too many change the same at this moment. Nothing was done; try again.";
    let mut wrong = AgtpError::new(503, "unavailable", message).with("reason", "store_busy").after(1);
    wrong.reason = "store_busy";
    wrong
}
