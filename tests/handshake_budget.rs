//! Promise: an agent gets no more text than its budget, and a session with a used-up budget says so.

use crate::support::calls::FULL;
use crate::support::handshake::{asking, assert_error, assert_reply, polling, question, session, with};
use crate::support::rates::rate;
use crate::support::{Desk, Gate, Origin, Reply, Request, SOON, Via, agency, eventually};
use serde_json::{Value, json};

/// An agency whose own concierge says that each answer costs so much.
async fn costing(tokens: u64, budget: &str) -> (Origin, Desk) {
    let origin = Origin::start(move |r: &Request| match r.target.as_str() {
        "/api/advice" => {
            let told = json!({ "response": { "answer": "Take the train." }, "meta": { "tokens_used": tokens } });
            Reply::json(told.to_string()).into()
        }
        _ => agency::says(r),
    })
    .await;
    let desk = agency::before(&origin).set("token_budget", budget).start().await;
    (origin, desk)
}

fn advice() -> Value {
    question("advice", "How do I get there?")
}

#[tokio::test]
async fn clause_33_a_session_ends_when_its_tokens_do() {
    let (_origin, desk) = costing(400, "anonymous = \"1000/session\"\nauthenticated = \"2000/session\"").await;
    assert_eq!(desk.manifest().await["rate_limits"]["unauthenticated"]["token_budget"], "1000/session");
    let id = session(&desk.told(&advice()).await);
    let again = with(advice(), json!({ "session_id": id }));
    let mut answered = 1;
    let refused = loop {
        let response = desk.ask(Via::H1, asking(&again)).await;
        if response.status != 200 {
            break response;
        }
        answered += 1;
        assert!(answered <= 3, "1,000 tokens at 400 each");
    };
    let reply = assert_error(&refused, 429, "rate_limited", "used up");
    assert_eq!(reply["scope"], "session_tokens", "{reply}");
    assert!(
        reply.as_object().is_some_and(|r| r.contains_key("retry_after")) && reply["retry_after"].is_null(),
        "{reply}"
    );
    let wait = refused.header("retry-after").and_then(|w| w.parse::<u64>().ok());
    assert!(wait.is_some_and(|w| (1..=600).contains(&w)), "C21: until the session ends: {:?}", refused.headers);
    rate(&refused, "used up");
    // §11.4: a new session helps.
    desk.told(&advice()).await;
}

#[tokio::test]
async fn clause_33_who_is_known_has_a_budget_of_its_own() {
    let (_origin, desk) = costing(400, "anonymous = \"500/session\"\nauthenticated = \"4000/session\"").await;
    let id = session(&desk.told_to(FULL, &advice()).await);
    for _ in 0..5 {
        desk.told_to(FULL, &with(advice(), json!({ "session_id": id }))).await;
    }
}

#[tokio::test]
async fn clause_33_a_days_tokens_are_of_scope_ip() {
    let (_origin, desk) = costing(400, "daily = \"1000/day\"").await;
    let mut refused = None;
    for _ in 0..4 {
        let response = desk.ask(Via::H1, asking(&advice())).await;
        if response.status == 429 {
            refused = Some(response);
            break;
        }
    }
    let refused = refused.expect("1,000 tokens at 400 each, in however many sessions");
    let reply = assert_error(&refused, 429, "rate_limited", "the day's");
    assert_eq!(reply["scope"], "ip", "C18: {reply}");
    let wait = refused.header("retry-after").and_then(|w| w.parse::<u64>().ok()).expect("Retry-After");
    assert!((1..=86_400).contains(&wait) && reply["retry_after"] == wait, "{reply}");
    assert_eq!(desk.ask_from(2, &asking(&advice())).await.status, 200, "another address has another day");
}

#[tokio::test]
async fn clause_33_budgets_hold_for_many_at_once() {
    let (_origin, desk) = costing(400, "daily = \"2000/day\"").await;
    let mut running = Vec::new();
    for _ in 0..24 {
        let (mut conn, ask) = (desk.conn().await, asking(&advice()));
        running.push(tokio::spawn(async move { conn.ask(&ask).await.status }));
    }
    let mut answered = 0;
    for task in running {
        answered += usize::from(task.await.expect("a client") == 200);
    }
    // What an answer costs is known when it came: one estimate each may be under way, and no more.
    assert!((1..=7).contains(&answered), "{answered} answers of 400 tokens out of 2,000");
}

#[tokio::test]
async fn clause_33_what_is_only_reserved_is_worth_a_moments_wait() {
    let gate = Gate::closed();
    let origin = Origin::start({
        let gate = gate.clone();
        move |r: &Request| match r.target.as_str() {
            "/api/advice" => {
                let told = json!({ "response": { "answer": "By train." }, "meta": { "tokens_used": 100 } });
                Reply::new(200).header("Content-Type", "application/json").wait(&gate).then(told.to_string()).into()
            }
            _ => agency::says(r),
        }
    })
    .await;
    let desk = agency::before(&origin).set("token_budget", "daily = \"500/day\"\nmax_response = 490").start().await;
    let first = async || assert_reply(&desk.ask(Via::H1, asking(&advice())).await, "the first");
    let (_, ()) = tokio::join!(first(), async {
        let asked = async || origin.requests().iter().any(|r| r.target == "/api/advice");
        eventually("it is under way", SOON, asked).await;
        let refused = desk.ask(Via::H1, asking(&advice())).await;
        let reply = assert_error(&refused, 429, "rate_limited", "reserved, not used up");
        assert_eq!((&reply["scope"], &reply["retry_after"]), (&json!("ip"), &json!(1)), "{reply}");
        assert!(reply["message"].as_str().is_some_and(|m| m.contains("reserved for answers")), "{reply}");
        let metrics = desk.admin_get("/metrics").await.text();
        assert!(metrics.contains("frontdesk_rejections_total{reason=\"tokens_reserved\"} 1"), "{metrics}");
        gate.open();
    });
    desk.told(&advice()).await;
}

