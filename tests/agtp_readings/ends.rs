//! Readings about proposals, the end of contracts, and wording.

use super::*;

#[tokio::test]
async fn a34_proposals_have_the_seeds_forms_and_no_other() {
    let (_origin, desk) = with(synthesising).await;
    let wanted = proposal("QUERY", "/stock", json!({ "lamp_id": { "type": "string" } }));
    let mut named = wanted.clone();
    named["name"] = json!("stock-of-a-lamp");
    for body in [json!({ "endpoint": wanted }), named.clone(), json!({ "parameters": named })] {
        assert_told(&desk.call(verb("PROPOSE", "/").json(&body)).await, 263, &body.to_string());
    }
    for body in [
        json!({ "proposed_method": "QUERY", "signature": {}, "intent": "count lamps" }),
        json!({ "proposal": wanted, "session_id": "s-1" }),
        json!({}),
    ] {
        let response = desk.call(verb("PROPOSE", "/").json(&body)).await;
        assert_refusal(&response, 400, &body.to_string());
    }
}

/// A contract made and accepted by the caller, and the request that presents it.
async fn contract(desk: &Desk) -> (String, Ask) {
    let body = assert_told(&desk.speak(unregistered()).await, 461, "a contract");
    let id = body["synthesis_id"].as_str().expect("a synthesis_id").to_owned();
    let presented = verb("FIND", "/cheapest?category=desk").bearer(FULL).scopes("rcns:negotiate");
    (id.clone(), presented.header("Contract-Synthesized", &id))
}

#[tokio::test]
async fn a35_a_contract_that_has_ended_is_464_and_one_that_never_was_404() {
    let (origin, desk) = with(|setup| negotiating(setup, "contract_ttl = \"1h\"\n")).await;
    // Released by its agent, and by nobody else.
    let (id, presented) = contract(&desk).await;
    assert_told(&desk.speak(presented.clone()).await, 200, "alive");
    let release = verb("SUSPEND", "/").json(&json!({ "synthesis_id": id }));
    assert_refusal(&desk.speak(release.clone().agent(OTHER).bearer(lamps::BARE)).await, 403, "not yours");
    assert_told(&desk.speak(presented.clone()).await, 200, "still alive");
    assert_told(&desk.speak(release.bearer(FULL)).await, 200, "released");
    assert_says(&desk.speak(presented).await, 464, "reason", "contract-revoked", "released");
    // Revoked by the operator.
    let (id, presented) = contract(&desk).await;
    let revoke = json!({ "target": "contract", "synthesis_id": id, "reason": "no more" });
    assert_refusal(&desk.speak(verb("REVOKE", "/").bearer(FULL).json(&revoke)).await, 403, "not an operator");
    assert_told(&desk.speak(staff("REVOKE", &revoke)).await, 200, "revoked");
    let before = upstream_calls(&origin).len();
    let ended = desk.speak(presented).await;
    assert_says(&ended, 464, "reason", "contract-revoked", "revoked");
    assert!(ended.headers.has("rcns-attempt-id"), "{:?}", ended.headers);
    let unknown = verb("FIND", "/cheapest").bearer(FULL).header("Contract-Synthesized", "01991b5e00007000");
    assert_refusal(&desk.speak(unknown).await, 404, "never was");
    assert_eq!(upstream_calls(&origin).len(), before);
    // Run out.
    let (_origin, desk) = with(|setup| negotiating(setup, "contract_ttl = \"1s\"\n")).await;
    let (_, presented) = contract(&desk).await;
    tokio::time::sleep(std::time::Duration::from_millis(2100)).await;
    assert_says(&desk.speak(presented).await, 464, "reason", "contract-revoked", "run out");
}

