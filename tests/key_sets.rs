//! Promise: keys for tokens come from a file or a server, are refreshed in the background, and delay no request.

use crate::support::gate::Gate;
use crate::support::jwks::{AUDIENCE, ISSUER, TokenKey, claims, hmac_token, jwks};
use crate::support::page::PAGE;
use crate::support::rates::{LET_THROUGH, api_key, assert_refused, converse, rate};
use crate::support::{Ask, Desk, Origin, Reply, Request, Setup, Tls, Via, eventually};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Somewhere in the background, with whatever pauses between tries.
const IN_THE_BACKGROUND: Duration = Duration::from_secs(60);

async fn site() -> Origin {
    Origin::start(|_: &Request| Reply::html(PAGE)).await
}

fn auth(setup: Setup, set: &str) -> Setup {
    setup.set("auth", &format!("issuer = \"{ISSUER}\"\naudience = \"{AUDIENCE}\"\njwks = \"{set}\""))
}

/// A server of key sets whose certificate the desk trusts.
struct KeyServer {
    origin: Origin,
    set: Arc<Mutex<String>>,
    tls: Tls,
}

impl KeyServer {
    async fn start(set: &str, gate: Option<Gate>) -> KeyServer {
        let (tls, set) = (Tls::new(), Arc::new(Mutex::new(set.to_owned())));
        let served = set.clone();
        let origin = Origin::start_tls(&tls, move |_: &Request| {
            let reply = Reply::new(200).header("Content-Type", "application/json").header("Cache-Control", "max-age=1");
            let body = served.lock().expect("the set").clone();
            gate.as_ref().map_or(reply.clone(), |gate| reply.body("").wait(gate)).then(body)
        })
        .await;
        KeyServer { origin, set, tls }
    }

    fn url(&self) -> String {
        format!("{}/keys", self.origin.url())
    }

    /// In front of the site, with the keys from here.
    fn setup(&self, site: &Origin) -> Setup {
        let setup = auth(Setup::before(site), &self.url()).file("ca.pem", &self.tls.cert_pem);
        setup.env("SSL_CERT_FILE", "ca.pem")
    }
}

async fn status(desk: &Desk, token: &str) -> u16 {
    desk.ask(Via::H1, converse().bearer(token)).await.status
}

#[tokio::test]
async fn key_sets_may_hold_what_we_cannot_use() {
    let site = site().await;
    let key = TokenKey::ed("mine");
    let secret = "0123456789abcdef0123456789abcdef";
    let set = json!({ "more": true, "keys": [
        { "kty": "OKP", "crv": "X25519", "x": "AAAA", "kid": "x" },
        { "kty": "new", "kid": "y" },
        { "kty": "oct", "alg": "HS256", "k": crate::support::jwks::text(secret), "kid": "shared" },
        key.jwk(),
    ] });
    let desk = auth(Setup::before(&site), "jwks.json").file("jwks.json", &set.to_string()).start().await;
    assert_eq!(status(&desk, &key.token(&claims("alice"))).await, LET_THROUGH);
    let header = json!({ "typ": "JWT", "alg": "HS256", "kid": "shared" });
    assert_eq!(status(&desk, &hmac_token(secret.as_bytes(), &header, &claims("alice"))).await, 401, "a shared secret");
}

#[tokio::test]
async fn key_sets_in_a_file_are_swapped_with_the_configuration() {
    let site = site().await;
    let (old, new) = (TokenKey::ed("old"), TokenKey::ec("new"));
    let setup = auth(Setup::before(&site), "jwks.json").file("jwks.json", &jwks(&[&old]));
    let desk = setup.clone().start().await;
    let (by_old, by_new) = (old.token(&claims("alice")), new.token(&claims("alice")));
    assert_eq!((status(&desk, &by_old).await, status(&desk, &by_new).await), (LET_THROUGH, 401));
    desk.dir.write("jwks.json", jwks(&[&new]));
    desk.reload().await;
    eventually("the new keys", IN_THE_BACKGROUND, async || status(&desk, &by_new).await == LET_THROUGH).await;
    assert_eq!(status(&desk, &by_old).await, 401, "the old ones are gone");
}

