//! Promise: what is imported from an API description is called as the description says.
//!
//! Each test imports a document, has the file checked, runs it, and compares what the site is asked.

use crate::support::calls::FULL;
use crate::support::desk::run_to_end;
use crate::support::rates::api_key;
use crate::support::rpc::{message, post, result};
use crate::support::{Desk, Dir, Origin, Reply, Request};
use serde_json::{Value, json};

/// A site that has only what is below /api, and a desk of an imported document before it.
struct Imported {
    origin: Origin,
    desk: Desk,
    text: String,
}

/// Imports a document, checks the file, opens it for everybody, and runs it.
async fn imported(document: &Value) -> Imported {
    let origin = Origin::start(|request: &Request| match request.target.starts_with("/api/") {
        true => Reply::json("{}"),
        false => Reply::new(404).body("none"),
    })
    .await;
    let dir = Dir::new();
    dir.write("api.json", document.to_string());
    let (code, text, err) = run_to_end(&["import", "openapi", "api.json"], dir.path());
    assert_eq!(code, 0, "{err}");
    dir.write("imported.toml", &text);
    let (code, out, err) = run_to_end(&["check", "imported.toml"], dir.path());
    assert_eq!(code, 0, "{out}{err}\n{text}");
    let opened: Vec<String> = text
        .lines()
        .map(|line| match line.split_once(" = ").map(|(key, _)| key) {
            Some("auth") => "auth = \"none\"".to_owned(),
            Some("url") if line.contains("127.0.0.1:3000") => format!("url = \"{}\"", origin.url()),
            Some(key @ ("requires_user_confirmation" | "idempotency_required")) => format!("{key} = false"),
            _ => line.to_owned(),
        })
        .collect();
    let opened = opened.join("\n");
    let desk = Desk::with_config(|ports| {
        let key = api_key("full", FULL, "scopes = []");
        format!("[listen]\nhttp = \"{}\"\nadmin = \"{}\"\n{opened}\n{key}\n", ports.http, ports.admin)
    })
    .await;
    Imported { origin, desk, text }
}

impl Imported {
    async fn result(&self, name: &str, arguments: Value) -> Value {
        let called = message("tools/call", json!({ "name": name, "arguments": arguments }));
        result(&self.desk.rpc(post(called.to_string()).header("X-AHP-Key", FULL)).await)
    }

    /// Calls a tool, and gives back what the site was asked.
    async fn called(&self, name: &str, arguments: Value) -> Request {
        let asked = || self.origin.requests().into_iter().filter(|r| r.target.starts_with("/api/")).collect::<Vec<_>>();
        let before = asked().len();
        let answer = self.result(name, arguments.clone()).await;
        assert_eq!(answer["isError"], false, "{name} {arguments}: {answer}\n{}", self.text);
        let mut requests = asked();
        assert_eq!(requests.len(), before + 1, "{name} {arguments}: {answer}");
        requests.pop().expect("a request")
    }

    async fn tools(&self) -> Vec<Value> {
        let listed = self.desk.result(&message("tools/list", json!({}))).await;
        listed["tools"].as_array().expect("tools").clone()
    }
}

fn document(paths: Value) -> Value {
    json!({ "openapi": "3.1.0", "info": { "title": "x", "version": "1" }, "paths": paths })
}

fn query(name: &str, schema: Value, more: Value) -> Value {
    let mut parameter = json!({ "name": name, "in": "query", "schema": schema });
    parameter.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    parameter
}

