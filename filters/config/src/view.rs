//! Reads a table of the checked tree with defaults for missing keys.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    raw::{Item, Value},
    units,
};

/// A table that may be missing, read with defaults.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) item: Option<&'a Item<'a>>,
    pub(super) base: &'a Path,
}

impl<'a> View<'a> {
    pub(super) fn get(&self, key: &str) -> Option<&'a Item<'a>> {
        self.item?.get(key)
    }

    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.get(key)?.str().map(str::to_owned)
    }

    pub(super) fn text_or(&self, key: &str, default: &str) -> String {
        self.text(key).unwrap_or_else(|| default.into())
    }

    /// One string, or a list of them.
    pub(super) fn texts(&self, key: &str) -> Vec<String> {
        match self.get(key) {
            Some(Item { value: Value::Array(items), .. }) => {
                items.iter().filter_map(|item| item.str().map(str::to_owned)).collect()
            }
            item => item.and_then(Item::str).map(str::to_owned).into_iter().collect(),
        }
    }

    /// The tables of an array.
    pub(super) fn tables(&self, key: &str) -> impl Iterator<Item = View<'a>> + use<'a> {
        let base = self.base;
        let items = self.get(key).map(Item::items).unwrap_or_default();
        items.iter().map(move |item| View { item: Some(item), base })
    }

    pub(super) fn flag(&self, key: &str, default: bool) -> bool {
        self.get(key).and_then(Item::bool).unwrap_or(default)
    }

    pub(super) fn number(&self, key: &str, default: u64) -> u64 {
        match self.get(key).map(|item| &item.value) {
            Some(Value::Integer(number)) => u64::try_from(*number).unwrap_or(default),
            _ => default,
        }
    }

    pub(super) fn count(&self, key: &str, default: usize) -> usize {
        usize::try_from(self.number(key, default as u64)).unwrap_or(default)
    }

    pub(super) fn duration(&self, key: &str, default: &str) -> Duration {
        units::duration(&self.text_or(key, default)).unwrap_or_default()
    }

    pub(super) fn size(&self, key: &str, default: &str) -> usize {
        let bytes = units::size(&self.text_or(key, default)).unwrap_or_default();
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// A file's absolute path.
    pub(super) fn file(&self, key: &str) -> Option<PathBuf> {
        self.text(key).map(|name| self.base.join(name))
    }
}
