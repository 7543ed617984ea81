//! JSON Schemas that validate inputs, compiled once.
//!
//! A library validates (2020-12 and draft-07, by `$schema`). This module adds three things: references resolve only
//! within the declaration and never over the network, patterns run in linear time, and messages do not repeat the
//! input.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Value};

pub use crate::violation::Violation;
use crate::{
    exact_numbers,
    expand::{Counted, Named, TO_JUDGE, TO_READ, expanded},
    strict,
};

/// Maximum violations that are reported for one input.
pub const MOST_VIOLATIONS: usize = 20;

/// A compiled schema.
#[derive(Debug)]
pub struct Schema {
    validator: Validator,
    /// The types of members that arrive as text, in a path or a query.
    texts: BTreeMap<String, Text>,
}

/// The type that a text is converted to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Text {
    #[default]
    String,
    Integer,
    Number,
    Boolean,
    List(Box<Text>),
    /// As JSON.
    Object,
}

/// The schemas that references can resolve to.
pub struct Referred {
    named: Map<String, Value>,
    document: Option<Value>,
    counted: Counted,
}

impl Named for Referred {
    fn find(&self, reference: &str) -> Option<&Value> {
        match reference.strip_prefix("#/schemas/") {
            Some(name) => self.named.get(name),
            None => self.document.as_ref()?.pointer(reference.strip_prefix('#')?),
        }
    }
}

impl Referred {
    /// Schemas by name, and an OpenAPI document whose components are JSON Schemas.
    pub fn new(named: Map<String, Value>, document: Option<Value>) -> Self {
        Self { named, document, counted: Counted::default() }
    }

    /// A self-contained form of a schema. Where references are cyclic or deep, the deeper parts accept anything; a
    /// schema with an unresolved reference accepts anything as a whole.
    pub fn alone(&self, schema: Value) -> Value {
        if !refers(&schema) {
            return schema;
        }
        expanded(&schema, self, &self.counted, TO_READ).unwrap_or_else(|_| Value::Object(Map::new()))
    }

    /// The types of all members, across references and composed schemas.
    fn texts(&self, schema: &Value, texts: &mut BTreeMap<String, Text>, depth: usize) {
        if depth > 8 {
            return;
        }
        for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            texts.entry(name.clone()).or_insert_with(|| self.text(member, 0));
        }
        if let Some(next) = schema.get("$ref").and_then(Value::as_str).and_then(|reference| self.find(reference)) {
            self.texts(next, texts, depth + 1);
        }
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.texts(part, texts, depth + 1);
        }
    }

    /// The type of a member, across a bounded number of references, since a schema may refer to itself.
    fn text(&self, schema: &Value, depth: usize) -> Text {
        self.known_text(schema, depth).unwrap_or_default()
    }

    /// The type, where one can be found. Without `type`, it is that of the first alternative with one (generators
    /// write an optional number as `anyOf` a number and null), or of the first enumerated value.
    fn known_text(&self, schema: &Value, depth: usize) -> Option<Text> {
        if depth > 2 {
            return None;
        }
        let mut schema = schema;
        for _ in 0..8 {
            match schema.get("$ref").and_then(Value::as_str).and_then(|reference| self.find(reference)) {
                Some(next) => schema = next,
                None => break,
            }
        }
        let kinds = match &schema["type"] {
            Value::Array(kinds) => kinds.as_slice(),
            kind => std::slice::from_ref(kind),
        };
        Some(match kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null") {
            Some("integer") => Text::Integer,
            Some("number") => Text::Number,
            Some("boolean") => Text::Boolean,
            Some("array") => {
                let each = schema.get("items").map(|items| self.text(items, depth + 1));
                Text::List(Box::new(each.unwrap_or_default()))
            }
            Some("object") => Text::Object,
            Some(_) => Text::String,
            None => {
                let all = |key| schema.get(key).and_then(Value::as_array).into_iter().flatten();
                let mut parts = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(all);
                let of_part = parts.find_map(|part| self.known_text(part, depth + 1));
                return of_part.or_else(|| all("enum").chain(schema.get("const")).find_map(of_value));
            }
        })
    }
}

