//! Promise: an answer has the eight planes of the Agent Object Model, each from where it belongs, for this caller.

use crate::support::calls::{
    BARE, FULL, action, action_ids, assert_answer, call, declare, query, seconds, site, upstream_calls,
};
use crate::support::jwks::now;
use crate::support::{Ask, Desk, Origin, Reply, Request};
use serde_json::{Value, json};

const FARES: &str = r#"{"flights":[{"id":"fare_1","price":682},{"id":"fare_2","price":700}],"total":2}"#;

const SEARCH: &str = r#"
data_sensitivity = "public"
[capabilities.upstream]
method = "GET"
path = "/api/flights"
rename_output = { results = "flights" }
[capabilities.aom]
freshness = { max_age = "15m", volatility = "high", revalidation_required_before_commit = true }
warnings = [{ code = "price_may_change", severity = "medium", message = "Fares are volatile." }]
agent_hints = { recommended_sort = "price_ascending", comparison_fields = ["price"] }
[[capabilities.aom.actions]]
id = "bookings.hold"
label = "Hold this fare"
input = { fare_id = "{data.results.0.id}", seats = 2, note = "for {data.results.1.id}" }
[[capabilities.aom.actions]]
id = "flights.details"
label = "Look closer"
input = { flight_id = "{data.results.5.id}" }
[[capabilities.aom.actions]]
id = "flights.reprice"
label = "Ask again"
input = { amount = "{data.results.0.price}" }
[capabilities.privacy]
purpose = "flight_search"
retention = "session_only"
data_categories = ["travel_preferences"]
"#;

const POLICIES: &str = "citation_required = true\ntraining_use = \"disallowed\"\nof_our_own = [1, 2]\n\
    [policies.cache]\nallowed = true\nmax_ttl_seconds = 300";

fn capabilities() -> String {
    let hold = "\nrisk_level = \"medium\"\nauth = \"required\"\nrequired_scopes = [\"bookings:hold\"]";
    query("flights.search", SEARCH)
        + &declare("bookings.hold", "prepare_action", hold)
        + &query("flights.details", "")
        + &query("flights.reprice", "")
}

async fn desk_answering(json: &'static str, capabilities: &str) -> (Origin, Desk) {
    let origin = Origin::start(move |_: &Request| Reply::json(json)).await;
    let setup = site(&origin, capabilities).set("policies", POLICIES).set("provenance", "license = \"standard_terms\"");
    let desk = setup.start().await;
    (origin, desk)
}

async fn search(desk: &Desk, key: Option<&str>) -> Value {
    let ask = call("/agent/flights/search", &json!({}));
    let ask = if let Some(key) = key { ask.bearer(key) } else { ask };
    assert_answer(&desk.call(ask).await, 200, &format!("{key:?}"))
}

#[tokio::test]
async fn capability_answers_have_every_plane_as_declared() {
    let (_origin, desk) = desk_answering(FARES, &capabilities()).await;
    let answer = search(&desk, Some(FULL)).await;
    let results = json!([{ "id": "fare_1", "price": 682 }, { "id": "fare_2", "price": 700 }]);
    assert_eq!(answer["data"], json!({ "results": results, "total": 2 }));
    let policies = &answer["policies"];
    assert_eq!((&policies["citation_required"], &policies["training_use"]), (&json!(true), &json!("disallowed")));
    assert_eq!(policies["cache"], json!({ "allowed": true, "max_ttl_seconds": 300 }));
    assert_eq!(policies["of_our_own"], json!([1, 2]), "an open table: {policies}");
    let privacy = &answer["privacy"];
    for (name, value) in [
        ("purpose", json!("flight_search")),
        ("retention", json!("session_only")),
        ("data_sensitivity", json!("public")),
        ("data_categories", json!(["travel_preferences"])),
    ] {
        assert_eq!(privacy[name], value, "{privacy}");
    }
    let provenance = &answer["provenance"];
    assert_eq!((&provenance["source"], &provenance["license"]), (&json!("Example Travel"), &json!("standard_terms")));
    assert_eq!(provenance["origin"], "https://site.test");
    assert!(provenance["canonical_url"].as_str().expect("a URL").starts_with("https://site.test/"), "{provenance}");
    assert!(now().abs_diff(seconds(&provenance["retrieved_at"])) < 30, "{provenance}");
    let freshness = &answer["freshness"];
    let valid = seconds(&freshness["valid_until"]);
    assert_eq!(valid - seconds(&provenance["retrieved_at"]), 900, "{freshness}");
    assert_eq!(
        (&freshness["volatility"], &freshness["revalidation_required_before_commit"]),
        (&json!("high"), &json!(true))
    );
    let warning = json!({ "code": "price_may_change", "severity": "medium", "message": "Fares are volatile." });
    assert_eq!(answer["warnings"], json!([warning]));
    assert_eq!(answer["agent_hints"], json!({ "recommended_sort": "price_ascending", "comparison_fields": ["price"] }));
}