/// F4
#[tokio::test]
async fn import_parameters_arrive_in_their_style() {
    let list = || json!({ "type": "array", "items": { "type": "string" } });
    let object =
        || json!({ "type": "object", "properties": { "id": { "type": "integer" }, "to": { "type": "string" } } });
    let parameters = json!([
        query("tags", list(), json!({ "style": "form", "explode": false })),
        query("pipes", list(), json!({ "style": "pipeDelimited", "explode": false })),
        query("blanks", list(), json!({ "style": "spaceDelimited", "explode": false })),
        query("many", list(), json!({})),
        query("target", object(), json!({ "style": "deepObject", "explode": true })),
        query("spread", object(), json!({})),
        { "name": "ids", "in": "path", "required": true, "style": "matrix", "schema": list() },
        { "name": "X-Trace", "in": "header", "schema": list() },
    ]);
    let site = imported(&document(
        json!({ "/api/items/{ids}": { "get": { "operationId": "items", "parameters": parameters } } }),
    ))
    .await;
    for (arguments, target) in [
        (json!({ "tags": ["a", "b,c"] }), "?tags=a,b%2Cc"),
        (json!({ "pipes": ["a", "b"] }), "?pipes=a%7Cb"),
        (json!({ "blanks": ["a", "b"] }), "?blanks=a%20b"),
        (json!({ "many": ["a", "b"] }), "?many=a&many=b"),
        (json!({ "target": { "id": 1, "to": "x y" } }), "?target%5Bid%5D=1&target%5Bto%5D=x%20y"),
        (json!({ "spread": { "id": 1 } }), "?id=1"),
        (json!({ "X-Trace": ["a", "b"] }), ""),
    ] {
        let mut all = json!({ "ids": ["1", "2"] });
        all.as_object_mut().unwrap().extend(arguments.as_object().cloned().unwrap_or_default());
        let request = site.called("items", all).await;
        assert_eq!(request.target, format!("/api/items/;ids=1,2{target}"));
        let trace = arguments.get("X-Trace").map(|_| "a,b");
        assert_eq!(request.header("x-trace"), trace, "{arguments}");
    }
    // A member that becomes a parameter of its own cannot be another parameter.
    let open = query("spread", json!({ "type": "object" }), json!({}));
    let site = imported(&document(json!({ "/api/x": { "get": { "operationId": "x", "parameters": [open, query("limit", json!({}), json!({}))] } } }))).await;
    let refused = site.result("x", json!({ "spread": { "limit": 1 }, "limit": 2 })).await;
    assert_eq!(refused["isError"], true, "{refused}");
}

/// F5
#[tokio::test]
async fn import_renames_what_clients_refuse() {
    let text = || json!({ "type": "string" });
    let parameters = json!([
        query("page[size]", json!({ "type": "integer" }), json!({})),
        query("page", text(), json!({})),
        query("$filter", text(), json!({})),
        query(&"long".repeat(20), text(), json!({})),
    ]);
    let site =
        imported(&document(json!({ "/api/x": { "get": { "operationId": "x", "parameters": parameters } } }))).await;
    let tools = site.tools().await;
    let fits = |name: &String| name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
    for tool in &tools {
        let names: Vec<_> = tool["inputSchema"]["properties"].as_object().unwrap().keys().cloned().collect();
        assert!(names.iter().all(fits), "{names:?}");
    }
    let request = site.called("x", json!({ "page_size": 5, "page": "2", "filter": "a eq 1" })).await;
    assert_eq!(request.target, "/api/x?%24filter=a%20eq%201&page=2&page%5Bsize%5D=5");
}

/// F6
#[tokio::test]
async fn import_gives_long_operations_a_name_each() {
    let path = format!("/api/{}", "segment/".repeat(11));
    let again = format!("{path}/again");
    let site =
        imported(&document(json!({ path.clone(): { "get": {}, "post": {} }, again: { "get": {}, "post": {} } }))).await;
    let mut names: Vec<String> =
        site.tools().await.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names.dedup();
    assert!(names.len() >= 4 && names.iter().all(|name| name.len() <= 64), "{names:?}");
}

