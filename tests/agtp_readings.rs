//! Promise: where the drafts are silent or disagree, the reading that was chosen is the one that holds: A1 to A40, each a test.

use crate::support::calls::{last_upstream, upstream_calls};
use crate::support::desk::run_to_end;
use crate::support::jwks::text;
use crate::support::lamps::{
    self, FULL, GENESIS, HOSTED, RECIPE, STAFF, hosting, lookup, negotiating, open, signing, synthesising, with,
};
use crate::support::verbs::{
    CALLER, MANIFEST, OTHER, anonymous, assert_code, assert_refusal, assert_says, assert_told, assert_unconfirmed,
    is_hash, member, proposal, propose, record, sha256, verb,
};
use crate::support::{
    Ask, Conn, Desk, Dir, Framing, Gate, Origin, Ports, Reply, Request, SOON, Setup, Step, eventually,
};
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

const IDENTITY: &str = "application/vnd.agtp.identity+json";

/// What `frontdesk check` makes of a setup: whether it passes, and what it says.
fn checked(setup: &Setup) -> (bool, String) {
    let dir = Dir::new();
    setup.write_files(&dir);
    dir.write("frontdesk.toml", setup.text(&Ports::free()));
    let (code, out, err) = run_to_end(&["check", "frontdesk.toml"], dir.path());
    (code == 0, out + &err)
}

#[track_caller]
fn assert_refused_at_load(setup: &Setup, words: &[&str], what: &str) {
    let (passes, said) = checked(setup);
    assert!(!passes, "{what} is let through: {said}");
    for word in words {
        assert!(said.contains(word), "{what}: no {word} in {said}");
    }
}

#[track_caller]
fn assert_accepted_at_load(setup: &Setup, what: &str) {
    let (passes, said) = checked(setup);
    assert!(passes, "{what}: {said}");
}

fn redirect(from: &str, to: &str) -> String {
    let half = |side: &str, pair: &str| {
        let (method, path) = pair.split_once(' ').unwrap_or((pair, ""));
        let path = if path.is_empty() { String::new() } else { format!("{side}_path = \"{path}\"\n") };
        format!("{side}_method = \"{method}\"\n{path}")
    };
    format!("\n[[agtp.policies.methods.redirects]]\n{}{}", half("from", from), half("to", to))
}

/// A purchase in order, with this key.
fn purchase(lamp: &str, key: &str) -> Ask {
    let ask = verb("PURCHASE", "/basket").bearer(FULL).scopes("shop:buy");
    ask.key(key).json(&json!({ "lamp_id": lamp }))
}

fn wish(input: &Value) -> Ask {
    verb("CREATE", "/wishes").json(input)
}

/// What somebody who runs the server asks of it.
fn staff(method: &str, input: &Value) -> Ask {
    verb(method, "/").bearer(STAFF).scopes("agtp:operate, inspect:all").json(input)
}

/// A request that nothing stands ready for, of a caller who would negotiate.
fn unregistered() -> Ask {
    verb("FIND", "/cheapest?category=desk").bearer(FULL).scopes("rcns:negotiate").header("Allow-RCNS", "true")
}

#[tokio::test]
async fn a01_discover_of_the_root_is_the_manifest_to_nobody_and_the_directory_to_an_agent() {
    let (_origin, desk) = open().await;
    for via_socket in [false, true] {
        let asked = async |ask: Ask| if via_socket { desk.speak(ask).await } else { desk.call(ask).await };
        let manifest = asked(anonymous("DISCOVER", "/")).await;
        assert_eq!(manifest.media_type(), MANIFEST);
        assert!(assert_told(&manifest, 200, "nobody")["endpoints"].is_array());
        let directory = assert_told(&asked(verb("DISCOVER", "/")).await, 200, "an agent");
        assert!(directory["directory"].is_array() && directory.get("endpoints").is_none(), "{directory}");
        let forced = asked(Ask::new("DISCOVER", "/").agent(CALLER).accept(MANIFEST)).await;
        assert_eq!(forced.media_type(), MANIFEST, "an agent who asks for it");
        assert!(assert_told(&forced, 200, "an agent who asks for it")["endpoints"].is_array());
    }
}

#[tokio::test]
async fn a02_agent_id_is_who_calls_and_the_hosted_agent_may_be_named_by_it() {
    let (_origin, desk) = with(hosting).await;
    assert_told(&desk.call(verb("QUERY", "/catalog")).await, 200, "an agent that nobody knows");
    for id in [CALLER, OTHER, HOSTED] {
        let body = assert_told(&desk.call(verb("DESCRIBE", "/").agent(id)).await, 200, id);
        assert_eq!(body["agent_id"], HOSTED, "whoever asks, the hosted agent is described");
        assert_eq!(desk.call(verb("DISCOVER", "/genesis").agent(id)).await.text(), GENESIS, "{id}");
    }
    let named = desk.call(verb("DISCOVER", &format!("/genesis?agent_id={HOSTED}"))).await;
    assert_eq!(named.text(), GENESIS);
    assert_refusal(&desk.call(verb("DISCOVER", &format!("/genesis?agent_id={OTHER}"))).await, 404, "not hosted here");
}

