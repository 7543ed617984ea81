//! Places in a document: the present one, for messages, and the targets of references (RFC 6901).

use std::{borrow::Cow, fmt};

use percent_encoding::percent_decode_str;
use serde_json::Value;

/// A place, one step per stack frame of the visitor.
#[derive(Clone, Copy)]
pub(super) enum At<'a> {
    /// The place of a pointer; "" is the whole document.
    Pointer(&'a str),
    Key(&'a At<'a>, &'a str),
    Index(&'a At<'a>, usize),
}

impl<'a> At<'a> {
    /// The place of a member.
    pub(super) fn key(&'a self, key: &'a str) -> Self {
        Self::Key(self, key)
    }

    /// The place of an item.
    pub(super) fn index(&'a self, index: usize) -> Self {
        Self::Index(self, index)
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pointer(pointer) => out.write_str(pointer),
            Self::Key(above, key) => write!(out, "{above}/{}", escaped(key)),
            Self::Index(above, index) => write!(out, "{above}/{index}"),
        }
    }
}

fn escaped(key: &str) -> Cow<'_, str> {
    if key.contains(['~', '/']) { key.replace('~', "~0").replace('/', "~1").into() } else { key.into() }
}

/// The target of a reference: its canonical pointer and its value.
pub(super) fn follow<'d>(document: &'d Value, reference: &str) -> Result<(String, &'d Value), String> {
    let shown = shown(reference);
    let Some(fragment) = reference.strip_prefix('#') else {
        return Err(format!(
            "$ref {shown} leads outside the document; make one file of all of it first, \
             for instance with `npx @redocly/cli bundle FILE -o bundled.json`"
        ));
    };
    if !fragment.starts_with('/') {
        return Err(format!("$ref {shown} is not a JSON pointer; write one, as in \"#/components/schemas/Pet\""));
    }
    let mut pointer = percent_decode_str(fragment).decode_utf8_lossy().into_owned();
    if pointer.ends_with('/') {
        pointer.truncate(pointer.trim_end_matches('/').len());
    }
    match document.pointer(&pointer) {
        Some(there) => Ok((pointer, there)),
        None => Err(format!("$ref {shown} leads nowhere: the document has nothing there")),
    }
}

/// The last step of a pointer, as written in the document.
pub(super) fn last(pointer: &str) -> String {
    pointer.rsplit('/').next().unwrap_or_default().replace("~1", "/").replace("~0", "~")
}

/// Text of the document, made safe for a message.
pub(super) fn shown(text: &str) -> String {
    let short: String = text.chars().take(200).collect();
    format!("\"{}\"", short.escape_debug())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_lead_to_what_they_name() {
        let document = json!({"a": {"b/c": {"~": [1, {"x y": 2}]}}});
        let (pointer, there) = follow(&document, "#/a/b~1c/~0/1/x%20y").unwrap();
        assert_eq!((pointer.as_str(), there), ("/a/b~1c/~0/1/x y", &json!(2)));
        assert_eq!(last("/a/b~1c"), "b/c");
        for (reference, words) in [("other.json#/a", "outside"), ("#a", "not a JSON pointer"), ("#/b", "nowhere")] {
            assert!(follow(&document, reference).unwrap_err().contains(words), "{reference}");
        }
    }

    #[test]
    fn a_place_reads_as_a_pointer() {
        let paths = At::Pointer("/paths");
        let pets = paths.key("/pets");
        assert_eq!(pets.key("~x").index(2).to_string(), "/paths/~1pets/~0x/2");
    }
}
