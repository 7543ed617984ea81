//! Locks the shards of a few keys.

use parking_lot::MutexGuard;

use super::{SHARD_SHIFT, Slab, TOGETHER, table::Table};

/// The locked shards of a few keys of any kind. Locks are always taken in ascending order, so no two threads deadlock.
pub(super) struct Locked<'a> {
    order: [usize; TOGETHER],
    /// At a shard's first place in `order`.
    tables: [Option<MutexGuard<'a, Table>>; TOGETHER],
}

impl<'a> Locked<'a> {
    /// At most [`TOGETHER`] hashes.
    pub(super) fn new(slab: &'a Slab, hashes: &[u64]) -> Self {
        let mut locked = Self { order: [usize::MAX; TOGETHER], tables: [const { None }; TOGETHER] };
        for (place, hash) in locked.order.iter_mut().zip(hashes) {
            *place = shard(*hash);
        }
        locked.order.sort_unstable();
        let mut last = usize::MAX;
        for (place, shard) in locked.order.into_iter().enumerate().take(hashes.len()) {
            if shard != last {
                locked.tables[place] = Some(slab.shards[shard].0.lock());
                last = shard;
            }
        }
        locked
    }

    /// The table of one of these hashes.
    pub(super) fn table(&mut self, hash: u64) -> &mut Table {
        let shard = shard(hash);
        let place = self.order.iter().position(|other| *other == shard);
        place.and_then(|place| self.tables[place].as_deref_mut()).expect("the shards of all keys are locked")
    }
}

/// The shards of one kind are adjacent.
fn shard(hash: u64) -> usize {
    (hash >> SHARD_SHIFT) as usize
}
