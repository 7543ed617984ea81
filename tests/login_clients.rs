//! Promise: only clients that the operator accepts can sign in, and a client that is not known costs little memory and few
//! requests.

use crate::support::calls::{assert_answer, assert_fault};
use crate::support::login::{self, Stage, parameter, redemption, text};
use crate::support::redis::{Redis, connected};
use crate::support::{Ask, Dir, Origin, Reply, Request, Response, SOON, eventually};
use serde_json::{Value, json};

fn register(body: &Value) -> Ask {
    Ask::post("/agent/oauth/register", body.to_string()).header("Content-Type", "application/json")
}

/// The id of a client that has registered itself.
async fn registered(stage: &Stage, body: &Value) -> String {
    let made = stage.desk.call(register(body)).await;
    assert_eq!(made.status, 201, "{}", made.text());
    text(&made.json(), "client_id").to_owned()
}

/// The operator sees a refusal in the metrics and in the access log.
async fn assert_counted(stage: &Stage, path: &str, reason: &str, least: f64) {
    stage.desk.metric_reaches(&format!("frontdesk_rejections_total{{reason=\"{reason}\"}}"), least).await;
    let is_logged = |line: &Value| line["url.path"] == path && line["error.type"] == reason;
    eventually("its line", SOON, async || stage.desk.access_log().iter().any(is_logged)).await;
}

/// Tokens for a registered client that a person has allowed the orders.
async fn linked(stage: &Stage, id: &str, cookies: &str, uri: &str) -> Response {
    let code = stage.code(cookies, &[("client_id", id), ("redirect_uri", uri)], &["orders"]).await;
    let mut form = redemption(&code);
    form.iter_mut().for_each(|(name, value)| match *name {
        "client_id" => *value = id,
        "redirect_uri" => *value = uri,
        _ => {}
    });
    stage.token(&form).await
}

#[tokio::test]
async fn login_clients_register_where_the_operator_wants_that() {
    let client =
        json!({ "client_name": "Tool <b>", "redirect_uris": ["http://127.0.0.1/cb", "https://agent.test:8443/cb"] });
    let stage = Stage::new("clients = \"dynamic\"").await;
    let server = stage.desk.get("/.well-known/oauth-authorization-server").await.json();
    assert_eq!(server["registration_endpoint"], "https://site.test/agent/oauth/register");
    let id = registered(&stage, &client).await;
    let cookies = stage.sign_in("ada").await;
    let page = stage.authorize(&cookies, &[("client_id", &id), ("redirect_uri", "http://127.0.0.1:4711/cb")]).await;
    let shown = page.text();
    assert!(shown.contains("Tool &lt;b&gt;") && shown.contains("not verified"), "{shown}");
    assert!(shown.contains("runs on your own computer"), "{shown}");
    let page = stage.authorize(&cookies, &[("client_id", &id), ("redirect_uri", "https://agent.test:8443/cb")]).await;
    assert!(page.text().contains("agent.test:8443"), "where it leads, with the port: {}", page.text());
    let given = linked(&stage, &id, &cookies, "http://127.0.0.1:4711/cb").await.json();
    assert_answer(&stage.called("orders", text(&given, "access_token")).await, 200, "orders");
    for _ in 0..19 {
        registered(&stage, &client).await;
    }
    let refused = stage.desk.call(register(&client)).await;
    assert_eq!(refused.status, 429, "one address registers so many in an hour");
    let wait: u64 = refused.header("retry-after").expect("how long").parse().expect("seconds");
    assert!((3500..=3601).contains(&wait), "the rest of the hour: {wait}");
    assert_counted(&stage, "/agent/oauth/register", "too_many_registrations", 1.0).await;
    let stage = Stage::new("").await;
    assert_eq!(stage.desk.call(register(&client)).await.status, 404, "the site's own");
    let stage = Stage::new("clients = \"listed\"").await;
    let server = stage.desk.get("/.well-known/oauth-authorization-server").await.json();
    assert_eq!(server["client_id_metadata_document_supported"], false);
    let cookies = stage.sign_in("ada").await;
    let page = stage
        .authorize(&cookies, &[("client_id", "https://agent.test/c.json"), ("redirect_uri", "https://agent.test/cb")])
        .await;
    assert_eq!(page.status, 400, "not listed");
}

/// What anybody can store is small, and short-lived until a person uses it.
#[tokio::test]
async fn login_clients_that_nobody_uses_are_small_and_gone_soon() {
    let redis = Redis::start().await;
    let sessions = login::Sessions::default();
    let origin = login::site(sessions.clone()).await;
    let setup = login::setup(&origin, "clients = \"dynamic\"").set("store", &format!("url = \"{}\"", redis.url()));
    let stage = Stage { sessions, origin, desk: connected(&setup).await };
    for wrong in [
        json!({}),
        json!({ "redirect_uris": ["javascript:alert(1)"] }),
        json!({ "redirect_uris": ["http://evil.test/"] }),
        json!({ "redirect_uris": (0..6).map(|n| format!("https://agent.test/{n}")).collect::<Vec<_>>() }),
        json!({ "redirect_uris": [format!("https://agent.test/{}", "x".repeat(2000))] }),
    ] {
        assert_eq!(stage.desk.call(register(&wrong)).await.status, 400, "{wrong}");
    }
    let id = registered(&stage, &json!({ "redirect_uris": [login::CALLBACK], "more": "x".repeat(8000) })).await;
    let key = redis.keys().await.into_iter().find(|key| key.contains("oauth:client:")).expect("its record");
    let left = async || redis.command(&["TTL", &key]).await[0].parse::<u64>().expect("seconds");
    assert!(left().await <= 3600, "an hour: {}", left().await);
    let kept: usize = redis.command(&["STRLEN", &key]).await[0].parse().unwrap_or(0);
    assert!(kept < 2500, "{kept} bytes");
    let cookies = stage.sign_in("ada").await;
    assert_eq!(linked(&stage, &id, &cookies, login::CALLBACK).await.status, 200);
    assert!(left().await > 29 * 24 * 3600, "as long as the link: {}", left().await);
}

