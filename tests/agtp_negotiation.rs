//! Promise: an endpoint that an agent proposes is built from declared ones, checked in the draft's order, and never
//! permits more than its parts.

use crate::support::Ask;
use crate::support::market::{
    BUYER, OTHER, STAFF, asked, by, framed, frames, http, id, open, origin, proposal, propose, staff, stall, stock,
    verb, with,
};
use serde_json::{Value, json};

fn lamp() -> Value {
    json!({ "lamp_id": { "type": "string" } })
}

#[tokio::test]
async fn negotiation_gives_an_endpoint_for_a_session() {
    let (origin, desk) = open().await;
    let session = "s-5f0c7a1e9b2d4c6688aa";
    let approved = http(&desk, stock().header("Session-ID", session)).await.is(263, "there is material for it");
    assert_eq!((&approved["method"], &approved["path"]), (&json!("QUERY"), &json!("/stock")));
    assert_eq!((&approved["persistent"], &approved["granted_duration"]), (&json!(false), &json!(3600)));
    assert!(approved.get("recipe_lineage").is_none(), "no recipe was needed: {approved}");
    for name in ["description", "semantic", "input_schema", "output_schema", "errors", "handler"] {
        assert!(!approved["endpoint"][name].is_null(), "{name} of {approved}");
    }
    assert_eq!(approved["endpoint"]["description"], "Counts a lamp on the shelf.", "nobody's words but the operator's");
    let id = id(&approved);
    let call = || verb("QUERY", "/stock?lamp_id=L1");
    let of = |session: &str| call().header("Session-ID", session);
    let told = http(&desk, of(session).header("Contract-Synthesized", &id)).await;
    assert_eq!(told.is(200, "under its name"), json!({ "left": 3 }));
    http(&desk, of(session)).await.is(200, "in its session");
    assert_eq!(asked(&origin), ["GET /api/stock?lamp_id=L1", "GET /api/stock?lamp_id=L1"]);
    http(&desk, call()).await.is(404, "out of it");
    http(&desk, of("s-another")).await.is(404, "in another");
    http(&desk, of("s-another").header("Contract-Synthesized", &id)).await.no_contract("contract-not-yours");
    let other = by(OTHER, "QUERY", "/stock?lamp_id=L1").header("Session-ID", session);
    http(&desk, other.clone()).await.is(404, "another agent");
    http(&desk, other.header("Synthesis-Id", &id)).await.no_contract("contract-not-yours");
    // The same agent name with another credential.
    http(&desk, of(session).bearer(BUYER).header("Contract-Synthesized", &id)).await.no_contract("contract-not-yours");
    let wrong = verb("QUERY", "/catalog").header("Session-ID", session).header("Contract-Synthesized", &id);
    http(&desk, wrong).await.is(400, "it is about another pair");
    http(&desk, call().header("Contract-Synthesized", &"0".repeat(32))).await.is(404, "there is no such one");
    let input = with(verb("QUERY", "/stock").header("Session-ID", session), &json!({ "lamp_id": "L1", "colour": 1 }));
    http(&desk, input).await.is(422, "what it does not take");
    assert_eq!(asked(&origin).len(), 2);
}

#[tokio::test]
async fn negotiation_without_a_session_is_of_the_connection_or_by_name() {
    let (_origin, desk) = open().await;
    let call = verb("QUERY", "/stock?lamp_id=L1");
    let mut told = frames(&desk, [stock(), call.clone()]).await;
    told.remove(1).is(200, "on this connection");
    let id1 = id(&told.remove(0).is(263, "proposed"));
    framed(&desk, call.clone()).await.is(404, "on another");
    framed(&desk, call.clone().header("Contract-Synthesized", &id1)).await.no_contract("contract-revoked");
    // HTTP has no connection that means anything.
    let id2 = id(&http(&desk, stock()).await.is(263, "over HTTP"));
    http(&desk, call.clone()).await.is(404, "without its name");
    http(&desk, call.clone().header("Contract-Synthesized", &id1)).await.no_contract("contract-revoked");
    http(&desk, call.header("Contract-Synthesized", &id2)).await.is(200, "by its name");
}

