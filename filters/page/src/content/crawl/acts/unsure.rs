//! Addresses that may act, by where their words stand: there are more verbs, and more languages, than any list has.
//!
//! An identifier with one word behind it (`/user/5/ban`) is how applications name what they do to a thing. An author of
//! documents names what a thing has (`/user/5/posts`), or writes a title of several words. Such an address is followed
//! only if the site lists it.

use std::{collections::HashSet, sync::LazyLock};

use foldhash::fast::RandomState;

use super::{
    Address,
    deeds::{BEGINNINGS, DEEDS, DEEDS_ELSEWHERE, NUMBERED, THINGS},
    segment::{Segment, is_verb},
    words::{DOUBTFUL, List, READING},
};

/// The longest word that may be a verb, in characters; and the longest where a character is a syllable or a word.
const LONGEST_WORD: usize = 20;
const LONGEST_IN_SYLLABLES: usize = 6;
/// From here on in Unicode a character is a syllable or a word, nearly everywhere.
const SYLLABLES: char = '\u{2e80}';
/// The shortest plural.
const SHORTEST_PLURAL: usize = 4;
/// A word of so many letters behind an identifier is a language.
const LANGUAGE: usize = 2;

/// Asked of every link.
static ALL_DEEDS: LazyLock<HashSet<&str, RandomState>> =
    LazyLock::new(|| [DEEDS, DEEDS_ELSEWHERE].into_iter().flat_map(List::iter).collect());

impl Address {
    /// Whether it may act, and only the site knows.
    pub(super) fn is_unsure(&self) -> bool {
        let Some(last) = self.segments.len().checked_sub(1) else { return false };
        let at = self.named();
        let named = &self.segments[at];
        if self.is_document(last) || named.is_written || self.segments[last].is_written {
            return false;
        }
        let behind_id = at > 0 && self.id_before(at) && !self.numbers_documents(at - 1);
        // Below a date stand titles.
        let is_dated = self.segments[..at].iter().any(|segment| segment.is_year);
        let below = at > 0 && named.is_deed() && !is_dated;
        let before_id = at < last && named.is_deed() && !self.segments[at + 1].is_year;
        let begins = last > 0 && self.segments[0].is_deed() && (last == 1 || self.segments[last].is_id);
        behind_id && named.may_be_deed() || below || before_id || begins
    }

    /// Whether the last word of its path is a verb that pages are called after as well: `/jobs/start`. On a page of an
    /// application it may act.
    pub(super) fn is_doubtful(&self) -> bool {
        let Some(last) = self.segments.len().checked_sub(1) else { return false };
        let named = &self.segments[self.named()];
        self.named() > 0 && named.is_doubtful() && !named.is_written && !self.is_document(last)
    }

    /// Whether the identifier at this place counts documents, or stands before their name.
    fn numbers_documents(&self, at: usize) -> bool {
        at.checked_sub(1).is_some_and(|before| NUMBERED.contains(&self.segments[before].joined))
    }
}

impl Segment {
    /// Whether it is called like something that applications do.
    fn is_deed(&self) -> bool {
        let is = |word: &str| ALL_DEEDS.contains(word);
        is(&self.joined) || self.core().is_some_and(|(core, _)| is(&core))
    }

    /// Whether it may be what is done to the thing before it: one word that is no thing itself, or a few that begin with
    /// a verb.
    fn may_be_deed(&self) -> bool {
        let words = self.words();
        let [word] = words else {
            let Some(first) = words.first() else { return false };
            let begins = is_verb(first) || [BEGINNINGS, DOUBTFUL, DEEDS].iter().any(|list| list.contains(first));
            return match self.is_program_name {
                true => begins || !READING.contains(first),
                false => begins && words.len() == 2,
            };
        };
        let longest = if word.chars().any(|c| c >= SYLLABLES) { LONGEST_IN_SYLLABLES } else { LONGEST_WORD };
        let is_plural = word.len() >= SHORTEST_PLURAL && word.ends_with('s') && !word.ends_with("ss");
        let is_language = word.is_ascii() && word.len() == LANGUAGE;
        let is_thing = is_plural || is_language || READING.contains(word) || THINGS.contains(word);
        word.chars().all(char::is_alphabetic) && word.chars().count() <= longest && !is_thing
    }
}
