//! Tests of the events that a harness gets without a question, and of its other offered questions.

use super::*;
use crate::support::Gate;
use crate::support::calls::{FULL, call};
use crate::support::rates::api_key;
use crate::support::setup::dead_address;

async fn open_to_all() -> (Harness, Origin, Desk) {
    let harness = Harness::offering(&ALL).await;
    let (origin, desk) = open(&harness).await;
    (harness, origin, desk)
}

#[tokio::test]
async fn supervision_hears_what_became_of_it() {
    let (harness, _origin, desk) = open_to_all().await;
    assert_eq!(place(&desk, "aicp", &tea()).await.status, 201);
    let after = harness.event("post_action").await;
    assert_eq!((&after["payload"]["tool_name"], &after["payload"]["status"]), (&json!("orders.place"), &json!("ok")));
    assert_eq!(
        (&after["payload"]["http_status"], after["payload"]["duration_ms"].is_u64()),
        (&json!(201), true),
        "{after}"
    );
    let began = harness.event("session_start").await;
    assert_eq!(began["session_id"], harness.events("pre_action")[0]["session_id"], "of one caller");
    let success = harness.event("success").await;
    assert_eq!(success["payload"]["action_type"], "capability", "{success}");
    let beat = harness.event("heartbeat").await;
    assert!(beat["payload"]["uptime_ms"].is_u64() && beat["payload"]["current_state"].is_string(), "{beat}");
    let checked = harness.event("verification").await;
    assert!(
        ["passed", "needs_review"].contains(&checked["payload"]["status"].as_str().unwrap_or_default()),
        "{checked}"
    );
    assert_eq!(checked["payload"]["checks"][0]["id"], "configuration");
    place(&desk, "aicp", &tea()).await;
    assert_eq!(harness.events("session_start").len(), 1, "a session begins once");
    harness.says(json!({ "decision": "block", "reason": "no" }));
    place(&desk, "aicp", &tea()).await;
    let blocked = async || harness.events("post_action").iter().any(|event| event["payload"]["status"] == "blocked");
    eventually("a block is told", SOON, blocked).await;
    assert!(
        harness.events("error").is_empty()
            && harness.events("idle").is_empty()
            && harness.events("reasoning").is_empty()
    );
}

#[tokio::test]
async fn supervision_hears_of_the_sites_failures() {
    let harness = Harness::offering(&ALL).await;
    let origin = shop().await;
    let broken =
        crate::support::calls::action("orders.broken", "\nupstream = { method = \"POST\", path = \"/api/broken\" }");
    let desk = before(&origin, &[harness.url()], "").tail(&broken).start().await;
    reachable(&desk).await;
    let failed = desk.ask(Via::H1, call("/agent/orders/broken", &json!({})).bearer(FULL)).await;
    assert!(failed.status >= 500, "{}", failed.text());
    let error = harness.event("error").await;
    assert_eq!(
        (&error["payload"]["tool_name"], &error["payload"]["http_status"]),
        (&json!("orders.broken"), &json!(500))
    );
    assert_eq!(harness.event("post_action").await["payload"]["status"], "error");
}

#[tokio::test]
async fn supervision_is_only_told_what_it_offers_to_hear() {
    let harness = Harness::open().await;
    let (_origin, desk) = open(&harness).await;
    for _ in 0..5 {
        assert_eq!(place(&desk, "aicp", &tea()).await.status, 201);
    }
    let kinds = |message: &crate::support::Request| {
        let message: Value = serde_json::from_slice(&message.body).expect("JSON");
        message["params"]["event_type"].as_str().unwrap_or("handshake").to_owned()
    };
    let mut heard: Vec<String> = harness.origin.requests().iter().map(kinds).collect();
    heard.dedup();
    assert_eq!(heard, ["handshake", "pre_action"]);
}

