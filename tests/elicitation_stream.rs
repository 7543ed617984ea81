//! Promise: a client of 2025-06-18 or 2025-11-25 that can ask its person is asked on the stream of the call, and its
//! model never holds anything that confirms.

mod attacked;
mod waiting;

use crate::support::calls::{BARE, FULL, action, site, upstream_calls};
use crate::support::events::Events;
use crate::support::rpc::{self, post};
use crate::support::{Ask, Desk, Origin, Reply, Request, Response, Via};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

async fn shop() -> Origin {
    Origin::start(|r: &Request| match r.target.split('?').next().unwrap_or_default() {
        "/api/orders" => Reply::new(201).header("Content-Type", "application/json").body(r#"{"order":"o-1"}"#),
        _ => Reply::new(404).body("none"),
    })
    .await
}

fn buy(more: &str) -> String {
    let lines = format!(
        "\ninput_schema = {{ type = \"object\", required = [\"book\"], properties = {{ book = {{ type = \"string\" }} }} }}\n\
         upstream = {{ method = \"POST\", path = \"/api/orders\" }}\n\
         [capabilities.confirmation]\nsummary = \"Buy {{{{ input.book }}}}.\"\nconsequence = \"Your card is charged.\"\n{more}"
    );
    action("buy", &lines).replace("requires_user_confirmation = false", "requires_user_confirmation = true")
}

/// A client in a session.
struct Client {
    version: &'static str,
    session: String,
    key: String,
}

impl Client {
    async fn begin(desk: &Desk, version: &'static str, elicitation: Value) -> Client {
        let capabilities = json!({ "elicitation": elicitation });
        let params = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": { "name": "t", "version": "1" } });
        let response = desk.rpc(post(rpc::message("initialize", params).to_string())).await;
        assert_eq!(response.json()["result"]["protocolVersion"], version, "{}", response.text());
        let session = response.header("mcp-session-id").expect("a session").to_owned();
        Client { version, session, key: FULL.to_owned() }
    }

    fn post(&self, body: &Value) -> Ask {
        post(body.to_string())
            .header("MCP-Protocol-Version", self.version)
            .header("Mcp-Session-Id", &self.session)
            .accept("application/json, text/event-stream")
            .bearer(&self.key)
    }

    fn call(&self) -> Ask {
        self.post(&rpc::call("buy", json!({ "book": "Emma" })))
    }

    /// Calls, and gives what the person is asked.
    async fn asked(&self, desk: &Desk) -> (Events, Value) {
        let mut events = Events::of(desk, &self.call()).await;
        let request = events.next().await;
        assert_eq!(
            (&request["method"], &request["jsonrpc"]),
            (&json!("elicitation/create"), &json!("2.0")),
            "{request}"
        );
        (events, request)
    }

    async fn answers(&self, desk: &Desk, id: &Value, result: Value) -> Response {
        desk.ask(Via::H1, self.post(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))).await
    }
}

fn yes() -> Value {
    json!({ "action": "accept", "content": { "ok": true } })
}

/// The call's result, which is the last event.
async fn result(mut events: Events) -> Value {
    let last = events.next().await;
    assert_eq!((&last["id"], &last["jsonrpc"]), (&json!(7), &json!("2.0")), "{last}");
    events.end().await;
    last["result"].clone()
}

fn orders(origin: &Origin) -> usize {
    upstream_calls(origin).len()
}

/// Nothing in it confirms anything, over another dialect either.
async fn confirms_nothing(desk: &Desk, said: &Value) {
    for text in said.to_string().split(['"', ' ', '\\']).filter(|text| text.len() > 20) {
        let tried = Ask::post("/agent/buy", json!({ "book": "Emma" }).to_string())
            .header("Content-Type", "application/json")
            .header("AICP-Confirmation", text)
            .bearer(FULL);
        assert_eq!(desk.call(tried).await.status, 428, "{text}");
    }
}

