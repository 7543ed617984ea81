//! Tests of refused events and callers, of the identity passed on, and of the audit log.

use super::*;
use crate::support::supervisor::{Harness, shop};
use a3s_ahp::{AhpNotification, AhpRequest};

#[tokio::test]
async fn harness_gateway_takes_nobody_unknown_and_hands_on_no_credential() {
    let harness = Harness::open().await;
    let (_origin, desk) = gateway(&[harness.url()]).await;
    let ask = message(json!("q"), "ahp/event", event("pre_action", json!({"tool_name": "t"}))).to_string();
    let bare = || Ask::post(GATEWAY, &ask).header("Content-Type", "application/json");
    for (what, ask) in [
        ("nobody", bare()),
        ("a wrong key", bare().header("x-api-key", "SECRET-wrong")),
        ("no key", bare().header("x-api-key", "")),
        ("two keys", bare().header("x-api-key", FULL).header("x-api-key", FULL)),
        ("a wrong bearer", bare().bearer("SECRET-wrong")),
        ("a wrong bearer beside a key", bare().header("x-api-key", FULL).bearer("SECRET-wrong")),
        ("a key in the query", Ask { target: format!("{GATEWAY}?api_key={FULL}"), ..bare() }),
    ] {
        let answer = desk.ask(Via::H1, ask).await;
        assert_eq!(answer.status, 401, "{what}: {}", answer.text());
        assert!(answer.headers.has("www-authenticate"), "{what}");
        assert_eq!(answer.json()["id"], "", "{what}");
        assert!(!answer.text().contains("SECRET"), "{what}");
    }
    assert!(harness.events("pre_action").is_empty(), "nobody was asked");
    for ask in [bare().header("x-api-key", FULL), bare().bearer(FULL), bare().header("X-AHP-Key", FULL)] {
        let answer = desk.ask(Via::H1, ask.header("X-Secret", "SECRET")).await;
        assert_eq!(answer.json()["result"]["decision"], "allow", "{}", answer.text());
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
    let ours = harness.origin.requests();
    assert_eq!(harness.events("pre_action").len(), 3);
    for request in &ours {
        let text = format!("{:?} {}", request.headers, String::from_utf8_lossy(&request.body));
        assert!(!text.contains(FULL) && !text.contains("SECRET"), "{text}");
        assert_eq!(request.header("authorization"), Some("Bearer TOKEN-OF-OURS"));
    }
    // A stranger's message refers to no request.
    let sent: Value = serde_json::from_slice(&ours.last().expect("one").body).expect("JSON");
    assert!(sent["id"].is_string() && sent["id"] != "q");
}

#[tokio::test]
async fn harness_gateway_refuses_what_is_no_message() {
    let policy = Policy::named("p");
    let (_origin, desk) = gateway(&[over_http(server(&policy, 4, 3)).await]).await;
    let action = || event("pre_action", json!({"tool_name": "t"}));
    let with = |field: &str, value: Value| {
        let mut event = action();
        event[field] = value;
        event
    };
    let without = |field: &str| {
        let mut event = action();
        event.as_object_mut().expect("an object").remove(field);
        event
    };
    let told = |params: Value| json!({"jsonrpc": "2.0", "method": "ahp/event", "params": params});
    let greeting = |version: &str| {
        json!({"protocol_version": version, "session_id": "s", "agent_id": "a",
            "agent_info": {"framework": "f", "version": "1", "capabilities": []}})
    };
    let ev = |params: Value| message(json!("q"), "ahp/event", params);
    for (what, sent, code, id) in [
        ("a number for an id", message(json!(7), "ahp/event", action()), -32600, ""),
        ("null for an id", message(json!(null), "ahp/event", action()), -32600, ""),
        (
            "another version of JSON-RPC",
            json!({"jsonrpc": "1.0", "id": "q", "method": "ahp/event", "params": action()}),
            -32600,
            "q",
        ),
        ("no version of JSON-RPC", json!({"id": "q", "method": "ahp/event", "params": action()}), -32600, "q"),
        ("no params", json!({"jsonrpc": "2.0", "id": "q", "method": "ahp/event"}), -32600, "q"),
        ("several messages", json!([ev(action())]), -32600, ""),
        ("no method", message(json!("q"), "ahp/else", json!({})), -32601, "q"),
        ("blocking, told", told(action()), -32602, ""),
        ("told, blocking", ev(event("post_action", json!({}))), -32602, "q"),
        ("a kind of its own", ev(event("handshake", json!({}))), -32602, "q"),
        ("no kind", ev(with("event_type", json!("PreAction"))), -32602, "q"),
        ("too deep", ev(with("depth", json!(4))), -32602, "q"),
        ("no depth", ev(without("depth")), -32602, "q"),
        ("a depth below", ev(with("depth", json!(-1))), -32602, "q"),
        ("no payload", ev(without("payload")), -32602, "q"),
        ("a context that is none", ev(with("context", json!({"session_stats": {"total_actions": 1}}))), -32602, "q"),
        ("a bad contract, told", told(event("task_list", json!({"tasks": []}))), -32602, ""),
        ("a bad special", ev(event("confirmation", json!({"message": "m"}))), -32602, "q"),
        (
            "a special in a batch",
            message(json!("q"), "ahp/batch", json!({"events": [action(), event("idle", payload("idle"))]})),
            -32602,
            "q",
        ),
        ("too many", message(json!("q"), "ahp/batch", json!({"events": vec![action(); 5]})), -32602, "q"),
        (
            "too deep in a batch",
            message(json!("q"), "ahp/batch", json!({"events": [action(), with("depth", json!(9))]})),
            -32602,
            "q",
        ),
        ("no batch", message(json!("q"), "ahp/batch", json!({"events": {}})), -32602, "q"),
        ("another major version", message(json!("q"), "ahp/handshake", greeting("3.0")), -32000, "q"),
        ("no greeting", message(json!("q"), "ahp/handshake", json!({"protocol_version": "2.4"})), -32602, "q"),
        ("no query", message(json!("q"), "ahp/query", json!({"query_type": "x"})), -32602, "q"),
        (
            "nobody's query",
            message(
                json!("q"),
                "ahp/query",
                json!({"session_id": "s", "agent_id": "a", "query_type": "nobody", "payload": 1}),
            ),
            -32603,
            "q",
        ),
        (
            "a greeting told",
            json!({"jsonrpc": "2.0", "method": "ahp/handshake", "params": greeting("2.4")}),
            -32600,
            "",
        ),
    ] {
        let answer = send(&desk, &sent).await;
        assert_eq!(answer.status, 200, "{what}: {}", answer.text());
        let answer = answer.json();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &json!(id)), "{what}: {answer}");
        assert_eq!(answer.get("result"), None, "{what}");
    }
    assert!(policy.payloads().is_empty() && policy.told.lock().expect("told").iter().all(|e| e.session_id != "s-1"));
    for version in ["2.0", "2.4", "2.99"] {
        let answer = send(&desk, &message(json!("q"), "ahp/handshake", greeting(version))).await.json();
        assert_eq!(answer["result"]["protocol_version"], "2.4", "{answer}");
    }
    assert_eq!(send(&desk, &ev(with("depth", json!(3)))).await.json()["result"]["decision"], "allow");
}

