//! Promise: a read's answer is cached as long as declared, for the same input and the same caller only; an action's
//! never.

use crate::support::calls::{BARE, FULL, action, assert_answer, call, declare, query, seconds, site, upstream_calls};
use crate::support::{Ask, Desk, Origin, Reply, Request, SOON, eventually};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

const READ: &str = "\n[capabilities.upstream]\nmethod = \"GET\"\npath = \"/api/read\"";

/// The site counts its answers.
async fn counting() -> Origin {
    let count = AtomicU64::new(0);
    Origin::start(move |r: &Request| match r.target.starts_with("/api/") {
        true => Reply::json(format!("{{\"n\":{}}}", count.fetch_add(1, Ordering::Relaxed))),
        false => Reply::new(404),
    })
    .await
}

async fn desk_with(lines: &str, policies: &str) -> (Origin, Desk) {
    let origin = counting().await;
    let setup = site(&origin, &query("read", &format!("{lines}{READ}")));
    let setup = if policies.is_empty() { setup } else { setup.set("policies.cache", policies) };
    let desk = setup.start().await;
    (origin, desk)
}

async fn read(desk: &Desk, ask: Ask) -> Value {
    assert_answer(&desk.call(ask).await, 200, "a read")["data"]["n"].clone()
}

fn ask(input: Value) -> Ask {
    call("/agent/read", &input)
}

#[tokio::test]
async fn capability_answers_are_kept_for_an_equal_read() {
    let (origin, desk) = desk_with("\ndata_sensitivity = \"public\"\ncache_ttl_seconds = 60", "").await;
    assert_eq!(read(&desk, ask(json!({ "a": 1, "b": [2] }))).await, 0);
    assert_eq!(read(&desk, ask(json!({ "a": 1, "b": [2] }))).await, 0, "a second one");
    let spelled = Ask::post("/agent/read", "{ \"b\" : [2],\n\"a\": 1 }").header("Content-Type", "application/json");
    assert_eq!(read(&desk, spelled).await, 0, "however it is spelled");
    assert_eq!(read(&desk, ask(json!({ "a": 2, "b": [2] }))).await, 1, "another input");
    assert_eq!(read(&desk, ask(json!({ "a": "1", "b": [2] }))).await, 2, "another type");
    assert_eq!(upstream_calls(&origin).len(), 3);
}

#[tokio::test]
async fn capability_answers_that_are_kept_say_when_they_were_made() {
    let (_origin, desk) = desk_with("\ndata_sensitivity = \"public\"\ncache_ttl_seconds = 60", "").await;
    let first = assert_answer(&desk.call(ask(json!({}))).await, 200, "first");
    let second = assert_answer(&desk.call(ask(json!({}))).await, 200, "second");
    assert_eq!(first["provenance"]["retrieved_at"], second["provenance"]["retrieved_at"]);
    let bare = desk.call(ask(json!({})).accept("application/json")).await;
    assert_eq!(bare.media_type(), "application/json", "each type its own: {}", bare.text());
    assert!(bare.json()["n"].is_number());
}

#[tokio::test]
async fn capability_answers_are_not_kept_where_nothing_says_so() {
    let (_origin, desk) = desk_with("\ndata_sensitivity = \"public\"", "").await;
    for n in 0..3 {
        assert_eq!(read(&desk, ask(json!({}))).await, n);
    }
}

#[tokio::test]
async fn capability_answers_are_kept_for_one_caller_where_personal() {
    let (_origin, desk) = desk_with("\ndata_sensitivity = \"personal\"\ncache_ttl_seconds = 60\nprivacy = { purpose = \"x\", retention = \"session_only\" }", "").await;
    let full = read(&desk, ask(json!({})).bearer(FULL)).await;
    let bare = read(&desk, ask(json!({})).bearer(BARE)).await;
    let nobody = read(&desk, ask(json!({}))).await;
    assert!(full != bare && bare != nobody && full != nobody, "{full} {bare} {nobody}");
    assert_eq!(read(&desk, ask(json!({})).bearer(FULL)).await, full, "and kept for them");
    let response = desk.call(ask(json!({})).bearer(FULL)).await;
    let control = response.headers.tokens("cache-control");
    assert!(control.contains(&"private".to_owned()) || control.contains(&"no-store".to_owned()), "{control:?}");
}

