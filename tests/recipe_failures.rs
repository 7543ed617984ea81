//! Promise: if one step of a recipe fails, the caller learns which, why, and what was done; finished steps never run
//! twice.

use crate::support::calls::{FULL, assert_answer, assert_fault, site};
use crate::support::handshake::{asking, question, with};
use crate::support::shop::is_replay;
use crate::support::trips::{ALL, Script, agency, as_usual, book_call, says, times, travel, trip};
use crate::support::{Answer, Desk, Dir, Origin, Reply, SOON, Setup, Step, Via, eventually, rpc};
use serde_json::{Value, json};

#[tokio::test]
async fn recipe_that_fails_before_anything_acts_may_be_tried_again() {
    let (origin, script) = agency().await;
    let desk = site(&origin, &travel()).start().await;
    let keyed = || book_call(&trip()).header("Idempotency-Key", "k1");
    says(&script, "/api/flights", || Reply::new(404).into());
    let failed = assert_fault(&desk.call(keyed()).await, 422, "composition_failed", "no flights");
    assert_eq!(
        failed["error"]["message"],
        "Step 0 search failed: The site did not carry this out. Nothing was carried out."
    );
    let details = json!({
        "recipe": "book-cheapest", "version": "1", "step": 0, "capability": "search", "status": 404,
        "reason": "no_flights", "carried_out": [], "steps": [],
    });
    assert_eq!(failed["error"]["details"], details);
    // What a step is told is judged like any input.
    says(&script, "/api/flights", || Reply::json("{\"flights\":[]}").into());
    let failed = assert_fault(&desk.call(keyed()).await, 422, "composition_failed", "nothing to hold");
    let details = &failed["error"]["details"];
    assert_eq!((&details["step"], &details["reason"]), (&json!(1), &json!("invalid_input")), "{failed}");
    assert!(details["violations"].as_array().is_some_and(|v| !v.is_empty()), "{failed}");
    assert_eq!(details["steps"][0]["data"], json!({ "results": [] }), "what was said before it");
    // The site takes nothing at the moment.
    as_usual(&script);
    says(&script, "/api/holds", || Reply::new(503).header("Retry-After", "7").into());
    let busy = desk.call(keyed()).await;
    assert_fault(&busy, 422, "composition_failed", "not begun");
    assert_eq!(busy.header("retry-after"), Some("7"));
    as_usual(&script);
    let done = desk.call(keyed()).await;
    assert_answer(&done, 200, "the key was free all the time");
    assert!(!is_replay(&done));
    assert_eq!(times(&origin, ALL), [4, 2, 1]);
}

#[tokio::test]
async fn recipe_that_fails_after_something_was_done_says_so_and_stays_so() {
    type Case = (fn() -> Answer, &'static str, u16, &'static str);
    let cases: [Case; 4] = [
        (
            || Reply::new(409).into(),
            "Step 2 pay failed: The site did not carry this out. Step 1 hold was carried out.",
            409,
            "card_declined",
        ),
        (
            || Reply::new(500).into(),
            "Step 2 pay failed: The site could not carry this out. Try again later. Step 1 hold was carried out.",
            502,
            "upstream_error",
        ),
        (
            || vec![Step::Stall].into(),
            "Step 2 pay failed: The site gave no answer that says whether this was carried out. Find out before trying \
             again. Step 1 hold was carried out. It is unknown whether step 2 pay was.",
            504,
            "upstream_timeout",
        ),
        (
            || Reply::html("<p>paid").into(),
            "Step 2 pay failed: The site carried out this call, but its answer cannot be passed on. Find out what it \
             did before trying again. Step 1 hold was carried out. Step 2 pay was still carried out.",
            502,
            "upstream_malformed_response",
        ),
    ];
    for (said, message, status, reason) in cases {
        let (origin, script) = agency().await;
        let desk = site(&origin, &travel()).start().await;
        says(&script, "/api/payments", said);
        let keyed = || book_call(&trip()).header("Idempotency-Key", "k1");
        let first = desk.call(keyed()).await;
        let failed = assert_fault(&first, 422, "composition_failed", reason);
        assert_eq!(failed["error"]["message"], message);
        let details = &failed["error"]["details"];
        assert_eq!((&details["status"], &details["reason"]), (&json!(status), &json!(reason)), "{failed}");
        assert_eq!(details["carried_out"], json!([{ "step": 1, "capability": "hold" }]), "{failed}");
        assert_eq!(
            details["steps"][1],
            json!({ "step": 1, "capability": "hold", "data": { "hold": 7, "until": "noon" } })
        );
        assert!(!first.headers.has("retry-after"));
        // The site works again: the recipe does not start over.
        as_usual(&script);
        let again = desk.call(keyed()).await;
        assert!(is_replay(&again), "{:?}", again.headers);
        assert_eq!(assert_fault(&again, 422, "composition_failed", "told again")["error"], failed["error"]);
        assert_eq!(times(&origin, ALL), [1, 1, 1], "{reason}");
    }
}

