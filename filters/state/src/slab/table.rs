//! One shard of the slab: rows of slots with a fixed size, and the eviction from a full row.
//!
//! A key may be in either of two rows of [`WAYS`] slots and goes into the emptier one. That balances the rows: up to
//! the designed number of keys hardly any is evicted because its row happens to be full. When both rows are full, an
//! ended window is evicted first, then the least recently used one.

/// Slots in a row: 192 bytes, three or four cache lines. Aligned rows and a preference for the first row were
/// measured: a few percent faster, not worth the code and the evicted keys.
pub(super) const WAYS: usize = 8;

/// The latest time that fits a slot.
pub(super) const LATEST: u64 = u64::MAX >> WINDOW_BITS;
/// The bits of a window's number beside its end.
const WINDOW_BITS: u32 = 24;

/// One counter. `end` is 0 where there has never been one. Times are ticks of the slab's user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    /// Never 0 where there is a counter.
    pub hash: u64,
    /// When the window ends; it has ended at this very tick. At most [`LATEST`].
    pub end: u64,
    /// The window's number, which stays the same if its end changes.
    pub window: u32,
    pub used: u32,
}

impl Slot {
    pub(super) fn is_live(&self, now: u64) -> bool {
        now < self.end
    }
}

/// A stored slot: the hash, the end above the window number, the use above the last touch. Plain integers, because a
/// zeroed vector of them is memory that the system has not committed yet.
type Packed = [u64; 3];

#[derive(Debug)]
pub(super) struct Table {
    slots: Vec<Packed>,
    /// Counts touches, which orders uses within one tick. It wraps: a slot untouched for four billion touches of this
    /// shard may then once outlive a fresher one.
    clock: u32,
    /// Counts windows, so that an evicted counter comes back with another number. It wraps: a settlement after exactly
    /// a multiple of 16 million other windows of this table may hit a later window of the same key.
    windows: u32,
}

impl Table {
    /// `rows` is at least 1.
    pub(super) fn new(rows: usize) -> Self {
        Self { slots: vec![[0; 3]; rows * WAYS], clock: 0, windows: 0 }
    }

    /// The number of slots, for tests of the bound.
    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.slots.len()
    }

    /// The first slots of a key's two rows, which may be equal. The eight bits that chose the table are not used.
    fn rows(&self, hash: u64) -> [usize; 2] {
        let rows = (self.slots.len() / WAYS) as u64;
        [hash, hash >> 24].map(|bits| (((bits & u64::from(u32::MAX)) * rows) >> 32) as usize * WAYS)
    }

    /// The slot of this hash, whether its window has ended or not.
    pub(super) fn find(&self, hash: u64) -> Option<usize> {
        let in_row = |row: usize| self.slots[row..row + WAYS].iter().position(|slot| slot[0] == hash);
        self.rows(hash).into_iter().find_map(|row| in_row(row).map(|way| row + way))
    }

    pub(super) fn get(&self, at: usize) -> Slot {
        let [hash, ends, rest] = self.slots[at];
        let window = (ends & ((1 << WINDOW_BITS) - 1)) as u32;
        Slot { hash, end: end(ends), window, used: (rest >> 32) as u32 }
    }

    /// The number of a new window; never 0.
    pub(super) fn begin(&mut self) -> u32 {
        self.windows = self.windows % ((1 << WINDOW_BITS) - 1) + 1;
        self.windows
    }

    /// Writes a slot and marks it as just used.
    pub(super) fn put(&mut self, at: usize, slot: Slot) {
        self.clock = self.clock.wrapping_add(1);
        let ends = slot.end << WINDOW_BITS | u64::from(slot.window);
        self.slots[at] = [slot.hash, ends, u64::from(slot.used) << 32 | u64::from(self.clock)];
    }

    /// The slot for a new counter with this hash, and whether it was never used. `keep`: hashes that must not be
    /// evicted, at most half a row.
    pub(super) fn place(&self, hash: u64, keep: &[u64], now: u64) -> (usize, bool) {
        let mut best = (0, 0);
        for row in self.rows(hash) {
            let slots = &self.slots[row..row + WAYS];
            let free = slots.iter().filter(|slot| end(slot[1]) <= now).count() as u64;
            for (way, [owner, ends, rest]) in slots.iter().enumerate() {
                let age = u64::from(self.clock.wrapping_sub(*rest as u32)) + 1;
                // Any free slot is better than an occupied one; those of the emptier row are best.
                let worth = if end(*ends) <= now { free << 40 } else { age };
                if worth > best.0 && !keep.contains(owner) {
                    best = (worth, row + way);
                }
            }
        }
        (best.1, self.slots[best.1][0] == 0)
    }
}

/// The end of a window, without its number.
fn end(packed: u64) -> u64 {
    packed >> WINDOW_BITS
}