#[tokio::test]
async fn a03_too_little_scope_is_455_and_none_at_all_262() {
    let (origin, desk) = open().await;
    // Without a credential where none is wanted: the claim alone is compared.
    let hours = || verb("FETCH", "/hours");
    assert_says(&desk.call(hours()).await, 262, "type", "scope-required", "no claim");
    assert_refusal(&desk.call(hours().scopes("shop:buy, hours:write")).await, 455, "another claim");
    assert_told(&desk.call(hours().scopes("shop:buy, hours:read")).await, 200, "the claim");
    assert_told(&desk.call(anonymous("FETCH", "/hours").scopes("hours:read")).await, 200, "nobody's claim");
    let before = upstream_calls(&origin).len();
    // Where a credential is wanted, the claim adds nothing to it and the credential nothing to the claim.
    let voucher = || verb("REDEEM", "/vouchers").json(&json!({ "number": "7" }));
    for ask in [voucher(), voucher().scopes("shop:gift")] {
        assert_says(&desk.call(ask).await, 262, "type", "credentials-missing", "no credential");
    }
    assert_refusal(&desk.call(voucher().bearer(lamps::BARE).scopes("shop:gift")).await, 455, "claimed, not granted");
    assert_refusal(&desk.call(voucher().bearer(FULL).scopes("shop:buy")).await, 455, "granted, not claimed");
    assert_says(&desk.call(voucher().bearer(FULL)).await, 262, "type", "scope-required", "granted, nothing claimed");
    assert_eq!(upstream_calls(&origin).len(), before);
    assert_told(&desk.call(voucher().bearer(FULL).scopes("shop:gift")).await, 200, "both");
    let (_origin, desk) = with(|setup| setup.set("agtp", "scope_violation = 262")).await;
    let soft = desk.call(hours().scopes("shop:buy")).await;
    assert_says(&soft, 262, "type", "scope-required", "for callers that expect it");
}

#[tokio::test]
async fn a04_get_is_fetch_and_its_own_only_where_no_alias_is() {
    let (origin, desk) = with(signing).await;
    let got = desk.speak(verb("GET", "/lamps/L1")).await;
    assert_told(&got, 200, "an alias of the seed");
    assert_eq!(record(&got, "aliased")["requested_method"], "GET");
    assert!(record(&desk.speak(verb("FETCH", "/lamps/L1")).await, "itself").get("requested_method").is_none());
    assert_told(&desk.speak(verb("POST", "/wishes").json(&json!({ "lamp_id": "L1" }))).await, 200, "POST is CREATE");
    assert_eq!(last_upstream(&origin).target, "/api/wishes");
    assert_refusal(&desk.speak(verb("GET", "/catalog")).await, 405, "FETCH is not exposed there");
    // Without aliases: refused, or by §3.6 where the operator lists it.
    let (_origin, desk) = with(|setup| setup.set("agtp.policies.methods", "aliases = {}")).await;
    assert_refusal(&desk.speak(verb("GET", "/catalog")).await, 459, "not listed");
    let lines = "aliases = {}\nlegacy = [\"GET\"]";
    let (_origin, desk) = with(|setup| setup.set("agtp.policies.methods", lines)).await;
    assert_told(&desk.speak(verb("GET", "/catalog")).await, 200, "GET is QUERY");
    assert_refusal(&desk.speak(verb("PUT", "/catalog")).await, 459, "not listed");
}

#[tokio::test]
async fn a05_a_path_nobody_knows_is_404_and_one_known_by_another_verb_405() {
    let (_origin, desk) = open().await;
    assert_refusal(&desk.call(verb("BOOK", "/nowhere")).await, 404, "unknown under every verb");
    let body = assert_refusal(&desk.call(verb("BOOK", "/lamps/L1")).await, 405, "known under another");
    assert_eq!(member(&body, "allowed_methods_for_path", "a template's"), json!(["FETCH"]));
    let body = assert_refusal(&desk.call(verb("BOOK", "/methods")).await, 405, "a built-in's");
    assert_eq!(member(&body, "allowed_methods_for_path", "a built-in's"), json!(["DISCOVER"]));
}

#[tokio::test]
async fn a06_an_envelope_is_taken_off_and_put_on_only_for_the_floor() {
    let (origin, desk) = open().await;
    let bare = json!({ "lamp_id": "L1" });
    let wrapped =
        json!({ "method": "CREATE", "task_id": "t-1", "session_id": "s-1", "parameters": bare, "context": {} });
    for body in [&bare, &wrapped, &json!({ "parameters": bare })] {
        let told = assert_told(&desk.call(wish(body)).await, 200, &body.to_string());
        assert!(told["wish"].is_string(), "bare for an endpoint: {told}");
        assert_eq!(serde_json::from_slice::<Value>(&last_upstream(&origin).body).expect("JSON"), bare, "{body}");
    }
    let before = upstream_calls(&origin).len();
    let mut other = wrapped.clone();
    other["method"] = json!("PURCHASE");
    assert_refusal(&desk.call(wish(&other)).await, 400, "another method inside");
    let mut more = wrapped.clone();
    more["colour"] = json!("red");
    assert_refusal(&desk.call(wish(&more)).await, 422, "with something beside it that is of no envelope");
    assert_refusal(&desk.call(wish(&json!({ "parameters": ["L1"] }))).await, 422, "parameters that are none");
    assert_eq!(upstream_calls(&origin).len(), before);
    // The floor answers as it was asked.
    let plain = assert_told(&desk.call(verb("DESCRIBE", "/")).await, 200, "without an envelope");
    assert!(plain.get("result").is_none() && plain["name"].is_string(), "{plain}");
    let asked = json!({ "method": "DESCRIBE", "task_id": "t-7", "parameters": { "capability_domains": ["methods"] } });
    let told = assert_told(&desk.call(verb("DESCRIBE", "/").json(&asked)).await, 200, "in an envelope");
    assert_eq!(told["task_id"], "t-7", "{told}");
    assert!(told["result"]["methods"].is_array(), "{told}");
    // PROPOSE's inner method is the proposal's.
    let (_origin, desk) = with(synthesising).await;
    let mut named = proposal("QUERY", "/stock", json!({ "lamp_id": { "type": "string" } }));
    named["name"] = json!("stock-of-a-lamp");
    let told = assert_told(&desk.call(verb("PROPOSE", "/").json(&named)).await, 263, "at the top");
    assert_eq!(told["method"], "QUERY", "263 is never wrapped: {told}");
}

