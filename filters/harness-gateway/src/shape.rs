//! Checks JSON against tables. An error names the place and not the value, so it repeats nothing that was sent.

use serde_json::{Map, Value};

/// A member of an object: its name, its need and its shape.
pub(super) type Member = (&'static str, Need, &'static Shape);

/// Whether a member is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Must,
    /// Optional, and may be null.
    May,
    /// Optional, but not null.
    Default,
}

/// The shape of a value. Objects may have further members.
#[derive(Debug)]
pub(super) enum Shape {
    Any,
    Text,
    Bool,
    Number,
    /// An integer from 0.
    Whole,
    /// An integer from 0 that fits 32 bits.
    Small,
    /// A signed integer.
    Signed,
    /// A signed integer that fits 32 bits.
    SmallSigned,
    Word(&'static [&'static str]),
    /// One of these words, or an object with a single string member of this name.
    WordOr(&'static [&'static str], &'static str),
    List(&'static Shape),
    Map,
    Object(&'static [Member]),
    /// An object with one member, whose name selects the shape.
    Variant(&'static [(&'static str, &'static [Member])]),
}

impl Shape {
    /// Checks a value; `at` is its place.
    ///
    /// # Errors
    ///
    /// What is wrong, for the sender.
    pub(super) fn check(&self, value: &Value, at: &str) -> Result<(), String> {
        let is = match self {
            Self::Any => true,
            Self::Text => value.is_string(),
            Self::Bool => value.is_boolean(),
            Self::Number => value.is_number(),
            Self::Whole => value.is_u64(),
            Self::Small => value.as_u64().is_some_and(|n| u32::try_from(n).is_ok()),
            Self::Signed => value.is_i64(),
            Self::SmallSigned => value.as_i64().is_some_and(|n| i32::try_from(n).is_ok()),
            Self::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::WordOr(words, other) => match value {
                Value::String(word) => words.contains(&word.as_str()),
                Value::Object(members) => members.len() == 1 && members.get(*other).is_some_and(Value::is_string),
                _ => false,
            },
            Self::Map => value.is_object(),
            Self::List(shape) => match value {
                Value::Array(items) => {
                    return items.iter().enumerate().try_for_each(|(n, item)| shape.check(item, &format!("{at}[{n}]")));
                }
                _ => false,
            },
            Self::Object(members) => match value {
                Value::Object(object) => return all(members, object, at),
                _ => false,
            },
            Self::Variant(variants) => match value {
                Value::Object(object) if object.len() == 1 => {
                    let known = variants.iter().find_map(|(name, members)| Some((name, *members, object.get(*name)?)));
                    match known {
                        Some((name, members, Value::Object(object))) => {
                            return all(members, object, &format!("{at}.{name}"));
                        }
                        _ => false,
                    }
                }
                _ => false,
            },
        };
        if is { Ok(()) } else { Err(format!("`{at}` has to be {}.", self.words())) }
    }

    fn words(&self) -> String {
        match self {
            Self::Any => "there".into(),
            Self::Text => "a string".into(),
            Self::Bool => "true or false".into(),
            Self::Number => "a number".into(),
            Self::Whole | Self::Small => "a whole number from 0 on".into(),
            Self::Signed | Self::SmallSigned => "a whole number".into(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::WordOr(words, other) => format!("one of {}, or {{\"{other}\": \"…\"}}", words.join(", ")),
            Self::List(_) => "a list".into(),
            Self::Map | Self::Object(_) => "an object".into(),
            Self::Variant(variants) => {
                let names: Vec<_> = variants.iter().map(|(name, _)| *name).collect();
                format!("an object with one of {}", names.join(", "))
            }
        }
    }
}

fn all(members: &[Member], object: &Map<String, Value>, at: &str) -> Result<(), String> {
    for (name, need, shape) in members {
        match (object.get(*name), need) {
            (None, Need::Must) => return Err(format!("`{at}.{name}` is missing.")),
            (None, _) | (Some(Value::Null), Need::May) => {}
            (Some(value), _) => shape.check(value, &format!("{at}.{name}"))?,
        }
    }
    Ok(())
}
