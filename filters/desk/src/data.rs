//! The site's answer as data: the original text where it can pass unchanged, else a tree of values.
//!
//! Most answers are passed on without being looked into. A tree takes many times the memory of the text, and time to
//! build, write and drop. Text that `plain` accepts goes out as it came; serde_json judges all other text.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::Value;

use super::json_passthrough;
use frontdesk_base::exact_numbers;

/// A JSON value. Its written form has no blanks and no duplicate members.
#[derive(Debug, Clone)]
pub struct Data(Form);

#[derive(Debug, Clone)]
enum Form {
    /// Text that was checked to be a JSON value.
    Text(Bytes, Known),
    Tree(Value),
}

/// What is known about a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// Built here, or must not be cached.
    Made,
    /// Sent by the site, and may be cached.
    Sent,
    /// Sent by the site, and the firewall found nothing in it.
    Seen,
}

impl Data {
    /// Reads a JSON text. An integer of more than 64 bits, which no tree can hold, becomes a string.
    ///
    /// # Errors
    ///
    /// The text is not JSON.
    pub(super) fn read(json: Bytes) -> serde_json::Result<Self> {
        match json_passthrough::text(&json) {
            Some(Cow::Borrowed(_)) => Ok(Self(Form::Text(json, Known::Sent))),
            Some(Cow::Owned(text)) => Ok(Self(Form::Text(text.into(), Known::Made))),
            None => serde_json::from_slice::<Value>(&exact_numbers::quoted(&json)).map(Self::from),
        }
    }

    /// A text from the cache, in which the firewall found nothing.
    pub(super) fn seen(text: Bytes) -> Self {
        Self(Form::Text(text, Known::Seen))
    }

    /// Whether the text came from the cache.
    pub(super) fn is_seen(&self) -> bool {
        matches!(self.0, Form::Text(_, Known::Seen))
    }

    /// The same data, marked as not to be cached.
    pub(super) fn unremembered(self) -> Self {
        match self.0 {
            Form::Text(text, Known::Sent) => Self(Form::Text(text, Known::Made)),
            form => Self(form),
        }
    }

    /// The site's text, where it is not in the cache yet and may go there.
    pub(super) fn sent(&self) -> Option<&Bytes> {
        match &self.0 {
            Form::Text(text, Known::Sent) => Some(text),
            _ => None,
        }
    }

    /// As a tree. Builds one for each call on a text, so call it once, and only to look into the data.
    pub fn value(&self) -> Cow<'_, Value> {
        match &self.0 {
            Form::Text(text, _) => Cow::Owned(parsed(text)),
            Form::Tree(value) => Cow::Borrowed(value),
        }
    }

    /// As an owned tree.
    pub fn into_value(self) -> Value {
        match self.0 {
            Form::Text(text, _) => parsed(&text),
            Form::Tree(value) => value,
        }
    }

    /// As JSON.
    pub fn text(&self) -> Bytes {
        match &self.0 {
            Form::Text(text, _) => text.clone(),
            Form::Tree(value) => value.to_string().into(),
        }
    }

    /// Writes it as JSON.
    pub fn write(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Form::Text(text, _) => out.extend_from_slice(text),
            // Writing to memory does not fail.
            Form::Tree(value) => drop(serde_json::to_writer(out, value)),
        }
    }

    /// The same data as text, which takes the least memory.
    pub(super) fn as_text(&self) -> Self {
        Self(Form::Text(self.text(), Known::Made))
    }

    /// Length of the text in bytes, where it is known without writing it.
    pub fn length(&self) -> usize {
        match &self.0 {
            Form::Text(text, _) => text.len(),
            Form::Tree(_) => 0,
        }
    }
}

/// Parses a text that was checked before.
fn parsed(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap_or_default()
}

impl From<Value> for Data {
    fn from(value: Value) -> Self {
        Self(Form::Tree(value))
    }
}

impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Form::Text(a, _), Form::Text(b, _)) if a == b => true,
            _ => self.value() == other.value(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_and_a_tree_of_the_same_are_the_same() {
        let text = Data::read(Bytes::from_static(b"{\"b\":[1,true],\"a\":null}")).unwrap();
        let tree = Data::from(json!({ "a": null, "b": [1, true] }));
        assert_eq!(text, tree);
        assert_eq!((text.length(), tree.length()), (23, 0));
        let mut out = Vec::new();
        text.write(&mut out);
        assert_eq!(out, b"{\"b\":[1,true],\"a\":null}");
        assert_eq!(tree.text(), "{\"a\":null,\"b\":[1,true]}");
        assert_eq!(text.into_value(), tree.into_value());
    }

    #[test]
    fn what_is_doubtful_is_judged_by_the_library() {
        let read = |json: &'static str| Data::read(Bytes::from_static(json.as_bytes()));
        assert_eq!(read("{\"a\":1,\"a\":2}").unwrap().text(), "{\"a\":2}");
        assert_eq!(read("[\"\\ud83d\\ude00\"]").unwrap().text(), "[\"😀\"]");
        assert_eq!(read("[18446744073709551617]").unwrap().text(), "[\"18446744073709551617\"]");
        for wrong in ["", "{\"a\":1e400}", "[\"\\ud83d\"]", "[1,]", "{} {}", "[01]", "nul"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
