//! A cache of clean responses: a text that came before and in which the firewall found nothing is not scanned again.
//!
//! Agents ask the same again and again, and often the site answers the same. The cache holds the text itself and
//! compares it, so a hash collision does no harm. It takes only answers about no user that the site allows to be
//! stored, and only from the second time on: most answers that vary never repeat. Each configuration has a cache of
//! its own, because another firewall has to scan everything anew.

use std::{
    hash::BuildHasher,
    sync::atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use quick_cache::{DefaultHashBuilder, Weighter, sync::Cache};

use super::data::Data;

/// Maximum bytes of all texts, by [`Weight`].
const BYTES: u64 = 2 * 1024 * 1024;
/// About how many texts that is. It sizes the tables at the start, and divides them into at most eight shards.
const TEXTS: usize = 256;
/// Longer texts are scanned each time.
const LONGEST: usize = 32 * 1024;
/// How many recent texts leave a mark, more or less.
const MARKS: usize = 1024;

/// JSON texts in reduced form in which the firewall found nothing.
#[derive(Debug)]
pub struct Seen {
    /// By their hash.
    texts: Cache<u64, Bytes, Weight>,
    /// For each slot the hash of the last text that fell into it.
    marks: Box<[AtomicU64]>,
    hashing: DefaultHashBuilder,
}

/// The result of a lookup.
#[derive(Debug)]
pub(super) enum Sight {
    /// The text is in the cache.
    Known(Data),
    /// The text came before and is worth caching.
    Again,
    New,
}

#[derive(Debug, Clone)]
struct Weight;

impl Weighter<u64, Bytes> for Weight {
    fn weight(&self, _: &u64, text: &Bytes) -> u64 {
        text.len() as u64 + 128
    }
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            texts: Cache::with_weighter(TEXTS, BYTES, Weight),
            marks: (0..MARKS).map(|_| AtomicU64::default()).collect(),
            hashing: DefaultHashBuilder::default(),
        }
    }
}

impl Seen {
    /// Looks a text up.
    pub(super) fn look(&self, text: &Bytes) -> Sight {
        if text.len() > LONGEST {
            return Sight::New;
        }
        let hash = self.hashing.hash_one(&text[..]);
        if self.texts.get(&hash).is_some_and(|known| known == *text) {
            return Sight::Known(Data::seen(text.clone()));
        }
        let mark = &self.marks[hash as usize % MARKS];
        let again = mark.load(Ordering::Relaxed) == hash;
        mark.store(hash, Ordering::Relaxed);
        if again { Sight::Again } else { Sight::New }
    }

    /// Caches a text that passed unchanged.
    pub(super) fn remember(&self, text: &[u8]) {
        if text.len() <= LONGEST {
            // Copied: the buffer that it is a slice of may be longer.
            self.texts.insert(self.hashing.hash_one(text), Bytes::copy_from_slice(text));
        }
    }

    #[cfg(test)]
    pub(super) fn known(&self, text: &str) -> Option<Data> {
        match self.look(&Bytes::copy_from_slice(text.as_bytes())) {
            Sight::Known(data) => Some(data),
            Sight::Again | Sight::New => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compiled;
    use crate::{
        Called, Outcome,
        testing::{Around, ask, at_desk, declared},
    };
    use frontdesk_caller::Caller;
    use frontdesk_state::testing::run;
    use std::collections::HashMap;

    #[test]
    fn only_reads_of_public_capabilities_are_remembered() {
        let capability = |id: &str, more: &str| {
            format!("[[capabilities]]\nid = '{id}'\nauth = 'none'\nendpoint = '/{id}'\nrisk_level = 'low'\n{more}\n")
        };
        let public = "data_sensitivity = 'public'";
        let text = [
            capability("public", &format!("type = 'query'\n{public}")),
            capability("no-store", &format!("type = 'query'\n{public}")),
            capability("unsaid", "type = 'query'"),
            capability("personal", "type = 'query'\ndata_sensitivity = 'personal'"),
            capability(
                "renamed",
                &format!("type = 'query'\n{public}\n[capabilities.upstream]\nrename_output = {{ m = 'n' }}"),
            ),
            capability("act", &format!("type = 'commit_action'\nrequires_user_confirmation = false\n{public}")),
        ];
        let remembered = |text: &str, index: usize| {
            let compiled = Compiled::new(&declared(text), &HashMap::new());
            let (around, caller) = (Around::default(), Caller::at([192, 0, 2, 1].into()));
            [1, 2].map(|_| {
                let ask = || ask(&caller, Called::Declared(index), None);
                let carried = at_desk(&around, &compiled, |desk| run(desk.carry_out(ask())));
                assert!(matches!(carried.outcome, Outcome::Done(_)), "{carried:?}");
                compiled.seen.texts.len()
            })
        };
        // A text seen once may never come again.
        assert_eq!(remembered(&text.concat(), 0), [0, 1]);
        assert_eq!([1, 2, 3, 4, 5].map(|index| remembered(&text.concat(), index)), [[0, 0]; 5]);
        let off = format!("{}[firewall]\nsecrets = 'off'\npii = 'off'\ninjection = 'off'\n", text.concat());
        assert_eq!(remembered(&off, 0), [0, 0]);
    }

    #[test]
    fn only_the_same_text_is_known() {
        let seen = Seen::default();
        let text = |text: &'static str| Bytes::from_static(text.as_bytes());
        assert!(matches!(seen.look(&text("[1,2]")), Sight::New));
        assert!(matches!(seen.look(&text("[1,2]")), Sight::Again));
        seen.remember(b"[1,2]");
        assert_eq!(seen.known("[1,2]").unwrap().text(), "[1,2]");
        for other in ["[1,3]", "[1,2] ", "[1,2", "", "[1,2]\0"] {
            assert!(matches!(seen.look(&text(other)), Sight::New), "{other:?}");
        }
        // Of two texts with one hash, the comparison tells them apart.
        seen.texts.insert(seen.hashing.hash_one(&b"[3]"[..]), text("[4]"));
        assert!(seen.known("[3]").is_none());
    }

    #[test]
    fn what_came_once_among_many_is_forgotten() {
        let seen = Seen::default();
        for n in 0..20 * MARKS {
            assert!(matches!(seen.look(&n.to_string().into()), Sight::New));
        }
        let again = (0..20 * MARKS).filter(|n| matches!(seen.look(&n.to_string().into()), Sight::Again)).count();
        assert!(again <= MARKS, "{again}");
    }

    #[test]
    fn texts_are_bounded_each_and_together() {
        let seen = Seen::default();
        let long = "7".repeat(LONGEST);
        seen.remember(long.as_bytes());
        assert!(seen.known(&long).is_some());
        let longer = "7".repeat(LONGEST + 1);
        seen.remember(longer.as_bytes());
        assert!(seen.known(&longer).is_none());
        for n in 0..100_000 {
            seen.remember(format!("[{n},\"{}\"]", "x".repeat(n % 1000)).as_bytes());
        }
        assert!(seen.texts.weight() <= BYTES, "{}", seen.texts.weight());
    }
}
