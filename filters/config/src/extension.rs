//! What other parts of Frontdesk add to the declaration: keys, paths and rules of their own.
//!
//! The configuration knows none of these parts. It reads, publishes and checks with the list that it is handed, so a
//! part that is not in the list has no keys: they are unknown.

use super::{
    mistake::Findings,
    raw::Item,
    schema::{Key, Place, Table},
    schemas::Schemas,
    settings::Settings,
};

/// What one part adds.
pub struct Extension {
    /// Its keys, each with the table that it is in.
    pub keys: &'static [(Place, Key)],
    /// Paths where its documents are, or may be. Nothing else can be declared there.
    pub documents: &'static [&'static str],
    /// Judges what is declared. It may run on a declaration with mistakes, so that one run finds them all.
    pub check: fn(&Declared<'_>, &mut Findings),
}

/// The parts that add something.
pub type Extensions = &'static [&'static Extension];

/// What a check is handed.
pub struct Declared<'a> {
    pub root: &'a Item<'a>,
    /// The same with types; what is wrong has its default.
    pub settings: &'a Settings,
    pub schemas: &'a Schemas,
    pub(super) keys: Keys,
}

impl Declared<'_> {
    /// Where documents of any part are, or may be.
    pub fn documents(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.keys.documents()
    }
}

/// For a part that has no rules.
pub fn unchecked(_: &Declared<'_>, _: &mut Findings) {}

/// The table of keys, with those that other parts add.
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

    /// Where documents are, or may be.
    pub(super) fn documents(self) -> impl Iterator<Item = &'static str> + use<> {
        self.0.iter().flat_map(|extension| extension.documents).copied()
    }
}
