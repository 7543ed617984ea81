//! The slowest pace at which a client may send a body or read a response (`protection.min_rate`).
//!
//! Only the time counts in which the client is waited for. It may be waited for 10 s at the beginning. Each byte that it
//! sends or takes then allows more waiting, as much as the lowest rate gives a byte, but never more ahead than a pause may
//! last (`protection.idle_timeout`): so a client that pauses is not ended, and one that is slow for long is.

use std::time::Duration;

/// The allowed waiting time before the first byte.
const AT_FIRST: Duration = Duration::from_secs(10);
/// The most waiting that bytes allow ahead, where a pause may not last longer.
const AHEAD: Duration = Duration::from_secs(30);

/// The streams of an HTTP/2 connection share its window: one may have to wait so long for the others.
pub const SHARED_WINDOW: Duration = Duration::from_secs(20);

/// The pace of one client in one direction.
#[derive(Debug)]
pub struct Pace {
    /// Bytes a second; 0: no limit.
    lowest: u64,
    /// The remaining waiting time.
    allowed: Duration,
    most: Duration,
    /// Bytes moved since `allowed` was computed.
    moved: u64,
}

impl Pace {
    /// `lowest`: bytes a second; 0: any pace will do. `pause`: how long a client may pause that was fast enough before.
    pub fn new(lowest: u64, pause: Duration) -> Self {
        Self { lowest, allowed: AT_FIRST, most: AHEAD.max(pause), moved: 0 }
    }

    /// The same with so much more waiting, where it cannot be told whether the client is waited for or somebody else.
    pub fn patient(self, more: Duration) -> Self {
        Self { allowed: self.allowed + more, most: self.most + more, ..self }
    }

    /// Records bytes that the client sent or read.
    pub fn moved(&mut self, bytes: u64) {
        self.moved = self.moved.saturating_add(bytes);
    }

    /// Records a wait for the client. Returns whether the client is too slow.
    pub fn is_too_slow_after(&mut self, waited: Duration) -> bool {
        if self.lowest == 0 {
            return false;
        }
        // What was moved while it was waited for counts in full: only what is left may be too much.
        self.allowed = self.allowed.saturating_add(self.earned()).saturating_sub(waited).min(self.most);
        self.allowed.is_zero()
    }

    /// The remaining waiting time.
    pub fn allowed(&mut self) -> Duration {
        if self.lowest == 0 {
            return Duration::MAX;
        }
        self.allowed = self.allowed.saturating_add(self.earned()).min(self.most);
        self.allowed
    }

    /// The waiting that was earned since.
    fn earned(&mut self) -> Duration {
        let moved = std::mem::take(&mut self.moved);
        Duration::from_micros(moved.saturating_mul(1_000_000) / self.lowest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(60);

    fn pace(lowest: u64) -> Pace {
        Pace::new(lowest, PAUSE)
    }

    /// How many seconds a client lasts that moves so many bytes every so many seconds; 1000: for ever.
    fn lasts(pace: &mut Pace, bytes: u64, every: usize) -> usize {
        let too_slow = |second: &usize| {
            if second.is_multiple_of(every) {
                pace.moved(bytes);
            }
            pace.is_too_slow_after(Duration::from_secs(1))
        };
        (1..1000).find(too_slow).unwrap_or(1000)
    }

    #[test]
    fn a_client_below_the_lowest_rate_does_not_last() {
        assert_eq!(lasts(&mut pace(500), 0, 1), 10);
        assert!((10..=11).contains(&lasts(&mut pace(500), 1, 2)));
        let half = lasts(&mut pace(500), 250, 1);
        assert!((15..=25).contains(&half), "{half}");
    }

    #[test]
    fn a_client_above_the_lowest_rate_lasts_even_if_it_comes_in_bursts() {
        assert_eq!(lasts(&mut pace(500), 501, 1), 1000);
        assert_eq!(lasts(&mut pace(500), 5000, 8), 1000);
    }

    #[test]
    fn what_was_moved_at_once_does_not_last_for_ever() {
        let mut pace = pace(500);
        pace.moved(100_000_000);
        assert_eq!(lasts(&mut pace, 0, 1), 61);
        pace.moved(u64::MAX);
        assert_eq!(lasts(&mut pace, 0, 1), 61);
    }

    #[test]
    fn a_client_that_was_fast_enough_may_pause() {
        let mut pace = pace(500);
        // Less than a minute each time, and above the lowest rate over all of it.
        assert_eq!(lasts(&mut pace, 40_000, 55), 10, "not before it has moved anything");
        pace.moved(40_000);
        for _ in 0..20 {
            assert!(!pace.is_too_slow_after(Duration::from_secs(55)));
            pace.moved(40_000);
        }
        let mut short = Pace::new(500, Duration::from_secs(1));
        short.moved(100_000_000);
        assert_eq!(lasts(&mut short, 0, 1), 31, "half a minute, however short idle_timeout is");
    }

    #[test]
    fn without_a_lowest_rate_every_client_lasts() {
        assert_eq!(lasts(&mut pace(0), 0, 1), 1000);
    }

    #[test]
    fn more_patience_is_added_to_both_bounds() {
        let mut pace = pace(500).patient(Duration::from_secs(20));
        assert_eq!(lasts(&mut pace, 0, 1), 30);
        pace.moved(1_000_000);
        assert_eq!(lasts(&mut pace, 0, 1), 81);
    }
}
