//! The slowest pace at which a client may send a body or read a response (`protection.min_rate`).
//!
//! Only time spent waiting for the client counts. A client may be waited for 10 s at the beginning. Each byte that it
//! moves allows more waiting, by the time for a byte at the lowest rate, up to 30 s. So a short pause is fine, and a
//! client that is slow for long is ended.

use std::time::Duration;

/// The allowed waiting time before the first byte.
const AT_FIRST: Duration = Duration::from_secs(10);
/// The most waiting time that can be saved up.
const AHEAD: Duration = Duration::from_secs(30);

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
    /// `lowest`: bytes a second; 0: no limit.
    pub fn new(lowest: u64) -> Self {
        Self::patient(lowest, Duration::ZERO)
    }

    /// The same with more initial waiting time, if the wait may be for another party than the client.
    pub fn patient(lowest: u64, more: Duration) -> Self {
        Self { lowest, allowed: AT_FIRST + more, most: AHEAD + more, moved: 0 }
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
        self.allowed = self.allowed().saturating_sub(waited);
        self.allowed.is_zero()
    }

    /// The remaining waiting time.
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

    /// The seconds until a client is ended that moves so many bytes every so many seconds; 1000: never.
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
