//! Promise: a call's input reaches the site as declared, each value in its own place and nowhere else.

use crate::support::calls::{
    FULL, action, assert_answer, assert_fault, call, declare, last_upstream, query, site, upstream_calls,
};
use crate::support::signer::Bot;
use crate::support::{Ask, Desk, Origin, Reply, Request};
use serde_json::{Value, json};

async fn desk_with(capabilities: &str) -> (Origin, Desk) {
    let origin = Origin::start(|_: &Request| Reply::json("{}")).await;
    let desk = site(&origin, capabilities).env("CHANNEL", "agents-9").start().await;
    (origin, desk)
}

/// Calls it and gives back what the site was asked.
async fn seen(origin: &Origin, desk: &Desk, ask: Ask) -> Request {
    let what = format!("{} {}", ask.method, ask.target);
    let before = upstream_calls(origin).len();
    assert_answer(&desk.call(ask).await, 200, &what);
    assert_eq!(upstream_calls(origin).len(), before + 1, "{what}: one call");
    last_upstream(origin)
}

fn upstream(lines: &str) -> String {
    format!("\n[capabilities.upstream]\n{lines}")
}

/// Names and values of a query or a form, decoded and sorted.
fn fields(text: &str) -> Vec<(String, String)> {
    let mut all: Vec<_> = url::form_urlencoded::parse(text.as_bytes()).into_owned().collect();
    all.sort();
    all
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
}

#[tokio::test]
async fn capability_input_is_renamed_and_goes_to_the_query_of_a_get() {
    let lines = "method = \"GET\"\npath = \"/api/flights\"\nrename_input = { origin = \"from\", destination = \"to\" }";
    let (origin, desk) = desk_with(&query("search", &upstream(lines))).await;
    let input = json!({ "origin": "MAD", "destination": "New York & more?#=%41+é", "max": 70.5, "direct": true });
    let request = seen(&origin, &desk, call("/agent/search", &input)).await;
    let (path, rest) = request.target.split_once('?').expect("a query");
    assert_eq!((request.method.as_str(), path), ("GET", "/api/flights"));
    let expected = [("direct", "true"), ("from", "MAD"), ("max", "70.5"), ("to", "New York & more?#=%41+é")];
    assert_eq!(fields(rest), pairs(&expected));
    assert!(request.body.is_empty() && request.header("content-type").is_none(), "{:?}", request.headers);
}

#[tokio::test]
async fn capability_input_goes_to_the_body_as_json_or_as_a_form() {
    let mut all = String::new();
    for method in ["POST", "PUT", "PATCH"] {
        for body in ["json", "form"] {
            let lines = format!(
                "method = \"{method}\"\npath = \"/api/{{id}}/x\"\nbody = \"{body}\"\nrename_input = {{ a = \"A\" }}"
            );
            all += &query(&format!("{}.{body}", method.to_lowercase()), &upstream(&lines));
        }
    }
    let (origin, desk) = desk_with(&all).await;
    for method in ["POST", "PUT", "PATCH"] {
        let json_ask = call(
            &format!("/agent/{}/json", method.to_lowercase()),
            &json!({ "id": 7, "a": [1, { "b": null }], "c": "&=" }),
        );
        let request = seen(&origin, &desk, json_ask).await;
        assert_eq!((request.method.as_str(), request.target.as_str()), (method, "/api/7/x"));
        assert_eq!(request.header("content-type"), Some("application/json"));
        let body: Value = serde_json::from_slice(&request.body).expect("JSON");
        assert_eq!(body, json!({ "A": [1, { "b": null }], "c": "&=" }));
        let form_ask = call(
            &format!("/agent/{}/form", method.to_lowercase()),
            &json!({ "id": "x", "a": "1&b=2", "c": 3, "d": false }),
        );
        let request = seen(&origin, &desk, form_ask).await;
        assert_eq!(request.target, "/api/x/x");
        let kind = request.header("content-type").unwrap_or_default();
        assert!(kind.starts_with("application/x-www-form-urlencoded"), "{kind}");
        let body = String::from_utf8(request.body).expect("text");
        assert_eq!(fields(&body), pairs(&[("A", "1&b=2"), ("c", "3"), ("d", "false")]));
    }
}