#[tokio::test]
async fn recipe_whose_first_act_fails_is_told_the_same_again() {
    let (origin, script) = agency().await;
    let desk = site(&origin, &travel()).start().await;
    says(&script, "/api/holds", || Reply::new(500).into());
    let keyed = || book_call(&trip()).header("Idempotency-Key", "k1");
    let failed = assert_fault(&desk.call(keyed()).await, 422, "composition_failed", "the hold");
    assert_eq!(failed["error"]["details"]["carried_out"], json!([]));
    as_usual(&script);
    assert!(is_replay(&desk.call(keyed()).await));
    assert_eq!(times(&origin, ALL), [1, 1, 0]);
}

#[tokio::test]
async fn recipe_failure_is_told_in_every_dialect() {
    let (origin, script) = agency().await;
    let desk = site(&origin, &travel()).start().await;
    says(&script, "/api/payments", || Reply::new(409).into());
    let asked = asking(&with(question("book", "book it"), json!({ "input": trip() }))).bearer(FULL);
    let response = desk.ask(Via::H1, asked).await;
    let body = response.json();
    assert_eq!((response.status, &body["reason"]), (500, &json!("composition_failed")), "{body}");
    assert_eq!(body["details"]["carried_out"][0]["capability"], "hold", "{body}");
    assert!(body["message"].as_str().is_some_and(|m| m.contains("Step 1 hold was carried out.")), "{body}");
    let called = rpc::post(rpc::call("book", trip()).to_string()).bearer(FULL);
    let result = rpc::result(&desk.rpc(called).await);
    assert_eq!(result["_meta"]["error"]["details"]["step"], 2, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("Step 1 hold was carried out."), "{result}");
}

#[tokio::test]
async fn recipe_tells_no_more_of_what_was_said_than_fits() {
    let (origin, script) = agency().await;
    let desk = site(&origin, &travel()).start().await;
    says(&script, "/api/flights", || {
        Reply::json(json!({ "flights": [{ "id": "f-1" }], "pad": "x".repeat(100_000) }).to_string()).into()
    });
    says(&script, "/api/payments", || Reply::new(409).into());
    let failed = assert_fault(&desk.call(book_call(&trip())).await, 422, "composition_failed", "long");
    let steps = &failed["error"]["details"]["steps"];
    assert_eq!(steps[0], json!({ "step": 0, "capability": "search", "omitted": true }));
    assert_eq!(steps[1]["data"]["hold"], 7);
}

/// Kills the desk while the payment is under way, and starts it again.
async fn crashed(origin: &Origin, script: &Script, setup: &Setup) -> Desk {
    let mut desk = setup.clone().start().await;
    let mut conn = desk.conn().await;
    conn.send(book_call(&trip()).header("Idempotency-Key", "k1").bytes()).await;
    eventually("the payment", SOON, async || times(origin, ALL)[2] == 1).await;
    desk.signal(libc::SIGKILL);
    desk.wait_exit(SOON).await;
    as_usual(script);
    setup.clone().start().await
}