/// A site with much to say.
async fn talkative(lines: &str) -> (Origin, Desk) {
    let long = "Every word of this sentence costs a little. ".repeat(400);
    let origin = Origin::start(move |r: &Request| match r.target.as_str() {
        "/api/advice" => Reply::json(json!({ "response": { "answer": long } }).to_string()).into(),
        _ => agency::says(r),
    })
    .await;
    let desk = agency::before(&origin).set("token_budget", lines).start().await;
    (origin, desk)
}

/// Words of an answer, of which none is more than two tokens.
fn words(reply: &Value) -> usize {
    reply["response"]["answer"].as_str().expect("an answer").split_whitespace().count()
}

#[tokio::test]
async fn clause_33_max_tokens_is_honoured() {
    let (_origin, desk) = talkative("anonymous = \"100000/session\"").await;
    let mut before = 0;
    for most in [1, 20, 100, 500] {
        let asked = with(advice(), json!({ "context": { "max_tokens": most } }));
        let reply = desk.told(&asked).await;
        let said = words(&reply);
        assert!(said <= most, "{said} words for {most} tokens: {reply}");
        assert!(said >= before, "the more may be said the more is: {reply}");
        before = said;
    }
    assert!(before > 100, "500 tokens are more than {before} words");
    // To JSON Schema it is the same number.
    let reply = desk.told(&with(advice(), json!({ "context": { "max_tokens": 20.0 } }))).await;
    assert!(words(&reply) <= 20, "{reply}");
}

#[tokio::test]
async fn clause_33_there_is_a_ceiling_whatever_is_asked_for() {
    let (_origin, desk) = talkative("anonymous = \"100000/session\"\nmax_response = 200").await;
    for asked in [advice(), with(advice(), json!({ "context": { "max_tokens": 32768 } }))] {
        let reply = desk.told(&asked).await;
        assert!((20..=200).contains(&words(&reply)), "{} words: {reply}", words(&reply));
    }
}

#[tokio::test]
async fn clause_33_an_answer_from_the_cache_costs_what_is_told() {
    let (_origin, desk) = agency::open().await;
    let asked = question("site_info", "Who are you?");
    let first = desk.told(&asked).await;
    assert_eq!(first["meta"]["cached"], false, "{first}");
    // The first reading of the site may end between two questions, and begins the cache anew.
    eventually("a cached answer", SOON, async || desk.told(&asked).await["meta"]["cached"] == true).await;
    let [first, second] = [desk.told(&asked).await, desk.told(&asked).await];
    assert_eq!((&second["meta"]["cached"], &first["response"]), (&json!(true), &second["response"]), "{second}");
    assert_ne!(first["session_id"], second["session_id"], "an answer is shared, a session is not");
}

/// What a long report of the agency's is told as, once it is there.
async fn reported(desk: &Desk, context: Value) -> Value {
    let ask = with(question("report_make", "All of it"), json!({ "context": context }));
    let promised = assert_reply(&desk.ask(Via::H1, asking(&ask).bearer(FULL)).await, "accepted");
    let poll = async || assert_reply(&desk.ask(Via::H1, polling(&promised).bearer(FULL)).await, "a poll");
    eventually("an end", SOON, async || poll().await["status"] != "pending").await;
    poll().await
}

#[tokio::test]
async fn clause_33_an_answer_that_comes_later_is_bounded_like_one_that_comes_at_once() {
    let report = json!({ "pages": 12, "lines": vec!["Every line of this report costs a little."; 800] });
    let origin = Origin::start(move |r: &Request| match r.target.split('?').next() {
        Some("/api/report") => Reply::json(report.to_string()).into(),
        _ => agency::says(r),
    })
    .await;
    let budget = |daily: &str| {
        let lines = format!("authenticated = \"100000/session\"\nmax_response = 500\ndaily = \"{daily}\"");
        agency::before(&origin).set("token_budget", &lines)
    };
    let whole = json!({ "accept_types": ["application/data"] });
    let desk = budget("100000/day").start().await;
    let told = reported(&desk, whole.clone()).await;
    assert_eq!(told["response"]["payload"]["data"]["pages"], 12, "what is there to pay with is used: {}", told["meta"]);
    let told = reported(&desk, with(whole.clone(), json!({ "max_tokens": 60 }))).await;
    assert!(told["response"].get("payload").is_none(), "a bound that is named is meant: {}", told["meta"]);
    let desk = budget("5000/day").start().await;
    for _ in 0..3 {
        let told = reported(&desk, whole.clone()).await;
        let meta = &told["meta"];
        assert_eq!(
            (&meta["content_type"], &meta["fallback_from"]),
            (&json!("text/answer"), &json!("application/data"))
        );
        assert_eq!(told["response"]["answer"], "The report has 12 pages.");
        assert!(meta["tokens_used"].as_u64().is_some_and(|tokens| tokens <= 500), "{meta}");
    }
    desk.told_to(FULL, &question("stock_check", "And what is left?")).await;
}
