//! Limits wrong tokens: so many a minute from one address and from all addresses. After that, tokens are refused.

use std::{
    collections::HashMap,
    net::IpAddr,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

/// The most wrong tokens of one address in a window.
const OF_ONE: u32 = 20;
/// The most wrong tokens of all addresses in a window, and the most addresses remembered.
const OF_ALL: u32 = 200;
const WINDOW: Duration = Duration::from_secs(60);

/// The current window.
#[derive(Default)]
pub struct Attempts(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    began: Option<Instant>,
    of: HashMap<IpAddr, u32>,
    all: u32,
}

impl Attempts {
    /// Whether an address may present a token.
    ///
    /// # Errors
    ///
    /// It may not, for so long.
    pub(super) fn may_try(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let mut counts = self.0.lock();
        let left = counts.window(now);
        let spent = counts.all >= OF_ALL || counts.of.get(&address).is_some_and(|count| *count >= OF_ONE);
        if spent { Err(left) } else { Ok(()) }
    }

    /// Records a wrong token.
    pub(super) fn failed(&self, address: IpAddr, now: Instant) {
        let mut counts = self.0.lock();
        counts.window(now);
        counts.all += 1;
        *counts.of.entry(address).or_default() += 1;
    }
}

impl Counts {
    /// The rest of the window. Starts a new window if the last one is over.
    fn window(&mut self, now: Instant) -> Duration {
        let age = self.began.map(|began| now.saturating_duration_since(began)).filter(|age| *age < WINDOW);
        if age.is_none() {
            *self = Self { began: Some(now), ..Self::default() };
        }
        WINDOW - age.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_are_few_and_others_are_not_held_to_them() {
        let (attempts, start) = (Attempts::default(), Instant::now());
        let of = |last: u32| IpAddr::from([192, 0, 2, u8::try_from(last).unwrap()]);
        for _ in 0..OF_ONE {
            assert!(attempts.may_try(of(1), start).is_ok());
            attempts.failed(of(1), start);
        }
        assert_eq!(attempts.may_try(of(1), start + WINDOW / 2), Err(WINDOW / 2));
        assert!(attempts.may_try(of(2), start).is_ok());
        for n in 0..OF_ALL {
            attempts.failed(of(n), start);
        }
        assert!(attempts.may_try(of(250), start).is_err());
        assert!(attempts.0.lock().of.len() <= OF_ALL as usize);
        assert!(attempts.may_try(of(1), start + WINDOW).is_ok());
    }
}
