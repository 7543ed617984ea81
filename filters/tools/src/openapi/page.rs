//! Writes the TOML file with comments, in the order in which a person reads it.

use serde_json::{Map, Value};

use super::{dialect, name};
use frontdesk_filters::{dialect::aicp::toml, site::Node};

/// Maximum length of a schema on one line.
const SHORT: usize = 100;

/// A file being written.
#[derive(Default)]
pub(super) struct Page {
    pub(super) text: String,
    /// The number of places to review.
    pub(super) reviews: usize,
}

impl Page {
    pub(super) fn comment(&mut self, text: &str) {
        self.text.push_str(if text.is_empty() { "#" } else { "# " });
        self.text.push_str(&name::one_line(text, 600));
        self.text.push('\n');
    }

    /// Adds a comment that asks for a review.
    pub(super) fn review(&mut self, text: &str) {
        self.reviews += 1;
        self.comment(&format!("review: {text}"));
    }

    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// `[a.b]`, with quotes where needed.
    pub(super) fn table(&mut self, path: &[&str]) {
        self.heading("[", path, "]\n");
    }

    /// `[[a]]`.
    pub(super) fn item(&mut self, path: &[&str]) {
        self.heading("[[", path, "]]\n");
    }

    fn heading(&mut self, open: &str, path: &[&str], close: &str) {
        self.text.push_str(open);
        for (index, part) in path.iter().enumerate() {
            self.text.push_str(if index == 0 { "" } else { "." });
            toml::bare_or_quoted(&mut self.text, part);
        }
        self.text.push_str(close);
    }

    pub(super) fn entry(&mut self, key: &str, value: impl Into<Value>) {
        self.line(key, &value.into());
        self.text.push('\n');
    }

    /// Adds an entry that asks for a review.
    pub(super) fn guess(&mut self, key: &str, value: impl Into<Value>, why: &str) {
        self.line(key, &value.into());
        self.reviews += 1;
        self.text.push_str(" # review: ");
        self.text.push_str(&name::one_line(why, 300));
        self.text.push('\n');
    }

    fn line(&mut self, key: &str, value: &Value) {
        toml::bare_or_quoted(&mut self.text, key);
        self.text.push_str(" = ");
        inline(&mut self.text, value);
    }

    /// Writes a schema on one line, if it is short or a mere reference.
    pub(super) fn short_schema(&mut self, key: &str, schema: &Value) -> bool {
        if let Some(reference) = only_reference(schema) {
            self.entry(key, reference);
            return true;
        }
        let mut text = String::new();
        inline(&mut text, schema);
        let short = text.len() <= SHORT;
        if short {
            self.text.push_str(&format!("{key} = {text}\n"));
        }
        short
    }

    /// Writes a schema as a table, one line per property.
    pub(super) fn long_schema(&mut self, path: &[&str], schema: &Value) {
        let empty = Map::new();
        let map = schema.as_object().unwrap_or(&empty);
        self.table(path);
        let named = |key: &&String| key.as_str() == "properties" && map["properties"].is_object();
        for (key, value) in FIRST.iter().filter_map(|key| map.get_key_value(*key)) {
            self.present(key, value);
        }
        for (key, value) in map.iter().filter(|(key, _)| !FIRST.contains(&key.as_str()) && !named(key)) {
            self.present(key, value);
        }
        if let Some((_, Value::Object(properties))) = map.get_key_value("properties") {
            self.table(&[path, &["properties"]].concat());
            for (name, value) in properties {
                self.present(name, value);
            }
        }
    }

    /// Writes a value without nulls, which TOML lacks.
    fn present(&mut self, key: &str, value: &Value) {
        if !value.is_null() {
            self.line(key, value);
            self.text.push('\n');
        }
    }
}

/// The name that a schema refers to, if it is a mere reference.
fn only_reference(schema: &Value) -> Option<&str> {
    let map = schema.as_object().filter(|map| map.len() == 1)?;
    map.get("$ref")?.as_str()
}

fn inline(out: &mut String, value: &Value) {
    if let Some(mut node) = Node::from_json(value) {
        in_order(&mut node);
        toml::inline(out, &node.view());
    }
}

/// Keywords that come first.
const FIRST: [&str; 4] = ["type", "title", "description", "required"];

/// Orders a schema as people write it: its type first, its properties last. Property names keep their order.
fn in_order(node: &mut Node) {
    match node {
        Node::Array(items) => items.iter_mut().for_each(in_order),
        Node::Table(entries) => {
            entries.sort_by_key(|(key, _)| match FIRST.iter().position(|first| first == key) {
                Some(first) => first,
                None => FIRST.len() + usize::from(key == "properties"),
            });
            for (key, value) in entries {
                match value {
                    Node::Table(named) if dialect::NAMED.contains(&key.as_str()) => {
                        named.iter_mut().for_each(|(_, schema)| in_order(schema));
                    }
                    value => in_order(value),
                }
            }
        }
        _ => {}
    }
}
