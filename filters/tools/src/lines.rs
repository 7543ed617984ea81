//! Writes a declaration line by line, with comments that ask for a review.
//!
//! The texts come from a site or a document that may mean harm. A configuration replaces `${VAR}` and `${file:PATH}` when it is
//! loaded, and much of it is published. So none of these texts keeps a `${`, nor a character that cannot be seen.

use std::{borrow::Cow, fmt::Write};

use serde_json::Value;

/// A text on one line, cut.
pub(crate) fn one_line(text: &str) -> String {
    let seen: String = text.chars().map(|c| if is_unseen(c) { ' ' } else { c }).collect();
    seen.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect()
}

/// Control characters, line separators, and characters that change the text direction.
pub(crate) fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The text without anything that would be replaced when the configuration is loaded. Templates (`${{`) are not.
fn literal(text: &str) -> Cow<'_, str> {
    if !refers(text) {
        return text.into();
    }
    // In an address the same byte can be written in another way.
    let instead = if text.starts_with('/') || text.starts_with("http") { "%24{" } else { "$ {" };
    text.replace("${{", "\0").replace("${", instead).replace('\0', "${{").into()
}

fn refers(text: &str) -> bool {
    text.match_indices("${").any(|(at, _)| !text[at..].starts_with("${{"))
}

/// Whether a text anywhere in the value had to be changed.
fn is_changed(value: &Value) -> bool {
    match value {
        Value::String(text) => refers(text),
        Value::Array(items) => items.iter().any(is_changed),
        Value::Object(members) => members.iter().any(|(key, value)| refers(key) || is_changed(value)),
        _ => false,
    }
}

/// A file being written.
#[derive(Default)]
pub(crate) struct Lines {
    pub(crate) text: String,
    /// The number of places to review.
    pub(crate) reviews: usize,
}

impl Lines {
    pub(crate) fn comment(&mut self, text: &str) {
        let _ = writeln!(self.text, "# {}", one_line(text));
    }

    pub(crate) fn review(&mut self, text: &str) {
        self.reviews += 1;
        self.comment(&format!("review: {text}"));
    }

    /// An entry; with a reason it asks for a review.
    pub(crate) fn entry(&mut self, key: &str, value: &Value, review: &str) {
        let _ = write!(self.text, "{key} = ");
        inline(&mut self.text, value);
        let changed = is_changed(value).then_some("a \"${\" was changed, because a configuration replaces it");
        for review in changed.into_iter().chain((!review.is_empty()).then_some(review)) {
            self.reviews += 1;
            let _ = write!(self.text, " # review: {review}");
        }
        self.text.push('\n');
    }
}

/// A value as TOML on one line.
fn inline(out: &mut String, value: &Value) {
    match value {
        Value::Object(members) => {
            out.push('{');
            for (at, (key, value)) in members.iter().enumerate() {
                out.push_str(if at == 0 { " " } else { ", " });
                inline(out, &key.as_str().into());
                out.push_str(" = ");
                inline(out, value);
            }
            out.push_str(" }");
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                inline(out, item);
            }
            out.push(']');
        }
        Value::String(text) => string(out, text),
        Value::Null => out.push_str("\"\""),
        other => out.push_str(&other.to_string()),
    }
}

/// A text as a basic string of TOML, which escapes as JSON does. What cannot be seen is escaped too.
fn string(out: &mut String, text: &str) {
    for c in Value::from(literal(text)).to_string().chars() {
        match u32::from(c) {
            code if is_unseen(c) && code <= 0xffff => {
                let _ = write!(out, "\\u{code:04x}");
            }
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(value: Value) -> (String, usize) {
        let mut lines = Lines::default();
        lines.entry("key", &value, "");
        (lines.text, lines.reviews)
    }

    #[test]
    fn nothing_is_replaced_from_the_environment() {
        let texts = ["${HOME}", "a ${file:/etc/passwd} b", "$${HOME}", "${{${HOME}}}", "/feed?${HOME}", "${${HOME}}"];
        for text in texts {
            for value in [json!(text), json!([text]), json!({ text: { "enum": [text] } })] {
                let (written, reviews) = entry(value);
                let references = written.match_indices("${").filter(|(at, _)| !written[*at..].starts_with("${{"));
                // Of a comment nothing is replaced.
                assert_eq!((references.count(), reviews), (1, 1), "{written}");
                assert!(written.parse::<toml::Table>().is_ok(), "{written}");
            }
        }
        assert_eq!(entry(json!("/feed?${HOME}")).0.split(" #").next(), Some("key = \"/feed?%24{HOME}\""));
        assert_eq!(entry(json!("Costs ${{price}}")), ("key = \"Costs ${{price}}\"\n".into(), 0));
    }

    #[test]
    fn what_cannot_be_seen_is_escaped() {
        let (written, _) = entry(json!("a\u{9b}31m\u{202e}b\u{7f}\n"));
        assert_eq!(written, "key = \"a\\u009b31m\\u202eb\\u007f\\n\"\n");
        let read: toml::Table = written.parse().unwrap();
        assert_eq!(read["key"].as_str(), Some("a\u{9b}31m\u{202e}b\u{7f}\n"));
        let mut lines = Lines::default();
        lines.comment("a form on \u{9b}31m\u{202e}x");
        assert_eq!(lines.text, "# a form on 31m x\n");
    }
}
