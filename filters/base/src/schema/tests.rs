//! Validation, conversion of text, self-contained forms, and schemas that are refused at load.

use super::*;
use serde_json::json;

fn referred(named: Value, document: Option<Value>) -> Referred {
    Referred::new(named.as_object().cloned().unwrap(), document)
}

fn compiled(schema: Value) -> Schema {
    Schema::compile(&schema, &referred(json!({}), None)).unwrap()
}

#[test]
fn both_drafts_and_references_are_understood() {
    let named = json!({
        "Money": { "type": "object", "required": ["amount"], "properties": { "amount": { "type": "number" } } },
        "a b/c": { "type": "string", "$defs": { "x": { "type": "boolean" } } },
    });
    let document = json!({ "components": { "schemas": {
        "Pet": { "type": "object", "properties": { "owner": { "$ref": "#/components/schemas/Owner" } } },
        "Owner": { "type": "string", "minLength": 2 },
    } } });
    let referred = referred(named, Some(document));
    let schema = json!({ "type": "object", "properties": {
        "price": { "$ref": "#/schemas/Money" }, "pet": { "$ref": "#/components/schemas/Pet" },
        "n": { "$ref": "#/$defs/n" },
    }, "$defs": { "n": { "type": "integer" } } });
    let schema = Schema::compile(&schema, &referred).unwrap();
    assert!(schema.check(&json!({ "price": { "amount": 1 }, "pet": { "owner": "ab" }, "n": 1 })).is_ok());
    let wrong = schema.check(&json!({ "price": {}, "pet": { "owner": "a" }, "n": "secret-value" })).unwrap_err();
    let mut pointers: Vec<_> = wrong.iter().map(|v| v.pointer.as_str()).collect();
    pointers.sort_unstable();
    assert_eq!(pointers, ["/n", "/pet/owner", "/price"]);
    assert!(wrong.iter().all(|v| !v.message.contains("secret-value")), "{wrong:?}");
    let old = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
        "properties": { "pair": { "type": "array", "items": [{ "type": "string" }, { "type": "number" }] } } });
    let old = compiled(old);
    assert!(old.check(&json!({ "pair": ["a", 1] })).is_ok() && old.check(&json!({ "pair": [1, "a"] })).is_err());
}

#[test]
fn what_cannot_be_judged_safely_is_refused_at_load() {
    for schema in [
        json!({ "type": "objekt" }),
        json!({ "properties": { "x": { "pattern": "(?=a)b" } } }),
        json!({ "$ref": "https://elsewhere.example/schema.json" }),
        json!({ "$ref": "file:///etc/passwd" }),
        json!({ "$ref": "#/schemas/Missing" }),
    ] {
        assert!(Schema::compile(&schema, &referred(json!({}), None)).is_err(), "{schema}");
    }
}

#[test]
fn text_is_read_as_what_is_due() {
    let schema = compiled(json!({ "type": "object", "properties": {
        "n": { "type": "integer" }, "x": { "type": ["null", "number"] }, "yes": { "type": "boolean" },
        "ids": { "type": "array", "items": { "type": "integer" } }, "s": { "type": "string" },
        "o": { "type": "object" },
    } }));
    let read = |name: &str, values: &[&str]| schema.read(name, values.iter().map(|v| (*v).to_owned()).collect());
    assert_eq!(read("n", &["12"]), json!(12));
    assert_eq!(read("n", &["twelve"]), json!("twelve"));
    assert_eq!(read("x", &["1.5"]), json!(1.5));
    assert_eq!(read("yes", &["true"]), json!(true));
    assert_eq!(read("ids", &["1", "2"]), json!([1, 2]));
    assert_eq!(read("ids", &["1"]), json!([1]));
    assert_eq!(read("s", &["12"]), json!("12"));
    assert_eq!(read("o", &["{\"a\":1}"]), json!({ "a": 1 }));
    // A number that would be rounded, and a duplicate, stay text and fail validation.
    for text in ["12345678901234567.89", "-9223372036854775809", "1e-400"] {
        assert_eq!((read("n", &[text]), read("x", &[text])), (json!(text), json!(text)));
    }
    assert_eq!(read("x", &["1e20"]), json!(1e20));
    for text in ["{\"a\":1e-400}", "{\"a\":1,\"a\":2}"] {
        assert_eq!(read("o", &[text]), json!(text));
    }
    assert_eq!(read("other", &["1"]), json!("1"));
    assert_eq!(read("s", &["a", "b"]), json!(["a", "b"]));
}

