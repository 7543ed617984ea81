//! Answers that were passed on as they came: the same text is not read and looked through once more.
//!
//! Agents ask the same again and again, and a site that has nothing new says the same. The text itself is remembered and
//! compared, so that nothing is taken for what it is not. Remembered is only what is about nobody and what the site does
//! not forbid to store, and what has come before: of most answers that differ each time none comes twice. All of it
//! belongs to one configuration: under another firewall everything is looked through anew.

use std::{
    hash::BuildHasher,
    sync::atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use quick_cache::{DefaultHashBuilder, Weighter, sync::Cache};

use super::data::Data;

/// Bytes that all texts may take, by [`Weight`].
const BYTES: u64 = 2 * 1024 * 1024;
/// About how many that is; it sizes the tables at the start, and divides them into no more than eight.
const TEXTS: usize = 256;
/// A text longer than that is looked through each time.
const LONGEST: usize = 32 * 1024;
/// Of so many texts that came last it is known that they came, more or less.
const MARKS: usize = 1024;

/// Texts that are JSON without anything that could be left out, and in which the firewall found nothing.
#[derive(Debug)]
pub struct Seen {
    /// By their hash.
    texts: Cache<u64, Bytes, Weight>,
    /// The hash of the last text that came, of all that have their mark in this place.
    marks: Box<[AtomicU64]>,
    hashing: DefaultHashBuilder,
}

/// What is known of a text that came.
#[derive(Debug)]
pub(super) enum Sight {
    /// It was passed on before.
    Known(Data),
    /// It has come before: it is worth remembering.
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
    /// Looks at a text that came.
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

    /// Remembers a text that is passed on as it came.
    pub(super) fn remember(&self, text: &[u8]) {
        if text.len() <= LONGEST {
            // By itself: what it was read into is longer.
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
        // What came once may never come again.
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
        // Where two have one hash, the text tells them apart.
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