#[tokio::test]
async fn capability_values_never_leave_their_segment_of_the_path() {
    let lines = "method = \"GET\"\npath = \"/api/things/{id}/parts\"";
    let (origin, desk) = desk_with(&query("thing", &upstream(lines))).await;
    for value in [
        "a/b",
        "../x",
        "a/../../b",
        "?x=1",
        "a?b",
        "#f",
        "%2e%2e",
        "%2F",
        "a b",
        "é",
        "a;b=c",
        "a\\b",
        "\r\nX-Evil: 1",
        "http://evil.test/",
        "//evil.test",
        "@evil.test",
        ":80",
        "{id}",
        "${CHANNEL}",
        "\u{202e}",
        "*",
        "&",
        "+",
    ] {
        let before = upstream_calls(&origin).len();
        let response = desk.call(call("/agent/thing", &json!({ "id": value }))).await;
        if response.status != 200 {
            assert_fault(&response, 422, "invalid_input", value);
            assert_eq!(upstream_calls(&origin).len(), before, "{value}");
            continue;
        }
        let request = last_upstream(&origin);
        let segments: Vec<&str> = request.target.split('/').collect();
        assert_eq!(
            (segments.len(), segments[1], segments[2], segments[4]),
            (5, "api", "things", "parts"),
            "{value}: {}",
            request.target
        );
        assert!(!request.target.contains(['?', '#', '\\', ' ']), "{value}: {}", request.target);
        // What the site decodes is the value.
        let decoded = url::form_urlencoded::parse(format!("v={}", segments[3].replace('+', "%2B")).as_bytes())
            .into_owned()
            .next();
        assert_eq!(decoded.expect("one").1, value, "{}", request.target);
        assert!(
            request.header("x-evil").is_none() && request.header("host") == Some("site.test"),
            "{value}: {:?}",
            request.headers
        );
    }
    for value in [
        json!(".."),
        json!("."),
        json!(""),
        json!("%2e%2e/"),
        json!("..%2f"),
        json!([1]),
        json!({ "a": 1 }),
        json!(null),
    ] {
        let before = upstream_calls(&origin).len();
        let response = desk.call(call("/agent/thing", &json!({ "id": value }))).await;
        if upstream_calls(&origin).len() > before {
            let target = last_upstream(&origin).target;
            let url = url::Url::parse(&format!("http://site.test{target}")).expect("a URL");
            let segments: Vec<&str> = url.path_segments().expect("segments").collect();
            assert_eq!((segments.len(), segments[1], segments[3]), (4, "things", "parts"), "{value}: {target}");
            assert!(!segments[2].is_empty(), "{value}: {target}");
        } else {
            assert_fault(&response, 422, "invalid_input", &value.to_string());
        }
    }
    let response = desk.call(call("/agent/thing", &json!({}))).await;
    assert_fault(&response, 422, "invalid_input", "a place without a value");
}

#[tokio::test]
async fn capability_names_and_values_never_become_headers_or_other_fields() {
    let lines =
        "method = \"GET\"\npath = \"/api/x?fixed=1\"\nheaders = { X-Channel = \"${CHANNEL}\", X-Way = \"a b\" }";
    let (origin, desk) = desk_with(&query("x", &upstream(lines))).await;
    let input = json!({ "X-Channel": "mine", "host": "evil.test", "a=b&c": "d\r\nX-Evil: 1", "": "empty" });
    let response = desk.call(call("/agent/x", &input)).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let request = last_upstream(&origin);
    assert_eq!(request.headers.all("x-channel"), ["agents-9"], "as declared");
    assert_eq!(request.headers.all("x-way"), ["a b"]);
    assert_eq!(request.headers.all("host"), ["site.test"]);
    assert!(request.header("x-evil").is_none());
    let (_, rest) = request.target.split_once('?').expect("a query");
    let expected =
        [("", "empty"), ("X-Channel", "mine"), ("a=b&c", "d\r\nX-Evil: 1"), ("fixed", "1"), ("host", "evil.test")];
    assert_eq!(fields(rest), pairs(&expected), "{}", request.target);
}

#[tokio::test]
async fn capability_input_cannot_change_what_the_path_declares() {
    let lines = "method = \"GET\"\npath = \"/api/x?key=ours\"";
    let (origin, desk) = desk_with(&query("x", &upstream(lines))).await;
    let response = desk.call(call("/agent/x", &json!({ "key": "theirs", "k": 1 }))).await;
    if response.status == 200 {
        let target = last_upstream(&origin).target;
        let (_, rest) = target.split_once('?').expect("a query");
        let first = fields(rest).into_iter().find(|(n, _)| n == "key").expect("a key").1;
        assert!(first == "ours" || target.matches("key=").count() == 2, "ours was taken away: {target}");
        assert!(target.starts_with("/api/x?key=ours"), "{target}");
    }
}

