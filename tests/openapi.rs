//! Promise: the OpenAPI document is true: every operation in it works, under the same rules as every other dialect (AHP
//! §4.4.2, appendix E).

use crate::support::calls::{FULL, declare, query, site, upstream_calls};
use crate::support::desk::run_to_end;
use crate::support::rpc::{before, call, message, origin, post, result, travel};
use crate::support::{Ask, Dir, Response, Via};
use serde_json::{Value, json};

fn operate(path: &str, body: &Value) -> Ask {
    Ask::post(path, body.to_string()).header("Content-Type", "application/json")
}

#[track_caller]
fn refused(response: &Response, status: u16, code: &str) -> Value {
    assert_eq!((response.status, response.media_type().as_str()), (status, "application/json"), "{}", response.text());
    let body = response.json();
    assert_eq!((&body["status"], &body["code"]), (&json!("error"), &json!(code)), "{body}");
    body
}

/// An input that a schema takes: what it demands, by type.
fn example(schema: &Value) -> Value {
    let properties = &schema["properties"];
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let value = |name: &Value| {
        let name = name.as_str().expect("a name");
        let value = match properties[name]["type"].as_str() {
            Some("integer" | "number") => json!(1),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!("MAD"),
        };
        (name.to_owned(), value)
    };
    Value::Object(required.iter().map(value).collect())
}

#[tokio::test]
async fn openapi_e1_describes_the_site() {
    let (_origin, desk) = travel().await;
    let response = desk.get("/openapi.json").await;
    assert_eq!((response.status, response.media_type().as_str()), (200, "application/json"));
    assert!(response.header("etag").is_some() && response.header("cache-control").is_some());
    let document = response.json();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!((&document["info"]["title"], &document["info"]["version"]), (&json!("Example Travel"), &json!("0.1")));
    assert!(document["info"]["description"].is_string());
    assert_eq!(document["servers"][0]["url"], "https://site.test");
    // Keys are all that is known here, and nothing else was written down.
    let key = json!({ "type": "apiKey", "in": "header", "name": "X-AHP-Key" });
    assert_eq!(document["components"]["securitySchemes"], json!({ "apiKeyAuth": key }));
    let manifest = desk.get("/.well-known/agent.json").await.json();
    assert_eq!(manifest["authentication"], "api_key");
    assert_eq!(manifest["integrations"]["openapi"], json!({ "url": "/openapi.json", "version": "3.1.0" }));
    assert_eq!(manifest["integrations"]["mcp"], json!({ "url": "/mcp", "version": "2024-11-05" }));
    let hold = &document["paths"]["/capabilities/holds_asked"]["post"];
    assert_eq!(hold["security"], json!([{ "apiKeyAuth": [] }]), "§E.5");
    assert!(hold["description"].as_str().is_some_and(|d| d.contains("confirm")), "{hold}");
    assert_eq!(hold["x-openai-isConsequential"], true);
    let search = &document["paths"]["/capabilities/flights_search"]["post"];
    assert!(search.get("security").is_none(), "{search}");
    assert_eq!(
        (&search["operationId"], &search["summary"]),
        (&json!("flights_search"), &json!("It is flights.search."))
    );
    for status in ["200", "400", "401", "404", "409", "413", "415", "429"] {
        assert!(search["responses"][status].is_object(), "{status}: {search}");
    }
    let schema = &document["components"]["schemas"]["AHPResponse"];
    for status in ["success", "clarification_needed", "accepted", "pending", "failed", "expired", "error"] {
        assert!(schema["properties"]["status"]["enum"].as_array().is_some_and(|all| all.contains(&json!(status))));
    }
}