#[tokio::test]
async fn harness_gateway_is_posted_to_and_bounded() {
    let policy = Policy::named("p");
    let (_origin, desk) = gateway(&[over_http(server(&policy, 4, 3)).await]).await;
    for method in ["GET", "PUT", "DELETE"] {
        let answer = desk.ask(Via::H1, Ask::new(method, GATEWAY).header("x-api-key", FULL)).await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("POST, OPTIONS")), "{method}");
    }
    let ask = |size: usize| message(json!("q"), "ahp/event", event("pre_action", json!({"x": "x".repeat(size)})));
    let sent =
        |kind: &str| Ask::post(GATEWAY, ask(1).to_string()).header("x-api-key", FULL).header("Content-Type", kind);
    for kind in ["text/plain", "application/xml", "application/jsonx"] {
        assert_eq!(desk.ask(Via::H1, sent(kind)).await.status, 415, "{kind}");
    }
    assert_eq!(desk.ask(Via::H1, sent("application/json").header("Content-Encoding", "gzip")).await.status, 415);
    assert_eq!(send(&desk, &ask(255 * 1024)).await.json()["result"]["decision"], "allow");
    let long = send(&desk, &ask(257 * 1024)).await;
    assert_eq!(long.status, 413, "{}", long.text());
    for broken in ["", "{", "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"id\":\"b\",\"method\":\"m\",\"params\":{}}"] {
        let answer = desk.ask(Via::H1, post(broken)).await;
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (400, &json!(-32600)), "{broken}");
    }
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    let deep = ask(1).to_string().replace("\"x\":\"x\"", &format!("\"x\":{deep}"));
    assert_eq!(desk.ask(Via::H1, post(deep)).await.status, 400);
    // Any other spelling is unknown.
    for path in ["/Harness", "/harness/", "//harness", "/%68arness", "/x/../harness"] {
        let answer = desk.ask(Via::H1, Ask { target: path.into(), ..post(ask(1).to_string()) }).await;
        assert!(path == "/Harness" || answer.status == 404, "{path}: {}", answer.status);
    }
    assert_eq!(policy.payloads().len(), 1);
}