#[tokio::test]
async fn negotiation_judges_in_the_order_of_the_draft() {
    let origin = origin().await;
    let desk = stall(&origin, "").set("agtp.policies.methods", "disallow = [\"CREATE\"]").start().await;
    let good = proposal("QUERY /stock", lamp());
    let changed = |name: &str, value: Value| {
        let mut other = good.clone();
        other[name] = value;
        other
    };
    let semantic = |name: &str, value: Value| {
        let mut other = good.clone();
        other["semantic"][name] = value;
        other
    };
    let large = json!({ "type": "object", "description": "x".repeat(40_000) });
    let steps: [(&str, Value, u16); 16] = [
        ("a verb of nobody's", changed("method", json!("FROBNICATE")), 459),
        ("no verb", changed("method", Value::Null), 400),
        ("a verb in its path", changed("path", json!("/a/search")), 460),
        ("a path that ends in nothing", changed("path", json!("/stock/")), 460),
        ("a query", changed("path", json!("/stock?a=b")), 460),
        ("no semantic block", changed("semantic", Value::Null), 400),
        ("no outcome", semantic("outcome", json!(" ")), 400),
        ("no category", semantic("capability", json!("lamps")), 400),
        ("too sure", semantic("confidence", json!(1.01)), 400),
        ("an impact of its own", semantic("impact", json!("low")), 400),
        ("idempotent, perhaps", semantic("is_idempotent", json!("yes")), 400),
        ("no schema of inputs", changed("input_schema", json!({ "type": "objekt" })), 400),
        ("inputs that are no object", changed("input_schema", json!({ "type": "array" })), 400),
        ("a schema from elsewhere", changed("input_schema", json!({ "$ref": "https://elsewhere.test/s" })), 400),
        ("a schema without end", changed("output_schema", large), 400),
        ("no schema of outputs", changed("output_schema", json!({ "required": 7 })), 400),
    ];
    for (what, wanted, status) in steps {
        let body = http(&desk, propose(&wanted, json!({}))).await.is(status, what);
        assert!(body["error"]["message"].as_str().is_some_and(|m| m.len() > 10), "{what}: {body}");
        // What comes later in the order is not told first.
        let mut also = wanted;
        also["required_scopes"] = json!(["stall:everything"]);
        http(&desk, propose(&also, json!({}))).await.is(status, what);
    }
    let scoped = changed("required_scopes", json!(["stall:everything"]));
    http(&desk, propose(&scoped, json!({}))).await.says(262, "type", "scope-required", "before what it is made of");
    let claimed = propose(&scoped, json!({})).header("Authority-Scope", "stall:everything");
    http(&desk, claimed).await.is(263, "claimed");
    let nothing = proposal("LOOKUP /moons", json!({}));
    let body = http(&desk, propose(&nothing, json!({}))).await;
    body.says(463, "reason", "composition-impossible", "no material");
    let never = proposal("CREATE /wishes", lamp());
    http(&desk, propose(&never, json!({}))).await.says(463, "reason", "policy-refused", "material, and a policy");
    // A proposal needs an identity before its content is read.
    let mut nobody = propose(&nothing, json!({}));
    nobody.headers.retain(|(name, _)| name != "Agent-ID");
    http(&desk, nobody).await.says(401, "reason", "agent-unauthenticated", "nobody");
    assert!(asked(&origin).is_empty());
}

#[tokio::test]
async fn negotiation_takes_both_forms_and_never_both_at_once() {
    let (_origin, desk) = open().await;
    let wanted = proposal("QUERY /stock", lamp());
    let mut named = wanted.clone();
    named["name"] = json!("stock-of-a-lamp");
    let mut beside = named.clone();
    beside["persistent"] = json!(false);
    for (form, body) in [
        (
            "wrapped in an envelope",
            json!({ "method": "PROPOSE", "task_id": "t", "parameters": { "endpoint": wanted } }),
        ),
        ("wrapped", json!({ "endpoint": wanted })),
        ("wrapped, with a method", json!({ "method": "PROPOSE", "endpoint": wanted, "persistent": false })),
        ("named in an envelope", json!({ "method": "PROPOSE", "parameters": named })),
        ("named", named.clone()),
        ("named, with more", beside),
    ] {
        let body = http(&desk, with(verb("PROPOSE", "/"), &body)).await.is(263, form);
        assert_eq!((&body["method"], &body["path"]), (&json!("QUERY"), &json!("/stock")), "{form}");
    }
    for both in [
        json!({ "endpoint": wanted, "name": "stock" }),
        json!({ "parameters": { "endpoint": wanted, "name": "stock" } }),
        json!({ "name": "stock", "parameters": { "endpoint": wanted } }),
    ] {
        let told = http(&desk, with(verb("PROPOSE", "/"), &both)).await;
        told.says(400, "reason", "ambiguous-body", &both.to_string());
    }
    for neither in [json!({}), json!({ "proposal": wanted }), json!({ "endpoint": "stock" }), json!({ "name": 7 })] {
        http(&desk, with(verb("PROPOSE", "/"), &neither)).await.is(400, &neither.to_string());
    }
    let forever = propose(&wanted, json!({ "requested_duration": "for ever" }));
    http(&desk, forever).await.is(400, "no number of seconds");
    let short = http(&desk, propose(&wanted, json!({ "requested_duration": 5 }))).await.is(263, "short");
    let long = http(&desk, propose(&wanted, json!({ "requested_duration": 500_000 }))).await.is(263, "long");
    assert_eq!((&short["granted_duration"], &long["granted_duration"]), (&json!(5), &json!(3600)));
}

