//! Request targets with placeholders, filled from an input.
//!
//! A value stays in its place (AICP §8.1, action confusion): it is encoded, and is always one path segment or one
//! query value. A value that a site might still read as several segments is refused.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::violation::Violation;
pub use crate::violation::escaped;

/// All characters but those that are unreserved in a path or query (RFC 3986 §2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A path or a URL with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Literal(String),
    /// The name of an input.
    InPath(String),
    InQuery(String),
}

impl Target {
    /// Parses a path such as `/bookings/{id}/cancel?by=agent`, or a URL with scheme and host.
    ///
    /// # Errors
    ///
    /// A sentence about an unmatched brace, an empty name, or a placeholder in the host.
    pub fn parse(text: &str) -> Result<Self, String> {
        let path = match text.split_once("://") {
            Some((scheme, rest)) => scheme.len() + 3 + rest.find(['/', '?']).unwrap_or(rest.len()),
            None => 0,
        };
        if text[..path].contains(['{', '}']) {
            return Err("has a place in its host; a value may only stand in a path or a query".into());
        }
        let (mut pieces, mut rest, mut in_query) = (Vec::new(), text, false);
        loop {
            let (literal, after) = match rest.split_once('{') {
                Some((literal, after)) => (literal, Some(after)),
                None => (rest, None),
            };
            if literal.contains('}') {
                return Err("has a closing brace without an opening one".into());
            }
            in_query |= literal.contains('?');
            if !literal.is_empty() {
                pieces.push(Piece::Literal(literal.into()));
            }
            let Some(after) = after else { return Ok(Self { pieces }) };
            let (name, tail) = after.split_once('}').ok_or("has an opening brace without a closing one")?;
            if name.is_empty() || name.contains(['{', '/']) {
                return Err("has a place without a name; write one as in \"/bookings/{booking_id}\"".into());
            }
            let name = name.to_owned();
            pieces.push(if in_query { Piece::InQuery(name) } else { Piece::InPath(name) });
            rest = tail;
        }
    }

    /// The names of its placeholders.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::InPath(name) | Piece::InQuery(name) => Some(name.as_str()),
            Piece::Literal(_) => None,
        })
    }

    /// The path with all placeholders filled. `value_of` finds a value by name.
    ///
    /// # Errors
    ///
    /// The input with an unusable value, and why.
    pub fn fill<'v>(&self, value_of: impl Fn(&str) -> Option<&'v Value>) -> Result<String, Violation> {
        self.fill_written(value_of, |_| None)
    }

    /// The same; `written` finds the text of a value in the path, encoded, where it is not written in the usual way.
    ///
    /// # Errors
    ///
    /// The input with an unusable value, and why.
    pub fn fill_written<'v>(
        &self,
        value_of: impl Fn(&str) -> Option<&'v Value>,
        written: impl Fn(&str) -> Option<Result<String, String>>,
    ) -> Result<String, Violation> {
        // Enough for nearly all paths with their queries.
        let mut filled = String::with_capacity(128);
        for piece in &self.pieces {
            match piece {
                Piece::Literal(literal) => filled.push_str(literal),
                Piece::InQuery(name) => {
                    if let Some(text) = value_of(name).and_then(scalar) {
                        filled.extend(encoded(&text));
                    }
                }
                Piece::InPath(name) => {
                    let wrong = |message: String| Violation::new(&format!("/{}", escaped(name)), &message);
                    if let Some(text) = written(name) {
                        filled += &text.map_err(wrong)?;
                        continue;
                    }
                    let text = value_of(name).and_then(scalar).unwrap_or_default();
                    segment(&text).map_err(wrong)?;
                    filled.extend(encoded(&text));
                }
            }
        }
        Ok(filled)
    }
}

/// Checks that a text stays one segment of a path.
pub(crate) fn segment(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("A value is needed here: it becomes a part of an address.".into());
    }
    if text.chars().all(|c| c == '.') || text.contains(['/', '\\']) || text.chars().any(char::is_control) {
        return Err("This value becomes a part of an address: slashes, backslashes, control characters and values of \
                    dots alone cannot be in it."
            .into());
    }
    Ok(())
}

/// A scalar value as text.
pub fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(plain(value)),
        _ => None,
    }
}

