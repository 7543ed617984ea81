//! The inputs that an input schema names, where `upstream.undeclared = "drop"` leaves out all others.
//!
//! Agents send members that no schema has: the words of a question, ids of their own framework. A site that was
//! imported from a document gets only what the document has.

use std::collections::HashSet;

use frontdesk_config::Capability;
use serde_json::{Map, Value};

/// How deep composed schemas are looked into.
const DEPTH: usize = 8;

/// The declared names.
#[derive(Debug)]
pub(super) struct Declared(HashSet<String>);

impl Declared {
    /// `None`: nothing is left out, because that was not declared, or because the schema takes any name.
    pub(super) fn of(capability: &Capability) -> Option<Self> {
        capability.upstream.as_ref().filter(|call| call.drop_undeclared)?;
        let mut names = HashSet::new();
        collect(capability.input_schema.as_ref()?.as_object()?, &mut names, 0).then_some(Self(names))
    }

    /// Leaves out what is not declared.
    pub(super) fn keep(&self, input: &mut Value) {
        if let Value::Object(members) = input {
            members.retain(|name, _| self.0.contains(name));
        }
    }
}

/// Collects the names of a schema and its parts; whether these are all.
fn collect(schema: &Map<String, Value>, names: &mut HashSet<String>, depth: usize) -> bool {
    let closed = |key: &str| matches!(schema.get(key), None | Some(Value::Bool(false)));
    let opened = schema.contains_key("patternProperties") || schema.contains_key("$ref");
    if depth > DEPTH || opened || !closed("additionalProperties") || !closed("unevaluatedProperties") {
        return false;
    }
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    names.extend(properties.map(|(name, _)| name.clone()));
    let lists = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
    let one = ["if", "then", "else"].into_iter().filter_map(|key| schema.get(key));
    let named = schema.get("dependentSchemas").and_then(Value::as_object).into_iter().flatten().map(|(_, part)| part);
    lists.chain(one).chain(named).filter_map(Value::as_object).all(|part| collect(part, names, depth + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names(schema: Value) -> Option<Vec<String>> {
        let mut names = HashSet::new();
        let all = collect(schema.as_object().unwrap(), &mut names, 0);
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort();
        all.then_some(names)
    }

    #[test]
    fn all_parts_of_a_schema_declare_names() {
        let schema = json!({ "properties": { "a": {} }, "allOf": [{ "properties": { "b": {} } }],
            "oneOf": [{ "properties": { "c": {} }, "additionalProperties": false }], "then": { "properties": { "d": {} } } });
        assert_eq!(names(schema).unwrap(), ["a", "b", "c", "d"]);
        assert_eq!(names(json!({ "type": "object" })).unwrap(), Vec::<String>::new());
        for open in [
            json!({ "additionalProperties": true }),
            json!({ "additionalProperties": {} }),
            json!({ "patternProperties": {} }),
            json!({ "allOf": [{ "unevaluatedProperties": true }] }),
        ] {
            assert_eq!(names(open.clone()), None, "{open}");
        }
    }
}
