//! Tests of every kind of event, from the protocol's own client to its own server, over each transport.

use super::*;
use a3s_ahp::AhpEvent;

/// Sends one of everything, and looks at what comes back.
async fn everything_works(url: String) {
    let (_origin, desk) = gateway(std::slice::from_ref(&url)).await;
    let client = client(&desk, Some(AuthConfig::api_key(FULL))).await;
    let greeting = client.handshake(vec!["pre_action".into()]).await.expect("a handshake");
    assert_eq!(greeting.protocol_version, "2.4");
    assert_eq!(greeting.harness_info.capabilities, OFFERED, "{url}");
    let config = greeting.config.expect("limits");
    assert_eq!((config.timeout_ms, config.batch_size, config.max_depth), (Some(4000), Some(4), Some(3)), "{url}");

    decisions(&client, &url).await;
    for (name, decision) in SPECIAL {
        let answer = client.send_event(kind(name), payload(name)).await.unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(answer["decision"], decision, "{url} {name}: {answer}");
    }
    for name in TOLD {
        client.send_event(kind(name), payload(name)).await.unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    let told = async || client.query("told", json!({})).await.expect("an answer").answer;
    eventually("all that was told", SOON, async || {
        let told = told().await;
        TOLD.iter().all(|kind| told.as_array().expect("a list").contains(&json!(kind)))
    })
    .await;
    batch(&client, &url).await;
}

async fn decisions(client: &AhpClient, url: &str) {
    let decide = async |kind: EventType, tool: &str| {
        let payload = json!({"tool_name": tool, "arguments": {"n": 1, "x": [1.5, null, "ü"]}});
        client.send_event_decision(kind, payload).await.unwrap_or_else(|e| panic!("{url} {tool}: {e}"))
    };
    for kind in [EventType::PreAction, EventType::PrePrompt] {
        match decide(kind, "allow").await {
            Decision::Allow { modified_payload: None, metadata: Some(metadata) } => {
                let seen = json!({"tool_name": "allow", "arguments": {"n": 1, "x": [1.5, null, "ü"]}});
                assert_eq!(metadata["seen"], seen, "{url}: it sees what was sent");
            }
            other => panic!("{url}: {other:?}"),
        }
        assert!(matches!(decide(kind, "block").await, Decision::Block { .. }), "{url}");
        match decide(kind, "modify").await {
            Decision::Modify { modified_payload, .. } => assert!(modified_payload["arguments"]["by"].is_string()),
            other => panic!("{url}: {other:?}"),
        }
        assert!(matches!(decide(kind, "defer").await, Decision::Defer { retry_after_ms: 1500, .. }), "{url}");
        assert!(matches!(decide(kind, "escalate").await, Decision::Escalate { .. }), "{url}");
        // Who has to decide and cannot is taken for a no, and does not say why.
        match decide(kind, "down").await {
            Decision::Block { reason, .. } => assert!(!reason.contains("engine"), "{url}: {reason}"),
            other => panic!("{url}: {other:?}"),
        }
    }
}

async fn batch(client: &AhpClient, url: &str) {
    let one = |tool: &str| -> AhpEvent {
        serde_json::from_value(event("pre_action", json!({"tool_name": tool}))).expect("an event")
    };
    let answered = client.send_batch(vec![one("allow"), one("block"), one("modify")]).await.expect("decisions");
    let words: Vec<Value> = answered.decisions.iter().map(|d| serde_json::to_value(d).expect("JSON")).collect();
    let words: Vec<&Value> = words.iter().map(|d| &d["decision"]).collect();
    assert_eq!(words, ["allow", "block", "modify"], "{url}");
    assert_eq!(client.send_batch(Vec::new()).await.expect("nothing").decisions.len(), 0);
    let refused = client.send_batch((0..5).map(|_| one("allow")).collect()).await;
    assert!(refused.expect_err("too many").to_string().contains("at most 4"), "{url}");
}

#[tokio::test]
async fn harness_gateway_every_kind_over_http() {
    let policy = Policy::named("p");
    everything_works(over_http(server(&policy, 4, 3)).await).await;
}

#[tokio::test]
async fn harness_gateway_every_kind_over_a_websocket() {
    let policy = Policy::named("p");
    everything_works(over_websocket(server(&policy, 4, 3)).await).await;
}

#[tokio::test]
async fn harness_gateway_every_kind_over_a_unix_socket() {
    let (policy, dir) = (Policy::named("p"), Dir::new());
    everything_works(over_unix(server(&policy, 4, 3), &dir)).await;
}

#[tokio::test]
async fn harness_gateway_every_kind_to_a_harness_in_python() {
    everything_works(over_stdio()).await;
}

#[tokio::test]
async fn harness_gateway_outlives_a_harness_that_dies_in_mid_answer() {
    let (_origin, desk) = gateway(&[over_stdio()]).await;
    let client = greeted(&desk).await;
    let decide = async |tool: &str| client.send_event_decision(EventType::PreAction, json!({"tool_name": tool})).await;
    assert!(matches!(decide("allow").await, Ok(Decision::Allow { .. })));
    assert!(matches!(decide("die").await, Ok(Decision::Block { .. })));
    // Another is started, and greeted before it is asked.
    eventually("a harness that decides again", SOON, async || {
        matches!(decide("allow").await, Ok(Decision::Allow { .. }))
    })
    .await;
}
