//! Tests of a missing or invalid decision: the site gets no request, and the caller gets an error in its dialect.

use super::*;
use crate::support::setup::dead_address;
use std::time::Duration;

/// Ways of not deciding.
const FAILURES: [&str; 13] = [
    "refused",
    "hangs",
    "garbage",
    "wrong id",
    "no id",
    "error object",
    "error beside a result",
    "two decisions",
    "unknown decision",
    "missing reason",
    "dies in mid-answer",
    "not 200",
    "nothing",
];

/// A message that would do.
fn allowed(message: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "decision": "allow" } }).to_string()
}

fn fail(how: &'static str) -> impl Fn(&Value) -> Answer + Send + Sync {
    move |message| {
        let id = &message["id"];
        let with = |more: Value| {
            let mut reply = json!({ "jsonrpc": "2.0", "id": id });
            reply.as_object_mut().expect("an object").extend(more.as_object().expect("members").clone());
            Reply::json(reply.to_string()).into()
        };
        match how {
            "hangs" => Reply::json("").pause(SOON).then(allowed(message)).into(),
            "garbage" => Reply::json("{\"jsonrpc\":\"2.0\",").into(),
            "wrong id" => Reply::json(r#"{"jsonrpc":"2.0","id":"another","result":{"decision":"allow"}}"#).into(),
            "no id" => Reply::json(r#"{"jsonrpc":"2.0","id":null,"result":{"decision":"allow"}}"#).into(),
            "error object" => with(json!({ "error": { "code": -32603, "message": "down" } })),
            "error beside a result" => {
                with(json!({ "result": { "decision": "allow" }, "error": { "code": 1, "message": "x" } }))
            }
            "two decisions" => Reply::json(format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"decision":"block","reason":"no","decision":"allow"}}}}"#
            ))
            .into(),
            "unknown decision" => with(json!({ "result": { "decision": "Allow" } })),
            "missing reason" => with(json!({ "result": { "decision": "block" } })),
            "dies in mid-answer" => {
                Reply::json(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{")).chunked().hang_up().into()
            }
            "not 200" => Reply::new(500).body(r#"{"jsonrpc":"2.0","result":{"decision":"allow"}}"#).into(),
            "nothing" => Reply::new(204).into(),
            other => panic!("no failure {other}"),
        }
    }
}

/// A desk whose harness fails in this way.
async fn without(how: &'static str, more: &str) -> (Origin, Desk, Harness) {
    let (harness, origin) = (Harness::open().await, shop().await);
    let url = if how == "refused" { format!("http://{}/ahp", dead_address()) } else { harness.url() };
    let desk = before(&origin, &[url], more).start().await;
    if how != "refused" {
        reachable(&desk).await;
        harness.decides(fail(how));
    }
    (origin, desk, harness)
}

async fn closes(dialect: &str) {
    for how in FAILURES {
        let (origin, desk, _harness) = without(how, "").await;
        let response = place(&desk, dialect, &tea()).await;
        let (status, text) = refused(dialect, &response);
        let what = format!("{dialect}, {how}: {text}");
        match dialect {
            "mcp" => assert_eq!(status, 200, "{what}"),
            // One that says block, but not why, may be taken at its word.
            _ => assert!(status == 503 || status == 403, "{what}"),
        }
        if status == 503 {
            assert!(response.headers.has("retry-after"), "{what}");
        }
        for inner in [TOKEN, "down", "127.0.0.1", "ahp/event"] {
            assert!(!text.contains(inner), "{what}");
        }
        assert!(orders(&origin).is_empty(), "{what}");
    }
}

#[tokio::test]
async fn supervision_closes_over_aicp() {
    closes("aicp").await;
}

#[tokio::test]
async fn supervision_closes_over_converse() {
    closes("converse").await;
}

#[tokio::test]
async fn supervision_closes_over_mcp() {
    closes("mcp").await;
}

#[tokio::test]
async fn supervision_closes_over_agtp() {
    closes("agtp").await;
}

