//! Promise: tokens of each declared authorization server are taken, by the keys that its metadata names, for this site
//! alone; and an MCP client without a token, or with too small a one, is told where to get a better one.

use crate::support::calls::{BARE, action, call, last_upstream, site, upstream_calls};
use crate::support::gate::Gate;
use crate::support::jwks::{TokenKey, claims, jwks};
use crate::support::rpc::{self, message, post};
use crate::support::{Desk, Origin, Reply, Request, Setup, Tls, Via, eventually};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Somewhere in the background, with whatever pauses between tries.
const IN_THE_BACKGROUND: Duration = Duration::from_secs(60);

/// An authorization server: metadata, and keys elsewhere.
struct Issuer {
    origin: Origin,
    key: TokenKey,
    says: Arc<Mutex<Says>>,
}

/// The key set, where the metadata is, and what it says of the issuer and of the server with the keys, if it lies.
type Says = (String, &'static str, Option<String>, Option<String>);

const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

impl Issuer {
    async fn start(tls: &Tls, kid: &str, place: &'static str, gate: Option<Gate>) -> Issuer {
        let key = TokenKey::ed(kid);
        let says = Arc::new(Mutex::new((jwks(&[&key]), place, None, None)));
        let said = says.clone();
        let origin = Origin::start_tls(tls, move |r: &Request| {
            let (keys, place, issuer, elsewhere) = said.lock().expect("what it says").clone();
            let own = format!("https://{}", r.header("host").unwrap_or_default());
            let jwks_uri = format!("{}/keys", elsewhere.as_ref().unwrap_or(&own));
            let metadata = json!({ "issuer": issuer.unwrap_or(own), "jwks_uri": jwks_uri });
            let (status, body) = match r.target.as_str() {
                "/keys" => (200, keys),
                target if target == place => (200, metadata.to_string()),
                _ => (404, "none".to_owned()),
            };
            let reply = Reply::new(status).header("Content-Type", "application/json");
            gate.as_ref().map_or(reply.clone(), |gate| reply.body("").wait(gate)).then(body)
        })
        .await
        .owns_well_known();
        Issuer { origin, key, says }
    }

    fn url(&self) -> String {
        self.origin.url()
    }

    /// A token of this server, with these scopes and changed claims.
    fn token(&self, subject: &str, scope: &str, more: Value) -> String {
        self.signed(&self.key, subject, scope, more)
    }

    fn signed(&self, key: &TokenKey, subject: &str, scope: &str, more: Value) -> String {
        let mut claims = claims(subject);
        claims["iss"] = self.url().into();
        claims["scope"] = scope.into();
        claims.as_object_mut().expect("claims").extend(more.as_object().cloned().unwrap_or_default());
        key.token(&claims)
    }
}

async fn shop() -> Origin {
    Origin::start(|r: &Request| match r.target.as_str() {
        "/api/orders" => Reply::new(201).header("Content-Type", "application/json").body(r#"{"order":"o-1"}"#),
        _ => Reply::new(404).body("none"),
    })
    .await
}

fn setup(origin: &Origin, tls: &Tls, issuers: &[&Issuer]) -> Setup {
    let urls: Vec<String> = issuers.iter().map(|issuer| issuer.url()).collect();
    let buy = action("buy", "\nrequired_scopes = [\"buy\"]\nupstream = { method = \"POST\", path = \"/api/orders\" }");
    site(origin, &buy)
        .set("auth", &format!("authorization_servers = {urls:?}"))
        .file("ca.pem", &tls.cert_pem)
        .env("SSL_CERT_FILE", "ca.pem")
}

async fn status(desk: &Desk, token: &str) -> u16 {
    desk.call(call("/agent/buy", &json!({})).bearer(token)).await.status
}

async fn are_known(desk: &Desk, token: &str) {
    eventually("the keys", IN_THE_BACKGROUND, async || status(desk, token).await == 201).await;
}

#[tokio::test]
async fn issuers_are_believed_each_by_its_own_keys() {
    let (origin, tls) = (shop().await, Tls::new());
    let one = Issuer::start(&tls, "one", OAUTH, None).await;
    let other = Issuer::start(&tls, "other", OPENID, None).await;
    let desk = setup(&origin, &tls, &[&one, &other]).start().await;
    let ada = one.token("ada", "buy", json!({}));
    are_known(&desk, &ada).await;
    assert_eq!(last_upstream(&origin).header("x-frontdesk-caller"), Some("ada"));
    are_known(&desk, &other.token("ada", "buy", json!({}))).await;
    let named = format!("{}|ada", other.url());
    assert_eq!(last_upstream(&origin).header("x-frontdesk-caller"), Some(named.as_str()), "another ada");
    // The first issuer cannot name the other's people.
    assert_eq!(status(&desk, &one.token(&named, "buy", json!({}))).await, 401);
    let stranger = TokenKey::ed("one");
    for (what, token) in [
        ("the other's key", one.signed(&other.key, "ada", "buy", json!({}))),
        ("the other's name", one.token("ada", "buy", json!({ "iss": other.url() }))),
        ("a key under the same name", one.signed(&stranger, "ada", "buy", json!({}))),
        ("an issuer that is not declared", one.token("ada", "buy", json!({ "iss": "https://login.test" }))),
        ("no issuer", one.token("ada", "buy", json!({ "iss": null }))),
    ] {
        assert_eq!(status(&desk, &token).await, 401, "{what}");
    }
}

#[tokio::test]
async fn issuers_tokens_are_for_this_site() {
    let (origin, tls) = (shop().await, Tls::new());
    let one = Issuer::start(&tls, "one", OAUTH, None).await;
    let desk = setup(&origin, &tls, &[&one]).start().await;
    are_known(&desk, &one.token("ada", "buy", json!({}))).await;
    for (audience, expected) in [
        (json!("https://site.test"), 201),
        (json!("https://site.test/mcp"), 201),
        (json!(["https://else.test", "https://site.test/mcp"]), 201),
        (json!("https://else.test"), 401),
        (json!("https://site.test.else.test"), 401),
        (json!("https://site.test/other"), 401),
        (json!([]), 401),
        (json!(null), 401),
    ] {
        let token = one.token("ada", "buy", json!({ "aud": audience }));
        assert_eq!(status(&desk, &token).await, expected, "{audience}");
    }
    // What the operator says is the audience, and nothing else.
    let desk = setup(&origin, &tls, &[&one]).set("auth", "audience = \"shop\"").start().await;
    are_known(&desk, &one.token("ada", "buy", json!({ "aud": "shop" }))).await;
    assert_eq!(status(&desk, &one.token("ada", "buy", json!({}))).await, 401);
}

#[tokio::test]
async fn issuers_change_their_keys() {
    let (origin, tls) = (shop().await, Tls::new());
    let one = Issuer::start(&tls, "old", OAUTH, None).await;
    let desk = setup(&origin, &tls, &[&one]).start().await;
    let (by_old, new) = (one.token("ada", "buy", json!({})), TokenKey::ed("new"));
    let by_new = one.signed(&new, "ada", "buy", json!({}));
    are_known(&desk, &by_old).await;
    assert_eq!(status(&desk, &by_new).await, 401);
    one.says.lock().expect("what it says").0 = jwks(&[&new]);
    are_known(&desk, &by_new).await;
    assert_eq!(status(&desk, &by_old).await, 401, "it is withdrawn");
    // It goes away: what is known stays.
    one.says.lock().expect("what it says").0 = "<html>down</html>".to_owned();
    assert_eq!(status(&desk, &one.signed(&TokenKey::ed("x"), "ada", "buy", json!({}))).await, 401);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(status(&desk, &by_new).await, 201);
}

#[tokio::test]
async fn issuers_that_are_away_stop_nobody_else() {
    let (origin, tls, gate) = (shop().await, Tls::new(), Gate::closed());
    let here = Issuer::start(&tls, "here", OAUTH, None).await;
    let away = Issuer::start(&tls, "away", OAUTH, Some(gate.clone())).await;
    let liar = Issuer::start(&tls, "liar", OAUTH, None).await;
    liar.says.lock().expect("what it says").2 = Some(here.url());
    // Its keys are at a server in this network that nobody declared.
    let inside = Issuer::start(&tls, "inside", OAUTH, None).await;
    inside.says.lock().expect("what it says").3 = Some(liar.url());
    let desk = setup(&origin, &tls, &[&here, &away, &liar, &inside]).start().await;
    are_known(&desk, &here.token("ada", "buy", json!({}))).await;
    for issuer in [&away, &liar, &inside] {
        let refused = desk.call(call("/agent/buy", &json!({})).bearer(&issuer.token("ada", "buy", json!({})))).await;
        assert_eq!(refused.status, 503, "{}", refused.text());
        assert!(refused.header("retry-after").is_some(), "{:?}", refused.headers);
    }
    // A token of nobody here waits for no keys.
    assert_eq!(status(&desk, &here.token("ada", "buy", json!({ "iss": "https://login.test" }))).await, 401);
    gate.open();
    are_known(&desk, &away.token("ada", "buy", json!({}))).await;
    let still = desk.call(call("/agent/buy", &json!({})).bearer(&liar.token("ada", "buy", json!({})))).await;
    assert_eq!(still.status, 503, "metadata of another issuer is none: {}", still.text());
    assert_eq!(status(&desk, &inside.signed(&liar.key, "ada", "buy", json!({}))).await, 503);
    assert!(liar.origin.requests().iter().all(|r| r.target != "/keys"), "nobody's keys were fetched there");
}

#[tokio::test]
async fn issuers_are_where_an_mcp_client_is_sent() {
    let (origin, tls) = (shop().await, Tls::new());
    let one = Issuer::start(&tls, "one", OAUTH, None).await;
    let desk = setup(&origin, &tls, &[&one]).start().await;
    let full = one.token("ada", "buy", json!({}));
    are_known(&desk, &full).await;
    let done = upstream_calls(&origin).len();
    let ask = || post(rpc::call("buy", json!({ "query": "buy" })).to_string());
    let metadata = "resource_metadata=\"https://site.test/.well-known/oauth-protected-resource/mcp\"";
    let refused = desk.ask(Via::H1, ask()).await;
    let challenge = refused.headers.joined("www-authenticate");
    assert_eq!(refused.status, 401, "{}", refused.text());
    assert!(challenge.starts_with("Bearer ") && challenge.contains(metadata), "{challenge}");
    assert!(challenge.contains("scope=\"buy\"") && !challenge.contains("error="), "{challenge}");
    // Step-up: it has a token, and needs a better one.
    for less in ["", "read"] {
        let refused = desk.ask(Via::H1, ask().bearer(&one.token("ada", less, json!({})))).await;
        let challenge = refused.headers.joined("www-authenticate");
        assert_eq!(refused.status, 403, "{}", refused.text());
        assert!(
            challenge.contains("error=\"insufficient_scope\"") && challenge.contains("scope=\"buy\""),
            "{challenge}"
        );
        assert!(challenge.contains(metadata), "{challenge}");
    }
    let wrong = desk.ask(Via::H1, ask().bearer(&one.token("ada", "buy", json!({ "aud": "https://else.test" })))).await;
    assert_eq!(wrong.status, 401);
    assert!(wrong.headers.joined("www-authenticate").contains("error=\"invalid_token\""), "{:?}", wrong.headers);
    assert_eq!(upstream_calls(&origin).len(), done);
    let bought = desk.ask(Via::H1, ask().bearer(&full)).await;
    assert!(bought.text().contains("o-1"), "{}", bought.text());
    // The list is the same for everybody.
    let list = || post(message("tools/list", json!({})).to_string());
    let everybody = desk.ask(Via::H1, list()).await;
    assert_eq!(everybody.status, 200, "{}", everybody.text());
    assert!(everybody.text().contains("\"buy\""), "{}", everybody.text());
    for credential in [full.as_str(), &one.token("ada", "", json!({})), BARE] {
        assert_eq!(desk.ask(Via::H1, list().bearer(credential)).await.body, everybody.body, "{credential}");
    }
}