#[tokio::test]
async fn negotiation_needs_the_authority_of_what_it_calls() {
    let (origin, desk) = open().await;
    let wanted = || propose(&proposal("PURCHASE /basket", lamp()), json!({})).header("Session-ID", "s-1");
    http(&desk, wanted()).await.says(262, "type", "credentials-missing", "nobody is proven");
    let body = http(&desk, wanted().bearer(BUYER)).await.says(262, "type", "scope-required", "nothing is claimed");
    assert_eq!(body["required_scopes"], json!(["stall:buy"]));
    let staffs = wanted().bearer(STAFF).header("Authority-Scope", "stall:buy");
    http(&desk, staffs).await.says(262, "type", "scope-required", "claimed, and not granted");
    let approved = http(&desk, wanted().bearer(BUYER).header("Authority-Scope", "stall:buy")).await.is(263, "both");
    assert_eq!(approved["endpoint"]["semantic"]["impact"], "irreversible", "whatever was proposed: {approved}");
    assert_eq!(approved["endpoint"]["required_scopes"], json!(["stall:buy"]));
    // Each call is judged again.
    let id = id(&approved);
    let call = || {
        let ask = verb("PURCHASE", "/basket").header("Session-ID", "s-1").header("Contract-Synthesized", &id);
        with(ask, &json!({ "lamp_id": "L1" })).bearer(BUYER)
    };
    http(&desk, call()).await.says(262, "type", "scope-required", "nothing is claimed");
    http(&desk, call().header("Authority-Scope", "stall:look")).await.is(455, "something else is");
    let told = http(&desk, call().header("Authority-Scope", "stall:buy")).await;
    let body = told.says(262, "type", "confirmation-required", "a person has to");
    assert_eq!(body["confirmation"]["summary"], "Buy lamp \"L1\"");
    assert!(asked(&origin).is_empty());
    let token = body["confirmation"]["token"].as_str().expect("a token");
    let confirmed = call().header("Authority-Scope", "stall:buy").header("AICP-Confirmation", token);
    http(&desk, confirmed).await.is(200, "confirmed");
    assert_eq!(asked(&origin), ["POST /api/orders"]);
}

#[tokio::test]
async fn negotiation_says_what_comes_near_and_when_it_is_a_persons_turn() {
    let (_origin, desk) = open().await;
    let told = |pair: &'static str, inputs: Value| {
        let desk = &desk;
        async move { http(desk, propose(&proposal(pair, inputs), json!({}))).await.is(463, pair) }
    };
    let body = told("QUERY /stock", json!({ "colour": { "type": "string" } })).await;
    assert_eq!(body["reason"], "composition-impossible");
    assert!(body["explanation"].as_str().is_some_and(|why| why.contains("colour")), "{body}");
    assert_eq!(body["counter_proposal"]["endpoint"]["input_schema"]["required"], json!(["lamp_id"]), "{body}");
    assert_eq!((&body["turns_left"], &body["escalate"]), (&json!(2), &Value::Null), "{body}");
    let body = told("FETCH /catalog", json!({})).await;
    let similar: Vec<_> = body["similar"].as_array().expect("similar").iter().map(|it| it["path"].clone()).collect();
    assert_eq!(similar, ["/catalog", "/lamps/{lamp_id}"], "the same path first: {body}");
    assert_eq!(body["counter_proposal"]["endpoint"]["path"], "/shelves/{shelf_id}", "{body}");
    // What they could not have is not shown.
    let body = told("PURCHASE /moons", json!({})).await;
    assert_eq!(body.get("counter_proposal"), None, "{body}");
    assert_eq!((&body["turns_left"], &body["escalate"]["method"]), (&json!(0), &json!("ESCALATE")), "{body}");
    assert_eq!(told("LOOKUP /moons", json!({})).await["escalate"]["method"], "ESCALATE", "and so it stays");
    // Another task has turns of its own, and what can be had is had.
    let other = propose(&proposal("LOOKUP /moons", json!({})), json!({})).header("Task-ID", "t-2");
    assert_eq!(http(&desk, other).await.is(463, "another task")["turns_left"], 2);
    http(&desk, stock()).await.is(263, "what can be had");
}

