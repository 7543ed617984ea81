//! One segment of a path, taken apart into its words.

use std::{borrow::Cow, collections::HashSet, sync::LazyLock};

use foldhash::fast::RandomState;
use percent_encoding::percent_decode_str;

use super::words::{
    AFTER_VERBS, BEFORE_VERBS, DOUBTFUL, GLUED_TO_VERBS, List, PROGRAMS, SWITCHES, VERBS, VERBS_BELOW_ROOT, WRITTEN,
};
use frontdesk_base::text::without_accents;

/// How often something may be percent-encoded.
const MOST_ENCODED: usize = 3;
/// The longest ending of a file's name.
const LONGEST_ENDING: usize = 6;
/// The shortest identifier that is not a number, and the digits in it that make it one.
const SHORTEST_ID: usize = 12;
const DIGITS_OF_ID: usize = 3;
/// Sign out is also said of somebody: `user-logout`.
const SESSIONS: [&str; 5] = ["logout", "signout", "logoff", "signoff", "unsubscribe"];

/// Asked of every link.
static ALL_VERBS: LazyLock<HashSet<&str, RandomState>> =
    LazyLock::new(|| [VERBS, VERBS_BELOW_ROOT].into_iter().flat_map(List::iter).collect());

#[derive(Debug)]
pub(super) struct Segment {
    /// In small letters, without separators and ending.
    pub(super) joined: String,
    words: Vec<String>,
    /// Words are set apart by hyphens, as titles of pages are.
    is_title: bool,
    /// Words are set apart as programs have them: `delete_user`, `deleteUser`. Wikis write `Delete_key`.
    is_program_name: bool,
    pub(super) is_id: bool,
    pub(super) is_year: bool,
    /// It ends like a program.
    pub(super) is_program: bool,
    /// It ends like a document.
    pub(super) is_written: bool,
    ending: Option<String>,
}

impl Segment {
    /// A segment that is decoded.
    pub(super) fn of(written: &str) -> Self {
        let written = without_accents(written.trim());
        let written = written.as_ref();
        // What stands before a colon says in which part of the site it is: `Special:UserLogout`.
        let name = written.rsplit(':').next().unwrap_or(written);
        let parts = name.rsplit_once('.').filter(|(before, ending)| {
            !before.is_empty()
                && ending.starts_with(char::is_alphabetic)
                && (ending.len() <= LONGEST_ENDING || is_verb(&ending.to_lowercase()))
        });
        let (name, ending) = parts.map_or((name, None), |(name, ending)| (name, Some(ending.to_lowercase())));
        let words = words(name);
        let is = |endings: List| ending.as_deref().is_some_and(|ending| endings.contains(ending));
        let number = name.parse::<u64>().ok().filter(|_| name.bytes().all(|b| b.is_ascii_digit()));
        Self {
            joined: words.concat(),
            is_title: name.contains('-'),
            is_program_name: (2..=3).contains(&words.len())
                && !name.contains('-')
                && !(name.contains('_') && name.starts_with(char::is_uppercase)),
            is_id: ending.is_none() && is_id(name),
            is_year: number.is_some_and(|number| name.len() == 4 && (1900..2100).contains(&number)),
            is_program: is(PROGRAMS),
            is_written: is(WRITTEN),
            words,
            ending,
        }
    }

    /// Whether the whole segment says to do something.
    pub(super) fn is_verb(&self) -> bool {
        is_verb(&self.joined)
            || SWITCHES.contains(&self.joined)
            || self.ending.as_deref().is_some_and(is_verb)
            || self.is_of_session()
            || self.core().is_some_and(|(core, all)| is_verb(&core) || all && DOUBTFUL.contains(&core))
    }

    /// Whether it is a verb after which pages at the root of a site are called.
    pub(super) fn is_verb_below_root(&self) -> bool {
        let is = |word: &str| VERBS_BELOW_ROOT.contains(word);
        is(&self.joined) || self.core().is_some_and(|(core, all)| is(&core) && !all)
    }

