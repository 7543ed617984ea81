//! Conformance items 4 to 7: the policy, the manifest, proposals.

use super::*;

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

// 5. A caller that DISCOVERs without a name gets the manifest.

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