#[tokio::test]
async fn capability_answers_have_every_plane_where_nothing_is_declared() {
    let upstream = "\n[capabilities.upstream]\nmethod = \"GET\"\npath = \"/api/flights\"";
    for data in ["{}", "[]", "7", "\"text\"", "null", "[{\"a\":[1.5,true,null]}]"] {
        let (_origin, desk) = desk_answering(data, &query("flights.search", upstream)).await;
        let answer = search(&desk, None).await;
        assert_eq!(answer["data"].to_string(), data);
        assert_eq!((&answer["warnings"], &answer["agent_hints"]), (&json!([]), &json!({})), "{answer}");
    }
}

#[tokio::test]
async fn capability_actions_say_what_the_target_says() {
    let (_origin, desk) = desk_answering(FARES, &capabilities()).await;
    let answer = search(&desk, Some(FULL)).await;
    let hold = answer["actions"].as_array().expect("actions").iter().find(|a| a["id"] == "bookings.hold");
    let hold = hold.unwrap_or_else(|| panic!("no hold: {answer}"));
    for (name, value) in [
        ("label", json!("Hold this fare")),
        ("method", json!("POST")),
        ("endpoint", json!("/agent/bookings/hold")),
        ("risk_level", json!("medium")),
        ("requires_user_confirmation", json!(true)),
        ("input", json!({ "fare_id": "fare_1", "seats": 2, "note": "for fare_2" })),
    ] {
        assert_eq!(hold[name], value, "{hold}");
    }
    let reprice = answer["actions"].as_array().expect("actions").iter().find(|a| a["id"] == "flights.reprice");
    assert_eq!(reprice.expect("reprice")["input"], json!({ "amount": 682 }), "a number stays one: {answer}");
}

