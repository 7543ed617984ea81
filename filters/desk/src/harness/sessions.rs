//! The sessions of callers: a session begins with the first request about a caller, and ends when the caller is quiet.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use frontdesk_base::text::hex;
use frontdesk_caller::Caller;

/// Maximum sessions at a time. Beyond it no harness is told that a session began.
const MOST: usize = 10_000;

/// The sessions and the time of their last request.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<String, Instant>>);

impl Sessions {
    /// The id of a caller's session. It is stable for a caller and reveals no credential.
    pub(super) fn of(caller: &Caller) -> String {
        format!("caller-{}", hex(&caller.holder().bytes()))
    }

    /// Records a request; whether it begins a session.
    pub(super) fn meets(&self, session: &str) -> bool {
        let mut known = self.0.lock();
        if let Some(last) = known.get_mut(session) {
            *last = Instant::now();
            return false;
        }
        known.len() < MOST && known.insert(session.to_owned(), Instant::now()).is_none()
    }

    /// Removes and returns the sessions that were quiet for this long.
    pub(super) fn over(&self, quiet: Duration) -> Vec<String> {
        let mut known = self.0.lock();
        let over: Vec<String> =
            known.iter().filter(|(_, last)| last.elapsed() > quiet).map(|(session, _)| session.clone()).collect();
        over.iter().for_each(|session| {
            known.remove(session);
        });
        over
    }
}
