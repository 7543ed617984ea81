//! Promise: a question for a person waits until a person has answered it, once, at the admin address.

use crate::support::calls::{BARE, FULL};
use crate::support::handshake::{
    OPERATOR, asking, assert_error, assert_reply, assert_success, polling, question, with,
};
use crate::support::{Ask, Conn, Desk, Dir, Origin, Response, SOON, Via, agency, eventually};
use serde_json::{Value, json};
use std::time::Duration;

fn quote() -> Value {
    with(question("quote_ask", "Ten seats to NRT, what do they cost?"), json!({ "input": { "seats": 10 } }))
}

/// Asked, and promised an answer.
async fn promised(desk: &Desk, ask: Ask) -> Value {
    let reply = assert_reply(&desk.ask(Via::H1, ask).await, "accepted");
    assert_eq!(reply["status"], "accepted", "{reply}");
    reply
}

async fn waiting(desk: &Desk) -> Vec<Value> {
    let response = desk.admin(Ask::get("/desk").bearer(OPERATOR)).await;
    assert_eq!(response.status, 200, "{}", response.text());
    response.json().as_array().unwrap_or_else(|| panic!("a list: {}", response.text())).clone()
}

async fn id_of_the_only_one(desk: &Desk) -> String {
    let all = waiting(desk).await;
    assert_eq!(all.len(), 1, "{all:?}");
    all[0]["id"].as_str().expect("an id").to_owned()
}

async fn decide(desk: &Desk, id: &str, word: &Value) -> Response {
    let ask = Ask::post(&format!("/desk/{id}"), word.to_string()).header("Content-Type", "application/json");
    desk.admin(ask.bearer(OPERATOR)).await
}

#[tokio::test]
async fn clause_27_a_person_sees_what_was_asked() {
    let (_origin, desk) = agency::open().await;
    let reply = promised(&desk, asking(&quote()).bearer(FULL)).await;
    assert_eq!(reply["eta_seconds"], 120, "{reply}");
    let all = waiting(&desk).await;
    let asked = &all[0];
    for name in ["id", "capability", "query", "input", "caller", "asked_at", "status"] {
        assert!(asked.get(name).is_some(), "{name}: {asked}");
    }
    assert_eq!(asked["query"], "Ten seats to NRT, what do they cost?", "{asked}");
    assert_eq!((&asked["input"]["seats"], &asked["status"]), (&json!(10), &json!("waiting")), "{asked}");
    assert!(["quote.ask", "quote_ask"].contains(&asked["capability"].as_str().unwrap_or_default()), "{asked}");
    assert!(asked["caller"].to_string().contains("full"), "by the name of the key: {asked}");
    assert!(!asked.to_string().contains(FULL), "never the key: {asked}");
}

#[tokio::test]
async fn clause_27_what_a_person_says_is_the_answer() {
    let (_origin, desk) = agency::open().await;
    let reply = promised(&desk, asking(&quote()).bearer(FULL)).await;
    let pending = assert_reply(&desk.ask(Via::H1, polling(&reply).bearer(FULL)).await, "pending");
    assert_eq!(pending["status"], "pending", "{pending}");
    assert!(pending["progress"].is_string(), "{pending}");
    let word = json!({ "answer": "590 euro each.", "data": { "price": 590 } });
    let decided = decide(&desk, &id_of_the_only_one(&desk).await, &word).await;
    assert_eq!(decided.status, 200, "{}", decided.text());
    let done = assert_success(&desk.ask(Via::H1, polling(&reply).bearer(FULL)).await, "answered");
    assert_eq!(done["response"]["answer"], "590 euro each.", "{done}");
    assert_eq!(done["meta"]["capability_used"], "quote_ask", "{done}");
    assert!(waiting(&desk).await.iter().all(|t| t["status"] != "waiting"), "nothing waits any more");
}

/// A person may paste what must not leave.
#[tokio::test]
async fn clause_27_what_is_taken_out_of_what_a_person_says_is_told() {
    let (_origin, desk) = agency::open().await;
    let reply = promised(&desk, asking(&quote()).bearer(FULL)).await;
    let word = json!({ "answer": "Use ghp_16C7e42F292c6912E7710c838347Ae178B4a." });
    assert_eq!(decide(&desk, &id_of_the_only_one(&desk).await, &word).await.status, 200);
    let polled = desk.ask(Via::H1, polling(&reply).bearer(FULL)).await;
    let done = assert_success(&polled, "answered");
    assert_eq!(done["response"]["answer"], "Use [redacted:github-token].", "{done}");
    assert_eq!(done["meta"]["flags"], json!(["secret-redacted;rules=github-token"]), "{done}");
    assert_eq!(polled.header("x-frontdesk-flags"), Some("secret-redacted;rules=github-token"));
}

