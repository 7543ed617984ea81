//! Promise: an action needs a credential with permission, a valid input and, where declared, a person's confirmation.

use crate::support::calls::{BARE, FULL, last_upstream, upstream_calls};
use crate::support::handshake::{
    asking, assert_asks_back, assert_error, assert_reply, assert_success, question, saying, session, with,
};
use crate::support::rpc::{call, failed};
use crate::support::{Ask, Via, agency};
use serde_json::{Value, json};

fn hold() -> Value {
    with(question("hold_make", "Hold fare f1"), json!({ "input": { "fare": "f1" } }))
}

fn seat() -> Value {
    with(question("seat_take", "Take seat 7A"), json!({ "input": { "seat": "7A" } }))
}

#[tokio::test]
async fn clause_25_actions_need_a_credential() {
    let (origin, desk) = agency::open().await;
    // `seat_take` says auth = "none"; an action needs one all the same (§5.3).
    let report = question("report_make", "All of it");
    for asked in [hold(), seat(), report, question("quote_ask", "A quote for ten")] {
        let response = desk.ask(Via::H1, asking(&asked)).await;
        assert_error(&response, 401, "auth_required", &asked.to_string());
        let challenge = response.header("www-authenticate").unwrap_or_default();
        assert!(challenge.starts_with("Bearer"), "{asked}: {:?}", response.headers);
    }
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn clause_25_actions_need_a_credential_whichever_way_they_come() {
    let (origin, desk) = agency::open().await;
    for (name, arguments) in [
        ("hold_make", json!({ "query": "Hold it", "fare": "f1" })),
        ("seat_take", json!({ "query": "Take it", "seat": "7A" })),
        ("report_make", json!({ "query": "All of it" })),
        ("quote_ask", json!({ "query": "A quote for ten" })),
    ] {
        failed(&desk.result(&call(name, arguments.clone())).await, "auth_required");
        let operation = Ask::post(&format!("/capabilities/{name}"), arguments.to_string());
        let response = desk.ask(Via::H1, operation.header("Content-Type", "application/json")).await;
        assert_error(&response, 401, "auth_required", name);
    }
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn clause_25_a_credential_that_is_none_is_refused() {
    let (origin, desk) = agency::open().await;
    for key in ["wrong", "key-with-al", "key-with-alll", "KEY-WITH-ALL"] {
        for ask in [asking(&hold()).bearer(key), asking(&hold()).header("X-AHP-Key", key)] {
            assert_error(&desk.ask(Via::H1, ask).await, 401, "auth_required", key);
        }
    }
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn clause_25_a_credential_without_the_scope_is_forbidden() {
    let (origin, desk) = agency::open().await;
    assert_error(&desk.ask(Via::H1, asking(&hold()).bearer(BARE)).await, 403, "forbidden", "no scope");
    assert!(upstream_calls(&origin).is_empty());
    assert_success(&desk.ask(Via::H1, asking(&hold()).bearer(FULL)).await, "with the scope");
}

#[tokio::test]
async fn clause_25_a_key_comes_in_either_header_and_stops_here() {
    let (origin, desk) = agency::open().await;
    for ask in [asking(&hold()).header("X-AHP-Key", FULL), asking(&hold()).bearer(FULL)] {
        let reply = assert_success(&desk.ask(Via::H1, ask).await, "a key");
        assert_eq!(reply["meta"]["capability_used"], "hold_make", "{reply}");
        assert!(!reply.to_string().contains(FULL), "{reply}");
        let seen = last_upstream(&origin);
        let all = format!("{:?} {}", seen.headers, String::from_utf8_lossy(&seen.body));
        assert!(!all.contains(FULL), "{all}");
    }
}

#[tokio::test]
async fn clause_25_auth_in_the_body_is_tolerated_and_goes_nowhere() {
    let (origin, desk) = agency::open().await;
    let asked = with(question("advice", "How?"), json!({ "auth": "Bearer sesame-in-the-body" }));
    let response = desk.ask(Via::H1, saying(asked.to_string())).await;
    assert_success(&response, "C3");
    let seen = last_upstream(&origin);
    let all = format!("{:?} {}", seen.headers, String::from_utf8_lossy(&seen.body));
    assert!(!all.contains("sesame-in-the-body"), "{all}");
    assert!(!desk.stdout().contains("sesame-in-the-body") && !desk.stderr().contains("sesame-in-the-body"));
}

#[tokio::test]
async fn clause_26_schemas_and_action_types_are_declared() {
    let (_origin, desk) = agency::open().await;
    let manifest = desk.manifest().await;
    let all = manifest["capabilities"].as_array().expect("capabilities");
    let of_mode_3: Vec<&Value> = all.iter().filter(|c| c["mode"] == "MODE3").collect();
    assert_eq!(of_mode_3.len(), 10, "{manifest:#}");
    for capability in of_mode_3 {
        for schema in ["input_schema", "output_schema"] {
            assert!(capability[schema].is_object(), "{schema}: {capability}");
        }
        let name = capability["name"].as_str().expect("a name");
        let wanted = match name {
            "hold_make" | "seat_take" => "action",
            "report_make" | "quote_ask" | "question_ask" => "async",
            _ => "query",
        };
        assert_eq!(capability["action_type"], wanted, "{name}");
    }
    let flights = all.iter().find(|c| c["name"] == "flights_search").expect("flights_search");
    assert_eq!(flights["input_schema"]["required"], json!(["origin", "destination"]), "{flights}");
    assert_eq!(flights["response_types"], json!(["application/data", "text/answer"]), "{flights}");
    assert_eq!(flights["accept_fallback"], true, "{flights}");
}

#[tokio::test]
async fn clause_26_an_input_that_does_not_fit_never_reaches_the_site() {
    let (origin, desk) = agency::open().await;
    for input in [
        json!({ "origin": "Madrid", "destination": "NRT" }),
        json!({ "origin": "MAD", "destination": 7 }),
        json!({ "origin": "MAD", "destination": "NRT", "more": 1 }),
        json!({ "origin": "MAD", "destination": "NRT", "max_price": "cheap" }),
        json!({ "origin": null, "destination": "NRT" }),
    ] {
        let asked = with(question("flights_search", "flights"), json!({ "input": input }));
        assert_error(&desk.ask(Via::H1, asking(&asked)).await, 400, "invalid_request", &input.to_string());
    }
    let long = with(question("hold_make", "hold"), json!({ "input": { "fare": "f".repeat(21) } }));
    assert_error(&desk.ask(Via::H1, asking(&long).bearer(FULL)).await, 400, "invalid_request", "too long");
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn clause_26_what_a_question_yields_is_checked_as_well() {
    let (origin, desk) = agency::open().await;
    // `extract` finds nothing here that fits: asked back, or refused, but never sent.
    for query in ["from madrid to tokyo", "from MA to NR", ""] {
        let response = desk.ask(Via::H1, saying(question("flights_search", query).to_string())).await;
        assert!(response.json()["status"] != "success", "{query}: {}", response.text());
    }
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn clause_25_what_a_person_confirms_is_asked_back_first() {
    let (origin, desk) = agency::open().await;
    let asked = assert_asks_back(&desk.ask(Via::H1, asking(&seat()).bearer(FULL)).await, "before it is confirmed");
    assert!(upstream_calls(&origin).is_empty());
    let clarification = &asked["clarification"];
    assert!(clarification["question"].as_str().is_some_and(|q| q.contains("Take seat") && q.contains("7A")), "{asked}");
    let options: Vec<&str> =
        clarification["options"].as_array().expect("options").iter().filter_map(Value::as_str).collect();
    assert!(options.len() == 2 && options.contains(&"cancel"), "the token and a way out: {asked}");
    let token = options.iter().find(|o| **o != "cancel").expect("a token").to_string();
    let answering = |word: &str| with(seat(), json!({ "session_id": session(&asked), "clarification": word }));
    let invented = desk.ask(Via::H1, asking(&answering("yes")).bearer(FULL)).await;
    assert!(invented.json()["status"] != "success", "a yes is no token: {}", invented.text());
    assert!(upstream_calls(&origin).is_empty());
    assert_success(&desk.ask(Via::H1, asking(&answering(&token)).bearer(FULL)).await, "confirmed");
    assert_eq!(upstream_calls(&origin).len(), 1);
    let again = desk.ask(Via::H1, asking(&answering(&token)).bearer(FULL)).await;
    assert!(again.json()["status"] != "success", "a token is good once: {}", again.text());
    assert_eq!(upstream_calls(&origin).len(), 1);
}

#[tokio::test]
async fn clause_25_what_is_cancelled_is_not_done() {
    let (origin, desk) = agency::open().await;
    let asked = assert_asks_back(&desk.ask(Via::H1, asking(&seat()).bearer(FULL)).await, "before it is confirmed");
    let cancel = with(seat(), json!({ "session_id": session(&asked), "clarification": "cancel" }));
    let reply = desk.ask(Via::H1, asking(&cancel).bearer(FULL)).await;
    assert_reply(&reply, "cancelled");
    assert!(upstream_calls(&origin).is_empty(), "{}", reply.text());
}

#[tokio::test]
async fn clause_25_a_retry_with_its_key_is_done_once() {
    let (origin, desk) = agency::open().await;
    let keyed = with(hold(), json!({ "context": { "idempotency_key": "once-and-no-more" } }));
    let first = assert_success(&desk.ask(Via::H1, asking(&keyed).bearer(FULL)).await, "first");
    let second = assert_success(&desk.ask(Via::H1, asking(&keyed).bearer(FULL)).await, "again");
    assert_eq!(first["response"], second["response"]);
    assert_eq!(upstream_calls(&origin).len(), 1);
}
