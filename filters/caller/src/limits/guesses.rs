//! Remembers addresses that recently presented a wrong credential to this process.
//!
//! While an address is over the limit of wrong credentials, its right ones are refused too, so that the limit slows
//! down guessing. Only the store knows the count. This filter spares requests from other addresses the question to the
//! store: a client that guesses fails here first, whichever replica answers.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicU64, Ordering},
};

use frontdesk_state::Subject;

/// The number of slots, which addresses share. A collision costs a question to the store, and nothing else.
const PLACES: usize = 1024;

/// By slot: until when failures count.
pub(super) struct Guesses {
    until: Box<[AtomicU64]>,
    /// Fingerprints. What is forgotten, because others share its place, counts once more when it comes again.
    presented: Box<[AtomicU64]>,
    hasher: RandomState,
}

impl Default for Guesses {
    fn default() -> Self {
        let places = || (0..PLACES).map(|_| AtomicU64::new(0)).collect();
        Self { until: places(), presented: places(), hasher: RandomState::new() }
    }
}

impl fmt::Debug for Guesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guesses")
    }
}

impl Guesses {
    fn place(&self, subject: Subject) -> Option<&AtomicU64> {
        let at = self.hasher.hash_one(subject) % PLACES as u64;
        self.until.get(usize::try_from(at).ok()?)
    }

    /// Remembers a failure until this second.
    pub(super) fn remember(&self, subject: Subject, until: u64) {
        if let Some(place) = self.place(subject) {
            place.fetch_max(until, Ordering::Relaxed);
        }
    }

    /// Whether the address did not present this before. Remembers that it did.
    pub(super) fn is_new(&self, subject: Subject, presented: &[u8]) -> bool {
        let print = self.hasher.hash_one((subject, presented));
        let place = usize::try_from(print % PLACES as u64).ok().and_then(|at| self.presented.get(at));
        place.is_none_or(|place| place.swap(print, Ordering::Relaxed) != print)
    }

    /// Whether the address may have failed within its window.
    pub(super) fn may_have_failed(&self, subject: Subject, now: u64) -> bool {
        self.place(subject).is_none_or(|place| place.load(Ordering::Relaxed) >= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_remembered_for_its_window() {
        let (guesses, address) = (Guesses::default(), Subject::address([192, 0, 2, 1].into()));
        assert!(!guesses.may_have_failed(address, 100));
        guesses.remember(address, 160);
        guesses.remember(address, 150);
        assert!(guesses.may_have_failed(address, 160));
        assert!(!guesses.may_have_failed(address, 161));
    }

    #[test]
    fn what_comes_again_is_no_other_guess() {
        let (guesses, address) = (Guesses::default(), Subject::address([192, 0, 2, 1].into()));
        assert!(guesses.is_new(address, b"one") && guesses.is_new(address, b"two"));
        assert!(!guesses.is_new(address, b"two"));
        assert!(guesses.is_new(Subject::address([192, 0, 2, 2].into()), b"two"), "of another address");
    }
}
