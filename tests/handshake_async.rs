//! Promise: a late answer is promised at once, can be polled by its caller, and ends in one of three ways.

use crate::support::calls::{BARE, FULL, last_upstream, upstream_calls};
use crate::support::handshake::{
    asking, assert_asks_back, assert_error, assert_reply, assert_success, polling, question, saying, session, with,
};
use crate::support::{Ask, Desk, Dir, Gate, Origin, Reply, Request, SOON, Step, Via, agency, eventually};
use serde_json::{Value, json};
use std::time::Duration;

/// The report waits for the gate, then the site says `reply`.
async fn slow(gate: &Gate, reply: Reply) -> Origin {
    let gate = gate.clone();
    Origin::start(move |r: &Request| match r.target.split('?').next() {
        Some("/api/report") => {
            let bytes = [reply.head(), reply.whole().to_vec()].concat();
            vec![Step::Wait(gate.clone()), Step::Write(bytes), Step::KeepAlive].into()
        }
        _ => agency::says(r),
    })
    .await
}

fn report() -> Value {
    question("report_make", "A report of everything")
}

async fn accepted(desk: &Desk) -> Value {
    let reply = assert_reply(&desk.ask(Via::H1, asking(&report()).bearer(FULL)).await, "accepted");
    assert_eq!(reply["status"], "accepted", "{reply}");
    reply
}

async fn status(desk: &Desk, accepted: &Value) -> Value {
    assert_reply(&desk.ask(Via::H1, polling(accepted).bearer(FULL)).await, "a poll")
}

/// Polls until it is not pending any more.
async fn ended(desk: &Desk, accepted: &Value) -> Value {
    eventually("an end", SOON, async || status(desk, accepted).await["status"] != "pending").await;
    status(desk, accepted).await
}

#[tokio::test]
async fn clause_27_accepted_then_pending_then_success() {
    let gate = Gate::closed();
    let origin = slow(&gate, Reply::json("{\"pages\":12}")).await;
    let desk = agency::before(&origin).start().await;
    let response = desk.ask(Via::H1, asking(&report()).bearer(FULL)).await;
    let reply = assert_reply(&response, "accepted");
    assert_eq!((response.status, &reply["status"]), (200, &json!("accepted")), "C7: {reply}");
    assert_eq!(reply["eta_seconds"], 90, "{reply}");
    let id = reply["poll"].as_str().and_then(|p| p.strip_prefix("/agent/converse/status/")).expect("where to poll");
    assert!(id.len() >= 16, "nobody guesses it: {id}");
    let pending = status(&desk, &reply).await;
    assert_eq!(pending["status"], "pending", "{pending}");
    assert!(pending["progress"].as_str().is_some_and(|p| !p.is_empty()), "{pending}");
    assert!(
        pending["eta_seconds"].is_null() || pending["eta_seconds"].as_u64().is_some_and(|eta| eta <= 90),
        "{pending}"
    );
    gate.open();
    ended(&desk, &reply).await;
    for _ in 0..2 {
        let done = assert_success(&desk.ask(Via::H1, polling(&reply).bearer(FULL)).await, "kept, and said again");
        assert_eq!(done["response"]["answer"], "The report has 12 pages.", "{done}");
    }
    assert_eq!(upstream_calls(&origin).len(), 1, "asked once");
}

/// §6.4, §9.1 and §9.2 have one id in all three places: an agent may build the address from the session.
#[tokio::test]
async fn clause_27_the_session_of_a_promise_is_what_is_polled() {
    let gate = Gate::closed();
    let origin = slow(&gate, Reply::json("{\"pages\":12}")).await;
    let desk = agency::before(&origin).start().await;
    let reply = accepted(&desk).await;
    let by_session = Ask::get(&format!("/agent/converse/status/{}", session(&reply))).bearer(FULL);
    let pending = assert_reply(&desk.ask(Via::H1, by_session.clone()).await, "by its session");
    assert_eq!((&pending["status"], &pending["session_id"]), (&json!("pending"), &reply["session_id"]), "{pending}");
    gate.open();
    ended(&desk, &reply).await;
    let done = assert_success(&desk.ask(Via::H1, by_session).await, "by its session");
    assert_eq!(done["session_id"], reply["session_id"]);
    assert_eq!(status(&desk, &reply).await["session_id"], reply["session_id"], "whichever way it was asked after");
}

