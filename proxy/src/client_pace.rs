//! How fast a client has to send a body or take an answer at least (`protection.min_rate`).
//!
//! Only the time counts in which the client is waited for. It may be waited for 10 s at the beginning. Each byte that it
//! sends or takes then allows more waiting, as much as the lowest rate gives a byte, but never more than 30 s ahead: so
//! a client that pauses for a moment is not ended, and one that is slow for long is.

use std::time::Duration;

/// The waiting that is allowed before the first byte.
const AT_FIRST: Duration = Duration::from_secs(10);
/// The most waiting that bytes allow ahead.
const AHEAD: Duration = Duration::from_secs(30);

/// The pace of one client in one direction.
#[derive(Debug)]
pub struct Pace {
    /// Bytes a second; 0: any pace will do.
    lowest: u64,
    /// How long the client may still be waited for.
    allowed: Duration,
    most: Duration,
    /// Bytes moved since `allowed` was worked out.
    moved: u64,
}

impl Pace {
    /// `lowest`: bytes a second; 0: any pace will do.
    pub fn new(lowest: u64) -> Self {
        Self::patient(lowest, Duration::ZERO)
    }

    /// The same with so much more waiting, where it cannot be told whether the client is waited for or somebody else.
    pub fn patient(lowest: u64, more: Duration) -> Self {
        Self { lowest, allowed: AT_FIRST + more, most: AHEAD + more, moved: 0 }
    }

    /// The client has sent or taken so many bytes.
    pub fn moved(&mut self, bytes: u64) {
        self.moved = self.moved.saturating_add(bytes);
    }

    /// The client has been waited for. Says whether that was too long for what it has moved.
    pub fn is_too_slow_after(&mut self, waited: Duration) -> bool {
        if self.lowest == 0 {
            return false;
        }
        self.allowed = self.allowed().saturating_sub(waited);
        self.allowed.is_zero()
    }

    /// How long the client may still be waited for.
    pub fn allowed(&mut self) -> Duration {
        if self.lowest == 0 {
            return Duration::MAX;
        }
        let moved = std::mem::take(&mut self.moved);
        let earned = Duration::from_micros(moved.saturating_mul(1_000_000) / self.lowest);
        self.allowed = self.allowed.saturating_add(earned).min(self.most);
        self.allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(lasts(&mut Pace::new(500), 0, 1), 10);
        assert!((10..=11).contains(&lasts(&mut Pace::new(500), 1, 2)));
        let half = lasts(&mut Pace::new(500), 250, 1);
        assert!((15..=25).contains(&half), "{half}");
    }

    #[test]
    fn a_client_above_the_lowest_rate_lasts_even_if_it_comes_in_bursts() {
        assert_eq!(lasts(&mut Pace::new(500), 501, 1), 1000);
        assert_eq!(lasts(&mut Pace::new(500), 5000, 8), 1000);
    }

    #[test]
    fn what_was_moved_at_once_does_not_last_for_ever() {
        let mut pace = Pace::new(500);
        pace.moved(100_000_000);
        assert_eq!(lasts(&mut pace, 0, 1), 30);
        pace.moved(u64::MAX);
        assert_eq!(lasts(&mut pace, 0, 1), 30);
    }

    #[test]
    fn without_a_lowest_rate_every_client_lasts() {
        assert_eq!(lasts(&mut Pace::new(0), 0, 1), 1000);
    }

    #[test]
    fn more_patience_is_added_to_both_bounds() {
        let mut pace = Pace::patient(500, Duration::from_secs(20));
        assert_eq!(lasts(&mut pace, 0, 1), 30);
        pace.moved(1_000_000);
        assert_eq!(lasts(&mut pace, 0, 1), 50);
    }
}
