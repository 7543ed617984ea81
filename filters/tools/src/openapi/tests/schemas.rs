//! Inputs and outputs, for all kinds of references.

use serde_json::json;

use super::*;

#[test]
fn parameters_and_body_are_one_object() {
    let operation = json!({
        "parameters": [
            {"name": "petId", "in": "path", "required": true, "schema": {"type": "integer"}},
            {"name": "dry", "in": "query", "description": "Only\nlook.", "schema": {"type": "boolean"}},
            {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
            {"name": "Authorization", "in": "header", "schema": {"type": "string"}},
            {"name": "sid", "in": "cookie", "required": true, "schema": {"type": "string"}},
        ],
        "requestBody": {"content": {"application/json; charset=utf-8": {"schema": {
            "type": "object", "required": ["name", "petId", "id"], "additionalProperties": false,
            "properties": {
                "name": {"type": "string", "example": "Rex", "maxLength": 40},
                "petId": {"type": "string"},
                "id": {"type": "string", "readOnly": true},
            },
        }}}},
        "responses": {"204": {"description": ""}, "200": {"description": "", "content": {"application/hal+json": {
            "schema": {"type": "array", "items": {"type": "string"}}}}}},
    });
    let (text, capability) = one("3.0.3", "/pets/{petId}", "put", operation.clone());
    let expected = json!({
        "type": "object",
        "required": ["petId", "name", "body_petId"],
        "additionalProperties": false,
        "properties": {
            "petId": {"type": "integer"},
            "dry": {"type": "boolean", "description": "Only look."},
            "X-Trace": {"type": "string"},
            "name": {"type": "string", "maxLength": 40},
            // The path has that name too.
            "body_petId": {"type": "string"},
        },
    });
    assert_eq!(capability["input_schema"], expected, "{text}");
    assert_eq!(capability["output_schema"], json!({"type": "array", "items": {"type": "string"}}));
    for said in [
        "the cookie \"sid\", which the site requires, is left out",
        "parameters = { X-Trace = { in = \"header\" }, dry = { in = \"query\" } }",
        "rename_input = { body_petId = \"petId\" }",
    ] {
        assert!(text.contains(said), "{said} in:\n{text}");
    }
    assert!(!text.contains("Authorization"), "{text}");

    // A condition on all members makes it one input.
    let mut counted = operation;
    counted["requestBody"]["content"]["application/json; charset=utf-8"]["schema"]["minProperties"] = json!(1);
    let (text, capability) = one("3.0.3", "/pets/{petId}", "put", counted);
    assert_eq!(capability["input_schema"]["properties"]["body"]["minProperties"], 1, "{text}");
    assert!(text.contains("body = { in = \"body\" }") && text.contains("body_optional = true"), "{text}");
}

#[test]
fn references_are_resolved_and_cycles_are_cut() {
    let schemas = json!({
        "Pet": {"type": "object", "properties": {
            "owner": {"$ref": "#/components/schemas/Owner"}, "name": {"$ref": "#/components/schemas/Name"}}},
        "Owner": {"type": "object", "properties": {
            "pets": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}}}},
        "Name": {"type": "string", "nullable": true},
    });
    let paths = json!({"/pets": {"get": {"responses": {"200": {"$ref": "#/components/responses/Pet"}}}}});
    let mut document = document("3.0.0", paths, schemas);
    document["components"]["responses"] = json!({"Pet": {"description": "", "content": {"application/json": {
        "schema": {"$ref": "#/components/schemas/Pet"}}}}});
    let (text, contract) = contract(&document);
    let expected = json!({"type": "object", "properties": {
        "owner": {"type": "object", "properties": {"pets": {"type": "array", "items": {}}}},
        "name": {"type": ["string", "null"]}}});
    assert_eq!(contract["capabilities"][0]["output_schema"], expected, "{text}");
    assert!(text.contains("# review: Pet contains itself; it is cut short with {} there"), "{text}");
}

#[test]
fn what_is_beside_a_reference_counts_since_3_1() {
    let schemas = json!({"A": {"type": "string", "description": "a"}});
    let reference = json!({"$ref": "#/components/schemas/A", "description": "b", "minLength": 1});
    let paths = json!({"/x": {"post": with_body(json!({"type": "object", "properties": {"a": reference}}))}});
    let of = |version: &str| contract(&document(version, paths.clone(), schemas.clone())).1["capabilities"][0].take();
    let input = |version: &str| of(version)["input_schema"]["properties"]["a"].take();
    assert_eq!(input("3.0.3"), json!({"type": "string", "description": "a"}));
    assert_eq!(input("3.1.0"), json!({"type": "string", "description": "b", "minLength": 1}));
}

