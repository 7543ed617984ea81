//! Writes one value as a parameter, in the styles of OpenAPI (those of RFC 6570, `deepObject`, and two more
//! delimiters).
//!
//! Delimiters inside a value are percent-encoded, so that a value stays one value. What the standard leaves open is
//! written in the most common way: a list inside `deepObject` as `name[0]=`, a nested value inside a list as JSON.

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::target::{encoded, plain, segment};

/// A style, and whether each part of a value gets its own name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    kind: Kind,
    explode: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Form,
    Space,
    Pipe,
    Deep,
    Simple,
    Label,
    Matrix,
    Json,
}

/// Maximum depth of nested values in `deepObject`.
const DEEPEST: usize = 16;

impl Style {
    /// A style by its name in OpenAPI; `json` is the value as JSON text. Only `form` explodes by default.
    pub fn named(name: &str, explode: Option<bool>) -> Option<Self> {
        let kind = match name {
            "form" => Kind::Form,
            "spaceDelimited" => Kind::Space,
            "pipeDelimited" => Kind::Pipe,
            "deepObject" => Kind::Deep,
            "simple" => Kind::Simple,
            "label" => Kind::Label,
            "matrix" => Kind::Matrix,
            "json" => Kind::Json,
            _ => return None,
        };
        Some(Self { kind, explode: explode.unwrap_or(kind == Kind::Form) })
    }

    /// The names that the members of an object get of their own, so that they could be another parameter's.
    pub fn spreads<'v>(&self, value: &'v Value) -> impl Iterator<Item = &'v str> {
        let spread = self.explode && matches!(self.kind, Kind::Form | Kind::Space | Kind::Pipe);
        let members = value.as_object().filter(|_| spread);
        members.into_iter().flatten().map(|(name, _)| name.as_str())
    }

    /// Appends a value to a query or a form as pairs, with `&` between them.
    ///
    /// # Errors
    ///
    /// A sentence: the value cannot be written in this style.
    pub fn write_pairs(&self, out: &mut String, name: &str, value: &Value) -> Result<(), String> {
        let delimiter = match self.kind {
            Kind::Deep => return deep(out, &name_of(name), value, 0),
            Kind::Json => {
                if !value.is_null() {
                    pair(out, &name_of(name), &text_of(&value.to_string()));
                }
                return Ok(());
            }
            Kind::Space => "%20",
            Kind::Pipe => "%7C",
            _ => ",",
        };
        match value {
            Value::Null => {}
            Value::Array(items) if self.explode => {
                items.iter().for_each(|item| pair(out, &name_of(name), &text_of(&plain(item))));
            }
            Value::Object(members) if self.explode => {
                members.iter().for_each(|(key, value)| pair(out, &name_of(key), &text_of(&plain(value))));
            }
            // An empty list has no value at all, not an empty one.
            Value::Array(items) if items.is_empty() => {}
            Value::Object(members) if members.is_empty() => {}
            value => pair(out, &name_of(name), &parts(value, false).join(delimiter)),
        }
        Ok(())
    }

    /// A value as one segment of a path, with the style's prefix.
    ///
    /// # Errors
    ///
    /// A sentence: there is no value, or it would be more than one segment.
    pub fn in_path(&self, name: &str, value: &Value) -> Result<String, String> {
        let each: Vec<&Value> = match value {
            Value::Null => Vec::new(),
            Value::Array(items) => items.iter().collect(),
            Value::Object(members) => members.values().collect(),
            one => vec![one],
        };
        if each.is_empty() {
            return segment("").map(|()| String::new());
        }
        each.into_iter().try_for_each(|part| segment(&plain(part)))?;
        for name in value.as_object().into_iter().flatten().map(|(name, _)| name) {
            segment(name)?;
        }
        let is_list = value.is_array();
        let name = name_of(name);
        Ok(match (self.kind, self.explode) {
            (Kind::Json, _) => text_of(&value.to_string()),
            (Kind::Label, explode) => format!(".{}", parts(value, explode).join(if explode { "." } else { "," })),
            (Kind::Matrix, true) if is_list => {
                parts(value, false).iter().map(|part| format!(";{name}={part}")).collect()
            }
            (Kind::Matrix, true) if value.is_object() => {
                parts(value, true).iter().map(|part| format!(";{part}")).collect()
            }
            (Kind::Matrix, _) => format!(";{name}={}", parts(value, false).join(",")),
            (_, explode) => parts(value, explode).join(","),
        })
    }

    /// A value as the text of a header; `None`: the header is left out.
    pub fn in_header(&self, value: &Value) -> Option<String> {
        let text = |value: &Value| plain(value);
        Some(match value {
            Value::Null => return None,
            value if self.kind == Kind::Json => value.to_string(),
            Value::Array(items) if items.is_empty() => return None,
            Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(","),
            Value::Object(members) => {
                let between = if self.explode { "=" } else { "," };
                members
                    .iter()
                    .map(|(key, value)| format!("{key}{between}{}", text(value)))
                    .collect::<Vec<_>>()
                    .join(",")
            }
            one => text(one),
        })
    }
}

/// The encoded parts of a value; with `equals`, each member of an object is one part, else two.
fn parts(value: &Value, equals: bool) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().map(|item| text_of(&plain(item))).collect(),
        Value::Object(members) if equals => {
            members.iter().map(|(key, value)| format!("{}={}", name_of(key), text_of(&plain(value)))).collect()
        }
        Value::Object(members) => {
            members.iter().flat_map(|(key, value)| [name_of(key), text_of(&plain(value))]).collect()
        }
        one => vec![text_of(&plain(one))],
    }
}

/// Writes `name[key]=value` for each value in it.
fn deep(out: &mut String, name: &str, value: &Value, depth: usize) -> Result<(), String> {
    if depth > DEEPEST {
        return Err("This nests too deep to be written into an address.".into());
    }
    match value {
        Value::Null => Ok(()),
        Value::Object(members) => members.iter().try_for_each(|(key, value)| {
            if key.contains(['[', ']', '\0']) {
                return Err("A name in here has a bracket in it, which the site would misread.".to_owned());
            }
            deep(out, &format!("{name}%5B{}%5D", name_of(key)), value, depth + 1)
        }),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(at, value)| deep(out, &format!("{name}%5B{at}%5D"), value, depth + 1)),
        one => {
            pair(out, name, &text_of(&plain(one)));
            Ok(())
        }
    }
}

/// Appends a pair of encoded texts.
fn pair(out: &mut String, name: &str, value: &str) {
    if !out.is_empty() && !out.ends_with(['?', '&']) {
        out.push('&');
    }
    out.push_str(name);
    out.push('=');
    out.push_str(value);
}

fn name_of(name: &str) -> String {
    encoded(name).collect()
}

fn text_of(text: &str) -> String {
    encoded(text).collect()
}