#[tokio::test]
async fn a07_describe_is_the_identity_unless_capabilities_are_asked_for() {
    let (_origin, desk) = with(hosting).await;
    for ask in [verb("DESCRIBE", "/"), Ask::new("DESCRIBE", "/").agent(CALLER).accept(IDENTITY)] {
        let response = desk.call(ask).await;
        let body = assert_told(&response, 200, "the identity");
        assert_eq!(response.media_type(), IDENTITY);
        assert_eq!((&body["agent_id"], &body["status"]), (&json!(HOSTED), &json!("active")), "{body}");
        for name in ["name", "principal", "principal_id", "description", "issued_at", "issuer"] {
            assert!(body[name].is_string(), "{name} of {body}");
        }
        assert!(body["skills"].is_array() && body["scopes_accepted"].is_array(), "{body}");
        let requires = &body["requires"];
        assert!(requires["methods"].is_array() && requires["scopes"].is_array(), "{body}");
        assert_eq!(requires["wildcards"], false, "{body}");
    }
    let asked = verb("DESCRIBE", "/").json(&json!({ "capability_domains": ["methods", "version"] }));
    let body = assert_told(&desk.call(asked).await, 200, "the capabilities");
    assert!(body["methods"].is_array() && body["version"].is_string(), "{body}");
    assert!(body.get("principal").is_none(), "{body}");
}

#[tokio::test]
async fn a08_the_floor_is_tier_a_at_the_root_and_an_endpoint_elsewhere() {
    let (origin, desk) = open().await;
    // At an operator's path a verb of the floor is the operator's.
    assert_told(&desk.call(verb("QUERY", "/catalog")).await, 200, "tier B");
    assert_eq!(last_upstream(&origin).target, "/api/items");
    for (method, input) in [("SUMMARIZE", json!({ "source": "a long text" })), ("PLAN", json!({ "goal": "light" }))] {
        assert_code(&desk.call(verb(method, "/").json(&input)).await, 422, "not-supported-here", method);
    }
    // An intent is the concierge's to answer; without one nobody can.
    let intent = || verb("QUERY", "/").json(&json!({ "intent": "a lamp for my desk" }));
    assert_told(&desk.call(intent()).await, 200, "the concierge");
    let (_origin, silent) = with(|setup| setup.set("content", "concierge = false")).await;
    assert_code(&silent.call(intent()).await, 422, "not-supported-here", "nobody");
    let embedded = desk.published().await["embedded_methods"].clone();
    assert_eq!(embedded.as_array().map(Vec::len), Some(18), "all of them: {embedded}");
    let first = desk.speak(verb("DISCOVER", "/")).await;
    let honest = first.headers.tokens("supported-methods");
    assert!(honest.contains(&"discover".to_owned()) && honest.contains(&"describe".to_owned()), "{honest:?}");
    for method in ["summarize", "plan"] {
        assert!(!honest.contains(&method.to_owned()), "{method} is not served: {honest:?}");
    }
}

#[tokio::test]
async fn a09_names_of_methods_are_strict() {
    let (_origin, desk) = open().await;
    for name in ["query", "Query", "X-QUERY", "AUDIT_LEGACY", "QUERY2", "GO", &"Q".repeat(33)] {
        assert_says(&desk.speak(verb(name, "/catalog")).await, 459, "method", name, name);
    }
    for line in
        ["AGTP/1.0 QU(ERY /catalog", "AGTP/1.0  /catalog", "AGTP/1.0 QU\u{7}ERY /catalog", "AGTP/1.0 QUÉRY /catalog"]
    {
        let response = desk.frames(format!("{line}\r\nAgent-ID: {CALLER}\r\nContent-Length: 0\r\n\r\n")).await;
        assert_code(&response, 400, "invalid-request-line", line);
    }
}

#[tokio::test]
async fn a10_two_tokens_mean_the_root_and_answers_have_three() {
    let (_origin, desk) = open().await;
    let response = desk.frames("AGTP/1.0 DISCOVER\r\n\r\n").await;
    assert_eq!((response.version.as_str(), response.media_type().as_str()), ("AGTP/1.0", MANIFEST));
    assert_told(&response, 200, "two tokens and no Content-Length");
    assert!(matches!(response.framing, Framing::Length(_)), "{:?}", response.framing);
    let mut conn = desk.socket().await;
    conn.send("AGTP/1.0 DISCOVER\r\n\r\n").await;
    let line = String::from_utf8(conn.until("\r\n").await).expect("text");
    assert_eq!(line, "AGTP/1.0 200 OK\r\n");
}

#[tokio::test]
async fn a11_who_says_no_name_is_401_and_who_says_a_bad_one_400() {
    let (origin, desk) = open().await;
    for ask in [
        anonymous("FETCH", "/lamps/L1"),
        anonymous("CREATE", "/wishes").json(&json!({ "lamp_id": "L1" })),
        // A credential does not replace the name.
        anonymous("PURCHASE", "/basket").bearer(FULL).scopes("shop:buy").key("k").json(&json!({ "lamp_id": "L1" })),
    ] {
        let what = format!("{} {}", ask.method, ask.target);
        assert_says(&desk.call(ask).await, 401, "reason", "agent-unauthenticated", &what);
    }
    let upper = CALLER.to_uppercase();
    for id in ["agt-7f3a", "", "agtp://shop.test", &CALLER[1..], &format!("{CALLER}0"), &upper, &"g".repeat(64)] {
        for target in ["/lamps/L1", "/nowhere"] {
            let ask = anonymous("FETCH", target).header("Agent-ID", id);
            assert_code(&desk.call(ask).await, 400, "invalid-canonical-id", &format!("{id:?} at {target}"));
        }
    }
    let twice = verb("FETCH", "/lamps/L1").header("Agent-ID", OTHER);
    assert_refusal(&desk.call(twice).await, 400, "two names");
    assert!(upstream_calls(&origin).is_empty());
    assert_told(&desk.call(anonymous("QUERY", "/catalog")).await, 200, "where no name is wanted");
}