#[tokio::test]
async fn supervision_goes_on_without_a_decision_where_the_operator_chose_so_and_it_is_written_down() {
    for how in ["refused", "garbage", "hangs"] {
        let (origin, desk, harness) = without(how, "on_error = \"allow\"").await;
        let done = place(&desk, "aicp", &tea()).await;
        assert_eq!((done.status, orders(&origin).len()), (201, 1), "{how}: {}", done.text());
        desk.metric_reaches("frontdesk_supervised_total{decision=\"open_on_error\"}", 1.0).await;
        if how == "refused" {
            desk.says("go on unsupervised").await;
            let ready = desk.admin_get("/readyz?verbose").await.text();
            assert!(ready.contains("calls that need its decision go on unsupervised"), "{ready}");
        }
        if how == "garbage" {
            harness.says(json!({ "decision": "block", "reason": "no" }));
            assert_eq!(place(&desk, "aicp", &tea()).await.status, 403, "a decision is still a decision");
        }
    }
}

#[tokio::test]
async fn supervision_closes_until_it_is_greeted_as_it_has_to_be_and_says_so() {
    let greeting = |version: &str, capabilities: &[&str]| {
        json!({
            "protocol_version": version,
            "harness_info": { "name": "tests", "version": "1", "capabilities": capabilities },
        })
    };
    for (greeting, says) in [
        (greeting("3.0", &["pre_action"]), "version 3.0"),
        (greeting("2.4", &["post_action"]), "does not offer pre_action"),
        (json!({ "protocol_version": "2.4" }), "harness_info"),
        (json!({}), "protocol_version"),
    ] {
        let (harness, origin) = (Harness::greeting(greeting).await, shop().await);
        let desk = before(&origin, &[harness.url()], "").start().await;
        let told = async || desk.admin_get("/readyz?verbose").await.text().contains(says);
        eventually(says, SOON, told).await;
        assert_eq!(desk.admin_get("/readyz").await.status, 200, "pages go on");
        assert_eq!((place(&desk, "aicp", &tea()).await.status, orders(&origin).len()), (503, 0), "{says}");
        assert!(harness.events("pre_action").is_empty(), "{says}");
        assert_eq!(desk.get("/").await.status, 200, "{says}");
    }
    // A version that differs after the dot is the same.
    let (harness, origin) = (Harness::greeting(greeting("2.0", &["pre_action"])).await, shop().await);
    let desk = before(&origin, &[harness.url()], "").start().await;
    reachable(&desk).await;
    assert_eq!(place(&desk, "aicp", &tea()).await.status, 201);
}

#[tokio::test]
async fn supervision_opens_when_a_harness_that_was_away_comes() {
    let origin = shop().await;
    let nobody = format!("http://{}/ahp", dead_address());
    let desk = before(&origin, &[nobody], "").start().await;
    assert_eq!(place(&desk, "aicp", &tea()).await.status, 503);
    let harness = Harness::open().await;
    desk.swap(&before(&origin, &[harness.url()], "")).await;
    reachable(&desk).await;
    assert_eq!(place(&desk, "aicp", &tea()).await.status, 201);
    assert!(desk.stderr().contains("a harness is unreachable"), "{}", desk.stderr());
    assert!(!desk.stderr().contains(TOKEN));
}

#[tokio::test]
async fn supervision_waits_no_longer_than_the_smaller_time() {
    let greeting = json!({
        "protocol_version": "2.4", "config": { "timeout_ms": 100 },
        "harness_info": { "name": "tests", "version": "1", "capabilities": ["pre_action"] },
    });
    let (harness, origin) = (Harness::greeting(greeting).await, shop().await);
    let desk = before(&origin, &[harness.url()], "").start().await;
    reachable(&desk).await;
    harness.decides(|message| Reply::json("").pause(Duration::from_millis(600)).then(allowed(message)).into());
    assert_eq!(
        (place(&desk, "aicp", &tea()).await.status, orders(&origin).len()),
        (503, 0),
        "theirs is smaller than ours"
    );
}

#[tokio::test]
async fn supervision_that_answers_one_agent_with_errors_goes_on_for_the_others() {
    let harness = Harness::open().await;
    let (origin, desk) = open(&harness).await;
    harness.decides(|message| match message["params"]["payload"]["arguments"]["item"] == "tea" {
        true => Reply::json(allowed(message)).into(),
        false => fail("error object")(message),
    });
    let other = json!({ "item": "what nobody can read" });
    for n in 0..8 {
        assert_eq!(place(&desk, "aicp", &other).await.status, 503, "{n}");
        assert_eq!(place(&desk, "aicp", &tea()).await.status, 201, "{n}");
    }
    for _ in 0..8 {
        assert_eq!(place(&desk, "aicp", &other).await.status, 503);
    }
    assert_eq!(place(&desk, "aicp", &tea()).await.status, 201, "it is there, whatever it says of something else");
    assert_eq!(orders(&origin).len(), 9);
}
