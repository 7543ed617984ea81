//! Promise: an invalid question is refused with the reason, costs little, and does nothing.

use crate::support::calls::{FULL, upstream_calls};
use crate::support::handshake::{asking, assert_error, assert_reply, question, saying, with};
use crate::support::{Desk, Origin, Tls, Via, agency};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn stock() -> Value {
    question("stock_check", "What is left?")
}

/// Each of these bodies is refused with 400 and this code, and then the desk is as well as before.
async fn refused(code: &str, bodies: impl IntoIterator<Item = Vec<u8>>) {
    let (origin, desk) = agency::open().await;
    desk.told(&question("site_info", "Who are you?")).await;
    for body in bodies {
        let what = String::from_utf8_lossy(&body[..body.len().min(120)]).into_owned();
        let begun = Instant::now();
        let response = desk.ask(Via::H1, saying(&body).bearer(FULL)).await;
        assert_error(&response, 400, code, &what);
        assert!(begun.elapsed() < Duration::from_secs(2), "{what}: {:?}", begun.elapsed());
    }
    assert_well(&desk, &origin, 0).await;
}

/// It has called the site so often, and goes on answering.
async fn assert_well(desk: &Desk, origin: &Origin, calls: usize) {
    assert_eq!(upstream_calls(origin).len(), calls, "the site was called");
    desk.told(&stock()).await;
}

#[tokio::test]
async fn section_6_what_is_not_a_json_object_is_refused() {
    let bodies: [&[u8]; 16] = [
        b"",
        b" ",
        b"{",
        b"null",
        b"7",
        b"\"stock_check\"",
        b"[]",
        b"[{\"capability\":\"stock_check\",\"query\":\"x\"}]",
        b"{\"capability\":\"stock_check\",\"query\":\"x\"}{}",
        b"{\"capability\":\"stock_check\",\"query\":\"x\",}",
        b"{'capability':'stock_check','query':'x'}",
        b"{\"capability\":\"stock_check\",\"query\":\"\xff\xfe\"}",
        b"{\"capability\":\"stock_check\",\"query\":\"\xc0\xaf\"}",
        b"{\"capability\":\"stock_check\",\"query\":\"\\ud800\"}",
        b"{\"capability\":\"stock_check\",\"query\":\"a\nb\"}",
        b"capability=stock_check&query=x",
    ];
    refused("invalid_request", bodies.map(<[u8]>::to_vec)).await;
}

#[tokio::test]
async fn section_6_a_missing_field_is_named() {
    let (origin, desk) = agency::open().await;
    for (body, name) in [
        (json!({}), "capability"),
        (json!({ "query": "x" }), "capability"),
        (json!({ "capability": "stock_check" }), "query"),
        (json!({ "Capability": "stock_check", "query": "x" }), "capability"),
    ] {
        let reply = assert_error(&desk.ask(Via::H1, saying(body.to_string())).await, 400, "missing_field", name);
        assert!(reply["message"].as_str().is_some_and(|m| m.contains(name)), "{reply}");
    }
    assert_well(&desk, &origin, 0).await;
}

#[tokio::test]
async fn section_6_a_field_of_the_wrong_kind_is_refused() {
    let wrong = [
        json!({ "capability": 7 }),
        json!({ "capability": ["stock_check"] }),
        json!({ "query": 7 }),
        json!({ "query": ["x"] }),
        json!({ "query": { "text": "x" } }),
        json!({ "session_id": 7 }),
        json!({ "session_id": {} }),
        json!({ "clarification": 7 }),
        json!({ "context": "x" }),
        json!({ "context": [] }),
        json!({ "context": { "max_tokens": "500" } }),
        json!({ "context": { "max_tokens": 0 } }),
        json!({ "context": { "max_tokens": -1 } }),
        json!({ "context": { "max_tokens": 1.5 } }),
        json!({ "context": { "requesting_agent": 7 } }),
        json!({ "context": { "user_intent": {} } }),
        json!({ "context": { "callback_url": 7 } }),
        json!({ "context": { "locale": 7 } }),
        json!({ "context": { "idempotency_key": 7 } }),
        json!({ "input": "x" }),
        json!({ "input": [1] }),
    ];
    refused("invalid_request", wrong.map(|more| with(stock(), more).to_string().into_bytes())).await;
}

#[tokio::test]
async fn section_6_a_field_that_is_too_long_is_refused() {
    let of = |length: usize| "a".repeat(length);
    let long = [
        json!({ "query": of(4097) }),
        json!({ "session_id": of(129) }),
        json!({ "clarification": of(1025) }),
        json!({ "context": { "requesting_agent": of(129) } }),
        json!({ "context": { "user_intent": of(257) } }),
        json!({ "context": { "max_tokens": 32769 } }),
    ];
    refused("invalid_request", long.map(|more| with(stock(), more).to_string().into_bytes())).await;
    let (_origin, desk) = agency::open().await;
    for most in [
        json!({ "query": of(4096) }),
        json!({ "query": "é".repeat(2000) }),
        json!({ "context": { "requesting_agent": of(128), "user_intent": of(256), "max_tokens": 32768 } }),
    ] {
        desk.told(&with(stock(), most)).await;
    }
}

#[tokio::test]
async fn section_6_an_empty_question_is_none() {
    let (origin, desk) = agency::open().await;
    for query in [json!(""), json!(null)] {
        let body = json!({ "capability": "stock_check", "query": query });
        let response = desk.ask(Via::H1, saying(body.to_string())).await;
        let reply = assert_reply(&response, "an empty question");
        let code = reply["code"].as_str().unwrap_or_default();
        assert!(response.status == 400 && ["invalid_request", "missing_field"].contains(&code), "{reply}");
    }
    assert_well(&desk, &origin, 0).await;
}

