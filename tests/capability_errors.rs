//! Promise: a refusal states the mistake and its remedy, in AOM, and reveals nothing of the site's internals.

use crate::support::calls::{
    AOM, BARE, FULL, action, action_ids, assert_fault, believing, call, confirmation_token, declare, query, site,
    token, upstream_calls,
};
use crate::support::jwks::{AUDIENCE, TokenKey};
use crate::support::redis::Redis;
use crate::support::setup::dead_address;
use crate::support::{Ask, Desk, Gate, Origin, Reply, Request, Response, SOON, Setup, Step, Tls, Via, eventually};
use serde_json::{Value, json};

const UPSTREAM: &str = "\n[capabilities.upstream]\nmethod = \"POST\"\npath = \"/api/do\"";
const TRACE: &str =
    "Traceback (most recent call last): File \"/srv/app/models.py\", line 42, in db-7.internal psql://u:p@db";

async fn desk_with(capabilities: &str) -> (Origin, Desk) {
    let origin = Origin::start(|_: &Request| Reply::json("{}")).await;
    let desk = site(&origin, capabilities).start().await;
    (origin, desk)
}

/// The JSON pointers that an error names.
fn pointers(body: &Value) -> Vec<String> {
    fn collect(value: &Value, into: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                into.extend(map.get("pointer").and_then(Value::as_str).map(str::to_owned));
                map.values().for_each(|v| collect(v, into));
            }
            Value::Array(all) => all.iter().for_each(|v| collect(v, into)),
            _ => {}
        }
    }
    let mut all = Vec::new();
    collect(&body["error"], &mut all);
    all.sort();
    all.dedup();
    all
}

#[track_caller]
fn challenge(response: &Response) -> String {
    let challenge =
        response.header("www-authenticate").unwrap_or_else(|| panic!("no challenge: {:?}", response.headers));
    assert!(challenge.starts_with("Bearer"), "{challenge}");
    challenge.to_owned()
}

