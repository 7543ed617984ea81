//! The capability made from each operation, and the file around them.

use serde_json::json;

use super::*;

const PETS: &str = r#"
openapi: 3.0.3
info: {title: Pet Shop, version: 1.2, description: "Pets,\nand what they need."}
servers:
- url: https://{where}.example.com/v1/
  variables: {where: {default: pets}}
security:
- oauth: [pets:write, pets:read]
- {}
components:
  securitySchemes:
    oauth:
      type: oauth2
      flows:
        authorizationCode:
          authorizationUrl: /oauth/authorize
          tokenUrl: https://pets.example.com/oauth/token
          scopes: {pets:read: Read, pets:write: Write}
    basic: {type: http, scheme: basic}
paths:
  /pets:
    get:
      operationId: listPets
      summary: All pets.
      parameters: &paging
      - {name: limit, in: query, schema: {type: integer, maximum: 100, exclusiveMaximum: true}}
      responses: {200: {description: ok, content: {text/csv: {}}}}
    head: {responses: {}}
    options: {responses: {}}
    post:
      operationId: addPet
      security: [oauth: [pets:write]]
      responses: {201: {description: ok}}
  /pets/{petId}:
    parameters: [{name: petId, in: path, required: true, schema: {type: string}}]
    get: {operationId: getPet, responses: {}}
    delete: {operationId: deletePet, security: [], responses: {}}
    patch: {operationId: getPet, deprecated: true, responses: {}}
  /pets/{pet}:
    get: {responses: {}}
"#;

#[test]
fn a_document_becomes_a_declaration() {
    let imported = import_text(PETS).unwrap_or_else(|refused| panic!("{refused}"));
    let contract = declared(&imported).contract.to_json();
    assert_eq!(contract["site"], json!({"name": "Pet Shop", "description": "Pets, and what they need."}));
    let auth = json!({"type": "oauth2", "authorization_url": "https://pets.example.com/oauth/authorize",
        "token_url": "https://pets.example.com/oauth/token", "available_scopes": ["pets:read", "pets:write"]});
    assert_eq!(contract["auth"], auth);
    assert_eq!((imported.capabilities, imported.left_out), (5, 3));
    assert!(imported.text.contains("url = \"https://pets.example.com\"\n"));
    assert!(imported.text.contains("path = \"/v1/pets/{petId}\"\n"), "{}", imported.text);
    assert!(imported.text.contains("basic (http basic)") && imported.text.contains("response = \"wrap\""));

    let all = contract["capabilities"].as_array().unwrap();
    let of = |key: &str| all.iter().map(|one| one[key].as_str().unwrap_or("-")).collect::<Vec<_>>();
    assert_eq!(of("id"), ["list_pets", "add_pet", "get_pet", "delete_pet", "pets.by_pet.get"]);
    assert_eq!(of("method"), ["GET", "POST", "GET", "DELETE", "GET"]);
    let endpoints = ["/agent/pets", "/agent/pets", "/agent/pets/{petId}", "/agent/pets/{petId}", "/agent/pets/{pet}-2"];
    assert_eq!(of("endpoint"), endpoints);
    assert_eq!(of("type"), ["query", "commit_action", "resource", "destructive_action", "resource"]);
    assert_eq!(of("risk_level"), ["low", "medium", "low", "critical", "low"]);
    assert_eq!(of("auth"), ["optional", "required", "optional", "none", "optional"]);
    assert_eq!(all[0]["description"], "All pets.");
    assert_eq!(all[1]["required_scopes"], json!(["pets:write"]));
    assert_eq!(
        (&all[1]["requires_user_confirmation"], &all[0]["requires_user_confirmation"]),
        (&json!(true), &json!(null))
    );
    assert_eq!(all[0]["input_schema"]["properties"]["limit"], json!({"type": "integer", "exclusiveMaximum": 100}));
    assert_eq!(all[2]["input_schema"]["required"], json!(["petId"]));
}

#[test]
fn deprecated_operations_are_wanted_or_not() {
    let asked = Asked { deprecated: true, ..asked("pets.yaml") };
    let imported = super::super::import(PETS.as_bytes(), &asked, &mut |_, _| {}).unwrap();
    declared(&imported);
    assert_eq!((imported.capabilities, imported.left_out), (6, 2));
    let only = json!({"/x": {"get": {"deprecated": true}}});
    refused(&document("3.0.3", only, json!({})), "--deprecated");
}

#[test]
fn an_action_of_which_nothing_is_said_needs_somebody() {
    let (text, capability) = one("3.1.0", "/things", "post", json!({}));
    assert_eq!(capability["auth"], "required");
    assert!(text.contains("auth = \"required\" # review: the document does not say who may call"));
    assert_eq!(one("3.1.0", "/things", "get", json!({})).1["auth"], "none");
}

#[test]
fn kinds_of_keys() {
    for (scheme, kind) in [
        (json!({"type": "http", "scheme": "Bearer"}), "bearer"),
        (json!({"type": "apiKey", "name": "k", "in": "header"}), "api_key"),
        (json!({"type": "openIdConnect"}), "bearer"),
        (json!({"type": "mutualTLS"}), "none"),
    ] {
        let mut document = document("3.0.3", json!({"/x": {"get": {}}}), json!({}));
        document["components"]["securitySchemes"] = json!({"s": scheme});
        assert_eq!(contract(&document).1["auth"]["type"], kind);
    }
}

#[test]
fn names_and_addresses_stay_apart() {
    let get = |id: &str| json!({"get": {"operationId": id}});
    let paths =
        json!({"/a": get("x.y"), "/a/": get("x_y"), "/b": get("xY"), "/converse": {"post": {}}, "/": get("каталог")});
    let (text, contract) = contract(&document("3.0.3", paths, json!({})));
    let ids: Vec<_> =
        contract["capabilities"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["get", "x.y", "x_y_2", "x_y_3", "converse.post"], "{text}");
    assert!(text.contains("\"/agent/a-2\"") && text.contains("\"/agent/converse-2\""), "{text}");
}

#[test]
fn other_documents_are_refused_in_a_sentence() {
    for (text, words) in [
        ("{\"swagger\": \"1.2\"}", "another version than 2.0"),
        ("{\"openapi\": \"4.0.0\"}", "4.0.0"),
        ("{\"a\": 1}", "no \"openapi\""),
        ("{\"a\": ", "is not JSON"),
        ("a: [", "neither JSON nor YAML"),
        ("<html>", "HTML"),
        ("", "not an OpenAPI document"),
    ] {
        let refused = import_text(text).unwrap_err();
        assert!(refused.to_string().contains(words), "{text}: {refused}");
        assert_eq!(refused.exit_code(), 2);
    }
    refused(&document("3.0.3", json!({}), json!({})), "/paths");
    refused(&json!({"swagger": "2.0"}), "/paths");
}