#[tokio::test]
async fn a35_a_contract_keeps_the_recipe_it_was_made_of_until_it_is_swept() {
    let origin = Origin::start(lamps::says()).await;
    let desk = negotiating(lamps::before(&origin), "").start().await;
    let (id, presented) = contract(&desk).await;
    let next = RECIPE.replace("version = \"1\"", "version = \"2\"").replace("{input.category}", "floor");
    let renewed = lamps::before(&origin).set("agtp.policies", "synthesis_enabled = true").tail(&next);
    desk.swap(&renewed.set("agtp.policies.rcns", "enabled = true\nmin_trust_tier = 2")).await;
    assert_told(&desk.speak(presented.clone()).await, 200, "as it was made");
    assert!(upstream_calls(&origin).iter().any(|r| r.target == "/api/items?category=desk"), "by the old recipe");
    assert!(upstream_calls(&origin).iter().all(|r| r.target != "/api/items?category=floor"));
    let sweep = |mode: &str| staff("REVOKE", &json!({ "target": "stale-contracts", "mode": mode, "reason": "edited" }));
    let agents = verb("REVOKE", "/").bearer(FULL).json(&json!({ "target": "stale-contracts" }));
    assert_refusal(&desk.speak(agents).await, 403, "not an operator");
    let told = assert_told(&desk.speak(sweep("grandfather")).await, 200, "reported").to_string();
    assert!(told.contains(&id) && told.contains("grandfathered"), "{told}");
    assert_told(&desk.speak(presented.clone()).await, 200, "left alone");
    let told = assert_told(&desk.speak(sweep("invalidate")).await, 200, "swept").to_string();
    assert!(told.contains(&id) && told.contains("evicted"), "{told}");
    assert_refusal(&desk.speak(presented).await, 404, "swept");
}

#[tokio::test]
async fn a36_a_scope_that_must_be_named_is_named_for_endpoints_only() {
    let (_origin, desk) = with(|setup| setup.set("agtp.policies", "scope_required_for_invocation = true")).await;
    for ask in [verb("QUERY", "/catalog"), anonymous("QUERY", "/catalog"), verb("FETCH", "/lamps/L1")] {
        assert_says(&desk.call(ask).await, 262, "type", "scope-required", "no claim");
    }
    assert_told(&desk.call(verb("QUERY", "/catalog").scopes("shop:look")).await, 200, "any claim");
    for target in ["/", "/methods", "/agents", "/patterns"] {
        assert_told(&desk.call(verb("DISCOVER", target)).await, 200, target);
    }
    desk.published().await;
    assert_told(&desk.call(verb("DESCRIBE", "/")).await, 200, "DESCRIBE");
    let inspected = desk.call(verb("INSPECT", "/").json(&json!({ "target": "chain_head" }))).await;
    assert_ne!(inspected.status, 262, "{}", inspected.text());
}

#[tokio::test]
async fn a37_an_answer_that_lacks_what_was_declared_is_the_sites_failure() {
    let lacking = lookup("lamps.less", "FETCH /shelf", "path = \"/api/hours\"", "")
        + "output_schema = { type = \"object\", required = [\"open\", \"closed\"] }\n";
    let odd = lookup("lamps.odd", "FETCH /board", "path = \"/api/hours\"", "")
        + "output_schema = { type = \"object\", required = [\"open\"], properties = { open = { type = \"string\", maxLength = 2 } } }\n";
    let (_origin, desk) = with(|setup| setup.tail(&lacking).tail(&odd)).await;
    assert_code(&desk.call(verb("FETCH", "/shelf")).await, 422, "upstream_malformed_response", "a member is missing");
    assert_told(&desk.call(verb("FETCH", "/board")).await, 200, "all there, and one is odd");
}

#[tokio::test]
async fn a38_the_contract_layer_is_version_1_0() {
    let (_origin, desk) = open().await;
    assert_eq!(desk.published().await["agtp_api_version"], "1.0");
}

