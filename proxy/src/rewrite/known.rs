//! Remembers for each path whether its last response was a page.
//!
//! A conditional request does not tell what it is about, and neither does a 304. A page that the client cached without
//! our notice must be sent again; anything else must keep its 304. So a fixed table remembers the kind: two bits beside
//! a part of a keyed hash, which clients cannot target. A wrong or lost entry costs a needless 200, or leaves a page
//! without our notice until it changes.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
    },
};

/// The number of entries; a new one replaces an old one. 256 KiB in all.
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

/// Remembers the kind of a target (path and query).
pub(super) fn learn(target: &[u8], page: bool) {
    let (place, tag) = KNOWN.place(target);
    let entry = tag | if page { PAGE } else { OTHER };
    // Read first: an unchanged entry needs no write, which would invalidate other cores' caches.
    if place.load(Ordering::Relaxed) != entry {
        place.store(entry, Ordering::Relaxed);
    }
}

/// Whether a target was a page; `None` if unknown.
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
