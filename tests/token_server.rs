//! Promise: opaque tokens are verified by the operator's authorization server, and exchanged for the site's own; a
//! server that is away, slow or lying opens nothing.

use std::sync::Arc;

use crate::support::calls::{action, assert_answer, assert_fault, call, declare, last_upstream, site, upstream_calls};
use crate::support::rates::at_once;
use crate::support::{Answer, Ask, Desk, Origin, Reply, Request, SOON, Setup, Step, eventually};
use serde_json::{Value, json};

/// What the authorization server does.
#[derive(Clone, Copy, PartialEq)]
enum Server {
    Right,
    Broken,
    Lying,
    Silent,
}

/// An authorization server that knows the tokens `ada-1` and `bob-1`.
async fn server(mode: Arc<std::sync::Mutex<Server>>) -> Origin {
    Origin::start(move |r: &Request| -> Answer {
        match *mode.lock().expect("the mode") {
            Server::Broken => return Reply::new(500).body("no").into(),
            Server::Lying => return Reply::json(r#"{"active":"yes","sub":"root"}"#).into(),
            Server::Silent => return Answer::from(vec![Step::Stall]),
            Server::Right => {}
        }
        // frontdesk:s%26cret, encoded as RFC 6749 asks.
        if r.header("authorization") != Some("Basic ZnJvbnRkZXNrOnMlMjZjcmV0") {
            return Reply::new(401).body(r#"{"error":"invalid_client"}"#).into();
        }
        let form: Vec<(String, String)> = url::form_urlencoded::parse(&r.body).into_owned().collect();
        let field = |name: &str| form.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str()).unwrap_or_default();
        let who = |token: &str| ["ada", "bob"].into_iter().find(|who| token == format!("{who}-1"));
        match r.target.as_str() {
            "/introspect" => match who(field("token")) {
                Some(who) => Reply::json(json!({ "active": true, "sub": who, "scope": "orders:read" }).to_string()),
                None => Reply::json(r#"{"active":false}"#),
            },
            "/token" => match who(field("subject_token")) {
                Some(who) if field("audience") == "https://api.test" => Reply::json(
                    json!({ "access_token": format!("site-{who}"), "token_type": "Bearer", "expires_in": 300 })
                        .to_string(),
                ),
                _ => Reply::new(400).header("Content-Type", "application/json").body(r#"{"error":"invalid_grant"}"#),
            },
            _ => Reply::new(404).body("none"),
        }
        .into()
    })
    .await
}

struct Stage {
    mode: Arc<std::sync::Mutex<Server>>,
    server: Origin,
    origin: Origin,
    desk: Desk,
}

async fn stage(exchange: bool, change: impl Fn(Setup) -> Setup) -> Stage {
    let mode = Arc::new(std::sync::Mutex::new(Server::Right));
    let server = server(mode.clone()).await;
    let origin = Origin::start(|r: &Request| {
        Reply::json(json!({ "for": r.header("authorization").map(|a| a.replace("Bearer ", "token ")) }).to_string())
    })
    .await;
    let read = |id: &str, more: &str| {
        declare(
            id,
            "query",
            &format!(
                "\nrisk_level = \"low\"\nauth = \"required\"\n{more}\nupstream = {{ method = \"GET\", path = \"/api/{id}\", identity = \"caller\" }}"
            ),
        )
    };
    let all = read("orders", "required_scopes = [\"orders:read\"]")
        + &read("secrets", "required_scopes = [\"secrets:read\"]")
        + &action("place", "\nupstream = { method = \"POST\", path = \"/api/place\", identity = \"caller\" }");
    let ours = "client_id = \"frontdesk\"\nclient_secret = \"s&cret\"";
    let mut setup =
        site(&origin, &all).set("auth.introspection", &format!("url = \"{}/introspect\"\n{ours}", server.url()));
    if exchange {
        let lines = format!("url = \"{}/token\"\naudience = \"https://api.test\"\n{ours}", server.url());
        setup = setup.set("auth.exchange", &lines);
    }
    let desk = change(setup).start().await;
    Stage { mode, server, origin, desk }
}

fn orders(token: &str) -> Ask {
    call("/agent/orders", &json!({})).bearer(token)
}

fn asked(server: &Origin, path: &str) -> usize {
    server.requests().iter().filter(|r| r.target == path).count()
}

#[tokio::test]
async fn token_server_says_who_a_token_is_and_what_it_may_do() {
    let staged = stage(false, |setup| setup).await;
    let Stage { server, origin, desk, .. } = &staged;
    for _ in 0..6 {
        let data = assert_answer(&desk.call(orders("ada-1")).await, 200, "ada")["data"].clone();
        assert_eq!(data, json!({ "for": "token ada-1" }));
    }
    let seen = last_upstream(origin);
    assert_eq!((seen.header("x-frontdesk-verified"), seen.header("x-frontdesk-caller")), (Some("token"), Some("ada")));
    // A configuration that is compiled anew, as after the site's documents were looked for, begins with an empty cache.
    let questions = asked(server, "/introspect");
    assert!(questions <= 2, "the meaning of a token is cached: {questions}");
    let secrets = desk.call(call("/agent/secrets", &json!({})).bearer("ada-1")).await;
    assert_fault(&secrets, 403, "missing_scope", "secrets");
    for _ in 0..6 {
        assert_eq!(desk.call(orders("eve-1")).await.status, 401);
    }
    assert!(asked(server, "/introspect") <= questions + 2, "also that it means nothing");
    assert_eq!(upstream_calls(origin).len(), 6);
}

#[tokio::test]
async fn token_server_that_fails_opens_nothing() {
    for mode in [Server::Broken, Server::Lying, Server::Silent] {
        let staged = stage(false, |s| s.set("auth", "unverified = \"site\"")).await;
        let Stage { mode: shared, origin, desk, .. } = &staged;
        *shared.lock().expect("the mode") = mode;
        let refused = desk.call(orders("ada-1")).await;
        assert_eq!((refused.status, refused.header("retry-after").is_some()), (503, true), "{}", refused.text());
        assert_eq!(upstream_calls(origin).len(), 0);
        // Nothing of it is cached.
        *shared.lock().expect("the mode") = Server::Right;
        assert_eq!(desk.call(orders("ada-1")).await.status, 200);
    }
}

#[tokio::test]
async fn token_server_exchanges_the_token_for_the_sites_own() {
    let staged = stage(true, |setup| setup).await;
    let Stage { server, origin, desk, .. } = &staged;
    for who in ["ada", "bob", "ada", "bob", "ada", "bob"] {
        let data = assert_answer(&desk.call(orders(&format!("{who}-1"))).await, 200, who)["data"].clone();
        assert_eq!(data, json!({ "for": format!("token site-{who}") }));
    }
    let questions = asked(server, "/token");
    assert!((2..=4).contains(&questions), "cached by caller: {questions}");
    let place = |key: &str| call("/agent/place", &json!({})).bearer("ada-1").header("Idempotency-Key", key);
    assert_answer(&desk.call(place("k1")).await, 200, "place");
    assert_eq!(last_upstream(origin).header("authorization"), Some("Bearer site-ada"));
    // Away: nothing is done, and the key stays free.
    let staged = stage(true, |setup| setup).await;
    let Stage { mode: other, origin, desk, .. } = &staged;
    assert_eq!(desk.call(call("/agent/secrets", &json!({})).bearer("ada-1")).await.status, 403);
    *other.lock().expect("the mode") = Server::Broken;
    let away = desk.call(place("k2")).await;
    assert_eq!(away.status, 503, "{}", away.text());
    assert_eq!(upstream_calls(origin).len(), 0);
    *other.lock().expect("the mode") = Server::Right;
    assert_answer(&desk.call(place("k2")).await, 200, "afterwards");
}

#[tokio::test]
async fn token_server_is_asked_once_for_concurrent_calls() {
    let staged = stage(false, |setup| setup).await;
    let Stage { server, desk, .. } = &staged;
    let answers = at_once(&[desk], (0..20).map(|_| orders("ada-1")).collect()).await;
    let done = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!((done, asked(server, "/introspect")), (20, 1));
}

#[tokio::test]
async fn token_server_is_not_asked_for_one_who_guesses() {
    let staged = stage(false, |setup| setup.limits(&[("anonymous", "3/minute")])).await;
    let Stage { server, desk, .. } = &staged;
    for n in 0..12 {
        desk.call(orders(&format!("guess-{n}"))).await;
    }
    let asked = asked(server, "/introspect");
    assert!(asked <= 4, "{asked} questions");
    assert_eq!(desk.call(orders("ada-1")).await.status, 429, "the right one is not told apart");
}

#[tokio::test]
async fn token_server_secrets_stay_here() {
    let staged = stage(true, |mut setup| {
        setup.env.push(("RUST_LOG".into(), "trace".into()));
        setup
    })
    .await;
    let Stage { mode, desk, .. } = &staged;
    desk.call(orders("ada-1")).await;
    *mode.lock().expect("the mode") = Server::Broken;
    desk.call(orders("bob-1")).await;
    eventually("the warning", SOON, async || desk.stderr().contains("authorization server")).await;
    let config: Value = desk.admin_get("/config").await.json();
    for text in [desk.stdout(), desk.stderr(), config.to_string()] {
        for secret in ["s&cret", "s%26cret", "ZnJvbnRkZXNr", "ada-1", "site-ada", "bob-1"] {
            assert!(!text.contains(secret), "{secret}");
        }
    }
}
