//! Tests that recipes and several harnesses offer no way around a decision.

use super::*;
use crate::support::calls::{FULL, call, query};
use crate::support::handshake::{OPERATOR, operators_token};

/// A recipe of these steps, with lines of its own.
fn recipe(id: &str, lines: &str, steps: &[&str]) -> String {
    format!(
        "\n[[capabilities]]\nid = \"{id}\"\ntype = \"commit_action\"\ndescription = \"Several at once.\"\n\
         method = \"POST\"\nendpoint = \"/agent/{id}\"\nauth = \"required\"\nidempotency_required = false\n\
         upstream = {{ recipe = \"{id}\" }}\n{lines}\n[[agtp.recipes]]\nname = \"{id}\"\nsteps = [{}]\n",
        steps.join(", ")
    )
}

fn step(item: &str) -> String {
    format!("{{ capability = \"orders.place\", input = {{ item = \"{item}\" }} }}")
}

fn ask(id: &str) -> Ask {
    call(&format!("/agent/{id}"), &json!({})).bearer(FULL)
}

/// Answers to the questions about actions; plans are allowed.
fn about_actions(harness: &Harness, decide: impl Fn(&Value) -> Value + Send + Sync + 'static) {
    harness.decides(move |message| {
        let decision = match message["params"]["event_type"] == "planning" {
            true => json!({ "decision": "allow", "selected_strategy": "none" }),
            false => decide(&message["params"]["payload"]["arguments"]),
        };
        answer(message, &decision)
    });
}

#[tokio::test]
async fn supervision_of_a_risky_whole_is_of_its_harmless_parts_too() {
    let harness = Harness::open().await;
    let origin = shop().await;
    let note = query("notes.add", "\nupstream = { method = \"POST\", path = \"/api/orders\" }");
    let whole = recipe(
        "audit",
        "risk_level = \"critical\"\nrequires_user_confirmation = false",
        &["{ capability = \"notes.add\", input = {} }"],
    );
    let desk = before(&origin, &[harness.url()], "").tail(&(note + &whole)).start().await;
    reachable(&desk).await;
    harness.says(json!({ "decision": "block", "reason": "no" }));
    let blocked = desk.ask(Via::H1, ask("audit")).await;
    assert!(blocked.status >= 400 && orders(&origin).is_empty(), "{}", blocked.text());
    let question = harness.events("pre_action").pop().expect("a question about the part");
    assert_eq!(
        (&question["payload"]["tool_name"], &question["payload"]["risk_level"]),
        (&json!("notes.add"), &json!("critical"))
    );
    let alone = desk.ask(Via::H1, call("/agent/notes/add", &json!({}))).await;
    assert_eq!(alone.status, 200, "by itself it is harmless: {}", alone.text());
}

#[tokio::test]
async fn supervision_of_a_confirmed_whole_changes_none_of_its_parts() {
    let harness = Harness::open().await;
    let origin = shop().await;
    let whole = recipe("pair", "risk_level = \"high\"\nrequires_user_confirmation = true", &[&step("one")]);
    let desk = before(&origin, &[harness.url()], "").tail(&whole).start().await;
    reachable(&desk).await;
    let asked = desk.ask(Via::H1, ask("pair")).await;
    assert_eq!(asked.status, 428, "{}", asked.text());
    let token = asked.json()["confirmation"]["token"].as_str().expect("a token").to_owned();
    about_actions(
        &harness,
        |_| json!({ "decision": "modify", "modified_payload": { "arguments": { "item": "another" } } }),
    );
    let refused = desk.ask(Via::H1, ask("pair").header("AICP-Confirmation", &token)).await;
    assert!(refused.status >= 400 && orders(&origin).is_empty(), "{} {}", refused.status, refused.text());
}

