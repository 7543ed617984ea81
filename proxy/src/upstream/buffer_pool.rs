//! The room that answers are read into, handed from one to the next: to make it anew for each costs more than to read a
//! short one into it.

use std::cell::Cell;

use bytes::{Bytes, BytesMut};

/// What is read at once: a head, and most bodies with it.
pub const READ: usize = 64 * 1024;
/// What is larger was no room for reading.
const MOST: usize = 2 * READ;

thread_local! {
    /// Of the last answer on this thread whose room nobody holds any more.
    static SPARE: Cell<Option<BytesMut>> = const { Cell::new(None) };
}

/// Room for so many bytes at least, with nothing in it.
pub(super) fn acquire(least: usize) -> BytesMut {
    let spare = SPARE.take().filter(|spare| spare.capacity() >= least);
    spare.unwrap_or_else(|| BytesMut::with_capacity(least))
}

/// Takes back what a part lay in that has left, if it is the last of it.
pub fn release(part: Bytes) {
    let Ok(mut room) = part.try_into_mut() else { return };
    room.clear();
    if room.try_reclaim(READ) && room.capacity() <= MOST {
        SPARE.set(Some(room));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_comes_back_once_nobody_holds_any_of_it() {
        let mut room = acquire(READ);
        let place = room.as_ptr();
        room.extend_from_slice(b"head and body");
        let (head, body) = (room.split_to(4).freeze(), room.split().freeze());
        drop(room);
        release(body);
        let other = acquire(READ);
        assert!(other.as_ptr() != place && other.is_empty(), "the head is still there");
        assert_eq!(head, "head");
        release(head);
        let again = acquire(READ);
        assert!(again.as_ptr() == place && again.is_empty() && again.capacity() >= READ);
    }

    #[test]
    fn what_was_no_room_is_not_kept() {
        let mut small = BytesMut::with_capacity(READ / 2);
        let mut large = BytesMut::with_capacity(MOST + 1);
        for room in [&mut small, &mut large] {
            room.extend_from_slice(b"x");
            release(std::mem::take(room).freeze());
        }
        release(Bytes::from_static(b"x"));
        assert!(SPARE.take().is_none());
        // Nor a buffer that is too small.
        let mut room = acquire(READ);
        room.extend_from_slice(b"x");
        release(room.freeze());
        assert!(acquire(MOST).capacity() >= MOST);
    }
}
