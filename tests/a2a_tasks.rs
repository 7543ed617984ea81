//! Promise: what an A2A client has to confirm, or gets later, is a task of its own: it acts once after a yes, and not at
//! all after a no.

use crate::support::a2a::{V1, V03, error, get, hold, holds, message, of, result, state, task};
use crate::support::calls::{BARE, FULL};
use crate::support::handshake::OPERATOR;
use crate::support::redis::{Redis, two_desks};
use crate::support::rpc;
use crate::support::{Ask, Gate, Origin, Reply, Request, Response, SOON, Step, Via, agency, eventually};
use serde_json::json;

// ── calls and confirmations ─────────────────────────────────────────────────────────────────────────────────────────

#[tokio::test]
async fn a2a_confirmation_is_a_task_and_yes_acts_once() {
    for version in [V1, V03] {
        let (origin, desk) = rpc::travel().await;
        let asked = task(&desk, version, hold(version, "m-1", "fare_1")).await;
        assert_eq!(state(&asked), version.state("input-required"), "{asked}");
        let told = asked["status"]["message"].to_string();
        assert!(told.contains("fare_1") && told.contains("It is reserved."), "{told}");
        assert_eq!(get(&desk, version, &asked, FULL).await, asked, "it stays to be asked for");
        assert_eq!(holds(&origin), 0, "nothing was done yet");
        let unsure = task(&desk, version, version.words("yes, but cheaper", of(&asked)).bearer(FULL)).await;
        assert_eq!((state(&unsure), holds(&origin)), (version.state("input-required").as_str(), 0), "no yes");
        let yes = || version.data("m-2", json!({ "confirmed": true }), of(&asked)).bearer(FULL);
        let done = task(&desk, version, yes()).await;
        assert_eq!((state(&done), &done["id"]), (version.state("completed").as_str(), &asked["id"]), "{done}");
        assert!(done["artifacts"][0].to_string().contains("h-1"), "{done}");
        assert_eq!(get(&desk, version, &asked, FULL).await["artifacts"], done["artifacts"]);
        error(&desk, yes(), -32004).await;
        error(&desk, version.ask("cancel", json!({ "id": asked["id"] })).bearer(FULL), -32002).await;
        assert_eq!(holds(&origin), 1, "once");
        // The first message again, as a retry: it gets the answer of the call that was carried out under the same key.
        let again = message(&desk, version, hold(version, "m-1", "fare_1")).await;
        assert!(again["parts"][1].to_string().contains("h-1"), "{again}");
        assert_eq!(holds(&origin), 1, "a retry acts once");
        let other = task(&desk, version, hold(version, "m-9", "fare_1")).await;
        let other = task(&desk, version, version.words("Yes.", of(&other)).bearer(FULL)).await;
        assert_eq!(
            (state(&other), holds(&origin)),
            (version.state("completed").as_str(), 2),
            "another message acts anew"
        );
    }
}

#[tokio::test]
async fn a2a_no_and_cancel_do_nothing() {
    for version in [V1, V03] {
        let (origin, desk) = rpc::travel().await;
        let asked = task(&desk, version, hold(version, "m-1", "fare_1")).await;
        let declined = task(&desk, version, version.words("no", of(&asked)).bearer(FULL)).await;
        assert_eq!(state(&declined), version.state("canceled"), "{declined}");
        let asked = task(&desk, version, hold(version, "m-2", "fare_1")).await;
        let canceled = result(&desk, version.ask("cancel", json!({ "id": asked["id"] })).bearer(FULL)).await;
        assert_eq!((state(&canceled), &canceled["id"]), (version.state("canceled").as_str(), &asked["id"]));
        error(&desk, version.words("yes", of(&asked)).bearer(FULL), -32004).await;
        assert_eq!(state(&get(&desk, version, &asked, FULL).await), version.state("canceled"));
        assert_eq!(holds(&origin), 0);
    }
}

