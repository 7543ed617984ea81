//! Answers that were passed on as they came: the same text is not read and looked through once more.
//!
//! Agents ask the same again and again, and a site that has nothing new says the same. The text itself is remembered and
//! compared, so that nothing is taken for what it is not. Remembered is only what is about nobody and what the site does
//! not forbid to store. All of it belongs to one configuration: under another firewall everything is looked through anew.

use bytes::Bytes;
use quick_cache::{Weighter, sync::Cache};

use super::data::Data;

/// Bytes that all texts may take, by [`Weight`].
const BYTES: u64 = 2 * 1024 * 1024;
/// About how many that is; it sizes the tables at the start, and divides them into no more than eight.
const TEXTS: usize = 256;
/// A text longer than that is looked through each time.
const LONGEST: usize = 32 * 1024;

/// Texts that are JSON without anything that could be left out, and in which the firewall found nothing.
#[derive(Debug)]
pub(crate) struct Seen {
    texts: Cache<Bytes, (), Weight>,
}

#[derive(Debug, Clone)]
struct Weight;

impl Weighter<Bytes, ()> for Weight {
    fn weight(&self, text: &Bytes, (): &()) -> u64 {
        text.len() as u64 + 128
    }
}

impl Default for Seen {
    fn default() -> Self {
        Self { texts: Cache::with_weighter(TEXTS, BYTES, Weight) }
    }
}

impl Seen {
    /// An answer whose text was passed on before.
    pub(super) fn known(&self, text: &Bytes) -> Option<Data> {
        (text.len() <= LONGEST && self.texts.get(text).is_some()).then(|| Data::seen(text.clone()))
    }

    /// Remembers a text that is passed on as it came.
    pub(super) fn remember(&self, text: &[u8]) {
        if text.len() <= LONGEST {
            // By itself: what it was read into is longer.
            self.texts.insert(Bytes::copy_from_slice(text), ());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        caller::Caller,
        desk::{
            Called, Outcome,
            testing::{Around, ask, at_desk, declared},
        },
        site::{Learned, Snapshot},
        state::testing::run,
    };

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
            let snapshot = Snapshot::compile(&declared(text), &Learned::default());
            let (around, caller) = (Around::default(), Caller::at([192, 0, 2, 1].into()));
            let carried =
                at_desk(&around, &snapshot, |desk| run(desk.carry_out(ask(&caller, Called::Declared(index), None))));
            assert!(matches!(carried.outcome, Outcome::Done(_)), "{carried:?}");
            snapshot.seen.texts.len()
        };
        assert_eq!([0, 1, 2, 3, 4, 5].map(|index| remembered(&text.concat(), index)), [1, 0, 0, 0, 0, 0]);
        let off = format!("{}[firewall]\nsecrets = 'off'\npii = 'off'\ninjection = 'off'\n", text.concat());
        assert_eq!(remembered(&off, 0), 0);
    }

    #[test]
    fn only_the_same_text_is_known() {
        let seen = Seen::default();
        let text = |text: &'static str| Bytes::from_static(text.as_bytes());
        assert!(seen.known(&text("[1,2]")).is_none());
        seen.remember(b"[1,2]");
        assert_eq!(seen.known(&text("[1,2]")).unwrap().text(), "[1,2]");
        for other in ["[1,3]", "[1,2] ", "[1,2", "", "[1,2]\0"] {
            assert!(seen.known(&text(other)).is_none(), "{other:?}");
        }
    }

    #[test]
    fn texts_are_bounded_each_and_together() {
        let seen = Seen::default();
        let long = Bytes::from("7".repeat(LONGEST));
        seen.remember(&long);
        assert!(seen.known(&long).is_some());
        let longer = Bytes::from("7".repeat(LONGEST + 1));
        seen.remember(&longer);
        assert!(seen.known(&longer).is_none());
        for n in 0..100_000 {
            seen.remember(format!("[{n},\"{}\"]", "x".repeat(n % 1000)).as_bytes());
        }
        assert!(seen.texts.weight() <= BYTES, "{}", seen.texts.weight());
    }
}
