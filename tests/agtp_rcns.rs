//! Promise: negotiation needs four permissions, and the agent sees the result before it runs, unless the operator
//! decided otherwise.

use crate::support::market::{
    BUYER, CALLER, OTHER, asked, bazaar, by, framed, http, id, origin, staff, stall, unheard, verb, with,
};
use crate::support::{Ask, Desk};
use serde_json::json;

const TARGET: &str = "/cheapest?category=desk";

async fn open(rcns: &str) -> (crate::support::Origin, Desk) {
    let origin = origin().await;
    let desk = bazaar(&origin, rcns).start().await;
    (origin, desk)
}

fn scoped() -> Ask {
    verb("FIND", TARGET).header("Authority-Scope", "rcns:negotiate")
}

#[tokio::test]
async fn rcns_is_off_unless_the_operator_wants_it() {
    let site = origin().await;
    let desk = stall(&site, "").start().await;
    framed(&desk, unheard(TARGET)).await.no_contract("rcns-disabled");
    // Neither is anything negotiated where nothing is put together.
    desk.swap(&bazaar(&site, "")).await;
    framed(&desk, unheard(TARGET)).await.is(461, "on");
    let text = bazaar(&site, "").text(&desk.ports).replace("synthesis_enabled = true", "synthesis_enabled = false");
    desk.replace_config(&text);
    assert_eq!(desk.reload().await.status, 200);
    framed(&desk, unheard(TARGET)).await.no_contract("rcns-disabled");
    framed(&desk, scoped()).await.is(404, "who does not ask hears nothing");
}

#[tokio::test]
async fn rcns_has_three_more_locks_and_each_says_what_it_may() {
    let (origin, desk) = open("").await;
    // The caller's.
    for value in ["false", "TRUE", "optimistic", "1"] {
        framed(&desk, scoped().header("Allow-RCNS", value)).await.is(404, value);
    }
    let known = verb("FIND", "/catalog").header("Authority-Scope", "rcns:negotiate");
    framed(&desk, known).await.is(405, "a path that is known under another verb");
    // A negotiation needs an identity and an explicit request.
    let mut nobody = unheard(TARGET);
    nobody.headers.retain(|(name, _)| name != "Agent-ID");
    framed(&desk, nobody).await.says(401, "reason", "agent-unauthenticated", "nobody");
    let unscoped = verb("FIND", TARGET).header("Allow-RCNS", "true");
    for ask in [unscoped.clone(), unscoped.header("Authority-Scope", "rcns:look, shop:buy")] {
        let told = framed(&desk, ask).await;
        assert!(!told.headers.has("rcns-attempt-id"), "{:?}", told.headers);
        let body = told.says(262, "type", "scope-required", "no scope");
        assert_eq!((&body["scope"], &body["error"]["scope"]), (&json!("rcns:negotiate"), &json!("rcns:negotiate")));
    }
    // How far the agent is trusted: who it says it is is worth 2.
    let (_origin, strict) = open("min_trust_tier = 1").await;
    framed(&strict, unheard(TARGET)).await.no_contract("trust-tier-insufficient");
    framed(&strict, unheard(TARGET).bearer(BUYER)).await.no_contract("trust-tier-insufficient");
    for ask in [unheard(TARGET), verb("FIND", TARGET).header("Authority-Scope", "rcns:*").header("Allow-RCNS", "true")]
    {
        framed(&desk, ask).await.is(461, "all open");
    }
    assert!(asked(&origin).is_empty(), "a preview does nothing");
}

#[tokio::test]
async fn rcns_shows_a_contract_before_it_is_done() {
    let (origin, desk) = open("").await;
    let body = framed(&desk, unheard(TARGET)).await.is(461, "a preview");
    assert_eq!((&body["method"], &body["path"]), (&json!("FIND"), &json!("/cheapest")), "{body}");
    assert_eq!(body["recipe_lineage"], json!({ "recipe_name": "first-of", "recipe_version": "1" }), "{body}");
    assert_eq!(body["endpoint"]["handler"], json!({ "type": "composition" }), "{body}");
    assert_eq!(body["endpoint"]["input_schema"]["properties"], json!({ "category": { "type": "string" } }), "{body}");
    assert!(body["contract_hash"].as_str().is_some_and(|hash| hash.len() == 64), "{body}");
    assert!(body["expires_at"].is_string(), "{body}");
    let again = framed(&desk, unheard(TARGET)).await.is(461, "asked again");
    assert_eq!(again["synthesis_id"], body["synthesis_id"], "it is there already");
    let others = framed(&desk, unheard(TARGET).bearer(BUYER)).await.is(461, "somebody else");
    assert_ne!(others["synthesis_id"], body["synthesis_id"]);
    framed(&desk, scoped()).await.is(404, "without its name it is not agreed to");
    assert!(asked(&origin).is_empty());
    let call = verb("FIND", TARGET).header("Contract-Synthesized", &id(&body));
    assert_eq!(framed(&desk, call).await.is(200, "agreed to"), json!({ "path": "/api/items/L1" }));
    assert_eq!(asked(&origin), ["GET /api/items?category=desk", "GET /api/items/L1"]);
    // A capability that is not exposed is material too, and what it needs is needed for it.
    let hidden = |method: &str, target: &str| {
        verb(method, target).header("Authority-Scope", "rcns:negotiate").header("Allow-RCNS", "true")
    };
    let stock = framed(&desk, hidden("QUERY", "/stock?lamp_id=1")).await.is(461, "a count");
    assert_eq!(stock["recipe_lineage"], json!(null), "{stock}");
    let shelf = framed(&desk, hidden("FETCH", "/shelves/7")).await.is(461, "a shelf");
    assert_eq!(shelf["path"], "/shelves/7");
    framed(&desk, hidden("PURCHASE", "/basket")).await.says(262, "type", "credentials-missing", "no credential");
    let unclaimed = framed(&desk, hidden("PURCHASE", "/basket").bearer(BUYER)).await;
    unclaimed.says(262, "type", "scope-required", "not claimed");
}

