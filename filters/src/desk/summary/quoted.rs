//! A value as a summary shows it: quoted, short, and without characters that a screen shows as something other than
//! they are.
//!
//! What a step will say is not known yet, and is marked: no value that somebody sends may pass for such a mark.

use std::borrow::Cow;

use serde_json::Value;

/// Around what is not known yet. No value that somebody sends has these: they are taken out of it.
const MARKS: [char; 2] = ['\u{e000}', '\u{e001}'];
const FROM_STEP: &str = "from step ";
/// Characters of one value.
const LONGEST_VALUE: usize = 120;
/// Marks on one character.
const MOST_MARKS: usize = 2;

/// A value as a summary shows it.
pub(super) fn quoted(text: &str) -> String {
    quoted_within(text, LONGEST_VALUE)
}

pub(super) fn quoted_within(text: &str, longest: usize) -> String {
    let marked = text.strip_prefix(MARKS[0]).and_then(|rest| rest.strip_suffix(MARKS[1]));
    if let Some(label) = marked.filter(|label| label.starts_with(FROM_STEP)) {
        return label.to_owned();
    }
    let mut characters = plain(text).map(|c| if c == '"' { '\'' } else { c });
    let mut shown: String = characters.by_ref().take(longest).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    format!("\"{shown}\"")
}

/// What stands for a value that a step will say: no value looks like it, and it is shown without quotes.
pub(in crate::desk) fn from_step(number: &str) -> String {
    format!("{}{FROM_STEP}{number}{}", MARKS[0], MARKS[1])
}

/// An input without anything that could pass for such a mark.
pub(in crate::desk) fn unmarked(input: &Value) -> Cow<'_, Value> {
    if has_marks(input) { Cow::Owned(without_marks(input)) } else { Cow::Borrowed(input) }
}

fn has_marks(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(MARKS),
        Value::Array(items) => items.iter().any(has_marks),
        Value::Object(members) => members.iter().any(|(name, value)| name.contains(MARKS) || has_marks(value)),
        _ => false,
    }
}

fn without_marks(value: &Value) -> Value {
    match value {
        Value::String(text) => text.replace(MARKS, "").into(),
        Value::Array(items) => items.iter().map(without_marks).collect(),
        Value::Object(members) => {
            Value::Object(members.iter().map(|(name, value)| (name.replace(MARKS, ""), without_marks(value))).collect())
        }
        other => other.clone(),
    }
}

/// The characters that show as themselves; of marks that stand on others, no more than anyone writes.
pub(super) fn plain(text: &str) -> impl Iterator<Item = char> + '_ {
    let mut marks = 0;
    text.chars().filter(move |c| {
        marks = if is_mark(*c) { marks + 1 } else { 0 };
        is_plain(*c) && marks <= MOST_MARKS
    })
}

/// Nothing that controls how the rest is shown: control characters, those that turn the direction, and those that show
/// nothing (the categories Cc, Cf, Zl, Zp and Co, and what Unicode calls default ignorable).
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

/// A mark that stands on the character before it.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}
