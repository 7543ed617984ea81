//! Extensions: the keys, paths and checks that other modules add to the declaration.
//!
//! This crate knows none of those modules. It reads, publishes and checks with the list of extensions that it is
//! given. The keys of a module that is not in the list are unknown.

use super::{
    mistake::Findings,
    raw::Item,
    schema::{Key, Place, Table},
    schemas::Schemas,
    settings::Settings,
};

/// The additions of one module.
pub struct Extension {
    /// Its keys, each with its table.
    pub keys: &'static [(Place, Key)],
    /// The possible paths of its documents, which no other key may use.
    pub documents: &'static [&'static str],
    /// Checks the declaration. It may run on a declaration with mistakes, so that one run finds them all.
    pub check: fn(&Declared<'_>, &mut Findings),
}

/// All extensions.
pub type Extensions = &'static [&'static Extension];

/// The input of a check.
pub struct Declared<'a> {
    pub root: &'a Item<'a>,
    /// The typed settings. A value that is wrong has its default.
    pub settings: &'a Settings,
    pub schemas: &'a Schemas,
    pub(super) keys: Keys,
}

impl Declared<'_> {
    /// The possible paths of all modules' documents.
    pub fn documents(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.keys.documents()
    }
}

/// For a module without checks.
pub fn unchecked(_: &Declared<'_>, _: &mut Findings) {}

/// The table of keys, extensions included.
#[derive(Clone, Copy)]
pub(super) struct Keys(pub(super) Extensions);

impl Keys {
    /// The keys of a table.
    pub(super) fn of(self, table: &Table) -> impl Iterator<Item = &'static Key> + use<> {
        let place = table.place;
        let added = self.0.iter().flat_map(|extension| extension.keys);
        table.keys.iter().chain(added.filter(move |(there, _)| Some(*there) == place).map(|(_, key)| key))
    }

    /// A key of a table.
    pub(super) fn key(self, table: &Table, name: &str) -> Option<&'static Key> {
        self.of(table).find(|key| key.name == name)
    }

    /// The possible paths of documents.
    pub(super) fn documents(self) -> impl Iterator<Item = &'static str> + use<> {
        self.0.iter().flat_map(|extension| extension.documents).copied()
    }
}
