//! The words in which the table of keys is written: what a key may hold, and what becomes of it.
//!
//! `keys.rs` and `keys_capability.rs` are the table itself. Adding a key is one line there, and one in
//! `conf/frontdesk.toml` (a test compares the two).

use super::forms::Form;

/// A table of the declaration.
pub struct Table {
    /// Open: keys we do not know are published as written. Closed: they are mistakes.
    pub(super) open: bool,
    pub(super) keys: &'static [Key],
    /// Other parts may add keys to it.
    pub(super) place: Option<Place>,
}

/// A table that takes keys of other parts.
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
    /// Never published, even where its table is.
    pub(super) private: bool,
    /// Never shown, not even to the operator.
    pub(super) secret: bool,
    /// The most characters of a text that every document has room for.
    pub(super) longest: Option<usize>,
}

/// What a key may hold.
pub enum Kind {
    /// Whatever TOML can say.
    Any,
    Text(Form),
    Bool,
    /// From, to, both included.
    Int(i64, i64),
    /// One of a few numbers.
    OneOf(&'static [i64]),
    /// 0 to 1.
    Fraction,
    /// One of these words.
    Word(&'static [&'static str]),
    /// One of these words; another is published all the same, with a warning.
    Usually(&'static [&'static str]),
    /// A file that must exist.
    File,
    /// A file that must exist, or an https URL.
    FileOrUrl,
    /// A directory that must exist.
    Dir,
    List(&'static Kind),
    /// One, or a list of them.
    OneOrList(&'static Kind),
    /// Names of the operator's own, each with such a value.
    Map(&'static Kind),
    Sub(&'static Table),
    /// A list of tables.
    Subs(&'static Table),
    /// A string of this form, or else a value of that kind.
    TextOr(Form, &'static Kind),
}

/// A table that takes these keys and no others.
pub const fn closed(keys: &'static [Key]) -> Table {
    Table { open: false, keys, place: None }
}

pub(super) const fn open(keys: &'static [Key]) -> Table {
    Table { open: true, keys, place: None }
}

/// A key that may be left out, is published and no secret.
pub const fn key(name: &'static str, kind: Kind) -> Key {
    Key { name, kind, required: false, private: false, secret: false, longest: None }
}

impl Key {
    /// The same, without which the table is wrong.
    pub const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// The same, never published.
    pub const fn private(self) -> Self {
        Self { private: true, ..self }
    }

    pub(super) const fn secret(self) -> Self {
        Self { secret: true, ..self }
    }

    /// The same, cut to so many characters.
    pub const fn at_most(self, characters: usize) -> Self {
        Self { longest: Some(characters), ..self }
    }
}

impl Table {
    /// The same, to which other parts add keys of this place.
    pub(super) const fn extended(self, place: Place) -> Self {
        Self { place: Some(place), ..self }
    }
}

impl Kind {
    /// In words, for "expected …".
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
            Self::TextOr(_, other) => format!("a string, or {}", other.words()),
        }
    }
}
