//! Large documents: shared schemas are written once, and a thousand operations take little time.

use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

/// Components that refer to several others, in cycles.
fn entangled(count: usize) -> Value {
    let to = |n: usize| json!({"$ref": format!("#/components/schemas/S{}", n % count)});
    let schema = |n: usize| {
        json!({"type": "object", "description": "A thing among things.", "properties": {
            "id": {"type": "string"}, "next": to(n + 1), "list": {"type": "array", "items": to(n + 7)}, "far": to(n * 3 + 1)}})
    };
    Value::Object((0..count).map(|n| (format!("S{n}"), schema(n))).collect())
}

#[test]
fn what_is_large_is_written_once_under_a_name() {
    let operation = || with_body(json!({"$ref": "#/components/schemas/S0"}));
    let paths = json!({"/a": {"post": operation()}, "/b": {"post": operation()}});
    let (text, contract) = contract(&document("3.0.3", paths, entangled(40)));
    assert!(text.len() < 40_000, "{} bytes", text.len());
    let capabilities = &contract["capabilities"];
    // An agent cannot take in a large schema of an answer.
    assert!(capabilities[0].get("output_schema").is_none());
    assert_eq!(capabilities[0]["input_schema"]["properties"]["next"], json!({"$ref": "#/schemas/S1"}));
    let schemas = contract["schemas"].as_object().unwrap();
    assert_eq!(schemas.len(), 40);
    assert!(text.contains("contains itself"));
    // Every name exists, and no path along the references is a cycle.
    fn follow<'a>(schemas: &'a serde_json::Map<String, Value>, value: &'a Value, way: &mut Vec<&'a str>) {
        if let Some(name) = value["$ref"].as_str().and_then(|name| name.strip_prefix("#/schemas/")) {
            assert!(!way.contains(&name), "{way:?} {name}");
            if way.len() < 12 {
                way.push(name);
                follow(schemas, schemas.get(name).unwrap_or_else(|| panic!("no {name}")), way);
                way.pop();
            }
        }
        let items =
            value.as_array().into_iter().flatten().chain(value.as_object().into_iter().flat_map(|map| map.values()));
        items.for_each(|item| follow(schemas, item, way));
    }
    schemas.values().for_each(|schema| follow(schemas, schema, &mut Vec::new()));
}

#[test]
fn a_thousand_operations_take_no_time() {
    let operation = |n: usize| {
        let mut operation = with_body(json!({"$ref": format!("#/components/schemas/S{}", n % 300)}));
        operation["operationId"] = json!(format!("updateThing{n}"));
        operation["parameters"] = json!([{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}]);
        operation
    };
    let paths: serde_json::Map<_, _> =
        (0..1000).map(|n| (format!("/things{n}/{{id}}"), json!({"post": operation(n)}))).collect();
    let document = document("3.0.3", paths.into(), entangled(300)).to_string();
    let begun = Instant::now();
    let mut told = 0;
    let asked = asked("x");
    let imported =
        super::super::import(document.as_bytes(), &asked, &mut |_, all| told += usize::from(all == 1000)).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}, and this is a debug build", begun.elapsed());
    assert!(told >= 1000);
    assert!(imported.text.len() < 8 << 20, "{} bytes", imported.text.len());
    assert_eq!(declared(&imported).settings.capabilities.len(), 1000);
}

#[test]
fn many_that_are_nearly_large_go_by_name_too() {
    let fields: serde_json::Map<_, _> =
        (0..400).map(|n| (format!("a_rather_long_name_{n}"), json!({"type": "string", "maxLength": n}))).collect();
    let schemas = json!({"Wide": {"type": "object", "properties": fields}});
    let body = with_body(json!({"type": "object", "properties": {"wide": {"$ref": "#/components/schemas/Wide"}}}));
    let paths: serde_json::Map<_, _> = (0..400).map(|n| (format!("/t{n}"), json!({"post": body}))).collect();
    let imported = import(&document("3.0.3", paths.into(), schemas)).unwrap();
    assert!(imported.text.len() < 1 << 20, "{} bytes", imported.text.len());
    assert!(imported.text.contains("[schemas.Wide]"));
    declared(&imported);
}

#[test]
fn a_long_chain_of_schemas_is_no_deep_stack() {
    let count = 5_000;
    let next = |n: usize| json!({"type": "object", "properties": {"next": {"$ref": format!("#/components/schemas/S{}", n + 1)}}});
    let mut schemas: serde_json::Map<_, _> = (0..count).map(|n| (format!("S{n}"), next(n))).collect();
    schemas.insert(format!("S{count}"), json!({"type": "string"}));
    let paths = json!({"/x": {"post": with_body(json!({"$ref": "#/components/schemas/S0"}))}});
    let imported = import(&document("3.0.3", paths, schemas.into())).unwrap();
    let named = imported.text.matches("[schemas.S").count() / 2;
    assert!((count - 10..count).contains(&named), "{named}");
}
