//! Statuses 2xx: done, begun, or needing another step first.

use super::*;

// 2xx

#[tokio::test]
async fn status_200_carries_what_every_answer_has_to() {
    let (_origin, desk) = with(hosting).await;
    let ask = || verb("QUERY", "/catalog").header("Task-ID", "t-77").header("Request-ID", "r-1");
    for response in [desk.call(ask()).await, desk.speak(ask()).await] {
        assert_told(&response, 200, "in order");
        for (name, value) in [
            ("Agent-ID", CALLER),
            ("Task-ID", "t-77"),
            ("Request-ID", "r-1"),
            ("Owner-ID", "owner:example.test"),
            ("Trust-Tier", "2"),
            ("Verification-Path", "org-asserted"),
            ("Trust-Warning", "verification-incomplete"),
        ] {
            assert_eq!(response.headers.all(name), [value], "{name}");
        }
        assert_eq!(record(&response, "in order")["status"], 200);
        assert_eq!(response.media_type(), "application/vnd.agtp+json");
        assert_eq!(response.header("content-length"), Some(response.body.len().to_string().as_str()));
        for name in ["set-cookie", "server", "x-from", "transfer-encoding"] {
            assert!(!response.headers.has(name), "{name}");
        }
    }
}

#[tokio::test]
async fn status_200_is_what_a_sites_201_and_other_2xx_become() {
    let (_origin, desk) = looking_up(&[
        ("made", "path = \"/api/status/201\"", ""),
        ("other", "path = \"/api/status/203\"", ""),
        ("partial", "path = \"/api/status/206\"", ""),
    ])
    .await;
    for path in ["/p/made", "/p/other", "/p/partial"] {
        assert_told(&desk.call(verb("FETCH", path)).await, 200, path);
    }
    assert_told(&desk.call(purchase("L1", "k-1")).await, 200, "an action's 201");
}

#[tokio::test]
async fn status_200_carries_the_identity_of_nobody_upstream() {
    let (origin, desk) = open().await;
    let ask = purchase("L1", "k-1").header("Owner-ID", "owner:example.test").header("Session-ID", "s-1");
    assert_told(&desk.call(ask.header("Task-ID", "t-1").header("Principal-ID", "p-1")).await, 200, "a purchase");
    let seen = last_upstream(&origin);
    for (name, value) in &seen.headers.0 {
        let name = name.to_ascii_lowercase();
        let told =
            ["agent-id", "owner-id", "authority-scope", "session-id", "task-id", "principal-id", "authorization"];
        assert!(!told.contains(&name.as_str()) && !name.starts_with("agtp-"), "{name}: {value}");
        assert!(!name.starts_with("x-frontdesk-"), "{name}: {value}");
        assert!(!value.contains(CALLER) && !value.contains(FULL), "{name}: {value}");
    }
}

#[tokio::test]
async fn status_200_whatever_reserved_and_retired_headers_say() {
    let (origin, desk) = with(signing).await;
    let mut ask = purchase("L1", "k-1").header("Session-ID", "s-5f0c7a1e9b2d4c66");
    for (name, value) in [
        ("Priority", "urgent"),
        ("TTL", "0"),
        ("Budget-Limit", "USD=0"),
        ("AGTP-Zone-ID", "zone:elsewhere"),
        ("Content-Schema", "https://elsewhere.test/schema"),
        ("Telemetry-Export", "https://elsewhere.test/"),
        ("AGTP-Version", "9.9"),
        ("AGTP-Method", "REMOVE"),
        ("AGTP-Status", "500"),
        ("Principal-ID", "root"),
        ("Merchant-ID", "m-1"),
    ] {
        ask = ask.header(name, value);
    }
    let response = desk.call(ask).await;
    assert_told(&response, 200, "none of them counts");
    assert_eq!(upstream_calls(&origin).len(), 1);
    let record = record(&response, "a purchase");
    assert_eq!(record["session_id"], "s-5f0c7a1e9b2d4c66", "{record}");
    assert!(record["action_id"].is_string(), "what changes something has an id: {record}");
    assert!(!record.to_string().contains(FULL), "a credential goes on no record: {record}");
}