#[tokio::test]
async fn a2a_tasks_belong_to_their_caller() {
    let (origin, desk) = rpc::travel().await;
    let asked = task(&desk, V1, hold(V1, "m-1", "fare_1")).await;
    let id = json!({ "id": asked["id"] });
    for other in [V1.ask("get", id.clone()).bearer(BARE), V1.ask("cancel", id.clone()).bearer(BARE), V1.ask("get", id)]
    {
        error(&desk, other, -32001).await;
    }
    error(&desk, V1.words("yes", of(&asked)).bearer(BARE), -32001).await;
    error(&desk, V1.words("yes", of(&asked)), -32001).await;
    let context = json!({ "taskId": asked["id"], "contextId": "another" });
    error(&desk, V1.words("yes", context).bearer(FULL), -32602).await;
    assert_eq!((state(&get(&desk, V1, &asked, FULL).await), holds(&origin)), ("TASK_STATE_INPUT_REQUIRED", 0));
}

#[tokio::test]
async fn a2a_twenty_yes_at_once_act_once() {
    let (origin, desk) = rpc::travel().await;
    let asked = task(&desk, V1, hold(V1, "m-1", "fare_1")).await;
    let yes = (0..20).map(|_| desk.ask(Via::H1, V1.words("yes", of(&asked)).bearer(FULL)));
    let all: Vec<Response> = futures_of(yes).await;
    assert!(
        all.iter().all(|response| response.status == 200),
        "{:?}",
        all.iter().map(|r| r.status).collect::<Vec<_>>()
    );
    assert_eq!(holds(&origin), 1);
    let now = get(&desk, V1, &asked, FULL).await;
    assert_eq!(state(&now), "TASK_STATE_COMPLETED", "{now}");
}

#[tokio::test]
async fn a2a_a_call_that_is_carried_out_is_not_canceled() {
    for version in [V1, V03] {
        let gate = Gate::closed();
        let waits = gate.clone();
        let origin = Origin::start(move |_: &Request| {
            let reply = Reply::json("{\"hold_id\":\"h-1\"}");
            let bytes = [reply.head(), reply.whole().to_vec()].concat();
            vec![Step::Wait(waits.clone()), Step::Write(bytes), Step::KeepAlive]
        })
        .await;
        let desk = rpc::before(&origin).start().await;
        let asked = task(&desk, version, hold(version, "m-1", "fare_1")).await;
        let yes = || version.words("yes", of(&asked)).bearer(FULL);
        let cancel = || version.ask("cancel", json!({ "id": asked["id"] })).bearer(FULL);
        let meanwhile = async {
            eventually("the site is asked", SOON, async || holds(&origin) == 1).await;
            assert_eq!(state(&get(&desk, version, &asked, FULL).await), version.state("working"));
            error(&desk, cancel(), -32002).await;
            error(&desk, yes(), -32004).await;
            gate.open();
        };
        let (done, ()) = tokio::join!(task(&desk, version, yes()), meanwhile);
        assert_eq!(state(&done), version.state("completed"), "{done}");
        assert_eq!(state(&get(&desk, version, &asked, FULL).await), version.state("completed"));
        error(&desk, cancel(), -32002).await;
        assert_eq!(holds(&origin), 1);
    }
}

/// Runs requests at once.
async fn futures_of<F: Future<Output = Response>>(all: impl Iterator<Item = F>) -> Vec<Response> {
    futures_util::future::join_all(all).await
}

#[tokio::test]
async fn a2a_tasks_are_known_to_every_replica() {
    let (origin, redis) = (rpc::origin().await, Redis::start().await);
    let store = format!("url = \"{}\"", redis.url());
    let setup = rpc::before(&origin).set("store", &store);
    let (a, b) = two_desks(&setup).await;
    let asked = task(&a, V1, hold(V1, "m-1", "fare_1")).await;
    assert_eq!(get(&b, V1, &asked, FULL).await, asked);
    let done = task(&b, V1, V1.words("yes", of(&asked)).bearer(FULL)).await;
    assert_eq!((state(&done), holds(&origin)), ("TASK_STATE_COMPLETED", 1));
    assert_eq!(get(&a, V1, &asked, FULL).await["artifacts"], done["artifacts"]);
}

