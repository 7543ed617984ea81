//! What the site's answer says: the text that came, where it can be passed on as it is; else a tree of values.
//!
//! Most answers are told again and never looked into, and a tree of one takes many times its text to make, to write and
//! to drop. A text that is `plain` goes out as it came; whatever is doubtful is the library's to judge.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::Value;

use super::plain;
use frontdesk_base::exact;

/// A JSON value. What is written of it has no blanks, and no member twice.
#[derive(Debug, Clone)]
pub struct Data(Form);

#[derive(Debug, Clone)]
enum Form {
    /// Checked: it reads as a value.
    Text(Bytes, Known),
    Tree(Value),
}

/// What is known of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// It was put together here, or is not to be remembered.
    Made,
    /// It is what the site sent, and may be remembered.
    Sent,
    /// The same, and the firewall found nothing in it.
    Seen,
}

impl Data {
    /// Reads a JSON text. A whole number of more than 64 bits, which no tree of values holds, becomes a string.
    ///
    /// # Errors
    ///
    /// It is none.
    pub(super) fn read(json: Bytes) -> serde_json::Result<Self> {
        match plain::text(&json) {
            Some(Cow::Borrowed(_)) => Ok(Self(Form::Text(json, Known::Sent))),
            Some(Cow::Owned(text)) => Ok(Self(Form::Text(text.into(), Known::Made))),
            None => serde_json::from_slice::<Value>(&exact::quoted(&json)).map(Self::from),
        }
    }

    /// A text that was read before, and in which the firewall found nothing.
    pub(super) fn seen(text: Bytes) -> Self {
        Self(Form::Text(text, Known::Seen))
    }

    /// Whether it is such a text.
    pub(super) fn is_seen(&self) -> bool {
        matches!(self.0, Form::Text(_, Known::Seen))
    }

    /// The same, which is not to be remembered.
    pub(super) fn unremembered(self) -> Self {
        match self.0 {
            Form::Text(text, Known::Sent) => Self(Form::Text(text, Known::Made)),
            form => Self(form),
        }
    }

    /// The text as the site sent it, where it is not known yet and may be remembered.
    pub(super) fn sent(&self) -> Option<&Bytes> {
        match &self.0 {
            Form::Text(text, Known::Sent) => Some(text),
            _ => None,
        }
    }

    /// As a tree, which is made where there is none yet: ask once, and only for what has to be looked into.
    pub fn value(&self) -> Cow<'_, Value> {
        match &self.0 {
            Form::Text(text, _) => Cow::Owned(parsed(text)),
            Form::Tree(value) => Cow::Borrowed(value),
        }
    }

    /// The same, kept.
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

    /// The same as text, which takes the least to keep.
    pub(super) fn as_text(&self) -> Self {
        Self(Form::Text(self.text(), Known::Made))
    }

    /// Bytes that it takes, where that is known without writing it.
    pub fn length(&self) -> usize {
        match &self.0 {
            Form::Text(text, _) => text.len(),
            Form::Tree(_) => 0,
        }
    }
}

/// Nothing but what was checked comes here.
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
