//! Tests of each decision, in every dialect.

use super::*;
use crate::support::calls::{FULL, call};
use crate::support::rates::at_once;

#[tokio::test]
async fn supervision_is_asked_once_with_what_policies_look_for_and_no_credential() {
    let harness = Harness::open().await;
    let (origin, desk) = open(&harness).await;
    for (n, dialect) in DIALECTS.into_iter().enumerate() {
        let done = place(&desk, dialect, &tea()).await;
        assert!(is_done(dialect, &done), "{dialect}: {} {}", done.status, done.text());
        let questions = harness.events("pre_action");
        assert_eq!((questions.len(), orders(&origin).len()), (n + 1, n + 1), "{dialect}");
        let question = &questions[n];
        let payload = &question["payload"];
        assert_eq!((&payload["tool_name"], &payload["arguments"]), (&json!("orders.place"), &tea()), "{payload}");
        assert_eq!((&payload["side_effects"], &payload["risk_level"]), (&json!("commit_action"), &json!("medium")));
        assert_eq!((&question["depth"], &question["metadata"]["entry"].is_string()), (&json!(0), &true), "{question}");
        for name in ["session_id", "agent_id", "timestamp"] {
            assert!(question[name].is_string(), "{name}: {question}");
        }
    }
    for request in harness.origin.requests() {
        assert!(!String::from_utf8_lossy(&request.body).contains(FULL), "never what proves a caller");
        assert_eq!(request.headers.all("authorization"), [format!("Bearer {TOKEN}")]);
        assert_eq!(request.headers.all("content-type"), ["application/json"]);
    }
    assert!(desk.metric("frontdesk_supervised_total{decision=\"allow\"}").await >= Some(4.0));
}

