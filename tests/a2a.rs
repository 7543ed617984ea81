//! Promise: an A2A client of 1.0 or 0.3 finds the card, asks, calls, confirms, and fetches what comes later, under the
//! same rules as every other client.

use crate::support::calls::{BARE, FULL, last_upstream, query, site, upstream_calls};
use crate::support::handshake::OPERATOR;
use crate::support::redis::{Redis, two_desks};
use crate::support::rpc;
use crate::support::{Ask, Desk, Gate, Origin, Reply, Request, Response, SOON, Step, Via, agency, eventually};
use serde_json::{Value, json};

/// The client's version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Version {
    V1,
    V03,
}
use Version::{V1, V03};

impl Version {
    fn method(self, name: &str) -> &'static str {
        match (self, name) {
            (V1, "send") => "SendMessage",
            (V1, "get") => "GetTask",
            (V1, "cancel") => "CancelTask",
            (V03, "send") => "message/send",
            (V03, "get") => "tasks/get",
            (V03, "cancel") => "tasks/cancel",
            _ => panic!("{name}"),
        }
    }

    fn state(self, word: &str) -> String {
        match self {
            V03 => word.to_owned(),
            V1 => format!("TASK_STATE_{}", word.replace('-', "_").to_uppercase()),
        }
    }

    fn part(self, kind: &str, value: Value) -> Value {
        match self {
            V1 => json!({ kind: value }),
            V03 => json!({ "kind": kind, kind: value }),
        }
    }

    /// A request of a client of this version.
    fn ask(self, name: &str, params: Value) -> Ask {
        let body = rpc::message(self.method(name), params).to_string();
        let ask = Ask::post("/a2a", body).header("Content-Type", "application/json");
        if self == V1 { ask.header("A2A-Version", "1.0") } else { ask }
    }

    /// A message with these parts, and more members of the message.
    fn message(self, id: &str, parts: Value, more: Value) -> Ask {
        let role = if self == V1 { "ROLE_USER" } else { "user" };
        let mut message = json!({ "messageId": id, "role": role, "parts": parts });
        if self == V03 {
            message["kind"] = "message".into();
        }
        message.as_object_mut().expect("a message").extend(more.as_object().cloned().unwrap_or_default());
        self.ask("send", json!({ "message": message }))
    }

    fn words(self, words: &str, more: Value) -> Ask {
        self.message("m-words", json!([self.part("text", words.into())]), more)
    }

    fn data(self, id: &str, data: Value, more: Value) -> Ask {
        self.message(id, json!([self.part("data", data)]), more)
    }
}

/// The result of a request that has to succeed.
async fn result(desk: &Desk, ask: Ask) -> Value {
    rpc::result(&desk.ask(Via::H1, ask).await)
}

/// The task in the result of a message.
async fn task(desk: &Desk, version: Version, ask: Ask) -> Value {
    let result = result(desk, ask).await;
    let task = if version == V1 { result["task"].clone() } else { result.clone() };
    assert!(task["id"].is_string() && task["status"]["timestamp"].is_string(), "{result}");
    assert_eq!(task.get("kind").is_some(), version == V03, "{task}");
    task
}

/// The message in the result of a message.
async fn message(desk: &Desk, version: Version, ask: Ask) -> Value {
    let result = result(desk, ask).await;
    let message = if version == V1 { result["message"].clone() } else { result.clone() };
    assert!(message["messageId"].is_string() && message["contextId"].is_string(), "{result}");
    assert_eq!(message["role"], if version == V1 { "ROLE_AGENT" } else { "agent" }, "{message}");
    message
}

async fn get(desk: &Desk, version: Version, task: &Value, key: &str) -> Value {
    result(desk, version.ask("get", json!({ "id": task["id"] })).bearer(key)).await
}

fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap_or_else(|| panic!("no state: {task}"))
}

fn of(task: &Value) -> Value {
    json!({ "taskId": task["id"], "contextId": task["contextId"] })
}

fn hold(version: Version, id: &str, fare: &str) -> Ask {
    version.data(id, json!({ "capability": "holds.asked", "input": { "fare_id": fare } }), json!({})).bearer(FULL)
}