#[tokio::test]
async fn recipe_that_a_crash_interrupted_goes_on_without_doing_anything_twice() {
    for (more, goes_on) in [("", false), (", idempotent = true", true)] {
        let ((origin, script), dir) = (agency().await, Dir::new());
        says(&script, "/api/payments", || vec![Step::Stall].into());
        std::fs::create_dir_all(dir.join("store")).expect("a directory for the store");
        let store = format!("url = \"file:{}\"", dir.join("store").display());
        let declared = travel().replace("timeout = \"1s\"", &format!("timeout = \"30s\"{more}"));
        let setup = site(&origin, &declared).set("store", &store);
        let desk = crashed(&origin, &script, &setup).await;
        let again = desk.call(book_call(&trip()).header("Idempotency-Key", "k1")).await;
        if goes_on {
            assert_answer(&again, 200, "the payment may be made again");
        } else {
            let failed = assert_fault(&again, 422, "composition_failed", "the payment is in the dark");
            let message = failed["error"]["message"].as_str().unwrap_or_default();
            assert!(
                message.contains("Step 1 hold was carried out. It is unknown whether step 2 pay was."),
                "{message}"
            );
            assert_eq!(failed["error"]["details"]["outcome"], Value::Null, "something is known: {failed}");
            let third = desk.call(book_call(&trip()).header("Idempotency-Key", "k1")).await;
            assert!(is_replay(&third), "{}", third.text());
        }
        // The search leaves no mark and was made again; the hold was not.
        assert_eq!(times(&origin, ALL), [2, 1, 1 + usize::from(goes_on)], "{more}");
    }
}

#[tokio::test]
async fn recipe_that_finds_another_world_after_a_crash_does_not_act_in_it() {
    let ((origin, script), dir) = (agency().await, Dir::new());
    says(&script, "/api/payments", || vec![Step::Stall].into());
    std::fs::create_dir_all(dir.join("store")).expect("a directory for the store");
    let store = format!("url = \"file:{}\"", dir.join("store").display());
    let setup = site(&origin, &travel().replace("timeout = \"1s\"", "timeout = \"30s\"")).set("store", &store);
    let desk = crashed(&origin, &script, &setup).await;
    says(&script, "/api/flights", || Reply::json("{\"flights\":[{\"id\":\"f-9\"}]}").into());
    let failed = desk.call(book_call(&trip()).header("Idempotency-Key", "k1")).await;
    let failed = assert_fault(&failed, 422, "composition_failed", "another fare is the cheapest");
    let message = failed["error"]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("Step 1 hold failed: An earlier attempt began it with another input"), "{message}");
    assert!(message.ends_with("This call was begun before, and what was carried out then stays."), "{message}");
    assert_eq!(times(&origin, ALL), [2, 1, 1]);
}

// ── what is written down ────────────────────────────────────────────────────────────────────────────────────────────

#[tokio::test]
async fn recipe_and_each_step_that_acts_are_written_down_and_counted() {
    let (origin, script) = agency().await;
    let setup = site(&origin, &travel()).set("audit", "enabled = true\npath = \"audit.jsonl\"");
    let desk = setup.start().await;
    let lines = || -> Vec<Value> {
        let text = std::fs::read_to_string(desk.dir.join("audit.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a line")).collect()
    };
    let of = |lines: &[Value], key: &str| -> Vec<Value> { lines.iter().map(|line| line[key].clone()).collect() };
    let answer = desk.call(book_call(&trip()).header("Idempotency-Key", "k1")).await;
    assert_answer(&answer, 200, "carried out");
    let all = lines();
    assert_eq!(of(&all, "capability"), ["hold", "pay", "book"]);
    assert_eq!(of(&all, "decision"), ["done", "done", "done"]);
    assert_eq!(of(&all, "upstream_status"), [201, 200, 200]);
    assert!(all.iter().all(|line| line["request_id"].as_str() == answer.header("x-request-id")));
    let keys = of(&all, "idempotency_key");
    assert!(
        keys[0] != keys[1] && keys[1] != keys[2] && keys.iter().all(Value::is_string),
        "keys of their own: {keys:?}"
    );
    says(&script, "/api/payments", || Reply::new(409).into());
    desk.call(book_call(&trip())).await;
    assert_eq!(of(&lines()[3..], "decision"), ["done", "upstream_named_error", "composition_failed"]);
    let calls = |capability: &str| format!("frontdesk_capability_calls_total{{capability=\"{capability}\"}}");
    for (capability, count) in [("book", 2.0), ("hold", 2.0), ("pay", 2.0)] {
        desk.metric_reaches(&calls(capability), count).await;
        assert_eq!(desk.metric(&calls(capability)).await, Some(count), "{capability}");
    }
    assert_eq!(desk.metric(&calls("search")).await.unwrap_or(0.0), 0.0, "what only reads is a part of the whole");
}