#[tokio::test]
async fn openapi_e2_every_path_works() {
    let (origin, desk) = travel().await;
    let document = desk.get("/openapi.json").await.json();
    let paths = document["paths"].as_object().expect("paths");
    assert_eq!(paths.len(), 6, "{paths:?}");
    for (path, item) in paths {
        let operation = &item["post"];
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        for name in ["query", "session_id", "confirmation", "context"] {
            assert!(schema["properties"][name].is_object(), "{path}: {name}");
        }
        let mut body = example(schema);
        body["context"] = json!({ "idempotency_key": path, "requesting_agent": "test/1" });
        let mut ask = operate(path, &body);
        if operation["security"].is_array() {
            refused(&desk.ask(Via::H1, ask.clone()).await, 401, "auth_required");
            ask = ask.bearer(FULL);
        }
        let response = desk.ask(Via::H1, ask).await;
        let declared = &operation["responses"][response.status.to_string()];
        assert!(declared.is_object(), "{path}: {} is not declared: {}", response.status, response.text());
        let body = response.json();
        let expected = match path.as_str() {
            "/capabilities/holds_asked" => "clarification_needed",
            "/capabilities/broken" => "error",
            _ => "success",
        };
        assert_eq!(body["status"], expected, "{path}: {body}");
        assert!(response.header("x-ratelimit-limit").is_some(), "{path}");
    }
    let called: Vec<String> = upstream_calls(&origin).iter().map(|r| r.target.clone()).collect();
    assert!(
        called.iter().any(|t| t == "/api/flights?origin=MAD") && called.contains(&"/api/holds".to_owned()),
        "{called:?}"
    );
}

#[tokio::test]
async fn openapi_operations_are_confirmed_and_done_once() {
    let (origin, desk) = travel().await;
    let hold = |more: Value| {
        let mut body = json!({ "fare_id": "fare_1", "context": { "idempotency_key": "k-1" } });
        body.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        operate("/capabilities/holds_asked", &body).bearer(FULL)
    };
    let asked = desk.ask(Via::H1, hold(json!({}))).await.json();
    assert_eq!(asked["status"], "clarification_needed", "{asked}");
    let token = asked["clarification"]["options"][0].as_str().expect("a token").to_owned();
    assert_eq!(asked["clarification"]["options"][1], "cancel");
    for confirmed in [json!({ "confirmation": token }), json!({ "confirmation": token })] {
        let done = desk.ask(Via::H1, hold(confirmed)).await.json();
        assert_eq!(done["status"], "success", "{done}");
    }
    assert_eq!(upstream_calls(&origin).len(), 1);
}

