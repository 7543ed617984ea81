//! One shard of the slab: rows of slots that never grow, and who has to go when a row is full.
//!
//! A key may live in two rows of [`WAYS`] slots and moves into the emptier one. That evens the rows out: as long as no
//! more keys are counted than the slab was made for, hardly ever must one go because others happened to share its row.
//! When there is no room in either, an ended window goes first, then the one least recently touched.

/// Slots in a row: 192 bytes, three or four cache lines. Rows on lines of their own and a preference for the first row
/// were measured: a few in a hundred faster, not worth the words and the keys lost.
pub(super) const WAYS: usize = 8;

/// The latest time that fits into a slot.
pub(super) const LATEST: u64 = u64::MAX >> WINDOW_BITS;
/// Room for a window's number beside its end.
const WINDOW_BITS: u32 = 24;

/// One count. `end` is 0 where there has never been one; times are ticks on the clock of the slab's user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    /// Never 0 where there is a count.
    pub hash: u64,
    /// When the window ends: at this very moment it has ended. At most [`LATEST`].
    pub end: u64,
    /// Which of the windows that this table began it is, whatever becomes of its end.
    pub window: u32,
    pub used: u32,
}

impl Slot {
    pub(super) fn is_live(&self, now: u64) -> bool {
        now < self.end
    }
}

/// A slot as it is stored: hash, end above window, used above touched. Plain words, because a vector of zeros made of them is memory
/// that the system has not handed out yet.
type Packed = [u64; 3];

#[derive(Debug)]
pub(super) struct Table {
    slots: Vec<Packed>,
    /// Counts touches, so that the order of use is known within one moment too. It wraps: a slot left alone for four
    /// thousand million touches of this shard may then outlive a fresher one once.
    clock: u32,
    /// Counts windows. Evicted counts come back with another number, too. It wraps: whoever settles with a window after
    /// exactly a multiple of sixteen million others of this table began may find a later one of the same key.
    windows: u32,
}

impl Table {
    /// `rows` is at least 1.
    pub(super) fn new(rows: usize) -> Self {
        Self { slots: vec![[0; 3]; rows * WAYS], clock: 0, windows: 0 }
    }

    /// The slots there are, for tests of the bound.
    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.slots.len()
    }

    /// Where the first slots of a key's two rows are; they may be the same. The eight bits that chose the table are left
    /// out.
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

    /// The number of a window that begins now; never 0.
    pub(super) fn begin(&mut self) -> u32 {
        self.windows = self.windows % ((1 << WINDOW_BITS) - 1) + 1;
        self.windows
    }

    /// Writes a slot and makes it the freshest.
    pub(super) fn put(&mut self, at: usize, slot: Slot) {
        self.clock = self.clock.wrapping_add(1);
        let ends = slot.end << WINDOW_BITS | u64::from(slot.window);
        self.slots[at] = [slot.hash, ends, u64::from(slot.used) << 32 | u64::from(self.clock)];
    }

    /// Where a new count for this hash goes, and whether nothing was ever there. `keep` are at most half a row of
    /// hashes that must not be driven out.
    pub(super) fn place(&self, hash: u64, keep: &[u64], now: u64) -> (usize, bool) {
        let mut best = (0, 0);
        for row in self.rows(hash) {
            let slots = &self.slots[row..row + WAYS];
            let free = slots.iter().filter(|slot| end(slot[1]) <= now).count() as u64;
            for (way, [owner, ends, rest]) in slots.iter().enumerate() {
                let age = u64::from(self.clock.wrapping_sub(*rest as u32)) + 1;
                // Any free slot is better than the oldest; those of the emptier row are better still.
                let worth = if end(*ends) <= now { free << 40 } else { age };
                if worth > best.0 && !keep.contains(owner) {
                    best = (worth, row + way);
                }
            }
        }
        (best.1, self.slots[best.1][0] == 0)
    }
}

/// The end of a window as it is stored beside its number.
fn end(packed: u64) -> u64 {
    packed >> WINDOW_BITS
}
