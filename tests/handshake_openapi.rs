//! Promise: every capability is an operation of a valid OpenAPI document, every operation works, and all of them reach
//! the same desk (AHP appendix E).

use crate::support::calls::{BARE, FULL, last_upstream, upstream_calls};
use crate::support::handshake::{asking, assert_error, assert_reply, assert_success, polling, question, session, with};
use crate::support::{Ask, Desk, Origin, SOON, Via, agency, eventually};
use serde_json::{Value, json};

async fn described(desk: &Desk) -> Value {
    let response = desk.get("/openapi.json").await;
    assert_eq!((response.status, response.media_type().as_str()), (200, "application/json"), "{}", response.text());
    response.json()
}

/// The call of a capability by its own address.
fn calling(name: &str, body: &Value) -> Ask {
    Ask::post(&format!("/capabilities/{name}"), body.to_string()).header("Content-Type", "application/json")
}

/// Every `$ref` leads somewhere.
#[track_caller]
fn assert_whole(node: &Value, document: &Value) {
    match node {
        Value::Object(members) => {
            if let Some(Value::String(place)) = members.get("$ref") {
                let pointer = place.strip_prefix('#').unwrap_or_else(|| panic!("outside: {place}"));
                assert!(document.pointer(pointer).is_some(), "nothing at {place}");
            }
            members.values().for_each(|m| assert_whole(m, document));
        }
        Value::Array(items) => items.iter().for_each(|i| assert_whole(i, document)),
        _ => {}
    }
}

#[tokio::test]
async fn clause_38_the_description_has_what_appendix_e_asks_for() {
    let (_origin, desk) = agency::open().await;
    let document = described(&desk).await;
    assert_whole(&document, &document);
    assert!(document["openapi"].as_str().is_some_and(|v| v.starts_with("3.1.")), "{}", document["openapi"]);
    assert_eq!((&document["info"]["title"], &document["info"]["version"]), (&json!("Example Travel"), &json!("0.1")));
    assert_eq!(document["servers"][0]["url"], "https://site.test");
    let statuses = document.pointer("/components/schemas/AHPResponse/properties/status/enum").expect("AHPResponse");
    for status in ["success", "clarification_needed", "accepted", "pending", "failed", "expired", "error"] {
        assert!(statuses.as_array().is_some_and(|s| s.contains(&json!(status))), "C7: {status}: {statuses}");
    }
    assert!(document["components"]["securitySchemes"].is_object());
}

#[tokio::test]
async fn clause_38_every_capability_is_an_operation() {
    let (_origin, desk) = agency::open().await;
    let (document, manifest) = (described(&desk).await, desk.manifest().await);
    for capability in manifest["capabilities"].as_array().expect("capabilities") {
        let name = capability["name"].as_str().expect("a name");
        let operation = &document["paths"][format!("/capabilities/{name}")]["post"];
        assert_eq!(operation["operationId"], name, "{operation}");
        assert!(operation["summary"].is_string() || operation["description"].is_string(), "{operation}");
        assert_eq!(operation["requestBody"]["required"], true, "{operation}");
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        assert!(body["required"].as_array().is_some_and(|r| r.contains(&json!("query"))), "{name}: {body}");
        assert_eq!(body["properties"]["query"]["type"], "string", "{name}: {body}");
        assert!(body["properties"]["session_id"].is_object(), "{name}: {body}");
        for status in ["200", "400", "401", "429"] {
            assert!(operation["responses"][status].is_object(), "{name}: {status}: {operation}");
        }
        let guarded = ["hold_make", "seat_take", "report_make", "quote_ask"].contains(&name);
        let security = operation["security"].as_array().is_some_and(|s| s.iter().any(|s| s != &json!({})));
        assert_eq!(security, guarded, "{name}: {operation}");
        if capability["action_type"] == "async" {
            let said = operation["description"].as_str().unwrap_or_default().to_lowercase();
            assert!(said.contains("poll"), "E.5: {name}: {operation}");
        }
    }
}

#[tokio::test]
async fn clause_38_every_operation_works() {
    let (_origin, desk) = agency::open().await;
    let document = described(&desk).await;
    let paths = document["paths"].as_object().expect("paths");
    assert!(paths.len() >= 11, "{paths:?}");
    for (path, operations) in paths.iter().filter(|(_, o)| o.get("post").is_some()) {
        let name = operations["post"]["operationId"].as_str().expect("an id");
        let body = json!({ "query": "from MAD to NRT", "fare": "f1", "seat": "7A" });
        let ask = Ask::post(path, body.to_string()).header("Content-Type", "application/json");
        let reply = assert_reply(&desk.ask(Via::H1, ask.bearer(FULL)).await, path);
        let wanted = match name {
            "report_make" | "quote_ask" | "question_ask" => "accepted",
            "seat_take" => "clarification_needed",
            "flights_search" => continue,
            _ => "success",
        };
        assert_eq!(reply["status"], wanted, "{name}: {reply}");
    }
}

