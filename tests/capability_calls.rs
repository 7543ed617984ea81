//! Promise: a capability is called over plain HTTP with its method and endpoint, and answers in the requested type with
//! the right status.

use crate::support::calls::{
    AOM, FULL, action, assert_answer, assert_fault, call, declare, last_upstream, query, site, upstream_calls,
};
use crate::support::{Ask, Desk, Origin, Reply, Request, Tls, Via};
use serde_json::{Value, json};

const READ: &str = "\nupstream = { method = \"GET\", path = \"/api/read\" }";
const DO: &str = "\nupstream = { method = \"POST\", path = \"/api/do\" }";

/// The site answers with the status in the query `status`, or 200.
async fn desk_with(capabilities: &str) -> (Origin, Desk) {
    let origin = Origin::start(|r: &Request| {
        let status = r.target.split_once("/status/").and_then(|(_, s)| s.parse().ok()).unwrap_or(200);
        Reply::new(status).header("Content-Type", "application/json").body("{\"ok\":true}")
    })
    .await;
    let desk = site(&origin, capabilities).start().await;
    (origin, desk)
}

#[tokio::test]
async fn capability_answers_come_as_the_type_that_is_acceptable() {
    let (_origin, desk) = desk_with(&query("read", READ)).await;
    for (accept, bare) in [
        (None, false),
        (Some("*/*"), false),
        (Some(""), false),
        (Some(" , "), false),
        (Some(AOM), false),
        (Some("application/*"), false),
        (Some("APPLICATION/AOM+JSON"), false),
        (Some("text/html, application/aom+json;q=0.1"), false),
        (Some("application/json, */*"), false),
        (Some("application/json"), true),
        (Some("Application/JSON;q=0.5"), true),
        (Some("application/json, text/html"), true),
        (Some("application/aom+json;q=0, application/json"), true),
    ] {
        let ask = call("/agent/read", &json!({}));
        let ask = if let Some(types) = accept { ask.accept(types) } else { ask };
        let response = desk.call(ask).await;
        assert!(response.headers.tokens("vary").contains(&"accept".to_owned()), "{accept:?}: {:?}", response.headers);
        if bare {
            let kind = (response.status, response.media_type());
            assert_eq!(kind, (200, "application/json".to_owned()), "{accept:?}: {}", response.text());
            assert_eq!(response.json(), json!({ "ok": true }), "{accept:?}");
        } else {
            assert_eq!(assert_answer(&response, 200, &format!("{accept:?}"))["data"], json!({ "ok": true }));
        }
    }
}

#[tokio::test]
async fn capability_calls_that_no_answer_would_suit_do_nothing() {
    let (origin, desk) = desk_with(&(query("read", READ) + &action("do", DO))).await;
    for accept in ["text/html", "image/*", "application/json;q=0", "*/*;q=0", "application/xml, text/plain"] {
        for endpoint in ["/agent/read", "/agent/do"] {
            let response = desk.call(call(endpoint, &json!({})).bearer(FULL).accept(accept)).await;
            assert_eq!(response.status, 406, "{endpoint} as {accept}: {}", response.text());
            assert!(response.json()["error"]["code"].is_string(), "{endpoint} as {accept}");
        }
    }
    assert_eq!(upstream_calls(&origin).len(), 0);
}

#[tokio::test]
async fn capability_faults_come_whatever_is_acceptable() {
    let (_origin, desk) = desk_with(&query("read", READ)).await;
    let response = desk.call(Ask::post("/agent/read", "{").accept("application/json")).await;
    assert_eq!((response.status, response.json()["error"]["code"].as_str()), (400, Some("invalid_request")));
}

#[tokio::test]
async fn capability_statuses_are_the_sites_for_actions_and_200_for_reads() {
    let at = |s: u16, m: &str| format!("\nupstream = {{ method = \"{m}\", path = \"/api/status/{s}\" }}");
    let mut all = String::new();
    for status in [200, 201, 202, 203] {
        all += &(query(&format!("read{status}"), &at(status, "POST"))
            + &action(&format!("do{status}"), &at(status, "POST")));
    }
    let (_origin, desk) = desk_with(&all).await;
    for status in [200, 201, 202, 203] {
        let read = desk.call(call(&format!("/agent/read{status}"), &json!({}))).await;
        assert_answer(&read, 200, &format!("a read of {status}"));
        let done = desk.call(call(&format!("/agent/do{status}"), &json!({})).bearer(FULL)).await;
        assert_answer(&done, status, &format!("an action with {status}"));
    }
}