#[tokio::test]
async fn key_sets_are_fetched_in_the_background() {
    let (site, key) = (site().await, TokenKey::ed("ed"));
    let server = KeyServer::start(&jwks(&[&key]), None).await;
    let desk = server.setup(&site).start().await;
    let token = key.token(&claims("alice"));
    eventually("the keys", IN_THE_BACKGROUND, async || status(&desk, &token).await == LET_THROUGH).await;
    let fetched = server.origin.requests().len();
    for _ in 0..50 {
        assert_eq!(status(&desk, &token).await, LET_THROUGH);
    }
    assert!(server.origin.requests().len() <= fetched + 5, "not once a request");
    let asked = server.origin.requests().remove(0);
    assert_eq!((asked.method.as_str(), asked.target.as_str()), ("GET", "/keys"));
}

#[tokio::test]
async fn key_sets_not_there_yet_make_tokens_wait_and_nobody_else() {
    let (site, key, gate) = (site().await, TokenKey::ed("ed"), Gate::closed());
    let server = KeyServer::start(&jwks(&[&key]), Some(gate.clone())).await;
    let desk = server.setup(&site).tail(&api_key("partner-a", "hush-hush", "")).start().await;
    let token = key.token(&claims("alice"));
    for _ in 0..3 {
        let begun = Instant::now();
        let response = desk.ask(Via::H1, converse().bearer(&token)).await;
        assert_eq!(response.status, 503, "{}", response.text());
        rate(&response, "no keys yet");
        let wait = response.header("retry-after").and_then(|w| w.parse::<u64>().ok());
        assert!(wait.is_some_and(|w| w >= 1), "{:?}", response.headers);
        assert!(begun.elapsed() < Duration::from_secs(5), "it waited for the keys: {:?}", begun.elapsed());
    }
    assert_eq!(desk.ask(Via::H1, converse()).await.status, LET_THROUGH, "without a token");
    assert_eq!(desk.ask(Via::H1, converse().bearer("hush-hush")).await.status, LET_THROUGH, "with a key of ours");
    assert_eq!(desk.ask(Via::H1, Ask::get("/").bearer(&token)).await.status, 200, "a page");
    assert_eq!(site.last().headers.all("x-frontdesk-verified"), ["none"], "cannot know yet");
    assert_eq!(desk.get("/.well-known/agent.json").await.status, 200, "a manifest");
    gate.open();
    eventually("the keys", IN_THE_BACKGROUND, async || status(&desk, &token).await == LET_THROUGH).await;
}

#[tokio::test]
async fn key_sets_are_asked_for_again_when_an_unknown_key_shows_up() {
    let (site, old, new) = (site().await, TokenKey::ed("old"), TokenKey::ed("new"));
    let server = KeyServer::start(&jwks(&[&old]), None).await;
    let desk = server.setup(&site).start().await;
    let (by_old, by_new) = (old.token(&claims("alice")), new.token(&claims("alice")));
    eventually("the keys", IN_THE_BACKGROUND, async || status(&desk, &by_old).await == LET_THROUGH).await;
    assert_eq!(status(&desk, &by_new).await, 401);
    *server.set.lock().expect("the set") = jwks(&[&old, &new]);
    eventually("the new key", IN_THE_BACKGROUND, async || status(&desk, &by_new).await == LET_THROUGH).await;
    assert_eq!(status(&desk, &by_old).await, LET_THROUGH);
}

