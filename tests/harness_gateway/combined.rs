//! Tests of several harnesses: the strictest answer wins.

use super::*;
use crate::support::setup::dead_address;
use crate::support::supervisor::{Harness, shop};
use std::sync::Arc;

/// Two of them, over HTTP and over a WebSocket.
async fn two() -> (crate::support::Origin, Desk, Arc<Policy>, Arc<Policy>) {
    let (a, b) = (Policy::named("a"), Policy::named("b"));
    let urls = [over_http(server(&a, 10, 3)).await, over_websocket(server(&b, 4, 7)).await];
    let (origin, desk) = gateway(&urls).await;
    (origin, desk, a, b)
}

#[tokio::test]
async fn harness_gateway_tells_the_strictest_of_two() {
    let (_origin, desk, a, b) = two().await;
    let client = client(&desk, Some(AuthConfig::bearer(FULL))).await;
    let config = client.handshake(vec![]).await.expect("a handshake").config.expect("limits");
    // They are asked one after the other, for as long as each of them says, which is more than our own calls wait.
    assert_eq!((config.timeout_ms, config.batch_size, config.max_depth), (Some(8000), Some(4), Some(3)));
    for of in ["a", "b"] {
        for decision in ["allow", "modify", "defer", "escalate", "block", "down"] {
            let payload = json!({"tool_name": format!("{of}:{decision}")});
            let answer = client.send_event(EventType::PreAction, payload).await.expect("a decision");
            let expected = if decision == "down" { "block" } else { decision };
            assert_eq!(answer["decision"], expected, "{of}: {answer}");
        }
    }
    let blocked = |policy: &Policy, tool: &str| policy.payloads().iter().filter(|p| p["tool_name"] == tool).count();
    assert_eq!((blocked(&a, "a:block"), blocked(&b, "a:block")), (1, 0), "nobody is asked after a no");
    assert_eq!((blocked(&a, "b:block"), blocked(&b, "b:block")), (1, 1));

    // Both change it: the second hears of the first, and of all the rest.
    let answer =
        client.send_event(EventType::PreAction, json!({"tool_name": "modify", "cwd": "/"})).await.expect("both");
    assert_eq!(answer["modified_payload"], json!({"arguments": {"by": "b"}, "a": true, "b": true}));
    let heard = b.payloads().pop().expect("it was asked");
    assert_eq!(heard, json!({"tool_name": "modify", "cwd": "/", "arguments": {"by": "a"}, "a": true}));

    // Special decisions likewise.
    let ask = async |name: &str, field: &str, value: &str| {
        let mut payload = payload(name);
        payload[field] = value.into();
        client.send_event(kind(name), payload).await.expect("a decision")
    };
    for of in ["a", "b"] {
        assert_eq!(ask("confirmation", "message", &format!("{of}:reject")).await["reason"], format!("by {of}"));
        assert_eq!(ask("rate_limit", "current_usage", &format!("{of}:skip")).await["reason"], format!("by {of}"));
        assert_eq!(ask("planning", "task_description", &format!("{of}:modify")).await["modified_task"], "half of it");
    }
    let batch = ["allow", "a:defer", "b:block", "modify"].map(|tool| event("pre_action", json!({"tool_name": tool})));
    let answer = send(&desk, &message(json!("q"), "ahp/batch", json!({"events": batch}))).await.json();
    let words: Vec<&Value> =
        answer["result"]["decisions"].as_array().expect("four").iter().map(|d| &d["decision"]).collect();
    assert_eq!(words, ["allow", "defer", "block", "modify"]);
}

#[tokio::test]
async fn harness_gateway_takes_one_that_is_away_for_a_no() {
    let policy = Policy::named("a");
    let urls = [over_http(server(&policy, 4, 3)).await, format!("http://{}/ahp", dead_address())];
    let origin = shop().await;
    let desk = before(&origin, &urls).start().await;
    let client = client(&desk, Some(AuthConfig::api_key(FULL))).await;
    let refused = client.handshake(vec![]).await.expect_err("one is away").to_string();
    assert!(refused.contains("unreachable"), "{refused}");
    let strictest = [
        ("pre_action", "block"),
        ("pre_prompt", "block"),
        ("idle", "defer"),
        ("intent_detection", "block"),
        ("context_perception", "block"),
        ("memory_recall", "block"),
        ("planning", "block"),
        ("reasoning", "block"),
        ("rate_limit", "skip"),
        ("confirmation", "reject"),
    ];
    for (name, decision) in strictest {
        let answer = send(&desk, &message(json!("q"), "ahp/event", event(name, payload(name)))).await;
        let answer = answer.json();
        assert_eq!((&answer["id"], &answer["result"]["decision"]), (&json!("q"), &json!(decision)), "{name}: {answer}");
        assert!(!answer.to_string().contains("127.0.0.1"), "{answer}");
    }
    let batch = json!({"events": [event("pre_action", json!({}))]});
    let answer = send(&desk, &message(json!("q"), "ahp/batch", batch)).await.json();
    assert_eq!(answer["result"]["decisions"][0]["decision"], "block", "{answer}");
    // The reachable one gets and answers events that need no other.
    let told = json!({"jsonrpc": "2.0", "method": "ahp/event", "params": event("success", json!({}))});
    eventually("the one that is there", SOON, async || send(&desk, &told).await.status == 204).await;
    let query = json!({"session_id": "s", "agent_id": "a", "query_type": "told", "payload": null});
    let answer = send(&desk, &message(json!("q"), "ahp/query", query)).await.json();
    assert!(answer["result"]["answer"].as_array().expect("a list").contains(&json!("success")), "{answer}");
}

#[tokio::test]
async fn harness_gateway_takes_another_number_of_decisions_for_none() {
    let harness = Harness::open().await;
    let (_origin, desk) = gateway(&[harness.url()]).await;
    let events = json!({"events": [event("pre_action", json!({})), event("pre_action", json!({}))]});
    for (count, expected) in [(2, "allow"), (0, "block"), (1, "block"), (3, "block")] {
        harness.says(json!({"decisions": vec![json!({"decision": "allow"}); count]}));
        let answer = send(&desk, &message(json!("q"), "ahp/batch", events.clone())).await.json();
        let decisions = answer["result"]["decisions"].as_array().expect("decisions");
        let words: Vec<&Value> = decisions.iter().map(|decision| &decision["decision"]).collect();
        assert_eq!(words, [expected; 2], "{count} for two: {answer}");
    }
}

#[tokio::test]
async fn harness_gateway_asks_each_of_many_once() {
    let (_origin, desk, a, b) = two().await;
    let client = Arc::new(greeted(&desk).await);
    let asking: Vec<_> = (0..50)
        .map(|n| {
            let client = client.clone();
            let tool = format!("b:{}", if n % 2 == 0 { "block" } else { "allow" });
            tokio::spawn(async move {
                let payload = json!({"tool_name": tool, "n": n});
                (n, client.send_event(EventType::PreAction, payload).await.expect("a decision"))
            })
        })
        .collect();
    for asked in asking {
        let (n, answer) = asked.await.expect("an answer");
        assert_eq!(answer["decision"], if n % 2 == 0 { "block" } else { "allow" }, "{n}: {answer}");
    }
    for policy in [a, b] {
        let mut heard: Vec<u64> = policy.payloads().iter().map(|p| p["n"].as_u64().expect("n")).collect();
        heard.sort_unstable();
        assert_eq!(heard, (0..50).collect::<Vec<_>>(), "{}", policy.name);
    }
}
