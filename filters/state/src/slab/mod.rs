//! The slab: counters in memory, bounded, for any number of threads.
//!
//! Rates, budgets and nonces are stored apart. So a flood of addresses, each with a rate of its own, evicts neither
//! budgets nor nonces, and spending evicts no nonce. The limits of one request are of one kind today, but need not be.
//!
//! Attackers choose addresses, so all sizes are fixed at creation. No key makes the slab grow, and nothing is
//! allocated or freed later. Only a hash of each key under a secret of this process is stored, so no one can aim at a
//! row. A counter takes 24 bytes. Two keys of a kind share a counter if all 62 bits of their hashes agree: with a
//! million keys, one process in nine million has such a pair.

mod locked;
mod table;
#[cfg(test)]
mod tests;

use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use parking_lot::Mutex;

use super::{Amount, Key, Level, Limit, Settlement, TOGETHER, Taken, Window, key::Kind};
use locked::Locked;
use table::{LATEST, Slot, Table, WAYS};

/// Locks per kind of counter; a request takes those of its keys.
const SHARDS: usize = 64;
/// All kinds, each at the index in the top bits of its hashes.
const KINDS: [Kind; 3] = [Kind::Rate, Kind::Budget, Kind::Once];
/// The bits of a hash below its kind.
const KIND_SHIFT: u32 = u64::BITS - 2;
/// The bits below kind and shard.
const SHARD_SHIFT: u32 = KIND_SHIFT - SHARDS.ilog2();

/// A shard's lock on cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Shard(Mutex<Table>);

/// The counters of a process.
#[derive(Debug)]
pub struct Slab {
    shards: Box<[Shard]>,
    secret: RandomState,
    tracked: AtomicUsize,
}

impl Slab {
    /// Room for the rates of `capacity` keys, a quarter as many budgets and a quarter as many nonces, each with half
    /// as much again, so that hardly any is evicted before that. Reserves 54 bytes per key of address space; memory is
    /// used as keys come.
    pub fn new(capacity: usize) -> Self {
        let of = |kind: Kind| {
            let keys = if kind == Kind::Rate { capacity } else { capacity.div_ceil(4) };
            // Two extra rows, because a shard's share of few keys varies much.
            let rows = keys.saturating_mul(3).div_ceil(2 * SHARDS * WAYS) + 2;
            (0..SHARDS).map(move |_| Shard(Mutex::new(Table::new(rows))))
        };
        Self {
            shards: KINDS.into_iter().flat_map(of).collect(),
            secret: RandomState::new(),
            tracked: AtomicUsize::new(0),
        }
    }

    /// Atomically takes the same amount from at most [`TOGETHER`] limits with different keys, from all or none. More
    /// limits are a bug of the caller and are refused.
    ///
    /// `now` is the time since any fixed moment. Where nothing is taken (refused, or nothing left and `least` 0, or
    /// nothing wanted), no window begins or is renewed, but shortened windows are applied. A limit above `u32::MAX` is
    /// treated as that.
    pub fn take(&self, limits: &[Limit], amount: Amount, now: Duration) -> Taken {
        debug_assert!(limits.len() <= TOGETHER, "{} limits at a time", limits.len());
        let mut taken = Taken { granted: None, levels: [Level::default(); TOGETHER] };
        if limits.len() > TOGETHER {
            return taken;
        }
        let tick = ticks(now);
        let hashes = self.hashes(limits.iter().map(|limit| limit.key));
        let hashes = &hashes[..limits.len()];
        let mut locked = Locked::new(self, hashes);

        let mut found = [None; TOGETHER];
        let mut left = amount.wanted;
        for (n, (limit, hash)) in limits.iter().zip(hashes).enumerate() {
            let table = locked.table(*hash);
            found[n] = table.find(*hash).map(|at| {
                let slot = table.get(at);
                (at, Slot { end: slot.end.min(ends(now, limit.window)), ..slot })
            });
            taken.levels[n] = match found[n] {
                Some((_, slot)) if slot.is_live(tick) => level(slot, limit.window, now),
                _ => Level { resets_in: limit.window.length(), ..Level::default() },
            };
            left = left.min(limit.most.min(u32::MAX.into()).saturating_sub(taken.levels[n].used));
        }
        taken.granted = (left >= amount.least).then_some(left);

        let charge = taken.granted.unwrap_or(0);
        for (n, (limit, hash)) in limits.iter().zip(hashes).enumerate() {
            let table = locked.table(*hash);
            // A refused caller must not become the least recently used, or its counter would be evicted; and a
            // shortened window must not slide.
            if charge == 0 {
                if let Some((at, slot)) = found[n] {
                    table.put(at, slot);
                }
                continue;
            }
            let (at, slot) = match found[n] {
                Some((at, slot)) if slot.is_live(tick) => (at, slot),
                ended => {
                    let (at, new) = match ended {
                        Some((at, _)) => (at, false),
                        None => table.place(*hash, hashes, tick),
                    };
                    self.tracked.fetch_add(usize::from(new), Ordering::Relaxed);
                    (at, Slot { hash: *hash, end: ends(now, limit.window), window: table.begin(), used: 0 })
                }
            };
            let end = if let Window::Idle(_) = limit.window { ends(now, limit.window) } else { slot.end };
            let slot = Slot { end, used: shift(slot.used, charge.try_into().unwrap_or(i64::MAX)), ..slot };
            table.put(at, slot);
            taken.levels[n] = level(slot, limit.window, now);
        }
        taken
    }