#[test]
fn null_is_said_without_null() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string", "default": null},
        "b": {"enum": ["x", null]},
        "c": {"const": null},
        "d": {"enum": [null]},
        "e": {"type": "object", "default": {"x": null, "y": [null, 1]}},
    }});
    let (_, capability) = one("3.1.0", "/x", "post", with_body(schema));
    let properties = &capability["output_schema"]["properties"];
    assert_eq!(properties["a"], json!({"type": "string"}));
    assert_eq!(properties["b"], json!({"anyOf": [{"enum": ["x"]}, {"type": "null"}]}));
    assert_eq!(properties["c"], json!({"type": "null"}));
    assert_eq!(properties["d"], json!({"type": "null"}));
    assert_eq!(properties["e"], json!({"type": "object", "default": {"y": [1]}}));
}

#[test]
fn a_body_in_parts_is_laid_together() {
    let schemas = json!({
        "Base": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}},
        "More": {"nullable": true, "allOf": [
            {"$ref": "#/components/schemas/Base"}, {"properties": {"b": {"type": "integer"}}}]},
    });
    let body = with_body(json!({"$ref": "#/components/schemas/More"}));
    let (_, contract) = contract(&document("3.0.3", json!({"/x": {"post": body}}), schemas));
    let expected = json!({"type": "object", "required": ["a"],
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}});
    assert_eq!(contract["capabilities"][0]["input_schema"], expected);

    let choice = json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    let (_, capability) = one("3.1.0", "/x", "post", with_body(choice.clone()));
    let expected = json!({"type": "object", "properties": {"body": choice}});
    assert_eq!(capability["input_schema"], expected);
}

#[test]
fn what_cannot_be_sent_is_not_exposed() {
    let body = |kind: &str, schema: Value| json!({"requestBody": {"content": {kind: {"schema": schema}}}});
    let file =
        json!({"type": "object", "required": ["f"], "properties": {"f": {"type": "string", "format": "binary"}}});
    for operation in [
        body("application/pdf", json!({})),
        body("application/octet-stream", json!({"type": "string", "format": "binary"})),
        body("application/xml", json!({"type": "object"})),
        body("multipart/form-data", file),
    ] {
        let document = document("3.0.3", json!({"/x": {"post": operation}}), json!({}));
        let (text, _) = contract(&document);
        assert!(text.contains("exposed = false # review: "), "{text}");
    }
    let list = body("application/json", json!({"type": "array", "items": {"type": "string"}}));
    let (text, capability) = one("3.0.3", "/x", "post", list);
    assert_eq!(capability["input_schema"]["properties"]["body"]["type"], "array", "{text}");
    let form = json!({"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {
        "type": "object", "properties": {"a": {"type": "string"}}}}}}});
    let (text, capability) = one("3.0.3", "/x", "post", form);
    assert!(text.contains("body = \"form\""));
    assert_eq!(capability["input_schema"]["properties"]["a"], json!({"type": "string"}));
}

#[test]
fn what_leads_nowhere_is_told_with_its_place() {
    let to =
        |reference: &str| document("3.0.3", json!({"/x": {"post": with_body(json!({"$ref": reference}))}}), json!({}));
    refused(&to("other.json#/a"), "/paths/~1x/post/requestBody/content/application~1json/schema");
    refused(&to("other.json#/a"), "$ref \"other.json#/a\" leads outside the document");
    refused(&to("#/components/schemas/None"), "leads nowhere");
    refused(&to("#anchor"), "is not a JSON pointer");
    let around = json!({"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}});
    let paths = json!({"/x": {"post": with_body(json!({"$ref": "#/components/schemas/A"}))}});
    refused(&document("3.0.3", paths, around), "again and again");
    let mut deep = json!({"type": "string"});
    for _ in 0..60 {
        deep = json!({"not": deep});
    }
    refused(&document("3.0.3", json!({"/x": {"post": with_body(deep)}}), json!({})), "too deep");
}

#[test]
fn as_deep_as_is_accepted_can_be_read_again() {
    for depth in (0..60).rev() {
        let schema = (0..depth).fold(json!({"enum": [[1]]}), |inner, _| json!({"items": inner}));
        let schema = json!({"type": "object", "properties": {"a": {"anyOf": [schema]}}});
        if let Ok(imported) = import(&document("3.0.3", json!({"/x": {"post": with_body(schema)}}), json!({}))) {
            declared(&imported);
            assert!(depth > 40);
            return;
        }
    }
    panic!("nothing is accepted");
}

#[test]
fn a_header_is_an_input_once() {
    let header = |name: &str| json!({"name": name, "in": "header", "schema": {"type": "string"}});
    let operation = json!({"parameters": [header("X-Trace"), header("x-trace"), header("X-Other")], "responses": {}});
    let (text, capability) = one("3.0.3", "/pets", "get", operation);
    let names: Vec<&String> = capability["input_schema"]["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["X-Other", "X-Trace"], "{text}");
    assert!(text.contains("review: the header \"x-trace\" is left out: another parameter has its name"), "{text}");
}