#[tokio::test]
async fn clause_27_what_the_site_refuses_has_failed() {
    for (what, reply) in [
        (
            "a fault of the site",
            Reply::new(500).header("Content-Type", "application/json").body("{\"trace\":\"inner-trace\"}"),
        ),
        ("a refusal", Reply::new(422).header("Content-Type", "application/json").body("{}")),
        ("nonsense", Reply::new(200).header("Content-Type", "text/html").body("<p>inner-trace")),
    ] {
        let gate = Gate::closed();
        let origin = slow(&gate, reply).await;
        let desk = agency::before(&origin).start().await;
        gate.open();
        let promised = accepted(&desk).await;
        let end = ended(&desk, &promised).await;
        assert_eq!(end["status"], "failed", "{what}: {end}");
        assert!(!end.to_string().contains("inner-trace"), "{what}: {end}");
    }
}

#[tokio::test]
async fn clause_27_a_result_expires_and_says_so() {
    let gate = Gate::closed();
    let origin = slow(&gate, Reply::json("{\"pages\":1}")).await;
    let desk = agency::before(&origin).set("sessions", "results = \"4s\"").start().await;
    gate.open();
    let promised = accepted(&desk).await;
    assert_eq!(ended(&desk, &promised).await["status"], "success");
    eventually("it is over", Duration::from_secs(20), async || {
        let response = desk.ask(Via::H1, polling(&promised).bearer(FULL)).await;
        let reply = assert_reply(&response, "after its time");
        // Said as long as it is remembered that there was one; then it is unknown.
        reply["status"] == "expired" || response.status == 404
    })
    .await;
}

#[tokio::test]
async fn clause_27_only_who_asked_may_read_it() {
    let gate = Gate::closed();
    let origin = slow(&gate, Reply::json("{\"pages\":12}")).await;
    let desk = agency::before(&origin).start().await;
    let promised = accepted(&desk).await;
    let unknown = desk.ask(Via::H1, Ask::get("/agent/converse/status/no-such-id").bearer(FULL)).await;
    let unknown = assert_error(&unknown, 404, "invalid_request", "unknown");
    for round in ["while it is pending", "when it is done"] {
        for (who, ask) in [("another", polling(&promised).bearer(BARE)), ("nobody", polling(&promised))] {
            let reply = assert_error(&desk.ask(Via::H1, ask).await, 404, "invalid_request", &format!("{who}, {round}"));
            assert_eq!(reply["message"], unknown["message"], "as if there were none");
        }
        let wrong = desk.ask(Via::H1, polling(&promised).bearer("wrong")).await;
        assert_error(&wrong, 401, "auth_required", round);
        gate.open();
        ended(&desk, &promised).await;
    }
}

#[tokio::test]
async fn clause_27_polling_goes_by_get_and_says_how_often() {
    let (_origin, desk) = agency::open().await;
    for id in ["x", "..%2f..%2fetc", "%00", "a b"] {
        let path = format!("/agent/converse/status/{}", id.replace(' ', "%20"));
        let response = desk.ask(Via::H1, Ask::get(&path)).await;
        assert_error(&response, 404, "invalid_request", id);
    }
    let long = desk.ask(Via::H1, Ask::get(&format!("/agent/converse/status/{}", "a".repeat(4000)))).await;
    assert_error(&long, 404, "invalid_request", "a long one");
    let posted = desk.ask(Via::H1, Ask::post("/agent/converse/status/x", "{}")).await;
    assert_error(&posted, 405, "invalid_request", "POST");
    assert!(posted.headers.joined("allow").contains("GET"), "{:?}", posted.headers);
}

#[tokio::test]
async fn clause_27_a_poll_moves_with_the_conversation() {
    let origin = Origin::start(agency::says).await;
    let desk = agency::before(&origin).set("paths", "converse = \"/talk\"").start().await;
    assert_eq!(desk.manifest().await["endpoints"]["converse"], "/talk");
    let ask = Ask::post("/talk", report().to_string()).header("Content-Type", "application/json").bearer(FULL);
    let promised = assert_reply(&desk.ask(Via::H1, ask).await, "accepted");
    assert!(promised["poll"].as_str().is_some_and(|p| p.starts_with("/talk/status/")), "C9: {promised}");
    assert_eq!(ended(&desk, &promised).await["status"], "success");
}

