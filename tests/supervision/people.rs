//! Tests of people in supervised calls: exactly the confirmed call runs, and a call that a harness escalates waits for
//! them.

use super::*;
use crate::support::calls::{BARE, FULL, call};
use crate::support::handshake::{OPERATOR, asking, assert_reply, operators_token, polling, question, with};
use crate::support::rates::at_once;

const SELL: &str = r#"
[[capabilities]]
id = "orders.sell"
type = "commit_action"
description = "Sells an item."
method = "POST"
endpoint = "/agent/orders/sell"
risk_level = "high"
auth = "required"
requires_user_confirmation = true
idempotency_required = true
input_schema = { type = "object", required = ["item"], properties = { item = { type = "string" }, qty = { type = "integer" } } }
upstream = { method = "POST", path = "/api/orders" }
agtp = { method = "BOOK", path = "/sales" }
ahp = { mode = "MODE3", action_type = "async", eta = "90s" }
[capabilities.confirmation]
summary = "Sell {{ input.qty }} of {{ input.item }}"
consequence = "It is gone."
"#;

fn sell(key: &str) -> Ask {
    call("/agent/orders/sell", &tea()).bearer(FULL).header("Idempotency-Key", key)
}

async fn selling(harness: &Harness) -> (Origin, Desk) {
    let origin = shop().await;
    let setup = before(&origin, &[harness.url()], "").tail(SELL).set("admin", &operators_token());
    let desk = setup.start().await;
    reachable(&desk).await;
    (origin, desk)
}

fn confirmed(ask: Ask, asked: &crate::support::Response) -> Ask {
    assert_eq!(asked.status, 428, "{}", asked.text());
    ask.header("AICP-Confirmation", asked.json()["confirmation"]["token"].as_str().expect("a token"))
}

