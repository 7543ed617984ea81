//! References of every kind, cyclic ones included.

use super::*;

struct By(Value);

impl Named for By {
    fn find(&self, reference: &str) -> Option<&Value> {
        self.0.get(reference.strip_prefix("#/schemas/")?)
    }
}

#[test]
fn references_are_replaced_by_what_they_lead_to() {
    let named = By(
        json!({ "A": { "type": "string", "$schema": "x" }, "B": { "$ref": "#/$defs/n", "$defs": { "n": { "type": "null" } } } }),
    );
    let of = |schema: Value| expanded(&schema, &named, &Counted::default(), TO_JUDGE).unwrap();
    assert_eq!(of(json!({ "properties": { "a": { "$ref": "#/schemas/A" } } }))["properties"]["a"]["type"], "string");
    let beside = of(json!({ "$ref": "#/schemas/A", "maxLength": 3, "allOf": [true] }));
    assert_eq!(beside, json!({ "maxLength": 3, "allOf": [{ "type": "string" }, true] }));
    assert_eq!(of(json!({ "$ref": "#/schemas/B" })), json!({ "type": "null" }));
    assert_eq!(
        of(json!({ "properties": { "a": { "$ref": "#/schemas/A" } } }))["properties"]["a"],
        json!({ "type": "string" })
    );
    assert_eq!(of(json!({ "$ref": "#/schemas/A" }))["$schema"], "x");
    // A member may have this name.
    for name in ["definitions", "$defs", "enum", "const", "default", "properties"] {
        let schema = json!({ "properties": { name: { "$ref": "#/schemas/A" } }, "additionalProperties": false });
        assert_eq!(of(schema)["properties"][name]["type"], "string", "{name}");
    }
    let values = json!({ "const": { "$ref": "nowhere" }, "enum": [{ "$ref": "nowhere" }], "default": { "$ref": "x" } });
    assert_eq!(of(values.clone()), values);
    assert_eq!(of(json!({ "properties": { "$ref": { "type": "string" } } }))["properties"]["$ref"]["type"], "string");
    assert!(expanded(&json!({ "$ref": "#/schemas/C" }), &named, &Counted::default(), TO_JUDGE).is_err());
    assert!(
        expanded(&json!({ "$ref": "https://elsewhere.example/x" }), &named, &Counted::default(), TO_JUDGE).is_err()
    );
}

#[test]
fn what_stands_twice_has_no_names() {
    let named = json!({
        "$id": "https://shop.test/x.json", "type": "object", "$defs": { "n": { "$id": "https://shop.test/n.json" } },
        "properties": { "$id": { "type": "string", "$anchor": "q" }, "kind": { "const": { "$id": 1 } } },
        "anyOf": [{ "$schema": "http://json-schema.org/draft-07/schema#", "$dynamicAnchor": "r" }],
    });
    let left = json!({
        "type": "object",
        "properties": { "$id": { "type": "string" }, "kind": { "const": { "$id": 1 } } },
        "anyOf": [{}],
    });
    assert_eq!(unnamed(&named), left);
    let before = json!({ "items": [{ "$id": "a", "type": "null" }], "additionalItems": false });
    assert_eq!(unnamed(&before), json!({ "prefixItems": [{ "type": "null" }], "items": false }));
    assert_eq!(unnamed(&json!({ "items": [], "additionalItems": true })), json!({ "items": true }));
    assert_eq!(unnamed(&json!({ "properties": { "items": {} } })), json!({ "properties": { "items": {} } }));
}

#[test]
fn what_goes_round_and_round_ends() {
    let entangled: Map<String, Value> = (0..300)
        .map(|n| {
            let to = |n: usize| json!({ "$ref": format!("#/schemas/S{}", n % 300) });
            (format!("S{n}"), json!({ "anyOf": [to(n + 1), to(n + 7), to(n * 3 + 1)], "type": "object" }))
        })
        .collect();
    let named = By(Value::Object(entangled));
    let whole = expanded(&json!({ "$ref": "#/schemas/S0" }), &named, &Counted::default(), TO_JUDGE).unwrap();
    assert!(whole.to_string().len() < 200_000);
    assert!(whole["anyOf"][2]["anyOf"][0]["type"] == "object", "{whole}");
    let tree = |name: &str| {
        let branches: Vec<_> = (0..5).map(|_| json!({ "$ref": "#/schemas/T" })).collect();
        By(json!({ "T": { "properties": { name: { "anyOf": branches } } } }))
    };
    for name in ["default", "definitions", "x"] {
        let named = tree(name);
        let whole = expanded(&json!({ "$ref": "#/schemas/T" }), &named, &Counted::default(), TO_JUDGE).unwrap();
        assert!(whole.to_string().len() < 200_000, "{name}");
    }
    let itself = By(json!({ "T": { "items": { "$ref": "#/schemas/T" }, "type": "array" } }));
    let whole = expanded(&json!({ "$ref": "#/schemas/T" }), &itself, &Counted::default(), TO_JUDGE).unwrap();
    assert_eq!(whole["items"]["items"]["items"]["type"], "array");
}
