//! Requests that failed, to be asked once more at the end of the round. One lost answer would otherwise hide a page until the
//! next round, which may be a day away.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
};

use super::{Ask, Why};

/// The most requests of a round that are asked again.
const MOST: usize = 100;

/// The requests of one round that failed once.
#[derive(Debug, Default)]
pub(super) struct Retries {
    failed: HashSet<Arc<str>>,
    waiting: VecDeque<Ask>,
}

impl Retries {
    /// Notes a request that failed. It waits for its second turn, unless that was its second. robots.txt has rules of its
    /// own (RFC 9309 §2.3.1.4).
    pub(super) fn put(&mut self, ask: &Ask) {
        if ask.why != Why::Robots && self.failed.len() < MOST && self.failed.insert(ask.target.clone()) {
            self.waiting.push_back(ask.clone());
        }
    }

    /// The next request that is asked again.
    pub(super) fn next(&mut self) -> Option<Ask> {
        self.waiting.pop_front()
    }
}