#[tokio::test]
async fn capability_actions_are_left_out_whole_where_they_cannot_be_taken() {
    let (_origin, desk) = desk_answering(FARES, &capabilities()).await;
    assert_eq!(action_ids(&search(&desk, Some(FULL)).await), ["bookings.hold", "flights.reprice"]);
    assert_eq!(action_ids(&search(&desk, Some(BARE)).await), ["flights.reprice"], "the scope is lacking");
    assert_eq!(action_ids(&search(&desk, Some(FULL)).await), ["bookings.hold", "flights.reprice"], "for each anew");
    assert_eq!(action_ids(&search(&desk, None).await), ["flights.reprice"], "and nobody has no scope");
    let (_origin, desk) = desk_answering(r#"{"flights":[],"total":0}"#, &capabilities()).await;
    assert_eq!(action_ids(&search(&desk, Some(FULL)).await), Vec::<String>::new(), "nothing to hold");
}

#[tokio::test]
async fn capability_actions_that_cannot_be_taken_never_show_the_target() {
    let hidden = "\nrisk_level = \"low\"\nauth = \"optional\"\nexposed = false";
    let next = "\n[[capabilities.aom.actions]]\nid = \"inner.step\"\nlabel = \"Go on\"";
    let all = query("flights.search", &format!("\nupstream = {{ method = \"GET\", path = \"/api/f\" }}{next}"))
        + &declare("inner.step", "query", hidden);
    let (_origin, desk) = desk_answering(FARES, &all).await;
    assert_eq!(action_ids(&search(&desk, Some(FULL)).await), Vec::<String>::new(), "it is not callable");
}

#[tokio::test]
async fn capability_freshness_is_the_sites_where_none_is_declared() {
    let origin = Origin::start(|r: &Request| {
        let reply = Reply::json("{}");
        match r.target.as_str() {
            "/api/aged" => reply.header("Cache-Control", "public, max-age=120").header("Age", "20"),
            "/api/stored" => reply.header("Cache-Control", "no-store"),
            "/api/declared" => reply.header("Cache-Control", "max-age=5"),
            _ => reply.header("Cache-Control", "private, max-age=120"),
        }
    })
    .await;
    let reading = |name: &str, more: &str| {
        query(name, &format!("\nupstream = {{ method = \"GET\", path = \"/api/{name}\" }}{more}"))
    };
    let all = reading("fresh", "")
        + &reading("aged", "")
        + &reading("stored", "")
        + &reading("declared", "\n[capabilities.aom]\nfreshness = { max_age = \"1h\" }");
    let desk = site(&origin, &all).start().await;
    let mut lasts = Vec::new();
    for name in ["fresh", "aged", "declared", "stored"] {
        let answer = assert_answer(&desk.call(call(&format!("/agent/{name}"), &json!({}))).await, 200, name);
        let freshness = &answer["freshness"];
        let until = freshness.get("valid_until").filter(|v| !v.is_null()).map(seconds);
        lasts.push(until.map_or(0, |u| u - seconds(&answer["provenance"]["retrieved_at"])));
    }
    assert_eq!(lasts, [120, 100, 3600, 0], "fresh, aged, declared, stored");
}

#[tokio::test]
async fn capability_policies_are_answered_from_the_contract() {
    let origin = Origin::start(|_: &Request| Reply::json("{\"never\":1}")).await;
    let all = declare("site.rules", "policy", "\nmethod = \"GET\"\nrisk_level = \"low\"\nauth = \"none\"");
    let desk = site(&origin, &all).set("policies", POLICIES).start().await;
    let answer = assert_answer(&desk.call(Ask::get("/agent/site/rules")).await, 200, "a policy");
    assert_eq!(answer["policies"]["training_use"], "disallowed");
    assert!(answer["data"].to_string().contains("disallowed"), "the data of a policy are the rules: {answer}");
    assert!(origin.requests().iter().all(|r| !r.target.contains("rules")), "{:?}", origin.requests());
}

#[tokio::test]
async fn capability_resources_and_events_are_calls_like_others() {
    let origin = Origin::start(|_: &Request| Reply::json("{\"id\":7}")).await;
    let get =
        "\nmethod = \"GET\"\nrisk_level = \"low\"\nauth = \"none\"\nupstream = { method = \"GET\", path = \"/api/x\" }";
    let post = "\nrisk_level = \"low\"\nauth = \"required\"\nrequires_user_confirmation = false\n\
        upstream = { method = \"POST\", path = \"/api/x\" }";
    let all = declare("a.resource", "resource", get)
        + &declare("a.compare", "compare", &post.replace("required\"", "none\""))
        + &declare("a.monitor", "monitor", post)
        + &declare("an.event", "event", post)
        + &action("an.action", "\nupstream = { method = \"POST\", path = \"/api/x\" }");
    let desk = site(&origin, &all).start().await;
    assert_eq!(assert_answer(&desk.call(Ask::get("/agent/a/resource")).await, 200, "GET")["data"], json!({ "id": 7 }));
    for name in ["a/compare", "a/monitor", "an/event", "an/action"] {
        let ask = call(&format!("/agent/{name}"), &json!({})).bearer(FULL);
        assert_eq!(assert_answer(&desk.call(ask).await, 200, name)["data"], json!({ "id": 7 }));
    }
    let methods: Vec<String> =
        crate::support::calls::upstream_calls(&origin).iter().map(|r| r.method.clone()).collect();
    assert_eq!(methods, ["GET", "POST", "POST", "POST", "POST"], "once each, and nobody polls");
}

#[tokio::test]
async fn planes_take_what_is_said_of_personal_data_strictly() {
    let personal = |privacy: &str| {
        let lines = format!("\ncache_ttl_seconds = 60\nupstream = {{ path = \"/api/x\" }}\nprivacy = {{ {privacy} }}");
        query("a.b", &lines)
    };
    for privacy in
        ["personal_data_required = [\"name\"]", "data_categories = [\"invoice\"]", "personal_data_included = true"]
    {
        let (origin, desk) = desk_answering("{}", &personal(privacy)).await;
        for _ in 0..2 {
            let response = desk.call(call("/agent/a/b", &json!({}))).await;
            assert_eq!(response.header("cache-control"), Some("no-store"), "{privacy}");
            let body = assert_answer(&response, 200, privacy);
            let plane = &body["privacy"];
            assert_eq!(plane["personal_data_included"], true, "{plane}");
            assert_eq!((&plane["purpose"], &plane["retention"]), (&json!("not_declared"), &json!("session_only")));
            assert_eq!(body["warnings"].as_array().map(Vec::len), Some(2), "{body}");
        }
        assert_eq!(upstream_calls(&origin).len(), 2, "{privacy}: nothing of it was kept");
    }
    let said = "personal_data_included = false";
    let (_origin, desk) = desk_answering("{}", &personal(said)).await;
    let body = assert_answer(&desk.call(call("/agent/a/b", &json!({}))).await, 200, said);
    assert_eq!(body["warnings"], json!([]), "about nobody");
    let some = "data_categories = [\"invoice\"], downstream_use = { summarization = \"allowed\" }";
    let (_origin, desk) = desk_answering("{}", &personal(some)).await;
    let body = assert_answer(&desk.call(call("/agent/a/b", &json!({}))).await, 200, some);
    let uses = json!({ "summarization": "allowed", "training": "disallowed", "third_party_sharing": "disallowed" });
    assert_eq!(body["privacy"]["downstream_use"], uses);
}
