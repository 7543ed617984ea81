//! Writes a declaration line by line, with comments that ask for a review.

use std::fmt::Write;

use serde_json::Value;

/// A text on one line, cut.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect()
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
        if !review.is_empty() {
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
        // TOML's basic strings escape as JSON's do, and need DEL escaped too.
        Value::String(_) => out.push_str(&value.to_string().replace('\u{7f}', "\\u007f")),
        Value::Null => out.push_str("\"\""),
        other => out.push_str(&other.to_string()),
    }
}