#[tokio::test]
async fn negotiation_for_good_is_the_operators_and_in_the_manifest_at_once() {
    let (origin, desk) = open().await;
    let forever = || propose(&proposal("QUERY /stock", lamp()), json!({ "persistent": true }));
    let call = || by(OTHER, "QUERY", "/stock?lamp_id=L1");
    let manifest = async || {
        let told = http(&desk, Ask::new("DISCOVER", "/")).await;
        (told.headers.get("etag").map(str::to_owned), told.is(200, "the manifest"))
    };
    let listed = |manifest: &Value| {
        let all = manifest["endpoints"].as_array().expect("endpoints").clone();
        all.into_iter().find(|endpoint| endpoint["method"] == "QUERY" && endpoint["path"] == "/stock")
    };
    let (tag, before) = manifest().await;
    assert_eq!(listed(&before), None);
    let agents = http(&desk, forever().header("Session-ID", "s-1")).await.is(263, "an agent's");
    assert_eq!(agents["persistent"], false, "it is not theirs to decide: {agents}");
    http(&desk, call()).await.is(404, "so it is not there");
    let approved = http(&desk, forever().bearer(STAFF)).await.is(263, "the operator's");
    assert_eq!(approved["persistent"], true, "{approved}");
    let (new_tag, after) = manifest().await;
    assert_ne!(tag, new_tag);
    assert_eq!(listed(&after).expect("published")["handler"], json!({ "type": "external_service" }));
    let methods = http(&desk, verb("DISCOVER", "/methods")).await.is(200, "the list");
    let tier = |tier: &str| methods.as_array().expect("methods").iter().filter(|it| it["tier"] == tier).count();
    assert_eq!((tier("B"), tier("C")), (4, 1), "{methods}");
    http(&desk, call()).await.is(200, "anybody calls it");
    framed(&desk, call()).await.is(200, "by any way");
    http(&desk, with(by(OTHER, "QUERY", "/stock"), &json!({}))).await.is(422, "as it is declared");
    assert_eq!(asked(&origin).len(), 2);
    let revoke = json!({ "target": "contract", "synthesis_id": id(&approved), "reason": "enough" });
    http(&desk, staff("REVOKE", &revoke)).await.is(200, "taken back");
    assert_eq!(listed(&manifest().await.1), None);
    http(&desk, call()).await.is(404, "gone at once");
}

#[tokio::test]
async fn negotiation_answers_later_where_that_is_wanted() {
    let (_origin, desk) = open().await;
    let later = |pair: &str| propose(&proposal(pair, lamp()), json!({ "async": true }));
    for (pair, status) in [("QUERY /stock", 263), ("LOOKUP /moons", 463)] {
        let body = http(&desk, later(pair)).await.is(261, pair);
        let target = format!("/proposals/{}", body["proposal_id"].as_str().expect("an id"));
        assert!(body["estimate"].is_number(), "{body}");
        let told = http(&desk, verb("QUERY", &target)).await.is(status, pair);
        assert_eq!(told["status"], status, "{told}");
        http(&desk, by(OTHER, "QUERY", &target)).await.is(404, "another's");
        http(&desk, verb("QUERY", &target).bearer(BUYER)).await.is(404, "somebody else's");
    }
    http(&desk, later("FROBNICATE /stock")).await.is(459, "what is wrong at once is told at once");
    http(&desk, verb("QUERY", "/proposals/01991b5e-0000-7000")).await.is(404, "no such one");
    for _ in 2..16 {
        http(&desk, later("LOOKUP /moons")).await.is(261, "room");
    }
    let told = http(&desk, later("LOOKUP /moons")).await;
    let wait = told.headers.get("retry-after").and_then(|wait| wait.parse::<u64>().ok()).expect("Retry-After");
    let body = told.is(429, "one caller has sixteen at a time");
    assert_eq!(body["retry_after"], wait, "{body}");
}

