//! Promise: every item of AGTP-API conformance (§13.1), each a test named after it. The first item is the endpoint itself.

use crate::support::calls::{last_upstream, upstream_calls};
use crate::support::lamps::{
    self, COMPOSED, ENDPOINTS, FULL, RECIPE, STAFF, lookup, negotiating, open, synthesising, with,
};
use crate::support::verbs::{
    MANIFEST, OTHER, anonymous, assert_code, assert_refusal, assert_says, assert_told, endpoint, is_hash, member,
    proposal, propose, verb,
};
use crate::support::{Ask, Origin, Response, Setup};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const CATALOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../conf/catalog/agtp-1.0.0.json");

const CATEGORIES: [&str; 9] = [
    "discovery",
    "retrieval",
    "analysis",
    "transaction",
    "modification",
    "creation",
    "notification",
    "mechanics",
    "domain_spanning",
];

const UPSTREAM_FAILURES: [&str; 5] = [
    "upstream_timeout",
    "upstream_connection_error",
    "upstream_malformed_response",
    "upstream_authentication_failed",
    "upstream_error",
];

/// Verbs that drafts name and the catalog has not, HTTP's that no alias knows, and one of ours.
const FOREIGN: [&str; 32] = [
    "AML",
    "BATCH",
    "BREAK",
    "CALL",
    "CHAIN",
    "COLLABORATE",
    "CONSENT",
    "DISPENSE",
    "EMBED",
    "HEDGE",
    "KYC",
    "LEARN",
    "LOG",
    "MAKE",
    "MAP",
    "PRESCRIBE",
    "PRESERVE",
    "RECOMMEND",
    "REDLINE",
    "REFER",
    "RUN",
    "SEND",
    "SYNC",
    "TAKE",
    "TRANSACT",
    "TRANSLATE",
    "TRIAGE",
    "TURN",
    "HEAD",
    "OPTIONS",
    "FROBNICATE",
    "DELETED",
];

fn catalog() -> Value {
    serde_json::from_str(&std::fs::read_to_string(CATALOG).expect("the catalog")).expect("JSON")
}

fn catalog_verbs() -> Vec<String> {
    let all = catalog()["verbs"].as_array().expect("verbs").clone();
    all.iter().map(|v| v["name"].as_str().expect("a name").to_owned()).collect()
}

/// The catalog as a later edition, with members of these verbs changed.
fn edition(version: &str, changes: &[(&str, Value)]) -> String {
    let mut all = catalog();
    all["version"] = version.into();
    for (name, change) in changes {
        let verbs = all["verbs"].as_array_mut().expect("verbs");
        let verb = verbs.iter_mut().find(|v| v["name"] == *name).expect("a verb of the catalog");
        verb.as_object_mut().expect("an object").extend(change.as_object().expect("members").clone());
    }
    all.to_string()
}

fn endpoints(manifest: &Value) -> &Vec<Value> {
    manifest["endpoints"].as_array().expect("endpoints")
}

fn paid(input: Value) -> Ask {
    verb("PURCHASE", "/basket").bearer(FULL).scopes("shop:buy").key("k-1").json(&input)
}

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

// 4. The policy of methods holds where a request is dispatched.

#[tokio::test]
async fn item_04_only_the_methods_allowed_and_the_floor_are_admitted() {
    let (origin, desk) = with(|setup| setup.set("agtp.policies.methods", "allow = [\"FETCH\", \"CREATE\"]")).await;
    assert_told(&desk.call(verb("FETCH", "/lamps/L1")).await, 200, "listed");
    assert_told(&desk.call(verb("QUERY", "/catalog")).await, 200, "of the floor");
    let before = upstream_calls(&origin).len();
    let body = assert_refusal(&desk.call(paid(json!({ "lamp_id": "L1" }))).await, 405, "neither");
    assert_eq!(member(&body, "allowed_methods_for_path", "neither"), json!([]));
    assert_eq!(upstream_calls(&origin).len(), before);
}

