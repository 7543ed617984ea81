//! Remembers the number of calls of each capability over the last minutes.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// The length of a step.
pub const STEP: Duration = Duration::from_secs(10);
/// The number of remembered steps.
pub const STEPS: usize = 30;

/// Calls in each step, by capability. Declarations bound the number of entries.
#[derive(Debug, Clone, Default)]
pub struct Calls {
    sampled: Option<Instant>,
    /// The index of the next step.
    turn: usize,
    of: BTreeMap<String, Steps>,
}

#[derive(Debug, Clone)]
struct Steps {
    last: u64,
    counts: [u32; STEPS],
}

impl Calls {
    /// Whether a step is over.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.sampled.is_none_or(|then| now.saturating_duration_since(then) >= STEP)
    }

    /// Takes the total counts so far.
    pub(super) fn sample(&mut self, now: Instant, totals: BTreeMap<String, u64>) {
        let first = self.sampled.replace(now).is_none();
        let turn = self.turn;
        self.turn = (turn + 1) % STEPS;
        for (capability, total) in totals {
            let steps = self.of.entry(capability).or_insert_with(|| Steps {
                // Calls before the first sample do not belong to this step.
                last: if first { total } else { 0 },
                counts: [0; STEPS],
            });
            steps.counts[turn] = u32::try_from(total.saturating_sub(steps.last)).unwrap_or(u32::MAX);
            steps.last = total;
        }
    }

    /// The calls of one capability in each step, oldest first. `now`: its total count, some of it in the current step.
    pub fn of(&self, capability: &str, now: u64) -> Vec<u32> {
        let Some(steps) = self.of.get(capability) else {
            return std::iter::repeat_n(0, STEPS).chain([u32::try_from(now).unwrap_or(u32::MAX)]).collect();
        };
        let past = (0..STEPS).map(|n| steps.counts[(self.turn + n) % STEPS]);
        past.chain([u32::try_from(now.saturating_sub(steps.last)).unwrap_or(u32::MAX)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_what_was_counted_between_them() {
        let (mut calls, start) = (Calls::default(), Instant::now());
        let total = |n: u64| BTreeMap::from([("a".to_owned(), n)]);
        assert!(calls.is_due(start));
        calls.sample(start, total(7));
        assert!(!calls.is_due(start + STEP / 2));
        calls.sample(start + STEP, total(10));
        calls.sample(start + STEP * 2, total(11));
        let seen = calls.of("a", 13);
        assert_eq!((seen.len(), &seen[STEPS - 2..]), (STEPS + 1, &[3, 1, 2][..]));
        for n in 0..STEPS as u32 * 2 {
            calls.sample(start + STEP * (3 + n), total(11));
        }
        assert!(calls.of("a", 11).iter().all(|count| *count == 0));
        assert_eq!(calls.of("new", 4).last(), Some(&4));
    }
}