#[tokio::test]
async fn a12_owner_and_request_id_are_optional_and_echoed() {
    let (_origin, desk) = open().await;
    let ask = || verb("QUERY", "/catalog");
    assert_told(&desk.call(ask()).await, 200, "neither");
    let owned = ask().header("Owner-ID", "owner:example.test");
    assert_told(&desk.call(owned).await, 200, "an owner");
    for bad in ["bad owner", "a/b", "a,b", &"o".repeat(257)] {
        assert_refusal(&desk.call(ask().header("Owner-ID", bad)).await, 400, bad);
    }
    for id in ["01991b5e-0000-7000-8000-000000000001", "r", "anything=visible;is<fine>", &"r".repeat(128)] {
        let response = desk.call(ask().header("Request-ID", id).header("Task-ID", "t-77")).await;
        assert_told(&response, 200, id);
        assert_eq!((response.header("request-id"), response.header("task-id")), (Some(id), Some("t-77")));
        assert_eq!(response.header("agent-id"), Some(CALLER));
    }
    let long = desk.call(ask().header("Request-ID", &"r".repeat(129))).await;
    assert!(long.header("request-id").is_none_or(|id| id.len() <= 128), "{:?}", long.headers);
}

#[tokio::test]
async fn a13_paths_are_decoded_once_before_they_are_judged() {
    let (origin, desk) = open().await;
    for (path, segment) in [
        ("/lamps/", ""),
        ("/lamps//L1", ""),
        ("//", ""),
        ("/%67et", "get"),
        ("/%47%45%54", "GET"),
        ("/lamps/b%6F%6Fk", "book"),
        ("/c%68eck%2Dout", "check-out"),
    ] {
        let body = assert_refusal(&desk.speak(verb("FETCH", path)).await, 460, path);
        let told = member(&body, "segment", path);
        // As it came or as it reads: both name it.
        assert!(
            [segment, path.rsplit('/').next().expect("a segment")].contains(&told.as_str().expect("text")),
            "{body}"
        );
    }
    // Braces are no template in a request (the issue has 460 for them, over A13's 400).
    for path in ["/lamps/{lamp_id}", "/lamps/%7Blamp_id%7D", "/{x}", "/lamps/a{b"] {
        assert_refusal(&desk.speak(verb("FETCH", path)).await, 460, path);
    }
    for path in [
        "/lamps/a%2Fb",
        "/lamps/%2e%2e",
        "/lamps/..",
        "/lamps/.",
        "/lamps/%2E/x",
        "/lamps/a%00",
        "/../lamps/L1",
        "/lamps/%zz",
        "/lamps/%4",
    ] {
        assert_refusal(&desk.speak(verb("FETCH", path)).await, 400, path);
    }
    assert!(upstream_calls(&origin).is_empty());
    // Once only: what is encoded twice is a value.
    assert_told(&desk.speak(verb("FETCH", "/lamps/%2567et")).await, 200, "encoded twice");
    assert_eq!(last_upstream(&origin).target, "/api/items/%2567et");
}

#[tokio::test]
async fn a14_who_did_not_ask_for_negotiation_does_not_hear_of_it() {
    let (_origin, desk) = with(synthesising).await;
    let silent = || verb("FIND", "/cheapest?category=desk").bearer(FULL).scopes("rcns:negotiate");
    for ask in [silent(), silent().header("Allow-RCNS", "false"), silent().header("Allow-RCNS", "optimistic")] {
        assert_refusal(&desk.speak(ask).await, 404, "no consent");
    }
    let off = desk.speak(unregistered()).await;
    assert_says(&off, 464, "reason", "rcns-disabled", "consent, and the server is off");
    assert!(off.header("rcns-attempt-id").is_some_and(|id| !id.is_empty()), "{:?}", off.headers);
    let (_origin, desk) = with(|setup| negotiating(setup, "")).await;
    assert_refusal(&desk.speak(silent()).await, 404, "no consent, and the server is on");
    let unscoped = verb("FIND", "/cheapest?category=desk").header("Allow-RCNS", "true");
    let body = assert_says(&desk.speak(unscoped).await, 262, "type", "scope-required", "no scope");
    assert_eq!(member(&body, "scope", "no scope"), "rcns:negotiate");
    let id = assert_told(&desk.speak(unregistered()).await, 461, "open")["synthesis_id"].clone();
    let id = id.as_str().expect("a synthesis_id");
    for name in ["Contract-Synthesized", "Synthesis-Id"] {
        assert_told(&desk.speak(silent().header(name, id)).await, 200, name);
    }
    // Tier 2 is what a header alone is worth; 1 is stricter.
    let (_origin, desk) = with(|setup| negotiating(setup, "min_trust_tier = 1\n")).await;
    assert_says(&desk.speak(unregistered()).await, 464, "reason", "trust-tier-insufficient", "a tier too low");
}

/// A Genesis whose hash and signature are over `canonical`, with `members` as the file has them.
fn genesis(members: &Value, canonical: &str) -> (String, String) {
    let mut seed = [0; 32];
    (0..32).for_each(|n| seed[usize::from(n)] = n);
    let pair = Ed25519KeyPair::from_seed_unchecked(&seed).expect("a key");
    assert_eq!(members["issuer_public_key"], text(pair.public_key()));
    let mut whole = members.clone();
    whole["agent_id"] = json!(sha256(canonical));
    whole["signature"] = json!(text(pair.sign(canonical.as_bytes())));
    (whole["agent_id"].as_str().expect("an id").to_owned(), whole.to_string())
}

fn genesis_members(label: &str) -> Value {
    let mut members: Value = serde_json::from_str(GENESIS).expect("JSON");
    members["org_label"] = json!(label);
    let all = members.as_object_mut().expect("an object");
    all.retain(|name, _| name != "agent_id" && name != "signature");
    all.sort_keys();
    members
}

