//! Conformance items 1 to 3: endpoints, methods and paths.

use super::*;

// 1. The endpoint, whole: every required field of §6.3 is published, and a call is held to it.

#[tokio::test]
async fn item_01_every_endpoint_is_published_with_every_required_field() {
    let (_origin, desk) = open().await;
    let manifest = desk.published().await;
    for told in endpoints(&manifest) {
        for name in ["method", "path", "description"] {
            assert!(told[name].as_str().is_some_and(|s| !s.is_empty()), "{name} of {told}");
        }
        for name in ["semantic", "input_schema", "output_schema", "handler"] {
            assert!(told[name].is_object(), "{name} of {told}");
        }
        assert!(told["errors"].as_array().is_some_and(|all| all.iter().all(Value::is_string)), "errors of {told}");
    }
    let all: BTreeSet<String> = endpoints(&manifest)
        .iter()
        .map(|e| format!("{} {}", e["method"].as_str().expect("a method"), e["path"].as_str().expect("a path")))
        .filter(|pair| !pair.starts_with("DISCOVER "))
        .collect();
    for pair in ENDPOINTS {
        assert!(all.contains(pair), "{pair} of {all:?}");
    }
    assert!(!all.contains("QUERY /stock"), "what is not exposed is not published");
}

#[tokio::test]
async fn item_01_schemas_are_objects_that_validate_and_inputs_are_closed() {
    let (_origin, desk) = open().await;
    let manifest = desk.published().await;
    for told in endpoints(&manifest) {
        for name in ["input_schema", "output_schema"] {
            jsonschema::draft202012::new(&told[name]).unwrap_or_else(|e| panic!("{name} of {told}: {e}"));
        }
        assert_eq!(told["input_schema"]["type"], "object", "{told}");
        assert_eq!(told["input_schema"]["additionalProperties"], false, "{told}");
        assert_ne!(told["output_schema"]["additionalProperties"], false, "{told}");
        let path = told["path"].as_str().expect("a path");
        for name in path.split(['/', '{', '}']).filter(|part| path.contains(&format!("{{{part}}}"))) {
            assert!(told["input_schema"]["properties"][name].is_object(), "{name} of {path} is no input: {told}");
        }
    }
}

#[tokio::test]
async fn item_01_what_is_published_is_what_a_call_is_held_to() {
    let (origin, desk) = open().await;
    let manifest = desk.published().await;
    let buy = endpoint(&manifest, "PURCHASE /basket").expect("it is published");
    // The scopes.
    assert_eq!(buy["required_scopes"], json!(["shop:buy"]));
    let short = verb("PURCHASE", "/basket").bearer(FULL).scopes("shop:hold").key("k").json(&json!({ "lamp_id": "L1" }));
    assert_refusal(&desk.call(short).await, 455, "without the scope");
    // The schema.
    assert_refusal(&desk.call(paid(json!({ "note": "mine" }))).await, 422, "without what is required");
    assert_refusal(&desk.call(paid(json!({ "lamp_id": 7 }))).await, 422, "with another type");
    assert_refusal(
        &desk.call(paid(json!({ "lamp_id": "L1", "colour": "red" }))).await,
        422,
        "with what is not declared",
    );
    assert!(upstream_calls(&origin).is_empty());
    // The method and the path.
    assert_refusal(&desk.call(verb("RESERVE", "/basket")).await, 405, "another method");
    assert_refusal(&desk.call(verb("PURCHASE", "/baskets")).await, 404, "another path");
    // What it promises.
    let bought = assert_told(&desk.call(paid(json!({ "lamp_id": "L1" }))).await, 200, "in order");
    assert_eq!(bought, json!({ "order": "order-1" }));
    let seen = last_upstream(&origin);
    assert_eq!((seen.method.as_str(), seen.target.as_str()), ("POST", "/api/orders"));
    assert_eq!(serde_json::from_slice::<Value>(&seen.body).expect("JSON"), json!({ "lamp_id": "L1" }));
}

