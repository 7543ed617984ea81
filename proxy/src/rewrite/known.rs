//! What kind of thing a path was the last time it was seen: a page, or something else.
//!
//! A conditional request does not tell what it is about, and its answer, a 304, does not either. A page that the
//! client holds from before us must be sent anew; anything else must not lose its 304. So the kind of what passes is
//! remembered: a fixed table, two bits beside a part of a hash that nobody outside can aim at. A wrong or a lost entry
//! costs a needless 200, or a page without our notice until it changes.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
    },
};

/// Paths remembered; a newer one takes the place of an older one. 256 KiB in all.
const PLACES: usize = 1 << 16;
const PAGE: u32 = 1;
const OTHER: u32 = 2;

struct Known {
    hasher: RandomState,
    places: Box<[AtomicU32]>,
}

static KNOWN: LazyLock<Known> =
    LazyLock::new(|| Known { hasher: RandomState::new(), places: (0..PLACES).map(|_| AtomicU32::new(0)).collect() });

impl Known {
    fn place(&self, target: &[u8]) -> (&AtomicU32, u32) {
        let hash = self.hasher.hash_one(target);
        (&self.places[(hash as usize) % PLACES], (hash >> 32) as u32 & !0b11)
    }
}

/// Remembers what a target, path and query, turned out to be.
pub(super) fn learn(target: &[u8], page: bool) {
    let (place, tag) = KNOWN.place(target);
    let entry = tag | if page { PAGE } else { OTHER };
    // Read first: what is known already needs no write, which other cores would have to hear of.
    if place.load(Ordering::Relaxed) != entry {
        place.store(entry, Ordering::Relaxed);
    }
}

/// Whether a target was a page; `None` when it is not known.
pub(super) fn was_page(target: &[u8]) -> Option<bool> {
    let (place, tag) = KNOWN.place(target);
    match place.load(Ordering::Relaxed) {
        entry if entry == tag | PAGE => Some(true),
        entry if entry == tag | OTHER => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_last_is_known() {
        assert_eq!(was_page(b"/known/1"), None);
        learn(b"/known/1", true);
        assert_eq!(was_page(b"/known/1"), Some(true));
        learn(b"/known/1", false);
        assert_eq!(was_page(b"/known/1"), Some(false));
        assert_eq!(was_page(b"/known/2"), None);
    }
}