#[tokio::test]
async fn negotiation_fixes_what_the_path_says() {
    let (origin, desk) = open().await;
    let shelf = proposal("FETCH /shelves/7", json!({ "side": { "type": "string" } }));
    let approved = http(&desk, propose(&shelf, json!({}))).await.is(263, "one shelf");
    let schema = &approved["endpoint"]["input_schema"];
    assert_eq!((&schema["properties"], &schema["required"]), (&json!({ "side": { "type": "string" } }), &json!([])));
    let id = id(&approved);
    let call = |target: &str, body: Value| with(verb("FETCH", target).header("Contract-Synthesized", &id), &body);
    http(&desk, call("/shelves/7", json!({ "side": "left" }))).await.is(200, "that one");
    http(&desk, call("/shelves/8", json!({}))).await.is(400, "another");
    http(&desk, call("/shelves/7", json!({ "shelf_id": 8 }))).await.is(422, "another in the body");
    let any = proposal("FETCH /shelves/{shelf_id}", json!({ "shelf_id": { "type": "integer" } }));
    let id = crate::support::market::id(&http(&desk, propose(&any, json!({}))).await.is(263, "any shelf"));
    let call = |target: &str| verb("FETCH", target).header("Contract-Synthesized", &id);
    http(&desk, call("/shelves/8")).await.is(200, "another");
    http(&desk, call("/shelves/x")).await.is(422, "none");
    assert_eq!(asked(&origin), ["GET /api/shelves/7?side=left", "GET /api/shelves/8"]);
    // What there is may be agreed on too.
    let known = proposal("QUERY /catalog", json!({ "category": { "type": "string" } }));
    let known = http(&desk, propose(&known, json!({}))).await.is(263, "declared already");
    let call =
        verb("QUERY", "/catalog?category=desk").header("Contract-Synthesized", &crate::support::market::id(&known));
    http(&desk, call).await.is(200, "under its name");
}

#[tokio::test]
async fn negotiation_is_off_unless_the_operator_wants_it() {
    let origin = origin().await;
    let desk = stall(&origin, "").start().await;
    let approved = http(&desk, propose(&proposal("QUERY /stock", lamp()), json!({ "persistent": true })).bearer(STAFF));
    let id = id(&approved.await.is(263, "on"));
    let text = stall(&origin, "").text(&desk.ports).replace("synthesis_enabled = true", "synthesis_enabled = false");
    desk.replace_config(&text);
    assert_eq!(desk.reload().await.status, 200);
    http(&desk, stock()).await.says(463, "reason", "synthesis-disabled", "off");
    http(&desk, verb("QUERY", "/stock?lamp_id=L1")).await.is(404, "what was published is no more");
    let call = verb("QUERY", "/stock?lamp_id=L1").bearer(STAFF).header("Contract-Synthesized", &id);
    http(&desk, call).await.no_contract("rcns-disabled");
    let patterns = http(&desk, verb("DISCOVER", "/patterns")).await.is(200, "told all the same");
    assert_eq!(
        (&patterns["rcns_enabled"], &patterns["patterns"][0]["recipe_name"]),
        (&json!(false), &json!("first-of"))
    );
}

#[tokio::test]
async fn negotiation_follows_aliases_and_redirects() {
    let origin = origin().await;
    let redirect = "\n[[agtp.policies.methods.redirects]]\nfrom_method = \"BROWSE\"\nfrom_path = \"/shop\"\n\
                    to_method = \"QUERY\"\nto_path = \"/catalog\"\n";
    let desk = stall(&origin, "").tail(redirect).start().await;
    for (pair, target) in
        [("BROWSE /shop", "/catalog"), ("GET /lamps/L1", "/lamps/L1"), ("GET /shelves/7", "/shelves/7")]
    {
        let body = http(&desk, propose(&proposal(pair, json!({})), json!({}))).await.is(263, pair);
        let (method, path) = pair.split_once(' ').expect("a pair");
        assert_eq!((&body["method"], &body["path"]), (&json!(method), &json!(path)), "as it was proposed");
        assert_eq!(body["endpoint"]["path"], target, "as it is called");
        let call = verb(method, path).header("Contract-Synthesized", &id(&body));
        // HTTP has GET itself.
        framed(&desk, call).await.is(200, pair);
    }
    assert_eq!(asked(&origin), ["GET /api/items", "GET /api/items/L1", "GET /api/shelves/7"]);
}