#[tokio::test]
async fn harness_gateway_is_limited_like_any_endpoint() {
    let harness = Harness::open().await;
    let origin = shop().await;
    let setup = before(&origin, &[harness.url()]).limits(&[("authenticated", "3/minute")]);
    let desk = setup.start().await;
    crate::support::supervisor::reachable(&desk).await;
    let ask = message(json!("q"), "ahp/event", event("pre_action", json!({})));
    for _ in 0..3 {
        assert_eq!(send(&desk, &ask).await.status, 200);
    }
    let over = send(&desk, &ask).await;
    assert_eq!(over.status, 429, "{}", over.text());
    assert!(over.headers.has("retry-after") && over.json()["error"]["code"].is_i64());
    assert_eq!(harness.events("pre_action").len(), 3);
}

#[tokio::test]
async fn harness_gateway_is_written_down_and_counted() {
    let policy = Policy::named("p");
    let (_origin, desk) = gateway(&[over_http(server(&policy, 4, 3)).await]).await;
    let secret = json!({"tool_name": "block", "arguments": {"password": "SECRET"}});
    send(&desk, &message(json!("q"), "ahp/event", event("pre_action", secret.clone()))).await;
    send(
        &desk,
        &message(
            json!("q"),
            "ahp/batch",
            json!({"events": [event("pre_prompt", secret), event("pre_action", json!({"tool_name": "allow"}))]}),
        ),
    )
    .await;
    send(&desk, &json!({"jsonrpc": "2.0", "method": "ahp/event", "params": event("error", json!({"why": "SECRET"}))}))
        .await;
    send(&desk, &message(json!("q"), "ahp/event", event("pre_action", json!({"tool_name": "down"})))).await;
    let all = lines(&desk, 5).await;
    assert_eq!(all.len(), 5, "{all:?}");
    let seen = |line: &Value| {
        (
            line["event"].as_str().map(str::to_owned),
            line["tool_name"].as_str().map(str::to_owned),
            line["decision"].as_str().map(str::to_owned),
        )
    };
    let has = |kind: &str, tool: Option<&str>, decision: &str| {
        let wanted = (Some(kind.to_owned()), tool.map(str::to_owned), Some(decision.to_owned()));
        all.iter().any(|line| seen(line) == wanted)
    };
    assert!(has("pre_action", Some("block"), "block") && has("pre_prompt", Some("block"), "block"), "{all:?}");
    assert!(has("pre_action", Some("allow"), "allow") && has("error", None, "told"), "{all:?}");
    assert!(has("pre_action", Some("down"), "closed"), "{all:?}");
    for line in &all {
        assert!(!line.to_string().contains("SECRET") && !line.to_string().contains(FULL), "{line}");
        assert_eq!(
            (&line["caller"], &line["proof"], &line["dialect"]),
            (&json!("full"), &json!("key"), &json!("harness"))
        );
        assert!(line["duration_ms"].is_u64() && line["request_id"].is_string() && line["timestamp"].is_string());
    }
    assert!(all.iter().any(|line| line["harness"].as_str().is_some_and(|name| name.starts_with("http://"))));
    desk.metric_reaches("frontdesk_harness_passed_total{decision=\"block\"}", 2.0).await;
    desk.metric_reaches("frontdesk_harness_passed_total{event=\"error\"}", 1.0).await;
}