#[tokio::test]
async fn item_04_a_method_that_is_disallowed_is_refused_everywhere() {
    let (origin, desk) =
        with(|setup| setup.set("agtp.policies.methods", "disallow = [\"PURCHASE\", \"TRANSFER\"]")).await;
    let body = assert_refusal(&desk.call(paid(json!({ "lamp_id": "L1" }))).await, 405, "an endpoint's own");
    assert_eq!(member(&body, "allowed_methods_for_path", "its path"), json!([]));
    assert_eq!(member(&body, "redirects_for_path", "its path"), json!({}));
    let body = assert_refusal(&desk.call(verb("TRANSFER", "/catalog")).await, 405, "another's path");
    assert_eq!(member(&body, "allowed_methods_for_path", "another's path"), json!(["QUERY"]));
    assert_refusal(&desk.call(verb("TRANSFER", "/nowhere")).await, 405, "policy comes before the look-up");
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn item_04_a_redirect_is_taken_as_what_it_leads_to() {
    let redirect = |from: &str, to: &str| format!("\n[[agtp.policies.methods.redirects]]\n{from}\n{to}\n");
    let redirects =
        redirect("from_method = \"BOOK\"\nfrom_path = \"/basket\"", "to_method = \"PURCHASE\"\nto_path = \"/basket\"")
            + &redirect("from_method = \"COMPOSE\"", "to_method = \"CREATE\"")
            + &redirect(
                "from_method = \"EXPLORE\"\nfrom_path = \"/offers\"",
                "to_method = \"QUERY\"\nto_path = \"/catalog\"",
            );
    let (origin, desk) = with(|setup| setup.tail(&redirects)).await;
    let input = json!({ "lamp_id": "L1" });
    let book = verb("BOOK", "/basket").bearer(FULL).scopes("shop:buy").key("k-1").json(&input);
    assert_told(&desk.call(book).await, 200, "method and path");
    assert_eq!(last_upstream(&origin).target, "/api/orders");
    assert_told(&desk.call(verb("COMPOSE", "/wishes").json(&input)).await, 200, "a method without a path");
    assert_told(&desk.call(verb("EXPLORE", "/offers?category=desk")).await, 200, "to another path");
    assert_eq!(last_upstream(&origin).target, "/api/items?category=desk");
    // What leads where can be learned from a refusal.
    let body = assert_refusal(&desk.call(verb("REMOVE", "/basket")).await, 405, "neither");
    let told = member(&body, "redirects_for_path", "neither");
    assert_eq!(told["BOOK"], "PURCHASE", "{body}");
    assert_eq!(member(&body, "allowed_methods_for_path", "neither"), json!(["PURCHASE"]));
}

#[tokio::test]
async fn item_04_the_policy_is_part_of_the_manifest() {
    let lines = "allow = \"*\"\ndisallow = [\"TRANSFER\"]\nlegacy = [\"GET\"]";
    let redirect = "[[agtp.policies.methods.redirects]]\nfrom_method = \"BOOK\"\nfrom_path = \"/basket\"\n\
        to_method = \"PURCHASE\"\nto_path = \"/basket\"\n";
    let (_origin, desk) = with(|setup| setup.set("agtp.policies.methods", lines).tail(redirect)).await;
    let methods = desk.published().await["policies"]["methods"].clone();
    assert_eq!(
        (&methods["allow"], &methods["disallow"], &methods["legacy"]),
        (&json!("*"), &json!(["TRANSFER"]), &json!(["GET"]))
    );
    let from = json!({ "from_method": "BOOK", "from_path": "/basket", "to_method": "PURCHASE", "to_path": "/basket" });
    assert_eq!(methods["redirects"], json!([from]));
    let seed = json!({ "GET": "FETCH", "POST": "CREATE", "PUT": "REPLACE", "DELETE": "REMOVE", "PATCH": "MODIFY" });
    assert_eq!(methods["aliases"], seed);
}

// 5. The manifest comes to whoever DISCOVERs without a name.

#[tokio::test]
async fn item_05_the_manifest_has_its_versions_and_its_policies() {
    let (_origin, desk) = open().await;
    let response = desk.call(anonymous("DISCOVER", "/")).await;
    let manifest = assert_told(&response, 200, "the manifest");
    assert_eq!(response.media_type(), MANIFEST);
    assert_eq!((&manifest["agtp_version"], &manifest["agtp_api_version"]), (&json!("1.0"), &json!("1.0")));
    assert_eq!(manifest["catalog_version"], catalog()["version"]);
    assert_eq!(manifest["catalog_versions_supported"], json!([catalog()["version"]]));
    assert!(manifest["document_version"].as_str().is_some_and(|v| !v.is_empty()), "{manifest}");
    let server = &manifest["server"];
    assert_eq!(server["server_id"], "shop.test");
    for name in ["operator", "contact", "issued", "updated"] {
        assert!(server.get(name).is_some(), "{name} of {server}");
    }
    assert!(server["supported_features"].is_array(), "{server}");
    let policies = &manifest["policies"];
    for (name, value) in [
        ("wildcards_accepted", json!(false)),
        ("anonymous_discovery", json!(true)),
        ("scope_required_for_invocation", json!(false)),
        ("synthesis_enabled", json!(false)),
        ("max_synthesis_depth", json!(10)),
    ] {
        assert_eq!(policies[name], value, "{name} of {policies}");
    }
    for name in ["embedded_methods", "endpoints", "hosted_agents", "apis", "hosted_protocols"] {
        assert!(manifest[name].is_array(), "{name} of {manifest}");
    }
    for name in ["agent_disclosure", "agent_disclosure_notice", "manifest_signature"] {
        assert!(manifest.get(name).is_some(), "{name} of {manifest}");
    }
}

#[tokio::test]
async fn item_05_the_manifest_can_be_kept_and_revalidated_until_it_changes() {
    let origin = Origin::start(lamps::says()).await;
    let setup = lamps::before(&origin);
    let desk = setup.clone().start().await;
    let first = desk.call(anonymous("DISCOVER", "/")).await;
    let tag = first.header("etag").expect("an ETag").to_owned();
    assert!(first.headers.has("cache-control"), "{:?}", first.headers);
    let again = desk.call(anonymous("DISCOVER", "/")).await;
    assert_eq!((again.header("etag"), again.text()), (Some(tag.as_str()), first.text()));
    desk.swap(&setup.tail(&lookup("pages.read", "FETCH /pages", "path = \"/api/page\"", ""))).await;
    let later = desk.call(anonymous("DISCOVER", "/")).await;
    assert_ne!(later.header("etag"), Some(tag.as_str()));
    assert_ne!(later.json()["document_version"], first.json()["document_version"]);
    assert!(endpoint(&later.json(), "FETCH /pages").is_some());
}

#[tokio::test]
async fn item_05_the_manifest_is_signed_where_there_is_a_key() {
    let (_origin, desk) = with(lamps::signing).await;
    let signature = desk.published().await["manifest_signature"].clone();
    let text = signature.as_str().unwrap_or_else(|| panic!("a detached JWS: {signature}"));
    let parts: Vec<&str> = text.split('.').collect();
    assert!(parts.len() == 3 && parts[1].is_empty() && !parts[0].is_empty() && !parts[2].is_empty(), "{text}");
}

// 6. The manifest shows kinds of handlers and nothing of what they are bound to.

#[tokio::test]
async fn item_06_handlers_are_published_as_their_kind_alone() {
    let (_origin, desk) = with(|setup| setup.tail(RECIPE).tail(COMPOSED)).await;
    let response = desk.call(anonymous("DISCOVER", "/")).await;
    let manifest = response.json();
    for told in endpoints(&manifest) {
        let handler = told["handler"].as_object().expect("a handler");
        assert_eq!(handler.keys().collect::<Vec<_>>(), ["type"], "{told}");
        let kind = handler["type"].as_str().expect("a type");
        assert!(["external_service", "composition", "registered_function"].contains(&kind), "{told}");
        for name in ["upstream", "recipe", "url", "function", "id", "exposed"] {
            assert!(told.get(name).is_none(), "{name} of {told}");
        }
    }
    for inner in ["/api/", "hush-hush", "X-Shop-Secret", "first-of", "inner.stock", "/stock", "127.0.0.1"] {
        assert!(!response.text().contains(inner), "{inner} is nobody's business");
    }
    for (method, target) in [("DISCOVER", "/methods"), ("DISCOVER", "/apis"), ("DISCOVER", "/")] {
        let text = desk.call(verb(method, target)).await.text();
        assert!(!text.contains("/api/") && !text.contains("hush-hush"), "{target}: {text}");
    }
}

// 7. PROPOSE, where the operator wants it.

#[tokio::test]
async fn item_07_proposals_are_refused_where_synthesis_is_off() {
    let (_origin, desk) = open().await;
    let asked = propose(&proposal("QUERY", "/stock", json!({ "lamp_id": { "type": "string" } })));
    let body = assert_says(&desk.call(asked).await, 463, "reason", "synthesis-disabled", "by default");
    assert!(body["explanation"].as_str().is_some_and(|e| !e.is_empty()), "{body}");
}

#[tokio::test]
async fn item_07_an_approved_proposal_is_an_endpoint_of_its_session() {
    let (origin, desk) = with(synthesising).await;
    let wanted = proposal("QUERY", "/stock", json!({ "lamp_id": { "type": "string" } }));
    let session = "s-5f0c7a1e9b2d4c6688aa";
    let approved = desk.call(propose(&wanted).header("Session-ID", session)).await;
    let body = assert_told(&approved, 263, "material for it is declared");
    assert_eq!((&body["status"], &body["method"], &body["path"]), (&json!(263), &json!("QUERY"), &json!("/stock")));
    let id = body["synthesis_id"].as_str().expect("a synthesis_id").to_owned();
    for name in ["method", "path", "description", "semantic", "input_schema", "output_schema", "errors", "handler"] {
        assert!(!body["endpoint"][name].is_null(), "{name} of {body}");
    }
    let call = verb("QUERY", "/stock?lamp_id=L1");
    let told = desk.call(call.clone().header("Session-ID", session).header("Contract-Synthesized", &id)).await;
    assert_eq!(assert_told(&told, 200, "with its contract"), json!({ "left": 3 }));
    assert_eq!(last_upstream(&origin).target, "/api/stock?lamp_id=L1");
    assert_told(&desk.call(call.clone().header("Session-ID", session)).await, 200, "in its session");
    assert_refusal(&desk.call(call.clone()).await, 404, "out of it");
    assert_refusal(&desk.call(call.header("Session-ID", "s-another-0123456789ab")).await, 404, "in another");
    assert!(endpoint(&desk.published().await, "QUERY /stock").is_none(), "not everybody's");
}

#[tokio::test]
async fn item_07_without_a_session_the_connection_is_one() {
    let (_origin, desk) = with(synthesising).await;
    let mut conn = desk.socket().await;
    let wanted = proposal("QUERY", "/stock", json!({ "lamp_id": { "type": "string" } }));
    conn.send(propose(&wanted).frame()).await;
    assert_told(&conn.response("AGTP").await, 263, "proposed");
    let call = verb("QUERY", "/stock?lamp_id=L1");
    conn.send(call.frame()).await;
    assert_told(&conn.response("AGTP").await, 200, "on this connection");
    assert_refusal(&desk.speak(call).await, 404, "on another");
}

#[tokio::test]
async fn item_07_a_persistent_proposal_is_in_the_manifest_at_once() {
    let (_origin, desk) = with(synthesising).await;
    let wanted = proposal("QUERY", "/stock", json!({ "lamp_id": { "type": "string" } }));
    let body = json!({ "parameters": { "endpoint": wanted, "persistent": true } });
    let forever = || verb("PROPOSE", "/").header("Session-ID", "s-5f0c7a1e9b2d4c66").json(&body);
    // What everybody will see is not any agent's to decide: it gets what it needs, and no more.
    let kept = assert_told(&desk.call(forever().bearer(FULL)).await, 263, "an agent's");
    assert_eq!(kept["persistent"], false, "{kept}");
    assert!(endpoint(&desk.published().await, "QUERY /stock").is_none());
    let approved = assert_told(&desk.call(forever().bearer(STAFF).scopes("agtp:operate")).await, 263, "the operator's");
    assert_eq!(approved["persistent"], true, "{approved}");
    let manifest = desk.published().await;
    let told = endpoint(&manifest, "QUERY /stock").unwrap_or_else(|| panic!("published: {manifest}"));
    assert_eq!(told["handler"].as_object().map(serde_json::Map::len), Some(1), "{told}");
    assert_told(&desk.call(verb("QUERY", "/stock?lamp_id=L1")).await, 200, "to anybody, in any session");
}

#[tokio::test]
async fn item_07_proposals_are_judged_in_the_order_of_the_draft() {
    let (_origin, desk) =
        with(|setup| synthesising(setup).set("agtp.policies.methods", "disallow = [\"TRANSFER\"]")).await;
    let id = json!({ "lamp_id": { "type": "string" } });
    let good = proposal("QUERY", "/stock", id.clone());
    let changed = |name: &str, value: Value| {
        let mut other = good.clone();
        other[name] = value;
        other
    };
    let mut semantic = good["semantic"].clone();
    semantic.as_object_mut().expect("semantic").remove("impact");
    let mut sure = good["semantic"].clone();
    sure["confidence"] = json!(1.5);
    for (what, wanted, status) in [
        ("a verb of nobody's", changed("method", json!("FROBNICATE")), 459),
        ("a verb in its path", changed("path", json!("/search")), 460),
        ("no semantic block", changed("semantic", Value::Null), 400),
        ("half a semantic block", changed("semantic", semantic), 400),
        ("too sure", changed("semantic", sure), 400),
        ("no schema of inputs", changed("input_schema", json!({ "type": "objekt" })), 400),
        ("no schema of outputs", changed("output_schema", json!({ "required": 7 })), 400),
    ] {
        assert_refusal(&desk.call(propose(&wanted)).await, status, what);
        // What comes later in the order cannot come first.
        let mut also = wanted.clone();
        also["required_scopes"] = json!(["shop:buy"]);
        assert_refusal(&desk.call(propose(&also)).await, status, what);
    }
    let mut scoped = good.clone();
    scoped["required_scopes"] = json!(["shop:buy"]);
    assert_says(&desk.call(propose(&scoped)).await, 262, "type", "scope-required", "more than it has");
    let nothing = proposal("LOOKUP", "/moons", json!({}));
    assert_says(&desk.call(propose(&nothing)).await, 463, "reason", "composition-impossible", "no material");
    let never = proposal("TRANSFER", "/stock", id);
    let body = assert_refusal(&desk.call(propose(&never)).await, 463, "disallowed");
    assert!(
        ["composition-impossible", "policy-refused"].contains(&body["reason"].as_str().unwrap_or_default()),
        "{body}"
    );
}

#[tokio::test]
async fn item_07_proposals_come_in_two_forms_and_never_in_both() {
    let (_origin, desk) = with(synthesising).await;
    let wanted = proposal("QUERY", "/stock", json!({ "lamp_id": { "type": "string" } }));
    let mut named = wanted.clone();
    named["name"] = json!("stock-of-a-lamp");
    for (form, parameters) in [("wrapped", json!({ "endpoint": wanted })), ("named", named)] {
        let body = json!({ "method": "PROPOSE", "task_id": "t-1", "parameters": parameters });
        assert_told(&desk.call(verb("PROPOSE", "/").json(&body)).await, 263, form);
    }
    let both = json!({ "parameters": { "endpoint": wanted, "name": "stock-of-a-lamp" } });
    assert_says(&desk.call(verb("PROPOSE", "/").json(&both)).await, 400, "reason", "ambiguous-body", "both");
}

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