#[tokio::test]
async fn status_200_of_each_inventory_has_its_shape() {
    let (_origin, desk) = with(|setup| hosting(negotiating(setup, "")).tail(COMPOSED)).await;
    let told = async |target: &str| assert_told(&desk.call(verb("DISCOVER", target)).await, 200, target);
    let agents = told("/agents").await;
    assert_eq!(agents.as_array().map(Vec::len), Some(1), "{agents}");
    for (name, value) in [
        ("agent_id", json!(HOSTED)),
        ("trust_tier", json!(2)),
        ("verification_path", json!("org-asserted")),
        ("trust_warning", json!("verification-incomplete")),
        ("owner_id", json!("owner:example.test")),
    ] {
        assert_eq!(agents[0][name], value, "{name} of {agents}");
    }
    assert!(agents[0]["name"].is_string() && agents[0]["methods_count"].is_u64(), "{agents}");
    let patterns = told("/patterns").await;
    assert_eq!(patterns["rcns_enabled"], true, "{patterns}");
    let pattern = patterns["patterns"].as_array().and_then(|all| all.iter().find(|p| p["recipe_name"] == "first-of"));
    let pattern = pattern.unwrap_or_else(|| panic!("the recipe: {patterns}"));
    assert_eq!((&pattern["recipe_version"], &pattern["method"]), (&json!("1"), &json!("FIND")), "{pattern}");
    assert_eq!((&pattern["path_exact"], pattern.get("path_regex")), (&json!("/cheapest"), None), "{pattern}");
    assert_eq!(told("/contracts").await, json!([]));
    for target in ["/tools", "/apis"] {
        for entry in told(target).await.as_array().unwrap_or_else(|| panic!("{target} is a list")) {
            assert!(entry["name"].is_string(), "{target}: {entry}");
        }
    }
    let (_origin, desk) = with(|setup| setup.tail(RECIPE).tail(COMPOSED)).await;
    let patterns = assert_told(&desk.call(verb("DISCOVER", "/patterns")).await, 200, "with RCNS off");
    assert_eq!(patterns["rcns_enabled"], false, "{patterns}");
}

#[tokio::test]
async fn status_202_is_accepted_and_not_yet_done() {
    let (_origin, desk) = looking_up(&[("later", "path = \"/api/status/202\"", "")]).await;
    assert_told(&desk.call(verb("FETCH", "/p/later")).await, 202, "the site's own");
    let asked = verb("REQUEST", "/people").json(&json!({ "question": "Do you have this in red?" }));
    assert_told(&desk.call(asked).await, 202, "a person will answer");
}

#[tokio::test]
async fn status_202_comes_for_what_is_escalated() {
    let (_origin, desk) = open().await;
    let asked = json!({ "task_id": "t-9", "reason": "ambiguous_instruction", "context": { "said": "the green one" } });
    let body = assert_told(&desk.call(verb("ESCALATE", "/").json(&asked)).await, 202, "ESCALATE");
    for name in ["escalation_id", "routed_to", "status"] {
        assert!(body[name].is_string(), "{name} of {body}");
    }
    assert!(body["task_paused"].is_boolean(), "{body}");
    let word = json!({ "target_id": body["escalation_id"], "status": "accepted", "reason": "the dark one" });
    // An escalation is no confirmation.
    assert_refusal(&desk.call(verb("CONFIRM", "/").bearer(FULL).json(&word)).await, 403, "the agent itself");
    let told = assert_told(&desk.call(staff("CONFIRM", &word)).await, 200, "CONFIRM");
    assert!(told["attestation_id"].is_string() && told["timestamp"].is_string(), "{told}");
    let nothing = json!({ "target_id": "nothing", "status": "accepted" });
    assert_refusal(&desk.call(staff("CONFIRM", &nothing)).await, 404, "nothing to confirm");
}

#[tokio::test]
async fn status_204_has_neither_body_nor_type() {
    let (_origin, desk) = looking_up(&[("empty", "path = \"/api/empty\"", "")]).await;
    for response in [desk.call(verb("FETCH", "/p/empty")).await, desk.speak(verb("FETCH", "/p/empty")).await] {
        assert_told(&response, 204, "nothing");
        assert!(response.header("content-length").is_none_or(|l| l == "0"), "{:?}", response.headers);
    }
}