#[tokio::test]
async fn item_01_the_errors_that_come_are_the_ones_published() {
    let chairs = verb("QUERY", "/catalog?category=chairs");
    let pages = lookup("pages.read", "FETCH /pages", "path = \"/api/page\"", "");
    let (_origin, desk) = with(|setup| setup.tail(&pages)).await;
    let manifest = desk.published().await;
    let named = |pair: &str, name: &str| {
        let errors = &endpoint(&manifest, pair).expect("it is published")["errors"];
        assert!(errors.as_array().expect("errors").contains(&name.into()), "{name} of {pair}: {errors}");
    };
    assert_code(&desk.call(chairs).await, 422, "no_such_category", "an error of the site's");
    named("QUERY /catalog", "no_such_category");
    assert_code(&desk.call(verb("FETCH", "/pages")).await, 422, "upstream_malformed_response", "HTML");
    for pair in ["QUERY /catalog", "PURCHASE /basket", "FETCH /pages"] {
        UPSTREAM_FAILURES.iter().for_each(|name| named(pair, name));
    }
    named("PURCHASE /basket", "sold_out");
}

#[tokio::test]
async fn item_01_path_parameters_are_inputs_and_the_most_literal_template_wins() {
    let (origin, desk) = open().await;
    for (path, upstream) in [
        ("/lamps/L7", "/api/items/L7"),
        ("/lamps/a%20b", "/api/items/a%20b"),
        ("/lamps/featured", "/api/featured"),
        ("/lamps/L7/parts/foot", "/api/items/L7/foot"),
        ("/lamps/L7/parts/bulb", "/api/bulbs/L7"),
        // Only whole segments in the very case are literal.
        ("/lamps/Featured", "/api/items/Featured"),
    ] {
        assert_told(&desk.call(verb("FETCH", path)).await, 200, path);
        assert_eq!(last_upstream(&origin).target, upstream, "{path}");
    }
    for path in ["/lamps", "/lamps/L7/parts", "/lamps/L7/parts/bulb/glass", "/LAMPS/L7"] {
        assert_refusal(&desk.call(verb("FETCH", path)).await, 404, path);
    }
}

#[tokio::test]
async fn item_01_optional_fields_are_published_where_they_are_declared() {
    let (_origin, desk) = open().await;
    let manifest = desk.published().await;
    let old = endpoint(&manifest, "FIND /lanterns").expect("it is published");
    let successor = json!({ "method": "QUERY", "path": "/catalog" });
    let deprecated = json!({ "deprecated_in": "1.0", "removed_in": "2.0", "successor": successor });
    assert_eq!(old["deprecated"], deprecated);
    let fresh = endpoint(&manifest, "QUERY /catalog").expect("it is published");
    assert!(fresh["deprecated"].is_null() && fresh["required_scopes"].as_array().is_none_or(Vec::is_empty), "{fresh}");
    assert_eq!(endpoint(&manifest, "FETCH /hours").expect("published")["required_scopes"], json!(["hours:read"]));
}

#[tokio::test]
async fn item_01_each_kind_of_handler_says_what_it_is_and_works() {
    let (origin, desk) = with(|setup| setup.tail(RECIPE).tail(COMPOSED)).await;
    let manifest = desk.published().await;
    for (pair, kind) in [
        ("QUERY /catalog", "external_service"),
        ("REQUEST /people", "registered_function"),
        ("FIND /first-lamp", "composition"),
    ] {
        let told = endpoint(&manifest, pair).unwrap_or_else(|| panic!("no {pair} in {manifest}"));
        assert_eq!(told["handler"], json!({ "type": kind }), "{pair}");
    }
    let errors = &endpoint(&manifest, "FIND /first-lamp").expect("published")["errors"];
    assert!(errors.as_array().expect("errors").contains(&"composition_failed".into()), "{errors}");
    assert_told(&desk.call(verb("FIND", "/first-lamp?category=desk")).await, 200, "composed");
    let asked: Vec<String> = upstream_calls(&origin).into_iter().map(|r| r.target).collect();
    assert_eq!(asked, ["/api/items?category=desk", "/api/items/L1"], "in order, the second of what the first found");
}