#[tokio::test]
async fn capability_answers_are_public_only_where_nobody_in_particular_asked() {
    let (_origin, desk) = desk_with("\ndata_sensitivity = \"public\"\ncache_ttl_seconds = 60", "").await;
    let control = async |ask: Ask| desk.call(ask).await.headers.tokens("cache-control");
    let public = |tokens: &[String]| tokens.iter().any(|t| t == "public" || t.starts_with("s-maxage"));
    let (nobody, somebody) = (control(ask(json!({}))).await, control(ask(json!({})).bearer(FULL)).await);
    assert!(!public(&somebody), "with a credential: {somebody:?}");
    assert!(
        nobody.iter().all(|t| t.strip_prefix("max-age=").is_none_or(|s| s.parse::<u32>().is_ok_and(|s| s <= 60))),
        "{nobody:?}"
    );
}

#[tokio::test]
async fn capability_answers_are_kept_no_longer_than_declared() {
    let (_origin, desk) = desk_with("\ndata_sensitivity = \"public\"\ncache_ttl_seconds = 1", "").await;
    assert_eq!(read(&desk, ask(json!({}))).await, 0);
    eventually("a new answer", SOON, async || read(&desk, ask(json!({}))).await != 0).await;
    let policies = "allowed = true\nmax_ttl_seconds = 1";
    let (_origin, desk) = desk_with("\ndata_sensitivity = \"public\"\ncache_ttl_seconds = 3600", policies).await;
    assert_eq!(read(&desk, ask(json!({}))).await, 0);
    eventually("bounded by the policy", SOON, async || read(&desk, ask(json!({}))).await != 0).await;
}

#[tokio::test]
async fn capability_answers_are_not_kept_beyond_their_configuration() {
    let origin = counting().await;
    let lines = format!("\ndata_sensitivity = \"public\"\ncache_ttl_seconds = 3600{READ}");
    let setup =
        |purpose: &str| site(&origin, &query("read", &lines)).set("site", &format!("description = \"{purpose}\""));
    let desk = setup("One.").start().await;
    assert_eq!(read(&desk, ask(json!({}))).await, 0);
    assert_eq!(read(&desk, ask(json!({}))).await, 0, "kept");
    desk.swap(&setup("Two.")).await;
    assert_eq!(read(&desk, ask(json!({}))).await, 1, "made under another configuration");
    // All that was kept is forgotten at once, a moment after the swap, and perhaps this answer with it.
    eventually("kept again", SOON, async || read(&desk, ask(json!({}))).await == read(&desk, ask(json!({}))).await)
        .await;
}

#[tokio::test]
async fn capability_answers_are_not_kept_where_the_policy_forbids_it() {
    let (_origin, desk) = desk_with("\ndata_sensitivity = \"public\"\ncache_ttl_seconds = 60", "allowed = false").await;
    for n in 0..3 {
        assert_eq!(read(&desk, ask(json!({}))).await, n, "the most restrictive holds");
    }
}

#[tokio::test]
async fn capability_answers_of_actions_and_failures_are_never_kept() {
    let origin = counting().await;
    let act = "\ncache_ttl_seconds = 60\n[capabilities.upstream]\nmethod = \"POST\"\npath = \"/api/do\"";
    let desk = site(&origin, &action("do", act)).start().await;
    for n in 0..3 {
        let response = desk.call(call("/agent/do", &json!({})).bearer(FULL)).await;
        assert_eq!(assert_answer(&response, 200, "an action")["data"]["n"], n);
        let control = response.headers.tokens("cache-control");
        assert!(!control.iter().any(|t| t == "public" || t.starts_with("max-age=6")), "{control:?}");
    }
    let failures = AtomicU64::new(0);
    let origin = Origin::start(move |r: &Request| {
        if r.target.starts_with("/api/") && failures.fetch_add(1, Ordering::Relaxed) == 0 {
            Reply::new(500).body("no")
        } else {
            Reply::json("{\"n\":9}")
        }
    })
    .await;
    let lines = format!("\ndata_sensitivity = \"public\"\ncache_ttl_seconds = 60{READ}");
    let desk = site(&origin, &query("read", &lines)).start().await;
    assert_eq!(desk.call(ask(json!({}))).await.status, 502);
    assert_eq!(read(&desk, ask(json!({}))).await, 9, "a failure is not kept");
}

