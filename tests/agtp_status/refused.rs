//! Statuses 400 to 429: mistakes in the request.

use super::*;

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
    assert_eq!(member(&body, "retry_after", "beyond"), wait, "the body says what the header says");
    assert_ne!(body["scope"], "rcns", "{body}");
    assert_eq!(upstream_calls(&origin).len(), 2);
}

#[tokio::test]
async fn status_429_of_negotiation_says_so_and_leaves_the_rest_alone() {
    let (_origin, desk) = with(|setup| negotiating(setup, "rate_limit_per_minute = 2\n")).await;
    let first = assert_told(&desk.speak(negotiated()).await, 461, "one");
    assert_told(&desk.speak(negotiated()).await, 461, "two");
    let response = desk.speak(negotiated()).await;
    let body = assert_says(&response, 429, "scope", "rcns", "three");
    let wait: u64 = response.header("retry-after").and_then(|w| w.parse().ok()).expect("Retry-After in seconds");
    assert_eq!(member(&body, "retry_after", "three"), wait, "the body says what the header says");
    assert_told(&desk.speak(negotiated().agent(OTHER)).await, 461, "each agent has its own");
    let id = first["synthesis_id"].as_str().expect("a synthesis_id");
    let presented = verb("FIND", "/cheapest?category=desk").bearer(FULL).header("Contract-Synthesized", id);
    assert_told(&desk.speak(presented).await, 200, "a contract in hand is no negotiation");
    assert_told(&desk.speak(verb("QUERY", "/catalog")).await, 200, "nor is anything else");
}
