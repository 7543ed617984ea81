//! Whether a parameter of a query says to do something.

use super::{
    segment::{Segment, decoded, is_verb, words},
    words::{
        ACTION_KEYS, DESTROYERS, DOUBTFUL_KEYS, List, NUMBERED_KEYS, PARTS_OF_TOKENS, READING, SEARCHES, SWITCHES,
        TOKENS,
    },
};

/// Judges one parameter, as written.
pub(super) fn acts(parameter: &str) -> bool {
    // Decoded as a whole: a site that decodes too early sees these parameters.
    let parameter = decoded(parameter);
    let parameter = parameter.strip_prefix("amp;").unwrap_or(&parameter);
    let mut all = parameter.split('&');
    all.any(|parameter| {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        key_acts(key) || value_acts(key, value)
    })
}

fn key_acts(key: &str) -> bool {
    let words = words(key);
    let joined = words.concat();
    let ends = [words.first(), words.last()];
    TOKENS.contains(&joined)
        || PARTS_OF_TOKENS.iter().any(|part| joined.contains(part))
        || DOUBTFUL_KEYS.contains(&joined)
        || ends.into_iter().flatten().any(|word| is_verb(word))
        || segments(key).any(|segment| segment.is_verb() && !SWITCHES.contains(&segment.joined))
}

fn value_acts(key: &str, value: &str) -> bool {
    let key_words = words(key);
    let is = |list: List| key_words.last().is_some_and(|word| list.contains(word));
    let value = value.trim();
    if is(ACTION_KEYS) && !value.is_empty() {
        let said = words(value);
        let number = value.bytes().all(|b| b.is_ascii_digit());
        let joined = said.concat();
        let destroys = said.iter().any(|word| is_verb(word)) || DESTROYERS.iter().any(|verb| joined.contains(verb));
        let reads = READING.iter().any(|verb| joined.starts_with(verb));
        return !(number && is(NUMBERED_KEYS)) && (destroys || !reads);
    }
    if is(SEARCHES) && !value.contains('/') {
        return false;
    }
    // The last part of a path or of a dotted name: `r=site/logout`, `task=user.logout`.
    segments(value).last().is_some_and(|segment| segment.is_verb())
}

fn segments(text: &str) -> impl Iterator<Item = Segment> {
    text.split(['/', '\\', '|', ',', '?']).filter(|part| !part.is_empty()).map(Segment::of)
}
