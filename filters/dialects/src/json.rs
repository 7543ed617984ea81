//! Writes published JSON with sorted keys, without building a `serde_json::Value` first.
//!
//! A site may declare a thousand capabilities, and a tree of them would only be printed and dropped.

use std::io::Write;

use serde_json::Value;

use frontdesk_config::Node;

/// Writes a declared value as `Node::to_json` and `to_string` would.
pub(super) fn node(out: &mut Vec<u8>, value: &Node<&str>) {
    match value {
        Node::String(text) | Node::Datetime(text) => quoted(out, text),
        Node::Integer(number) => drop(write!(out, "{number}")),
        Node::Float(number) if number.is_finite() => drop(serde_json::to_writer(out, number)),
        Node::Float(number) => quoted(out, &number.to_string()),
        Node::Boolean(yes) => drop(write!(out, "{yes}")),
        Node::Array(items) => array(out, items, node),
        Node::Table(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            object(out, |members| entries.into_iter().for_each(|(key, value)| node(members.key(key), value)));
        }
    }
}

/// Writes a list, each item with `write`.
pub(super) fn array<Item>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = Item>,
    mut write: impl FnMut(&mut Vec<u8>, Item),
) {
    out.push(b'[');
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}

/// Writes an object with the members that `write` adds.
pub(super) fn object(out: &mut Vec<u8>, write: impl FnOnce(&mut Members)) {
    out.push(b'{');
    write(&mut Members { out, first: true });
    out.push(b'}');
}

/// The members of an object being written. The caller adds them in sorted order.
pub(super) struct Members<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
}

impl Members<'_> {
    /// Starts a member; the caller writes its value next.
    pub(super) fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.first) {
            self.out.push(b',');
        }
        quoted(self.out, key);
        self.out.push(b':');
        self.out
    }

    pub(super) fn text(&mut self, key: &str, text: &str) {
        quoted(self.key(key), text);
    }

    /// Writes a member with a text that needs no escapes.
    pub(super) fn word(&mut self, key: &str, text: &str) {
        if !std::mem::take(&mut self.first) {
            self.out.push(b',');
        }
        word(self.out, key, text);
    }

    pub(super) fn texts<'t>(&mut self, key: &str, texts: impl IntoIterator<Item = &'t str>) {
        array(self.key(key), texts, quoted);
    }

    /// Writes a member whose value is JSON text already.
    pub(super) fn json(&mut self, key: &str, text: &str) {
        self.key(key).extend_from_slice(text.as_bytes());
    }

    pub(super) fn value(&mut self, key: &str, value: &Value) {
        // Writing to memory does not fail.
        drop(serde_json::to_writer(self.key(key), value));
    }
}

/// Writes one member without the surrounding object.
pub(super) fn member(out: &mut Vec<u8>, key: &str, value: &Value) {
    quoted(out, key);
    out.push(b':');
    drop(serde_json::to_writer(out, value));
}

/// The same for a text that needs no escapes.
pub(super) fn word(out: &mut Vec<u8>, key: &str, text: &str) {
    for part in ["\"", key, "\":\"", text, "\""] {
        out.extend_from_slice(part.as_bytes());
    }
}

fn quoted(out: &mut Vec<u8>, text: &str) {
    drop(serde_json::to_writer(out, text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_serde_would_write() {
        let entry = |key: &str, value: Node| (key.to_owned(), value);
        let declared = Node::Table(vec![
            entry("z", Node::String("quote \" slash \\ newline \n bell \u{7} ä".into())),
            entry("a", Node::Array(vec![Node::Integer(-1), Node::Float(2.0), Node::Float(1e300), Node::Float(-0.0)])),
            entry("no name", Node::Array(vec![Node::Float(f64::INFINITY), Node::Float(f64::NAN)])),
            entry("", Node::Table(vec![entry("when", Node::Datetime("1979-05-27".into()))])),
            entry("B", Node::Array(vec![Node::Boolean(true), Node::Table(vec![])])),
        ]);
        let mut out = Vec::new();
        node(&mut out, &declared.view());
        assert_eq!(String::from_utf8(out).unwrap(), declared.to_json().to_string());
    }
}