/// A value as text: a string as it is, anything else as JSON, with integers without a fraction. For JSON Schema `1.0` is
/// an integer, but a site that parses the text "1.0" disagrees.
pub fn plain(value: &Value) -> String {
    /// Integers below this are exact in a float.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if let Value::String(text) = value {
        return text.clone();
    }
    match value.as_f64().filter(|number| value.is_f64() && number.fract() == 0.0 && number.abs() < EXACT) {
        Some(number) => (number as i64).to_string(),
        None => value.to_string(),
    }
}

/// A text encoded for a query or a path.
pub fn encoded(text: &str) -> impl Iterator<Item = &str> {
    utf8_percent_encode(text, RESERVED)
}

/// Members as a query or a form: lists repeat their name, and nested values are JSON.
pub fn pairs<'v>(members: impl IntoIterator<Item = (&'v str, &'v Value)>) -> String {
    let mut out = String::new();
    write_pairs(&mut out, members);
    out
}

/// Appends the same.
pub fn write_pairs<'v>(out: &mut String, members: impl IntoIterator<Item = (&'v str, &'v Value)>) {
    let begun = out.len();
    let mut pair = |name: &str, value: &str| {
        if out.len() > begun {
            out.push('&');
        }
        out.extend(encoded(name));
        out.push('=');
        out.extend(encoded(value));
    };
    for (name, value) in members {
        let each = match value {
            Value::Array(items) => items.as_slice(),
            Value::Null => &[],
            other => std::slice::from_ref(other),
        };
        for value in each {
            pair(name, &plain(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fill(template: &str, input: &Value) -> Result<String, String> {
        let target = Target::parse(template)?;
        target.fill(|name| input.get(name)).map_err(|violation| violation.pointer)
    }

    #[test]
    fn a_value_stays_in_its_place() {
        let input = json!({ "id": "a b?c#d&e=f%2F;x", "n": 7, "yes": true, "deep": {}, "dots": "..", "up": "../x" });
        assert_eq!(fill("/b/{id}/c", &input).unwrap(), "/b/a%20b%3Fc%23d%26e%3Df%252F%3Bx/c");
        assert_eq!(
            fill("/b/{n}.json?q={id}&y={yes}", &input).unwrap(),
            "/b/7.json?q=a%20b%3Fc%23d%26e%3Df%252F%3Bx&y=true"
        );
        for name in ["missing", "deep", "dots", "up"] {
            assert_eq!(fill(&format!("/b/{{{name}}}"), &input), Err(format!("/{name}")));
        }
        for value in ["", ".", "..", "...", "a/b", "a\\b", "a\nb", "\u{0}", "a\u{85}b"] {
            assert!(fill("/{x}", &json!({ "x": value })).is_err(), "{value:?}");
        }
        assert_eq!(fill("https://pay.example/v1/{n}", &input).unwrap(), "https://pay.example/v1/7");
        let whole = json!({ "n": 7.0, "m": -2e3, "f": 7.5, "large": 1e300 });
        assert_eq!(fill("/{n}/{m}?f={f}", &whole).unwrap(), "/7/-2000?f=7.5");
        let large: String = encoded(&whole["large"].to_string()).collect();
        assert_eq!(fill("/{large}", &whole).unwrap(), format!("/{large}"));
        assert_eq!(pairs([("n", &json!([1.0, 0.5])), ("o", &json!({ "x": 1.0 }))]), "n=1&n=0.5&o=%7B%22x%22%3A1.0%7D");
        assert_eq!(fill("/q?a={missing}", &input).unwrap(), "/q?a=");
    }

    #[test]
    fn braces_are_paired_and_hosts_are_fixed() {
        for wrong in ["/a/{", "/a/}", "/a/{}", "/a/{b{c}}", "https://{host}/x", "https://a.{tld}", "/{a/b}"] {
            assert!(Target::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Target::parse("/a/{b}/{c}?d={e}").unwrap().names().collect::<Vec<_>>(), ["b", "c", "e"]);
    }

    #[test]
    fn a_query_repeats_lists_and_leaves_out_nothing_else() {
        let members = json!({ "a": [1, "b&c"], "n": null, "o": { "x": 1 }, "s": "ü", "empty": [] });
        let members = members.as_object().unwrap().iter().map(|(name, value)| (name.as_str(), value));
        assert_eq!(pairs(members), "a=1&a=b%26c&o=%7B%22x%22%3A1%7D&s=%C3%BC");
    }
}