/// Tests of callbacks may reach this machine over http; nobody here is taken for an agent because of that.
#[tokio::test]
async fn login_clients_documents_are_not_fetched_from_inside() {
    let inside = Origin::start(|r: &Request| {
        let id = format!("http://{}{}", r.header("host").unwrap_or_default(), r.target);
        Reply::json(json!({ "client_id": id, "redirect_uris": ["https://agent.test/cb"] }).to_string())
    })
    .await;
    for allowed in ["allow_http_callbacks = true", "max_turns = 10"] {
        let stage = Stage::with("", |setup| setup.instead("sessions", allowed)).await;
        let cookies = stage.sign_in("ada").await;
        for id in [
            format!("{}/c.json", inside.url()),
            format!("{}/c.json", inside.url().replace("127.0.0.1", "localhost")),
            "https://127.0.0.1/c.json".into(),
            "https://10.0.0.1/c.json".into(),
            "https://localhost/c.json".into(),
            "https://no-such-name.invalid/c.json".into(),
        ] {
            let asks = [("client_id", &*id), ("redirect_uri", "https://agent.test/cb")];
            let page = stage.authorize(&cookies, &asks).await;
            assert_eq!((page.status, page.header("location")), (400, None), "{id}: {}", page.text());
            let said = page.text();
            for inner in ["refused", "os error", "resolve", "lookup", "not found", "upstream"] {
                assert!(!said.contains(inner), "{id}: {said}");
            }
        }
        // Nobody who is not signed in gets this far.
        let asks = [("client_id", "https://agent.test/c.json"), ("redirect_uri", "https://agent.test/cb")];
        assert_eq!(stage.authorize("x=1", &asks).await.status, 303);
    }
    assert_eq!(inside.requests().len(), 0);
}

#[tokio::test]
async fn login_clients_that_the_operator_takes_no_longer_are_out() {
    let kept = Dir::new();
    let store = format!("url = \"file:{}\"", kept.path().display());
    let sessions = login::Sessions::default();
    let origin = login::site(sessions.clone()).await;
    let desk = login::setup(&origin, "clients = \"dynamic\"").set("store", &store).start().await;
    let stage = Stage { sessions, origin, desk };
    let cookies = stage.sign_in("ada").await;
    let id = registered(&stage, &json!({ "redirect_uris": [login::CALLBACK] })).await;
    let given = linked(&stage, &id, &cookies, login::CALLBACK).await.json();
    let token = text(&given, "access_token");
    assert_answer(&stage.called("orders", token).await, 200, "taken");
    stage.desk.swap(&login::setup(&stage.origin, "clients = \"listed\"").set("store", &store)).await;
    assert_fault(&stage.called("orders", token).await, 401, "auth_required", "taken no longer");
    let refresh =
        [("grant_type", "refresh_token"), ("refresh_token", text(&given, "refresh_token")), ("client_id", &id)];
    login::assert_error(&stage.token(&refresh).await, "invalid_grant");
}

/// An agent that refreshes often uses up no limit of people and other agents at its address.
#[tokio::test]
async fn login_clients_have_a_budget_of_their_own_for_tokens() {
    let stage = Stage::with("", |setup| setup.limits(&[("anonymous", "30/minute")])).await;
    let cookies = stage.sign_in("ada").await;
    let code = stage.code(&cookies, &[], &["orders"]).await;
    let mut given = stage.redeem(&code).await.json();
    for n in 0..60 {
        let next = stage.refresh(text(&given, "refresh_token")).await;
        assert_eq!(next.status, 200, "{n}: {}", next.text());
        given = next.json();
    }
    assert_eq!(stage.authorize(&cookies, &[]).await.status, 200, "the person is not held up");
    let wrong = [("grant_type", "refresh_token"), ("refresh_token", "fdrt_x"), ("client_id", login::CLIENT)];
    let mut last = stage.token(&wrong).await;
    for _ in 0..80 {
        last = stage.token(&wrong).await;
    }
    assert_eq!(last.status, 429, "{}", last.text());
    let wait: u64 = last.header("retry-after").expect("how long").parse().expect("seconds");
    assert!((1..=61).contains(&wait), "the rest of the minute: {wait}");
    assert_counted(&stage, "/agent/oauth/token", "too_many_token_requests", 1.0).await;
    let revoke = login::posted("/agent/oauth/revoke", &[("token", "fdat_x"), ("client_id", login::CLIENT)]);
    assert_eq!(stage.desk.call(revoke).await.status, 429, "the same budget");
    let other = [("grant_type", "refresh_token"), ("refresh_token", "fdrt_x"), ("client_id", "other")];
    assert_eq!(stage.token(&other).await.status, 400, "another client");
    // Invented names of clients share one budget.
    let mut refused = 0;
    for n in 0..500 {
        let client = format!("client {n}");
        let form = [("grant_type", "refresh_token"), ("refresh_token", "fdrt_x"), ("client_id", &*client)];
        refused += usize::from(stage.token(&form).await.status == 429);
    }
    assert!(refused > 0, "600 in a minute for one address");
    assert!(parameter(&stage.authorize("x=1", &[]).await, "code").is_none());
}
