//! Remembers for each path whether its last response was a page, and of a page whether there is no Markdown of it.
//!
//! A conditional request does not tell what it is about, and neither does a 304. A page that the client cached without
//! our notice must be sent again; anything else must keep its 304. So a fixed table remembers the kind: two bits beside
//! a part of a keyed hash, which clients cannot target. A wrong or lost entry costs a needless 200, or leaves a page
//! without our notice until it changes, or a `Link` to Markdown that is not there.

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
/// A page of which no Markdown can be made: it has no words, or cannot be read.
const PAGE_WITHOUT_MARKDOWN: u32 = 3;

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
    let known = place.load(Ordering::Relaxed);
    if known != entry && !(page && known == tag | PAGE_WITHOUT_MARKDOWN) {
        place.store(entry, Ordering::Relaxed);
    }
}

/// Remembers of a page whether Markdown could be made of it.
pub fn learn_markdown(target: &[u8], has_markdown: bool) {
    let (place, tag) = KNOWN.place(target);
    place.store(tag | if has_markdown { PAGE } else { PAGE_WITHOUT_MARKDOWN }, Ordering::Relaxed);
}

/// Whether a target is a page of which no Markdown could be made.
pub(super) fn lacks_markdown(target: &[u8]) -> bool {
    let (place, tag) = KNOWN.place(target);
    place.load(Ordering::Relaxed) == tag | PAGE_WITHOUT_MARKDOWN
}

/// Whether a target was a page; `None` if unknown.
pub(super) fn was_page(target: &[u8]) -> Option<bool> {
    let (place, tag) = KNOWN.place(target);
    match place.load(Ordering::Relaxed) {
        entry if entry == tag | PAGE || entry == tag | PAGE_WITHOUT_MARKDOWN => Some(true),
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

    #[test]
    fn a_page_without_markdown_stays_one_until_there_is_some() {
        assert!(!lacks_markdown(b"/known/3"));
        learn_markdown(b"/known/3", false);
        learn(b"/known/3", true);
        assert!(lacks_markdown(b"/known/3") && was_page(b"/known/3") == Some(true));
        learn_markdown(b"/known/3", true);
        assert!(!lacks_markdown(b"/known/3") && was_page(b"/known/3") == Some(true));
        learn_markdown(b"/known/3", false);
        learn(b"/known/3", false);
        assert!(!lacks_markdown(b"/known/3") && was_page(b"/known/3") == Some(false));
    }
}