#[tokio::test]
async fn section_6_names_that_are_none_are_unknown() {
    let (origin, desk) = agency::open().await;
    for name in
        ["", "Stock_Check", "stock-check", "stock.check", "../stock_check", "stock_check\u{0}", &"a".repeat(200)]
    {
        let body = json!({ "capability": name, "query": "x" });
        let response = desk.ask(Via::H1, saying(body.to_string())).await;
        let reply = assert_reply(&response, name);
        let code = reply["code"].as_str().unwrap_or_default();
        assert_eq!(response.status, 400, "{name}: {reply}");
        assert!(["unknown_capability", "invalid_request", "missing_field"].contains(&code), "{name}: {reply}");
    }
    assert_well(&desk, &origin, 0).await;
}

#[tokio::test]
async fn section_6_members_nobody_knows_are_ignored() {
    let (_origin, desk) = agency::open().await;
    let more = json!({ "future": { "a": [1] }, "context": { "future": true } });
    let response = desk.ask(Via::H1, saying(with(stock(), more).to_string())).await;
    assert_eq!(assert_reply(&response, "C3: only a strict mode refuses them")["status"], "success");
}

#[tokio::test]
async fn json_nested_ten_thousand_deep_is_refused() {
    let nested = |open: &str, close: &str, times: usize| format!("{}{}", open.repeat(times), close.repeat(times));
    let inside =
        |deep: String| format!("{{\"capability\":\"stock_check\",\"query\":\"x\",\"input\":{{\"a\":{deep}}}}}");
    let bodies = [
        nested("[", "]", 4000),
        "[".repeat(8000),
        inside(nested("[", "]", 4000)),
        inside("[".repeat(8000)),
        inside(nested("{\"a\":", "}", 1000).replace(":}", ":1}")),
    ];
    refused("invalid_request", bodies.map(String::into_bytes)).await;
    // Ten thousand do not fit into what a question may be.
    let (origin, desk) = agency::open().await;
    let deep = inside(nested("[", "]", 10_000));
    assert_error(&desk.ask(Via::H1, saying(deep)).await, 413, "request_too_large", "10,000 deep");
    assert_well(&desk, &origin, 0).await;
    // Unless the operator lets them in.
    let desk = agency::before(&origin).set("sessions", "max_body = \"64KB\"").start().await;
    for deep in [nested("[", "]", 10_000), "[".repeat(30_000)] {
        assert_error(&desk.ask(Via::H1, saying(inside(deep))).await, 400, "invalid_request", "10,000 deep");
    }
    desk.told(&stock()).await;
}

#[tokio::test]
async fn json_with_a_name_twice_is_refused() {
    let bodies = [
        r#"{"capability":"stock_check","capability":"hold_make","query":"x"}"#,
        r#"{"capability":"stock_check","query":"x","query":"y"}"#,
        r#"{"capability":"stock_check","query":"x","\u0071uery":"y"}"#,
        r#"{"capability":"stock_check","query":"x","context":{"max_tokens":5,"max_tokens":500}}"#,
        r#"{"capability":"hold_make","query":"x","input":{"fare":"f1","fare":"f2"}}"#,
        r#"{"capability":"hold_make","query":"x","input":{"fare":"f1","a":{"b":1,"b":2}}}"#,
        r#"{"capability":"stock_check","query":"x","future":1,"future":2}"#,
    ];
    refused("invalid_request", bodies.map(|b| b.as_bytes().to_vec())).await;
}

#[tokio::test]
async fn json_with_many_names_or_long_numbers_costs_little() {
    let (_origin, desk) = agency::open().await;
    desk.told(&stock()).await;
    let names: String = (0..1000).map(|n| format!(",\"k{n}\":0")).collect();
    let many = format!(
        "{{\"capability\":\"stock_check\",\"query\":\"x\"{}}}",
        &names[..7000].trim_end_matches(|c| c != ',').trim_end_matches(',')
    );
    let number = format!("{{\"capability\":\"stock_check\",\"query\":\"x\",\"future\":1{}}}", "0".repeat(7000));
    let exponent = r#"{"capability":"stock_check","query":"x","context":{"max_tokens":1e999999}}"#.to_owned();
    for body in [many, number, exponent] {
        let begun = Instant::now();
        let response = desk.ask(Via::H1, saying(&body)).await;
        assert_reply(&response, &body[..60]);
        assert!([200, 400].contains(&response.status), "{}", response.status);
        assert!(begun.elapsed() < Duration::from_secs(1), "{}: {:?}", &body[..60], begun.elapsed());
    }
}

#[tokio::test]
async fn bad_questions_are_counted_like_good_ones() {
    let origin = Origin::start(agency::says).await;
    let desk = agency::before(&origin).limits(&[("anonymous", "3/minute")]).start().await;
    let statuses = desk.statuses([saying("{"), saying("[]"), saying("x".repeat(9000)), asking(&stock())]).await;
    assert_eq!(statuses, [400, 400, 413, 429]);
}

#[tokio::test]
async fn bad_questions_are_refused_over_every_http() {
    let origin = Origin::start(agency::says).await;
    let desk = agency::before(&origin).tls(&Tls::new()).set("listen", "h2c = true").start().await;
    for via in [Via::H1, Via::H1Tls, Via::H2Tls, Via::H2c] {
        assert_error(&desk.ask(via, saying("{")).await, 400, "invalid_request", &format!("{via:?}"));
        let long = desk.ask(via, saying("x".repeat(9000))).await;
        assert_error(&long, 413, "request_too_large", &format!("{via:?}"));
        let asked = desk.ask(via, asking(&stock())).await;
        assert_eq!(asked.status, 200, "{via:?}: {}", asked.text());
    }
}