fn summary(asked: &crate::support::Response) -> String {
    asked.json()["confirmation"]["summary"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn supervision_that_changes_a_confirmed_call_has_it_confirmed_anew() {
    let harness = Harness::open().await;
    let (origin, desk) = selling(&harness).await;
    let asked = desk.ask(Via::H1, sell("k-1")).await;
    assert_eq!(summary(&asked), "Sell 2 of \"tea\"");
    assert!(harness.events("pre_action").is_empty(), "nobody is asked before the person");
    harness.says(json!({ "decision": "modify", "modified_payload": { "arguments": { "item": "tea", "qty": 1 } } }));
    let anew = desk.ask(Via::H1, confirmed(sell("k-1"), &asked)).await;
    assert_eq!((anew.status, summary(&anew).as_str()), (428, "Sell 1 of \"tea\""), "{}", anew.text());
    assert!(orders(&origin).is_empty(), "what was confirmed is not what would be done");
    let done = desk.ask(Via::H1, confirmed(sell("k-1"), &anew)).await;
    assert_eq!((done.status, sent(&origin)), (201, vec![json!({ "item": "tea", "qty": 1 })]), "{}", done.text());
    let again = desk.ask(Via::H1, sell("k-1")).await;
    assert_eq!((again.status, orders(&origin).len()), (201, 1), "a retry is a retry: {}", again.text());
    // Over AGTP what is asked is what the summary says, too.
    let book = || {
        let ask = Ask::new("BOOK", "/sales").body(tea().to_string()).bearer(FULL).header("Idempotency-Key", "k-3");
        ask.header("Content-Type", "application/vnd.agtp+json").header("Agent-ID", &"a0".repeat(32))
    };
    let asked = desk.ask(Via::H1, book()).await.json();
    let token = asked["confirmation"]["token"].as_str().unwrap_or_else(|| panic!("a token: {asked}")).to_owned();
    let anew = desk.ask(Via::H1, book().header("AICP-Confirmation", &token)).await.json();
    assert_eq!(anew["confirmation"]["summary"], "Sell 1 of \"tea\"", "{anew}");
    assert_eq!(anew["confirmation"]["input"], json!({ "item": "tea", "qty": 1 }), "{anew}");
    // A token for the changed call is none for the call as it was sent.
    harness.says(json!({ "decision": "allow" }));
    let other = desk.ask(Via::H1, sell("k-2")).await;
    harness.says(json!({ "decision": "modify", "modified_payload": { "arguments": { "item": "tea", "qty": 3 } } }));
    let three = desk.ask(Via::H1, confirmed(sell("k-2"), &other)).await;
    harness.says(json!({ "decision": "allow" }));
    let wrong = desk.ask(Via::H1, confirmed(sell("k-2"), &three)).await;
    assert_eq!((wrong.status, orders(&origin).len()), (428, 1), "{}", wrong.text());
}

#[tokio::test]
async fn supervision_may_refuse_a_confirmation_and_never_gives_one() {
    let harness = Harness::offering(&["pre_action", "confirmation"]).await;
    let (origin, desk) = selling(&harness).await;
    let says = |decision: Value| {
        harness.decides(move |message| match message["params"]["event_type"] == "confirmation" {
            true => answer(message, &decision),
            false => answer(message, &json!({ "decision": "allow" })),
        });
    };
    says(json!({ "decision": "reject", "reason": "inner" }));
    let rejected = desk.ask(Via::H1, sell("k-1")).await;
    assert_eq!(rejected.status, 403, "{}", rejected.text());
    assert!(!rejected.text().contains("inner"));
    says(json!({ "decision": "allow" }));
    assert_eq!(desk.ask(Via::H1, sell("k-1")).await.status, 503, "no decision of this kind");
    says(json!({ "decision": "approve" }));
    let asked = desk.ask(Via::H1, sell("k-1")).await;
    assert_eq!((asked.status, orders(&origin).len()), (428, 0), "the person still has to");
    let question = harness.events("confirmation").pop().expect("a question");
    assert_eq!(question["payload"]["message"], "Sell 2 of \"tea\"", "{question}");
    assert_eq!(desk.ask(Via::H1, confirmed(sell("k-1"), &asked)).await.status, 201);
}

#[tokio::test]
async fn supervision_that_escalates_a_confirmation_lets_one_confirmed_call_through() {
    let harness = Harness::offering(&["pre_action", "confirmation"]).await;
    let (origin, desk) = selling(&harness).await;
    harness.decides(|message| match message["params"]["event_type"] == "confirmation" {
        true => answer(message, &escalate()),
        false => answer(message, &json!({ "decision": "allow" })),
    });
    assert_eq!(desk.ask(Via::H1, sell("k-1")).await.status, 403);
    for waits in desk_of_people(&desk).await {
        decide(&desk, &waits["id"], json!({ "decision": "approve" })).await;
    }
    // An answer may be lost: until one call is confirmed its user may be asked again.
    let (one, other) = (desk.ask(Via::H1, sell("k-1")).await, desk.ask(Via::H1, sell("k-2")).await);
    desk.metric_reaches("frontdesk_supervised_total{decision=\"approved\"}", 2.0).await;
    let answers = at_once(&[&desk], vec![confirmed(sell("k-1"), &one), confirmed(sell("k-2"), &other)]).await;
    let done = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!((done, orders(&origin).len()), (1, 1), "{:?}", answers.iter().map(|a| a.text()).collect::<Vec<_>>());
    for late in [confirmed(sell("k-3"), &one), confirmed(sell("k-4"), &other), sell("k-5")] {
        let refused = desk.ask(Via::H1, late).await;
        assert_eq!((refused.status, orders(&origin).len()), (403, 1), "{}", refused.text());
    }
    let waiting = desk_of_people(&desk).await;
    assert_eq!(waiting.iter().filter(|w| w["status"] == "waiting").count(), 1, "they are asked anew: {waiting:?}");
}

async fn desk_of_people(desk: &Desk) -> Vec<Value> {
    let response = desk.admin(Ask::get("/desk").bearer(OPERATOR)).await;
    response.json().as_array().unwrap_or_else(|| panic!("a list: {}", response.text())).clone()
}

async fn decide(desk: &Desk, id: &Value, word: Value) {
    let path = format!("/desk/{}", id.as_str().expect("an id"));
    let ask = Ask::post(&path, word.to_string()).header("Content-Type", "application/json").bearer(OPERATOR);
    let response = desk.admin(ask).await;
    assert_eq!(response.status, 200, "{}", response.text());
}

fn escalate() -> Value {
    json!({ "decision": "escalate", "reason": "needs a person", "escalation_target": "ops" })
}

#[tokio::test]
async fn supervision_hands_a_call_to_a_person_who_allows_it_once() {
    let harness = Harness::open().await;
    let (origin, desk) = selling(&harness).await;
    harness.says(escalate());
    for dialect in DIALECTS {
        refused(dialect, &place(&desk, dialect, &tea()).await);
    }
    let waits = place(&desk, "aicp", &tea()).await;
    assert_eq!(waits.status, 403, "{}", waits.text());
    let waiting = desk_of_people(&desk).await;
    assert!(waiting.iter().all(|w| w["capability"] == "orders.place" && w["input"] == tea()), "{waiting:?}");
    let before = waiting.len();
    assert_eq!(
        (place(&desk, "aicp", &tea()).await.status, desk_of_people(&desk).await.len()),
        (403, before),
        "asked once"
    );
    for waits in &waiting {
        decide(&desk, &waits["id"], json!({ "decision": "approve" })).await;
    }
    // No other caller's call, and no other call.
    let other = desk.ask(Via::H1, order("aicp", &tea()).header("AICP-Agent", "Other/1")).await;
    let stranger = desk.ask(Via::H1, call("/agent/orders/place", &tea()).bearer(BARE)).await;
    let more = place(&desk, "aicp", &json!({ "item": "tea", "qty": 9 })).await;
    assert_eq!((stranger.status, more.status), (403, 403));
    assert_eq!(
        orders(&origin).len(),
        usize::from(other.status == 201),
        "a name that is only said is the same caller or none"
    );
    let so_far = orders(&origin).len();
    let answers = at_once(&[&desk], vec![order("aicp", &tea()); 10]).await;
    let done = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!((done, orders(&origin).len()), (1 - so_far, 1), "one permission is for one call");
}

#[tokio::test]
async fn supervision_hands_a_call_to_a_person_who_does_not_want_it() {
    let harness = Harness::open().await;
    let (origin, desk) = selling(&harness).await;
    harness.says(escalate());
    place(&desk, "aicp", &tea()).await;
    let waiting = desk_of_people(&desk).await;
    let path = format!("/desk/{}", waiting[0]["id"].as_str().expect("an id"));
    for answer in [json!({ "answer": "ok" }), json!({ "answer": "ok", "data": { "decision": "approved" } })] {
        let ask = Ask::post(&path, answer.to_string()).header("Content-Type", "application/json").bearer(OPERATOR);
        let wrong = desk.admin(ask).await;
        assert!(wrong.status == 400 && wrong.text().contains("approve"), "{} {}", wrong.status, wrong.text());
    }
    decide(&desk, &waiting[0]["id"], json!({ "decision": "reject", "reason": "Too much tea." })).await;
    let refused = place(&desk, "aicp", &tea()).await;
    assert_eq!((refused.status, orders(&origin).len()), (403, 0));
    assert!(refused.text().contains("Too much tea."), "{}", refused.text());
    // A block is a block, whatever a person said before.
    harness.says(json!({ "decision": "block", "reason": "no" }));
    assert_eq!(place(&desk, "aicp", &tea()).await.status, 403);
}

#[tokio::test]
async fn supervision_parks_what_is_answered_later_until_a_person_allows_it() {
    let harness = Harness::open().await;
    let (origin, desk) = selling(&harness).await;
    harness.says(escalate());
    let ask = |more: Value| {
        let input = with(question("orders_sell", "Sell it."), json!({ "input": tea() }));
        let mut context = json!({ "idempotency_key": "k-9" });
        context.as_object_mut().expect("an object").extend(more.as_object().expect("members").clone());
        asking(&with(input, json!({ "context": context }))).bearer(FULL)
    };
    let clarified = desk.ask(Via::H1, ask(json!({}))).await;
    let options = clarified.json()["clarification"]["options"].clone();
    let token = options[0].as_str().unwrap_or_else(|| panic!("a token: {}", clarified.text())).to_owned();
    let again = with(
        question("orders_sell", "Sell it."),
        json!({ "input": tea(), "clarification": token, "context": { "idempotency_key": "k-9" } }),
    );
    let accepted = assert_reply(&desk.ask(Via::H1, asking(&again).bearer(FULL)).await, "accepted");
    assert_eq!(accepted["status"], "accepted", "{accepted}");
    let polled = desk.ask(Via::H1, polling(&accepted).bearer(FULL)).await.json();
    assert_eq!((&polled["status"], orders(&origin).len()), (&json!("pending"), 0), "{polled}");
    let waiting = desk_of_people(&desk).await;
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    decide(&desk, &waiting[0]["id"], json!({ "decision": "approve" })).await;
    // It then runs once, without another request.
    let done = async || {
        let polled = desk.ask(Via::H1, polling(&accepted).bearer(FULL)).await.json();
        assert!(["pending", "success"].iter().any(|status| polled["status"] == *status), "{polled}");
        polled["status"] == "success"
    };
    eventually("it is done", SOON, done).await;
    assert_eq!(sent(&origin), [tea()]);
    // A retry gets the same answer, without a wait.
    let accepted = assert_reply(&desk.ask(Via::H1, asking(&again).bearer(FULL)).await, "accepted");
    let done = async || desk.ask(Via::H1, polling(&accepted).bearer(FULL)).await.json()["status"] == "success";
    eventually("it is told again", SOON, done).await;
    assert_eq!(
        (sent(&origin).len(), desk_of_people(&desk).await.iter().filter(|t| t["status"] == "waiting").count()),
        (1, 0)
    );
    // What a person did not want is told by the same word as anywhere.
    let third = json!({ "input": { "item": "tea", "qty": 3 }, "context": { "idempotency_key": "k-10" } });
    let clarified =
        desk.ask(Via::H1, asking(&with(question("orders_sell", "Sell it."), third.clone())).bearer(FULL)).await;
    let token = clarified.json()["clarification"]["options"][0].clone();
    let third = with(with(question("orders_sell", "Sell it."), third), json!({ "clarification": token }));
    let accepted = assert_reply(&desk.ask(Via::H1, asking(&third).bearer(FULL)).await, "accepted");
    let waits = |ticket: &&Value| ticket["input"]["qty"] == 3;
    let waiting = desk_of_people(&desk).await;
    let waiting = waiting.iter().find(waits).unwrap_or_else(|| panic!("{waiting:?}"));
    decide(&desk, &waiting["id"], json!({ "decision": "reject", "reason": "No." })).await;
    let polled = desk.ask(Via::H1, polling(&accepted).bearer(FULL)).await.json();
    assert_eq!((&polled["status"], &polled["reason"]), (&json!("failed"), &json!("harness_rejected")), "{polled}");
}

#[tokio::test]
async fn supervision_that_changes_and_escalates_a_confirmed_call_comes_to_an_end() {
    let (first, second) = (Harness::open().await, Harness::open().await);
    first.says(json!({ "decision": "modify", "modified_payload": { "arguments": { "item": "tea", "qty": 1 } } }));
    second.says(escalate());
    let origin = shop().await;
    let setup = before(&origin, &[first.url(), second.url()], "").tail(SELL).set("admin", &operators_token());
    let desk = setup.start().await;
    reachable(&desk).await;
    let asked = desk.ask(Via::H1, sell("k-1")).await;
    // The operator's people come last: they are asked about what the user confirmed, and not before.
    let anew = desk.ask(Via::H1, confirmed(sell("k-1"), &asked)).await;
    assert_eq!((anew.status, summary(&anew).as_str()), (428, "Sell 1 of \"tea\""), "{}", anew.text());
    assert_eq!(desk_of_people(&desk).await, Vec::<Value>::new());
    let held = desk.ask(Via::H1, confirmed(sell("k-1"), &anew)).await;
    assert_eq!(held.status, 403, "{}", held.text());
    let waiting = desk_of_people(&desk).await;
    assert_eq!(waiting[0]["input"], json!({ "item": "tea", "qty": 1 }), "{waiting:?}");
    decide(&desk, &waiting[0]["id"], json!({ "decision": "approve" })).await;
    let done = desk.ask(Via::H1, confirmed(sell("k-1"), &anew)).await;
    assert_eq!((done.status, sent(&origin)), (201, vec![json!({ "item": "tea", "qty": 1 })]), "{}", done.text());
    // No harness is asked about an unconfirmed call.
    let other = desk.ask(Via::H1, sell("k-2").header("AICP-Confirmation", "none")).await;
    assert_eq!(
        (other.status, desk_of_people(&desk).await.iter().filter(|t| t["state"] == "waiting").count()),
        (428, 0)
    );
}

#[tokio::test]
async fn supervision_that_allowed_a_call_before_its_desk_ended_has_it_asked_for_again() {
    let (harness, dir) = (Harness::open().await, crate::support::Dir::new());
    harness.says(escalate());
    let origin = shop().await;
    let store = format!("url = \"file:{}\"", dir.join("store").display());
    let setup = before(&origin, &[harness.url()], "").tail(SELL).set("admin", &operators_token()).set("store", &store);
    let mut desk = setup.clone().start().await;
    reachable(&desk).await;
    let ask = |more: Value| {
        let more = with(json!({ "input": tea(), "context": { "idempotency_key": "k-11" } }), more);
        asking(&with(question("orders_sell", "Sell it."), more)).bearer(FULL)
    };
    let clarified = desk.ask(Via::H1, ask(json!({}))).await;
    let token = clarified.json()["clarification"]["options"][0].clone();
    let again = ask(json!({ "clarification": token }));
    let accepted = assert_reply(&desk.ask(Via::H1, again.clone()).await, "accepted");
    desk.signal(libc::SIGKILL);
    desk.wait_exit(SOON).await;
    let desk = setup.start().await;
    reachable(&desk).await;
    decide(&desk, &desk_of_people(&desk).await[0]["id"], json!({ "decision": "approve" })).await;
    let polled = desk.ask(Via::H1, polling(&accepted).bearer(FULL)).await.json();
    assert_eq!(polled["status"], "failed", "{polled}");
    assert!(polled["message"].as_str().expect("words").contains("send the same question again"), "{polled}");
    assert!(orders(&origin).is_empty(), "nobody is there who would do it");
    let accepted = assert_reply(&desk.ask(Via::H1, again).await, "accepted");
    let done = async || desk.ask(Via::H1, polling(&accepted).bearer(FULL)).await.json()["status"] == "success";
    eventually("it is done", SOON, done).await;
    assert_eq!(sent(&origin), [tea()]);
}