#[tokio::test]
async fn supervision_is_not_asked_about_what_is_not_risky_nor_about_pages() {
    let harness = Harness::open().await;
    let (origin, desk) = open(&harness).await;
    let greeted = harness.origin.requests().len();
    let search = desk.ask(Via::H1, call("/agent/items/search", &json!({}))).await;
    assert_eq!(search.status, 200, "{}", search.text());
    let mut conn = desk.conn().await;
    for n in 0..1000 {
        conn.send(format!("GET /page{n} HTTP/1.1\r\nHost: site.test\r\n\r\n")).await;
        assert_eq!(conn.response("GET").await.status, 200);
    }
    assert_eq!(origin.requests().iter().filter(|r| r.target.starts_with("/page")).count(), 1000);
    assert_eq!(harness.origin.requests().len(), greeted, "1,000 pages, and nobody was asked anything");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn supervision_asks_fifty_questions_about_fifty_calls_at_once() {
    let harness = Harness::open().await;
    let (origin, desk) = open(&harness).await;
    let asks = (0..50).map(|n| order("aicp", &json!({ "item": format!("tea {n}") }))).collect();
    let answers = at_once(&[&desk], asks).await;
    assert!(
        answers.iter().all(|answer| answer.status == 201),
        "{:?}",
        answers.iter().map(|a| a.status).collect::<Vec<_>>()
    );
    assert_eq!((harness.events("pre_action").len(), orders(&origin).len()), (50, 50));
}

#[tokio::test]
async fn supervision_blocks_without_a_word_of_why() {
    let harness = Harness::open().await;
    let (origin, desk) = open(&harness).await;
    harness.says(json!({ "decision": "block", "reason": "inner-secret-reason" }));
    for dialect in DIALECTS {
        let (status, text) = refused(dialect, &place(&desk, dialect, &tea()).await);
        assert_eq!(status, if dialect == "mcp" { 200 } else { 403 }, "{dialect}: {text}");
        assert!(!text.contains("inner-secret"), "{dialect}: {text}");
    }
    assert!(orders(&origin).is_empty());
}

#[tokio::test]
async fn supervision_changes_arguments_and_nothing_else() {
    let harness = Harness::open().await;
    let (origin, desk) = open(&harness).await;
    let changed = json!({ "item": "tea", "qty": 1 });
    for (decision, dialect) in ["modify", "allow"].into_iter().zip(DIALECTS) {
        harness.says(
            json!({ "decision": decision, "modified_payload": { "tool_name": "orders.place", "arguments": changed } }),
        );
        let done = place(&desk, dialect, &tea()).await;
        assert!(is_done(dialect, &done), "{decision}: {}", done.text());
        assert_eq!(sent(&origin).last(), Some(&changed), "{decision}");
    }
    let before = orders(&origin).len();
    for wrong in [
        json!({ "arguments": { "item": "tea", "qty": 11 } }),
        json!({ "arguments": { "item": "" } }),
        json!({ "arguments": { "item": "tea", "more": 1 } }),
        json!({ "arguments": "tea" }),
        json!({ "tool_name": "items.search", "arguments": changed }),
        json!({ "arguments": changed, "url": "http://elsewhere.test" }),
        json!({ "tool_name": "orders.place" }),
        json!("tea"),
    ] {
        for decision in ["modify", "allow"] {
            harness.says(json!({ "decision": decision, "modified_payload": wrong }));
            let (status, text) = refused("aicp", &place(&desk, "aicp", &tea()).await);
            assert_eq!(status, 403, "{decision} {wrong}: {text}");
        }
    }
    assert_eq!(orders(&origin).len(), before, "and none of them got there");
}

/// The schema takes them, the site's address does not: that is the harness's doing, not of who called.
#[tokio::test]
async fn supervision_that_makes_arguments_which_cannot_be_sent_blocks() {
    let harness = Harness::open().await;
    let origin = shop().await;
    let wrap = action(
        "orders.wrap",
        "\ninput_schema = { type = \"object\", properties = { item = { type = \"string\" } } }\nupstream = { method = \"POST\", path = \"/api/wrap/{item}\" }",
    );
    let desk = before(&origin, &[harness.url()], "").tail(&wrap).start().await;
    reachable(&desk).await;
    let ask = || desk.call(call("/agent/orders/wrap", &json!({ "item": "tea" })).bearer(FULL));
    assert_eq!(ask().await.status, 200);
    let arguments = json!({ "item": "../orders" });
    harness.says(json!({ "decision": "modify", "modified_payload": { "arguments": arguments } }));
    let (status, text) = refused("aicp", &ask().await);
    assert_eq!(status, 403, "{text}");
    assert!(text.contains("harness_blocked"), "{text}");
    assert_eq!(upstream_calls(&origin).len(), 1);
}

#[tokio::test]
async fn supervision_defers_for_as_long_as_it_says() {
    let harness = Harness::open().await;
    let (origin, desk) = open(&harness).await;
    for (millis, seconds) in [(1500, "2"), (0, "1"), (60_000, "60"), (999_999_999_999_u64, "3600")] {
        harness.says(json!({ "decision": "defer", "retry_after_ms": millis, "reason": "busy" }));
        for dialect in ["aicp", "converse", "agtp"] {
            let response = place(&desk, dialect, &tea()).await;
            assert_eq!(
                (response.status, response.headers.all("retry-after")),
                (503, vec![seconds]),
                "{dialect} {millis}"
            );
        }
        refused("mcp", &place(&desk, "mcp", &tea()).await);
    }
    assert!(orders(&origin).is_empty());
}

#[tokio::test]
async fn supervision_of_several_is_as_strict_as_the_strictest() {
    let (first, second) = (Harness::open().await, Harness::open().await);
    let origin = shop().await;
    let desk = before(&origin, &[first.url(), second.url()], "").start().await;
    reachable(&desk).await;
    let allow = json!({ "decision": "allow" });
    let modify =
        |qty: u8| json!({ "decision": "modify", "modified_payload": { "arguments": { "item": "tea", "qty": qty } } });
    let defer = json!({ "decision": "defer", "retry_after_ms": 1000 });
    let block = json!({ "decision": "block", "reason": "no" });
    for (one, other, status) in [
        (&allow, &block, 403),
        (&block, &allow, 403),
        (&defer, &block, 403),
        (&modify(3), &defer, 503),
        (&defer, &modify(3), 503),
        (&allow, &allow, 201),
        (&modify(3), &allow, 201),
    ] {
        first.says(one.clone());
        second.says(other.clone());
        assert_eq!(place(&desk, "aicp", &tea()).await.status, status, "{one} {other}");
    }
    assert_eq!(sent(&origin), [tea(), json!({ "item": "tea", "qty": 3 })]);
    first.says(modify(3));
    second.says(modify(4));
    assert_eq!(place(&desk, "aicp", &tea()).await.status, 201);
    let heard = second.events("pre_action").pop().expect("a question");
    assert_eq!(heard["payload"]["arguments"]["qty"], 3, "the second hears what the first made of it");
    assert_eq!(sent(&origin).last(), Some(&json!({ "item": "tea", "qty": 4 })));
}

#[tokio::test]
async fn supervision_follows_a_swap_of_the_configuration() {
    let harness = Harness::open().await;
    let (origin, desk) = open(&harness).await;
    harness.says(json!({ "decision": "block", "reason": "no" }));
    assert_eq!(place(&desk, "aicp", &tea()).await.status, 403);
    desk.swap(&before(&origin, &[harness.url()], "min_risk = \"high\"")).await;
    assert_eq!(place(&desk, "aicp", &tea()).await.status, 201, "medium is no longer asked about");
    let other = Harness::open().await;
    desk.swap(&before(&origin, &[other.url()], "")).await;
    reachable(&desk).await;
    assert_eq!(place(&desk, "aicp", &tea()).await.status, 201);
    assert_eq!(other.events("pre_action").len(), 1, "by the one that is declared now");
}

#[tokio::test]
async fn supervision_has_no_gap_while_another_harness_is_greeted() {
    let harness = Harness::open().await;
    let origin = shop().await;
    harness.says(json!({ "decision": "block", "reason": "no" }));
    let setup =
        |min_risk: &str| before(&origin, &[harness.url()], &format!("on_error = \"allow\"\nmin_risk = \"{min_risk}\""));
    let desk = setup("medium").start().await;
    reachable(&desk).await;
    harness.greets_after(Duration::from_millis(400));
    let calling = async {
        for _ in 0..30 {
            assert_eq!(place(&desk, "aicp", &tea()).await.status, 403);
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
    };
    let other = setup("low");
    tokio::join!(desk.swap(&other), calling);
    assert_eq!(sent(&origin), Vec::<Value>::new());
}

#[tokio::test]
async fn supervision_is_asked_of_each_step_that_acts() {
    let harness = Harness::offering(&["pre_action", "planning", "task_list"]).await;
    let origin = shop().await;
    let recipe = "\n[[capabilities]]\nid = \"orders.twice\"\ntype = \"commit_action\"\ndescription = \"Orders twice.\"\n\
        method = \"POST\"\nendpoint = \"/agent/twice\"\nrequires_user_confirmation = false\nidempotency_required = false\n\
        risk_level = \"medium\"\nauth = \"required\"\nupstream = { recipe = \"twice\" }\n\
        [[agtp.recipes]]\nname = \"twice\"\nsteps = [\n\
        { capability = \"orders.place\", input = { item = \"one\" } },\n\
        { capability = \"orders.place\", input = { item = \"two\" } },\n]\n";
    let desk = before(&origin, &[harness.url()], "").tail(recipe).start().await;
    reachable(&desk).await;
    harness.decides(|message| match message["params"]["event_type"].as_str() {
        Some("planning") => answer(message, &json!({ "decision": "allow", "selected_strategy": "step_by_step" })),
        _ => answer(message, &json!({ "decision": "allow" })),
    });
    let ask = || call("/agent/twice", &json!({})).bearer(FULL);
    let done = desk.ask(Via::H1, ask()).await;
    assert!(done.status < 300, "{} {}", done.status, done.text());
    let asked: Vec<_> = harness
        .events("pre_action")
        .iter()
        .map(|e| (e["payload"]["arguments"]["item"].clone(), e["depth"].clone()))
        .collect();
    assert_eq!(asked, [(json!("one"), json!(1)), (json!("two"), json!(1))]);
    eventually("the steps are told", SOON, async || harness.events("task_list").len() == 3).await;
    let last = harness.events("task_list").pop().expect("a list");
    assert_eq!(last["payload"]["tasks"][1]["status"], "completed", "{last}");

    let before = orders(&origin).len();
    for (decision, what) in [
        (json!({ "decision": "block", "reason": "no" }), "planning"),
        (json!({ "decision": "modify", "modified_task": "another" }), "planning"),
    ] {
        harness.decides(move |message| match message["params"]["event_type"] == what {
            true => answer(message, &decision),
            false => answer(message, &json!({ "decision": "allow" })),
        });
        assert_eq!(desk.ask(Via::H1, ask()).await.status, 403, "{what}");
    }
    assert_eq!(orders(&origin).len(), before, "a plan that is not allowed does nothing");
    harness.decides(|message| match message["params"]["payload"]["arguments"]["item"] == "two" {
        true => answer(message, &json!({ "decision": "block", "reason": "no" })),
        false => answer(message, &json!({ "decision": "allow", "selected_strategy": "none" })),
    });
    let half = desk.ask(Via::H1, ask()).await;
    assert!(half.status >= 400 && half.text().contains("Step 0 orders.place was carried out"), "{}", half.text());
    assert_eq!(orders(&origin).len(), before + 1);
}
