//! The fields of a body, if they can be inputs of their own beside the parameters.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::input_name::is_input;

/// The fields of an object.
pub(super) struct Fields {
    pub(super) properties: Map<String, Value>,
    pub(super) required: BTreeSet<String>,
    /// Keywords that concern the whole object.
    pub(super) more: Map<String, Value>,
}

/// Keywords of a body's schema that do not concern its fields.
const TOLD: [&str; 7] = ["type", "title", "description", "default", "deprecated", "readOnly", "writeOnly"];
/// How deep a schema is looked into.
const DEPTH: usize = 8;

impl Fields {
    /// `None`: it is no object, or one whose fields the document does not name.
    pub(super) fn of(schema: &Value) -> Option<Self> {
        let mut fields = Self { properties: Map::new(), required: BTreeSet::new(), more: Map::new() };
        (fields.collect(schema.clone(), 0) && fields.is_closed()).then_some(fields)
    }

    fn collect(&mut self, schema: Value, depth: usize) -> bool {
        let Value::Object(mut map) = schema else { return false };
        if depth > DEPTH || map.contains_key("$ref") {
            return false;
        }
        if let Some(inner) = not_null(&mut map) {
            return self.collect(inner, depth + 1);
        }
        if !is_object_map(&map) {
            return false;
        }
        let mut named = map.contains_key("properties");
        for part in parts(&mut map).into_iter().flatten() {
            if !self.collect(part, depth + 1) {
                return false;
            }
            named = true;
        }
        if let Some(Value::Object(properties)) = map.remove("properties") {
            let own = properties.into_iter().filter(|(_, schema)| schema["readOnly"] != true);
            self.properties.extend(own);
        }
        if let Some(Value::Array(required)) = map.remove("required") {
            self.required.extend(required.iter().filter_map(Value::as_str).map(str::to_owned));
        }
        map.retain(|key, _| !TOLD.contains(&key.as_str()));
        self.more.extend(map);
        named
    }

    /// Whether no other fields are meant.
    fn is_closed(&self) -> bool {
        self.more.iter().all(|(key, value)| match key.as_str() {
            "additionalProperties" | "unevaluatedProperties" => *value == Value::Bool(false),
            "patternProperties" | "propertyNames" => false,
            _ => true,
        })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.properties.keys().map(String::as_str)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.properties.is_empty()
    }

    /// Whether the fields can stand beside parameters without a change of meaning. `plain`: the names of parameters;
    /// `renamed`: the document's names for those that have another.
    pub(super) fn is_apart_from(&self, plain: &BTreeSet<&str>, renamed: &BTreeSet<&str>) -> bool {
        let is_renamed = self.names().any(|name| !is_input(name) || plain.contains(name));
        let others: BTreeSet<&str> = plain.union(renamed).copied().collect();
        let mut conditions = self.more.iter().filter(|(key, _)| key.as_str() != "additionalProperties");
        conditions.all(|(key, value)| match key.as_str() {
            // These count all members.
            "minProperties" | "maxProperties" | "unevaluatedProperties" => others.is_empty(),
            // These name members.
            _ => !is_renamed && (others.is_empty() || !closes(value, &others, 0)),
        }) && !self.names().any(|name| renamed.contains(name))
    }
}

/// Whether a condition concerns members besides those that it names, or one of these.
fn closes(schema: &Value, others: &BTreeSet<&str>, depth: usize) -> bool {
    const COUNTING: [&str; 6] = [
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
        "patternProperties",
        "minProperties",
        "maxProperties",
    ];
    if depth > DEPTH {
        return true;
    }
    match schema {
        Value::Array(items) => items.iter().any(|item| closes(item, others, depth + 1)),
        Value::Object(map) => map.iter().any(|(key, value)| match key.as_str() {
            key if COUNTING.contains(&key) => true,
            "properties" => value.as_object().is_some_and(|map| map.keys().any(|name| others.contains(name.as_str()))),
            "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" => closes(value, others, depth + 1),
            _ => false,
        }),
        _ => false,
    }
}

/// A name in a value that some clients of MCP refuse.
pub(super) fn refused_name(schema: &Value, depth: usize) -> Option<String> {
    if depth > DEPTH {
        return None;
    }
    match schema {
        Value::Array(items) => items.iter().find_map(|item| refused_name(item, depth + 1)),
        Value::Object(map) => map.iter().find_map(|(key, value)| match key.as_str() {
            "properties" => {
                let named = value.as_object()?;
                let refused = named.keys().find(|name| !is_input(name)).cloned();
                refused.or_else(|| named.values().find_map(|value| refused_name(value, depth + 1)))
            }
            "items" | "allOf" | "anyOf" | "oneOf" => refused_name(value, depth + 1),
            _ => None,
        }),
        _ => None,
    }
}

/// The other alternative of a choice with null.
fn not_null(map: &mut Map<String, Value>) -> Option<Value> {
    let Some(Value::Array(choices)) = map.get_mut("anyOf") else { return None };
    let null = choices.iter().position(|choice| *choice == json!({"type": "null"}))?;
    (choices.len() == 2).then(|| choices.swap_remove(1 - null))
}

/// Whether a schema takes objects.
pub(super) fn is_object(schema: &Value) -> bool {
    schema.as_object().is_some_and(is_object_map)
}

fn is_object_map(map: &Map<String, Value>) -> bool {
    match map.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        // Alternatives without a type can be anything.
        _ => ["properties", "required", "allOf"].iter().any(|key| map.contains_key(*key)),
    }
}

/// The parts of an object described by `allOf`, if they can be merged.
fn parts(map: &mut Map<String, Value>) -> Option<Vec<Value>> {
    let known = |part: &Value| {
        let plain = |key: &String| TOLD.contains(&key.as_str()) || matches!(key.as_str(), "properties" | "required");
        part.as_object().is_some_and(|part| part.keys().all(plain) && is_object_map(part))
    };
    if !map.get("allOf")?.as_array()?.iter().all(known) {
        return None;
    }
    match map.remove("allOf") {
        Some(Value::Array(parts)) => Some(parts),
        _ => None,
    }
}