#[tokio::test]
async fn capability_input_of_a_get_is_typed_by_its_schema() {
    let schema = "\ninput_schema = { type = \"object\", required = [\"seats\"], properties = { flight_id = { type = \"string\" }, \
        seats = { type = \"integer\" }, direct = { type = \"boolean\" }, max = { type = \"number\" }, code = { type = \"string\" } } }";
    let own = "\nmethod = \"GET\"\nendpoint = \"/agent/flights/{flight_id}\"\nrisk_level = \"low\"\nauth = \"none\"";
    let all =
        declare("flight", "resource", &format!("{own}{schema}{}", upstream("method = \"POST\"\npath = \"/api/look\"")));
    let (origin, desk) = desk_with(&all).await;
    let ask = Ask::get("/agent/flights/MAD%2FNRT%20ok?seats=2&direct=true&max=70.5&code=007&flight=a+b%26c");
    let request = seen(&origin, &desk, ask).await;
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    let expected =
        json!({ "flight_id": "MAD/NRT ok", "seats": 2, "direct": true, "max": 70.5, "code": "007", "flight": "a b&c" });
    assert_eq!(body, expected);
    for (target, pointer) in [
        ("/agent/flights/x?seats=two", "/seats"),
        ("/agent/flights/x?seats=1.5", "/seats"),
        ("/agent/flights/x?seats=2&direct=maybe", "/direct"),
        ("/agent/flights/x?direct=true", ""),
    ] {
        let body = assert_fault(&desk.call(Ask::get(target)).await, 422, "invalid_input", target);
        assert!(body["error"].to_string().contains(&format!("\"{pointer}")), "{target}: {body}");
    }
}

#[tokio::test]
async fn capability_input_in_two_places_is_not_smuggled_past_the_path() {
    let own = "\nmethod = \"POST\"\nendpoint = \"/agent/things/{id}/close\"\nrisk_level = \"low\"\nauth = \"none\"";
    let all =
        declare("close", "query", &format!("{own}{}", upstream("method = \"POST\"\npath = \"/api/things/{id}\"")));
    let (origin, desk) = desk_with(&all).await;
    let request = seen(&origin, &desk, call("/agent/things/a1/close", &json!({ "why": "x" }))).await;
    assert_eq!((request.target.as_str(), request.body.as_slice()), ("/api/things/a1", &b"{\"why\":\"x\"}"[..]));
    let response = desk.call(call("/agent/things/a1/close", &json!({ "id": "b2" }))).await;
    let targets: Vec<String> = upstream_calls(&origin).into_iter().map(|r| r.target).collect();
    assert!(!targets.iter().any(|t| t.contains("b2")), "the path says whose: {targets:?}, {}", response.text());
}

#[tokio::test]
async fn capability_calls_leave_the_agents_credentials_here() {
    let bot = Bot::new("https://bot.example");
    let origin = Origin::start(|_: &Request| Reply::json("{}")).await;
    let lines = upstream("method = \"POST\"\npath = \"/api/x\"");
    let desk = site(&origin, &(query("open", &lines) + &action("do", &lines))).tail(&bot.known()).start().await;
    let ask = call("/agent/do", &json!({}))
        .bearer(FULL)
        .header("X-AHP-Key", FULL)
        .header("Cookie", "session=4711")
        .header("Proxy-Authorization", "Basic eA==")
        .header("X-Frontdesk-Caller", "forged")
        .header("x_frontdesk_verified", "forged")
        .header("Idempotency-Key", "k-1")
        .header("X-Own", "anything");
    let request = seen(&origin, &desk, bot.sign(ask)).await;
    for name in ["authorization", "cookie", "x-ahp-key", "proxy-authorization", "signature", "signature-input", "x-own"]
    {
        assert!(request.header(name).is_none(), "{name}: {:?}", request.headers);
    }
    let head = String::from_utf8_lossy(&request.raw_head).into_owned();
    assert!(!head.contains("forged") && !head.contains(FULL) && !head.contains("4711"), "{head}");
    assert_eq!(request.headers.all("x-frontdesk-caller"), ["full"]);
    assert_eq!(request.headers.all("x-frontdesk-verified"), ["key"]);
    assert_eq!(request.headers.all("x-frontdesk-agent"), ["https://bot.example"]);
    let request = seen(&origin, &desk, call("/agent/open", &json!({}))).await;
    assert_eq!(request.headers.all("x-frontdesk-verified"), ["none"]);
    assert!(request.header("x-frontdesk-caller").is_none());
}
