//! Conformance items 8 to 13: answers and their meaning.

use super::*;

// 8. The numbers that say what is wrong, and those of negotiation.

#[tokio::test]
async fn item_08_404_405_459_and_460_are_never_one_for_another() {
    let (_origin, desk) = open().await;
    for (method, path, status) in [
        ("BOOK", "/nowhere", 404),
        ("BOOK", "/catalog", 405),
        ("BOOK", "/lamps/L1", 405),
        ("FROBNICATE", "/catalog", 459),
        ("FROBNICATE", "/nowhere", 459),
        ("FROBNICATE", "/search", 459),
        ("BOOK", "/search", 460),
        ("BOOK", "/catalog/", 460),
    ] {
        assert_refusal(&desk.speak(verb(method, path)).await, status, &format!("{method} {path}"));
    }
}

#[tokio::test]
async fn item_08_262_463_and_263_are_answered() {
    let (_origin, desk) = with(synthesising).await;
    assert_says(&desk.call(verb("FETCH", "/hours")).await, 262, "type", "scope-required", "no scope presented");
    let body = assert_refusal(&desk.call(propose(&proposal("LOOKUP", "/moons", json!({})))).await, 463, "no material");
    member(&body, "reason", "463");
    let stock = proposal("QUERY", "/stock", json!({ "lamp_id": { "type": "string" } }));
    assert_told(&desk.call(propose(&stock)).await, 263, "material");
}

#[tokio::test]
async fn item_08_461_shows_a_contract_before_it_is_used() {
    let (origin, desk) = with(|setup| negotiating(setup, "")).await;
    let asked = verb("FIND", "/cheapest?category=desk").bearer(FULL).scopes("rcns:negotiate");
    let preview = desk.speak(asked.clone().header("Allow-RCNS", "true")).await;
    let body = assert_told(&preview, 461, "all four locks are open");
    assert_eq!((&body["method"], &body["path"]), (&json!("FIND"), &json!("/cheapest")), "{body}");
    assert_eq!(body["recipe_lineage"], json!({ "recipe_name": "first-of", "recipe_version": "1" }), "{body}");
    assert!(is_hash(&body["contract_hash"]) && body["endpoint"].is_object(), "{body}");
    assert!(body["expires_at"].is_string(), "{body}");
    assert!(upstream_calls(&origin).is_empty(), "a preview does nothing");
    let id = body["synthesis_id"].as_str().expect("a synthesis_id");
    let accepted = asked.header("Contract-Synthesized", id);
    assert_told(&desk.speak(accepted.clone()).await, 200, "accepted");
    assert_eq!(last_upstream(&origin).target, "/api/items/L1");
    assert_says(&desk.speak(accepted.agent(OTHER)).await, 464, "reason", "contract-not-yours", "of another agent");
}

// 9. Every endpoint says what it means.

#[tokio::test]
async fn item_09_every_published_endpoint_has_a_whole_semantic_block() {
    let (_origin, desk) = with(|setup| setup.tail(RECIPE).tail(COMPOSED)).await;
    for told in endpoints(&desk.published().await) {
        let semantic = &told["semantic"];
        for name in ["intent", "actor", "outcome"] {
            assert!(semantic[name].as_str().is_some_and(|s| !s.is_empty()), "{name} of {told}");
        }
        assert!(CATEGORIES.contains(&semantic["capability"].as_str().unwrap_or_default()), "{told}");
        assert!(semantic["confidence"].as_f64().is_some_and(|c| (0.0..=1.0).contains(&c)), "{told}");
        let impact = semantic["impact"].as_str().unwrap_or_default();
        assert!(["informational", "reversible", "irreversible"].contains(&impact), "{told}");
        assert!(semantic["is_idempotent"].is_boolean(), "{told}");
    }
}

