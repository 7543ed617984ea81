//! How much of all clients' pages is in memory at a time: bytes that are held, and bytes that are read.
//!
//! A page is held from its first byte until what was made of it has left. Reading it, as a tree of its elements, takes many
//! times its size for a moment.

use std::time::Duration;

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

/// Kilobytes that pages and what is made of them may hold.
const HELD: u32 = 32 * 1024;
/// Kilobytes that the reading of pages may take.
const READ: u32 = 112 * 1024;
/// How many times its size reading a page takes at most: one of nothing but links took 21 times.
const TREE: usize = 24;
/// How long a page waits for room to be read in.
const PATIENCE: Duration = Duration::from_secs(2);

static HELD_ROOM: Semaphore = Semaphore::const_new(HELD as usize);
static READ_ROOM: Semaphore = Semaphore::const_new(READ as usize);

/// Room for bytes that are held, until it is dropped.
#[derive(Debug, Default)]
pub struct Held(Option<SemaphorePermit<'static>>);

impl Held {
    /// Makes it room for so many bytes; whether there was that much.
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

    /// Takes over the room of another.
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

/// Waits for room to read a page of so many bytes in; `None`: there is none in time.
pub async fn room_to_read(bytes: usize) -> Option<SemaphorePermit<'static>> {
    let wanted = u32::try_from(kilobytes(bytes.saturating_mul(TREE), READ)).unwrap_or(READ);
    timeout(PATIENCE, READ_ROOM.acquire_many(wanted)).await.ok()?.ok()
}

/// Rounded up, and no more than there are.
fn kilobytes(bytes: usize, most: u32) -> usize {
    bytes.div_ceil(1024).min(most as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_taken_and_given_back_to_the_kilobyte() {
        let all = HELD as usize;
        let (mut one, mut other) = (Held::default(), Held::default());
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
