//! What an import makes of a schema.

use super::*;

fn named(name: &str) -> Value {
    json!({ "kind": "SCALAR", "name": name })
}

fn required(kind: Value) -> Value {
    json!({ "kind": "NON_NULL", "name": null, "ofType": kind })
}

fn schema() -> Value {
    let order = json!({ "kind": "OBJECT", "name": "Order" });
    let user = json!({ "kind": "OBJECT", "name": "User" });
    let field = |name: &str, kind: Value, args: Value| json!({ "name": name, "type": kind, "args": args, "isDeprecated": false });
    let arg = |name: &str, kind: Value| json!({ "name": name, "type": kind, "defaultValue": null });
    json!({ "data": { "__schema": {
        "queryType": { "name": "Query" }, "mutationType": { "name": "Mutation" },
        "types": [
            { "kind": "OBJECT", "name": "Query", "fields": [
                { "name": "order", "description": "One order.", "type": order, "isDeprecated": false,
                  "args": [arg("id", required(named("ID"))), arg("state", json!({ "kind": "ENUM", "name": "State" }))] },
                { "name": "old", "type": named("String"), "args": [], "isDeprecated": true },
            ] },
            { "kind": "OBJECT", "name": "Mutation", "fields": [
                field("cancel", required(named("Boolean")), json!([arg("input", required(json!({ "kind": "INPUT_OBJECT", "name": "Cancel" })))])),
            ] },
            { "kind": "OBJECT", "name": "Order", "fields": [
                field("id", required(named("ID")), json!([])),
                field("by", user.clone(), json!([])),
                field("page", named("Int"), json!([arg("n", required(named("Int")))])),
            ] },
            { "kind": "OBJECT", "name": "User", "fields": [field("name", named("String"), json!([])), field("orders", json!({ "kind": "LIST", "ofType": { "kind": "OBJECT", "name": "Order" } }), json!([]))] },
            { "kind": "ENUM", "name": "State", "enumValues": [{ "name": "OPEN" }, { "name": "DONE" }] },
            { "kind": "INPUT_OBJECT", "name": "Cancel", "inputFields": [arg("id", required(named("ID"))), arg("why", named("String"))] },
            { "kind": "SCALAR", "name": "ID" }, { "kind": "SCALAR", "name": "String" },
        ],
    } } })
}

#[test]
fn queries_and_mutations_become_capabilities() {
    let asked = Asked { from: "https://shop.test/graphql", deprecated: false, only: Vec::new(), tags: Vec::new() };
    let imported = import(schema().to_string().as_bytes(), &asked, &mut |_, _| {}).unwrap();
    let text = imported.text;
    for line in [
        "url = \"https://shop.test\"",
        "id = \"query.order\"",
        "query($id: ID!, $state: State) { order(id: $id, state: $state) { id by { name } } }",
        "\"enum\" = [\"OPEN\", \"DONE\"]",
        "id = \"mutation.cancel\"",
        "mutation($input: Cancel!) { cancel(input: $input) }",
        "requires_user_confirmation = true",
        "failed = \"/errors\"",
        "undeclared = \"drop\"",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert_eq!((imported.capabilities, imported.left_out), (2, 1));
}

#[test]
fn what_is_no_schema_is_refused() {
    let asked = Asked { from: "schema.json", deprecated: false, only: Vec::new(), tags: Vec::new() };
    for document in ["type Query { a: Int }", "{\"data\":{}}"] {
        assert!(matches!(import(document.as_bytes(), &asked, &mut |_, _| {}), Err(Unusable::Unreadable(_))));
    }
}