/// Payloads with each member in turn left out, null, and something else.
fn spoiled(payload: &Value) -> Vec<Value> {
    let mut all = vec![payload.clone()];
    fn places(value: &Value, at: &str, found: &mut Vec<String>) {
        let below: Vec<(String, &Value)> = match value {
            Value::Object(members) => members.iter().map(|(name, value)| (format!("{at}/{name}"), value)).collect(),
            Value::Array(items) => items.iter().enumerate().map(|(n, value)| (format!("{at}/{n}"), value)).collect(),
            _ => Vec::new(),
        };
        for (at, value) in below {
            found.push(at.clone());
            places(value, &at, found);
        }
    }
    let mut found = Vec::new();
    places(payload, "", &mut found);
    for place in found {
        for other in [json!(null), json!(7), json!(-7), json!(1.5), json!("other"), json!(true), json!({"a": 1})] {
            let mut spoiled = payload.clone();
            *spoiled.pointer_mut(&place).expect("a place") = other;
            all.push(spoiled);
        }
        let (parent, name) = place.rsplit_once('/').expect("a place");
        let mut spoiled = payload.clone();
        if let Some(members) = spoiled.pointer_mut(parent).and_then(Value::as_object_mut) {
            members.remove(name);
            all.push(spoiled);
        }
    }
    all
}

/// What the protocol's own crate refuses is refused here, and nothing that it takes.
#[tokio::test]
async fn harness_gateway_checks_payloads_as_the_protocols_own_crate_does() {
    let policy = Policy::named("p");
    let judge = server(&Policy::named("p"), 4, 3);
    let (_origin, desk) = gateway(&[over_http(server(&policy, 4, 3)).await]).await;
    let mut conn = desk.conn().await;
    let mut judged = [0, 0];
    let blocking = SPECIAL.map(|(kind, _)| kind);
    for name in ["run_lifecycle", "task_list", "verification"].into_iter().chain(blocking) {
        for payload in spoiled(&payload(name)) {
            let params = event(name, payload);
            let (takes, sent) = if blocking.contains(&name) {
                let sent = message(json!("q"), "ahp/event", params);
                let request: AhpRequest = serde_json::from_value(sent.clone()).expect("a request");
                (judge.handle_request(request).await.error.is_none(), sent)
            } else {
                let sent = json!({"jsonrpc": "2.0", "method": "ahp/event", "params": params});
                let notification: AhpNotification = serde_json::from_value(sent.clone()).expect("a notification");
                (judge.handle_notification(notification).await.is_ok(), sent)
            };
            let answer = conn.ask(&post(sent.to_string())).await;
            let taken = answer.status == 204 || answer.json().get("error").is_none();
            assert_eq!(taken, takes, "{sent}: {}", answer.text());
            judged[usize::from(takes)] += 1;
        }
    }
    println!("{} payloads taken, {} refused, by both", judged[1], judged[0]);
    assert!(judged.iter().all(|count| *count > 100), "{judged:?}");
}