#[tokio::test]
async fn item_09_what_it_means_follows_from_type_and_text() {
    let cancel = "\n[[capabilities]]\nid = \"orders.cancel\"\ntype = \"destructive_action\"\ndescription = \"Cancels an order.\"\n\
        risk_level = \"high\"\nauth = \"required\"\nrequires_user_confirmation = true\n\
        upstream = { method = \"DELETE\", path = \"/api/orders\" }\nagtp = { method = \"CANCEL\", path = \"/orders\" }\n\
        confirmation = { summary = \"Cancel it\", consequence = \"It is gone.\" }\n";
    let (_origin, desk) = with(|setup| setup.tail(cancel)).await;
    let manifest = desk.published().await;
    let of = |pair: &str| endpoint(&manifest, pair).expect("published")["semantic"].clone();
    let catalog = of("QUERY /catalog");
    assert_eq!((&catalog["capability"], &catalog["impact"]), (&json!("discovery"), &json!("informational")));
    assert_eq!((&catalog["is_idempotent"], &catalog["confidence"]), (&json!(true), &json!(0.95)));
    assert_eq!(catalog["outcome"], "The lamps and their prices are known.");
    assert_eq!(of("FETCH /lamps/{lamp_id}")["capability"], "retrieval");
    assert_eq!(of("CREATE /wishes")["capability"], "creation");
    let buy = of("PURCHASE /basket");
    assert_eq!((&buy["capability"], &buy["is_idempotent"]), (&json!("transaction"), &json!(false)));
    assert_ne!(buy["impact"], "informational");
    assert_eq!(of("RESERVE /lamps/{lamp_id}/hold")["impact"], "reversible");
    assert_eq!(of("CANCEL /orders")["impact"], "irreversible");
}

#[tokio::test]
async fn item_09_the_operator_may_say_what_it_means() {
    let own = ", intent = \"Find a page.\", actor = \"customer\", outcome = \"A page is found.\", \
        capability = \"analysis\", confidence = 0.5, impact = \"reversible\", is_idempotent = false";
    let (_origin, desk) =
        with(|setup| setup.tail(&lookup("pages.find", "FIND /pages", "path = \"/api/page\"", own))).await;
    let manifest = desk.published().await;
    let told = &endpoint(&manifest, "FIND /pages").expect("published")["semantic"];
    let all = json!({
        "intent": "Find a page.", "actor": "customer", "outcome": "A page is found.", "capability": "analysis",
        "confidence": 0.5, "impact": "reversible", "is_idempotent": false,
    });
    assert_eq!(*told, all);
}

// 10. Inputs are strict, outputs forgiving.

#[tokio::test]
async fn item_10_inputs_are_strict() {
    let (origin, desk) = open().await;
    for (what, ask) in [
        ("a field of nobody's", verb("QUERY", "/catalog").json(&json!({ "colour": "red" }))),
        ("one in the query", verb("QUERY", "/catalog?colour=red")),
        ("one beside a path parameter", verb("FETCH", "/lamps/L1?colour=red")),
        ("another type", verb("QUERY", "/catalog").json(&json!({ "count": "three" }))),
        ("nothing of what is required", verb("CREATE", "/wishes").json(&json!({}))),
        ("no object", verb("CREATE", "/wishes").json(&json!(["L1"]))),
    ] {
        let body = assert_refusal(&desk.call(ask).await, 422, what);
        assert!(body["error"]["details"].is_object() || body["error"]["details"].is_array(), "{what}: where? {body}");
    }
    assert!(upstream_calls(&origin).is_empty(), "nothing invalid gets further");
}

#[tokio::test]
async fn item_10_query_and_body_are_one_input_and_the_body_wins() {
    let (origin, desk) = open().await;
    let ask = verb("QUERY", "/catalog?category=desk&count=2&category=floor").json(&json!({ "count": 5 }));
    assert_told(&desk.call(ask).await, 200, "both");
    let target = last_upstream(&origin).target;
    let mut parts: Vec<&str> = target.split(['?', '&']).collect();
    parts.sort_unstable();
    assert_eq!(parts, ["/api/items", "category=floor", "count=5"], "{target}");
}

