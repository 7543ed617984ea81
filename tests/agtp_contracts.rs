//! Promise: a contract belongs to its agent, holds unchanged for its announced time, and ends when it should.

use crate::support::market::{
    BUYER, CALLER, OTHER, RECIPE, RIVAL, STAFF, asked, bazaar, by, framed, http, id, open, origin, proposal, propose,
    staff, stall, stock, unheard, verb, with,
};
use crate::support::redis::{Redis, connected};
use crate::support::{Ask, Desk, within};
use serde_json::{Value, json};
use std::time::Duration;

/// A contract about the recipe, made by name.
async fn agreed(desk: &Desk) -> String {
    let wanted = proposal("FIND /cheapest", json!({ "category": { "type": "string" } }));
    id(&http(desk, propose(&wanted, json!({}))).await.is(263, "a contract"))
}

fn find(id: &str) -> Ask {
    verb("FIND", "/cheapest?category=desk").header("Contract-Synthesized", id)
}

async fn contracts(desk: &Desk, ask: Ask) -> Vec<String> {
    let body = http(desk, ask).await.is(200, "contracts");
    body.as_array().expect("a list").iter().map(id).collect()
}

#[tokio::test]
async fn contracts_are_shown_to_their_agents_and_to_the_operator() {
    let (_origin, desk) = open().await;
    let first = agreed(&desk).await;
    let second = id(&http(&desk, stock().bearer(BUYER)).await.is(263, "with a credential"));
    let third =
        id(&http(&desk, with(by(OTHER, "PROPOSE", "/"), &json!({ "endpoint": proposal("QUERY /stock", json!({})) })))
            .await
            .is(263, "another agent's"));
    let discover = || verb("DISCOVER", "/contracts");
    assert_eq!(contracts(&desk, discover()).await, std::slice::from_ref(&first));
    assert_eq!(
        contracts(&desk, discover().bearer(BUYER)).await,
        std::slice::from_ref(&second),
        "who is proven is somebody else"
    );
    assert_eq!(contracts(&desk, by(OTHER, "DISCOVER", "/contracts")).await, std::slice::from_ref(&third));
    assert!(contracts(&desk, Ask::new("DISCOVER", "/contracts")).await.is_empty(), "nobody's");
    let claimed = discover().header("Authority-Scope", "inspect:all");
    assert_eq!(contracts(&desk, claimed).await, std::slice::from_ref(&first), "a claim is no credential");
    let all = contracts(&desk, discover().bearer(STAFF)).await;
    assert_eq!(all, [first.clone(), second, third]);
    let listed = http(&desk, discover()).await.is(200, "listed");
    let entry = &listed[0];
    assert_eq!(entry["originating_agent_id"], CALLER);
    assert_eq!(entry["recipe_lineage"], json!({ "recipe_name": "first-of", "recipe_version": "1" }));
    assert_eq!((&entry["negotiation_origin"], &entry["method"]), (&json!("propose"), &json!("FIND")));
    assert!(entry["issued_at"].is_string() && entry["expires_at"].is_string(), "{entry}");

    let inspect = |id: &str| json!({ "target": "contract", "synthesis_id": id });
    let told = http(&desk, with(verb("INSPECT", "/"), &inspect(&first))).await.is(200, "its own");
    assert_eq!((&told["status"], &told["contract_hash"]), (&json!("active"), &entry["contract_hash"]), "{told}");
    // Anybody can work the hash out.
    let whole = json!({ "endpoint": told["endpoint"], "recipe_lineage": told["recipe_lineage"] });
    let digest = ring::digest::digest(&ring::digest::SHA256, whole.to_string().as_bytes());
    let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(told["contract_hash"], hex, "members in the order of RFC 8785: {whole}");
    http(&desk, with(by(OTHER, "INSPECT", "/"), &inspect(&first))).await.is(403, "another's");
    http(&desk, with(verb("INSPECT", "/").bearer(RIVAL), &inspect(&first))).await.is(403, "somebody else's");
    http(&desk, staff("INSPECT", &inspect(&first))).await.is(200, "the operator's");
    http(&desk, with(verb("INSPECT", "/"), &inspect("nothing"))).await.is(404, "nobody's");
}