#[test]
fn what_is_published_stands_alone() {
    let named = json!({ "Money": { "type": "number" }, "Tree": { "items": { "$ref": "#/schemas/Tree" } } });
    let referred = referred(named, None);
    let own = json!({ "properties": { "price": { "$ref": "#/schemas/Money" }, "n": { "$ref": "#/$defs/n" } },
        "$defs": { "n": { "type": "integer" } } });
    let alone = json!({ "properties": { "price": { "type": "number" }, "n": { "type": "integer" } } });
    assert_eq!(referred.alone(own), alone);
    let plain = json!({ "properties": { "a": { "type": "string" } }, "$defs": {} });
    assert_eq!(referred.alone(plain.clone()), plain);
    assert_eq!(referred.alone(json!({ "$ref": "#/schemas/Nowhere" })), json!({}));
    let tree = referred.alone(json!({ "$ref": "#/schemas/Tree" })).to_string();
    assert!(tree.len() < 2000 && !tree.contains("$ref"), "{tree}");
}

#[test]
fn a_schema_may_refer_to_itself() {
    let named = json!({ "Tree": { "type": "array", "items": { "$ref": "#/schemas/Tree" } } });
    let schema = json!({ "properties": { "tree": { "$ref": "#/schemas/Tree" } } });
    let schema = Schema::compile(&schema, &referred(named, None)).unwrap();
    assert!(schema.check(&json!({ "tree": [[[]]] })).is_ok() && schema.check(&json!({ "tree": [[1]] })).is_err());
}

#[test]
fn judging_does_not_double_with_each_level() {
    let not = json!({ "required": ["op", "arg"], "properties": { "op": { "const": "n" }, "arg": { "$ref": "#/schemas/E" } } });
    let named = json!({ "E": { "anyOf": [not, not, { "required": ["leaf"] }] } });
    let schema = Schema::compile(&json!({ "$ref": "#/schemas/E" }), &referred(named, None)).unwrap();
    let mut input = json!({ "bad": 1 });
    for _ in 0..60 {
        input = json!({ "op": "x", "arg": input });
    }
    let began = std::time::Instant::now();
    assert!(schema.check(&input).is_err());
    assert!(began.elapsed() < std::time::Duration::from_secs(5));
}

#[test]
fn not_more_is_said_than_anyone_reads() {
    let schema = compiled(json!({ "type": "object", "additionalProperties": { "type": "string" } }));
    let input: Map<String, Value> = (0..100).map(|n| (format!("k{n}"), json!(n))).collect();
    assert_eq!(schema.check(&Value::Object(input)).unwrap_err().len(), MOST_VIOLATIONS);
}

#[test]
fn a_text_is_what_its_parts_or_its_values_say() {
    let named = referred(json!({ "Count": { "type": "integer" } }), None);
    let schema = json!({ "type": "object", "properties": {
        "limit": { "anyOf": [{ "type": "null" }, { "type": "integer" }] },
        "page": { "allOf": [{ "minimum": 1 }, { "$ref": "#/schemas/Count" }] },
        "size": { "enum": [null, 10, 20] }, "on": { "const": true },
        // The first one written counts, as in a list of types.
        "name": { "oneOf": [{ "type": "string" }, { "type": "integer" }] }, "mode": { "enum": ["5", 5] },
        "open": {}, "nested": { "anyOf": [{ "oneOf": [{ "type": "boolean" }] }] },
    } });
    let schema = Schema::compile(&schema, &named).unwrap();
    for (name, text, read) in [
        ("limit", "5", json!(5)),
        ("page", "2", json!(2)),
        ("size", "20", json!(20)),
        ("on", "true", json!(true)),
        ("nested", "false", json!(false)),
        ("name", "5", json!("5")),
        ("mode", "5", json!("5")),
        ("open", "5", json!("5")),
    ] {
        assert_eq!(schema.read(name, vec![text.into()]), read, "{name}");
    }
}
