//! Parses the text of the declaration into a tree with line numbers, before anything is known about its keys.
//!
//! The text is parsed once, and all syntax errors are reported. Tables keep their order, and each value records its
//! line and whether it came from outside the file. Text without escapes is borrowed.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
    path::{Path, PathBuf},
};

use serde_json::Value as Json;
use toml::de::{DeTable, DeValue};

use super::{Outside, key_path::KeyPath, mistake::Findings, node::Node, replace::replace};

/// The files that the declaration refers to, with their contents.
pub(super) type Files = BTreeMap<PathBuf, Vec<u8>>;

/// A value with its line.
#[derive(Debug)]
pub struct Item<'t> {
    pub line: usize,
    /// Whether a `${…}` in it was replaced. Such a value is never shown, and is converted to a number or a boolean
    /// where needed.
    pub replaced: bool,
    /// Whether its key holds secrets, so that it is never shown.
    pub(super) secret: bool,
    pub value: Value<'t>,
}

#[derive(Debug)]
pub enum Value<'t> {
    String(Cow<'t, str>),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Datetime(String),
    Array(Vec<Item<'t>>),
    Table(Vec<Entry<'t>>),
    /// Already reported; no further findings about it.
    Broken,
}

/// A key of a table with its line.
#[derive(Debug)]
pub struct Entry<'t> {
    pub key: Cow<'t, str>,
    pub line: usize,
    pub item: Item<'t>,
}

/// The result of parsing besides the tree.
pub struct Raw<'t> {
    pub root: Item<'t>,
    /// Every replaced value, in order, for the declaration's hash.
    pub(super) replaced: Vec<String>,
    /// Every `${file:…}` that was read.
    pub(super) files: Vec<PathBuf>,
}

/// Parses the text. Syntax errors go into the first findings (the tree is then unusable), unresolved references into
/// the second.
pub fn parse<'t>(
    text: &'t str,
    base: &Path,
    outside: &dyn Outside,
    syntax: &mut Findings,
    found: &mut Findings,
) -> Raw<'t> {
    let (tree, errors) = DeTable::parse_recoverable(text);
    let mut reader =
        Reader { starts: line_starts(text), base, outside, found, replaced: Vec::new(), files: Vec::new() };
    let mut said = HashSet::new();
    // An error without a position gets that of the next one, since parsing stops there.
    let mut place = text.len();
    for error in errors.iter().rev() {
        place = error.span().map_or(place, |span| span.start);
        let line = reader.line(place);
        let what = match error.message() {
            "recursion limit" => "tables, lists or dotted keys are nested too deep",
            what => what,
        };
        // Report the same error once per line.
        if said.insert((line, what.to_owned())) {
            syntax.mistake(line, "", what);
        }
    }
    let root = Item { line: 0, replaced: false, secret: false, value: reader.table(tree.get_ref(), &KeyPath::Top) };
    Raw { root, replaced: reader.replaced, files: reader.files }
}

struct Reader<'a> {
    starts: Vec<usize>,
    base: &'a Path,
    outside: &'a dyn Outside,
    found: &'a mut Findings,
    replaced: Vec<String>,
    files: Vec<PathBuf>,
}

impl Reader<'_> {
    fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }

    fn table<'t>(&mut self, table: &DeTable<'t>, trail: &KeyPath) -> Value<'t> {
        let mut written: Vec<_> = table.iter().collect();
        written.sort_unstable_by_key(|(key, _)| key.span().start);
        let entries = written.iter().map(|(key, value)| {
            let line = self.line(key.span().start);
            let key = key.get_ref();
            let item = self.item(value.get_ref(), line, &trail.key(key));
            Entry { key: key.clone(), line, item }
        });
        Value::Table(entries.collect())
    }

    fn item<'t>(&mut self, value: &DeValue<'t>, line: usize, trail: &KeyPath) -> Item<'t> {
        let mut replaced = false;
        let value = match value {
            DeValue::String(text) => {
                let (text, from_outside) = self.string(text, line, trail);
                replaced = from_outside;
                text.map_or(Value::Broken, Value::String)
            }
            DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => Value::Integer(number),
                Err(_) => {
                    self.found.mistake(line, trail, "the number is too large");
                    Value::Broken
                }
            },
            DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(yes) => Value::Boolean(*yes),
            DeValue::Datetime(date) => Value::Datetime(date.to_string()),
            DeValue::Array(items) => {
                let items = items.iter().enumerate().map(|(index, item)| {
                    let line = self.line(item.span().start);
                    self.item(item.get_ref(), line, &trail.index(index))
                });
                Value::Array(items.collect())
            }
            DeValue::Table(table) => self.table(table, trail),
        };
        Item { line, replaced, secret: false, value }
    }

    fn string<'t>(&mut self, text: &Cow<'t, str>, line: usize, trail: &KeyPath) -> (Option<Cow<'t, str>>, bool) {
        match replace(text, self.base, self.outside) {
            Ok(None) => (Some(text.clone()), false),
            Ok(Some(new)) => {
                self.replaced.push(new.text.clone());
                self.files.extend(new.files);
                (Some(new.text.into()), true)
            }
            Err(what) => {
                self.found.mistake(line, trail, what);
                (None, true)
            }
        }
    }
}

impl<'t> Item<'t> {
    pub fn entries(&self) -> &[Entry<'t>] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    pub fn items(&self) -> &[Item<'t>] {
        match &self.value {
            Value::Array(items) => items,
            _ => &[],
        }
    }

    pub fn get(&self, key: &str) -> Option<&Item<'t>> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.item)
    }

    /// A value at a path of nested tables.
    pub fn at(&self, path: &[&str]) -> Option<&Item<'t>> {
        path.iter().try_fold(self, |item, key| item.get(key))
    }

    pub fn str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    pub fn bool(&self) -> Option<bool> {
        match self.value {
            Value::Boolean(yes) => Some(yes),
            _ => None,
        }
    }

    pub(super) fn node(&self) -> Node {
        match &self.value {
            Value::String(text) => Node::String(text.to_string()),
            Value::Integer(number) => Node::Integer(*number),
            Value::Float(number) => Node::Float(*number),
            Value::Boolean(yes) => Node::Boolean(*yes),
            Value::Datetime(date) => Node::Datetime(date.clone()),
            Value::Array(items) => Node::Array(items.iter().map(Item::node).collect()),
            Value::Table(entries) => Node::Table(entries.iter().map(|e| (e.key.to_string(), e.item.node())).collect()),
            Value::Broken => Node::String(String::new()),
        }
    }

    /// A value as JSON.
    pub fn json(&self) -> Json {
        match &self.value {
            Value::String(text) => Json::String(text.to_string()),
            Value::Array(items) => items.iter().map(Item::json).collect(),
            Value::Table(entries) => entries.iter().map(|entry| (entry.key.to_string(), entry.item.json())).collect(),
            _ => self.node().to_json(),
        }
    }
}

fn line_starts(text: &str) -> Vec<usize> {
    let after_newline = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(after_newline).collect()
}