#[tokio::test]
async fn contracts_are_let_go_of_by_their_agent_and_taken_back_by_the_operator() {
    let (origin, desk) = open().await;
    let first = agreed(&desk).await;
    let release = json!({ "synthesis_id": first });
    http(&desk, with(by(OTHER, "SUSPEND", "/"), &release)).await.is(403, "another agent");
    http(&desk, with(verb("SUSPEND", "/").bearer(RIVAL), &release)).await.is(403, "somebody else behind it");
    http(&desk, find(&first)).await.is(200, "still alive");
    let told = http(&desk, with(verb("SUSPEND", "/"), &release)).await.is(200, "released");
    assert_eq!((&told["status"], &told["event_type"]), (&json!("released"), &json!("rcns_release")), "{told}");
    let calls = asked(&origin).len();
    http(&desk, find(&first)).await.no_contract("contract-revoked");
    let again = http(&desk, with(verb("SUSPEND", "/"), &release)).await.is(200, "once more");
    assert_eq!(again["noop"], true, "{again}");
    let unknown = json!({ "synthesis_id": "0".repeat(32) });
    http(&desk, with(verb("SUSPEND", "/"), &unknown)).await.is(404, "nobody's");

    let second = agreed(&desk).await;
    let revoke = json!({ "target": "contract", "synthesis_id": second, "reason": "enough", "actor": "ops" });
    for ask in [verb("REVOKE", "/"), verb("REVOKE", "/").bearer(BUYER), by(OTHER, "REVOKE", "/")] {
        http(&desk, with(ask.header("Authority-Scope", "inspect:all"), &revoke)).await.is(403, "not an operator");
    }
    http(&desk, staff("REVOKE", &revoke)).await.is(200, "revoked");
    http(&desk, find(&second)).await.no_contract("contract-revoked");
    let inspect = json!({ "target": "contract", "synthesis_id": second });
    let told = http(&desk, with(verb("INSPECT", "/"), &inspect)).await.is(200, "remembered");
    assert_eq!(told["status"], "revoked", "{told}");
    assert_eq!(asked(&origin).len(), calls);
    assert!(contracts(&desk, verb("DISCOVER", "/contracts")).await.is_empty());
    http(&desk, staff("REVOKE", &json!({ "target": "everything" }))).await.is(400, "no such target");

    let lifecycle = json!({ "target": "lifecycle", "agent_id": CALLER });
    let told = http(&desk, with(verb("INSPECT", "/"), &lifecycle)).await.is(200, "what its lifecycle was told");
    let entries = told["entries"].as_array().expect("entries");
    let of = |at: usize, name: &str| entries[at]["payload"][name].clone();
    assert_eq!(entries.len(), 2, "{told}");
    assert_eq!((of(0, "synthesis_id"), of(0, "actor")), (json!(second), json!("ops")), "the newest first");
    assert_eq!((of(1, "synthesis_id"), of(1, "reason")), (json!(first), json!("agent-release")));
    assert!(entries.iter().all(|entry| entry["payload"]["event_type"] == "rcns_release"), "{told}");
}

#[tokio::test]
async fn contracts_end_with_their_time() {
    let origin = origin().await;
    let desk = bazaar(&origin, "contract_ttl = \"2s\"").start().await;
    let id = agreed(&desk).await;
    let forever = propose(&proposal("QUERY /stock", json!({})), json!({ "persistent": true }));
    http(&desk, forever.bearer(STAFF)).await.is(263, "for everybody");
    http(&desk, find(&id)).await.is(200, "in time");
    http(&desk, by(OTHER, "QUERY", "/stock?lamp_id=1")).await.is(200, "for everybody");
    tokio::time::sleep(Duration::from_millis(2100)).await;
    http(&desk, find(&id)).await.no_contract("contract-revoked");
    http(&desk, by(OTHER, "QUERY", "/stock?lamp_id=1")).await.is(404, "nor is that there any more");
    let manifest = http(&desk, Ask::new("DISCOVER", "/")).await.is(200, "the manifest");
    assert!(manifest["endpoints"].as_array().expect("endpoints").iter().all(|it| it["path"] != "/stock"));
}