#[tokio::test]
async fn openapi_refuses_in_the_words_of_the_handshake() {
    let (origin, desk) = travel().await;
    let post = |path: &str, body: &str| Ask::post(path, body).header("Content-Type", "application/json");
    for path in ["/capabilities/nothing", "/capabilities"] {
        let unknown = refused(&desk.ask(Via::H1, post(path, "{}")).await, 404, "unknown_capability");
        assert!(unknown["available_capabilities"].as_array().is_some_and(|all| all.len() == 6), "{unknown}");
    }
    for method in ["GET", "PUT", "DELETE"] {
        let response = desk.ask(Via::H1, Ask::new(method, "/capabilities/flights_search")).await;
        refused(&response, 405, "invalid_request");
        assert!(response.headers.tokens("allow").contains(&"post".to_owned()), "{method}");
    }
    let deep = format!("{{\"origin\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    for body in [
        "",
        "{",
        "[]",
        "7",
        &deep,
        r#"{"origin":"MAD","origin":"NRT"}"#,
        r#"{"origin":"M"}"#,
        r#"{"origin":7}"#,
        r#"{"origin":"MAD","color":"red"}"#,
        r#"{"origin":"MAD","session_id":7}"#,
        r#"{"origin":"MAD","session_id":"never-given"}"#,
        r#"{"origin":"MAD","context":[]}"#,
        r#"{"origin":"MAD","context":{"max_tokens":"many"}}"#,
        r#"{"origin":"MAD","context":{"callback_url":"http://169.254.169.254/"}}"#,
    ] {
        refused(&desk.ask(Via::H1, post("/capabilities/flights_search", body)).await, 400, "invalid_request");
    }
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn openapi_documents_what_takes_a_while() {
    let origin = origin().await;
    let person =
        declare("agreements.request", "query", "\nrisk_level = \"low\"\nauth = \"none\"\nupstream = { desk = true }");
    let desk = site(&origin, &person).start().await;
    let document = desk.get("/openapi.json").await.json();
    let operation = &document["paths"]["/capabilities/agreements_request"]["post"];
    assert!(
        operation["description"].as_str().is_some_and(|d| d.contains("/agent/converse/status/")),
        "§E.5: {operation}"
    );
    assert_eq!(document["paths"]["/agent/converse/status/{session_id}"]["get"]["operationId"], "pollStatus");
    let body = json!({ "query": "A rate for ten of us?" });
    let accepted = desk.ask(Via::H1, operate("/capabilities/agreements_request", &body)).await.json();
    assert_eq!(accepted["status"], "accepted", "{accepted}");
    let poll = desk.get(accepted["poll"].as_str().expect("where")).await.json();
    assert_eq!(poll["status"], "pending", "{poll}");
}

#[tokio::test]
async fn openapi_stands_alone() {
    let origin = origin().await;
    let named = "[schemas]\nPlace = { type = \"object\", required = [\"code\"], properties = { code = { type = \"string\" } } }\n\
                 Tree = { type = \"object\", properties = { branches = { type = \"array\", items = { \"$ref\" = \"#/schemas/Tree\" } } } }\n";
    let lines = "\ninput_schema = { type = \"object\", properties = { to = { \"$ref\" = \"#/schemas/Place\" }, tree = { \"$ref\" = \"#/schemas/Tree\" } } }";
    let desk = site(&origin, &(named.to_owned() + &query("places.find", lines))).start().await;
    let document = desk.get("/openapi.json").await;
    let schema = &document.json()["paths"]["/capabilities/places_find"]["post"]["requestBody"]["content"]["application/json"]
        ["schema"];
    assert_eq!(schema["properties"]["to"]["properties"]["code"]["type"], "string", "{schema}");
    assert!(!document.text().contains("#/schemas/"), "{}", document.text());
    assert!(!desk.get("/.well-known/agent.json").await.text().contains("#/schemas/"));
}

#[tokio::test]
async fn openapi_and_the_others_are_exported_as_they_are_published() {
    let origin = origin().await;
    let setup = before(&origin);
    let desk = setup.start().await;
    let dir = Dir::new();
    dir.write("site.toml", std::fs::read(&desk.config).expect("the configuration"));
    let export = |what: &str| {
        let (code, out, err) = run_to_end(&["export", what, "site.toml"], dir.path());
        assert_eq!(code, 0, "{what}: {err}");
        out
    };
    assert_eq!(export("openapi"), desk.get("/openapi.json").await.text());
    assert_eq!(export("ahp"), desk.get("/.well-known/agent.json").await.text());
    let tools: Value = serde_json::from_str(&export("mcp")).expect("JSON");
    let listed = desk.result(&crate::support::rpc::message("tools/list", json!({}))).await;
    assert_eq!(tools, listed);
    dir.write("site.toml", "[upstream]\nurl = \"http://127.0.0.1:1\"\n[site]\nname = \"Example Travel\"\n");
    assert!(export("llms").starts_with("# Example Travel\n"));
}

#[tokio::test]
async fn openapi_a_confirmation_can_be_given_whatever_inputs_are_called() {
    let origin = origin().await;
    let names = |taken: &[&str]| {
        let own: String = taken.iter().map(|name| format!(", {name} = {{ type = \"string\" }}")).collect();
        format!(
            "\nrisk_level = \"low\"\nauth = \"required\"\nrequires_user_confirmation = true\n\
             input_schema = {{ type = \"object\", properties = {{ fare_id = {{ type = \"string\" }}{own} }} }}\n\
             upstream = {{ method = \"POST\", path = \"/api/holds\" }}"
        )
    };
    let cases: [(&str, &[&str], &str); 3] = [
        ("one", &["confirmation"], "`clarification`"),
        ("two", &["clarification"], "`confirmation`"),
        ("both", &["confirmation", "clarification"], "the header AICP-Confirmation"),
    ];
    let all: String = cases.iter().map(|(id, taken, _)| declare(id, "commit_action", &names(taken))).collect();
    let desk = site(&origin, &all).start().await;
    let document = desk.get("/openapi.json").await.json();
    for (id, taken, place) in cases {
        let path = format!("/capabilities/{id}");
        let said = document["paths"][&path]["post"]["description"].as_str().expect("a description");
        assert!(said.ends_with(&format!("call again with {place}.")), "{said}");
        let mut body = json!({ "query": "hold it", "fare_id": id });
        taken.iter().for_each(|name| body[*name] = json!("mine"));
        let asked = desk.call(operate(&path, &body).bearer(FULL)).await.json();
        let token = asked["confirmation"]["token"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned();
        let mut ask = operate(&path, &body);
        if let Some(name) = place.strip_prefix('`').and_then(|place| place.strip_suffix('`')) {
            body[name] = token.into();
            ask = operate(&path, &body);
        } else {
            ask = ask.header("AICP-Confirmation", &token);
        }
        let before = upstream_calls(&origin).len();
        let done = desk.call(ask.bearer(FULL)).await;
        assert_eq!(done.json()["status"], "success", "{id}: {}", done.text());
        assert_eq!(upstream_calls(&origin).len(), before + 1, "{id}");
    }
}

/// Members of a question, each with a value that is refused.
fn beyond_bounds() -> Vec<Value> {
    let long = |most: usize| "x".repeat(most + 1);
    let around = |name: &str, value: Value| json!({ "context": { name: value } });
    vec![
        json!({ "query": "" }),
        json!({ "query": " \n" }),
        json!({ "query": long(4096) }),
        json!({ "session_id": "" }),
        json!({ "session_id": long(128) }),
        json!({ "clarification": long(1024) }),
        json!({ "confirmation": long(1024) }),
        around("requesting_agent", long(128).into()),
        around("user_intent", long(256).into()),
        around("locale", long(64).into()),
        around("callback_url", "".into()),
        around("callback_url", long(2048).into()),
        around("idempotency_key", "".into()),
        around("idempotency_key", long(255).into()),
        around("max_tokens", 0.into()),
        around("accept_types", vec!["text/answer"; 65].into()),
    ]
}

#[tokio::test]
async fn openapi_and_mcp_publish_the_bounds_of_what_is_said() {
    let (_origin, desk) = travel().await;
    let validator = |schema: &Value| jsonschema::validator_for(schema).unwrap_or_else(|e| panic!("{e}: {schema}"));
    let document = desk.get("/openapi.json").await.json();
    let at = "/paths/~1capabilities~1holds_now/post/requestBody/content/application~1json/schema";
    let in_openapi = validator(document.pointer(at).expect("a schema"));
    let tools = desk.result(&message("tools/list", json!({}))).await;
    let tool = |name: &str| {
        let tools = tools["tools"].as_array().expect("tools").clone();
        tools.into_iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("no {name}"))["inputSchema"]
            .clone()
    };
    let in_mcp = validator(&tool("holds_now"));
    let whole = |part: &Value| {
        let mut body = json!({ "query": "hold it", "fare_id": "f1" });
        body.as_object_mut().expect("an object").extend(part.as_object().cloned().unwrap_or_default());
        body
    };
    assert!(in_openapi.is_valid(&whole(&json!({}))) && in_mcp.is_valid(&whole(&json!({}))));
    for part in beyond_bounds() {
        let body = whole(&part);
        assert!(!in_openapi.is_valid(&body), "published as fine: {part}");
        let response = desk.ask(Via::H1, operate("/capabilities/holds_now", &body).bearer(FULL)).await;
        assert_eq!(response.status, 400, "{part}: {}", response.text());
        if part.get("context").is_none() {
            assert!(!in_mcp.is_valid(&body), "published as fine: {part}");
            let called = desk.rpc(post(call("holds_now", body).to_string()).bearer(FULL)).await;
            assert_eq!(result(&called)["isError"], true, "{part}: {}", called.text());
        }
    }
    // A key that is an argument, and the schema of a question without inputs in the manifest.
    let asked = tool("holds_asked");
    assert_eq!(asked["properties"]["idempotency_key"]["minLength"], 1, "{asked}");
    let manifest = desk.get("/.well-known/agent.json").await.json();
    let broken = manifest["capabilities"].as_array().expect("capabilities").iter().find(|c| c["name"] == "broken");
    let in_manifest = validator(&broken.expect("broken")["input_schema"]);
    for (query, fits) in [("", false), (" ", false), ("x", true)] {
        assert_eq!(in_manifest.is_valid(&json!({ "query": query })), fits, "{query:?}: {manifest}");
    }
}