// ── later answers ───────────────────────────────────────────────────────────────────────────────────────────────────

#[tokio::test]
async fn a2a_later_answer_is_a_task_that_works_and_ends() {
    for version in [V1, V03] {
        let gate = Gate::closed();
        let waits = gate.clone();
        let origin = Origin::start(move |r: &Request| match r.target.split('?').next() {
            Some("/api/report") => {
                let reply = Reply::json("{\"pages\":12}");
                let bytes = [reply.head(), reply.whole().to_vec()].concat();
                vec![Step::Wait(waits.clone()), Step::Write(bytes), Step::KeepAlive].into()
            }
            _ => agency::says(r),
        })
        .await;
        let desk = agency::before(&origin).start().await;
        let ask = version.data("m-1", json!({ "capability": "report.make" }), json!({})).bearer(FULL);
        let working = task(&desk, version, ask).await;
        assert_eq!(state(&working), version.state("working"), "{working}");
        assert_eq!(working["status"]["message"]["parts"][1]["data"]["eta_seconds"], 90, "{working}");
        assert_eq!(state(&get(&desk, version, &working, FULL).await), version.state("working"));
        error(&desk, version.ask("get", json!({ "id": working["id"] })).bearer(BARE), -32001).await;
        error(&desk, version.ask("cancel", json!({ "id": working["id"] })).bearer(FULL), -32002).await;
        error(&desk, version.words("faster", of(&working)).bearer(FULL), -32004).await;
        gate.open();
        let completed = version.state("completed");
        eventually("an end", SOON, async || state(&get(&desk, version, &working, FULL).await) == completed).await;
        let done = get(&desk, version, &working, FULL).await;
        assert_eq!(done["artifacts"][0]["parts"][0]["text"], "The report has 12 pages.", "{done}");
        assert_eq!((&done["id"], &done["contextId"]), (&working["id"], &working["contextId"]));
        assert_eq!(get(&desk, version, &working, FULL).await, done, "kept, and said again");
    }
}

#[tokio::test]
async fn a2a_question_to_a_person_can_be_withdrawn_and_answered() {
    let (_origin, desk) = agency::open().await;
    let waiting =
        async || desk.admin(Ask::get("/desk").bearer(OPERATOR)).await.json().as_array().cloned().expect("a list");
    let ask =
        |id: &str| V1.data(id, json!({ "capability": "quote_ask", "input": { "seats": 10 } }), json!({})).bearer(FULL);
    let first = task(&desk, V1, ask("m-1")).await;
    assert_eq!((state(&first), waiting().await.len()), ("TASK_STATE_WORKING", 1));
    let canceled = result(&desk, V1.ask("cancel", json!({ "id": first["id"] })).bearer(FULL)).await;
    assert_eq!((state(&canceled), waiting().await.len()), ("TASK_STATE_CANCELED", 0), "no person is asked any more");
    let second = task(&desk, V1, ask("m-2")).await;
    let third = task(&desk, V1, ask("m-3")).await;
    for (task, word) in
        [(&second, json!({ "answer": "590 euro." })), (&third, json!({ "decision": "reject", "reason": "Sold out." }))]
    {
        let id = task["id"].as_str().expect("an id");
        let decided = Ask::post(&format!("/desk/{id}"), word.to_string()).header("Content-Type", "application/json");
        assert_eq!(desk.admin(decided.bearer(OPERATOR)).await.status, 200);
    }
    let answered = get(&desk, V1, &second, FULL).await;
    assert_eq!(
        (state(&answered), &answered["artifacts"][0]["parts"][0]["text"]),
        ("TASK_STATE_COMPLETED", &json!("590 euro."))
    );
    let rejected = get(&desk, V1, &third, FULL).await;
    assert_eq!(state(&rejected), "TASK_STATE_REJECTED", "{rejected}");
    assert!(rejected["status"]["message"].to_string().contains("Sold out."), "{rejected}");
}