async fn error(desk: &Desk, ask: Ask, code: i64) -> Value {
    rpc::error(&desk.ask(Via::H1, ask).await, 200, code)
}

fn holds(origin: &Origin) -> usize {
    upstream_calls(origin).iter().filter(|request| request.target == "/api/holds").count()
}

// ── the card ────────────────────────────────────────────────────────────────────────────────────────────────────────

#[tokio::test]
async fn a2a_card_leads_to_an_endpoint_that_answers_in_both_versions() {
    let (_origin, desk) = rpc::travel().await;
    let response = desk.get("/.well-known/agent-card.json").await;
    assert_eq!((response.status, response.media_type().as_str()), (200, "application/json"));
    let card = response.json();
    assert_eq!((&card["name"], &card["url"]), (&json!("Example Travel"), &json!("https://site.test/a2a")), "{card}");
    for (at, version) in ["1.0", "0.3"].into_iter().enumerate() {
        let interface = &card["supportedInterfaces"][at];
        assert_eq!((&interface["protocolVersion"], &interface["url"]), (&json!(version), &card["url"]), "{card}");
        assert_eq!(interface["protocolBinding"], "JSONRPC");
    }
    for name in ["description", "version", "defaultInputModes", "defaultOutputModes", "capabilities", "skills"] {
        assert!(!card[name].is_null(), "{name}: {card}");
    }
    assert_eq!((&card["capabilities"]["streaming"], &card["preferredTransport"]), (&json!(false), &json!("JSONRPC")));
    let ids: Vec<_> = card["skills"].as_array().expect("skills").iter().map(|skill| skill["id"].clone()).collect();
    assert!(ids.contains(&json!("flights_search")) && ids.contains(&json!("holds_asked")), "{ids:?}");
    for version in [V1, V03] {
        let call = json!({ "capability": ids[0], "input": { "origin": "MAD" } });
        let answer = message(&desk, version, version.data("m", call, json!({}))).await;
        let data = &answer["parts"][1]["data"];
        assert_eq!(data["payload"]["data"]["total"], 1, "{answer}");
    }
    let catalog = desk.get("/.well-known/api-catalog").await.json().to_string();
    assert!(catalog.contains("/a2a") && catalog.contains("/.well-known/agent-card.json"), "{catalog}");
}

#[tokio::test]
async fn a2a_card_without_a_declared_origin_has_the_address_that_was_asked() {
    let origin = rpc::origin().await;
    let desk = Desk::run_upstream(&origin.url()).await;
    let asked = async |ask: Ask| desk.ask(Via::H1, ask).await;
    let card = asked(Ask::get("/.well-known/agent-card.json")).await;
    assert_eq!((card.status, &card.json()["url"]), (200, &json!("http://site.test/a2a")), "{}", card.text());
    assert!(card.headers.joined("cache-control").contains("private"), "{:?}", card.headers);
    let other = asked(
        Ask::get("/.well-known/agent-card.json").header("Host", "other.test:8443").header("X-Forwarded-Proto", "https"),
    )
    .await;
    assert_eq!(other.json()["supportedInterfaces"][0]["url"], "https://other.test:8443/a2a");
    let tag = card.headers.joined("etag");
    let again = asked(Ask::get("/.well-known/agent-card.json").header("If-None-Match", &tag)).await;
    assert_eq!((again.status, asked(Ask::head("/.well-known/agent-card.json")).await.status), (304, 200));
}

#[tokio::test]
async fn a2a_card_can_be_switched_off_and_the_endpoint_stays() {
    let origin = rpc::origin().await;
    let desk =
        rpc::before(&origin).set("discovery", "agent_card = false").set("paths", "a2a = \"/agents/a2a\"").start().await;
    assert_eq!(desk.get("/.well-known/agent-card.json").await.status, 404, "the site's");
    let body = rpc::message("GetTask", json!({ "id": "0" })).to_string();
    let asked = Ask::post("/agents/a2a", body).header("Content-Type", "application/json");
    assert_eq!(desk.ask(Via::H1, asked).await.json()["error"]["code"], -32001);
    assert_eq!(desk.ask(Via::H1, V1.ask("get", json!({ "id": "0" }))).await.status, 404, "not at the default");
}

