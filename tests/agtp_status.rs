//! Promise: every status that can be answered is, by a real request, with what a machine reads; the dead ones are nowhere.

use crate::support::calls::{last_upstream, upstream_calls};
use crate::support::contract::TOML;
use crate::support::desk::run_to_end;
use crate::support::lamps::{
    self, COMPOSED, FULL, HOSTED, RECIPE, STAFF, hosting, lookup, negotiating, open, signing, synthesising, with,
};
use crate::support::setup::dead_address;
use crate::support::verbs::{
    CALLER, OTHER, anonymous, assert_code, assert_refusal, assert_says, assert_told, assert_unconfirmed, is_hash,
    member, proposal, propose, record, verb,
};
use crate::support::{Ask, Desk, Dir, Origin, Ports, Request, SOON, eventually};
use serde_json::{Value, json};

fn purchase(lamp: &str, key: &str) -> Ask {
    let ask = verb("PURCHASE", "/basket").bearer(FULL).scopes("shop:buy");
    ask.key(key).json(&json!({ "lamp_id": lamp }))
}

fn negotiated() -> Ask {
    verb("FIND", "/cheapest?category=desk").bearer(FULL).scopes("rcns:negotiate").header("Allow-RCNS", "true")
}

fn staff(method: &str, input: &Value) -> Ask {
    verb(method, "/").bearer(STAFF).scopes("agtp:operate, inspect:all").json(input)
}

/// A refusal of negotiation, with the id of the attempt that INSPECT knows.
#[track_caller]
fn assert_no_contract(response: &crate::support::Response, reason: &str) {
    assert_says(response, 464, "reason", reason, reason);
    let ids = response.headers.all("rcns-attempt-id");
    assert!(ids.len() == 1 && !ids[0].is_empty(), "{reason}: {:?}", response.headers);
}

/// The shop, and capabilities that look up what the site says at these places.
async fn looking_up(places: &[(&str, &str, &str)]) -> (Origin, Desk) {
    let one = |(name, upstream, more): &(&str, &str, &str)| {
        lookup(&format!("p.{name}"), &format!("FETCH /p/{name}"), upstream, "") + more
    };
    let all: String = places.iter().map(one).collect();
    with(|setup| setup.tail(&all)).await
}

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
    // Whoever escalates does not confirm it too.
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

// 4xx: the request

#[tokio::test]
async fn status_400_says_what_cannot_be_read() {
    let (_origin, desk) = with(synthesising).await;
    for target in ["/catalog#top", "/catalog?a=1#top", "#", "catalog", "*"] {
        let response = desk.speak(verb("QUERY", target)).await;
        assert_code(&response, 400, "invalid-request-line", target);
    }
    let malformed = anonymous("QUERY", "/catalog").header("Agent-ID", "agt-7f3a");
    assert_code(&desk.call(malformed).await, 400, "invalid-canonical-id", "a name that is none");
    for body in ["{", "{\"a\":1}{", "nonsense", "{\"a\":}", "\u{feff}{}"] {
        let ask = verb("QUERY", "/catalog").header("Content-Type", "application/vnd.agtp+json").body(body);
        assert_refusal(&desk.call(ask).await, 400, body);
    }
    let deep = verb("QUERY", "/catalog").header("Content-Type", "application/json").body("[".repeat(20_000));
    assert_refusal(&desk.call(deep).await, 400, "deeper than anybody means");
    let endpoint = proposal("QUERY", "/stock", json!({}));
    let both = json!({ "endpoint": endpoint, "name": "stock" });
    assert_says(&desk.call(verb("PROPOSE", "/").json(&both)).await, 400, "reason", "ambiguous-body", "two forms");
}