async fn is_carried_out_once(fast_path: bool) {
    let origin = shop().await;
    let desk = site(&origin, &buy("")).set("runtime", &format!("fast_path = {fast_path}")).start().await;
    for (n, version) in [(1, "2025-06-18"), (2, "2025-11-25")] {
        let client = Client::begin(&desk, version, json!({})).await;
        let (events, request) = client.asked(&desk).await;
        let message = request["params"]["message"].as_str().expect("a message");
        assert!(message.contains("Emma") && message.contains("Your card is charged."), "{message}");
        assert_eq!(request["params"]["requestedSchema"]["properties"]["ok"]["type"], "boolean", "{request}");
        assert!(request["params"].get("mode").is_none(), "2025-06-18 has no word for it: {request}");
        confirms_nothing(&desk, &request).await;
        assert_eq!(orders(&origin), n - 1);
        let accepted = client.answers(&desk, &request["id"], yes()).await;
        assert_eq!((accepted.status, accepted.body.len()), (202, 0), "{}", accepted.text());
        let done = result(events).await;
        assert!(done.to_string().contains("o-1"), "{done}");
        assert_eq!(done["isError"], false, "{done}");
        let replayed = client.answers(&desk, &request["id"], yes()).await;
        assert_eq!(replayed.status, 400, "{}", replayed.text());
        assert!(replayed.text().contains("Nothing was done"), "{}", replayed.text());
        assert_eq!(orders(&origin), n);
    }
}

#[tokio::test]
async fn elicitation_stream_a_yes_is_carried_out_once() {
    is_carried_out_once(true).await;
}

#[tokio::test]
async fn elicitation_stream_over_the_library_too() {
    is_carried_out_once(false).await;
}

#[tokio::test]
async fn elicitation_stream_a_connection_serves_the_next_request() {
    let origin = shop().await;
    let desk = site(&origin, &buy("")).start().await;
    let client = Client::begin(&desk, "2025-06-18", json!({})).await;
    let (mut events, request) = client.asked(&desk).await;
    client.answers(&desk, &request["id"], yes()).await;
    events.next().await;
    let mut conn = events.end().await;
    let next = conn.ask(&client.post(&rpc::message("ping", json!({})))).await;
    assert_eq!(next.json()["result"], json!({}), "{}", next.text());
}

#[tokio::test]
async fn elicitation_stream_a_no_does_nothing() {
    let origin = shop().await;
    let desk = site(&origin, &buy("")).start().await;
    let client = Client::begin(&desk, "2025-06-18", json!({})).await;
    for no in [
        json!({ "action": "decline" }),
        json!({ "action": "cancel" }),
        json!({ "action": "accept", "content": { "ok": false } }),
        json!({ "action": "accept", "content": { "ok": "yes" } }),
        json!({ "action": "accept" }),
        json!({ "action": "agree", "content": { "ok": true } }),
        json!("accept"),
        json!(null),
    ] {
        let (events, request) = client.asked(&desk).await;
        assert_eq!(client.answers(&desk, &request["id"], no.clone()).await.status, 202);
        let done = result(events).await;
        let text = done["content"][0]["text"].as_str().expect("words").to_lowercase();
        assert!(text.contains("nothing is done") || text.contains("nothing was done"), "{no}: {done}");
        confirms_nothing(&desk, &done).await;
    }
    // The client could not ask.
    let (events, request) = client.asked(&desk).await;
    let error = json!({ "jsonrpc": "2.0", "id": request["id"], "error": { "code": -1, "message": "no" } });
    assert_eq!(desk.ask(Via::H1, client.post(&error)).await.status, 202);
    assert_eq!(result(events).await["isError"], true);
    assert_eq!(orders(&origin), 0);
}