#[tokio::test]
async fn rcns_does_it_at_once_where_the_operator_is_an_optimist() {
    let (origin, desk) = open("mode = \"optimistic\"").await;
    let told = framed(&desk, unheard(TARGET)).await;
    let named = told.headers.get("contract-synthesized").expect("its name").to_owned();
    told.is(200, "done");
    assert_eq!(asked(&origin).len(), 2);
    let call = verb("FIND", TARGET).header("Contract-Synthesized", &named);
    let told = framed(&desk, call).await;
    assert!(!told.headers.has("contract-synthesized"), "{:?}", told.headers);
    told.is(200, "again, under it");
    // What has to be confirmed is.
    let order = with(verb("PURCHASE", "/basket").bearer(BUYER), &json!({ "lamp_id": "L1" }));
    let order = order.header("Authority-Scope", "rcns:negotiate, stall:buy").header("Allow-RCNS", "true");
    let told = framed(&desk, order).await;
    assert!(told.headers.has("contract-synthesized"), "{:?}", told.headers);
    told.says(262, "type", "confirmation-required", "a person has to");
    assert!(asked(&origin).iter().all(|call| call.starts_with("GET")));
    // The same key is the same call.
    let wish = || {
        let ask = verb("CREATE", "/wishes").header("Authority-Scope", "rcns:negotiate").header("Allow-RCNS", "true");
        with(ask.header("Idempotency-Key", "k-1"), &json!({ "lamp_id": "L1" }))
    };
    framed(&desk, wish()).await.is(200, "a wish");
    let told = framed(&desk, wish()).await;
    assert_eq!(told.headers.get("idempotency-replayed"), Some("true"));
    told.is(200, "the same");
    assert_eq!(asked(&origin).iter().filter(|call| call.starts_with("POST")).count(), 1);
    // However often the gate was tried.
    let (origin, desk) = open("mode = \"optimistic\"\nrate_limit_per_minute = 1").await;
    framed(&desk, wish()).await.is(200, "a wish");
    let told = framed(&desk, wish()).await;
    assert_eq!(told.headers.get("idempotency-replayed"), Some("true"));
    told.is(200, "the same");
    let mut keyless = wish();
    keyless.headers.retain(|(name, _)| name != "Idempotency-Key");
    framed(&desk, keyless).await.says(429, "scope", "rcns", "another");
    assert_eq!(asked(&origin).len(), 1);
}

#[tokio::test]
async fn rcns_is_tried_so_often_a_minute() {
    let (_origin, desk) = open("rate_limit_per_minute = 2").await;
    let first = framed(&desk, unheard(TARGET)).await.is(461, "one");
    framed(&desk, unheard("/nothing")).await.no_contract("composition-impossible");
    let told = framed(&desk, unheard(TARGET)).await;
    let wait: u64 = told.headers.get("retry-after").and_then(|wait| wait.parse().ok()).expect("Retry-After");
    assert!((1..=60).contains(&wait), "{wait}");
    let body = told.says(429, "scope", "rcns", "three");
    assert_eq!((&body["retry_after"], &body["error"]["retry_after"]), (&json!(wait), &json!(wait)), "{body}");
    let other = by(OTHER, "FIND", TARGET).header("Authority-Scope", "rcns:negotiate").header("Allow-RCNS", "true");
    framed(&desk, other).await.is(461, "each agent has its own");
    framed(&desk, unheard(TARGET).bearer(BUYER)).await.is(461, "nor does anybody use up another's");
    let call = verb("FIND", TARGET).header("Contract-Synthesized", &id(&first)).header("Allow-RCNS", "true");
    for _ in 0..3 {
        framed(&desk, call.clone()).await.is(200, "a contract in hand is no negotiation");
    }
}

#[tokio::test]
async fn rcns_remembers_what_came_to_nothing() {
    let (_origin, desk) = open("").await;
    let attempt = framed(&desk, unheard("/moons?colour=red")).await.no_contract("composition-impossible");
    let inspect =
        |agent: &str| with(by(agent, "INSPECT", "/"), &json!({ "target": "rcns-attempt", "attempt_id": attempt }));
    let told = http(&desk, inspect(CALLER)).await.is(200, "its own");
    assert_eq!((&told["method"], &told["path"]), (&json!("FIND"), &json!("/moons")), "{told}");
    assert_eq!((&told["reason"], &told["agent_id"]), (&json!("composition-impossible"), &json!(CALLER)), "{told}");
    http(&desk, inspect(OTHER)).await.is(404, "another's");
    let all = json!({ "target": "rcns-attempt", "attempt_id": attempt });
    http(&desk, staff("INSPECT", &all)).await.is(200, "the operator's");
    let unknown = with(verb("INSPECT", "/"), &json!({ "target": "rcns-attempt", "attempt_id": "0".repeat(32) }));
    http(&desk, unknown).await.is(404, "nobody's");
}

#[tokio::test]
async fn rcns_is_nothing_that_http_can_ask_for() {
    let (_origin, desk) = open("").await;
    let told = http(&desk, unheard(TARGET)).await;
    assert!(!told.headers.has("rcns-attempt-id"), "{:?}", told.headers);
    told.is(404, "the header says nothing there");
}