#[tokio::test]
async fn status_401_says_who_is_not_known() {
    let (origin, desk) = open().await;
    let nobody = anonymous("FETCH", "/lamps/L1");
    assert_says(&desk.call(nobody).await, 401, "reason", "agent-unauthenticated", "no name");
    for key in ["made-up", "", &FULL[1..]] {
        let ask = verb("PURCHASE", "/basket").bearer(key).scopes("shop:buy").key("k").json(&json!({ "lamp_id": "L1" }));
        let body = assert_refusal(&desk.call(ask).await, 401, key);
        member(&body, "reason", key);
    }
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn status_403_is_for_what_only_operators_may() {
    let (_origin, desk) = with(hosting).await;
    let input = json!({ "agent_id": HOSTED, "reason": "because" });
    for method in ["ACTIVATE", "DEACTIVATE", "REINSTATE", "REVOKE", "DEPRECATE"] {
        for (who, ask) in [
            ("nobody", verb(method, "/")),
            ("a claim", verb(method, "/").scopes("agtp:operate")),
            ("a customer", verb(method, "/").bearer(FULL).scopes("agtp:operate")),
            ("the agent itself", verb(method, "/").agent(HOSTED).scopes("agtp:operate")),
        ] {
            assert_refusal(&desk.call(ask.json(&input)).await, 403, &format!("{method} by {who}"));
        }
    }
    assert_told(&desk.call(verb("QUERY", "/catalog")).await, 200, "nothing has happened");
    let (_origin, desk) = with(|setup| hosting(setup).set("agtp", "inspect = \"operator_only\"")).await;
    let head = json!({ "target": "chain_head", "agent_id": HOSTED });
    assert_refusal(&desk.call(verb("INSPECT", "/").json(&head)).await, 403, "the chain is the operator's");
    assert_told(&desk.call(staff("INSPECT", &head)).await, 200, "who is this");
}

#[tokio::test]
async fn status_401_or_403_keeps_the_chain_from_who_may_not_read_it() {
    let (_origin, desk) = with(hosting).await;
    let head = json!({ "target": "chain_head", "agent_id": HOSTED });
    let nobody = desk.call(anonymous("INSPECT", "/").json(&head)).await;
    assert!([401, 403].contains(&nobody.status), "agents only: {} {}", nobody.status, nobody.text());
    assert_told(&desk.call(verb("INSPECT", "/").json(&head)).await, 200, "an agent");
    let (_origin, desk) = with(|setup| hosting(setup).set("agtp", "inspect = \"public\"")).await;
    assert_told(&desk.call(anonymous("INSPECT", "/").json(&head)).await, 200, "anybody");
}

#[tokio::test]
async fn status_404_is_for_paths_genesis_records_and_contracts_that_are_not_there() {
    let (origin, desk) = open().await;
    assert_refusal(&desk.call(verb("FETCH", "/nowhere")).await, 404, "a path");
    assert_refusal(&desk.call(verb("DISCOVER", "/genesis")).await, 404, "no Genesis is loaded");
    assert_refusal(&desk.call(verb("DISCOVER", "/nowhere")).await, 404, "no built-in");
    assert_refusal(&desk.call(verb("QUERY", "/stock?lamp_id=L1")).await, 404, "what is not exposed");
    let presented = verb("QUERY", "/catalog").header("Contract-Synthesized", "01991b5e00007000");
    assert_refusal(&desk.call(presented).await, 404, "a contract");
    let audit = json!({ "target": "audit", "audit_id": "0".repeat(64) });
    assert_refusal(&desk.call(verb("INSPECT", "/").json(&audit)).await, 404, "a record");
    let notice = json!({ "recipient": "agtp://nobody.test", "content": "hello" });
    assert_refusal(&desk.call(verb("NOTIFY", "/").json(&notice)).await, 404, "a recipient");
    assert!(upstream_calls(&origin).is_empty() && origin.asked().is_empty());
}

#[tokio::test]
async fn status_405_lists_what_would_do() {
    let redirect = "\n[[agtp.policies.methods.redirects]]\nfrom_method = \"BOOK\"\nfrom_path = \"/basket\"\n\
        to_method = \"PURCHASE\"\nto_path = \"/basket\"\n";
    let more = lookup("basket.look", "FETCH /basket", "path = \"/api/items\"", "");
    let (_origin, desk) = with(|setup| setup.tail(&more).tail(redirect)).await;
    let body = assert_refusal(&desk.call(verb("REMOVE", "/basket")).await, 405, "neither");
    let mut allowed: Vec<Value> =
        member(&body, "allowed_methods_for_path", "neither").as_array().expect("a list").clone();
    allowed.sort_by_key(ToString::to_string);
    assert_eq!(allowed, ["FETCH", "PURCHASE"]);
    assert_eq!(member(&body, "redirects_for_path", "neither"), json!({ "BOOK": "PURCHASE" }));
    let body = assert_refusal(&desk.call(verb("REMOVE", "/catalog")).await, 405, "elsewhere");
    assert_eq!(member(&body, "redirects_for_path", "elsewhere"), json!({}));
}

#[tokio::test]
async fn status_408_is_never_the_sites_slowness() {
    let (_origin, desk) = looking_up(&[("slow", "path = \"/api/never\", timeout = \"300ms\"", "")]).await;
    let response = desk.call(verb("FETCH", "/p/slow").header("TTL", "1")).await;
    assert_code(&response, 422, "upstream_timeout", "and TTL is not looked at");
}

#[tokio::test]
async fn status_409_is_a_key_that_stands_for_something_else() {
    let (origin, desk) = open().await;
    assert_told(&desk.call(purchase("L1", "k-1")).await, 200, "first");
    assert_refusal(&desk.call(purchase("L2", "k-1")).await, 409, "another lamp");
    assert_eq!(upstream_calls(&origin).len(), 1);
}

#[tokio::test]
async fn status_410_is_an_agent_that_was_revoked() {
    let (origin, desk) = with(hosting).await;
    let input = json!({ "agent_id": HOSTED, "reason": "retired" });
    assert_told(&desk.call(staff("REVOKE", &input)).await, 200, "revoked");
    assert_refusal(&desk.call(verb("QUERY", "/catalog")).await, 410, "its endpoints");
    assert!(upstream_calls(&origin).is_empty());
}

// 422: every named failure

#[tokio::test]
async fn status_422_names_each_failure_of_the_site() {
    let dead = dead_address();
    let (origin, desk) = looking_up(&[
        ("slow", "path = \"/api/never\", timeout = \"300ms\"", ""),
        ("dead", &format!("url = \"https://{dead}/api\", timeout = \"2s\""), ""),
        ("page", "path = \"/api/page\"", ""),
        ("refused", "path = \"/api/status/401\"", ""),
        ("forbidden", "path = \"/api/status/403\"", ""),
        ("broken", "path = \"/api/status/500\"", ""),
        ("away", "path = \"/api/status/503\"", ""),
        ("lost", "path = \"/api/status/404\"", ""),
        ("mapped", "path = \"/api/status/403\", errors = { \"403\" = \"members_only\" }", ""),
    ])
    .await;
    for (name, code, status) in [
        ("slow", "upstream_timeout", None),
        ("dead", "upstream_connection_error", None),
        ("page", "upstream_malformed_response", Some(200)),
        ("refused", "upstream_authentication_failed", Some(401)),
        ("forbidden", "upstream_authentication_failed", Some(403)),
        ("broken", "upstream_error", Some(500)),
        ("away", "upstream_error", Some(503)),
        ("lost", "upstream_error", Some(404)),
        ("mapped", "members_only", Some(403)),
    ] {
        let response = desk.call(verb("FETCH", &format!("/p/{name}"))).await;
        let body = assert_code(&response, 422, code, name);
        let error = &body["error"];
        assert_eq!((&error["method"], &error["path"]), (&json!("FETCH"), &json!(format!("/p/{name}"))), "{body}");
        if let Some(status) = status {
            assert_eq!(error["details"]["upstream_status"], status, "{name}: {body}");
        }
        for inner in ["/api/", "127.0.0.1", &origin.url(), "a status"] {
            assert!(!response.text().contains(inner), "{name}: {inner} of the site in {body}");
        }
        assert_eq!(response.headers.all("retry-after").len(), 0, "{name}: the site's trouble is not ours");
    }
}

#[tokio::test]
async fn status_422_names_the_input_that_is_wrong() {
    let (_origin, desk) = open().await;
    let body = assert_refusal(&desk.call(verb("QUERY", "/catalog?colour=red")).await, 422, "an input of nobody's");
    assert!(body["error"]["details"].to_string().contains("colour"), "{body}");
    let body = assert_refusal(&desk.call(verb("CREATE", "/wishes").json(&json!({ "note": "x" }))).await, 422, "none");
    assert!(body["error"]["details"].to_string().contains("lamp_id"), "{body}");
}

#[tokio::test]
async fn status_422_names_the_step_that_failed() {
    let (origin, desk) = with(|setup| setup.tail(RECIPE).tail(COMPOSED)).await;
    let body = assert_code(
        &desk.call(verb("FIND", "/first-lamp?category=chairs")).await,
        422,
        "composition_failed",
        "its first step",
    );
    assert_eq!(body["error"]["details"]["recipe"], "first-of", "{body}");
    assert_eq!(upstream_calls(&origin).len(), 1, "no further step");
}

#[tokio::test]
async fn status_422_is_what_cannot_be_done_here_honestly() {
    let (_origin, desk) = open().await;
    for (method, input) in [("SUMMARIZE", json!({ "source": "text" })), ("PLAN", json!({ "goal": "light" }))] {
        assert_code(&desk.call(verb(method, "/").json(&input)).await, 422, "not-supported-here", method);
    }
}

#[tokio::test]
async fn status_429_says_when_to_come_back() {
    let origin = Origin::start(lamps::says()).await;
    let desk = lamps::before(&origin).limits(&[("anonymous", "2/minute")]).start().await;
    for _ in 0..2 {
        assert_told(&desk.call(verb("QUERY", "/catalog")).await, 200, "within");
    }
    let response = desk.call(verb("QUERY", "/catalog")).await;
    let body = assert_refusal(&response, 429, "beyond");
    let wait: u64 = response.header("retry-after").and_then(|w| w.parse().ok()).expect("Retry-After in seconds");
    assert!((1..=60).contains(&wait), "{wait}");
    assert_ne!(body["scope"], "rcns", "{body}");
    assert_eq!(upstream_calls(&origin).len(), 2);
}

#[tokio::test]
async fn status_429_of_negotiation_says_so_and_leaves_the_rest_alone() {
    let (_origin, desk) = with(|setup| negotiating(setup, "rate_limit_per_minute = 2\n")).await;
    let first = assert_told(&desk.speak(negotiated()).await, 461, "one");
    assert_told(&desk.speak(negotiated()).await, 461, "two");
    let response = desk.speak(negotiated()).await;
    assert_says(&response, 429, "scope", "rcns", "three");
    assert!(response.header("retry-after").is_some_and(|w| w.parse::<u64>().is_ok()), "{:?}", response.headers);
    assert_told(&desk.speak(negotiated().agent(OTHER)).await, 461, "each agent has its own");
    let id = first["synthesis_id"].as_str().expect("a synthesis_id");
    let presented = verb("FIND", "/cheapest?category=desk").bearer(FULL).header("Contract-Synthesized", id);
    assert_told(&desk.speak(presented).await, 200, "a contract in hand is no negotiation");
    assert_told(&desk.speak(verb("QUERY", "/catalog")).await, 200, "nor is anything else");
}

// 45x and 46x

#[tokio::test]
async fn status_455_says_which_scope_is_missing() {
    let (origin, desk) = open().await;
    let body = assert_refusal(&desk.call(verb("FETCH", "/hours").scopes("shop:look")).await, 455, "another claim");
    assert!(body.to_string().contains("hours:read"), "{body}");
    let bare = purchase("L1", "k-1");
    let bare = Ask { headers: bare.headers.into_iter().filter(|(n, _)| n != "Authorization").collect(), ..bare };
    assert_refusal(&desk.call(bare.bearer(lamps::BARE)).await, 455, "a credential without it");
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn status_459_names_the_method_and_the_catalog() {
    let (_origin, desk) = open().await;
    let body =
        assert_says(&desk.speak(verb("FROBNICATE", "/catalog")).await, 459, "method", "FROBNICATE", "of nobody's");
    assert_eq!(member(&body, "catalog_version", "459"), "1.0.0");
}

#[tokio::test]
async fn status_460_names_the_segment() {
    let (_origin, desk) = open().await;
    for (path, segment) in [("/lamps/edit", "edit"), ("/Check-Out/x", "Check-Out"), ("/lamps/", "")] {
        assert_says(&desk.call(verb("FETCH", path)).await, 460, "segment", segment, path);
    }
}

#[tokio::test]
async fn status_461_previews_what_would_be_done() {
    let (origin, desk) = with(|setup| negotiating(setup, "")).await;
    let body = assert_told(&desk.speak(negotiated()).await, 461, "a preview");
    for name in ["synthesis_id", "method", "path", "expires_at"] {
        assert!(body[name].is_string(), "{name} of {body}");
    }
    assert!(is_hash(&body["contract_hash"]), "{body}");
    assert_eq!(body["recipe_lineage"], json!({ "recipe_name": "first-of", "recipe_version": "1" }), "{body}");
    for name in ["semantic", "input_schema", "output_schema", "errors", "handler"] {
        assert!(!body["endpoint"][name].is_null(), "{name} of {body}");
    }
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn status_461_is_left_out_where_the_operator_is_an_optimist() {
    let (origin, desk) = with(|setup| signing(negotiating(setup, "mode = \"optimistic\"\n"))).await;
    let response = desk.speak(negotiated()).await;
    assert_told(&response, 200, "done at once");
    assert_eq!(upstream_calls(&origin).len(), 2);
    let id = response.header("contract-synthesized").expect("the contract it was done under").to_owned();
    let record = record(&response, "done at once");
    assert_eq!((&record["synthesis_id"], &record["negotiation_origin"]), (&json!(id), &json!("rcns-gate")), "{record}");
    assert!(is_hash(&record["contract_hash"]), "{record}");
    let again = verb("FIND", "/cheapest?category=desk").bearer(FULL).header("Contract-Synthesized", &id);
    assert_told(&desk.speak(again).await, 200, "again, under it");
    // A name alone is a claim: the contracts are those of the agent behind this credential.
    let listed = desk.speak(verb("DISCOVER", "/contracts").bearer(FULL)).await.json();
    assert_eq!(listed[0]["synthesis_id"], id, "{listed}");
    assert_eq!(listed[0]["originating_agent_id"], CALLER, "{listed}");
    assert_eq!(listed[0]["contract_hash"], record["contract_hash"], "{listed}");
    for ask in [verb("DISCOVER", "/contracts").agent(OTHER).bearer(FULL), verb("DISCOVER", "/contracts")] {
        assert_eq!(desk.speak(ask).await.json(), json!([]), "another's are nobody's business");
    }
}

#[tokio::test]
async fn status_463_says_why_not() {
    let wanted = proposal("QUERY", "/stock", json!({ "lamp_id": { "type": "string" } }));
    let (_origin, desk) = open().await;
    assert_says(&desk.call(propose(&wanted)).await, 463, "reason", "synthesis-disabled", "off");
    let policy = "disallow = [\"LOOKUP\"]";
    let hidden = lookup("inner.moons", "LOOKUP /moons", "path = \"/api/items\"", "") + "exposed = false\n";
    let (_origin, desk) = with(|setup| synthesising(setup).set("agtp.policies.methods", policy).tail(&hidden)).await;
    let nothing = proposal("EXPLORE", "/suns", json!({}));
    let body = assert_says(&desk.call(propose(&nothing)).await, 463, "reason", "composition-impossible", "no material");
    assert!(member(&body, "explanation", "no material").as_str().is_some_and(|e| e.len() > 10), "{body}");
    let disallowed = proposal("LOOKUP", "/moons", json!({}));
    assert_says(&desk.call(propose(&disallowed)).await, 463, "reason", "policy-refused", "material, and a policy");
}

/// §8.7 would refuse a plan that is too deep with 463; here no such recipe gets as far as a proposal.
#[test]
fn status_463_is_not_needed_for_what_is_too_deep() {
    let setup = synthesising(lamps::alone()).set("agtp.policies", "max_synthesis_depth = 1");
    let dir = Dir::new();
    dir.write("frontdesk.toml", setup.text(&Ports::free()));
    let (code, out, err) = run_to_end(&["check", "frontdesk.toml"], dir.path());
    assert!(code == 1 && (out + &err).contains("max_synthesis_depth"), "two steps where one may be");
}

#[tokio::test]
async fn status_464_says_why_there_is_no_contract_and_which_attempt_it_was() {
    let (_origin, desk) = with(synthesising).await;
    assert_no_contract(&desk.speak(negotiated()).await, "rcns-disabled");
    let (_origin, desk) = with(|setup| negotiating(setup, "min_trust_tier = 1\n")).await;
    assert_no_contract(&desk.speak(negotiated()).await, "trust-tier-insufficient");
    let (origin, desk) = with(|setup| negotiating(setup, "")).await;
    let nothing = verb("EXPLORE", "/suns").bearer(FULL).scopes("rcns:negotiate").header("Allow-RCNS", "true");
    let response = desk.speak(nothing).await;
    assert_no_contract(&response, "composition-impossible");
    let attempt = response.header("rcns-attempt-id").expect("an id");
    let asked = json!({ "target": "rcns-attempt", "attempt_id": attempt });
    let told = assert_told(&desk.speak(verb("INSPECT", "/").json(&asked)).await, 200, "the attempt");
    assert!(told.to_string().contains("composition-impossible"), "{told}");
    let body = assert_told(&desk.speak(negotiated()).await, 461, "a contract");
    let id = body["synthesis_id"].as_str().expect("a synthesis_id");
    let presented = verb("FIND", "/cheapest?category=desk").bearer(FULL).header("Contract-Synthesized", id);
    assert_no_contract(&desk.speak(presented.clone().agent(OTHER)).await, "contract-not-yours");
    assert_told(
        &desk.speak(verb("SUSPEND", "/").bearer(FULL).json(&json!({ "synthesis_id": id }))).await,
        200,
        "released",
    );
    assert_no_contract(&desk.speak(presented).await, "contract-revoked");
    assert!(upstream_calls(&origin).is_empty());
}

// 5xx

#[tokio::test]
async fn status_501_refuses_a_chain_of_delegation() {
    let (origin, desk) = open().await;
    let ask = verb("QUERY", "/catalog").header("Delegation-Chain", "a,b,c");
    assert_refusal(&desk.call(ask).await, 501, "it cannot be verified");
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn status_503_is_an_agent_that_sleeps_and_can_be_woken() {
    let (origin, desk) = with(hosting).await;
    let input = json!({ "agent_id": HOSTED, "reason": "maintenance" });
    assert_told(&desk.call(staff("DEACTIVATE", &input)).await, 200, "asleep");
    for ask in [verb("QUERY", "/catalog"), purchase("L1", "k-1")] {
        assert_refusal(&desk.call(ask).await, 503, "asleep");
    }
    assert!(upstream_calls(&origin).is_empty());
    assert_told(&desk.call(staff("REINSTATE", &input)).await, 200, "the way back is open");
    assert_told(&desk.call(verb("QUERY", "/catalog")).await, 200, "awake");
}

#[tokio::test]
async fn status_503_is_a_store_that_is_away_and_says_when_to_come_back() {
    let dead = format!("url = \"redis://{}/0\"", dead_address());
    let (origin, desk) = with(|setup| setup.set("store", &dead)).await;
    let response = desk.call(purchase("L1", "k-1")).await;
    assert_refusal(&response, 503, "a key that nobody can keep");
    assert!(response.header("retry-after").is_some_and(|w| w.parse::<u64>().is_ok()), "{:?}", response.headers);
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn status_551_refuses_a_delegation_that_nobody_can_verify() {
    let (origin, desk) = open().await;
    let asked = json!({
        "target_agent_id": OTHER, "task": { "do": "it" }, "authority_scope": ["shop:look"], "delegation_token": "abc",
    });
    assert_refusal(&desk.call(verb("DELEGATE", "/").json(&asked)).await, 551, "a token of unknown form");
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn status_of_suspend_is_200_with_a_nonce_for_one_return() {
    let (_origin, desk) = open().await;
    let asked = json!({ "session_id": "s-5f0c7a1e9b2d4c66", "reason": "awaiting_input" });
    let body = assert_told(&desk.call(verb("SUSPEND", "/").json(&asked)).await, 200, "a session");
    assert_eq!((&body["status"], &body["session_id"]), (&json!("suspended"), &asked["session_id"]), "{body}");
    assert!(body["suspension_id"].is_string() && body["resume_by"].is_string(), "{body}");
    assert_eq!(body["resumption_nonce"].as_str().map(str::len), Some(22), "{body}");
}

#[tokio::test]
async fn status_of_inspect_is_200_for_what_is_on_record() {
    let (_origin, desk) = with(hosting).await;
    let done = desk.call(verb("QUERY", "/catalog")).await;
    let id = done.header("audit-id").expect("an Audit-ID").to_owned();
    let asked = verb("INSPECT", "/").json(&json!({ "target": "audit", "audit_id": id }));
    // A head is announced once it is stored, and that happens in batches.
    eventually("it is stored", SOON, async || desk.call(asked.clone()).await.status == 200).await;
    let body = assert_told(&desk.call(asked).await, 200, "a record");
    assert_eq!(body["jws"].as_str(), done.header("attribution-record"), "{body}");
    assert_eq!(body["payload"], record(&done, "a call"), "{body}");
    assert_eq!(body["header"]["alg"], "EdDSA", "{body}");
    let head = verb("INSPECT", "/").json(&json!({ "target": "chain_head", "agent_id": HOSTED }));
    let body = assert_told(&desk.call(head).await, 200, "the head");
    assert!(is_hash(&body["audit_id"]), "{body}");
}

// The dead ones

#[tokio::test]
async fn status_numbers_that_are_dead_or_reserved_are_nowhere_published() {
    const DEAD: [&str; 9] = ["451", "452", "453", "462", "465", "552", "553", "554", "555"];
    let (_origin, desk) = with(|setup| hosting(negotiating(setup, "")).tail(COMPOSED)).await;
    let mut published = Vec::new();
    for target in ["/", "/methods", "/agents", "/genesis", "/tools", "/apis", "/patterns", "/contracts"] {
        published.push((target.to_owned(), desk.call(verb("DISCOVER", target)).await.text()));
    }
    published.push(("the manifest".into(), desk.published().await.to_string()));
    published.push(("the identity".into(), desk.call(verb("DESCRIBE", "/")).await.text()));
    for path in ["/.well-known/agtp", "/openapi.json", "/.well-known/agent.json", TOML] {
        let response = desk.get(path).await;
        assert_eq!(response.status, 200, "{path}");
        published.push((path.to_owned(), response.text()));
    }
    for args in [&["export", "agtp", "frontdesk.toml"][..], &["export", "agtp", "frontdesk.toml", "--as", "openapi"]] {
        let (code, out, err) = run_to_end(args, desk.dir.path());
        assert_eq!(code, 0, "{args:?}: {out}{err}");
        published.push((args.join(" "), out));
    }
    for (what, text) in &published {
        for token in text.split(|c: char| !c.is_ascii_alphanumeric()) {
            assert!(!DEAD.contains(&token), "{token} in {what}: {text}");
        }
    }
}

#[tokio::test]
async fn status_lines_have_a_reason_and_three_digits() {
    let (_origin, desk) = open().await;
    for (ask, line) in [
        (verb("QUERY", "/catalog"), "AGTP/1.0 200 OK"),
        (verb("FETCH", "/hours"), "AGTP/1.0 262 Authorization Required"),
        (verb("FETCH", "/nowhere"), "AGTP/1.0 404 Not Found"),
        (verb("BOOK", "/catalog"), "AGTP/1.0 405 Method Not Allowed"),
        (verb("FETCH", "/hours").scopes("a:b"), "AGTP/1.0 455 Scope Violation"),
        (verb("FROBNICATE", "/catalog"), "AGTP/1.0 459 Method Violation"),
        (verb("BOOK", "/search"), "AGTP/1.0 460 Endpoint Violation"),
        (propose(&proposal("QUERY", "/stock", json!({}))), "AGTP/1.0 463 Proposal Rejected"),
        (negotiated(), "AGTP/1.0 464 RCNS No Contract"),
    ] {
        let mut conn = desk.socket().await;
        conn.send(ask.frame()).await;
        let told = String::from_utf8(conn.until("\r\n").await).expect("text");
        assert_eq!(told.trim_end(), line, "{} {}", ask.method, ask.target);
    }
}

/// The site is asked for nothing by a verb that is refused: not even through the back door of its own methods.
#[tokio::test]
async fn status_refusals_leave_the_site_alone() {
    let (origin, desk) = open().await;
    for ask in
        [verb("BOOK", "/nowhere"), verb("BOOK", "/catalog"), verb("BOOK", "/search"), anonymous("FETCH", "/lamps/L1")]
    {
        assert!(desk.call(ask).await.status >= 400);
    }
    let asked: Vec<Request> = origin.asked();
    assert!(asked.is_empty(), "{asked:?}");
}
