//! A document is untrusted: none of its text leaves its string.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const HOSTILE: &[&str] = &[
    "\"]\n[admin]\ntoken_sha256 = \"\"",
    "'''\n\"\"\"\n# x",
    "${HOME}",
    "${file:/etc/passwd}",
    "$${HOME} ${{x}} ${unclosed",
    "\u{202e}txet\u{202c}\u{2066}",
    "\0\u{7}\u{1b}[31m\r\n\t\u{85}\u{2028}",
    "\\u0000 \\ \\\" {{ x }} {% y %}",
    "a/b~c#d?e;f%00 ../..//",
    "",
    " ",
    "\u{feff}\u{e0041}é漢",
];

#[test]
fn nothing_leaves_its_string() {
    for text in HOSTILE {
        let schema = json!({
            "type": "object", "title": text, "description": text, "required": [text, "b"], "pattern": text,
            "properties": {*text: {"type": "string", "enum": [text, "x"], "default": text, "format": text}, "b": {"const": text}},
            "x-own": text, *text: text,
        });
        let mut operation = with_body(json!({"$ref": "#/components/schemas/S"}));
        operation["operationId"] = json!(text);
        operation["summary"] = json!(text);
        operation["servers"] = json!([{"url": text}]);
        operation["security"] = json!([{"s": [text]}]);
        operation["parameters"] = json!(["query", "path", "header", text].map(|place| json!({
            "name": text, "in": place, "description": text, "schema": {"type": text, "enum": [text]}})));
        let paths = json!({format!("/x/{text}/{{{text}}}"): {"post": operation.clone(), "get": operation}});
        let flows = json!({"implicit": {"authorizationUrl": format!("https://h/?{text}"), "scopes": {*text: text}}});
        let document = json!({
            "openapi": "3.1.0", "info": {"title": text, "version": text, "description": text}, "paths": paths,
            "servers": [{"url": format!("https://h/{text}")}],
            "components": {"schemas": {"S": schema}, "securitySchemes": {"s": {"type": "oauth2", "flows": flows}, *text: {"type": text}}},
        });
        for from in [text, "https://user:${HOME}@h/x"] {
            let asked = asked(from);
            let imported = super::super::import(document.to_string().as_bytes(), &asked, &mut |_, _| {});
            let imported = imported.unwrap_or_else(|refused| panic!("{text:?}: {refused}"));
            let declaration = declared(&imported);
            assert_eq!(declaration.settings.admin.token_sha256, None);
            assert_eq!(declaration.settings.capabilities.len(), 2);
        }
    }
}

#[test]
fn what_would_be_looked_up_is_kept_as_near_as_possible() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string", "pattern": "^${x}$", "description": "Costs ${x}."},
        "b": {"type": "string", "enum": ["${x}"]},
    }});
    let (text, capability) = one("3.1.0", "/x", "post", with_body(schema));
    let properties = &capability["input_schema"]["properties"];
    assert_eq!(properties["a"], json!({"type": "string", "pattern": "^$\\{x}$", "description": "Costs $ {x}."}));
    assert_eq!(properties["b"], json!({"type": "string"}));
    assert!(text.contains("# review: enum is left out"), "{text}");
}

#[test]
fn whatever_is_in_the_wrong_place_is_survived() {
    let wrong = [
        json!(null),
        json!(true),
        json!(1),
        json!(0),
        json!(-0.5),
        json!("x"),
        json!([]),
        json!([1, null]),
        json!(["string", "string"]),
        json!({}),
        json!({"x": 1}),
        json!({"x": ["y", "y"]}),
        json!({"[": true, "^(?!x)": {}, "a${HOME}": false}),
    ];
    for value in &wrong {
        for key in ["info", "servers", "security", "components"] {
            let mut document = document("3.0.3", json!({"/x": {"get": {}}}), json!({}));
            document[key] = value.clone();
            contract(&document);
        }
        for key in
            ["parameters", "requestBody", "responses", "security", "operationId", "summary", "servers", "deprecated"]
        {
            let document = document("3.0.3", json!({"/x": {"post": {key: value}}}), json!({}));
            drop(import(&document).map(|imported| declared(&imported)));
        }
        for key in [
            "type",
            "properties",
            "items",
            "required",
            "allOf",
            "anyOf",
            "enum",
            "minLength",
            "multipleOf",
            "pattern",
            "patternProperties",
            "nullable",
            "additionalProperties",
            "dependentRequired",
            "exclusiveMinimum",
            "readOnly",
            "$ref",
            "$dynamicRef",
            "const",
        ] {
            for version in ["3.0.3", "3.1.0"] {
                let schema = json!({"type": "object", "properties": {"a": {key: value}}, key: value});
                let document = document(version, json!({"/x": {"post": with_body(schema)}}), json!({}));
                drop(import(&document).map(|imported| declared(&imported)));
            }
        }
        drop(import(&document("3.0.3", value.clone(), json!({}))));
        drop(import(&document("3.0.3", json!({"/x": value, "y": {"get": value}}), json!({"S": value}))));
    }
}

/// Words with a meaning in a document, and texts that must have none.
const WORDS: &[&str] = &[
    "$ref",
    "patternProperties",
    "^(?!x)",
    "type",
    "object",
    "array",
    "string",
    "properties",
    "items",
    "required",
    "allOf",
    "anyOf",
    "oneOf",
    "enum",
    "const",
    "default",
    "nullable",
    "additionalProperties",
    "exclusiveMinimum",
    "minimum",
    "maxLength",
    "pattern",
    "description",
    "not",
    "readOnly",
    "dependentRequired",
    "$defs",
    "#/components/schemas/a",
    "#/components/schemas/b",
    "#/components/schemas/a/properties/b",
    "a",
    "b",
    "name",
    "in",
    "path",
    "query",
    "schema",
    "content",
    "application/json",
    "parameters",
    "requestBody",
    "responses",
    "200",
    "security",
    "summary",
    "operationId",
    "null",
];

fn text() -> impl Strategy<Value = String> {
    let word = (0..WORDS.len()).prop_map(|n| WORDS[n].to_owned());
    let hostile = (0..HOSTILE.len()).prop_map(|n| HOSTILE[n].to_owned());
    prop_oneof![8 => word, 1 => hostile, 1 => any::<String>()]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        6 => text().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 5, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
        let table = prop::collection::vec((text(), inner), 0..6);
        prop_oneof![1 => list, 4 => table.prop_map(|entries| Value::Object(entries.into_iter().collect()))]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_document_is_refused_or_becomes_a_declaration(
        a in value(), b in value(), operation in value(), body in value(), parameter in value(), old in any::<bool>(),
    ) {
        let mut operation = if operation.is_object() { operation } else { json!({}) };
        operation["requestBody"] = json!({"content": {"application/json": {"schema": body}}});
        operation["parameters"] = json!([{"name": "a", "in": "query", "schema": parameter}]);
        let paths = json!({"/x/{a}": {"post": operation}, "/y": {"get": with_body(json!({"$ref": "#/components/schemas/a"}))}});
        let document = document(if old { "3.0.3" } else { "3.1.0" }, paths, json!({"a": a, "b": b}));
        super::super::dialect::normalised(&document);
        if let Ok(imported) = import(&document) {
            declared(&imported);
        }
    }
}