#[tokio::test]
async fn capability_actions_may_answer_nothing() {
    let origin = Origin::start(|_: &Request| Reply::new(204)).await;
    let desk = site(&origin, &action("do", DO)).start().await;
    let response = desk.call(call("/agent/do", &json!({})).bearer(FULL)).await;
    // 204 is the site's number, but leaves no room for what can be done next.
    if response.status != 204 {
        assert_answer(&response, 200, "nothing");
    }
}

#[tokio::test]
async fn capability_answers_may_be_wrapped_or_raw() {
    let csv = "id,price\nfare_1,682\n";
    let origin = Origin::start(move |r: &Request| match r.target.as_str() {
        "/api/csv" => Reply::new(203).header("Content-Type", "text/csv; charset=utf-8").body(csv),
        _ => Reply::new(200).header("Content-Type", "application/octet-stream").body([0, 159, 146, 150, b'"', b'<']),
    })
    .await;
    let at = |p: &str, r: &str| format!("\nupstream = {{ method = \"GET\", path = \"/api/{p}\", response = \"{r}\" }}");
    let all = query("wrap.csv", &at("csv", "wrap"))
        + &query("raw.csv", &at("csv", "raw"))
        + &query("wrap.bytes", &at("bytes", "wrap"))
        + &query("raw.bytes", &at("bytes", "raw"));
    let desk = site(&origin, &all).start().await;
    let wrapped = assert_answer(&desk.call(call("/agent/wrap/csv", &json!({}))).await, 200, "wrapped");
    let data = &wrapped["data"];
    assert!(data["content_type"].as_str().expect("a type").starts_with("text/csv"), "{data}");
    assert_eq!((&data["status"], &data["body"]), (&json!(203), &json!(csv)), "{data}");
    let bytes = assert_answer(&desk.call(call("/agent/wrap/bytes", &json!({}))).await, 200, "wrapped bytes");
    assert_eq!(bytes["data"]["content_type"], "application/octet-stream");
    assert!(bytes["data"]["body"].is_string(), "text however it was read: {bytes}");
    let raw = desk.call(call("/agent/raw/csv", &json!({})).accept("*/*")).await;
    assert_eq!((raw.status, raw.media_type().as_str(), raw.text().as_str()), (200, "text/csv", csv));
    let raw = desk.call(call("/agent/raw/bytes", &json!({})).accept("*/*")).await;
    assert_eq!((raw.status, raw.body), (200, vec![0, 159, 146, 150, b'"', b'<']));
}

