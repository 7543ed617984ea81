//! Promise: a retry gets the complete first answer; a call that was not done, or whose answer must not be stored, runs
//! again.

use crate::support::calls::{
    BARE, FULL, action, assert_answer, assert_fault, call, confirmation_token, declare, site, upstream_calls,
};
use crate::support::{Ask, Origin, Reply, Request, Response};
use serde_json::json;
use std::sync::atomic::{AtomicU64, Ordering};

const DO: &str = "\n[capabilities.upstream]\nmethod = \"POST\"\npath = \"/api/do\"";

fn keyed(endpoint: &str) -> Ask {
    call(endpoint, &json!({})).bearer(FULL).header("Idempotency-Key", "k")
}

fn is_replay(response: &Response) -> bool {
    response.header("idempotency-replayed") == Some("true")
}

#[tokio::test]
async fn told_again_is_nothing_that_the_site_puts_off_whatever_it_is_called() {
    for status in [429, 503] {
        let count = AtomicU64::new(0);
        let origin = Origin::start(move |r: &Request| {
            let first = r.target.starts_with("/api/") && count.fetch_add(1, Ordering::Relaxed) == 0;
            if first { Reply::new(status).header("Retry-After", "7") } else { Reply::json("{\"done\":true}") }
        })
        .await;
        let named = action("do", &format!("{DO}\nerrors = {{ \"{status}\" = \"busy\" }}"));
        let desk = site(&origin, &named).start().await;
        let busy = desk.call(keyed("/agent/do")).await;
        assert_fault(&busy, status, "busy", "put off");
        assert_eq!(busy.header("retry-after"), Some("7"));
        let done = desk.call(keyed("/agent/do")).await;
        assert_eq!(assert_answer(&done, 200, "under the same key")["data"], json!({ "done": true }));
        assert!(!is_replay(&done) && is_replay(&desk.call(keyed("/agent/do")).await));
        assert_eq!(upstream_calls(&origin).len(), 2);
    }
}

#[tokio::test]
async fn told_again_is_all_that_a_failure_said() {
    for (status, header, value) in [(409, "Retry-After", "9"), (307, "Location", "/login"), (304, "Retry-After", "9")] {
        let origin = Origin::start(move |_: &Request| Reply::new(status).header(header, value)).await;
        let named = action("do", &format!("{DO}\nerrors = {{ \"409\" = \"sold_out\", \"304\" = \"same\" }}"));
        let desk = site(&origin, &named).start().await;
        let first = desk.call(keyed("/agent/do")).await;
        let again = desk.call(keyed("/agent/do")).await;
        assert!(first.status >= 400 && is_replay(&again), "{status}: {}", first.status);
        assert_eq!((again.status, again.text()), (first.status, first.text()));
        assert_eq!(again.header("retry-after"), first.header("retry-after"), "{status}");
        if status == 307 {
            assert_eq!(again.json()["error"]["details"]["location"], "/login", "{}", again.text());
        }
    }
}

#[tokio::test]
async fn told_again_is_nothing_of_somebody_that_nobody_may_keep() {
    let count = AtomicU64::new(0);
    let origin =
        Origin::start(move |_: &Request| Reply::json(format!("{{\"n\":{}}}", count.fetch_add(1, Ordering::Relaxed))))
            .await;
    let record = |name: &str, privacy: &str| {
        declare(
            name,
            "query",
            &format!(
                "\nrisk_level = \"medium\"\nauth = \"required\"\nrequires_user_confirmation = true\n\
                 data_sensitivity = \"special_category\"{privacy}{DO}"
            ),
        )
    };
    let kept = "\nprivacy = { purpose = \"care\", retention = \"30_days\" }";
    let desk = site(&origin, &(record("secret", "") + &record("kept", kept))).start().await;
    let confirmed = async |endpoint: &str| {
        let token = confirmation_token(&desk.call(keyed(endpoint)).await);
        desk.call(keyed(endpoint).header("AICP-Confirmation", &token)).await
    };
    let first = assert_answer(&confirmed("/agent/secret").await, 200, "first")["data"].clone();
    // The person is asked again, and so is the site.
    let second = confirmed("/agent/secret").await;
    assert!(!is_replay(&second) && second.json()["data"] != first, "{}", second.text());
    let first = assert_answer(&confirmed("/agent/kept").await, 200, "first")["data"].clone();
    let again = desk.call(keyed("/agent/kept")).await;
    assert!(is_replay(&again) && again.json()["data"] == first, "{}", again.text());
}

