//! What the site has sent of an answer and its client has not taken yet.
//!
//! While a write has to wait for the client, the site's answer is read on, up to a bound. So a site whose answer is short
//! has done with it at once, however slowly it is read, and its connection and its place are free for others. There is
//! nothing of it while the client is as fast as the site. What is read ahead is copied, so that it takes as much memory as
//! it has bytes.

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{Bytes, BytesMut};

use crate::upstream::buffer_pool;

/// What one answer may hold, with the part that is being written.
pub(super) const MOST: usize = 256 * 1024;
/// How many answers are read ahead at a time, over all connections: 32 MB in all.
const AT_A_TIME: usize = 128;

/// Answers that are read ahead now.
static PLACES: Places = Places(AtomicUsize::new(0));

struct Places(AtomicUsize);

/// A place among the answers that are read ahead.
struct Place<'a>(&'a Places);

/// What of one answer has been read ahead.
#[derive(Default)]
pub(super) struct ReadAhead {
    read: BytesMut,
    place: Option<Place<'static>>,
}

impl Places {
    fn take(&self) -> Option<Place<'_>> {
        let taken = self.0.fetch_add(1, Ordering::Relaxed);
        let place = Place(self);
        (taken < AT_A_TIME).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ReadAhead {
    /// Whether one more part may be read while another of so many bytes is being written.
    pub(super) fn has_room(&mut self, writing: usize) -> bool {
        if writing + self.read.len() + buffer_pool::READ > MOST {
            return false;
        }
        if self.place.is_none() {
            self.place = PLACES.take();
        }
        self.place.is_some()
    }

    /// Takes a part.
    pub(super) fn push(&mut self, part: Bytes) {
        self.read.extend_from_slice(&part);
        buffer_pool::release(part);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.read.is_empty()
    }

    /// Gives all of it back. Nothing is kept for more, unless more is read.
    pub(super) fn take(&mut self) -> Option<Bytes> {
        if self.read.is_empty() {
            self.place = None;
            return None;
        }
        // The place is kept: what was read is still here until it has been written.
        Some(std::mem::take(&mut self.read).freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_holds_no_more_than_it_may() {
        let mut ahead = ReadAhead::default();
        let mut parts = 0;
        while ahead.has_room(buffer_pool::READ) {
            ahead.push(Bytes::from(vec![b'x'; buffer_pool::READ]));
            parts += 1;
        }
        assert_eq!(parts, MOST / buffer_pool::READ - 1);
        assert_eq!(ahead.take().map(|read| read.len()), Some(MOST - buffer_pool::READ));
        assert!(ahead.is_empty() && ahead.take().is_none() && ahead.place.is_none());
        assert!(!ahead.has_room(MOST), "nothing beside what is being written");
    }

    #[test]
    fn no_more_answers_are_read_ahead_than_there_are_places() {
        let places = Places(AtomicUsize::new(0));
        let taken: Vec<_> = (0..AT_A_TIME).map(|_| places.take().unwrap()).collect();
        assert!(places.take().is_none() && places.take().is_none());
        drop(taken);
        assert!(places.take().is_some());
        assert_eq!(places.0.load(Ordering::Relaxed), 0);
    }
}