#[tokio::test]
async fn capability_calls_without_an_upstream_go_to_their_own_endpoint_there() {
    let origin = Origin::start(|_: &Request| Reply::json("{\"own\":1}")).await;
    let get = "\nmethod = \"GET\"\nendpoint = \"/api/own/{thing_id}\"\nrisk_level = \"low\"\nauth = \"none\"";
    let all = query("own", "\nendpoint = \"/api/own\"") + &declare("own.read", "resource", get);
    let desk = site(&origin, &all).start().await;
    let input = json!({ "a": [1, "x"], "b": null });
    let answer = assert_answer(&desk.call(call("/api/own", &input)).await, 200, "POST");
    assert_eq!(answer["data"], json!({ "own": 1 }));
    let seen = last_upstream(&origin);
    assert_eq!((seen.method.as_str(), seen.target.as_str()), ("POST", "/api/own"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(serde_json::from_slice::<Value>(&seen.body).expect("JSON"), input);
    assert_answer(&desk.call(Ask::get("/api/own/a%20b?x=1")).await, 200, "GET");
    let seen = last_upstream(&origin);
    assert_eq!((seen.method.as_str(), seen.target.as_str()), ("GET", "/api/own/a%20b?x=1"));
    assert!(seen.body.is_empty());
}

#[tokio::test]
async fn capability_reads_by_get_may_be_asked_for_their_head() {
    let read = declare("read", "resource", &format!("\nmethod = \"GET\"\nrisk_level = \"low\"\nauth = \"none\"{READ}"));
    let (origin, desk) = desk_with(&read).await;
    let (full, head) = (desk.call(Ask::get("/agent/read")).await, desk.call(Ask::head("/agent/read")).await);
    assert_eq!((head.status, head.media_type().as_str(), head.body.len()), (200, AOM, 0));
    assert_eq!(full.headers.tokens("vary"), head.headers.tokens("vary"));
    assert!(upstream_calls(&origin).iter().all(|r| ["GET", "HEAD"].contains(&r.method.as_str())));
}

#[tokio::test]
async fn capability_calls_by_another_method_are_answered_by_us() {
    let read = declare("read", "resource", &format!("\nmethod = \"GET\"\nrisk_level = \"low\"\nauth = \"none\"{READ}"));
    let (origin, desk) = desk_with(&(read + &action("do", DO))).await;
    for (method, endpoint, allowed) in [
        ("POST", "/agent/read", "GET"),
        ("DELETE", "/agent/read", "GET"),
        ("GET", "/agent/do", "POST"),
        ("PUT", "/agent/do", "POST"),
    ] {
        let response = desk.call(Ask::new(method, endpoint).bearer(FULL).body("{}")).await;
        assert_eq!(response.status, 405, "{method} {endpoint}: {}", response.text());
        assert!(response.headers.joined("allow").contains(allowed), "{method} {endpoint}: {:?}", response.headers);
    }
    assert!(origin.asked().is_empty() && upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn capability_calls_are_the_same_over_every_http() {
    let origin =
        Origin::start(|_: &Request| Reply::new(201).header("Content-Type", "application/json").body("{}")).await;
    let setup = site(&origin, &action("do", DO)).tls(&Tls::new()).set("listen", "h2c = true");
    let desk = setup.start().await;
    for via in [Via::H1, Via::H1Tls, Via::H2Tls, Via::H2c] {
        let response = desk.ask(via, call("/agent/do", &json!({ "a": 1 })).bearer(FULL)).await;
        assert_answer(&response, 201, &format!("{via:?}"));
        assert_eq!(last_upstream(&origin).body, b"{\"a\":1}", "{via:?}");
        let refused = desk.ask(via, call("/agent/do", &json!({}))).await;
        assert_fault(&refused, 401, "auth_required", &format!("{via:?}"));
    }
}

#[tokio::test]
async fn capability_calls_of_what_is_not_exposed_find_nothing() {
    let hidden = query("inner", &format!("\nexposed = false{READ}"));
    let (origin, desk) = desk_with(&(query("read", READ) + &hidden)).await;
    let response = desk.call(call("/agent/inner", &json!({}))).await;
    assert!(upstream_calls(&origin).is_empty(), "it was carried out: {}", response.text());
    for path in ["/.well-known/agent.json", "/.well-known/agent-interface.toml", "/.well-known/agent-interface"] {
        assert!(!desk.get(path).await.text().contains("inner"), "{path}");
    }
}

#[tokio::test]
async fn capability_get_takes_its_input_from_the_query_alone() {
    let origin = Origin::start(|_: &Request| Reply::json("{}")).await;
    let lines = "\nmethod = \"GET\"\ninput_schema = { type = \"object\", properties = { n = { type = \"integer\" } } }\n\
                 upstream = { path = \"/api/n\" }";
    let desk = site(&origin, &query("a.n", lines)).start().await;
    let body = Ask::new("GET", "/agent/a/n?n=1").header("Content-Type", "application/json").body("{\"n\":2}");
    let refused = desk.call(body).await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert!(refused.text().contains("in the query") && upstream_calls(&origin).is_empty(), "{}", refused.text());
    // As an integer is written, however it came.
    for (asked, sent) in [("3", "3"), ("1e2", "100"), ("-0", "0"), ("5.0", "5")] {
        let answer = desk.call(Ask::get(&format!("/agent/a/n?n={asked}"))).await;
        assert_eq!(answer.status, 200, "{asked}: {}", answer.text());
        assert_eq!(last_upstream(&origin).target, format!("/api/n?n={sent}"), "{asked}");
    }
}
