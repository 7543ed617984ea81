//! Readings about the operator's permissions, and about inputs.

use super::*;

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
async fn a31_what_failed_half_way_is_told_again_in_the_same_words() {
    let recipe = "\n[[agtp.recipes]]\nname = \"two\"\nversion = \"1\"\nsteps = [\n\
        { capability = \"wishes.add\", input = { lamp_id = \"L1\" } },\n{ capability = \"lamps.broken\" },\n]\n";
    let two = "\n[[capabilities]]\nid = \"lamps.two\"\ntype = \"prepare_action\"\ndescription = \"Wishes, and looks.\"\n\
        risk_level = \"low\"\nauth = \"optional\"\nrequires_user_confirmation = false\n\
        upstream = { recipe = \"two\" }\nagtp = { method = \"BOOK\", path = \"/two\" }\n";
    let broken = lookup("lamps.broken", "FETCH /broken", "path = \"/api/status/500\"", "");
    let (_origin, desk) = with(|setup| setup.tail(recipe).tail(two).tail(&broken)).await;
    let call = || verb("BOOK", "/two").key("k-1");
    let failed = desk.call(call()).await;
    let body = assert_code(&failed, 422, "composition_failed", "the second step");
    assert_eq!(body["error"]["details"]["upstream_status"], 500, "{body}");
    let again = desk.call(call()).await;
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.json(), body);
}
