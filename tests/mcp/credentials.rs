//! Tests of callers: a credential in the header or in the message counts the same, and pages of other sites are
//! refused.

use super::*;

#[tokio::test]
async fn mcp_d5_believes_a_credential_in_the_header_or_in_the_message() {
    let origin = origin().await;
    let key = TokenKey::ed("one");
    let desk = believing(before(&origin), &key).start().await;
    let fare = || json!({ "fare_id": "fare_1" });
    failed(&desk.result(&call("holds_now", fare())).await, "auth_required");
    assert!(upstream_calls(&origin).is_empty());
    let jwt = token(&key, "ada", "", json!({}));
    for (ask, who) in [
        (post(call("holds_now", fare()).to_string()).bearer(FULL), "full"),
        (post(call("holds_now", fare()).to_string()).header("X-AHP-Key", BARE), "bare"),
        (with_auth("holds_now", fare(), FULL), "full"),
        (with_auth("holds_now", fare(), &format!("Bearer {FULL}")), "full"),
        (with_auth("holds_now", fare(), &jwt), "ada"),
        (with_auth("holds_now", fare(), FULL).bearer(BARE), "bare"),
    ] {
        let done = result(&desk.rpc(ask).await);
        assert_eq!(done["isError"], false, "{who}: {done}");
        let told = upstream_calls(&origin).pop().expect("a call");
        assert_eq!(told.header("x-frontdesk-caller"), Some(who));
        let proof = if who == "ada" { "token" } else { "key" };
        assert_eq!(told.header("x-frontdesk-verified"), Some(proof), "{who}: the site hears who was verified");
        assert!(!format!("{:?}{}", told.headers, String::from_utf8_lossy(&told.body)).contains(FULL), "not handed on");
    }
    let called = upstream_calls(&origin).len();
    for (auth, reason) in
        [("guess", "token_malformed"), ("", "token_malformed"), (&*format!("{jwt}x"), "token_malformed")]
    {
        let refused = failed(&result(&desk.rpc(with_auth("holds_now", fare(), auth)).await), "auth_required");
        assert_eq!(refused["reason"], reason, "{auth}: {refused}");
        assert!(auth.is_empty() || !refused.to_string().contains(auth), "it came back: {refused}");
    }
    failed(&result(&desk.rpc(with_auth("holds_now", fare(), "guess").bearer(FULL)).await), "auth_required");
    let wrong = desk.rpc(post(call("holds_now", fare()).to_string()).bearer("guess")).await;
    assert_eq!(wrong.status, 401, "in the header it is told by HTTP");
    assert!(wrong.header("www-authenticate").is_some_and(|c| c.starts_with("Bearer")));
    assert_eq!(wrong.json()["error"]["data"]["code"], "auth_required", "{}", wrong.text());
    assert_eq!(upstream_calls(&origin).len(), called);
}

#[tokio::test]
async fn mcp_counts_a_credential_in_the_message_as_one_in_the_header() {
    let origin = origin().await;
    let limits = [("anonymous", "4/minute"), ("authenticated", "6/minute"), ("actions", "2/minute")];
    let desk = before(&origin).limits(&limits).start().await;
    let search = || with_auth("flights_search", json!({ "origin": "MAD" }), FULL);
    for used in 1..=6 {
        let response = desk.rpc(search()).await;
        assert_eq!(result(&response)["isError"], false, "{used}: {}", response.text());
        let rate = rate(&response, "with a key in the message");
        assert_eq!((rate.limit, rate.remaining), (6, 6 - used), "not by the address, which has 4");
    }
    let over = desk.rpc(search()).await;
    let refused = failed(&result(&over), "rate_limited");
    assert_eq!(refused["scope"], "agent", "{refused}");
    // The header's count is the same one.
    assert_eq!(
        desk.rpc(post(call("flights_search", json!({ "origin": "MAD" })).to_string()).bearer(FULL)).await.status,
        429
    );
    let hold = || post(call("holds_now", json!({ "fare_id": "f" })).to_string()).header("X-AHP-Key", BARE);
    for allowed in [true, true, false] {
        let held = result(&desk.rpc(hold()).await);
        assert_eq!(held["isError"], !allowed, "actions have a limit of their own: {held}");
    }
    // Guesses are counted by the address they come from, and end.
    let mut reasons = Vec::new();
    for n in 0..6 {
        let response = desk.rpc(with_auth("flights_search", json!({ "origin": "MAD" }), &format!("guess-{n}"))).await;
        let body = response.json();
        let code = if response.status == 429 {
            body["error"]["data"]["code"].clone()
        } else {
            body["result"]["_meta"]["error"]["code"].clone()
        };
        reasons.push(code.as_str().unwrap_or_default().to_owned());
    }
    assert_eq!(reasons.last().map(String::as_str), Some("rate_limited"), "{reasons:?}");
    assert!(reasons.iter().filter(|r| *r == "auth_required").count() <= 4, "{reasons:?}");
    let wrong = desk.rpc(with_auth("flights_search", json!({ "origin": "MAD" }), "guess-6")).await;
    let right = desk.rpc(with_auth("flights_search", json!({ "origin": "MAD" }), FULL)).await;
    assert_eq!(right.status, wrong.status);
    for over in [&wrong, &right] {
        assert_eq!(failed(&result(over), "rate_limited")["scope"], "ip", "the right one is told no sooner");
        assert_eq!(over.header("x-ratelimit-limit"), Some("4"));
    }
}

#[tokio::test]
async fn mcp_asks_for_a_credential_where_nobody_is_anonymous() {
    let origin = origin().await;
    let desk = before(&origin).set("policies", "anonymous_access = false").start().await;
    assert!(desk.result(&message("tools/list", json!({}))).await["tools"].is_array(), "what is published is no secret");
    failed(&desk.result(&call("flights_search", json!({ "origin": "MAD" }))).await, "auth_required");
    assert!(upstream_calls(&origin).is_empty());
    let found = result(&desk.rpc(with_auth("flights_search", json!({ "origin": "MAD" }), FULL)).await);
    assert_eq!(found["isError"], false, "{found}");
}

#[tokio::test]
async fn mcp_listens_to_no_page_of_another_site() {
    let (_origin, desk) = travel().await;
    let ping = || post(message("ping", json!({})).to_string());
    for (host, origin, expected) in [
        ("site.test", "https://site.test", 200),
        ("127.0.0.1:8080", "http://127.0.0.1:8080", 200),
        ("localhost", "http://localhost", 200),
        ("site.test", "https://evil.example", 403),
        ("site.test", "http://site.test", 403),
        ("site.test", "null", 403),
        ("evil.example", "http://evil.example", 403),
        ("evil.example", "https://site.test", 403),
        ("127.0.0.1:8080", "http://evil.example", 403),
    ] {
        let response = desk.rpc(ping().header("Host", host).header("Origin", origin)).await;
        assert_eq!(response.status, expected, "{host} {origin}: {}", response.text());
        assert!(!response.headers.has("access-control-allow-origin"), "{host} {origin}");
    }
    assert_eq!(desk.rpc(ping().header("Host", "evil.example")).await.status, 403, "the site is another");
    let twice = ping().header("Origin", "https://site.test").header("Origin", "https://evil.example");
    assert_eq!(desk.rpc(twice).await.status, 403);
    // A page can send text without being asked for leave.
    let simple = Ask::post("/mcp", message("ping", json!({})).to_string()).header("Content-Type", "text/plain");
    assert_eq!(desk.rpc(simple).await.status, 415);
}