#[tokio::test]
async fn item_10_outputs_may_say_more_than_declared_but_not_less() {
    let less = lookup("lamps.less", "FETCH /shelf", "path = \"/api/hours\"", "")
        + "output_schema = { type = \"object\", required = [\"items\"], properties = { items = { type = \"array\" } } }\n";
    let (_origin, desk) = with(|setup| setup.tail(&less)).await;
    let told = assert_told(&desk.call(verb("QUERY", "/catalog")).await, 200, "more than declared");
    assert_eq!(told["extra"], true, "passed on");
    assert_code(&desk.call(verb("FETCH", "/shelf")).await, 422, "upstream_malformed_response", "less than declared");
}

// 11. A method on its way out says so in every answer.

#[tokio::test]
async fn item_11_deprecated_methods_warn_on_success_and_failure() {
    for (change, warning) in [
        (
            json!({ "deprecated_in": "1.2.0", "removed_in": "2.0.0", "successor": "QUERY" }),
            "deprecated; successor=QUERY; removed_in=2.0.0",
        ),
        (json!({ "deprecated_in": "1.2.0", "successor": "QUERY" }), "deprecated; successor=QUERY"),
        (json!({ "deprecated_in": "1.2.0", "removed_in": "2.0.0" }), "deprecated; removed_in=2.0.0"),
        (json!({ "deprecated_in": "1.2.0" }), "deprecated"),
    ] {
        let text = edition("1.3.0", &[("FETCH", change)]);
        let (_origin, desk) = with(|setup| setup.set("agtp", "catalog = \"next.json\"").file("next.json", &text)).await;
        for (what, ask, status) in [
            ("done", verb("FETCH", "/lamps/L1"), 200),
            ("not found", verb("FETCH", "/nowhere"), 404),
            ("not allowed", verb("FETCH", "/catalog"), 405),
            ("a bad path", verb("FETCH", "/search"), 460),
            ("no agent", anonymous("FETCH", "/lamps/L1"), 401),
            ("a bad input", verb("FETCH", "/lamps/L1?colour=red"), 422),
            ("no scope", verb("FETCH", "/hours"), 262),
        ] {
            let response = desk.call(ask).await;
            assert_eq!(response.status, status, "{what}: {}", response.text());
            assert_eq!(response.headers.all("agtp-catalog-warning"), [warning], "{what}");
        }
        let other = desk.call(verb("QUERY", "/catalog")).await;
        assert!(!other.headers.has("agtp-catalog-warning"), "{:?}", other.headers);
    }
}

// 12. So does an endpoint.

#[tokio::test]
async fn item_12_deprecated_endpoints_warn_on_success_and_failure() {
    let (_origin, desk) = open().await;
    for (what, ask, status) in [
        ("done", verb("FIND", "/lanterns"), 200),
        ("a bad input", verb("FIND", "/lanterns?colour=red"), 422),
        ("no JSON", verb("FIND", "/lanterns").header("Content-Type", "application/json").body("{"), 400),
    ] {
        let response = desk.call(ask).await;
        assert_eq!(response.status, status, "{what}: {}", response.text());
        let warning = "deprecated; successor=QUERY /catalog; removed_in=2.0";
        assert_eq!(response.headers.all("agtp-endpoint-warning"), [warning], "{what}");
        assert!(!response.headers.has("agtp-catalog-warning"), "{what}: {:?}", response.headers);
    }
    let other = desk.call(verb("QUERY", "/catalog")).await;
    assert!(!other.headers.has("agtp-endpoint-warning"), "{:?}", other.headers);
}

#[tokio::test]
async fn item_12_a_warning_says_what_is_declared_and_no_more() {
    let cases = [
        ("deprecated_in = \"1\"", "deprecated"),
        ("deprecated_in = \"1\", removed_in = \"3.0.0\"", "deprecated; removed_in=3.0.0"),
        ("deprecated_in = \"1\", successor = { method = \"QUERY\" }", "deprecated; successor=QUERY"),
        ("deprecated_in = \"1\", successor = { path = \"/catalog\" }", "deprecated; successor=/catalog"),
    ];
    let all: String = (0..cases.len())
        .map(|n| {
            let deprecated = format!(", deprecated = {{ {} }}", cases[n].0);
            lookup(&format!("old.n{n}"), &format!("FETCH /old{n}"), "path = \"/api/hours\"", &deprecated)
        })
        .collect();
    let text = edition("1.3.0", &[("FETCH", json!({ "deprecated_in": "1.2.0" }))]);
    let (_origin, desk) =
        with(|setup| setup.tail(&all).set("agtp", "catalog = \"next.json\"").file("next.json", &text)).await;
    for (n, (_, warning)) in cases.iter().enumerate() {
        let response = desk.call(verb("FETCH", &format!("/old{n}"))).await;
        assert_told(&response, 200, warning);
        assert_eq!(response.headers.all("agtp-endpoint-warning"), [*warning]);
        assert_eq!(response.headers.all("agtp-catalog-warning"), ["deprecated"], "both apply");
    }
}