#[tokio::test]
async fn clause_39_the_same_question_reaches_the_site_the_same_way() {
    let (origin, desk) = agency::open().await;
    let seen = |origin: &Origin| {
        let r = last_upstream(origin);
        (r.method, r.target, String::from_utf8_lossy(&r.body).into_owned())
    };
    let input = json!({ "origin": "MAD", "destination": "NRT" });
    let by_converse = desk.told(&with(question("flights_search", "go"), json!({ "input": input }))).await;
    let first = seen(&origin);
    let body = with(input, json!({ "query": "go" }));
    let by_path = assert_success(&desk.ask(Via::H1, calling("flights_search", &body)).await, "by its path");
    assert_eq!(seen(&origin), first);
    assert_eq!(by_converse["response"]["answer"], by_path["response"]["answer"]);
    let words = json!({ "query": "from MAD to NRT" });
    assert_success(&desk.ask(Via::H1, calling("flights_search", &words)).await, "in words");
    assert_eq!(seen(&origin), first);
}

#[tokio::test]
async fn clause_39_one_authority_one_form_of_errors() {
    let (origin, desk) = agency::open().await;
    let hold = json!({ "query": "hold it", "fare": "f1" });
    assert_error(&desk.ask(Via::H1, calling("hold_make", &hold)).await, 401, "auth_required", "nobody");
    assert_error(&desk.ask(Via::H1, calling("hold_make", &hold).bearer(BARE)).await, 403, "forbidden", "no scope");
    let long = json!({ "query": "hold it", "fare": "f".repeat(21) });
    assert_error(
        &desk.ask(Via::H1, calling("hold_make", &long).bearer(FULL)).await,
        400,
        "invalid_request",
        "an input",
    );
    assert_error(&desk.ask(Via::H1, calling("stock_check", &json!({}))).await, 400, "missing_field", "no query");
    let none = desk.ask(Via::H1, calling("no_such_thing", &json!({ "query": "x" }))).await;
    let none = assert_reply(&none, "nothing of that name");
    assert!(["unknown_capability", "invalid_request"].contains(&none["code"].as_str().unwrap_or_default()), "{none}");
    let big = Ask::post("/capabilities/stock_check", "x".repeat(9000)).header("Content-Type", "application/json");
    assert_error(&desk.ask(Via::H1, big).await, 413, "request_too_large", "too much");
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn clause_39_one_session_and_one_count_for_every_way_in() {
    let origin = Origin::start(agency::says).await;
    let desk = agency::before(&origin).limits(&[("anonymous", "4/minute")]).start().await;
    let id = session(&desk.told(&question("stock_check", "What is left?")).await);
    let next = json!({ "query": "And now?", "session_id": id });
    let reply = assert_success(&desk.ask(Via::H1, calling("stock_check", &next)).await, "in the same session");
    assert_eq!(session(&reply), id);
    let invented = json!({ "query": "And now?", "session_id": "abc-123" });
    assert_error(&desk.ask(Via::H1, calling("stock_check", &invented)).await, 400, "invalid_request", "invented");
    desk.told(&question("stock_check", "What is left?")).await;
    let refused = desk.ask(Via::H1, calling("stock_check", &json!({ "query": "x" }))).await;
    assert_error(&refused, 429, "rate_limited", "four in all");
}

#[tokio::test]
async fn clause_39_what_comes_later_is_polled_at_the_one_place() {
    let (_origin, desk) = agency::open().await;
    let ask = calling("report_make", &json!({ "query": "All of it" })).bearer(FULL);
    let reply = assert_reply(&desk.ask(Via::H1, ask).await, "accepted");
    assert_eq!(reply["status"], "accepted", "{reply}");
    eventually("the answer", SOON, async || {
        desk.ask(Via::H1, polling(&reply).bearer(FULL)).await.json()["status"] == "success"
    })
    .await;
    assert_error(&desk.ask(Via::H1, polling(&reply)).await, 404, "invalid_request", "not theirs");
    // The same capability in the conversation is accepted as well.
    let asked = desk.ask(Via::H1, asking(&question("report_make", "All of it")).bearer(FULL)).await;
    assert_eq!(assert_reply(&asked, "accepted")["status"], "accepted");
}

#[tokio::test]
async fn clause_39_what_is_no_operation_does_nothing() {
    let (origin, desk) = agency::open().await;
    for name in ["x/stock_check", "x/hold_make", "hold_make/x", "no_such_thing"] {
        let body = json!({ "query": "hold it", "fare": "f1" });
        let reply = assert_reply(&desk.ask(Via::H1, calling(name, &body).bearer(FULL)).await, name);
        assert_eq!(
            (&reply["status"], &reply["code"]),
            (&json!("error"), &json!("unknown_capability")),
            "{name}: {reply}"
        );
        let there_are = reply["available_capabilities"].as_array().expect("what there is");
        assert!(there_are.contains(&json!("hold_make")), "{name}: {reply}");
        let garbage = Ask::post(&format!("/capabilities/{name}"), "garbage").header("Content-Type", "text/plain");
        assert_eq!(desk.ask(Via::H1, garbage.bearer(FULL)).await.status, 404, "{name}");
    }
    assert!(upstream_calls(&origin).is_empty(), "{:?}", upstream_calls(&origin));
}

#[tokio::test]
async fn clause_39_a_credential_in_the_body_does_not_reach_the_site() {
    let (origin, desk) = agency::open().await;
    let body =
        json!({ "ahp": "0.1", "capability": "other", "query": "left?", "auth": format!("Bearer {FULL}"), "n": 1 });
    assert_success(&desk.ask(Via::H1, calling("stock_check", &body)).await, "asked");
    let seen = last_upstream(&origin);
    assert!(!format!("{seen:?}").contains(FULL), "{seen:?}");
    assert!(seen.target.ends_with("?n=1&query=left%3F"), "{}", seen.target);
}