/// F7
#[tokio::test]
async fn import_sends_nothing_that_the_document_does_not_say() {
    let body = json!({ "content": { "application/json": { "schema": { "type": "object", "properties": { "a": { "type": "string" } } } } } });
    let site = imported(&document(json!({
        "/api/ping": { "get": { "operationId": "ping" }, "post": { "operationId": "wake" } },
        "/api/save": { "post": { "operationId": "save", "requestBody": body } },
    })))
    .await;
    let more = json!({ "query": "is it up?", "sessionId": "s", "toolCallId": 7 });
    assert_eq!(site.called("ping", more.clone()).await.target, "/api/ping");
    let request = site.called("wake", more.clone()).await;
    assert_eq!((request.target.as_str(), request.body.len()), ("/api/ping", 0));
    assert_eq!(request.header("content-type"), None);
    let request = site.called("save", more).await;
    assert_eq!((request.target.as_str(), request.body.len(), request.header("content-type")), ("/api/save", 0, None));
    let request = site.called("save", json!({ "a": "x", "query": "q", "other": 1 })).await;
    assert_eq!(request.body, b"{\"a\":\"x\"}");
}

/// F8, F9
#[tokio::test]
async fn import_sends_bodies_as_declared() {
    let field = || json!({ "type": "object", "properties": { "reason": { "type": "string" } } });
    let body = |kind: &str, schema: Value| json!({ "required": true, "content": { kind: { "schema": schema } } });
    let list = json!({ "type": "array", "items": { "type": "integer" } });
    let site = imported(&document(json!({
        "/api/merge": { "patch": { "operationId": "merge", "requestBody": body("application/merge-patch+json", field()) } },
        "/api/vendor": { "post": { "operationId": "vendor", "requestBody": body("application/vnd.api+json", field()),
            "parameters": [query("dry", json!({ "type": "boolean" }), json!({}))] } },
        "/api/old": { "delete": { "operationId": "old", "requestBody": body("application/json", field()) } },
        "/api/form": { "post": { "operationId": "form", "requestBody": body("application/x-www-form-urlencoded", field()) } },
        "/api/parts": { "post": { "operationId": "parts", "requestBody": body("multipart/form-data", field()) } },
        "/api/list": { "put": { "operationId": "list", "requestBody": body("application/json", list) } },
        "/api/text": { "post": { "operationId": "text", "requestBody": body("text/plain", json!({ "type": "string" })) } },
        "/api/file": { "post": { "operationId": "file", "requestBody": body("application/pdf", json!({})) } },
        "/api/both/{reason}": { "post": { "operationId": "both", "requestBody": body("application/json", field()) } },
    })))
    .await;
    let reason = || json!({ "reason": "a b" });
    let json = "{\"reason\":\"a b\"}";
    let parts = "--BOUNDARY\r\nContent-Disposition: form-data; name=\"reason\"\r\n\r\na b\r\n--BOUNDARY--\r\n";
    for (name, arguments, asked, kind, body) in [
        ("merge", reason(), "PATCH /api/merge", "application/merge-patch+json", json),
        (
            "vendor",
            json!({ "reason": "a b", "dry": true }),
            "POST /api/vendor?dry=true",
            "application/vnd.api+json",
            json,
        ),
        ("old", reason(), "DELETE /api/old", "application/json", json),
        ("form", reason(), "POST /api/form", "application/x-www-form-urlencoded", "reason=a%20b"),
        ("parts", reason(), "POST /api/parts", "multipart/form-data; boundary=BOUNDARY", parts),
        ("list", json!({ "body": [1, 2] }), "PUT /api/list", "application/json", "[1,2]"),
        ("text", json!({ "body": "as it is" }), "POST /api/text", "text/plain", "as it is"),
        ("both", json!({ "reason": "x", "body_reason": "a b" }), "POST /api/both/x", "application/json", json),
    ] {
        let request = site.called(name, arguments).await;
        assert_eq!(format!("{} {}", request.method, request.target), asked);
        let said = request.header("content-type").expect("a type");
        let boundary = said.split_once("boundary=").map_or("none", |(_, boundary)| boundary);
        assert_eq!(said.replace(boundary, "BOUNDARY"), kind, "{name}");
        assert_eq!(String::from_utf8_lossy(&request.body).replace(boundary, "BOUNDARY"), body, "{name}");
    }
    assert!(site.text.contains("exposed = false # review: the body is application/pdf"), "{}", site.text);
    assert!(!site.tools().await.iter().any(|tool| tool["name"] == "file"));
}

