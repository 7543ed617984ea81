//! Minimal implementations of `Outside`, for tests.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::Path,
};

pub use super::Nowhere;
use super::{
    Declaration, Extension, Extensions, Findings, Node, Outside, Place, Refused,
    extension::{Keys, unchecked},
    key_path::KeyPath,
    keys::ROOT,
    raw::{Item, parse},
    schema::{Kind, Table, key},
};

/// One file, under any name.
pub struct Only<'a>(pub &'a [u8]);

impl Outside for Only<'_> {
    fn var(&self, _: &str) -> Option<String> {
        None
    }

    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Ok(self.0.into())
    }

    fn is_dir(&self, _: &Path) -> bool {
        false
    }
}

/// Keys of parts above this crate, with any values.
static OTHERS: Extension = Extension {
    keys: &[
        (Place::Top, key("agtp", Kind::Any).private()),
        (Place::Top, key("handoff", Kind::Any).private()),
        (Place::Listen, key("agtp", Kind::Any)),
        (Place::Harness, key("gateway_path", Kind::Any)),
        (Place::Capability, key("ahp", Kind::Any).private()),
        (Place::Capability, key("agtp", Kind::Any).private()),
    ],
    documents: &[],
    check: unchecked,
};

/// Reads a text in which keys of any part may be; the rules of those parts are not asked.
///
/// # Errors
///
/// What is wrong with it.
pub fn declare_text(path: &Path, text: &str, outside: &dyn Outside) -> Result<Declaration, Refused> {
    const ALL: Extensions = &[&OTHERS];
    crate::declare_text(path, text, outside, ALL)
}

/// Every key that a declaration may have, as a dotted path.
pub fn known_keys(extensions: Extensions) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    known(Keys(extensions), &ROOT, &KeyPath::Top, &mut keys);
    keys
}

fn known(all: Keys, table: &Table, trail: &KeyPath, found: &mut BTreeSet<String>) {
    for key in all.of(table) {
        let trail = trail.key(key.name);
        if let Kind::Sub(table) | Kind::Subs(table) = &key.kind {
            known(all, table, &trail, found);
        }
        found.insert(trail.to_string());
    }
}

/// What a key may hold, in words, by its dotted path. A text has none: its default or example shows its form.
pub fn kinds_of_keys(extensions: Extensions) -> BTreeMap<String, String> {
    let mut kinds = BTreeMap::new();
    kinds_in(Keys(extensions), &ROOT, &KeyPath::Top, &mut kinds);
    kinds
}

fn kinds_in(all: Keys, table: &Table, trail: &KeyPath, found: &mut BTreeMap<String, String>) {
    for key in all.of(table) {
        let trail = trail.key(key.name);
        if let Kind::Sub(table) | Kind::Subs(table) = &key.kind {
            kinds_in(all, table, &trail, found);
        }
        let required = if key.required { "required" } else { "" };
        let words = [in_words(&key.kind), required.to_owned()];
        found.insert(
            trail.to_string(),
            words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join("; "),
        );
    }
}

fn in_words(kind: &Kind) -> String {
    let one_of = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    match kind {
        Kind::Any | Kind::Text(_) | Kind::TextOr(..) | Kind::LeftOut(_) => String::new(),
        Kind::Bool => "`true`, `false`".to_owned(),
        // The largest number that fits is no bound to tell.
        Kind::Int(from, to) if *to >= super::keys::BOUNDED => format!("{from} or more"),
        Kind::Int(from, to) => format!("{from} to {to}"),
        Kind::OneOf(numbers) => numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        Kind::Fraction => "0 to 1".to_owned(),
        Kind::Word(words) => one_of(words),
        Kind::Usually(words) => format!("{}, or another word", one_of(words)),
        Kind::File => "a file".to_owned(),
        Kind::FileOrUrl => "a file, or an https URL".to_owned(),
        Kind::Dir => "a directory".to_owned(),
        Kind::List(_) => "a list".to_owned(),
        Kind::OneOrList(_) => "one, or a list".to_owned(),
        Kind::Map(_) | Kind::Sub(_) => "a table".to_owned(),
        Kind::Subs(_) => "tables".to_owned(),
    }
}

/// All keys in a text, in the same form. The text must be TOML.
pub fn written_keys(text: &str, outside: &dyn Outside, extensions: Extensions) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    written(Keys(extensions), &ROOT, &tree(text, outside), &KeyPath::Top, &mut keys);
    keys
}

fn written(all: Keys, table: &Table, item: &Item, trail: &KeyPath, found: &mut BTreeSet<String>) {
    for item in item.items() {
        written(all, table, item, trail, found);
    }
    for entry in item.entries() {
        let trail = trail.key(&entry.key);
        if let Some(Kind::Sub(table) | Kind::Subs(table)) = all.key(table, &entry.key).map(|key| &key.kind) {
            written(all, table, &entry.item, &trail, found);
        }
        found.insert(trail.to_string());
    }
}

/// The values in a text, in written order. The text must be TOML.
pub fn node(text: &str, outside: &dyn Outside) -> Node {
    tree(text, outside).node()
}

fn tree<'t>(text: &'t str, outside: &dyn Outside) -> Item<'t> {
    let mut syntax = Findings::new("".into());
    let mut found = Findings::new("".into());
    let root = parse(text, Path::new("/conf"), outside, &mut syntax, &mut found).root;
    assert_eq!(syntax.into_sorted(), []);
    root
}
