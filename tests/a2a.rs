//! Promise: an A2A client of 1.0 or 0.3 finds the card, asks in words and goes on, under the same rules as every other
//! client.

use crate::support::a2a::{V1, V03, error, hold, message, of, state, task};
use crate::support::calls::{FULL, last_upstream, query, site, upstream_calls};
use crate::support::rpc;
use crate::support::{Ask, Desk, Origin, Reply, Request, SOON, Via, agency, eventually};
use serde_json::{Value, json};

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