#[tokio::test]
async fn a2a_card_of_the_site_wins() {
    let own = "{\"name\":\"Its own\"}";
    let origin = Origin::start(move |r: &Request| match r.target.as_str() {
        "/.well-known/agent-card.json" => Reply::json(own),
        _ => Reply::new(404).body("none"),
    })
    .await
    .owns_well_known();
    let desk = site(&origin, &rpc::capabilities()).start().await;
    eventually("the site's own card", SOON, async || desk.get("/.well-known/agent-card.json").await.text() == own)
        .await;
    assert!(!desk.get("/.well-known/api-catalog").await.text().contains("agent-card"), "not announced as ours");
    error(&desk, V1.ask("get", json!({ "id": "0" })), -32001).await;
}

// ── questions ───────────────────────────────────────────────────────────────────────────────────────────────────────

#[tokio::test]
async fn a2a_words_are_a_question_and_the_context_goes_on() {
    let origin = Origin::start(|r: &Request| match r.target.split('?').next() {
        Some("/api/advice") => {
            Reply::json(r#"{"response":{"answer":"Go in May.","sources":[{"url":"/may","title":"May"}]}}"#)
        }
        _ => Reply::new(404).body("none"),
    })
    .await;
    let concierge = query(
        "content_search",
        "\nupstream = { method = \"POST\", path = \"/api/advice\" }\n[capabilities.ahp]\nmode = \"MODE2\"\nresponse_types = [\"text/answer\"]",
    );
    let desk = site(&origin, &concierge).start().await;
    for version in [V1, V03] {
        let first = message(&desk, version, version.words("When should I go?", json!({}))).await;
        assert_eq!(first["parts"][0]["text"], "Go in May.", "{first}");
        assert_eq!(first["parts"][1]["data"]["sources"][0]["url"], "/may", "{first}");
        assert!(String::from_utf8_lossy(&last_upstream(&origin).body).contains("When should I go?"));
        let on = json!({ "contextId": first["contextId"] });
        let second = message(&desk, version, version.words("And where?", on)).await;
        assert_eq!(second["contextId"], first["contextId"], "the same conversation");
        let own = json!({ "contextId": format!("client-made-{version:?}") });
        let third = message(&desk, version, version.words("And how?", own.clone())).await;
        assert_eq!(third["contextId"], own["contextId"], "a client may name its contexts");
        let sessions: Vec<Value> = [third, message(&desk, version, version.words("Why?", own)).await].into();
        assert_eq!(sessions[0]["contextId"], sessions[1]["contextId"]);
        let told =
            |request: &Request| serde_json::from_slice::<Value>(&request.body).expect("JSON")["session_id"].clone();
        let asked = upstream_calls(&origin);
        let last: Vec<_> = asked[asked.len() - 2..].iter().map(told).collect();
        assert!(last[0].is_string() && last[0] == last[1], "one session: {last:?}");
    }
}

#[tokio::test]
async fn a2a_asks_back_in_a_task_and_takes_the_answer() {
    let (origin, desk) = agency::open().await;
    for version in [V1, V03] {
        let call = json!({ "capability": "flights_search" });
        let parts = json!([version.part("text", "I want to fly to NRT".into()), version.part("data", call)]);
        let asked = version.message("m-1", parts, json!({}));
        let asked = task(&desk, version, asked).await;
        assert_eq!(state(&asked), version.state("input-required"), "{asked}");
        assert!(
            asked["status"]["message"]["parts"][0]["text"].as_str().is_some_and(|t| t.contains("origin")),
            "{asked}"
        );
        let done = task(&desk, version, version.words("MAD", of(&asked))).await;
        assert_eq!((state(&done), &done["id"]), (version.state("completed").as_str(), &asked["id"]), "{done}");
        assert!(done["artifacts"][0]["parts"][0]["text"].as_str().is_some_and(|t| t.contains("MAD")), "{done}");
        assert!(last_upstream(&origin).target.contains("origin=MAD"));
    }
}

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

// ── errors and limits ───────────────────────────────────────────────────────────────────────────────────────────────

#[tokio::test]
async fn a2a_errors_have_the_codes_of_the_protocol() {
    let (_origin, desk) = rpc::travel().await;
    for version in [V1, V03] {
        error(&desk, version.ask("get", json!({ "id": "0".repeat(32) })), -32001).await;
        error(&desk, version.ask("get", json!({})), -32602).await;
        let call = |data: Value| version.data("m", data, json!({})).bearer(FULL);
        let unknown = error(&desk, call(json!({ "capability": "nothing" })), -32602).await;
        assert!(unknown["data"].to_string().contains("flights_search"), "it says what there is: {unknown}");
        let wrong =
            error(&desk, call(json!({ "capability": "flights_search", "input": { "origin": "M" } })), -32602).await;
        assert!(wrong["data"].to_string().contains("/origin"), "{wrong}");
        error(&desk, call(json!({ "confirmed": true })), -32602).await;
        error(&desk, call(json!({ "capability": "broken" })), -32603).await;
        error(&desk, version.message("m", json!([{ "url": "https://a/" }]), json!({})), -32005).await;
        let missing = V03.data("m", json!({ "capability": "holds.now", "input": { "fare_id": "f" } }), json!({}));
        let refused = desk.ask(Via::H1, missing).await;
        assert_eq!((refused.status, &refused.json()["error"]["code"]), (401, &json!(-32600)), "{}", refused.text());
        assert!(refused.headers.joined("www-authenticate").starts_with("Bearer"), "{:?}", refused.headers);
    }
    let raw = |body: &str| Ask::post("/a2a", body).header("Content-Type", "application/json");
    for (body, code) in [("{", -32700), ("[]", -32600), ("{\"jsonrpc\":\"2.0\",\"id\":7}", -32600)] {
        assert_eq!(desk.ask(Via::H1, raw(body)).await.json()["error"]["code"], code, "{body}");
    }
    for (method, code) in [
        ("Nothing", -32601),
        ("SendStreamingMessage", -32004),
        ("message/stream", -32004),
        ("ListTasks", -32004),
        ("CreateTaskPushNotificationConfig", -32003),
        ("GetExtendedAgentCard", -32007),
    ] {
        let body = rpc::message(method, json!({})).to_string();
        rpc::error(&desk.ask(Via::H1, raw(&body)).await, 200, code);
    }
    let newer = V03.ask("get", json!({ "id": "x" })).header("A2A-Version", "2.0");
    error(&desk, newer, -32009).await;
}

#[tokio::test]
async fn a2a_messages_count_as_calls_and_other_requests_as_reading() {
    let origin = rpc::origin().await;
    let desk = rpc::before(&origin).limits(&[("anonymous", "2/minute"), ("content", "1000/minute")]).start().await;
    let search = || V1.data("m", json!({ "capability": "flights.search", "input": { "origin": "MAD" } }), json!({}));
    for _ in 0..2 {
        assert_eq!(desk.ask(Via::H1, search()).await.status, 200);
    }
    let over = desk.ask(Via::H1, search()).await;
    assert_eq!((over.status, &over.json()["id"]), (429, &json!(7)), "{}", over.text());
    assert!(over.headers.joined("retry-after").parse::<u64>().is_ok(), "{:?}", over.headers);
    error(&desk, V1.ask("get", json!({ "id": "x" })), -32001).await;
}

#[tokio::test]
async fn a2a_calls_are_recorded_in_its_name() {
    let origin = rpc::origin().await;
    let setup = rpc::before(&origin).set("audit", "enabled = true\npath = \"audit.jsonl\"");
    let desk = setup.start().await;
    let asked = task(&desk, V1, hold(V1, "m-1", "fare_1")).await;
    task(&desk, V1, V1.words("yes", of(&asked)).bearer(FULL)).await;
    eventually("two lines", SOON, async || {
        let text = std::fs::read_to_string(desk.dir.path().join("audit.jsonl")).unwrap_or_default();
        text.lines().filter(|line| line.contains("holds.asked") && line.contains("\"a2a\"")).count() >= 2
    })
    .await;
}