    /// Applies corrections, atomically for each [`TOGETHER`] of them. A count never falls below zero, an ended window
    /// is left alone, and a live session is renewed.
    pub fn settle(&self, settlements: &[Settlement], now: Duration) {
        let tick = ticks(now);
        for settlements in settlements.chunks(TOGETHER) {
            let hashes = self.hashes(settlements.iter().map(|settlement| settlement.key));
            let hashes = &hashes[..settlements.len()];
            let mut locked = Locked::new(self, hashes);
            for (settlement, hash) in settlements.iter().zip(hashes) {
                let table = locked.table(*hash);
                let Some(at) = table.find(*hash) else { continue };
                let slot = table.get(at);
                if !slot.is_live(tick) || u64::from(slot.window) != settlement.period {
                    continue;
                }
                let end = match settlement.window {
                    Window::Fixed(_) => slot.end,
                    Window::Idle(_) => ends(now, settlement.window),
                };
                table.put(at, Slot { end, used: shift(slot.used, settlement.by), ..slot });
            }
        }
    }

    /// The number of counters, including ended ones whose slots are not reused yet.
    pub fn tracked(&self) -> usize {
        self.tracked.load(Ordering::Relaxed)
    }

    /// Hashes with their kinds in the top bits. Never 0, which marks an empty slot.
    fn hashes(&self, keys: impl Iterator<Item = Key>) -> [u64; TOGETHER] {
        let mut hashes = [0; TOGETHER];
        for (hash, key) in hashes.iter_mut().zip(keys) {
            let bits = self.secret.hash_one(key.bits()) & ((1 << KIND_SHIFT) - 1);
            *hash = (bits | (key.kind() as u64) << KIND_SHIFT).max(1);
        }
        hashes
    }
}

/// Whole milliseconds, up to 34 years: as precise as the other stores, and it fits a slot.
fn ticks(time: Duration) -> u64 {
    time.as_secs().saturating_mul(1000).saturating_add(time.subsec_millis().into()).min(LATEST)
}

/// The end of a window that begins or is renewed now; never earlier than its full length.
fn ends(now: Duration, window: Window) -> u64 {
    const NEXT: Duration = Duration::from_nanos(999_999);
    ticks(now.saturating_add(window.length()).saturating_add(NEXT))
}

fn shift(used: u32, by: i64) -> u32 {
    i64::from(used).saturating_add(by).clamp(0, u32::MAX.into()) as u32
}

fn level(slot: Slot, window: Window, now: Duration) -> Level {
    let resets_in = Duration::from_millis(slot.end).saturating_sub(now).min(window.length());
    Level { used: slot.used.into(), resets_in, period: slot.window.into() }
}