#[tokio::test]
async fn supervision_tells_everything_in_the_end() {
    let (harness, origin, desk) = open_to_all().await;
    for n in 0..30 {
        assert_eq!(place(&desk, "aicp", &json!({ "item": format!("t{n}") })).await.status, 201);
    }
    assert_eq!((orders(&origin).len(), harness.events("pre_action").len()), (30, 30));
    eventually("all of it is told in the end", SOON, async || harness.events("post_action").len() == 30).await;
}

#[tokio::test]
async fn supervision_makes_who_is_over_a_limit_wait_longer_and_never_shorter() {
    let harness = Harness::offering(&["pre_action", "rate_limit"]).await;
    let origin = shop().await;
    let key = api_key("slow", "key-of-the-slow", "rate_limit = \"1/minute\"");
    let desk = before(&origin, &[harness.url()], "").tail(&key).start().await;
    reachable(&desk).await;
    let ask = || call("/agent/items/search", &json!({})).bearer("key-of-the-slow");
    assert_eq!(desk.ask(Via::H1, ask()).await.status, 200);
    for (decision, least, most) in [
        (json!({ "decision": "retry", "retry_after_ms": 500_000 }), 500, 500),
        (json!({ "decision": "retry", "retry_after_ms": 1 }), 1, 60),
        (json!({ "decision": "skip", "reason": "no" }), 3600, 3600),
        (json!({ "decision": "queue" }), 1, 60),
        (json!({ "decision": "allow" }), 1, 60),
    ] {
        harness.says(decision.clone());
        // It is not asked again at once.
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        let limited = desk.ask(Via::H1, ask()).await;
        assert_eq!(limited.status, 429, "{decision}");
        let wait: u64 = limited.header("retry-after").expect("a time").parse().expect("seconds");
        assert!((least..=most).contains(&wait), "{decision}: {wait}");
    }
    let question = harness.events("rate_limit").remove(0);
    assert_eq!(question["payload"]["limit_type"], "api_request_limit", "{question}");
    assert!(question["payload"]["retry_after_ms"].is_u64() && question["payload"]["current_usage"].is_string());
}

#[tokio::test]
async fn supervision_of_an_operators_own_concierge_hears_the_question_first() {
    let harness = Harness::offering(&["pre_action", "pre_prompt", "post_response"]).await;
    let origin = shop().await;
    let own =
        crate::support::calls::query("content_search", "\nupstream = { method = \"POST\", path = \"/api/items\" }");
    let desk = before(&origin, &[harness.url()], "").tail(&own).start().await;
    reachable(&desk).await;
    let ask = || call("/agent/content_search", &json!({ "query": "Is there tea?" }));
    let done = desk.ask(Via::H1, ask()).await;
    assert_eq!(done.status, 200, "{}", done.text());
    let prompt = harness.event("pre_prompt").await;
    assert_eq!(prompt["payload"]["arguments"]["query"], "Is there tea?", "{prompt}");
    harness.event("post_response").await;
    assert!(harness.events("pre_action").is_empty(), "it is not risky");
    harness.says(json!({ "decision": "block", "reason": "no" }));
    let asked = || crate::support::calls::upstream_calls(&origin).len();
    let before = asked();
    assert_eq!(desk.ask(Via::H1, ask()).await.status, 403);
    assert_eq!((asked(), before), (1, 1));
}