#[tokio::test]
async fn capability_answers_kept_are_given_only_to_those_who_may_ask() {
    let origin = counting().await;
    let lines =
        format!("\ndata_sensitivity = \"public\"\ncache_ttl_seconds = 60\nrequired_scopes = [\"flights:read\"]{READ}");
    let desk = site(&origin, &query("read", &lines).replace("optional", "required")).start().await;
    assert_eq!(read(&desk, ask(json!({})).bearer(FULL)).await, 0);
    assert_eq!(desk.call(ask(json!({})).bearer(BARE)).await.status, 403, "authorisation comes before the cache");
    assert_eq!(desk.call(ask(json!({}))).await.status, 401);
}

#[tokio::test]
async fn capability_answers_kept_end_with_the_declaration_they_were_made_under() {
    let origin = counting().await;
    let lines =
        |extra: &str| query("read", &format!("\ndata_sensitivity = \"public\"\ncache_ttl_seconds = 600{READ}{extra}"));
    let desk = site(&origin, &lines("")).start().await;
    assert_eq!(read(&desk, ask(json!({}))).await, 0);
    desk.swap(&site(&origin, &lines("\nrename_output = { count = \"n\" }"))).await;
    let answer = assert_answer(&desk.call(ask(json!({}))).await, 200, "after the swap");
    assert_eq!(answer["data"], json!({ "count": 1 }));
}

#[tokio::test]
async fn capability_answers_are_kept_no_longer_than_the_site_says_that_they_hold() {
    for (site_says, lasts) in [("max-age=2", 2), ("max-age=600", 60), ("no-store", 60), ("max-age=0, private", 60)] {
        let count = AtomicU64::new(0);
        let origin = Origin::start(move |_: &Request| {
            let n = count.fetch_add(1, Ordering::Relaxed);
            Reply::json(format!("{{\"n\":{n}}}")).header("Cache-Control", site_says)
        })
        .await;
        let lines = format!("\ndata_sensitivity = \"public\"\ncache_ttl_seconds = 60{READ}");
        let desk = site(&origin, &query("read", &lines)).start().await;
        let response = desk.call(ask(json!({}))).await;
        assert!(response.headers.tokens("cache-control").contains(&format!("max-age={lasts}")), "{site_says}");
        let freshness = assert_answer(&response, 200, site_says)["freshness"].clone();
        let holds = seconds(&freshness["valid_until"]) - seconds(&freshness["retrieved_at"]);
        assert!(holds >= lasts, "{site_says}: {freshness}");
        if lasts == 2 {
            eventually("a new answer", SOON, async || read(&desk, ask(json!({}))).await != 0).await;
        }
    }
}

#[tokio::test]
async fn capability_answers_that_nobody_may_store_say_so_in_their_policies() {
    let origin = counting().await;
    let watch = "\nrisk_level = \"low\"\nauth = \"required\"\nrequires_user_confirmation = false";
    let all = query("open", &format!("\ndata_sensitivity = \"public\"\ncache_ttl_seconds = 60{READ}"))
        + &query("secret", &format!("\ndata_sensitivity = \"special_category\"\ncache_ttl_seconds = 60{READ}"))
        + &query(
            "told",
            &format!("\ndata_sensitivity = \"personal\"\nprivacy = {{ data_sensitivity = \"public\" }}{READ}"),
        )
        + &query(
            "meant",
            &format!("\ndata_sensitivity = \"public\"\nprivacy = {{ data_sensitivity = \"personal\" }}{READ}"),
        )
        + &declare("watch", "monitor", &format!("{watch}{READ}"))
        + &action("do", READ);
    let policies = "allowed = true\nmax_ttl_seconds = 300";
    let desk = site(&origin, &all).set("policies.cache", policies).start().await;
    for (name, allowed) in
        [("open", true), ("secret", false), ("told", false), ("meant", false), ("watch", false), ("do", false)]
    {
        let response = desk.call(call(&format!("/agent/{name}"), &json!({})).bearer(FULL)).await;
        assert_eq!(response.header("cache-control") == Some("no-store"), !allowed, "{name}");
        let answer = assert_answer(&response, 200, name);
        assert_eq!(answer["policies"]["cache"]["allowed"], allowed, "{name}: {answer}");
        if ["told", "meant"].contains(&name) {
            assert_eq!(answer["privacy"]["data_sensitivity"], "personal", "{name}: the stricter one");
        }
    }
}
