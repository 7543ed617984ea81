//! An example of an input that a JSON Schema describes: its required members, by what the schema says of them.

use serde_json::{Map, Value, json};

/// Maximum depth of an example.
const DEEPEST: usize = 8;

/// An example.
pub(super) fn sample(schema: &Value) -> Value {
    at(schema, schema, 0)
}

fn at(schema: &Value, root: &Value, depth: usize) -> Value {
    if depth > DEEPEST {
        return Value::Null;
    }
    if let Some(pointer) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'))
        && let Some(target) = root.pointer(pointer)
    {
        return at(target, root, depth + 1);
    }
    for key in ["const", "default", "example"] {
        if let Some(value) = schema.get(key) {
            return value.clone();
        }
    }
    for key in ["examples", "enum"] {
        if let Some(value) = schema[key].as_array().and_then(|values| values.first()) {
            return value.clone();
        }
    }
    for key in ["allOf", "oneOf", "anyOf"] {
        if let Some(first) = schema[key].as_array().and_then(|schemas| schemas.first())
            && schema.get("properties").is_none()
        {
            return at(first, root, depth + 1);
        }
    }
    let kind = match &schema["type"] {
        Value::String(kind) => kind.as_str(),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or_default(),
        _ => "object",
    };
    match kind {
        "object" => {
            let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
            let members = required.iter().filter_map(Value::as_str);
            members
                .map(|name| (name.to_owned(), at(&schema["properties"][name], root, depth + 1)))
                .collect::<Map<_, _>>()
                .into()
        }
        "array" => {
            let least = schema["minItems"].as_u64().unwrap_or(0).min(3);
            (0..least).map(|_| at(&schema["items"], root, depth + 1)).collect()
        }
        "integer" | "number" => number(schema),
        "boolean" => true.into(),
        "null" => Value::Null,
        _ => text(schema),
    }
}

fn number(schema: &Value) -> Value {
    let least = schema["minimum"].as_i64().or_else(|| schema["exclusiveMinimum"].as_i64().map(|n| n + 1));
    let most = schema["maximum"].as_i64().unwrap_or(i64::MAX);
    json!(least.unwrap_or(1).min(most))
}

fn text(schema: &Value) -> Value {
    let known = match schema["format"].as_str().unwrap_or_default() {
        "date" => "2030-01-15",
        "date-time" => "2030-01-15T12:00:00Z",
        "time" => "12:00:00Z",
        "email" => "name@example.com",
        "uri" | "url" => "https://example.com/",
        "uuid" => "3f2b8c1e-5a4d-4e6f-9b7a-1c2d3e4f5a6b",
        _ => "text",
    };
    let least = usize::try_from(schema["minLength"].as_u64().unwrap_or(0)).unwrap_or(0).min(200);
    let most = usize::try_from(schema["maxLength"].as_u64().unwrap_or(200)).unwrap_or(200);
    let padded: String = known.chars().chain(std::iter::repeat('x')).take(known.len().max(least).min(most)).collect();
    padded.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_required_members_are_filled_by_what_the_schema_says() {
        let schema = json!({
            "type": "object",
            "required": ["a", "b", "c", "d", "e", "f"],
            "properties": {
                "a": { "type": "string", "examples": ["MAD"] },
                "b": { "enum": ["x", "y"] },
                "c": { "type": "integer", "minimum": 5 },
                "d": { "type": "string", "format": "date" },
                "e": { "type": "array", "minItems": 1, "items": { "type": ["null", "boolean"] } },
                "f": { "$ref": "#/$defs/f" },
                "g": { "type": "string" },
            },
            "$defs": { "f": { "type": "string", "minLength": 6, "maxLength": 6 } },
        });
        assert_eq!(
            sample(&schema),
            json!({ "a": "MAD", "b": "x", "c": 5, "d": "2030-01-15", "e": [true], "f": "textxx" })
        );
    }

    #[test]
    fn a_schema_that_names_itself_ends() {
        let schema = json!({ "type": "object", "required": ["a"], "properties": { "a": { "$ref": "#" } } });
        assert!(sample(&schema).is_object());
        assert_eq!(sample(&json!({})), json!({}));
    }
}
