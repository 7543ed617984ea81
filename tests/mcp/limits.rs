//! Tests of rate limits: a tool call counts as a call, and the messages before it do not.

use super::*;
use crate::support::rates::assert_limited;

/// What a client says and reads that calls nothing, in each generation.
fn lifecycle() -> Vec<Ask> {
    let said = |method: &str, params: Value| post(message(method, params).to_string());
    let notified = |method: &str| post(json!({ "jsonrpc": "2.0", "method": method }).to_string());
    let manifest = json!({ "uri": "https://site.test/.well-known/agent.json" });
    vec![
        said("initialize", json!({ "protocolVersion": "2025-11-25" })),
        notified("notifications/initialized"),
        Ask::get("/mcp").accept("text/event-stream"),
        said("ping", json!({})),
        said("tools/list", json!({})),
        said("resources/list", json!({})),
        said("resources/templates/list", json!({})),
        said("resources/read", manifest.clone()),
        stateless("server/discover", json!({})),
        stateless("tools/list", json!({})),
        stateless("resources/read", manifest),
        said("prompts/list", json!({})),
        notified("notifications/cancelled"),
    ]
}

fn search() -> Ask {
    post(call("flights_search", json!({ "origin": "MAD" })).to_string())
}

#[tokio::test]
async fn mcp_lifecycle_is_no_call() {
    let origin = origin().await;
    let desk = before(&origin).limits(&[("anonymous", "3/minute"), ("content", "200/minute")]).start().await;
    let mut left = 200;
    for n in 0..3 {
        for ask in lifecycle().into_iter().cycle().take(34) {
            let response = desk.rpc(ask).await;
            let rate = rate(&response, "a message");
            left -= 1;
            assert_eq!((rate.limit, rate.remaining), (200, left), "{}: {}", response.status, response.text());
            assert!([200, 202, 405].contains(&response.status), "{}: {}", response.status, response.text());
        }
        let response = desk.rpc(search()).await;
        assert_eq!(result(&response)["isError"], false, "{}", response.text());
        let rate = rate(&response, "a call");
        assert_eq!((rate.limit, rate.remaining), (3, 2 - n), "102 messages stood beside it");
    }
    let over = desk.rpc(search()).await;
    assert_limited(&over, "ip", "a fourth call");
    assert_eq!((&over.json()["id"], &over.json()["jsonrpc"]), (&json!(7), &json!("2.0")), "{}", over.text());
    for wrong in [call("nothing", json!({})), message("tools/call", json!({ "_meta": { "session_id": 5 } }))] {
        assert_eq!(desk.rpc(post(wrong.to_string())).await.status, 429, "a call of nothing is a call: {wrong}");
    }
    assert_eq!(result(&desk.rpc(post(message("ping", json!({})).to_string())).await), json!({}));
    assert_eq!(upstream_calls(&origin).len(), 3);
}

#[tokio::test]
async fn mcp_lifecycle_has_a_limit_of_its_own() {
    let origin = origin().await;
    let desk = before(&origin).limits(&[("anonymous", "3/minute"), ("content", "5/minute")]).start().await;
    // What is no message is counted like one that calls nothing.
    for ask in
        [post("{"), post("{}"), post(message("ping", json!({})).to_string()).header("Origin", "https://evil.test")]
    {
        assert_eq!(rate(&desk.rpc(ask).await, "no message").limit, 5);
    }
    for _ in 0..2 {
        desk.result(&message("ping", json!({}))).await;
    }
    for ask in lifecycle().into_iter().chain([post("{"), post("{}")]) {
        let what = format!("{} {:?}", ask.method, ask.body.as_deref().map(String::from_utf8_lossy));
        let response = desk.rpc(ask).await;
        assert_limited(&response, "ip", &what);
        assert_eq!(response.json()["error"]["data"]["code"], "rate_limited", "{}", response.text());
    }
    assert_eq!(result(&desk.rpc(search()).await)["isError"], false, "a call has another limit");
    assert_eq!(result(&desk.rpc(search().bearer(FULL)).await)["isError"], false);
    let known = desk.rpc(post(message("ping", json!({})).to_string()).bearer(FULL)).await;
    assert_eq!(rate(&known, "with a key").remaining, 4, "a credential is counted by itself");
}

#[tokio::test]
async fn mcp_messages_that_cannot_be_read_are_counted_too() {
    let origin = origin().await;
    let desk = before(&origin).limits(&[("content", "6/minute")]).start().await;
    let too_long = || post("x".repeat(100_000));
    for left in (2..6).rev() {
        let response = desk.ask(Via::H1, too_long()).await;
        assert_eq!((response.status, rate(&response, "too long").remaining), (413, left), "{}", response.text());
    }
    let mut leaving = desk.conn().await;
    leaving.send("POST /mcp HTTP/1.1\r\nHost: site.test\r\nContent-Type: application/json\r\n").await;
    leaving.send("Accept: application/json, text/event-stream\r\nContent-Length: 10\r\n\r\n{").await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    drop(leaving);
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    let ping = desk.rpc(post(message("ping", json!({})).to_string())).await;
    assert_eq!(rate(&ping, "after one that left").remaining, 0, "{}", ping.text());
    assert_limited(&desk.ask(Via::H1, too_long()).await, "ip", "one more that is too long");
}