#[tokio::test]
async fn a39_an_answer_of_the_200s_is_not_always_a_success() {
    let (origin, desk) = open().await;
    let hold = || verb("RESERVE", "/lamps/L1/hold").bearer(FULL).scopes("shop:hold").key("k-1");
    let asked = desk.call(hold()).await;
    let token = assert_unconfirmed(&asked, "not yet confirmed");
    assert!(asked.headers.tokens("cache-control").contains(&"no-store".to_owned()), "{:?}", asked.headers);
    assert!(upstream_calls(&origin).is_empty());
    // It used up no key, and is not what a repetition gets.
    let done = desk.call(hold().confirmed(&token)).await;
    assert_eq!(assert_told(&done, 200, "confirmed"), json!({ "hold": "hold-1" }));
    assert_eq!(assert_told(&desk.call(hold()).await, 200, "the key is known now"), done.json());
    assert_eq!(upstream_calls(&origin).len(), 1);
    // A step of a composition that is asked to confirm has not been done.
    let recipe = "\n[[agtp.recipes]]\nname = \"hold-first\"\nversion = \"1\"\nmethod = \"BOOK\"\npath = \"/first\"\nsteps = [\n\
        { capability = \"lamps.search\", input = { category = \"{input.category}\" } },\n\
        { capability = \"lamps.hold\", input = { lamp_id = \"{steps.0.data.items.0.id}\" } },\n]\n";
    let held = "\n[[capabilities]]\nid = \"lamps.hold-first\"\ntype = \"prepare_action\"\ndescription = \"Holds the first lamp.\"\n\
        input_schema = { type = \"object\", required = [\"category\"], properties = { category = { type = \"string\" } } }\n\
        upstream = { recipe = \"hold-first\" }\nagtp = { method = \"BOOK\", path = \"/first-lamp\" }\n";
    let (origin, desk) = with(|setup| setup.tail(recipe).tail(held)).await;
    let ask = || {
        let ask = verb("BOOK", "/first-lamp").bearer(FULL).scopes("shop:hold").key("k-2");
        ask.json(&json!({ "category": "desk" }))
    };
    let asked = desk.call(ask()).await;
    let token = assert_unconfirmed(&asked, "a composition");
    assert!(upstream_calls(&origin).iter().all(|r| r.method == "GET"), "nothing is held yet");
    assert_told(&desk.call(ask().confirmed(&token)).await, 200, "confirmed");
    assert_eq!(upstream_calls(&origin).iter().filter(|r| r.target == "/api/holds").count(), 1);
}

#[tokio::test]
async fn a40_words_of_a_life_are_lower_case() {
    let (_origin, desk) = with(hosting).await;
    let event = async |method: &str, status: &str, kind: &str| {
        let asked = staff(method, &json!({ "agent_id": HOSTED, "reason": "a test" }));
        let body = assert_told(&desk.call(asked).await, 200, method);
        assert_eq!((&body["status"], &body["event_type"]), (&json!(status), &json!(kind)), "{method}: {body}");
        body
    };
    let catalog = || verb("QUERY", "/catalog");
    let suspended = event("DEACTIVATE", "suspended", "agent-lifecycle-suspended").await;
    assert_eq!(suspended["previous_status"], "active", "{suspended}");
    assert!(is_hash(&suspended["audit_id"]), "{suspended}");
    let again = desk.call(staff("DEACTIVATE", &json!({ "agent_id": HOSTED, "reason": "again" }))).await;
    assert_eq!(assert_told(&again, 200, "nothing to do")["noop"], true);
    assert_refusal(&desk.call(catalog()).await, 503, "suspended");
    event("REINSTATE", "active", "agent-lifecycle-reinstated").await;
    assert_told(&desk.call(catalog()).await, 200, "active again");
    event("DEPRECATE", "deprecated", "agent-lifecycle-deprecated").await;
    assert_told(&desk.call(catalog()).await, 200, "the deprecated go on serving");
    assert_eq!(desk.call(verb("DESCRIBE", "/")).await.json()["status"], "deprecated");
    event("REVOKE", "retired", "agent-genesis-revoked").await;
    assert_refusal(&desk.call(catalog()).await, 410, "retired");
    let late = staff("REINSTATE", &json!({ "agent_id": HOSTED, "reason": "too late" }));
    assert_refusal(&desk.call(late).await, 422, "nobody comes back from there");
    let nobody = staff("ACTIVATE", &json!({ "agent_id": OTHER, "reason": "who?" }));
    assert_refusal(&desk.call(nobody).await, 404, "not hosted here");
}
