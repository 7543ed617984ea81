//! The pace of requests: never faster than the rate, and with jitter, so that replicas do not run in step.

use std::time::{Duration, Instant};

use frontdesk_filters::site::Rate;
use ring::rand::{SecureRandom, SystemRandom};

/// A slower answer is followed by a pause of several times its duration, so that the crawler takes at most a tenth of
/// the site's time.
const SLOW: Duration = Duration::from_millis(50);
const REST: u32 = 9;
/// The longest of these pauses.
const LONGEST_REST: Duration = Duration::from_secs(30);

/// The schedule of one round.
#[derive(Default)]
pub(super) struct Pace {
    last: Option<Instant>,
    /// No request before this moment.
    rest: Option<Instant>,
}

impl Pace {
    /// Takes the next slot and returns the wait until then: a part of the interval, and up to a fifth more.
    pub(super) fn next(&mut self, rate: Rate) -> Duration {
        let now = Instant::now();
        let Some(last) = self.last else {
            self.last = Some(now);
            return Duration::ZERO;
        };
        let apart = rate.span.length().unwrap_or(Duration::from_secs(1)) / rate.count.max(1);
        let slot = (last + apart.mul_f64(1.0 + chance() / 5.0)).max(now);
        let slot = self.rest.take().map_or(slot, |rest| rest.max(slot));
        self.last = Some(slot);
        slot - now
    }
}

impl Pace {
    /// Records the duration of an answer.
    pub(super) fn took(&mut self, time: Duration) {
        self.rest = (time >= SLOW).then(|| Instant::now() + (time * REST).min(LONGEST_REST));
    }
}

/// A random number from 0 to 1.
fn chance() -> f64 {
    let mut byte = [0u8];
    // Without randomness there is merely no jitter.
    let _ = SystemRandom::new().fill(&mut byte);
    f64::from(byte[0]) / 255.0
}

#[cfg(test)]
mod tests {
    use frontdesk_filters::site::Span;

    use super::*;

    #[test]
    fn slots_are_never_nearer_than_the_rate_says() {
        let rate = Rate { count: 4, span: Span::Second };
        let mut pace = Pace::default();
        assert_eq!(pace.next(rate), Duration::ZERO);
        let mut last = pace.last.unwrap();
        for _ in 0..100 {
            pace.next(rate);
            let slot = pace.last.unwrap();
            let apart = slot - last;
            assert!(apart >= Duration::from_millis(250) && apart <= Duration::from_millis(301), "{apart:?}");
            last = slot;
        }
    }

    #[test]
    fn slow_answers_are_followed_by_rest() {
        let rate = Rate { count: 100, span: Span::Second };
        for (took, least, most) in
            [(10, 0, 20), (49, 0, 20), (50, 440, 460), (200, 1_790, 1_810), (15_000, 29_900, 30_010)]
        {
            let mut pace = Pace { last: Some(Instant::now()), rest: None };
            pace.took(Duration::from_millis(took));
            let wait = pace.next(rate).as_millis();
            assert!((least..=most).contains(&wait), "{took}: {wait}");
            assert!(pace.next(rate).as_millis() <= wait + 20, "once for each answer");
        }
    }

    #[test]
    fn time_that_has_passed_is_not_made_up_for() {
        let rate = Rate { count: 100, span: Span::Second };
        let mut pace = Pace { last: Instant::now().checked_sub(Duration::from_secs(1)), rest: None };
        assert_eq!(pace.next(rate), Duration::ZERO);
        assert!(pace.next(rate) > Duration::from_millis(5));
    }
}
