//! Writes the contract as TOML, in declared order.
//!
//! The `toml` crate's serializer needs a sorted map, or a feature that reorders JSON in the whole build. The subset of
//! TOML that a contract needs is small.

use std::fmt::Write;

use frontdesk_config::Node;

/// Renders a table as a TOML document: plain values, then sub-tables, then arrays of tables.
pub(super) fn write(contract: &Node<&str>) -> String {
    let mut out = String::new();
    if let Node::Table(entries) = contract {
        table(&mut out, &mut String::new(), entries);
    }
    out
}

fn table(out: &mut String, path: &mut String, entries: &[(&str, Node<&str>)]) {
    for (key, value) in entries.iter().filter(|(_, v)| !is_section(v)) {
        bare_or_quoted(out, key);
        out.push_str(" = ");
        inline(out, value);
        out.push('\n');
    }
    for (key, value) in entries.iter().filter(|(_, v)| is_section(v)) {
        let above = path.len();
        path.push_str(if above == 0 { "" } else { "." });
        bare_or_quoted(path, key);
        match value {
            Node::Table(entries) => {
                let _ = write!(out, "\n[{path}]\n");
                table(out, path, entries);
            }
            Node::Array(items) => {
                for item in items {
                    if let Node::Table(entries) = item {
                        let _ = write!(out, "\n[[{path}]]\n");
                        table(out, path, entries);
                    }
                }
            }
            _ => {}
        }
        path.truncate(above);
    }
}

/// Whether a value gets a heading of its own: tables, and arrays of tables only.
fn is_section(value: &Node<&str>) -> bool {
    match value {
        Node::Table(_) => true,
        Node::Array(items) => !items.is_empty() && items.iter().all(|i| matches!(i, Node::Table(_))),
        _ => false,
    }
}

/// Writes a value on one line.
pub fn inline(out: &mut String, value: &Node<&str>) {
    match value {
        Node::String(text) => quoted(out, text),
        Node::Integer(n) => {
            let _ = write!(out, "{n}");
        }
        Node::Float(f) if f.is_nan() => out.push_str("nan"),
        Node::Float(f) if f.is_infinite() => out.push_str(if *f > 0.0 { "inf" } else { "-inf" }),
        Node::Float(f) => {
            let _ = write!(out, "{f:?}");
        }
        Node::Boolean(b) => {
            let _ = write!(out, "{b}");
        }
        Node::Datetime(text) => out.push_str(text),
        Node::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { ", " });
                inline(out, item);
            }
            out.push(']');
        }
        Node::Table(entries) => {
            out.push('{');
            for (i, (key, value)) in entries.iter().enumerate() {
                out.push_str(if i == 0 { " " } else { ", " });
                bare_or_quoted(out, key);
                out.push_str(" = ");
                inline(out, value);
            }
            out.push_str(if entries.is_empty() { "}" } else { " }" });
        }
    }
}

/// Writes a key.
pub fn bare_or_quoted(out: &mut String, key: &str) {
    if !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
        out.push_str(key);
    } else {
        quoted(out, key);
    }
}

/// Writes a basic string. Characters that change the text direction are escaped, so that the file reads as it is.
fn quoted(out: &mut String, text: &str) {
    let special = |c: char| {
        c.is_control()
            || matches!(c, '"' | '\\' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    out.push('"');
    let mut rest = text;
    while let Some((at, c)) = rest.char_indices().find(|(_, c)| special(*c)) {
        out.push_str(&rest[..at]);
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if u32::from(c) > 0xffff => drop(write!(out, "\\U{:08X}", u32::from(c))),
            c => drop(write!(out, "\\u{:04X}", u32::from(c))),
        }
        rest = &rest[at + c.len_utf8()..];
    }
    out.push_str(rest);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_the_same() {
        let text = |s: &str| Node::String(s.to_owned());
        let entry = |k: &str, v: Node| (k.to_owned(), v);
        let contract = Node::Table(vec![
            entry("z", text("quote \" slash \\ newline \n bell \u{7} ä turned \u{202e} \u{e0001}")),
            entry("empty", Node::Array(vec![])),
            entry("n", Node::Array(vec![Node::Integer(1), Node::Float(2.0), Node::Float(1e300), Node::Boolean(true)])),
            entry("mixed", Node::Array(vec![text("a"), Node::Table(vec![entry("a b", text("c"))])])),
            entry("t", Node::Table(vec![entry("u", Node::Table(vec![entry("", text("empty key"))]))])),
            entry(
                "list",
                Node::Array(vec![
                    Node::Table(vec![
                        entry("sub", Node::Table(vec![entry("x", Node::Integer(-1))])),
                        entry("a", text("1")),
                    ]),
                    Node::Table(vec![entry("when", Node::Datetime("1979-05-27T07:32:00Z".into()))]),
                ]),
            ),
        ]);
        let written = write(&contract.view());
        let read: ::toml::Table = ::toml::from_str(&written).unwrap_or_else(|e| panic!("{e}\n{written}"));
        assert_eq!(read["z"].as_str(), Some("quote \" slash \\ newline \n bell \u{7} ä turned \u{202e} \u{e0001}"));
        assert_eq!(read["n"][1].as_float(), Some(2.0));
        assert_eq!(read["mixed"][1]["a b"].as_str(), Some("c"));
        assert_eq!(read["t"]["u"][""].as_str(), Some("empty key"));
        assert_eq!(read["list"][0]["sub"]["x"].as_integer(), Some(-1));
        assert!(read["list"][1]["when"].is_datetime());
        assert_eq!(read.len(), 6);
    }
}