#[tokio::test]
async fn a15_an_agents_id_is_the_hash_of_its_genesis_without_id_and_signature() {
    let (_origin, desk) = with(hosting).await;
    let served = desk.call(verb("DISCOVER", "/genesis")).await;
    assert_eq!(served.text(), GENESIS, "byte for byte");
    let mut bare: Value = served.json();
    let id = bare["agent_id"].clone();
    bare.as_object_mut().expect("an object").retain(|name, _| name != "signature" && name != "agent_id");
    assert_eq!(id, sha256(bare.to_string()), "members are sorted, nothing between them");
    // Others escape what is not ASCII, as a widespread encoder does.
    let members = genesis_members("Lämp & Co");
    for canonical in [members.to_string(), members.to_string().replace('ä', "\\u00e4")] {
        let (id, file) = genesis(&members, &canonical);
        let host = |setup| hosting(setup).file("agent.genesis.json", &file);
        let (_origin, desk) = with(host).await;
        assert_eq!(desk.call(verb("DESCRIBE", "/")).await.json()["agent_id"], id.as_str(), "{canonical}");
    }
    // What does not verify hosts nobody.
    let forged = GENESIS.replace("documents:query", "documents:quest");
    assert_refused_at_load(&hosting(lamps::alone()).file("agent.genesis.json", &forged), &["agtp.agent"], "forged");
    let (_, unsigned) = genesis(&members, &members.to_string());
    let mut unsigned: Value = serde_json::from_str(&unsigned).expect("JSON");
    unsigned["signature"] = json!(text([7; 64]));
    let setup = hosting(lamps::alone()).file("agent.genesis.json", &unsigned.to_string());
    assert_refused_at_load(&setup, &["signature"], "signed by nobody");
}

#[tokio::test]
async fn a16_certificates_of_agents_are_not_spoken_and_not_promised() {
    // Their extensions are optional for conformance and not built: nothing published may hint at them.
    let (_origin, desk) = with(hosting).await;
    let manifest = desk.published().await;
    let features = manifest["server"]["supported_features"].to_string();
    for word in ["cert", "mtls", "2.25."] {
        assert!(!features.contains(word), "{word} in {features}");
    }
    let body = assert_told(&desk.call(verb("DESCRIBE", "/")).await, 200, "the identity");
    assert!(!body.to_string().contains("2.25."), "{body}");
    assert!(body.get("activation_certificate_id").is_none(), "{body}");
}

#[tokio::test]
async fn a17_the_record_has_the_hash_of_the_request_as_it_came() {
    let (_origin, desk) = with(signing).await;
    let frame = wish(&json!({ "lamp_id": "L1" })).header("Task-ID", "t-77").header("Request-ID", "r-1").frame();
    let response = desk.frames(&frame).await;
    assert_told(&response, 200, "a wish");
    let record = record(&response, "a wish");
    assert_eq!(record["request_hash"], sha256(&frame), "from the request line to the last byte: {record}");
    assert_eq!((&record["task_id"], &record["request_id"]), (&json!("t-77"), &json!("r-1")), "{record}");
    assert_eq!((&record["status"], &record["server_id"]), (&json!(200), &json!("shop.test")), "{record}");
    assert_eq!(record["response_id"].as_str(), response.header("response-id"));
    assert_eq!(record["audit_record_version"], "1");
}

#[tokio::test]
async fn a18_records_are_the_hosted_agents_and_form_one_chain() {
    let (_origin, desk) = with(hosting).await;
    let mut last = None;
    for (what, ask) in [
        ("done", verb("QUERY", "/catalog")),
        ("another caller", verb("QUERY", "/catalog").agent(OTHER)),
        ("nobody", anonymous("QUERY", "/catalog")),
        ("refused", verb("FETCH", "/hours")),
        ("a violation", verb("FROBNICATE", "/catalog")),
        ("nowhere", verb("BOOK", "/nowhere")),
    ] {
        let caller = ask.headers.iter().find(|(name, _)| name == "Agent-ID").map(|(_, id)| id.clone());
        let response = desk.speak(ask).await;
        let record = record(&response, what);
        assert_eq!(record["agent_id"], HOSTED, "{what}");
        assert_eq!(record["requesting_agent_id"].as_str(), caller.as_deref(), "{what}");
        assert_eq!(record["status"], response.status, "{what}");
        assert!(is_hash(&record["previous_audit_id"]), "{what}: {record}");
        if let Some(last) = last {
            assert_eq!(record["previous_audit_id"], last, "{what} comes after the one before");
        }
        last = response.header("audit-id").map(|id| json!(id));
    }
    // Before a method is known there is nothing to put on record.
    let wire = desk.frames("AGTP/1.0\r\n\r\n").await;
    assert_eq!(wire.status, 400, "{}", wire.text());
    assert!(!wire.headers.has("attribution-record"), "{:?}", wire.headers);
    let next = record(&desk.speak(verb("QUERY", "/catalog")).await, "after it");
    assert_eq!(Some(next["previous_audit_id"].clone()), last, "and it is no link of the chain");
}

#[tokio::test]
async fn a19_a_site_that_leads_elsewhere_is_not_followed() {
    let origin = Origin::start(|request: &Request| {
        let to = match request.target.as_str() {
            "/api/mapped" => "/api/featured",
            "/api/own" => "/elsewhere/there",
            "/api/foreign" => "https://evil.example/api/featured",
            _ => return Reply::json("{\"followed\":true}"),
        };
        Reply::new(302).header("Location", to)
    })
    .await;
    let all: String = ["mapped", "own", "foreign"]
        .map(|name| lookup(&format!("r.{name}"), &format!("FETCH /{name}"), &format!("path = \"/api/{name}\""), ""))
        .concat();
    let desk = lamps::before(&origin).tail(&all).start().await;
    for (path, location) in
        [("/mapped", json!("/lamps/featured")), ("/own", json!("/elsewhere/there")), ("/foreign", Value::Null)]
    {
        let body = assert_code(&desk.call(verb("FETCH", path)).await, 422, "upstream_error", path);
        let details = &body["error"]["details"];
        assert_eq!(details["upstream_status"], 302, "{path}: {body}");
        assert_eq!(details["location"], location, "{path}: {body}");
    }
    assert_eq!(upstream_calls(&origin).len(), 3, "each asked once");
}

