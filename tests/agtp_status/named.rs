//! Statuses 45x and above: the protocol's own numbers, and the retired ones.

use super::*;

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
    assert_refusal(&desk.call(verb("SUSPEND", "/").json(&asked)).await, 404, "a session that nobody used");
    let used = verb("QUERY", "/catalog").header("Session-ID", "s-5f0c7a1e9b2d4c66");
    assert_told(&desk.call(used).await, 200, "something asked in it");
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
    eventually("it is on record", SOON, async || desk.call(asked.clone()).await.status == 200).await;
    let body = assert_told(&desk.call(asked).await, 200, "a record");
    assert_eq!(body["jws"].as_str(), done.header("attribution-record"), "{body}");
    assert_eq!(body["payload"], record(&done, "a call"), "{body}");
    assert_eq!(body["header"]["alg"], "EdDSA", "{body}");
    let head = verb("INSPECT", "/").json(&json!({ "target": "chain_head", "agent_id": HOSTED }));
    // A head is announced once it is stored, and that happens in batches.
    let stored = async || is_hash(&desk.call(head.clone()).await.json()["audit_id"]);
    eventually("it is stored", SOON, stored).await;
    assert_told(&desk.call(head.clone()).await, 200, "the head");
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

#[tokio::test]
async fn status_400_of_a_line_whose_verb_can_be_read_is_on_record() {
    let (_origin, desk) = with(hosting).await;
    for line in ["QUERY /a#b", "QUERY ?x=1", "QUERY /a b"] {
        let frame = format!("AGTP/1.0 {line}\r\nAgent-ID: {}\r\nContent-Length: 0\r\n\r\n", "a0".repeat(32));
        let said = desk.frames(frame).await;
        assert_eq!(said.status, 400, "{line}: {}", said.text());
        assert!(record(&said, line).is_object(), "{line}");
    }
}