    pub(super) fn is_doubtful(&self) -> bool {
        DOUBTFUL.contains(&self.joined) || self.core().is_some_and(|(core, _)| DOUBTFUL.contains(&core))
    }

    /// Whether it begins or ends with a verb and is not the title of a page.
    pub(super) fn has_verb(&self) -> bool {
        self.ends_are(&|word| is_verb(word)) || self.is_verb()
    }

    /// Whether it is called as programs call what acts: `delete_user`.
    pub(super) fn is_called_as_act(&self) -> bool {
        self.is_program_name && !self.is_written && self.has_verb()
    }

    /// Whether any of its words is a verb, or could be one.
    pub(super) fn has_word_of_act(&self) -> bool {
        self.is_verb() || self.is_doubtful() || self.words.iter().any(|word| is_verb(word) || DOUBTFUL.contains(word))
    }

    fn ends_are(&self, verb: &dyn Fn(&str) -> bool) -> bool {
        // Titles have many words.
        let most = if self.is_title { 2 } else { 3 };
        let ends = [self.words.first(), self.words.last()];
        (2..=most).contains(&self.words.len()) && ends.into_iter().flatten().any(|word| verb(word))
    }

    fn is_of_session(&self) -> bool {
        let joined = self.joined.as_str();
        self.words.len() <= 4 && SESSIONS.iter().any(|verb| joined.starts_with(verb) || joined.ends_with(verb))
    }

    /// What is left without words that change nothing about a verb; and whether it is done to all.
    fn core(&self) -> Option<(String, bool)> {
        if let [word] = self.words.as_slice() {
            let glued =
                |end: &&str| word.strip_suffix(*end).is_some_and(|verb| is_verb(verb) || DOUBTFUL.contains(verb));
            let end = GLUED_TO_VERBS.iter().find(glued)?;
            return Some((word[..word.len() - end.len()].to_owned(), end == "all"));
        }
        let before = self.words.iter().take_while(|word| BEFORE_VERBS.contains(word)).count();
        let rest = &self.words[before..];
        let after = rest.iter().rev().take_while(|word| AFTER_VERBS.contains(word)).count();
        let core = &rest[..rest.len() - after];
        let all = rest[core.len()..].iter().any(|word| word == "all");
        (!core.is_empty() && core.len() < self.words.len()).then(|| (core.concat(), all))
    }
}

pub(super) fn is_verb(word: &str) -> bool {
    ALL_VERBS.contains(word)
}

/// Percent-decoded, also where it was encoded more than once; `+` is a blank. What is no UTF-8 is read as Latin-1.
pub(super) fn decoded(written: &str) -> String {
    let mut text = written.replace('+', " ");
    for _ in 0..MOST_ENCODED {
        let bytes: Cow<'_, [u8]> = percent_decode_str(&text).into();
        let next = match std::str::from_utf8(&bytes) {
            Ok(decoded) => decoded.to_owned(),
            Err(_) => bytes.iter().copied().map(char::from).collect(),
        };
        if next == text {
            break;
        }
        text = next;
    }
    text
}

/// `log-out`, `log_out`, `logOut` and `LOGOut` are two words each.
pub(super) fn words(name: &str) -> Vec<String> {
    let chars: Vec<char> = without_accents(name).chars().collect();
    let mut words = vec![String::new()];
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| chars[before]);
        let begins = c.is_uppercase()
            && (before.is_some_and(char::is_lowercase)
                || before.is_some_and(char::is_uppercase) && chars.get(at + 1).is_some_and(|next| next.is_lowercase()));
        if begins || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(last) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            last.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A number, a UUID, or letters and digits that nobody would think of.
fn is_id(name: &str) -> bool {
    let digits = name.bytes().filter(u8::is_ascii_digit).count();
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric());
    let uuid = name.len() == 36 && name.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    !name.is_empty() && digits == name.len()
        || uuid
        || plain && name.len() >= SHORTEST_ID && (DIGITS_OF_ID..name.len()).contains(&digits)
}