#[tokio::test]
async fn a20_answers_of_the_site_are_whole_and_bounded_and_json_unless_said_otherwise() {
    let big = json!({ "text": "x".repeat(100_000) }).to_string();
    let origin = Origin::start(move |request: &Request| match request.target.as_str() {
        "/api/big" => Reply::json(&big),
        "/api/bigger" => Reply::json(&big).chunked(),
        "/api/chunks" => Reply::json("{\"in\":").then("\"chunks\"}").chunked(),
        "/api/close" => Reply::json("{\"until\":\"close\"}").until_close(),
        _ => Reply::html("<h1>Lamps</h1>"),
    })
    .await;
    let one = |id: &str, path: &str, response: &str| {
        lookup(
            id,
            &format!("FETCH /{}", id.replace('.', "/")),
            &format!("path = \"/api/{path}\", response = \"{response}\""),
            "",
        )
    };
    let all = one("p.big", "big", "json")
        + &one("p.bigger", "bigger", "json")
        + &one("p.chunks", "chunks", "json")
        + &one("p.closed", "close", "json")
        + &one("p.html", "html", "json")
        + &one("p.wrap", "html", "wrap")
        + &one("p.raw", "html", "raw");
    let desk = lamps::before(&origin).set("protection", "max_answer = \"64KB\"").tail(&all).start().await;
    for path in ["/p/big", "/p/bigger"] {
        let response = desk.speak(verb("FETCH", path)).await;
        assert_code(&response, 422, "upstream_error", path);
        assert_says(&response, 422, "reason", "response-too-large", path);
    }
    for (path, told) in [("/p/chunks", json!({ "in": "chunks" })), ("/p/closed", json!({ "until": "close" }))] {
        let response = desk.speak(verb("FETCH", path)).await;
        assert_eq!(assert_told(&response, 200, path), told);
        assert_eq!(response.framing, Framing::Length(response.body.len()), "{path}");
        assert!(!response.headers.has("transfer-encoding"), "{path}");
    }
    assert_code(&desk.speak(verb("FETCH", "/p/html")).await, 422, "upstream_malformed_response", "a page for JSON");
    let wrapped = assert_told(&desk.speak(verb("FETCH", "/p/wrap")).await, 200, "wrapped");
    assert_eq!((&wrapped["status"], &wrapped["body"]), (&json!(200), &json!("<h1>Lamps</h1>")), "{wrapped}");
    assert!(wrapped["content_type"].as_str().is_some_and(|t| t.starts_with("text/html")), "{wrapped}");
    let raw = desk.speak(verb("FETCH", "/p/raw")).await;
    assert_eq!((raw.status, raw.media_type().as_str(), raw.text().as_str()), (200, "text/html", "<h1>Lamps</h1>"));
}

#[tokio::test]
async fn a21_other_services_are_https_only_and_the_site_is_whatever_it_is() {
    let service = |url: &str| {
        let more = lookup("far.away", "FETCH /far", &format!("url = \"{url}\""), "");
        lamps::alone().tail(&more)
    };
    assert_refused_at_load(&service("http://elsewhere.test/api"), &["upstream.url", "https"], "plain HTTP");
    assert_refused_at_load(&service("ftp://elsewhere.test/api"), &["upstream.url"], "no HTTP");
    assert_accepted_at_load(&service("https://elsewhere.test/api"), "another service");
    // The shop itself is on loopback, in plaintext.
    let (_origin, desk) = open().await;
    assert_told(&desk.call(verb("QUERY", "/catalog")).await, 200, "the fronted site");
}

#[tokio::test]
async fn a22_what_a_machine_reads_stands_at_the_top_and_inside_error() {
    let (_origin, desk) = open().await;
    for (ask, status, names) in [
        (verb("BOOK", "/catalog"), 405, &["allowed_methods_for_path", "redirects_for_path"][..]),
        (verb("FROBNICATE", "/catalog"), 459, &["method", "catalog_version"]),
        (verb("BOOK", "/search"), 460, &["segment"]),
        (verb("FETCH", "/hours"), 262, &["type"]),
        (anonymous("FETCH", "/lamps/L1"), 401, &["reason"]),
        (propose(&proposal("QUERY", "/stock", json!({}))), 463, &["reason", "explanation"]),
        (unregistered(), 464, &["reason"]),
    ] {
        let what = format!("{} {}", ask.method, ask.target);
        let body = assert_refusal(&desk.speak(ask).await, status, &what);
        for name in names {
            member(&body, name, &what);
        }
    }
}

#[tokio::test]
async fn a23_the_manifest_is_what_clients_read() {
    let (_origin, desk) = with(hosting).await;
    let manifest = desk.published().await;
    for method in manifest["embedded_methods"].as_array().expect("embedded_methods") {
        assert!(method["name"].is_string() && method["group"].is_string(), "{method}");
        assert!(method["idempotent"].is_boolean() && method["state_modifying"].is_boolean(), "{method}");
    }
    assert_eq!(manifest["agtp_version"], "1.0");
    assert!(
        ["public", "authenticated", "private"].contains(&manifest["agent_disclosure"].as_str().unwrap_or_default())
    );
    let hosted = &manifest["hosted_agents"];
    assert_eq!(hosted.as_array().map(Vec::len), Some(1), "{hosted}");
    assert_eq!(hosted[0]["agent_id"], HOSTED);
    for name in ["name", "skills_summary"] {
        assert!(hosted[0][name].is_string(), "{name} of {hosted}");
    }
    assert!(hosted[0]["methods_count"].is_u64(), "{hosted}");
    assert!(manifest["document_version"].is_string(), "{manifest}");
    // The same content has the same version wherever it is started.
    let (_origin, first) = open().await;
    let (_origin, second) = open().await;
    assert_eq!(first.published().await["document_version"], second.published().await["document_version"]);
    assert_eq!(first.published().await["manifest_signature"], Value::Null, "without a key");
}

#[test]
fn a24_the_floor_cannot_be_disallowed() {
    for method in ["DISCOVER", "PROPOSE", "QUERY", "REVOKE"] {
        let setup = lamps::alone().set("agtp.policies.methods", &format!("disallow = [\"{method}\"]"));
        assert_refused_at_load(&setup, &[method], method);
    }
    let setup = lamps::alone().set("agtp.policies.methods", "disallow = [\"TRANSFER\"]");
    assert_accepted_at_load(&setup, "another");
    let nobodys = lamps::alone().set("agtp.policies.methods", "disallow = [\"FROBNICATE\"]");
    assert_refused_at_load(&nobodys, &["FROBNICATE"], "a verb of no list is a mistake");
}

