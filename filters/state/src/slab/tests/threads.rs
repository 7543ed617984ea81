//! Concurrent threads never take more than the limit, and never deadlock.

use std::{
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    thread,
};

use super::*;

const THREADS: u64 = 64;

/// Marsaglia's xorshift: enough to mix up an order.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

#[test]
fn a_budget_is_never_overrun() {
    const BUDGET: u64 = 50_000;
    let slab = Slab::new(100);
    let budget = Limit { window: Window::Fixed(3600 * SECOND), ..fixed(0, BUDGET) };
    let (reserved, spent) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (slab, reserved, spent) = (&slab, &reserved, &spent);
            scope.spawn(move || {
                let mut dice = Dice(thread + 1);
                let mut refusals = 0;
                while refusals < 20 {
                    let wanted = 1 + dice.below(60);
                    let amount = some(wanted, 1 + dice.below(wanted));
                    let taken = slab.take(&[budget], amount, SECOND);
                    let Some(granted) = taken.granted else {
                        refusals += 1;
                        thread::yield_now();
                        continue;
                    };
                    // What all threads hold at present, and what they spent for good.
                    assert!(reserved.fetch_add(granted, SeqCst) + granted <= BUDGET);
                    if granted % 3 == 0 {
                        thread::yield_now();
                    }
                    let real = dice.below(granted + 1);
                    spent.fetch_add(real, SeqCst);
                    reserved.fetch_sub(granted - real, SeqCst);
                    let by = real as i64 - granted as i64;
                    let period = taken.levels[0].period;
                    slab.settle(&[Settlement { key: budget.key, window: budget.window, period, by }], SECOND);
                }
            });
        }
    });
    assert!(spent.load(SeqCst) <= BUDGET);
    assert!(spent.load(SeqCst) > BUDGET - 60, "it was used up, else this proves nothing");
    assert_eq!(used(&slab, budget, SECOND), spent.load(SeqCst));
}

#[test]
fn limits_shared_in_every_order_stay_exact() {
    const ROUNDS: u64 = 2_000;
    let slab = Slab::new(1000);
    let most = THREADS * ROUNDS / 2;
    let of = |n| [Class::Actions, Class::Session, Class::Nonce][n as usize % 3];
    let shared: Vec<Limit> = (0..5).map(|n| Limit { key: key_of(of(n), n), ..idle(n, most) }).collect();
    let granted: Vec<AtomicU64> = (0..5).map(|_| AtomicU64::new(0)).collect();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (slab, shared, granted) = (&slab, &shared, &granted);
            scope.spawn(move || {
                let mut dice = Dice(thread + 1);
                for _ in 0..ROUNDS {
                    let mut picked = [0, 1, 2, 3, 4];
                    for n in 0..TOGETHER {
                        picked.swap(n, n + dice.below(5 - n as u64) as usize);
                    }
                    let limits: Vec<Limit> = picked[..TOGETHER].iter().map(|n| shared[*n]).collect();
                    if slab.take(&limits, Amount::ONE, SECOND).granted.is_some() {
                        picked[..TOGETHER].iter().for_each(|n| _ = granted[*n].fetch_add(1, SeqCst));
                    }
                }
            });
        }
    });
    let counts: Vec<u64> = shared.iter().map(|limit| used(&slab, *limit, SECOND)).collect();
    let expected: Vec<u64> = granted.iter().map(|count| count.load(SeqCst)).collect();
    assert_eq!(counts, expected);
    assert!(counts.iter().filter(|count| **count == most).count() >= 2, "{counts:?}: nobody was ever refused");
}