// 13. DISCOVER /methods.

fn pairs(response: &Response) -> BTreeSet<(String, String)> {
    let body = response.json();
    let all = body.as_array().unwrap_or_else(|| panic!("an array: {body}"));
    let told = |entry: &Value| {
        for name in ["method", "path", "description", "tier"] {
            assert!(entry[name].as_str().is_some_and(|s| !s.is_empty()), "{name} of {entry}");
        }
        let pair = format!("{} {}", entry["method"].as_str()?, entry["path"].as_str()?);
        Some((pair, entry["tier"].as_str()?.to_owned()))
    };
    all.iter().filter_map(told).collect()
}

#[tokio::test]
async fn item_13_discover_methods_lists_every_endpoint_and_itself() {
    let (_origin, desk) = open().await;
    for ask in [verb("DISCOVER", "/methods"), anonymous("DISCOVER", "/methods")] {
        let response = desk.call(ask).await;
        assert_told(&response, 200, "the inventory");
        let all = pairs(&response);
        for pair in ENDPOINTS {
            assert!(all.contains(&(pair.to_owned(), "B".to_owned())), "{pair} of {all:?}");
        }
        assert!(all.contains(&("DISCOVER /methods".to_owned(), "A".to_owned())), "{all:?}");
        assert!(!all.iter().any(|(pair, _)| pair == "QUERY /stock"), "{all:?}");
    }
    let manifest = desk.published().await;
    assert!(endpoint(&manifest, "DISCOVER /methods").is_some(), "a built-in is an endpoint like any other");
}

#[tokio::test]
async fn item_13_the_directory_names_it() {
    let (_origin, desk) = open().await;
    let body = assert_told(&desk.call(verb("DISCOVER", "/")).await, 200, "the directory");
    let entries = body["directory"].as_array().unwrap_or_else(|| panic!("a directory: {body}"));
    assert!(entries.contains(&json!({ "path": "/methods", "tier": "A" })), "{body}");
    for entry in entries {
        let path = entry["path"].as_str().expect("a path");
        assert_eq!(entry["tier"], "A", "{entry}");
        let response = desk.call(verb("DISCOVER", path)).await;
        assert!([200, 404].contains(&response.status), "{path}: {} {}", response.status, response.text());
        assert!(response.status == 200 || path == "/genesis", "{path} is listed and not there");
    }
}

#[tokio::test]
async fn item_13_the_old_body_form_says_the_same_and_must_not_contradict_the_path() {
    let (_origin, desk) = open().await;
    let by_path = desk.call(verb("DISCOVER", "/methods")).await.json();
    for body in [json!({ "target": "methods" }), json!({ "parameters": { "target": "methods" } })] {
        let told = desk.call(verb("DISCOVER", "/").json(&body)).await;
        assert_eq!(told.status, 200, "{body}: {}", told.text());
        let told = told.json();
        let inner =
            if body.get("parameters").is_some() && told.get("result").is_some() { &told["result"] } else { &told };
        assert_eq!(*inner, by_path, "{body}");
    }
    assert_told(
        &desk.call(verb("DISCOVER", "/methods").json(&json!({ "target": "methods" }))).await,
        200,
        "the same twice",
    );
    let conflict = verb("DISCOVER", "/methods").json(&json!({ "target": "agents" }));
    assert_refusal(&desk.call(conflict).await, 400, "two targets");
}
