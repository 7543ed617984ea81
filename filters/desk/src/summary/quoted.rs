//! A value as a summary shows it: quoted, shortened, and with an escape for every character that a screen would hide
//! or show as another one.
//!
//! Such characters are escaped and not removed, because a confirmation holds for one value and two values must not
//! look the same. A value that a later step will supply is marked; no value that a caller sends can imitate the mark.

use std::borrow::Cow;

use serde_json::Value;

/// Enclose a value that is not known yet. In a caller's value each of these characters is doubled.
const MARKS: [char; 2] = ['\u{e000}', '\u{e001}'];
const FROM_STEP: &str = "from step ";
/// Maximum characters of one value, escapes included.
const LONGEST_VALUE: usize = 120;
/// Maximum combining marks on one character.
const MOST_MARKS: usize = 2;

/// A value as a summary shows it.
pub(super) fn quoted(text: &str) -> String {
    quoted_within(text, LONGEST_VALUE)
}

pub(super) fn quoted_within(text: &str, longest: usize) -> String {
    let marked = text.strip_prefix(MARKS[0]).and_then(|rest| rest.strip_suffix(MARKS[1]));
    // More marks within mean that other text stands between two of ours.
    if let Some(label) = marked.filter(|label| label.starts_with(FROM_STEP) && !label.contains(MARKS)) {
        return label.to_owned();
    }
    shown(text, longest, Form::Text)
}

/// A list or a table as a summary shows it, from its JSON.
pub(super) fn quoted_json(json: &str) -> String {
    shown(json, LONGEST_VALUE, Form::Json)
}

/// What a backslash in the text means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Itself. It is doubled, so that no value looks like one of our escapes.
    Text,
    /// An escape. JSON has already doubled literal backslashes.
    Json,
}

/// The text in quotes, cut at the maximum length but never within an escape.
fn shown(text: &str, longest: usize, form: Form) -> String {
    let mut characters = text.chars().peekable();
    let (mut shown, mut length, mut marks) = (String::from("\""), 0, 0);
    while let Some(c) = characters.next() {
        // A mark of ours within a longer text: show only what stands between the two.
        if MARKS.contains(&c) && characters.next_if_eq(&c).is_none() {
            continue;
        }
        marks = if is_mark(c) { marks + 1 } else { 0 };
        let piece = match (form, c) {
            (Form::Text, '"') => r#"\""#.to_owned(),
            (Form::Text, '\\') => r"\\".to_owned(),
            // This quote ends a string within JSON; the others are escaped.
            (Form::Json, '"') => "'".to_owned(),
            (Form::Json, '\'') => r"\'".to_owned(),
            (Form::Json, '\\') => characters.next().map_or(String::new(), |escaped| format!("\\{escaped}")),
            (_, c) if is_plain(c) && !is_taken_for_another(c) && marks <= MOST_MARKS => c.to_string(),
            (_, c) => c.escape_default().to_string(),
        };
        length += piece.chars().count();
        if length > longest {
            shown.push('…');
            break;
        }
        shown.push_str(&piece);
    }
    shown.push('"');
    shown
}

/// What stands for a value that a step will say: no value looks like it, and it is shown without quotes.
pub(crate) fn from_step(number: &str) -> String {
    format!("{}{FROM_STEP}{number}{}", MARKS[0], MARKS[1])
}

/// An input in which nothing can pass for such a mark: each of its characters stands twice, and is shown once.
pub(crate) fn marks_escaped(input: &Value) -> Cow<'_, Value> {
    if has_marks(input) { Cow::Owned(with_marks_twice(input)) } else { Cow::Borrowed(input) }
}

fn has_marks(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(MARKS),
        Value::Array(items) => items.iter().any(has_marks),
        Value::Object(members) => members.iter().any(|(name, value)| name.contains(MARKS) || has_marks(value)),
        _ => false,
    }
}

fn with_marks_twice(value: &Value) -> Value {
    match value {
        Value::String(text) => twice(text).into(),
        Value::Array(items) => items.iter().map(with_marks_twice).collect(),
        Value::Object(members) => {
            Value::Object(members.iter().map(|(name, value)| (twice(name), with_marks_twice(value))).collect())
        }
        other => other.clone(),
    }
}

fn twice(text: &str) -> String {
    let often = |c| if MARKS.contains(&c) { 2 } else { 1 };
    text.chars().flat_map(|c| std::iter::repeat_n(c, often(c))).collect()
}

/// The characters that show as themselves, with a limited number of combining marks. For a whole summary, whose values
/// are escaped already; so this removes characters only from the operator's words.
pub(super) fn plain(text: &str) -> impl Iterator<Item = char> + '_ {
    let mut marks = 0;
    text.chars().filter(move |c| {
        marks = if is_mark(*c) { marks + 1 } else { 0 };
        is_plain(*c) && marks <= MOST_MARKS
    })
}

/// Whether a character has no effect on how others are shown: no control character, no direction change, no invisible
/// character (the categories Cc, Cf, Zl, Zp and Co, and Unicode's default ignorables).
fn is_plain(c: char) -> bool {
    let hidden = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}'
        | '\u{8e2}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{e000}'..='\u{f8ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{ffff}'
        | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{10ffff}');
    !c.is_control() && !hidden
}

/// Whether it looks like a space, or like the quotes around a value.
fn is_taken_for_another(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
        | '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{ff02}')
}

/// Whether it is a combining mark.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}