#[tokio::test]
async fn clause_27_a_promise_survives_a_restart_with_the_file_store() {
    let (gate, dir) = (Gate::closed(), Dir::new());
    let origin = slow(&gate, Reply::json("{\"pages\":12}")).await;
    let setup = agency::before(&origin).set("store", &format!("url = \"file:{}\"", dir.path().display()));
    let mut desk = setup.clone().start().await;
    gate.open();
    let done = accepted(&desk).await;
    assert_eq!(ended(&desk, &done).await["status"], "success");
    desk.signal(libc::SIGKILL);
    desk.wait_exit(SOON).await;
    let desk = setup.start().await;
    let told = assert_success(&desk.ask(Via::H1, polling(&done).bearer(FULL)).await, "after a kill");
    assert_eq!(told["response"]["answer"], "The report has 12 pages.");
}

#[tokio::test]
async fn clause_27_an_answer_that_is_late_holds_nobody_up() {
    let gate = Gate::closed();
    let origin = slow(&gate, Reply::json("{\"pages\":12}")).await;
    let desk = agency::before(&origin).start().await;
    desk.told(&question("stock_check", "What is left?")).await;
    let begun = std::time::Instant::now();
    let mut all = Vec::new();
    for _ in 0..20 {
        all.push(accepted(&desk).await);
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "accepted at once: {:?}", begun.elapsed());
    desk.told(&question("stock_check", "What is left?")).await;
    gate.open();
    for promised in &all {
        assert_eq!(ended(&desk, promised).await["status"], "success");
    }
}

#[tokio::test]
async fn clause_27_an_input_is_judged_before_anything_is_promised() {
    let (origin, desk) = agency::open().await;
    let asked = with(report(), json!({ "input": [] }));
    let response = desk.ask(Via::H1, saying(asked.to_string()).bearer(FULL)).await;
    assert_error(&response, 400, "invalid_request", "an input that is none");
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn clause_27_what_was_done_is_not_denied_when_its_capability_is_gone() {
    let gate = Gate::closed();
    let origin = slow(&gate, Reply::json("{\"pages\":12}")).await;
    let setup = agency::before(&origin);
    let desk = setup.clone().start().await;
    let promised = accepted(&desk).await;
    gate.open();
    ended(&desk, &promised).await;
    desk.replace_config(&setup.text(&desk.ports).replace("report", "paper"));
    assert_eq!(desk.reload().await.status, 200);
    let polled = desk.ask(Via::H1, polling(&promised).bearer(FULL)).await.json();
    assert_eq!((&polled["status"], &polled["reason"]), (&json!("failed"), &json!("outcome_unknown")), "{polled}");
    assert!(polled["message"].as_str().is_some_and(|words| words.contains("It was carried out")), "{polled}");
}

#[tokio::test]
async fn clause_27_a_concierge_that_takes_its_time_may_ask_back() {
    let origin = Origin::start(|r: &Request| match r.target.as_str() {
        "/api/advice" if !String::from_utf8_lossy(&r.body).contains("clarification") => {
            let asked = json!({ "question": "Which way?", "options": ["by rail", "by sea"], "free_form": false });
            Reply::json(json!({ "clarification": asked }).to_string()).into()
        }
        _ => agency::says(r),
    })
    .await;
    let slow = "[[capabilities]]\nid = \"study\"\ntype = \"query\"\ndescription = \"Looks into it.\"\n\
                risk_level = \"low\"\nauth = \"required\"\nupstream = { method = \"POST\", path = \"/api/advice\" }\n\
                ahp = { mode = \"MODE2\", action_type = \"async\" }\n";
    let desk = agency::before(&origin).tail(slow).start().await;
    let ask = question("study", "How do I get there?");
    let promised = assert_reply(&desk.ask(Via::H1, asking(&ask).bearer(FULL)).await, "accepted");
    ended(&desk, &promised).await;
    let asked = assert_asks_back(&desk.ask(Via::H1, polling(&promised).bearer(FULL)).await, "a question back");
    assert_eq!(asked["clarification"]["options"], json!(["by rail", "by sea"]), "{asked}");
    assert_eq!(asked["clarification"]["free_form"], false, "{asked}");
    let answered = with(ask, json!({ "session_id": session(&asked), "clarification": "by sea" }));
    let promised = assert_reply(&desk.ask(Via::H1, asking(&answered).bearer(FULL)).await, "accepted");
    assert_eq!(ended(&desk, &promised).await["response"]["answer"], "Take the train.");
    let told: Value = serde_json::from_slice(&last_upstream(&origin).body).expect("JSON");
    assert_eq!(told["clarification"], "by sea", "{told}");
}
