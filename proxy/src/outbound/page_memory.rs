//! Limits the memory for fetched pages of all clients: bytes of pages, and bytes for parsing them.
//!
//! A page counts from its first byte until its result has been sent. Parsing it into a tree takes many times its size
//! for a moment.

use std::time::Duration;

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

/// The most kilobytes of pages and their results.
const HELD: u32 = 32 * 1024;
/// The most kilobytes for parsing pages.
const READ: u32 = 112 * 1024;
/// The most memory that parsing takes, in multiples of the page's size. A page of links alone took 21 times.
const TREE: usize = 24;
/// How long a page waits for memory to be parsed.
const PATIENCE: Duration = Duration::from_secs(2);

static HELD_ROOM: Semaphore = Semaphore::const_new(HELD as usize);
static READ_ROOM: Semaphore = Semaphore::const_new(READ as usize);

/// A reservation of memory, which dropping it releases.
#[derive(Debug, Default)]
pub struct PageMemory(Option<SemaphorePermit<'static>>);

impl PageMemory {
    /// Changes the reservation to so many bytes. Returns whether there was room.
    pub fn resize(&mut self, bytes: usize) -> bool {
        let wanted = kilobytes(bytes, HELD);
        let has = self.kilobytes();
        if wanted < has {
            drop(self.0.as_mut().and_then(|permit| permit.split(has - wanted)));
            return true;
        }
        if wanted > has {
            let Ok(more) = HELD_ROOM.try_acquire_many(u32::try_from(wanted - has).unwrap_or(HELD)) else {
                return false;
            };
            self.add(more);
        }
        true
    }

    /// Takes over another reservation.
    pub fn merge(&mut self, other: Self) {
        if let Some(permit) = other.0 {
            self.add(permit);
        }
    }

    fn add(&mut self, more: SemaphorePermit<'static>) {
        match &mut self.0 {
            Some(permit) => permit.merge(more),
            none => *none = Some(more),
        }
    }

    fn kilobytes(&self) -> usize {
        self.0.as_ref().map_or(0, SemaphorePermit::num_permits)
    }
}

/// Waits for memory to parse a page of so many bytes; `None` if there is none in time.
pub async fn room_to_read(bytes: usize) -> Option<SemaphorePermit<'static>> {
    let wanted = u32::try_from(kilobytes(bytes.saturating_mul(TREE), READ)).unwrap_or(READ);
    timeout(PATIENCE, READ_ROOM.acquire_many(wanted)).await.ok()?.ok()
}

/// Rounded up, and at most the whole budget.
fn kilobytes(bytes: usize, most: u32) -> usize {
    bytes.div_ceil(1024).min(most as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_taken_and_given_back_to_the_kilobyte() {
        let all = HELD as usize;
        let (mut one, mut other) = (PageMemory::default(), PageMemory::default());
        assert!(one.resize(20 << 20));
        assert!(!other.resize(13 << 20) && other.kilobytes() == 0);
        assert!(other.resize(12 << 20));
        assert_eq!(HELD_ROOM.available_permits(), 0);
        assert!(one.resize(1) && one.kilobytes() == 1);
        other.merge(one);
        assert_eq!((HELD_ROOM.available_permits(), other.kilobytes()), (all - 12 * 1024 - 1, 12 * 1024 + 1));
        drop(other);
        assert_eq!(HELD_ROOM.available_permits(), all);
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_of_the_greatest_size_is_read_alone() {
        let first = room_to_read(4 << 20).await.expect("room for one");
        assert!(room_to_read(4 << 20).await.is_none());
        drop(first);
        assert!(room_to_read(4 << 20).await.is_some());
    }
}
