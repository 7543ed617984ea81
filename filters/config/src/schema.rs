//! The types of the table of keys: what a key may hold, and how it is published.
//!
//! `keys.rs` and `keys_capability.rs` are the table itself. A new key needs one line there and one in
//! `conf/frontdesk.toml` (a test compares the two).

use super::forms::Form;

/// A table of the declaration.
pub struct Table {
    /// Open: unknown keys are published as written. Closed: they are mistakes.
    pub(super) open: bool,
    pub(super) keys: &'static [Key],
    /// Extensions may add keys to it.
    pub(super) place: Option<Place>,
}

/// A table to which extensions can add keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The file itself.
    Top,
    /// `[listen]`.
    Listen,
    /// `[harness]`.
    Harness,
    /// `[[capabilities]]`.
    Capability,
}

/// A key of a table.
pub struct Key {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) required: bool,
    /// Never published, even if its table is.
    pub(super) private: bool,
    /// Never shown, not even to the operator.
    pub(super) secret: bool,
    /// Maximum characters of a text, so that it fits every document.
    pub(super) longest: Option<usize>,
}

/// The kind of value that a key holds.
pub enum Kind {
    /// Any TOML value.
    Any,
    Text(Form),
    Bool,
    /// From, to, both included.
    Int(i64, i64),
    /// One of these numbers.
    OneOf(&'static [i64]),
    /// 0 to 1.
    Fraction,
    /// One of these words.
    Word(&'static [&'static str]),
    /// One of these words. Any other is published too, with a warning.
    Usually(&'static [&'static str]),
    /// A file that must exist.
    File,
    /// A file that must exist, or an https URL.
    FileOrUrl,
    /// A directory that must exist.
    Dir,
    List(&'static Kind),
    /// One value, or a list of them.
    OneOrList(&'static Kind),
    /// A table with names of the operator's choice and values of this kind.
    Map(&'static Kind),
    Sub(&'static Table),
    /// An array of tables.
    Subs(&'static Table),
    /// A string of this form, or a value of that kind.
    TextOr(Form, &'static Kind),
    /// Nothing: this build was made without the Cargo feature of this name.
    LeftOut(&'static str),
}

/// A table that accepts only these keys.
pub const fn closed(keys: &'static [Key]) -> Table {
    Table { open: false, keys, place: None }
}

pub(super) const fn open(keys: &'static [Key]) -> Table {
    Table { open: true, keys, place: None }
}

/// An optional key that is published and not secret.
pub const fn key(name: &'static str, kind: Kind) -> Key {
    Key { name, kind, required: false, private: false, secret: false, longest: None }
}

impl Key {
    /// The same, but required.
    pub const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// The same, but never published.
    pub const fn private(self) -> Self {
        Self { private: true, ..self }
    }

    pub(super) const fn secret(self) -> Self {
        Self { secret: true, ..self }
    }

    /// The same, cut to this many characters.
    pub const fn at_most(self, characters: usize) -> Self {
        Self { longest: Some(characters), ..self }
    }
}

impl Table {
    /// The same, open to extensions at this place.
    pub(super) const fn extended(self, place: Place) -> Self {
        Self { place: Some(place), ..self }
    }
}

impl Kind {
    /// The kind in words, for "expected …".
    pub(super) fn words(&self) -> String {
        match self {
            Self::Any => "a value".into(),
            Self::Text(_) | Self::Usually(_) => "a string".into(),
            Self::Bool => "true or false".into(),
            Self::Int(from, i64::MAX) => format!("a whole number of at least {from}"),
            Self::Int(from, to) => format!("a whole number from {from} to {to}"),
            Self::OneOf(numbers) => {
                format!("one of {}", numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", "))
            }
            Self::Fraction => "a number from 0 to 1".into(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::File => "the name of a file".into(),
            Self::FileOrUrl => "the name of a file, or an https URL".into(),
            Self::Dir => "the name of a directory".into(),
            Self::List(each) => format!("a list, each {}", each.words()),
            Self::OneOrList(each) => format!("{}, or a list of such", each.words()),
            Self::Map(_) | Self::Sub(_) => "a table".into(),
            Self::Subs(_) => "a list of tables".into(),
            Self::LeftOut(_) => "nothing".into(),
            Self::TextOr(_, other) => format!("a string, or {}", other.words()),
        }
    }
}
