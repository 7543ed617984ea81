//! Who has been at it lately: a session begins with the first question about somebody, and ends when they are quiet.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use frontdesk_base::text::hex;
use frontdesk_caller::Caller;

/// Sessions at a time; beyond them nobody is told that one began.
const MOST: usize = 10_000;

/// Sessions and when they were last heard of.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<HashMap<String, Instant>>);

impl Sessions {
    /// The name of a caller's session: the same for the same caller, and nothing that proves one.
    pub(super) fn of(caller: &Caller) -> String {
        format!("caller-{}", hex(&caller.holder().bytes()))
    }

    /// Whether a session begins.
    pub(super) fn meets(&self, session: &str) -> bool {
        let mut known = self.0.lock();
        if let Some(last) = known.get_mut(session) {
            *last = Instant::now();
            return false;
        }
        known.len() < MOST && known.insert(session.to_owned(), Instant::now()).is_none()
    }

    /// Takes those that are over: who was quiet for so long.
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
