//! The slab against a simple model with the same semantics: a map, with each rule written out once.

use std::{collections::HashMap, time::Duration};

use proptest::prelude::*;

use super::*;

/// Whole steps of time, so that boundaries are met exactly.
const STEP: Duration = Duration::from_millis(250);

#[derive(Debug, Clone, Copy)]
struct Count {
    end: Duration,
    used: u64,
    /// The number of the window among all that ever began.
    window: usize,
}

#[derive(Default)]
struct Model {
    counts: HashMap<u128, Count>,
    windows: usize,
}

impl Model {
    fn live(&self, key: Key, now: Duration) -> Option<Count> {
        self.counts.get(&key.bits()).copied().filter(|count| now < count.end)
    }

    fn take(&mut self, limits: &[Limit], amount: Amount, now: Duration) -> Option<u64> {
        for limit in limits {
            if let Some(count) = self.counts.get_mut(&limit.key.bits()) {
                count.end = count.end.min(now + limit.window.length());
            }
        }
        let left = limits.iter().map(|l| l.most.saturating_sub(self.live(l.key, now).map_or(0, |count| count.used)));
        let granted = left.min().map_or(amount.wanted, |left| left.min(amount.wanted));
        if granted < amount.least {
            return None;
        }
        for limit in limits.iter().filter(|_| granted > 0) {
            let length = limit.window.length();
            let mut count = self.live(limit.key, now).unwrap_or_else(|| {
                self.windows += 1;
                Count { end: now + length, used: 0, window: self.windows }
            });
            if let Window::Idle(_) = limit.window {
                count.end = now + length;
            }
            count.used += granted;
            self.counts.insert(limit.key.bits(), count);
        }
        Some(granted)
    }

    fn settle(&mut self, settlements: &[(Settlement, Option<usize>)], now: Duration) {
        for (settlement, window) in settlements {
            let live = self.live(settlement.key, now);
            let Some(mut count) = live.filter(|count| Some(count.window) == *window) else { continue };
            if let Window::Idle(length) = settlement.window {
                count.end = now + length;
            }
            count.used = count.used.saturating_add_signed(settlement.by);
            self.counts.insert(settlement.key.bits(), count);
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Take(Vec<Limit>, Amount),
    /// Settles the take that came this many takes ago, each limit by this amount.
    Settle(usize, i64),
    Wait(u32),
}

/// Limits of all kinds, taken together. A key is a session's or not for good, as a class of limits is; `most` and the
/// length follow the present configuration.
fn limit() -> impl Strategy<Value = Limit> {
    (0..6u32, 0..30u64, 0..5u32).prop_map(|(n, most, length)| Limit {
        key: key_of([Class::Actions, Class::Session, Class::Nonce][n as usize % 3], n),
        most,
        window: if n < 3 { Window::Fixed(length * STEP) } else { Window::Idle(length * STEP) },
    })
}

fn limits() -> impl Strategy<Value = Vec<Limit>> {
    prop::collection::vec(limit(), 0..=TOGETHER).prop_map(|mut limits| {
        limits.sort_by_key(|limit| limit.key.bits());
        limits.dedup_by_key(|limit| limit.key);
        limits
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (limits(), 0..12u64, 0..8u64).prop_map(|(limits, wanted, least)| Step::Take(limits, some(wanted, least))),
        2 => (0..4usize, -15..15i64).prop_map(|(back, by)| Step::Settle(back, by)),
        2 => (0..4u32).prop_map(Step::Wait),
    ]
}

proptest! {
    #[test]
    fn it_agrees_with_a_map(steps in prop::collection::vec(step(), 1..80)) {
        let (slab, mut model) = (Slab::new(1), Model::default());
        let mut now = STEP;
        let mut takes: Vec<Vec<(Settlement, Option<usize>)>> = Vec::new();
        for step in steps {
            match step {
                Step::Take(limits, amount) => {
                    let taken = slab.take(&limits, amount, now);
                    prop_assert_eq!(taken.granted, model.take(&limits, amount, now));
                    let mut settlements = Vec::new();
                    for (limit, level) in limits.iter().zip(taken.levels) {
                        let live = model.live(limit.key, now);
                        // A window of zero length is over at once, but its taker learns what it took.
                        if live.is_some() || limit.window.length() > Duration::ZERO {
                            prop_assert_eq!(level.used, live.map_or(0, |count| count.used));
                        }
                        let resets_in = live.map_or(limit.window.length(), |count| count.end - now);
                        prop_assert_eq!(level.resets_in, resets_in);
                        let settlement = Settlement { key: limit.key, window: limit.window, period: level.period, by: 0 };
                        settlements.push((settlement, live.map(|count| count.window)));
                    }
                    if taken.granted.is_some_and(|granted| granted > 0) {
                        takes.push(settlements);
                    }
                }
                Step::Settle(back, by) => {
                    let Some(take) = takes.len().checked_sub(back + 1).and_then(|n| takes.get_mut(n)) else { continue };
                    take.iter_mut().for_each(|(settlement, _)| settlement.by = by);
                    let settlements: Vec<_> = take.iter().map(|(settlement, _)| *settlement).collect();
                    slab.settle(&settlements, now);
                    model.settle(take, now);
                }
                Step::Wait(steps) => now += steps * STEP,
            }
        }
    }
}