#[tokio::test]
async fn a25_redirects_are_one_hop_under_the_rules_of_where_they_lead() {
    let loops = redirect("BOOK /a", "RESERVE /b") + &redirect("RESERVE /b", "PURCHASE /basket");
    assert_refused_at_load(&lamps::alone().tail(&loops), &["redirects"], "a chain");
    let circle = redirect("BOOK /a", "RESERVE /a") + &redirect("RESERVE /a", "BOOK /a");
    assert_refused_at_load(&lamps::alone().tail(&circle), &["redirects"], "a circle");
    let all = redirect("BOOK /basket", "PURCHASE /basket")
        + &redirect("ORDER /basket", "PURCHASE /basket")
        + &redirect("SPOT", "QUERY");
    let policy = "disallow = [\"ORDER\"]";
    let (origin, desk) = with(|setup| signing(setup).tail(&all).set("agtp.policies.methods", policy)).await;
    let as_bought = |method: &str, scopes: &str, input: Value| {
        verb(method, "/basket").bearer(FULL).scopes(scopes).key("k-1").json(&input)
    };
    let lamp = json!({ "lamp_id": "L1" });
    assert_refusal(&desk.call(as_bought("BOOK", "shop:hold", lamp.clone())).await, 455, "the target's scopes");
    assert_refusal(&desk.call(as_bought("BOOK", "shop:buy", json!({}))).await, 422, "the target's schema");
    let body = assert_refusal(&desk.call(as_bought("ORDER", "shop:buy", lamp.clone())).await, 405, "policy first");
    let told = member(&body, "redirects_for_path", "the path's");
    assert_eq!(
        (&told["BOOK"], &told["SPOT"]),
        (&json!("PURCHASE"), &json!("QUERY")),
        "with and without a path: {told}"
    );
    assert!(upstream_calls(&origin).is_empty());
    let done = desk.call(as_bought("BOOK", "shop:buy", lamp)).await;
    assert_told(&done, 200, "in order");
    assert_eq!(record(&done, "in order")["requested_method"], "BOOK");
}

#[test]
fn a26_the_servers_own_paths_cannot_be_taken_under_discover() {
    for path in [
        "/methods",
        "/methods/v2",
        "/agents-extended",
        "/toolset",
        "/apis",
        "/patterns-v2",
        "/contracts/history",
        "/genesis",
    ] {
        let taken = lookup("own.paths", &format!("DISCOVER {path}"), "path = \"/api/items\"", "");
        assert_refused_at_load(&lamps::alone().tail(&taken), &["agtp.path"], path);
    }
    for pair in ["QUERY /methods", "FETCH /tools", "DISCOVER /lamp-kinds", "FETCH /.well-known/lamps", "FETCH /_agtp"] {
        let free = lookup("own.paths", pair, "path = \"/api/items\"", "");
        assert_accepted_at_load(&lamps::alone().tail(&free), pair);
    }
}