#[tokio::test]
async fn elicitation_stream_takes_the_answer_of_its_own_session_only() {
    let origin = shop().await;
    let desk = site(&origin, &buy("")).start().await;
    let client = Client::begin(&desk, "2025-06-18", json!({})).await;
    let (events, request) = client.asked(&desk).await;
    let id = &request["id"];
    // Another session, the same one of another caller, one that was made up, and none.
    let other = Client::begin(&desk, "2025-06-18", json!({})).await;
    assert_eq!(other.answers(&desk, id, yes()).await.status, 400);
    let bare = Client { session: client.session.clone(), key: BARE.to_owned(), ..other };
    assert_eq!(bare.answers(&desk, id, yes()).await.status, 400);
    let mut changed = client.session.clone().into_bytes();
    changed[3] = if changed[3] == b'A' { b'B' } else { b'A' };
    let changed =
        Client { session: String::from_utf8(changed).expect("text"), version: "2025-06-18", key: FULL.to_owned() };
    assert_eq!(changed.answers(&desk, id, yes()).await.status, 404);
    let refused = desk.ask(Via::H1, changed.call()).await;
    assert_eq!((refused.status, &refused.json()["id"]), (404, &json!(7)), "{}", refused.text());
    let without = json!({ "jsonrpc": "2.0", "id": id, "result": yes() });
    assert_eq!(desk.ask(Via::H1, post(without.to_string()).bearer(FULL)).await.status, 202, "as any reply to nothing");
    for wrong in [json!("a".repeat(32)), json!(7), json!(null)] {
        assert_eq!(client.answers(&desk, &wrong, yes()).await.status, 400, "{wrong}");
    }
    let long = json!({ "action": "accept", "content": { "ok": true }, "more": "x".repeat(20_000) });
    assert_eq!(client.answers(&desk, id, long).await.status, 400);
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(orders(&origin), 0);
    // The right one still counts.
    assert_eq!(client.answers(&desk, id, yes()).await.status, 202);
    assert!(result(events).await.to_string().contains("o-1"));
    assert_eq!(orders(&origin), 1);
}

#[tokio::test]
async fn elicitation_stream_wants_a_client_that_reads_it() {
    let origin = shop().await;
    let desk = site(&origin, &buy("")).start().await;
    let client = Client::begin(&desk, "2025-06-18", json!({})).await;
    let call = client.call();
    let headers = call.headers.iter().filter(|(name, _)| name != "Accept").cloned().collect();
    let response = desk.ask(Via::H1, Ask { headers, ..call }).await;
    let done = response.json()["result"].clone();
    assert!(done["content"][0]["text"].as_str().is_some_and(|text| text.contains("Nothing was done")), "{done}");
    confirms_nothing(&desk, &done).await;
    assert_eq!(orders(&origin), 0);
}

#[tokio::test]
async fn elicitation_stream_is_for_sessions_that_declare_it() {
    let origin = shop().await;
    let desk = site(&origin, &buy("")).start().await;
    for (version, capabilities) in [
        ("2025-06-18", json!({})),
        ("2025-03-26", json!({ "elicitation": {} })),
        ("2025-11-25", json!({ "roots": {} })),
    ] {
        let params = json!({ "protocolVersion": version, "capabilities": capabilities });
        let response = desk.rpc(post(rpc::message("initialize", params).to_string())).await;
        assert_eq!(response.header("mcp-session-id"), None, "{version}");
    }
    let call = post(rpc::call("buy", json!({ "book": "Emma" })).to_string()).bearer(FULL);
    let response = desk.rpc(call.accept("application/json, text/event-stream")).await;
    assert!(rpc::result(&response)["_meta"]["confirmation"].is_string(), "{}", response.text());
}

#[tokio::test]
async fn elicitation_stream_sends_the_person_to_the_page() {
    let origin = shop().await;
    let desk = site(&origin, &buy("by = \"page\"")).start().await;
    let client = Client::begin(&desk, "2025-11-25", json!({ "form": {}, "url": {} })).await;
    // A call that comes again within the same second does not wait for the person yet.
    let past = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_millis();
    tokio::time::sleep(Duration::from_millis(u64::from(1000 - past))).await;
    let sent = desk.ask(Via::H1, client.call()).await;
    assert_eq!((sent.status, &sent.json()["error"]["code"]), (200, &json!(-32042)), "{}", sent.text());
    let elicitation = sent.json()["error"]["data"]["elicitations"][0].clone();
    assert_eq!(elicitation["mode"], "url", "{elicitation}");
    assert!(elicitation["elicitationId"].is_string(), "{elicitation}");
    confirms_nothing(&desk, &elicitation).await;
    let again = desk.ask(Via::H1, client.call()).await;
    assert_eq!(
        again.json()["error"]["data"]["elicitations"][0]["url"],
        elicitation["url"],
        "one question: {}",
        again.text()
    );
    let url = elicitation["url"].as_str().expect("an address");
    let path = url.strip_prefix("https://site.test").expect("of this site").to_owned();
    assert_eq!(orders(&origin), 0);
    let press = Ask::post(&path, "decision=confirm")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("Sec-Fetch-Site", "same-origin");
    assert_eq!(desk.call(press).await.status, 303);
    let done = desk.ask(Via::H1, client.call()).await;
    assert!(done.text().contains("o-1"), "{}", done.text());
    assert_eq!(orders(&origin), 1);
    let next = desk.ask(Via::H1, client.call()).await;
    assert_eq!(next.json()["error"]["code"], -32042, "a second act is confirmed by itself: {}", next.text());
    assert_eq!(orders(&origin), 1);
    // In 2025-06-18 nobody can be sent anywhere.
    let older = Client::begin(&desk, "2025-06-18", json!({ "form": {}, "url": {} })).await;
    let told = desk.ask(Via::H1, older.call()).await;
    assert_eq!(told.json()["result"]["isError"], true, "{}", told.text());
}

