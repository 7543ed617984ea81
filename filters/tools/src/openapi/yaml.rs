//! Parses YAML, the usual format of OpenAPI documents, into JSON.
//!
//! The parser gives events. This module resolves plain scalars (YAML 1.2, core schema) and aliases, and bounds their
//! total size, so that a few lines of aliases cannot become gigabytes.

use std::{borrow::Cow, collections::HashMap};

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

/// Maximum depth of a document, as in serde_json.
const DEEPEST: usize = 127;
/// Maximum size of all expanded aliases, in approximate bytes.
const LARGEST: usize = 64 << 20;

/// Parses the first document of a text.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let mut reader = Reader { open: Vec::new(), anchors: HashMap::new(), size: 0, read: None };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let at = error.marker();
            format!("line {}, column {}: {}", at.line(), at.col() + 1, error.info())
        })?;
        reader.take(event).map_err(|what| format!("line {}: {what}", span.start.line()))?;
        if reader.read.is_some() {
            break;
        }
    }
    Ok(reader.read.unwrap_or_default())
}

struct Reader {
    /// The open collections, outermost first.
    open: Vec<Open>,
    anchors: HashMap<usize, Anchored>,
    size: usize,
    read: Option<Value>,
}

struct Anchored {
    value: Value,
    size: usize,
}

struct Open {
    anchor: usize,
    /// The size of everything before it.
    before: usize,
    what: Collection,
}

enum Collection {
    List(Vec<Value>),
    Table { map: Map<String, Value>, key: Option<String>, merged: Vec<Value> },
}

/// The key that merges another mapping's members.
const MERGE: &str = "<<";

impl Reader {
    fn take(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let string = style != ScalarStyle::Plain || tag.is_some_and(|tag| tag.suffix == "str");
                let before = self.size;
                self.grow(text.len() + 8)?;
                // A key is its text: `200:` is "200".
                let is_key = self.awaits_key();
                let value = if string || is_key { Value::String(text.into_owned()) } else { plain(text) };
                self.end(value, anchor, before)
            }
            Event::Alias(anchor) => {
                let there = self.anchors.get(&anchor).ok_or("an alias of something that is not complete")?;
                let (value, size) = (there.value.clone(), there.size);
                self.grow(size)?;
                self.put(value)
            }
            Event::SequenceStart(anchor, _) => self.begin(anchor, Collection::List(Vec::new())),
            Event::MappingStart(anchor, _) => {
                self.begin(anchor, Collection::Table { map: Map::new(), key: None, merged: Vec::new() })
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(Open { anchor, before, what }) = self.open.pop() else { return Ok(()) };
                let value = match what {
                    Collection::List(items) => Value::Array(items),
                    Collection::Table { map, merged, .. } => Value::Object(merge(map, merged)),
                };
                self.end(value, anchor, before)
            }
            _ => Ok(()),
        }
    }

    fn grow(&mut self, by: usize) -> Result<(), String> {
        self.size += by;
        if self.size > LARGEST { Err("its aliases come to more than 64 MB".into()) } else { Ok(()) }
    }

    fn begin(&mut self, anchor: usize, what: Collection) -> Result<(), String> {
        if self.awaits_key() {
            return Err("a key that is a list or a table".into());
        }
        if self.open.len() >= DEEPEST {
            return Err(format!("more than {DEEPEST} levels deep"));
        }
        self.open.push(Open { anchor, before: self.size, what });
        self.grow(8)
    }

    fn end(&mut self, value: Value, anchor: usize, before: usize) -> Result<(), String> {
        if anchor > 0 {
            // The stored copy counts too.
            let size = self.size - before;
            self.grow(size)?;
            self.anchors.insert(anchor, Anchored { value: value.clone(), size });
        }
        self.put(value)
    }

    fn awaits_key(&self) -> bool {
        matches!(self.open.last(), Some(Open { what: Collection::Table { key: None, .. }, .. }))
    }

    fn put(&mut self, value: Value) -> Result<(), String> {
        match self.open.last_mut().map(|open| &mut open.what) {
            None => self.read = Some(value),
            Some(Collection::List(items)) => items.push(value),
            Some(Collection::Table { map, key, merged }) => match key.take() {
                None => match value {
                    Value::String(text) => *key = Some(text),
                    _ => return Err("a key that is not a text".into()),
                },
                Some(name) if name == MERGE => merged.push(value),
                Some(name) if map.contains_key(&name) => return Err(format!("the key {name:?} is there twice")),
                Some(name) => drop(map.insert(name, value)),
            },
        }
        Ok(())
    }
}

/// Explicit members take precedence over merged ones.
fn merge(mut map: Map<String, Value>, merged: Vec<Value>) -> Map<String, Value> {
    for value in merged {
        let tables = if let Value::Array(items) = value { items } else { vec![value] };
        for table in tables {
            let Value::Object(more) = table else { continue };
            for (key, value) in more {
                map.entry(key).or_insert(value);
            }
        }
    }
    map
}

/// The value of a plain scalar.
fn plain(text: Cow<str>) -> Value {
    match &*text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    number(&text).unwrap_or_else(|| Value::String(text.into_owned()))
}

fn number(text: &str) -> Option<Value> {
    let radix = |prefix, radix| text.strip_prefix(prefix).and_then(|digits| i64::from_str_radix(digits, radix).ok());
    if let Some(number) = radix("0x", 16).or_else(|| radix("0o", 8)) {
        return Some(number.into());
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let shaped = digits.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    if !shaped || !digits.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if let Ok(number) = text.parse::<i64>() {
        return Some(number.into());
    }
    text.parse::<f64>().ok().and_then(serde_json::Number::from_f64).map(Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scalars_lists_and_tables() {
        let text = "%YAML 1.2\n---\na: [1, -2.5, 0x1F, 1e3, ~, true, yes, 'true', 2020-01-01, 1.2.3]\n\
                    200: {x: \"y\\n\"}\nnull: |\n  two\n  lines\nb: !!str 12\nc:\n- d\n-\n  e: f\n";
        let read = read(text).unwrap();
        let a = json!([1, -2.5, 31, 1000.0, null, true, "yes", "true", "2020-01-01", "1.2.3"]);
        let expected = json!({"a": a, "200": {"x": "y\n"}, "null": "two\nlines\n", "b": "12", "c": ["d", {"e": "f"}]});
        assert_eq!(read, expected);
    }

    #[test]
    fn aliases_and_merged_tables() {
        let read = read("base: &b {x: 1, y: 2}\none:\n  <<: *b\n  y: 3\ntwo: *b\n").unwrap();
        assert_eq!(read, json!({"base": {"x": 1, "y": 2}, "one": {"x": 1, "y": 3}, "two": {"x": 1, "y": 2}}));
    }

    #[test]
    fn what_cannot_be_json_says_where() {
        for (text, words) in [
            ("a: 1\nb: [1,\nc: 2", "line"),
            ("a: 1\na: 2\n", "line 2: the key \"a\" is there twice"),
            ("? [a]\n: 1\n", "a key that is a list"),
            ("a: *nowhere\n", "line 1"),
            ("a: &x [*x]\n", "line 1"),
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.contains(words), "{text}: {refused}");
        }
        assert!(read(&"[".repeat(5000)).is_err() && read(&"- ".repeat(5000)).is_err());
    }

    #[test]
    fn aliases_of_aliases_are_bounded() {
        let mut text = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
        for level in 1..12 {
            let items = vec![format!("*a{}", level - 1); 9].join(", ");
            text += &format!("a{level}: &a{level} [{items}]\n");
        }
        assert!(read(&text).unwrap_err().contains("64 MB"));
    }
}
