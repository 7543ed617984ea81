//! Converts the schemas of OpenAPI 3.0 to JSON Schema 2020-12, which OpenAPI 3.1 uses already.
//!
//! OpenAPI 3.0 changed an early JSON Schema: a flag makes a value nullable, another makes a bound exclusive, and
//! siblings of a reference are ignored. Keywords that only document (`xml`, `discriminator`, examples) are dropped.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

/// Keywords that hold one schema.
pub const ONE: &[&str] = &[
    "items",
    "additionalProperties",
    "additionalItems",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords that hold a list of schemas.
pub const LIST: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords that hold schemas by name.
pub const NAMED: &[&str] = &["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];
/// Those among them that only hold definitions.
pub const DEFINED: &[&str] = &["$defs", "definitions"];
/// Keywords that callers do not need.
const IDLE: &[&str] = &["example", "examples", "discriminator", "xml", "externalDocs", "$schema", "$comment"];

/// A document's `components.schemas` in JSON Schema 2020-12, by name. References are unchanged.
pub fn normalised(document: &Value) -> Value {
    let old = is_3_0(document);
    let schemas = document.pointer("/components/schemas").and_then(Value::as_object);
    let each = schemas.into_iter().flatten();
    Value::Object(each.map(|(name, schema)| (name.clone(), whole(schema, old, DEEPEST))).collect())
}

/// Maximum depth, more than any known document has.
const DEEPEST: usize = 256;

/// Whether a document's schemas are those of OpenAPI 3.0.
pub fn is_3_0(document: &Value) -> bool {
    document["openapi"].as_str().is_some_and(|version| version == "3.0" || version.starts_with("3.0."))
        || document["openapi"].as_f64() == Some(3.0)
}

/// A schema and all schemas in it.
fn whole(schema: &Value, old: bool, depth: usize) -> Value {
    let Value::Object(map) = schema else { return schema.clone() };
    if depth == 0 {
        return json!({});
    }
    let below = |value: &Value| whole(value, old, depth - 1);
    let map = node(map, old);
    let kept = map.iter().filter(|(key, _)| !IDLE.contains(&key.as_str()) && !key.starts_with("x-"));
    let each = kept.map(|(key, value)| {
        let value = match value {
            Value::Object(map) if NAMED.contains(&key.as_str()) => {
                Value::Object(map.iter().map(|(name, schema)| (name.clone(), below(schema))).collect())
            }
            Value::Array(items) if LIST.contains(&key.as_str()) || ONE.contains(&key.as_str()) => {
                items.iter().map(below).collect()
            }
            value if ONE.contains(&key.as_str()) => below(value),
            value => value.clone(),
        };
        (key.clone(), value)
    });
    Value::Object(each.collect())
}

/// One schema without its sub-schemas. Most need no change and are borrowed.
pub fn node(schema: &Map<String, Value>, old: bool) -> Cow<'_, Map<String, Value>> {
    if let (true, Some(reference)) = (old && schema.len() > 1, schema.get("$ref")) {
        return Cow::Owned(Map::from_iter([("$ref".into(), reference.clone())]));
    }
    let mut map = Cow::Borrowed(schema);
    if let Some(required) = required_both_ways(schema) {
        map.to_mut().insert("required".into(), required.into());
    }
    if !old {
        return map;
    }
    for (inclusive, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        if schema.get(exclusive).is_some_and(Value::is_boolean) {
            bound(map.to_mut(), inclusive, exclusive);
        }
    }
    if schema.contains_key("nullable") && map.to_mut().remove("nullable") == Some(Value::Bool(true)) {
        return Cow::Owned(nullable(map.into_owned()));
    }
    map
}

/// `exclusiveMinimum: true` excludes `minimum` itself.
fn bound(map: &mut Map<String, Value>, inclusive: &str, exclusive: &str) {
    match map.get(exclusive) {
        Some(Value::Bool(true)) => {
            map.remove(exclusive);
            if let Some(limit) = map.remove(inclusive) {
                map.insert(exclusive.into(), limit);
            }
        }
        Some(Value::Bool(false)) => drop(map.remove(exclusive)),
        _ => {}
    }
}

/// The required members without read-only ones, which a caller does not send, and write-only ones, which an answer
/// lacks; `None` if nothing changes.
fn required_both_ways(map: &Map<String, Value>) -> Option<Vec<Value>> {
    let (properties, required) = (map.get("properties")?.as_object()?, map.get("required")?.as_array()?);
    let one_way = |name: &Value| {
        let property = name.as_str().and_then(|name| properties.get(name));
        property.is_some_and(|schema| schema["readOnly"] == true || schema["writeOnly"] == true)
    };
    required.iter().any(one_way).then(|| required.iter().filter(|name| !one_way(name)).cloned().collect())
}

/// The same, or null.
fn nullable(mut map: Map<String, Value>) -> Map<String, Value> {
    let plain = !["allOf", "anyOf", "oneOf", "not", "enum", "const", "$ref"].iter().any(|key| map.contains_key(*key));
    if let (true, Some(kind @ Value::String(_))) = (plain, map.get_mut("type")) {
        *kind = json!([kind.take(), "null"]);
        return map;
    }
    if map.is_empty() {
        return map;
    }
    // Descriptions of the value stay at the top level, where people look for them.
    let mut outside = Map::new();
    for key in ["title", "description", "default", "deprecated", "readOnly", "writeOnly"] {
        outside.extend(map.remove_entry(key));
    }
    outside.insert("anyOf".into(), json!([map, {"type": "null"}]));
    outside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(version: &str, schema: Value) -> Value {
        normalised(&json!({"openapi": version, "components": {"schemas": {"X": schema}}}))["X"].take()
    }

    #[test]
    fn what_3_0_says_in_its_own_way() {
        for (old, new) in [
            (json!({"type": "string", "nullable": true}), json!({"type": ["string", "null"]})),
            (json!({"type": "string", "nullable": false}), json!({"type": "string"})),
            (
                json!({"type": "string", "enum": ["a"], "nullable": true, "description": "d"}),
                json!({"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}], "description": "d"}),
            ),
            (
                json!({"allOf": [{"$ref": "#/a"}], "nullable": true}),
                json!({"anyOf": [{"allOf": [{"$ref": "#/a"}]}, {"type": "null"}]}),
            ),
            (json!({"minimum": 1, "exclusiveMinimum": true}), json!({"exclusiveMinimum": 1})),
            (json!({"maximum": 1, "exclusiveMaximum": false}), json!({"maximum": 1})),
            (json!({"$ref": "#/a", "description": "does not count"}), json!({"$ref": "#/a"})),
            (json!({"example": 1, "xml": {}, "x-y": 1, "externalDocs": {}, "discriminator": {}}), json!({})),
        ] {
            assert_eq!(one("3.0.3", old.clone()), new, "{old}");
        }
    }

    #[test]
    fn a_property_may_be_called_like_a_keyword() {
        let schema = json!({"properties": {"example": {"type": "string", "nullable": true}, "xml": {}, "enum": {}}});
        let expected = json!({"properties": {"example": {"type": ["string", "null"]}, "xml": {}, "enum": {}}});
        assert_eq!(one("3.0.0", schema), expected);
        let data = json!({"default": {"nullable": true, "example": 1}, "enum": [{"xml": 1}]});
        assert_eq!(one("3.0.0", data.clone()), data);
    }

    #[test]
    fn what_3_1_says_is_left_as_it_is() {
        let schema = json!({"type": ["string", "null"], "exclusiveMinimum": 1, "$ref": "#/a", "nullable": 1});
        assert_eq!(one("3.1.0", schema.clone()), schema);
    }

    #[test]
    fn what_goes_one_way_is_not_required() {
        let schema = json!({"required": ["id", "n"], "properties": {"id": {"readOnly": true}, "n": {}}});
        assert_eq!(one("3.1.0", schema)["required"], json!(["n"]));
        assert_eq!(normalised(&json!({})), json!({}));
    }
}