#[tokio::test]
async fn clause_27_what_waits_is_listed_before_what_was_answered() {
    let (_origin, desk) = agency::open().await;
    promised(&desk, asking(&quote()).bearer(FULL)).await;
    let first = id_of_the_only_one(&desk).await;
    for _ in 0..2 {
        promised(&desk, asking(&quote()).bearer(FULL)).await;
    }
    let asked: Vec<Value> = waiting(&desk).await.iter().map(|ticket| ticket["id"].clone()).collect();
    assert_eq!((asked.len(), asked[0].as_str()), (3, Some(first.as_str())), "the oldest first");
    assert_eq!(decide(&desk, &first, &json!({ "answer": "590 euro each." })).await.status, 200);
    let told: Vec<_> = waiting(&desk).await.iter().map(|t| (t["id"].clone(), t["status"].clone())).collect();
    let expected =
        [(1, "waiting"), (2, "waiting"), (0, "answered")].map(|(at, status)| (asked[at].clone(), json!(status)));
    assert_eq!(told, expected);
}

#[tokio::test]
async fn clause_27_a_person_may_approve_or_reject() {
    let (_origin, desk) = agency::open().await;
    let reply = promised(&desk, asking(&quote()).bearer(FULL)).await;
    let id = id_of_the_only_one(&desk).await;
    assert_eq!(decide(&desk, &id, &json!({ "decision": "approve" })).await.status, 200);
    assert_success(&desk.ask(Via::H1, polling(&reply).bearer(FULL)).await, "approved");
    let (_origin, desk) = agency::open().await;
    let reply = promised(&desk, asking(&quote()).bearer(FULL)).await;
    let id = id_of_the_only_one(&desk).await;
    assert_eq!(decide(&desk, &id, &json!({ "decision": "reject", "reason": "We are full." })).await.status, 200);
    let end = assert_reply(&desk.ask(Via::H1, polling(&reply).bearer(FULL)).await, "rejected");
    assert_eq!(end["status"], "failed", "{end}");
    assert!(end.to_string().contains("We are full."), "and why: {end}");
}

#[tokio::test]
async fn clause_27_the_first_word_stands() {
    let (_origin, desk) = agency::open().await;
    let reply = promised(&desk, asking(&quote()).bearer(FULL)).await;
    let id = id_of_the_only_one(&desk).await;
    let mut running = Vec::new();
    for n in 0..8 {
        let word = json!({ "answer": format!("Answer {n}.") });
        let ask = Ask::post(&format!("/desk/{id}"), word.to_string()).bearer(OPERATOR);
        let (admin, ask) = (desk.ports.admin, ask.header("Host", &desk.ports.admin.to_string()));
        running.push(tokio::spawn(async move { Conn::open(admin).await.ask(&ask).await.status }));
    }
    let mut all = Vec::new();
    for task in running {
        all.push(task.await.expect("an operator"));
    }
    all.sort_unstable();
    assert_eq!(all, [200, 409, 409, 409, 409, 409, 409, 409]);
    let first = assert_success(&desk.ask(Via::H1, polling(&reply).bearer(FULL)).await, "answered");
    for word in [json!({ "answer": "Another." }), json!({ "decision": "reject", "reason": "No." })] {
        assert_eq!(decide(&desk, &id, &word).await.status, 409);
    }
    let still = assert_success(&desk.ask(Via::H1, polling(&reply).bearer(FULL)).await, "still");
    assert_eq!(first["response"], still["response"]);
}

#[tokio::test]
async fn clause_27_only_the_operator_decides() {
    let (_origin, desk) = agency::open().await;
    promised(&desk, asking(&quote()).bearer(FULL)).await;
    let id = id_of_the_only_one(&desk).await;
    let ask = || Ask::post(&format!("/desk/{id}"), "{\"answer\":\"Mine.\"}");
    for (who, ask) in [("nobody", ask()), ("an agent", ask().bearer(FULL)), ("a guess", ask().bearer("sesame"))] {
        let response = desk.admin(ask).await;
        assert!([401, 403].contains(&response.status), "{who}: {} {}", response.status, response.text());
    }
    // Nor is it an address of the public side.
    assert_eq!(desk.ask(Via::H1, ask().bearer(OPERATOR)).await.status, 404);
    assert_eq!(waiting(&desk).await[0]["status"], "waiting");
}

