//! Limits how often a harness is asked about callers over a limit. Those callers decide how many there are, and must
//! not be able to flood the harness.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Minimum time between two such requests.
const PAUSE: Duration = Duration::from_millis(200);

/// Limits the requests about callers over a limit.
#[derive(Debug)]
pub(super) struct RateHints {
    since: Instant,
    /// Milliseconds after `since` from which the next request is allowed.
    next: AtomicU64,
}

impl Default for RateHints {
    fn default() -> Self {
        Self { since: Instant::now(), next: AtomicU64::new(0) }
    }
}

impl RateHints {
    /// Whether a request is allowed now. If so, further ones are not for a while.
    pub(super) fn may_ask(&self) -> bool {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let now = millis(self.since.elapsed());
        let free = |next: u64| (now >= next).then_some(now.saturating_add(millis(PAUSE)));
        self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, free).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_of_many_at_once_may_ask() {
        let pressure = RateHints::default();
        assert_eq!((0..1000).filter(|_| pressure.may_ask()).count(), 1);
        std::thread::sleep(PAUSE);
        assert!(pressure.may_ask());
    }
}