#[tokio::test]
async fn elicitation_stream_asks_what_the_capability_needs_to_know() {
    let origin = shop().await;
    let lines = "\nrisk_level = \"low\"\nauth = \"optional\"\n\
        input_schema = { type = \"object\", required = [\"city\"], properties = { city = { type = \"string\" } } }\n\
        upstream = { method = \"GET\", path = \"/api/orders\" }\n[capabilities.ahp]\nextract = { city = \"in ([A-Z][a-z]+)\" }";
    let desk = site(&origin, &crate::support::calls::declare("weather", "query", lines)).start().await;
    let client = Client::begin(&desk, "2025-06-18", json!({})).await;
    let call = client.post(&rpc::call("weather", json!({ "query": "How is it?" })));
    let mut events = Events::of(&desk, &call).await;
    let request = events.next().await;
    assert_eq!(request["params"]["requestedSchema"]["properties"]["answer"]["type"], "string", "{request}");
    let said = json!({ "action": "accept", "content": { "answer": "in Madrid" } });
    client.answers(&desk, &request["id"], said).await;
    assert!(result(events).await.to_string().contains("o-1"));
}

#[tokio::test]
async fn elicitation_stream_asks_a_few_times_in_a_call_and_few_calls_at_a_time() {
    let origin = shop().await;
    let lines = "\nrisk_level = \"low\"\nauth = \"optional\"\n\
        input_schema = { type = \"object\", required = [\"city\"], properties = { city = { type = \"string\", maxLength = 3 } } }\n\
        upstream = { method = \"GET\", path = \"/api/orders\" }\n[capabilities.ahp]\nextract = { city = \"in ([A-Z][a-z]+)\" }";
    let desk = site(&origin, &(buy("") + &crate::support::calls::declare("weather", "query", lines))).start().await;
    let client = Client::begin(&desk, "2025-06-18", json!({})).await;
    let call = client.post(&rpc::call("weather", json!({ "query": "How is it?" })));
    let mut events = Events::of(&desk, &call).await;
    let mut asked = 0;
    let last = loop {
        let event = events.next().await;
        if event["method"] != "elicitation/create" {
            break event;
        }
        asked += 1;
        let said = json!({ "action": "accept", "content": { "answer": "nowhere" } });
        client.answers(&desk, &event["id"], said).await;
    };
    assert!((1..=4).contains(&asked), "asked {asked} times: {last}");
    assert_eq!(last["id"], 7, "{last}");
    // Eight calls wait, and the ninth does not.
    let mut waiting = Vec::new();
    for _ in 0..8 {
        waiting.push(client.asked(&desk).await);
    }
    let ninth = desk.ask(Via::H1, client.call()).await.json()["result"].clone();
    let told = ninth["content"][0]["text"].as_str().expect("words");
    assert!(told.contains("Nothing was done; try again later"), "{ninth}");
    confirms_nothing(&desk, &ninth).await;
    // A place is given back.
    let (events, request) = waiting.pop().expect("one of them");
    client.answers(&desk, &request["id"], yes()).await;
    assert!(result(events).await.to_string().contains("o-1"));
    client.asked(&desk).await;
    assert_eq!(orders(&origin), 1);
}