#[tokio::test]
async fn key_sets_that_go_bad_leave_the_last_good_one() {
    let (site, key) = (site().await, TokenKey::ed("ed"));
    let server = KeyServer::start(&jwks(&[&key]), None).await;
    let desk = server.setup(&site).start().await;
    let token = key.token(&claims("alice"));
    eventually("the keys", IN_THE_BACKGROUND, async || status(&desk, &token).await == LET_THROUGH).await;
    let strange = TokenKey::ed("strange").token(&claims("alice"));
    for bad in ["<html>down</html>".to_owned(), "{".to_owned(), " ".repeat(8 << 20)] {
        *server.set.lock().expect("the set") = bad;
        // An unknown key is a reason to look again.
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(3) {
            assert_eq!(status(&desk, &strange).await, 401);
            assert_eq!(status(&desk, &token).await, LET_THROUGH);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

#[tokio::test]
async fn key_sets_come_only_from_whom_we_can_trust() {
    let (site, key) = (site().await, TokenKey::ed("ed"));
    let server = KeyServer::start(&jwks(&[&key]), None).await;
    // Without its certificate among the trusted ones.
    let desk = auth(Setup::before(&site), &server.url()).start().await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(status(&desk, &key.token(&claims("alice"))).await, 503);
    assert!(server.origin.requests().is_empty(), "nothing was asked over a connection we cannot trust");
}

#[tokio::test]
async fn key_sets_are_not_followed_elsewhere() {
    let (site, key, tls) = (site().await, TokenKey::ed("ed"), Tls::new());
    let set = jwks(&[&key]);
    let server = Origin::start_tls(&tls, move |r: &Request| match r.target.as_str() {
        "/elsewhere" => Reply::json(&set),
        _ => Reply::new(302).header("Location", "/elsewhere"),
    })
    .await;
    let setup = auth(Setup::before(&site), &format!("{}/keys", server.url())).file("ca.pem", &tls.cert_pem);
    let desk = setup.env("SSL_CERT_FILE", "ca.pem").start().await;
    eventually("it asks", IN_THE_BACKGROUND, async || !server.requests().is_empty()).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(status(&desk, &key.token(&claims("alice"))).await, 503);
    assert!(server.requests().iter().all(|r| r.target == "/keys"), "a redirect was followed");
}

#[tokio::test]
async fn key_sets_must_be_readable_at_start() {
    use crate::support::Dir;
    use crate::support::desk::run_to_end;
    let text = |set: &str| format!("[upstream]\nurl = \"http://127.0.0.1:1\"\n[auth]\njwks = \"{set}\"\n");
    for (name, content) in [("missing.json", None), ("bad.json", Some("{\"keys\": 3}")), ("no.json", Some("nonsense"))]
    {
        let dir = Dir::new();
        if let Some(content) = content {
            dir.write(name, content);
        }
        dir.write("frontdesk.toml", text(name));
        let (code, out, err) = run_to_end(&["check", "frontdesk.toml"], dir.path());
        assert_eq!(code, 1, "{name}: {out}{err}");
        assert!((out + &err).contains("jwks"), "{name}: which key it is");
    }
    let dir = Dir::new();
    dir.write("frontdesk.toml", text("http://id.site.test/keys"));
    let (code, out, err) = run_to_end(&["check", "frontdesk.toml"], dir.path());
    assert_eq!(code, 1, "keys over cleartext: {out}{err}");
}

#[tokio::test]
async fn key_sets_tell_which_token_was_refused_only_to_who_sent_it() {
    let (site, key) = (site().await, TokenKey::ed("ed"));
    let desk = auth(Setup::before(&site), "jwks.json").file("jwks.json", &jwks(&[&key])).start().await;
    let mut wrong: Value = claims("alice-4711");
    wrong["aud"] = "https://else.test".into();
    let token = key.token(&wrong);
    assert_refused(&desk.ask(Via::H1, converse().bearer(&token)).await, "another audience");
    assert_eq!(status(&desk, &key.token(&claims("alice-4711"))).await, LET_THROUGH);
    let said = desk.stdout() + &desk.stderr() + &desk.admin_get("/metrics").await.text();
    assert!(!said.contains(&token) && !desk.admin_get("/metrics").await.text().contains("alice-4711"), "{said}");
}
