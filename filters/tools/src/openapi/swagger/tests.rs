//! Every kind of parameter, body and answer of Swagger 2.0.

use super::*;

#[test]
fn a_swagger_document_becomes_an_openapi_document() {
    let document = json!({
        "swagger": "2.0", "info": {"title": "x"}, "host": "api.example.com", "basePath": "/v1", "schemes": ["http", "https"],
        "consumes": ["application/json"],
        "parameters": {"Limit": {"name": "limit", "in": "query", "type": "integer", "maximum": 9},
            "Pet": {"name": "pet", "in": "body", "required": true, "schema": {"$ref": "#/definitions/Pet"}}},
        "definitions": {"Pet": {"properties": {"of": {"$ref": "#/definitions/Pet"}, "n": {"type": "string", "x-nullable": true}}}},
        "securityDefinitions": {"b": {"type": "basic"}, "o": {"type": "oauth2", "flow": "accessCode", "tokenUrl": "/t"}},
        "paths": {"/pets/{ids}": {
            "parameters": [{"name": "ids", "in": "path", "required": true, "type": "array", "items": {"type": "string"}}],
            "get": {"parameters": [
                {"$ref": "#/parameters/Limit"},
                {"name": "csv", "in": "query", "type": "array", "items": {"type": "string"}},
                {"name": "multi", "in": "query", "type": "array", "items": {}, "collectionFormat": "multi"},
                {"name": "pipes", "in": "query", "type": "array", "items": {}, "collectionFormat": "pipes"},
                {"name": "tsv", "in": "query", "type": "array", "items": {}, "collectionFormat": "tsv"},
            ], "responses": {"200": {"description": "", "schema": {"type": "file"}}}},
            "post": {"parameters": [{"$ref": "#/parameters/Pet"}]},
            "put": {"consumes": ["multipart/form-data"], "parameters": [
                {"name": "a", "in": "formData", "type": "string", "required": true},
                {"name": "f", "in": "formData", "type": "file"}]},
            "patch": {"consumes": ["application/x-www-form-urlencoded"], "parameters": [
                {"name": "a", "in": "formData", "type": "array", "items": {}, "collectionFormat": "ssv"}]},
        }},
    });
    assert!(is_one(&document) && !is_one(&json!({"openapi": "3.0.0"})));
    let new = converted(document);
    assert_eq!(new["servers"][0]["url"], "https://api.example.com/v1");
    let item = &new["paths"]["/pets/{ids}"];
    assert_eq!((&item["parameters"][0]["style"], &item["parameters"][0]["explode"]), (&json!("simple"), &json!(false)));
    let of = |n: usize| {
        let parameter = &item["get"]["parameters"][n];
        (parameter["name"].clone(), parameter["style"].clone(), parameter["explode"].clone())
    };
    assert_eq!(
        item["get"]["parameters"][0],
        json!({"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 9}})
    );
    assert_eq!(of(1), (json!("csv"), json!("form"), json!(false)));
    assert_eq!(of(2), (json!("multi"), json!("form"), json!(true)));
    assert_eq!(of(3), (json!("pipes"), json!("pipeDelimited"), json!(false)));
    assert_eq!(of(4), (json!("tsv"), json!("tabDelimited"), json!(false)));
    let file = json!({"application/json": {"schema": {"type": "string", "format": "binary"}}});
    assert_eq!(item["get"]["responses"]["200"]["content"], file);
    let body =
        json!({"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}});
    assert_eq!((&item["post"]["requestBody"], &item["post"]["parameters"]), (&body, &json!([])));
    let form = &item["put"]["requestBody"]["content"]["multipart/form-data"]["schema"];
    assert_eq!((&form["required"], &form["properties"]["f"]["format"]), (&json!(["a"]), &json!("binary")));
    let encoding = json!({"a": {"style": "spaceDelimited", "explode": false}});
    assert_eq!(item["patch"]["requestBody"]["content"]["application/x-www-form-urlencoded"]["encoding"], encoding);
    let pet = &new["components"]["schemas"]["Pet"]["properties"];
    assert_eq!((&pet["of"]["$ref"], &pet["n"]["nullable"]), (&json!("#/components/schemas/Pet"), &json!(true)));
    assert_eq!(new["components"]["securitySchemes"]["o"]["flows"]["authorizationCode"]["tokenUrl"], "/t");
    assert_eq!(converted(json!({"swagger": "2.0", "basePath": "/v2"}))["servers"][0]["url"], "/v2");
}

#[test]
fn whatever_is_in_the_wrong_place_is_survived_by_the_conversion() {
    for wrong in [json!(null), json!(1), json!("x"), json!([1]), json!({"x": 1}), json!([{"$ref": 1}])] {
        for key in
            ["paths", "parameters", "definitions", "responses", "securityDefinitions", "consumes", "host", "info"]
        {
            converted(json!({"swagger": "2.0", key: wrong}));
        }
        converted(json!({"swagger": "2.0", "paths": {"/x": wrong}}));
        converted(json!({"swagger": "2.0", "paths": {"/x": {"get": wrong, "parameters": wrong}}}));
        converted(json!({"swagger": "2.0", "paths": {"/x": {"get": {"parameters": wrong, "responses": wrong}}}}));
    }
}