/// F19
#[tokio::test]
async fn import_calls_an_operation_at_its_own_server() {
    let own = |url: &str, id: &str| json!({ "get": { "operationId": id, "servers": [{ "url": url }] } });
    let site = imported(&document(json!({
        "/a": own("/api/v2", "here"),
        "/b": own("https://other.example.com/v3", "there"),
        "/c": own("http://other.example.com", "nowhere"),
    })))
    .await;
    assert_eq!(site.called("here", json!({})).await.target, "/api/v2/a");
    assert!(site.text.contains("url = \"https://other.example.com/v3/b\""), "{}", site.text);
    assert!(site.text.contains("exposed = false # review: the document has this on a server of its own"));
    assert!(!site.tools().await.iter().any(|tool| tool["name"] == "nowhere"));
}

#[tokio::test]
async fn import_takes_only_what_is_asked_for() {
    let of = |id: &str, tag: &str| json!({ "operationId": id, "tags": [tag], "responses": {} });
    let document = document(json!({
        "/pets": { "get": of("listPets", "pets"), "post": of("addPet", "pets") },
        "/pets/{id}": { "get": of("getPet", "pets") },
        "/admin/users": { "get": of("listUsers", "admin") },
        "/health": { "get": of("health", "operation") },
    }));
    let dir = Dir::new();
    dir.write("api.json", document.to_string());
    for (options, ids) in [
        (vec!["--tag", "admin"], vec!["list_users"]),
        (vec!["--only", "listPets,getPet"], vec!["list_pets", "get_pet"]),
        (vec!["--only", "/pets*", "--only", "list_users"], vec!["list_users", "list_pets", "add_pet", "get_pet"]),
        (vec!["--only", "GET /*", "--tag", "pets"], vec!["list_pets", "get_pet"]),
    ] {
        let args: Vec<&str> = ["import", "openapi", "api.json"].into_iter().chain(options).collect();
        let (code, out, err) = run_to_end(&args, dir.path());
        assert_eq!(code, 0, "{err}");
        let found: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("id = \"")?.strip_suffix('"')).collect();
        assert_eq!(found, ids, "{args:?}");
        assert!(out.contains("--only and --tag chose others") && err.contains("left out"), "{out}{err}");
    }
    for other in ["graphql", "site"] {
        let (code, out, err) = run_to_end(&["import", other, "api.json", "--only", "a"], dir.path());
        assert!(code == 2 && out.is_empty() && err.contains("of an OpenAPI document"), "{code} {out}{err}");
    }
    let (code, _, err) = run_to_end(&["import", "openapi", "api.json", "--tag", "none"], dir.path());
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("no operation that --only and --tag name; it has "), "{err}");
}

/// What the site wants for itself stands in the file.
#[tokio::test]
async fn import_says_which_credential_the_site_wants() {
    let mut document = document(json!({
        "/api/a": { "get": { "operationId": "a" } },
        "/api/b": { "get": { "operationId": "b", "security": [{ "basic": [] }] } },
    }));
    document["security"] = json!([{ "key": [] }]);
    document["components"] = json!({ "securitySchemes": {
        "key": { "type": "apiKey", "in": "header", "name": "X-Api-Key" }, "basic": { "type": "http", "scheme": "basic" } } });
    let site = imported(&document).await;
    for said in ["the site itself wants key (the header X-Api-Key)", "# The site wants: basic (Authorization: Basic …)"]
    {
        assert!(site.text.contains(said), "{said}\n{}", site.text);
    }
}