#[tokio::test]
async fn told_again_is_that_an_answer_was_too_long_to_be_kept() {
    let long = format!("{{\"text\":\"{}\"}}", "x".repeat(40_000));
    let origin = Origin::start(move |_: &Request| Reply::json(&long)).await;
    let desk = site(&origin, &action("do", DO)).start().await;
    let bare = keyed("/agent/do").accept("application/json");
    let first = desk.call(bare.clone()).await;
    assert!(first.status == 200 && first.json()["text"].is_string());
    let again = desk.call(bare).await;
    assert_eq!((again.status, again.media_type().as_str()), (200, "application/json"));
    assert!(is_replay(&again) && again.json()["data"].is_null(), "{}", again.text());
    assert_eq!(again.json()["warnings"][0]["code"], "answer_not_kept");
}

#[tokio::test]
async fn told_a_failure_is_in_a_form_that_http_has_for_it() {
    let named =
        "{ \"304\" = \"same\", \"401\" = \"login\", \"405\" = \"meth\", \"407\" = \"proxy\", \"426\" = \"up\" }";
    for (status, told, name) in
        [(304, 502, "same"), (401, 401, "login"), (405, 502, "meth"), (407, 502, "proxy"), (426, 502, "up")]
    {
        let origin = Origin::start(move |_: &Request| Reply::new(status)).await;
        let desk = site(&origin, &action("do", &format!("{DO}\nerrors = {named}"))).start().await;
        let response = desk.call(call("/agent/do", &json!({})).bearer(FULL)).await;
        assert_fault(&response, told, name, name);
        assert_eq!(response.headers.has("www-authenticate"), told == 401, "{status}");
    }
}

#[tokio::test]
async fn told_what_for_is_whoever_has_to_prove_who_they_are() {
    let origin = Origin::start(|_: &Request| Reply::json("{}")).await;
    let lines = "\nrisk_level = \"medium\"\nauth = \"optional\"\nrequired_scopes = [\"bookings:hold\"]";
    let all = declare("read", "query", &format!("{lines}{DO}"));
    let auth = "type = \"oauth2\"\nauthorization_url = \"https://site.test/authorize\"";
    let setup = site(&origin, &all).set("auth", auth);
    for setup in [setup.clone(), setup.set("policies", "anonymous_access = false")] {
        let desk = setup.start().await;
        for ask in [call("/agent/read", &json!({})), call("/agent/read", &json!({})).bearer("wrong")] {
            let body = assert_fault(&desk.call(ask).await, 401, "auth_required", "at a capability");
            assert_eq!(
                (&body["error"]["risk_level"], &body["error"]["required_scopes"]),
                (&json!("medium"), &json!(["bookings:hold"]))
            );
            let action = &body["actions"][0];
            assert_eq!((&action["id"], &action["input"]["scope"]), (&json!("auth.authorize"), &json!("bookings:hold")));
        }
        for ask in [Ask::get("/agent/interface"), Ask::get("/agent/interface").bearer("wrong")] {
            let body = assert_fault(&desk.call(ask).await, 401, "auth_required", "at the interface");
            assert_eq!(body["actions"][0]["endpoint"], "https://site.test/authorize", "{body}");
        }
        assert_eq!(desk.call(call("/agent/read", &json!({})).bearer(BARE)).await.status, 403);
    }
}

#[tokio::test]
async fn told_is_nobody_who_asks_for_the_head_of_a_watch() {
    let origin = Origin::start(|_: &Request| Reply::json("{}")).await;
    let watch = "\nmethod = \"GET\"\nrisk_level = \"low\"\nauth = \"required\"\nrequires_user_confirmation = false";
    let desk = site(&origin, &declare("watch", "monitor", &format!("{watch}{DO}"))).start().await;
    let head = desk.call(Ask::new("HEAD", "/agent/watch").bearer(FULL)).await;
    assert_eq!((head.status, head.header("allow")), (405, Some("GET, OPTIONS")));
    assert_eq!(desk.call(Ask::new("OPTIONS", "/agent/watch")).await.header("allow"), Some("GET, OPTIONS"));
    assert!(upstream_calls(&origin).is_empty());
    assert_eq!(desk.call(Ask::get("/agent/watch").bearer(FULL)).await.status, 200);
}
