//! Requests a second over the last minutes, from differences of the counters.

use std::{collections::VecDeque, time::Instant};

/// The number of remembered seconds.
pub const SECONDS: usize = 300;

/// One second: requests of each kind of client, and the refused ones among them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rates {
    /// In the order of [`super::Who::ALL`].
    pub visits: [f32; 3],
    pub refused: f32,
}

/// The last seconds.
#[derive(Default)]
pub(super) struct Traffic {
    last: Option<(Instant, [u64; 3], u64)>,
    rates: VecDeque<Rates>,
}

impl Traffic {
    /// Takes the current counters.
    pub(super) fn sample(&mut self, now: Instant, visits: [u64; 3], refused: u64) {
        if let Some((then, before, refused_before)) = self.last.replace((now, visits, refused)) {
            // Never zero: after a delay, two timer events come in a row.
            let seconds = now.saturating_duration_since(then).as_secs_f32().max(0.05);
            let rate = |now: u64, before: u64| now.saturating_sub(before) as f32 / seconds;
            if self.rates.len() == SECONDS {
                self.rates.pop_front();
            }
            let visits = std::array::from_fn(|n| rate(visits[n], before[n]));
            self.rates.push_back(Rates { visits, refused: rate(refused, refused_before) });
        }
    }

    pub(super) fn rates(&self) -> Vec<Rates> {
        self.rates.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn rates_are_differences_over_the_time_they_took() {
        let (mut traffic, start) = (Traffic::default(), Instant::now());
        traffic.sample(start, [5, 0, 0], 1);
        assert!(traffic.rates().is_empty(), "what was before is nothing of this second");
        traffic.sample(start + Duration::from_secs(2), [15, 4, 2], 1);
        assert_eq!(traffic.rates(), [Rates { visits: [5.0, 2.0, 1.0], refused: 0.0 }]);
        for n in 0..SECONDS as u64 * 2 {
            traffic.sample(start + Duration::from_secs(3 + n), [15 + n, 4, 2], 1);
        }
        assert_eq!(traffic.rates().len(), SECONDS);
    }
}