#[tokio::test]
async fn contracts_keep_the_recipe_they_were_made_of_until_they_are_swept() {
    let origin = origin().await;
    let desk = stall(&origin, "").start().await;
    let old = agreed(&desk).await;
    let passthrough = id(&http(&desk, stock()).await.is(263, "of no recipe"));
    let next = RECIPE.replace("version = \"1\"", "version = \"2\"").replace("{input.category}", "floor");
    let text = |recipe: &str| stall(&origin, "").text(&desk.ports).replace(RECIPE, recipe);
    desk.replace_config(&text(&next));
    assert_eq!(desk.reload().await.status, 200);
    http(&desk, find(&old)).await.is(200, "as it was made");
    assert_eq!(asked(&origin), ["GET /api/items?category=desk", "GET /api/items/L1"]);
    let wanted = proposal("FIND /cheapest", json!({}));
    let told = http(&desk, propose(&wanted, json!({}))).await.is(263, "a new one");
    assert_eq!(told["recipe_lineage"]["recipe_version"], "2");
    let new = id(&told);
    http(&desk, verb("FIND", "/cheapest").header("Contract-Synthesized", &new)).await.is(200, "as it is now");
    assert_eq!(asked(&origin)[2..], ["GET /api/items?category=floor", "GET /api/items/L1"]);

    let sweep = |mode: Value| json!({ "target": "stale-contracts", "mode": mode, "actor": "ops" });
    http(&desk, with(verb("REVOKE", "/"), &sweep(json!("invalidate")))).await.is(403, "not an operator");
    http(&desk, staff("REVOKE", &sweep(json!("perhaps")))).await.is(400, "no such mode");
    let dispositions = async |mode: Value| {
        let told = http(&desk, staff("REVOKE", &sweep(mode))).await.is(200, "swept");
        let all = told["contracts"].as_array().expect("contracts").clone();
        all.iter().map(|it| (id(it), it["disposition"].clone(), it["current_version"].clone())).collect::<Vec<_>>()
    };
    let kept = (new.clone(), json!("unchanged"), json!("2"));
    let drifted = (old.clone(), json!("grandfathered"), json!("2"));
    for mode in [Value::Null, json!("grandfather")] {
        assert_eq!(dispositions(mode).await, [drifted.clone(), kept.clone()], "only reported");
    }
    http(&desk, find(&old)).await.is(200, "left alone");
    assert_eq!(dispositions(json!("invalidate")).await, [(old.clone(), json!("evicted"), json!("2")), kept.clone()]);
    http(&desk, find(&old)).await.is(404, "swept away");
    let call = verb("QUERY", "/stock?lamp_id=1").header("Contract-Synthesized", &passthrough);
    http(&desk, call).await.is(200, "what is of no recipe cannot drift");
    let lifecycle = json!({ "target": "lifecycle", "agent_id": CALLER });
    let told = http(&desk, with(verb("INSPECT", "/"), &lifecycle)).await.is(200, "told");
    let event = &told["entries"][0]["payload"];
    assert_eq!((&event["reason"], &event["actor"]), (&json!("policy-change-invalidation"), &json!("ops")), "{told}");
    // A recipe that is gone has drifted too.
    desk.replace_config(&text(""));
    assert_eq!(desk.reload().await.status, 200);
    assert_eq!(dispositions(json!("grandfather")).await, [(new, json!("grandfathered"), Value::Null)]);
}

#[tokio::test]
async fn contracts_are_held_to_the_declaration_of_the_day() {
    let origin = origin().await;
    let desk = stall(&origin, "").start().await;
    let (found, counted) = (agreed(&desk).await, id(&http(&desk, stock()).await.is(263, "a count")));
    let stock = || verb("QUERY", "/stock?lamp_id=1").header("Contract-Synthesized", &counted);
    http(&desk, stock()).await.is(200, "as declared");
    let text = stall(&origin, "").text(&desk.ports);
    let stricter = text
        .replace(
            "description = \"Counts a lamp on the shelf.\"\nrisk_level = \"low\"\nauth = \"none\"",
            "description = \"Counts.\"\nrisk_level = \"low\"\nauth = \"required\"",
        )
        .replace(
            "description = \"Describes one lamp.\"\nrisk_level = \"low\"\nauth = \"optional\"",
            "description = \"Describes one lamp.\"\nrisk_level = \"low\"\nauth = \"required\"",
        );
    assert_ne!(text, stricter);
    desk.replace_config(&stricter);
    assert_eq!(desk.reload().await.status, 200);
    http(&desk, stock()).await.says(262, "type", "credentials-missing", "it needs a credential now");
    http(&desk, find(&found)).await.says(262, "type", "credentials-missing", "a step of it does");
    let before = asked(&origin).len();
    let gone = text
        .replace("id = \"inner.stock\"", "id = \"inner.other\"")
        .replace("id = \"lamps.read\"", "id = \"lamps.look\"")
        .replace("capability = \"lamps.read\"", "capability = \"lamps.look\"");
    desk.replace_config(&gone);
    assert_eq!(desk.reload().await.status, 200);
    http(&desk, stock()).await.no_contract("composition-impossible");
    http(&desk, find(&found)).await.no_contract("composition-impossible");
    assert_eq!(asked(&origin).len(), before);
}

