//! Readings about contracts, identity, records and the manifest.

use super::*;

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