#[tokio::test]
async fn a27_the_first_thing_that_is_wrong_is_the_one_told() {
    let (origin, desk) = with(|setup| {
        setup
            .tail(&redirect("BOOK /basket", "PURCHASE /basket"))
            .set("agtp.policies.methods", "disallow = [\"TRANSFER\"]")
    })
    .await;
    let bad = |method: &str, target: &str| anonymous(method, target).header("Agent-ID", "agt-1");
    let body = |ask: Ask, text: &str| ask.header("Content-Type", "application/json").body(text);
    let buy = |scopes: &str| verb("PURCHASE", "/basket").bearer(FULL).scopes(scopes);
    // Each is wrong in two ways that follow one another.
    for (what, ask, status) in [
        ("the wire before the name", bad("QUERY", "/catalog#top"), 400),
        ("the name before the verb", bad("FROBNICATE", "/catalog"), 400),
        ("the verb before the path", verb("FROBNICATE", "/search"), 459),
        ("the path before the policy", verb("TRANSFER", "/search"), 460),
        ("the policy before the look-up", verb("TRANSFER", "/nowhere"), 405),
        ("a contract before the look-up", verb("BOOK", "/catalog").header("Contract-Synthesized", "nope"), 404),
        ("the look-up before the caller, 404", anonymous("FETCH", "/nowhere"), 404),
        ("the look-up before the caller, 405", anonymous("FETCH", "/basket"), 405),
        ("the caller before the JSON", body(anonymous("CREATE", "/wishes"), "{"), 401),
        ("the JSON before the schema", body(wish(&json!({ "colour": 1 })), "{\"colour\":"), 400),
        ("the schema before the scopes", buy("shop:hold").json(&json!({ "colour": 1 })), 422),
        ("the schema before a claim", verb("FETCH", "/hours?colour=red"), 422),
        ("the scopes before the key", buy("shop:hold").json(&json!({ "lamp_id": "L1" })), 455),
    ] {
        assert_refusal(&desk.speak(ask).await, status, what);
    }
    let line = desk.speak(bad("QUERY", "/catalog#top")).await;
    assert_code(&line, 400, "invalid-request-line", "the wire before the name");
    assert_code(
        &desk.speak(bad("FROBNICATE", "/search")).await,
        400,
        "invalid-canonical-id",
        "the name before the verb",
    );
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn a28_nothing_undeclared_can_be_invoked_by_consent() {
    let (origin, desk) = open().await;
    assert_eq!(desk.published().await["policies"]["wildcards_accepted"], false);
    for (method, target, status) in [("AUCTION", "/lamps-of-today", 404), ("AUCTION", "/catalog", 405)] {
        let claimed = verb(method, target).bearer(FULL).scopes("*:auction, auction:*").header("Wildcards", "true");
        let response = desk.call(claimed).await;
        assert_refusal(&response, status, target);
        assert!(!response.text().contains("wildcards-required"), "{}", response.text());
    }
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn a29_a_listed_name_that_is_no_verb_is_a_method_of_ours() {
    let all = "allow = [\"QUERY\", \"FETCH\", \"CREATE\", \"FIND\", \"PURCHASE\", \"REDEEM\", \"REQUEST\", \"RESERVE\", \"DAZZLE\"]";
    let dazzle = lookup("lamps.dazzle", "DAZZLE /glow", "path = \"/api/items\"", "");
    let (_origin, desk) = with(|setup| setup.set("agtp.policies.methods", all).tail(&dazzle)).await;
    assert_told(&desk.speak(verb("DAZZLE", "/glow")).await, 200, "a method of ours");
    assert_refusal(&desk.speak(verb("DAZZLE", "/catalog")).await, 405, "where it is not");
    assert_refusal(&desk.speak(verb("FROBNICATE", "/glow")).await, 459, "one that is not listed");
    let custom = desk.published().await["custom_methods"].to_string();
    assert!(custom.contains("DAZZLE") && !custom.contains("PURCHASE"), "{custom}");
    // Not listed, it is a mistake; and a name has the form of names.
    assert_refused_at_load(&lamps::alone().tail(&dazzle), &["DAZZLE"], "not listed");
    let odd = lamps::alone().set("agtp.policies.methods", "allow = [\"QUERY\", \"dazzle-it\"]");
    assert_refused_at_load(&odd, &["dazzle-it"], "no name");
}

#[tokio::test]
async fn a30_one_version_of_the_catalog_is_supported() {
    let (_origin, desk) = open().await;
    let manifest = desk.published().await;
    assert_eq!(manifest["catalog_versions_supported"], json!([manifest["catalog_version"]]));
}

#[tokio::test]
async fn a31_a_key_makes_a_call_happen_once_for_its_agent() {
    let gate = Gate::closed();
    let held = gate.clone();
    let says = lamps::says();
    let origin = Origin::start(move |request: &Request| {
        if request.target == "/api/orders" && String::from_utf8_lossy(&request.body).contains("slow") {
            let reply = Reply::new(201).header("Content-Type", "application/json").body("{\"order\":\"slow\"}");
            let bytes = [reply.head(), reply.whole().to_vec()].concat();
            return vec![Step::Wait(held.clone()), Step::Write(bytes), Step::KeepAlive].into();
        }
        if String::from_utf8_lossy(&request.body).contains("gone") {
            return Reply::new(409).body("{}").into();
        }
        says(request)
    })
    .await;
    let desk = lamps::before(&origin).start().await;
    let calls = || upstream_calls(&origin).len();
    // The same key and body: the first answer, with ids of its own.
    let first = desk.call(purchase("L1", "k-1")).await;
    let again = desk.call(purchase("L1", "k-1")).await;
    assert_eq!(assert_told(&first, 200, "first"), assert_told(&again, 200, "again"));
    assert_ne!(first.header("response-id"), again.header("response-id"));
    assert_eq!(calls(), 1);
    // Another body, another agent.
    assert_refusal(&desk.call(purchase("L2", "k-1")).await, 409, "the same key for something else");
    let other = assert_told(&desk.call(purchase("L1", "k-1").agent(OTHER)).await, 200, "another agent");
    assert_ne!(other, first.json());
    assert_eq!(calls(), 2);
    // A failure of the site is an answer too.
    for _ in 0..2 {
        assert_code(&desk.call(purchase("gone", "k-3")).await, 422, "sold_out", "a failure");
    }
    assert_eq!(calls(), 3);
    // While it goes on, nobody starts it again.
    let before = calls();
    let (addr, slow) = (desk.ports.http, purchase("slow", "k-2"));
    let running = tokio::spawn({
        let slow = slow.clone();
        async move { Conn::open(addr).await.ask(&slow).await }
    });
    eventually("the site has it", SOON, async || calls() == before + 1).await;
    assert_refusal(&desk.call(slow).await, 409, "in flight");
    gate.open();
    assert_told(&running.await.expect("a client"), 200, "the slow one");
    assert_eq!(calls(), before + 1);
    // Nobody's key is nobody's: it does not count.
    let before = calls();
    for _ in 0..2 {
        assert_told(&desk.call(anonymous("QUERY", "/catalog").key("k-9")).await, 200, "anonymous");
    }
    assert_eq!(calls(), before + 2);
}

#[tokio::test]
async fn a32_values_of_a_query_take_the_type_declared() {
    let (origin, desk) = open().await;
    let ask = verb("QUERY", "/catalog?max_price=12.5&count=3&in_stock=true&category=7");
    assert_told(&desk.call(ask).await, 200, "as declared");
    let target = last_upstream(&origin).target;
    for part in ["max_price=12.5", "count=3", "in_stock=true", "category=7"] {
        assert!(target.contains(part), "{part} of {target}");
    }
    let before = upstream_calls(&origin).len();
    for query in ["max_price=cheap", "count=2.5", "count=", "in_stock=yes", "count=1e400", "max_price=NaN"] {
        assert_refusal(&desk.call(verb("QUERY", &format!("/catalog?{query}"))).await, 422, query);
    }
    // In a body the types are the body's own.
    assert_refusal(&desk.call(verb("QUERY", "/catalog").json(&json!({ "count": "3" }))).await, 422, "text in a body");
    assert_eq!(upstream_calls(&origin).len(), before);
}

#[tokio::test]
async fn a33_a_plus_is_a_plus() {
    let (origin, desk) = open().await;
    for (query, upstream) in [("a+b", "category=a%2Bb"), ("a%20b", "category=a%20b"), ("a%2Bb", "category=a%2Bb")] {
        assert_told(&desk.call(verb("QUERY", &format!("/catalog?category={query}"))).await, 200, query);
        let target = last_upstream(&origin).target;
        // The site may read + as a blank, so a plus goes to it encoded and a blank in either way.
        assert!(target.ends_with(upstream) || target.ends_with(&upstream.replace("%20", "+")), "{query}: {target}");
    }
}

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