#[tokio::test]
async fn status_261_is_polled_where_proposals_are_and_an_unknown_one_is_404() {
    // When an evaluation takes longer than a request is the server's business; where it is asked for is not.
    let (_origin, desk) = with(synthesising).await;
    let unknown = desk.call(verb("QUERY", "/proposals/01991b5e-0000-7000-8000-000000000001")).await;
    assert_refusal(&unknown, 404, "an unknown proposal");
    let other = desk.call(verb("FETCH", "/proposals/01991b5e-0000-7000-8000-000000000001")).await;
    let body = assert_refusal(&other, 405, "by another verb");
    assert_eq!(member(&body, "allowed_methods_for_path", "by another verb"), json!(["QUERY"]));
}

#[tokio::test]
async fn status_262_says_what_authority_is_missing() {
    let (origin, desk) = open().await;
    let body = assert_says(&desk.call(verb("FETCH", "/hours")).await, 262, "type", "scope-required", "no scope");
    assert!(body.to_string().contains("hours:read"), "which one: {body}");
    let pay = verb("PURCHASE", "/basket").scopes("shop:buy").key("k").json(&json!({ "lamp_id": "L1" }));
    assert_says(&desk.call(pay).await, 262, "type", "credentials-missing", "no credential");
    let hold = || verb("RESERVE", "/lamps/L1/hold").bearer(FULL).scopes("shop:hold").key("k");
    let token = assert_unconfirmed(&desk.call(hold()).await, "not confirmed");
    assert!(upstream_calls(&origin).is_empty());
    let twice = [desk.call(hold().confirmed(&token)).await, desk.call(hold().key("other").confirmed(&token)).await];
    assert_told(&twice[0], 200, "confirmed");
    assert_eq!(upstream_calls(&origin).len(), 1, "{}", twice[1].text());
    let (_origin, desk) = with(|setup| setup.set("agtp.policies", "anonymous_discovery = false")).await;
    for target in ["/", "/methods", "/agents"] {
        let response = desk.call(anonymous("DISCOVER", target)).await;
        assert_says(&response, 262, "type", "anonymous-discovery-disabled", target);
        assert_told(&desk.call(verb("DISCOVER", target)).await, 200, "by an agent");
    }
}

#[tokio::test]
async fn status_262_a_confirmation_holds_for_its_agent_its_endpoint_and_its_input() {
    let (origin, desk) = open().await;
    let hold = |lamp: &str| verb("RESERVE", &format!("/lamps/{lamp}/hold")).bearer(FULL).scopes("shop:hold").key("k-1");
    let token = assert_unconfirmed(&desk.call(hold("L1")).await, "asked");
    for (what, ask) in [("another lamp", hold("L2")), ("a token of nobody's", hold("L1"))] {
        let token = if what == "another lamp" { token.clone() } else { "f".repeat(token.len()) };
        let body = assert_refusal(&desk.call(ask.confirmed(&token)).await, 262, what);
        assert!(!body["type"].is_null(), "{what}: {body}");
    }
    assert!(upstream_calls(&origin).is_empty());
    assert_told(&desk.call(hold("L1").confirmed(&token)).await, 200, "what was confirmed");
}

#[tokio::test]
async fn status_263_names_the_endpoint_and_its_recipe() {
    let (_origin, desk) = with(synthesising).await;
    let wanted = proposal("FIND", "/cheapest", json!({ "category": { "type": "string" } }));
    let body = assert_told(&desk.call(propose(&wanted)).await, 263, "a recipe's");
    assert_eq!((&body["status"], &body["method"], &body["path"]), (&json!(263), &json!("FIND"), &json!("/cheapest")));
    assert!(body["synthesis_id"].is_string() && body["expires_at"].is_string(), "{body}");
    assert_eq!(body["recipe_lineage"], json!({ "recipe_name": "first-of", "recipe_version": "1" }), "{body}");
    assert_eq!(body["endpoint"]["handler"], json!({ "type": "composition" }), "{body}");
    // An endpoint that exists is passed through.
    let known = proposal("QUERY", "/catalog", json!({ "category": { "type": "string" } }));
    assert_told(&desk.call(propose(&known)).await, 263, "declared already");
}