async fn allow_all(desk: &Desk) -> Vec<Value> {
    let waiting = desk.admin(Ask::get("/desk").bearer(OPERATOR)).await.json();
    let waiting: Vec<Value> =
        waiting.as_array().expect("a list").iter().filter(|w| w["status"] == "waiting").cloned().collect();
    for waits in &waiting {
        let path = format!("/desk/{}", waits["id"].as_str().expect("an id"));
        let word = Ask::post(&path, r#"{"decision":"approve"}"#).header("Content-Type", "application/json");
        assert_eq!(desk.admin(word.bearer(OPERATOR)).await.status, 200);
    }
    waiting
}

#[tokio::test]
async fn supervision_of_several_keeps_what_one_changed_when_another_escalates() {
    let (first, second) = (Harness::open().await, Harness::open().await);
    let origin = shop().await;
    let setup = before(&origin, &[first.url(), second.url()], "").set("admin", &operators_token());
    let desk = setup.start().await;
    reachable(&desk).await;
    let one = json!({ "item": "tea", "qty": 1 });
    first.says(json!({ "decision": "modify", "modified_payload": { "arguments": one } }));
    second.says(json!({ "decision": "escalate", "reason": "look at it", "escalation_target": "ops" }));
    let nine = json!({ "item": "tea", "qty": 9 });
    assert_eq!(place(&desk, "aicp", &nine).await.status, 403);
    let waiting = allow_all(&desk).await;
    assert_eq!(waiting[0]["input"], one, "a person sees what would be done");
    assert!(waiting[0]["query"].as_str().expect("words").contains("look at it (for ops)"), "{waiting:?}");
    let done = place(&desk, "aicp", &nine).await;
    assert_eq!((done.status, sent(&origin)), (201, vec![one]), "{}", done.text());
}

/// `on_error = "allow"` is about those who say nothing, and not about what the others say.
#[tokio::test]
async fn supervision_of_several_holds_a_no_beside_somebody_who_says_nothing() {
    let kinds = ["pre_action", "confirmation", "planning"];
    let (first, second) = (Harness::offering(&kinds).await, Harness::offering(&kinds).await);
    let origin = shop().await;
    let of = |id: &str, confirmed: bool| {
        recipe(id, &format!("risk_level = \"high\"\nrequires_user_confirmation = {confirmed}"), &[&step("one")])
    };
    let setup = before(&origin, &[first.url(), second.url()], "on_error = \"allow\"").set("admin", &operators_token());
    let desk = setup.tail(&(of("pair", false) + &of("sure", true))).start().await;
    reachable(&desk).await;
    let says = |harness: &Harness, confirmation: Value, planning: Value| {
        harness.decides(move |message| match message["params"]["event_type"].as_str() {
            Some("confirmation") => answer(message, &confirmation),
            Some("planning") => answer(message, &planning),
            _ => answer(message, &json!({ "decision": "allow" })),
        });
    };
    let block = json!({ "decision": "block", "reason": "no" });
    for (no, silent) in [(&first, &second), (&second, &first)] {
        says(no, json!({ "decision": "reject", "reason": "no" }), block.clone());
        says(silent, json!({}), json!({}));
        for id in ["sure", "pair"] {
            let refused = desk.ask(Via::H1, ask(id)).await;
            assert_eq!(refused.status, 403, "{id}: {}", refused.text());
        }
    }
    // Every harness in charge is asked, and a missing answer is in the audit log too.
    says(&first, json!({}), block.clone());
    says(&second, json!({ "decision": "escalate" }), block);
    let waits = desk.ask(Via::H1, ask("sure")).await;
    assert_eq!((waits.status, allow_all(&desk).await.len()), (403, 1), "{}", waits.text());
    assert_eq!(desk.ask(Via::H1, ask("sure")).await.status, 428);
    desk.metric_reaches("frontdesk_supervised_total{decision=\"open_on_error\"}", 1.0).await;
    assert_eq!(orders(&origin).len(), 0);
}

#[tokio::test]
async fn supervision_that_holds_a_later_step_lets_the_whole_go_on_from_there() {
    let harness = Harness::open().await;
    let origin = shop().await;
    let whole =
        recipe("two", "risk_level = \"high\"\nrequires_user_confirmation = false", &[&step("one"), &step("two")]);
    let setup = before(&origin, &[harness.url()], "").set("admin", &operators_token()).tail(&whole);
    let desk = setup.start().await;
    reachable(&desk).await;
    about_actions(&harness, |arguments| match arguments["item"] == "two" {
        true => json!({ "decision": "escalate", "reason": "look" }),
        false => json!({ "decision": "allow" }),
    });
    let keyed = || ask("two").header("Idempotency-Key", "k-1");
    let held = desk.ask(Via::H1, keyed()).await;
    assert!(held.status >= 400 && held.text().contains("same idempotency key"), "{}", held.text());
    assert_eq!(orders(&origin).len(), 1);
    assert_eq!(allow_all(&desk).await.len(), 1);
    let done = desk.ask(Via::H1, keyed()).await;
    assert!(done.status < 300, "{} {}", done.status, done.text());
    let items: Vec<Value> = sent(&origin).iter().map(|order| order["item"].clone()).collect();
    assert_eq!(items, ["one", "two"], "the first is not done again");
}

#[tokio::test]
async fn supervision_of_prompts_that_goes_away_closes_them() {
    let harness = Harness::offering(&["pre_action", "pre_prompt"]).await;
    let origin = shop().await;
    let own = query("content_search", "\nupstream = { method = \"POST\", path = \"/api/items\" }");
    let desk = before(&origin, &[harness.url()], "").tail(&own).start().await;
    reachable(&desk).await;
    let ask = || call("/agent/content_search", &json!({ "query": "Is there tea?" }));
    assert_eq!(desk.ask(Via::H1, ask()).await.status, 200);
    harness.decides(|_| Reply::new(500).body("down").into());
    for n in 0..6 {
        assert_eq!(desk.ask(Via::H1, ask()).await.status, 503, "{n}");
    }
    let told = async || desk.admin_get("/readyz?verbose").await.text().contains("decides");
    eventually("it is greeted again", SOON, told).await;
}

#[tokio::test]
async fn supervision_does_not_use_up_a_permission_for_a_site_that_is_away() {
    let harness = Harness::open().await;
    let dead = crate::support::setup::dead_address();
    let away = "\n[[capabilities]]\nid = \"orders.far\"\ntype = \"commit_action\"\ndescription = \"Far.\"\n\
        method = \"POST\"\nendpoint = \"/agent/far\"\nrisk_level = \"high\"\nauth = \"required\"\n\
        requires_user_confirmation = false\nidempotency_required = false\nupstream = { method = \"POST\", path = \"/api/orders\" }\n";
    let setup = Setup::before_urls(&[format!("http://{dead}")])
        .set("site", "name = \"Far\"\norigin = \"https://site.test\"")
        .set("harness", &format!("url = \"{}\"\ntimeout = \"1s\"", harness.url()))
        .set("admin", &operators_token())
        .tail(&(crate::support::rates::api_key("full", FULL, "scopes = []") + away));
    let desk = setup.start().await;
    reachable(&desk).await;
    harness.says(json!({ "decision": "escalate", "reason": "look" }));
    let ask = || call("/agent/far", &tea()).bearer(FULL);
    assert_eq!(desk.ask(Via::H1, ask()).await.status, 403);
    assert_eq!(allow_all(&desk).await.len(), 1);
    for n in 0..3 {
        assert_eq!(desk.ask(Via::H1, ask()).await.status, 502, "{n}: it is allowed, and still is");
    }
}

#[tokio::test]
async fn supervision_lets_a_whole_go_on_of_which_something_must_not_leave() {
    let harness = Harness::open().await;
    let origin = Origin::start(|request: &Request| {
        let secret = request.body.windows(3).any(|w| w == b"one");
        let order = if secret { "ghp_16C7e42F292c6912E7710c838347Ae178B4a" } else { "o-2" };
        Reply::new(201).header("Content-Type", "application/json").body(json!({ "order": order }).to_string())
    })
    .await;
    let whole =
        recipe("two", "risk_level = \"high\"\nrequires_user_confirmation = false", &[&step("one"), &step("two")]);
    let setup = before(&origin, &[harness.url()], "").set("admin", &operators_token()).tail(&whole);
    let desk = setup.set("firewall", "secrets = \"block\"").start().await;
    reachable(&desk).await;
    about_actions(&harness, |arguments| match arguments["item"] == "two" {
        true => json!({ "decision": "escalate", "reason": "look" }),
        false => json!({ "decision": "allow" }),
    });
    let keyed = || ask("two").header("Idempotency-Key", "k-1");
    let held = desk.ask(Via::H1, keyed()).await;
    assert!(held.text().contains("same idempotency key") && !held.text().contains("ghp_"), "{}", held.text());
    assert_eq!(allow_all(&desk).await.len(), 1);
    let done = desk.ask(Via::H1, keyed()).await;
    assert!(done.status < 300, "{} {}", done.status, done.text());
    assert_eq!(orders(&origin).len(), 2, "the first is not done again");
}

/// Values that must not be stored are gone before a person decides, so a recipe with such values never waits for one.
#[tokio::test]
async fn supervision_promises_no_going_on_with_what_is_not_kept() {
    let harness = Harness::open().await;
    let origin = Origin::start(|_: &Request| {
        let order = json!({ "order": "ghp_16C7e42F292c6912E7710c838347Ae178B4a" });
        Reply::new(201).header("Content-Type", "application/json").body(order.to_string())
    })
    .await;
    let second = "{ capability = \"orders.place\", input = { item = \"{steps.0.data.order}\" } }";
    let whole = recipe("two", "risk_level = \"high\"\nrequires_user_confirmation = false", &[&step("one"), second]);
    let setup = before(&origin, &[harness.url()], "").set("admin", &operators_token()).tail(&whole);
    let desk = setup.set("firewall", "secrets = \"redact\"").start().await;
    reachable(&desk).await;
    about_actions(&harness, |arguments| match arguments["item"] == "one" {
        true => json!({ "decision": "allow" }),
        false => json!({ "decision": "escalate", "reason": "look" }),
    });
    let keyed = || ask("two").header("Idempotency-Key", "k-1");
    let held = desk.ask(Via::H1, keyed()).await;
    assert!(held.text().contains("cannot go on from there") && !held.text().contains("ghp_"), "{}", held.text());
    assert_eq!(held.json()["error"]["details"].get("may_go_on"), None, "{}", held.text());
    let again = desk.ask(Via::H1, keyed()).await;
    assert_eq!((again.status, orders(&origin).len()), (held.status, 1), "it stays so: {}", again.text());
}
