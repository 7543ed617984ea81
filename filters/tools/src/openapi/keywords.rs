//! Values of schema keywords in the form that a declaration takes: without null, which TOML lacks, and without
//! duplicates. What would be replaced from the environment is recognised.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

/// Whether it is a type of JSON Schema.
pub(super) fn is_type(kind: &Value) -> bool {
    let known = ["string", "number", "integer", "boolean", "object", "array", "null"];
    kind.as_str().is_some_and(|kind| known.contains(&kind))
}

/// The same without duplicates, which documents contain and JSON Schema forbids.
pub(super) fn each_once(value: &Value) -> Value {
    match value {
        Value::Array(names) => {
            let mut seen = HashSet::new();
            names.iter().filter(|name| seen.insert(name.as_str())).cloned().collect()
        }
        Value::Object(lists) => lists.iter().map(|(name, list)| (name.clone(), each_once(list))).collect(),
        one => one.clone(),
    }
}

/// Whether a string in it would be replaced from the environment.
pub(super) fn looks_up(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("${"),
        Value::Array(items) => items.iter().any(looks_up),
        Value::Object(map) => map.values().any(looks_up),
        _ => false,
    }
}

/// Replaces null in an enumeration by the null type, since TOML has no null.
pub(super) fn without_null(map: &mut Map<String, Value>) {
    if map.get("const").is_some_and(Value::is_null) {
        map.remove("const");
        map.insert("type".into(), "null".into());
    }
    let Some(Value::Array(choices)) = map.get_mut("enum") else { return };
    let all = choices.len();
    choices.retain(|choice| !choice.is_null());
    match (choices.len(), all) {
        (0, 0) => drop(map.remove("enum")),
        (0, _) => {
            map.remove("enum");
            map.insert("type".into(), "null".into());
        }
        (left, all) if left < all => {
            let Some(choices) = map.remove("enum") else { return };
            let either = json!([{"enum": choices}, {"type": "null"}]);
            if let Some(Value::Array(parts)) = map.get_mut("allOf") {
                parts.push(json!({"anyOf": either}));
            } else if map.contains_key("anyOf") {
                map.insert("allOf".into(), json!([{"anyOf": either}]));
            } else {
                map.insert("anyOf".into(), either);
            }
        }
        _ => {}
    }
}

/// The target of a reference, merged with its sibling keywords.
pub(super) fn beside(there: Value, beside: Map<String, Value>) -> Value {
    const TOLD: [&str; 5] = ["title", "description", "default", "deprecated", "readOnly"];
    match there {
        there if beside.is_empty() => there,
        Value::Object(mut map) if beside.keys().all(|key| TOLD.contains(&key.as_str()) || !map.contains_key(key)) => {
            map.extend(beside);
            Value::Object(map)
        }
        there => json!({"allOf": [there, beside]}),
    }
}