#[tokio::test]
async fn capability_errors_for_what_is_not_json() {
    let (origin, desk) = desk_with(&query("do", UPSTREAM)).await;
    let deep = "[".repeat(60_000);
    for body in [&b"{"[..], b"x", b"{\"a\":1}{", b"{\"a\":\"\xff\"}", b"{'a':1}", b"\0", b"a=1&b=2", deep.as_bytes()] {
        for via in [Via::H1] {
            let ask = Ask::post("/agent/do", body).header("Content-Type", "application/json");
            let what = String::from_utf8_lossy(&body[..body.len().min(20)]).into_owned();
            assert_fault(&desk.ask(via, ask).await, 400, "invalid_request", &what);
        }
    }
    for body in ["[]", "7", "\"text\"", "null"] {
        let response = desk.call(Ask::post("/agent/do", body).header("Content-Type", "application/json")).await;
        let code = response.json()["error"]["code"].clone();
        assert!(code == "invalid_request" || code == "invalid_input", "{body}: {}", response.text());
    }
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(70_000));
    let response = desk.call(Ask::post("/agent/do", long).header("Content-Type", "application/json")).await;
    assert_eq!((response.status, response.media_type().as_str()), (413, AOM), "{}", response.text());
    assert!(response.json()["error"]["code"].is_string());
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn capability_errors_for_input_name_each_place() {
    let schema = "\ninput_schema = { type = \"object\", required = [\"to\"], additionalProperties = false, properties = { \
        to = { type = \"string\" }, seats = { type = \"integer\", maximum = 9 }, \
        legs = { type = \"array\", items = { type = \"object\", properties = { \"a/b~c\" = { type = \"number\" } } } } } }";
    let (origin, desk) = desk_with(&query("do", &format!("{schema}{UPSTREAM}"))).await;
    for (input, expected) in [
        (json!({ "to": 1 }), vec!["/to"]),
        (json!({ "to": "x", "seats": 10, "legs": [{}, { "a/b~c": "x" }] }), vec!["/legs/1/a~1b~0c", "/seats"]),
        (json!({ "to": "x", "seats": "2" }), vec!["/seats"]),
    ] {
        let body = assert_fault(&desk.call(call("/agent/do", &input)).await, 422, "invalid_input", &input.to_string());
        assert_eq!(pointers(&body), expected, "{input}: {body}");
    }
    for input in [json!({}), json!({ "to": "x", "extra": 1 })] {
        let body = assert_fault(&desk.call(call("/agent/do", &input)).await, 422, "invalid_input", &input.to_string());
        let named = body["error"].to_string();
        assert!(named.contains("to") || named.contains("extra"), "{body}");
        assert!(!pointers(&body).is_empty(), "{body}");
    }
    let many: Vec<Value> = (0..3_000).map(|_| json!({ "a/b~c": "x".repeat(5) })).collect();
    let response = desk.call(call("/agent/do", &json!({ "to": "x", "legs": many }))).await;
    assert_fault(&response, 422, "invalid_input", "three thousand mistakes");
    assert!(response.body.len() < 64_000, "{} bytes of them", response.body.len());
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn capability_errors_for_fields_that_are_forbidden() {
    let lines = format!("\nprivacy = {{ purpose = \"x\", forbidden_fields = [\"passport_number\"] }}{UPSTREAM}");
    let (origin, desk) = desk_with(&query("do", &lines)).await;
    for input in [
        json!({ "passport_number": "P1" }),
        json!({ "a": { "passport_number": null } }),
        json!({ "a": [{ "b": { "passport_number": 1 } }] }),
    ] {
        let response = desk.call(call("/agent/do", &input)).await;
        let body = assert_fault(&response, 422, "forbidden_field", &input.to_string());
        assert!(body["error"].to_string().contains("passport_number"), "{body}");
        assert!(!response.text().contains("\"P1\""), "the value came back: {body}");
    }
    assert!(upstream_calls(&origin).is_empty());
    assert_eq!(
        desk.call(call("/agent/do", &json!({ "note": "passport_number" }))).await.status,
        200,
        "a value is no field"
    );
}

#[tokio::test]
async fn capability_errors_for_callers_without_authority() {
    let key = TokenKey::ed("ed");
    let strong = "\nrequires_strong_authentication = true\nrequired_scopes = [\"bookings:purchase\"]";
    let scoped = "\nrequired_scopes = [\"bookings:hold\", \"bookings:purchase\"]";
    let all = action("scoped", &format!("{scoped}{UPSTREAM}")) + &action("strong", &format!("{strong}{UPSTREAM}"));
    let origin = Origin::start(|_: &Request| Reply::json("{}")).await;
    let oauth = "type = \"oauth2\"\nauthorization_url = \"https://site.test/oauth/authorize\"\ntoken_url = \"https://site.test/oauth/token\"";
    let desk = believing(site(&origin, &all).set("auth", oauth), &key).start().await;

    let response = desk.call(call("/agent/scoped", &json!({}))).await;
    assert_fault(&response, 401, "auth_required", "nobody");
    challenge(&response);
    for bad in ["wrong", "a.b.c"] {
        let response = desk.call(call("/agent/scoped", &json!({})).bearer(bad)).await;
        assert_eq!((response.status, response.media_type().as_str()), (401, AOM), "{}", response.text());
        assert!(challenge(&response).contains("invalid_token"), "{bad}: {:?}", response.headers);
    }

    let response = desk.call(call("/agent/scoped", &json!({})).bearer(BARE)).await;
    let body = assert_fault(&response, 403, "missing_scope", "a key without scopes");
    assert_eq!(body["error"]["required_scopes"], json!(["bookings:hold", "bookings:purchase"]));
    assert_eq!(body["error"]["risk_level"], "medium");
    assert_eq!(action_ids(&body), ["auth.request_scope"], "{body}");
    let request = &body["actions"][0];
    assert!(request["endpoint"].as_str().expect("an endpoint").ends_with("/oauth/authorize"), "{request}");
    assert_eq!((&request["method"], &request["requires_user_confirmation"]), (&json!("GET"), &json!(true)));
    let said = challenge(&response);
    assert!(said.contains("insufficient_scope") && said.contains("bookings:purchase"), "{said}");
    let half =
        desk.call(call("/agent/scoped", &json!({})).bearer(&token(&key, "al", "bookings:hold", json!({})))).await;
    assert_fault(&half, 403, "missing_scope", "half of them");

    for (what, weak) in [
        ("no acr", json!({})),
        ("another", json!({ "acr": "pwd", "amr": ["pwd", "otp"] })),
        ("near", json!({ "acr": "mfa2" })),
    ] {
        let response =
            desk.call(call("/agent/strong", &json!({})).bearer(&token(&key, "al", "bookings:purchase", weak))).await;
        assert_fault(&response, 401, "strong_authentication_required", what);
        let said = challenge(&response);
        assert!(said.contains("insufficient_user_authentication") && said.contains("acr_values=\"mfa\""), "{said}");
    }
    let keyed = desk.call(call("/agent/strong", &json!({})).bearer(FULL)).await;
    assert_fault(&keyed, 401, "strong_authentication_required", "a key is not strong");
    for good in [json!({ "acr": "mfa" }), json!({ "amr": ["pwd", "mfa"] })] {
        let response =
            desk.call(call("/agent/strong", &json!({})).bearer(&token(&key, "al", "bookings:purchase", good))).await;
        assert_eq!(response.status, 200, "{AUDIENCE}: {}", response.text());
    }
    assert_eq!(upstream_calls(&origin).len(), 2);
}

#[tokio::test]
async fn capability_errors_before_something_is_confirmed_or_keyed() {
    let lines = format!(
        "\nrisk_level = \"high\"\nauth = \"required\"\nidempotency_required = true{UPSTREAM}\n\
        [capabilities.confirmation]\nsummary = \"Buy {{{{ input.what }}}}\"\nconsequence = \"It is charged.\""
    );
    let (origin, desk) = desk_with(&declare("buy", "commit_action", &lines)).await;
    let ask = |what: &str, key: &str| {
        call("/agent/buy", &json!({ "what": what })).bearer(FULL).header("Idempotency-Key", key)
    };
    let keyless = desk.call(call("/agent/buy", &json!({ "what": "tea" })).bearer(FULL)).await;
    assert_fault(&keyless, 400, "idempotency_key_required", "no key");
    let asked = desk.call(ask("tea", "k1")).await;
    let confirmation = confirmation_token(&asked);
    assert!(asked.json()["confirmation"]["summary"].as_str().is_some_and(|s| s.contains("tea")), "{}", asked.text());
    for (what, ask) in [
        ("made up", ask("tea", "k1").header("AICP-Confirmation", "made-up")),
        ("another input", ask("wine", "k1").header("AICP-Confirmation", &confirmation)),
        (
            "another caller",
            call("/agent/buy", &json!({ "what": "tea" }))
                .bearer(BARE)
                .header("Idempotency-Key", "k1")
                .header("AICP-Confirmation", &confirmation),
        ),
    ] {
        assert_fault(&desk.call(ask).await, 428, "confirmation_invalid", what);
    }
    assert!(upstream_calls(&origin).is_empty());
    let confirmed = desk.call(ask("tea", "k1").header("AICP-Confirmation", &confirmation)).await;
    assert_eq!(confirmed.status, 200, "asking and failing used nothing up: {}", confirmed.text());
    let second = desk.call(ask("tea", "k2").header("AICP-Confirmation", &confirmation)).await;
    assert_fault(&second, 428, "confirmation_invalid", "used already");
    let reused = desk.call(ask("wine", "k1")).await;
    assert_fault(&reused, 422, "idempotency_key_reused", "another input under the key");
    assert_eq!(upstream_calls(&origin).len(), 1);
}

#[tokio::test]
async fn capability_errors_while_the_first_call_is_under_way() {
    let gate = Gate::closed();
    let held = gate.clone();
    let origin = Origin::start(move |_: &Request| Reply::json("{\"n\":1}").chunked().wait(&held).then(" ")).await;
    let desk = site(&origin, &action("do", &format!("\nidempotency_required = true{UPSTREAM}"))).start().await;
    let ask = call("/agent/do", &json!({})).bearer(FULL).header("Idempotency-Key", "k1");
    let mut first = desk.conn().await;
    first.send(ask.bytes()).await;
    eventually("the first call", SOON, async || upstream_calls(&origin).len() == 1).await;
    assert_fault(&desk.call(ask.clone()).await, 409, "idempotency_in_flight", "a second at once");
    gate.open();
    assert_eq!(first.response("POST").await.status, 200);
    let again = desk.call(ask).await;
    assert_eq!((again.status, again.header("idempotency-replayed")), (200, Some("true")), "{}", again.text());
    assert_eq!(upstream_calls(&origin).len(), 1);
}

#[tokio::test]
async fn capability_errors_of_the_site_keep_its_insides_in() {
    let declared =
        format!("{UPSTREAM}\nerrors = {{ \"404\" = \"no_flights\", \"409\" = \"sold_out\", \"503\" = \"closed\" }}");
    let all = query("read", &declared) + &action("do", &declared);
    for (status, code, answered) in [
        (404, "no_flights", 404),
        (409, "sold_out", 409),
        (503, "closed", 503),
        (400, "upstream_error", 502),
        (401, "upstream_error", 502),
        (403, "upstream_error", 502),
        (422, "upstream_error", 502),
        (500, "upstream_error", 502),
        (599, "upstream_error", 502),
    ] {
        let origin = Origin::start(move |_: &Request| {
            let body = json!({ "error": { "code": TRACE }, "message": TRACE, "actions": [TRACE] }).to_string();
            Reply::new(status).header("Content-Type", "application/json").header("X-Debug", TRACE).body(body)
        })
        .await;
        let desk = site(&origin, &all).tls(&Tls::new()).start().await;
        for via in [Via::H1, Via::H2Tls] {
            for endpoint in ["/agent/read", "/agent/do"] {
                let what = format!("{status} to {endpoint} over {via:?}");
                let response = desk.ask(via, call(endpoint, &json!({})).bearer(FULL)).await;
                assert_fault(&response, answered, code, &what);
                let said = format!("{:?} {}", response.headers, response.text());
                for inner in ["Traceback", "models.py", "db-7.internal", "psql", &origin.addr.to_string(), "/api/do"] {
                    assert!(!said.contains(inner), "{what}: {inner}: {said}");
                }
            }
        }
    }
}

#[tokio::test]
async fn capability_errors_when_the_site_is_slow_or_away() {
    let origin = Origin::start(|_: &Request| vec![Step::Stall]).await;
    let slow = format!("{UPSTREAM}\ntimeout = \"200ms\"");
    let keyed = action("do", &format!("\nidempotency_required = true{slow}"));
    let desk = site(&origin, &(query("read", &slow) + &keyed)).start().await;
    let read = desk.call(call("/agent/read", &json!({}))).await;
    assert_fault(&read, 504, "upstream_timeout", "a slow read");
    let ask = call("/agent/do", &json!({})).bearer(FULL).header("Idempotency-Key", "k1");
    assert_fault(&desk.call(ask.clone()).await, 504, "upstream_timeout", "a slow action");
    let called = upstream_calls(&origin).len();
    let again = desk.call(ask).await;
    let code = again.json()["error"]["code"].clone();
    assert!(code == "outcome_unknown" && again.status == 409 || code == "upstream_timeout", "{}", again.text());
    assert_eq!(upstream_calls(&origin).len(), called, "it may have been done: it is not done again");

    let capabilities = query("read", UPSTREAM) + &action("do", UPSTREAM);
    let nowhere = dead_address();
    let desk = site(&origin, "").tail(&capabilities);
    let dead = Setup::before_urls(&[format!("http://{nowhere}")]).tail(
        &desk
            .text(&crate::support::Ports::free())
            .split_once("[[auth.api_keys]]")
            .map(|(_, t)| format!("[[auth.api_keys]]{t}"))
            .expect("keys"),
    );
    let desk = dead.start().await;
    for ask in [call("/agent/read", &json!({})), call("/agent/do", &json!({})).bearer(FULL)] {
        let response = desk.call(ask).await;
        assert_fault(&response, 502, "upstream_connection_error", "nobody there");
        assert!(!response.text().contains(&nowhere.to_string()), "{}", response.text());
    }
}

#[tokio::test]
async fn capability_errors_say_when_to_come_back() {
    let origin = Origin::start(|_: &Request| Reply::json("{}")).await;
    let desk =
        site(&origin, &query("do", UPSTREAM)).limits(&[("anonymous", "1/minute")]).tls(&Tls::new()).start().await;
    assert_eq!(desk.call(call("/agent/do", &json!({}))).await.status, 200);
    for via in [Via::H1, Via::H2Tls] {
        let response = desk.ask(via, call("/agent/do", &json!({}))).await;
        assert_fault(&response, 429, "rate_limited", &format!("{via:?}"));
        let wait: u32 = response.header("retry-after").and_then(|w| w.parse().ok()).expect("Retry-After");
        assert!((1..=61).contains(&wait), "{wait}");
    }

    let redis = Redis::start().await;
    let store = format!("url = \"redis://{}/0\"\non_error = \"allow\"", redis.addr);
    let keyed = action("do", &format!("\nidempotency_required = true{UPSTREAM}"));
    let desk = site(&origin, &keyed).set("store", &store).start().await;
    drop(redis);
    let before = upstream_calls(&origin).len();
    let response = desk.call(call("/agent/do", &json!({})).bearer(FULL).header("Idempotency-Key", "k1")).await;
    assert_eq!((response.status, response.media_type().as_str()), (503, AOM), "{}", response.text());
    assert!(response.header("retry-after").is_some() && response.json()["error"]["code"].is_string());
    assert_eq!(upstream_calls(&origin).len(), before, "the upstream untouched");
}