#[tokio::test]
async fn item_01_a_composition_that_fails_says_where() {
    let (_origin, desk) = with(|setup| setup.tail(RECIPE).tail(COMPOSED)).await;
    let response = desk.call(verb("FIND", "/first-lamp?category=chairs")).await;
    let body = assert_code(&response, 422, "composition_failed", "its first step finds nothing");
    let details = &body["error"]["details"];
    assert!(details["recipe"] == "first-of" && details["step"].is_number(), "{body}");
    assert_eq!((&details["method"], &details["status"]), (&json!("QUERY"), &json!(422)), "{body}");
}

// 2. Methods are those of the catalog at the version declared.

#[tokio::test]
async fn item_02_no_verb_of_the_catalog_is_a_violation() {
    let (_origin, desk) = open().await;
    let verbs = catalog_verbs();
    assert_eq!(verbs.len(), 425);
    let mut conn = desk.socket().await;
    for name in &verbs {
        conn.send(verb(name, "/nowhere").frame()).await;
        assert_refusal(&conn.response("AGTP").await, 404, name);
    }
}

#[tokio::test]
async fn item_02_every_other_name_is_one_and_the_answer_names_it_and_the_version() {
    let (_origin, desk) = open().await;
    let version = desk.published().await["catalog_version"].clone();
    let mut conn = desk.socket().await;
    let long = "A".repeat(33);
    for name in FOREIGN.iter().copied().chain(["GO", &long]) {
        conn.send(verb(name, "/catalog").frame()).await;
        let body = assert_says(&conn.response("AGTP").await, 459, "method", name, name);
        assert_eq!(member(&body, "catalog_version", name), version, "{name}");
    }
}

#[tokio::test]
async fn item_02_another_catalog_is_the_one_that_counts() {
    let small = json!({
        "version": "7.1.0",
        "embedded": catalog()["embedded"],
        "legacy": catalog()["legacy"],
        "categories": catalog()["categories"],
        "verbs": catalog()["verbs"].as_array().expect("verbs").iter()
            .filter(|v| v["name"] != "AUCTION").cloned()
            .chain([json!({ "name": "GRAB", "categories": ["transaction"], "description": "Take at once." })])
            .collect::<Vec<_>>(),
    });
    let grab = lookup("lamps.grab", "GRAB /shelf", "path = \"/api/items\"", "");
    let own = |setup: Setup| setup.set("agtp", "catalog = \"own.json\"").file("own.json", &small.to_string());
    let (_origin, desk) = with(|setup| own(setup).tail(&grab)).await;
    let manifest = desk.published().await;
    assert_eq!(
        (&manifest["catalog_version"], &manifest["catalog_versions_supported"]),
        (&json!("7.1.0"), &json!(["7.1.0"]))
    );
    assert_told(&desk.speak(verb("GRAB", "/shelf")).await, 200, "a verb of this catalog");
    assert_says(&desk.speak(verb("AUCTION", "/shelf")).await, 459, "catalog_version", "7.1.0", "one of another");
}