#[tokio::test]
async fn contracts_of_actions_are_counted_as_actions() {
    let origin = origin().await;
    let desk = stall(&origin, "").limits(&[("actions", "2/minute")]).start().await;
    let wish = proposal("CREATE /wishes", json!({ "lamp_id": { "type": "string" } }));
    let id = id(&http(&desk, propose(&wish, json!({}))).await.is(263, "a wish"));
    let call = || with(verb("CREATE", "/wishes").header("Contract-Synthesized", &id), &json!({ "lamp_id": "L1" }));
    for _ in 0..2 {
        http(&desk, call()).await.is(200, "within");
    }
    let told = http(&desk, call()).await;
    assert!(told.headers.has("retry-after"), "{:?}", told.headers);
    told.is(429, "beyond");
    assert_eq!(asked(&origin).len(), 2);
}

#[tokio::test]
async fn contracts_of_one_caller_have_a_bound_whatever_agents_it_says_it_is() {
    let (_origin, desk) = open().await;
    let body = json!({ "endpoint": proposal("QUERY /stock", json!({})) });
    within(Duration::from_secs(60), "a hundred contracts", async {
        let mut first = String::new();
        for n in 0..100 {
            let agent = format!("{n:064x}");
            first = id(&http(&desk, with(by(&agent, "PROPOSE", "/"), &body)).await.is(263, "within"));
        }
        let agent = "f".repeat(64);
        let told = http(&desk, with(by(&agent, "PROPOSE", "/"), &body)).await;
        told.says(463, "reason", "policy-refused", "one more of the same address");
        http(&desk, with(by(&agent, "PROPOSE", "/").bearer(BUYER), &body)).await.is(263, "of somebody else");
        let last = by(&format!("{:064x}", 99), "SUSPEND", "/");
        http(&desk, with(last, &json!({ "synthesis_id": first }))).await.is(200, "let go of one");
        http(&desk, with(by(&agent, "PROPOSE", "/"), &body)).await.is(263, "room again");
    })
    .await;
}

#[tokio::test]
async fn contracts_of_the_gate_are_used_from_anywhere_by_their_agent() {
    let origin = origin().await;
    let desk = bazaar(&origin, "").start().await;
    let shown = async |ask| id(&framed(&desk, ask).await.is(461, "a preview"));
    let mine = shown(unheard("/cheapest?category=desk")).await;
    framed(&desk, find(&mine)).await.is(200, "on another connection");
    http(&desk, find(&mine)).await.is(200, "over HTTP");
    // Another agent at the same address gets one of its own, which takes nobody's place.
    let others = by(OTHER, "FIND", "/cheapest?category=desk").header("Authority-Scope", "rcns:negotiate");
    assert_ne!(shown(others.header("Allow-RCNS", "true")).await, mine);
    assert_eq!(shown(unheard("/cheapest?category=desk")).await, mine);
    let call = by(OTHER, "FIND", "/cheapest").header("Contract-Synthesized", &mine);
    framed(&desk, call).await.no_contract("contract-not-yours");
}

#[tokio::test]
async fn contracts_are_the_same_for_every_replica_and_never_guessed_at() {
    let (origin, mut redis) = (origin().await, Redis::start().await);
    let setup = stall(&origin, "").set("store", &format!("url = \"{}\"", redis.url()));
    let (a, b) = (connected(&setup).await, connected(&setup).await);
    let mine = agreed(&a).await;
    http(&b, find(&mine)).await.is(200, "made by the other");
    let forever = propose(&proposal("QUERY /stock", json!({})), json!({ "persistent": true })).bearer(STAFF);
    let call = || by(OTHER, "QUERY", "/stock?lamp_id=1");
    http(&b, call()).await.is(404, "not yet");
    let everybodys = id(&http(&a, forever).await.is(263, "for everybody"));
    http(&b, call()).await.is(200, "published by the other");
    let manifest = http(&b, Ask::new("DISCOVER", "/")).await.is(200, "the manifest");
    assert!(manifest["endpoints"].as_array().expect("endpoints").iter().any(|it| it["path"] == "/stock"));
    let revoke = json!({ "target": "contract", "synthesis_id": everybodys });
    http(&b, staff("REVOKE", &revoke)).await.is(200, "by either");
    http(&a, call()).await.is(404, "gone for both");
    let calls = asked(&origin).len();
    redis.kill();
    http(&a, find(&mine)).await.is(503, "the outcome is unknown");
    http(&a, call()).await.is(503, "nor of this");
    assert_eq!(asked(&origin).len(), calls);
}