#[tokio::test]
async fn supervision_tells_the_concierge_what_it_knows() {
    let harness = Harness::offering(&["pre_action", "intent_detection", "context_perception", "memory_recall"]).await;
    let origin = shop().await;
    let setup: Setup = before(&origin, &[harness.url()], "");
    let desk = setup.start().await;
    reachable(&desk).await;
    let fact = |content: &str, source: &str| json!({ "content": content, "source": source, "confidence": 0.9 });
    let (here, there) = (fact("Open on Sundays.", "the calendar"), fact("You asked before.", "memory"));
    harness.decides(move |message| {
        let result = match message["params"]["event_type"].as_str() {
            Some("intent_detection") => json!({ "decision": "allow", "detected_intent": "hours", "confidence": 0.5 }),
            Some("context_perception") => json!({ "decision": "allow", "injected_context": { "facts": [here] } }),
            Some("memory_recall") => json!({ "decision": "allow", "injected_facts": [there] }),
            _ => json!({ "decision": "allow" }),
        };
        answer(message, &result)
    });
    let ask = || {
        crate::support::handshake::asking(&crate::support::handshake::question("content_search", "When are you open?"))
    };
    let told = desk.ask(Via::H1, ask()).await.text();
    assert!(
        told.contains("From the calendar: Open on Sundays.") && told.contains("From memory: You asked before."),
        "{told}"
    );
    let recall = harness.event("memory_recall").await;
    assert_eq!(recall["payload"]["query"], "When are you open?", "{recall}");
    // Without facts it is answered from the pages alone; what is meant may be unwanted altogether.
    harness.decides(|message| {
        let meant = message["params"]["event_type"] == "intent_detection";
        let allow = json!({ "decision": "allow", "detected_intent": "hours", "confidence": 0.5 });
        answer(message, &if meant { allow } else { json!({ "decision": "block", "reason": "no" }) })
    });
    let without = desk.ask(Via::H1, ask()).await;
    assert!(without.status == 200 && !without.text().contains("Sundays"), "{}", without.text());
    harness.says(json!({ "decision": "block", "reason": "no" }));
    let blocked = desk.ask(Via::H1, ask()).await;
    assert_eq!((blocked.status, &blocked.json()["reason"]), (403, &json!("harness_blocked")), "{}", blocked.text());
    let counted = "frontdesk_supervised_total{decision=\"block\"} 1";
    assert!(desk.admin_get("/metrics").await.text().contains(counted), "it is counted");
}

/// A harness that decided about a call gets its outcome, even if the configuration changed meanwhile.
#[tokio::test]
async fn supervision_hears_of_a_call_that_a_swap_overtakes() {
    let (harness, other, gate) = (Harness::offering(&ALL).await, Harness::offering(&ALL).await, Gate::closed());
    let wait = gate.clone();
    let origin = Origin::start(move |_: &Request| {
        Reply::new(201).header("Content-Type", "application/json").body("").wait(&wait).then("{}")
    })
    .await;
    let desk = before(&origin, &[harness.url()], "").start().await;
    reachable(&desk).await;
    let swapping = async {
        eventually("it is under way", SOON, async || !orders(&origin).is_empty()).await;
        desk.swap(&before(&origin, &[other.url()], "")).await;
        reachable(&desk).await;
        other.event("verification").await;
        gate.open();
    };
    let tea = tea();
    let (done, ()) = tokio::join!(place(&desk, "aicp", &tea), swapping);
    assert_eq!(done.status, 201, "{}", done.text());
    assert_eq!(harness.event("post_action").await["payload"]["status"], "ok");
    assert!(other.events("post_action").is_empty());
}

#[tokio::test]
async fn supervision_that_takes_nothing_or_is_away_keeps_nothing_from_the_others() {
    let (harness, slow) = (Harness::offering(&ALL).await, Harness::offering(&ALL).await);
    let origin = shop().await;
    slow.hears_nothing();
    let nobody = format!("http://{}/ahp", dead_address());
    let urls = [slow.url(), harness.url(), nobody];
    let desk = before(&origin, &urls, "on_error = \"allow\"").start().await;
    harness.event("verification").await;
    for n in 0..20 {
        assert_eq!(place(&desk, "aicp", &json!({ "item": format!("t{n}") })).await.status, 201);
    }
    eventually("all of it is told", SOON, async || harness.events("post_action").len() == 20).await;
    assert_eq!(harness.events("verification").len(), 1, "once");
    desk.metric_reaches("frontdesk_harness_events_dropped_total", 2.0).await;
}