/// The type of a value.
fn of_value(value: &Value) -> Option<Text> {
    match value {
        Value::Null | Value::Array(_) => None,
        Value::Number(number) => Some(if number.is_f64() { Text::Number } else { Text::Integer }),
        Value::Bool(_) => Some(Text::Boolean),
        Value::String(_) => Some(Text::String),
        Value::Object(_) => Some(Text::Object),
    }
}

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in a sentence for the operator.
    pub fn compile(schema: &Value, referred: &Referred) -> Result<Self, String> {
        let whole = expanded(schema, referred, &referred.counted, TO_JUDGE)?;
        let validator = jsonschema::options()
            .offline()
            .with_pattern_options(PatternOptions::regex())
            .should_validate_formats(true)
            .build(&whole)
            .map_err(|e| {
                let place = e.instance_path().to_string();
                let place = if place.is_empty() { String::new() } else { format!(" (at {place})") };
                format!("{}{place}", e.masked_with("what is written there"))
            })?;
        let mut texts = BTreeMap::new();
        referred.texts(schema, &mut texts, 0);
        Ok(Self { validator, texts })
    }

    /// Validates an input.
    ///
    /// # Errors
    ///
    /// The violations, up to the maximum.
    pub fn check(&self, input: &Value) -> Result<(), Vec<Violation>> {
        if self.validator.is_valid(input) {
            return Ok(());
        }
        let violation = |error: jsonschema::ValidationError<'_>| {
            Violation::new(error.instance_path().as_str(), &error.masked_with("this value").to_string())
        };
        Err(self.validator.iter_errors(input).take(MOST_VIOLATIONS).map(violation).collect())
    }

    /// Converts a member that came as text, once or several times. Text that does not convert stays text, and fails
    /// validation.
    pub fn read(&self, name: &str, values: Vec<String>) -> Value {
        read(self.texts.get(name).unwrap_or(&Text::String), values)
    }
}

/// Whether it contains a reference, or a member of that name.
fn refers(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.contains_key("$ref") || members.values().any(refers),
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}

/// Whether a schema has definitions, and all its references lead to these.
pub fn is_self_contained(schema: &Value) -> bool {
    let defines = ["$defs", "definitions"].into_iter().any(|key| schema.get(key).is_some_and(Value::is_object));
    defines && refers_to_itself(schema)
}

fn refers_to_itself(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().all(|(key, value)| match (key.as_str(), value) {
            ("$ref" | "$dynamicRef", Value::String(to)) => {
                let anchor = to.strip_prefix('#').is_some_and(|name| !name.contains('/'));
                anchor || to.starts_with("#/$defs/") || to.starts_with("#/definitions/")
            }
            _ => refers_to_itself(value),
        }),
        Value::Array(items) => items.iter().all(refers_to_itself),
        _ => true,
    }
}

/// Converts a member of unknown type.
pub fn read_untyped(values: Vec<String>) -> Value {
    read(&Text::String, values)
}

/// An integral number in integer form: sites accept `100`, and not `1e2` or `100.0`.
fn whole(number: Value) -> Option<Value> {
    let spelled = match number.as_f64().filter(|_| number.is_f64()) {
        #[expect(clippy::cast_possible_truncation, reason = "whole, and within what a float holds exactly")]
        Some(float) if float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0 => (float as i64).into(),
        _ => number,
    };
    spelled.is_number().then_some(spelled)
}

fn read(kind: &Text, mut values: Vec<String>) -> Value {
    if let Text::List(each) = kind {
        return values.into_iter().map(|value| read(each, vec![value])).collect();
    }
    let [value] = &mut values[..] else { return values.into_iter().collect() };
    let value = std::mem::take(value);
    let parsed = match kind {
        Text::Integer | Text::Number if !exact_numbers::is_exact(value.as_bytes()) => None,
        Text::Integer => serde_json::from_str(&value).ok().and_then(whole),
        Text::Number => serde_json::from_str(&value).ok().filter(Value::is_number),
        Text::Boolean => value.parse().ok().map(Value::Bool),
        Text::Object => strict::read(value.as_bytes()).ok().filter(Value::is_object),
        Text::String | Text::List(_) => None,
    };
    parsed.unwrap_or(Value::String(value))
}