#[tokio::test]
async fn item_02_a_verb_that_the_catalog_has_removed_is_a_violation_and_takes_only_its_endpoint_along() {
    let gone = json!({ "deprecated_in": "1.2.0", "removed_in": "2.0.0", "successor": "FETCH" });
    let text = edition("2.0.0", &[("LOOKUP", gone)]);
    let old = lookup("lamps.old", "LOOKUP /shelf", "path = \"/api/items\"", "");
    let next = |setup: Setup| setup.set("agtp", "catalog = \"next.json\"").file("next.json", &text);
    let (_origin, desk) =
        with(|setup| next(setup).tail(&old).set("agtp.policies.methods", "disallow = [\"LOOKUP\"]")).await;
    assert_says(&desk.speak(verb("LOOKUP", "/shelf")).await, 459, "catalog_version", "2.0.0", "removed");
    assert!(endpoint(&desk.published().await, "LOOKUP /shelf").is_none(), "not published either");
    assert_told(&desk.call(verb("QUERY", "/catalog")).await, 200, "the rest is served");
    let said = desk.stderr() + &desk.stdout();
    assert!(said.contains("LOOKUP") && said.contains("capabilities[13].agtp"), "the operator is told: {said}");
}

// 3. Paths follow the grammar.

#[tokio::test]
async fn item_03_a_path_with_a_verb_in_it_is_a_violation_that_names_the_segment() {
    let (origin, desk) = open().await;
    for (path, segment) in [
        ("/search", "search"),
        ("/lamps/L1/edit", "edit"),
        ("/Check-Out", "Check-Out"),
        ("/check_out/now", "check_out"),
        ("/lamps/B-O_O-K", "B-O_O-K"),
        ("/get/lamps", "get"),
        ("/lamps/DELETE", "DELETE"),
        ("/query", "query"),
        ("/lamps/", ""),
        ("/lamps//L1", ""),
    ] {
        for method in ["FETCH", "BOOK", "DISCOVER"] {
            let what = format!("{method} {path}");
            assert_says(&desk.call(verb(method, path)).await, 460, "segment", segment, &what);
        }
    }
    assert!(upstream_calls(&origin).is_empty() && origin.asked().is_empty());
}

#[tokio::test]
async fn item_03_a_path_that_only_resembles_a_verb_is_none() {
    let (_origin, desk) = open().await;
    for path in ["/searches", "/orders", "/listing", "/b.o.o.k", "/book%2Eit", "/translate", "/nowhere/L1/deep/er"] {
        assert_refusal(&desk.call(verb("FETCH", path)).await, 404, path);
    }
    assert_told(&desk.call(verb("FETCH", "/lamps/searches")).await, 200, "as a value");
    assert_told(&desk.call(verb("QUERY", "/catalog?category=search")).await, 200, "in a query");
}

#[test]
fn item_03_endpoints_that_break_the_grammar_are_refused_at_load() {
    for path in ["/search", "/lamps/", "/lamps//x", "lamps", "/lamps/{id}x", "/lamps/{a}/{a}", "/lamps/{+a}", "/l{?q}"]
    {
        let broken = lookup("lamps.broken", &format!("FETCH {path}"), "path = \"/api/items\"", "");
        let said = refused(&broken);
        assert!(said.contains("capabilities[13].agtp.path"), "{path}: {said}");
    }
    let undeclared = lookup("lamps.broken", "FETCH /shelf/{shelf_id}", "path = \"/api/items\"", "")
        + "input_schema = { type = \"object\", properties = { other = { type = \"string\" } } }\n";
    assert!(refused(&undeclared).contains("shelf_id"), "a parameter that is no input");
    let twice = lookup("lamps.one", "FETCH /shelf/{a}/x", "path = \"/api/items\"", "")
        + &lookup("lamps.two", "FETCH /shelf/y/{b}", "path = \"/api/items\"", "");
    let said = refused(&twice);
    assert!(said.contains("agtp.path") && said.contains("/shelf/"), "both match /shelf/y/x: {said}");
}

/// What `frontdesk check` says of the shop with this capability more, which it must refuse.
#[track_caller]
fn refused(more: &str) -> String {
    let dir = crate::support::Dir::new();
    dir.write("frontdesk.toml", lamps::alone().tail(more).text(&crate::support::Ports::free()));
    let (code, out, err) = crate::support::desk::run_to_end(&["check", "frontdesk.toml"], dir.path());
    assert_eq!(code, 1, "{more}: {out}{err}");
    out + &err
}