#[tokio::test]
async fn clause_27_a_word_that_is_none_is_refused_and_leaves_it_waiting() {
    let (_origin, desk) = agency::open().await;
    promised(&desk, asking(&quote()).bearer(FULL)).await;
    let id = id_of_the_only_one(&desk).await;
    for word in [
        json!({}),
        json!([]),
        json!({ "decision": "perhaps" }),
        json!({ "answer": 7 }),
        json!({ "answer": "" , "decision": "approve", "reason": 1 }),
        json!({ "data": {} }),
    ] {
        let response = decide(&desk, &id, &word).await;
        assert!([400, 422].contains(&response.status), "{word}: {} {}", response.status, response.text());
    }
    assert_eq!(decide(&desk, "no-such-id", &json!({ "answer": "x" })).await.status, 404);
    assert_eq!(waiting(&desk).await[0]["status"], "waiting");
}

#[tokio::test]
async fn clause_27_a_question_declared_open_needs_no_credential() {
    let (_origin, desk) = agency::open().await;
    let reply = promised(&desk, asking(&question("question_ask", "Do you take dogs?"))).await;
    let id = id_of_the_only_one(&desk).await;
    assert_eq!(decide(&desk, &id, &json!({ "answer": "Small ones." })).await.status, 200);
    let done = assert_success(&desk.ask(Via::H1, polling(&reply)).await, "without a credential");
    assert_eq!(done["response"]["answer"], "Small ones.");
}

#[tokio::test]
async fn clause_27_a_persons_answer_is_for_who_asked() {
    let (_origin, desk) = agency::open().await;
    let reply = promised(&desk, asking(&quote()).bearer(FULL)).await;
    decide(&desk, &id_of_the_only_one(&desk).await, &json!({ "answer": "Secret." })).await;
    for ask in [polling(&reply).bearer(BARE), polling(&reply)] {
        assert_error(&desk.ask(Via::H1, ask).await, 404, "invalid_request", "not theirs");
    }
}

#[tokio::test]
async fn clause_27_what_waits_for_a_person_survives_a_restart() {
    let (origin, dir) = (Origin::start(agency::says).await, Dir::new());
    let setup = agency::before(&origin).set("store", &format!("url = \"file:{}\"", dir.path().display()));
    let mut desk = setup.clone().start().await;
    let reply = promised(&desk, asking(&quote()).bearer(FULL)).await;
    let id = id_of_the_only_one(&desk).await;
    desk.signal(libc::SIGKILL);
    desk.wait_exit(SOON).await;
    let mut desk = setup.clone().start().await;
    assert_eq!(id_of_the_only_one(&desk).await, id, "after a kill");
    let pending = assert_reply(&desk.ask(Via::H1, polling(&reply).bearer(FULL)).await, "after a kill");
    assert_eq!(pending["status"], "pending", "{pending}");
    assert_eq!(decide(&desk, &id, &json!({ "answer": "590." })).await.status, 200);
    desk.signal(libc::SIGKILL);
    desk.wait_exit(SOON).await;
    let desk = setup.start().await;
    let done = assert_success(&desk.ask(Via::H1, polling(&reply).bearer(FULL)).await, "after another");
    assert_eq!(done["response"]["answer"], "590.");
    assert_eq!(decide(&desk, &id, &json!({ "answer": "600." })).await.status, 409, "the first word stands");
}

#[tokio::test]
async fn clause_27_a_question_nobody_answered_expires() {
    let origin = Origin::start(agency::says).await;
    let desk = agency::before(&origin).set("sessions", "results = \"2s\"").start().await;
    let reply = promised(&desk, asking(&quote()).bearer(FULL)).await;
    let id = id_of_the_only_one(&desk).await;
    eventually("it is over", Duration::from_secs(20), async || {
        let response = desk.ask(Via::H1, polling(&reply).bearer(FULL)).await;
        assert_reply(&response, "after its time")["status"] == "expired" || response.status == 404
    })
    .await;
    let late = decide(&desk, &id, &json!({ "answer": "Too late." })).await.status;
    assert!([404, 409, 410].contains(&late), "{late}");
}
