//! Promise: a bearer token is accepted only with a signature by a published key, our audience, the issuer, and a valid
//! time.

use crate::support::jwks::{AUDIENCE, ISSUER, TokenKey, claims, hmac_token, jwks, now, text, unsigned};
use crate::support::page::PAGE;
use crate::support::rates::{LET_THROUGH, assert_limited, assert_refused, converse, rate};
use crate::support::{Ask, Desk, Origin, Reply, Request, Response, Setup, Via};
use base64::Engine;
use serde_json::{Value, json};

fn auth(setup: Setup, set: &str) -> Setup {
    let auth = format!("issuer = \"{ISSUER}\"\naudience = \"{AUDIENCE}\"\njwks = \"jwks.json\"");
    setup.set("auth", &auth).file("jwks.json", set)
}

async fn desk_knowing(keys: &[&TokenKey]) -> (Origin, Desk) {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let setup = Setup::before(&origin).limits(&[("anonymous", "500/minute"), ("authenticated", "9/minute")]);
    let desk = auth(setup, &jwks(keys)).start().await;
    (origin, desk)
}

async fn present(desk: &Desk, token: &str) -> Response {
    desk.ask(Via::H1, converse().bearer(token)).await
}

async fn assert_believed(desk: &Desk, token: &str, what: &str) {
    let response = present(desk, token).await;
    assert_eq!(response.status, LET_THROUGH, "{what}: {}", response.text());
    assert_eq!(rate(&response, what).limit, 9, "{what}");
}

/// Refused with a challenge; gives back the reason in lower case.
async fn assert_not_believed(desk: &Desk, token: &str, what: &str) -> String {
    let response = present(desk, token).await;
    let reason = assert_refused(&response, what);
    let challenge = response.header("www-authenticate").unwrap_or_else(|| panic!("{what}: no challenge"));
    assert!(challenge.starts_with("Bearer"), "{what}: {challenge}");
    reason
}

/// `claims` but for one of them; null takes it away.
fn but(name: &str, value: Value) -> Value {
    let mut claims = claims("alice");
    claims[name] = value;
    if claims[name].is_null() {
        claims.as_object_mut().expect("claims").remove(name);
    }
    claims
}

#[tokio::test]
async fn tokens_of_every_published_kind_are_believed() {
    let keys = [TokenKey::ed("ed"), TokenKey::ec("ec"), TokenKey::rsa("rsa")];
    let (origin, desk) = desk_knowing(&keys.each_ref()).await;
    for key in &keys {
        let token = key.token(&claims(&format!("agent-{}", key.kid)));
        assert_believed(&desk, &token, key.alg()).await;
        desk.ask(Via::H1, Ask::get("/").bearer(&token)).await;
        let seen = origin.last();
        assert_eq!(seen.headers.all("x-frontdesk-verified"), ["token"], "{}", key.alg());
        assert_eq!(seen.headers.all("x-frontdesk-caller"), [format!("agent-{}", key.kid)], "{}", key.alg());
        assert_eq!(seen.headers.all("authorization"), [format!("Bearer {token}")], "it may be the site's");
    }
}

#[tokio::test]
async fn tokens_may_say_more_than_we_ask_for() {
    let key = TokenKey::ed("ed");
    let (_origin, desk) = desk_knowing(&[&key]).await;
    for (what, claims) in [
        ("several audiences", but("aud", json!(["https://else.test", AUDIENCE]))),
        ("no nbf", but("nbf", Value::Null)),
        ("scope", but("scope", json!("flights:read bookings:hold"))),
        ("scp", but("scp", json!(["flights:read"]))),
        ("others", but("https://own.test/claim", json!({ "a": [1, null] }))),
        ("a few seconds early", but("nbf", json!(now() + 2))),
    ] {
        assert_believed(&desk, &key.token(&claims), what).await;
    }
    for kind in ["JWT", "at+jwt"] {
        let header = json!({ "typ": kind, "alg": "EdDSA", "kid": "ed" });
        assert_believed(&desk, &key.token_with(&header, &claims("alice")), kind).await;
    }
}

#[tokio::test]
async fn tokens_of_one_subject_share_a_count() {
    let key = TokenKey::ec("ec");
    let (_origin, desk) = desk_knowing(&[&key]).await;
    let token = |subject: &str, id: u32| {
        let mut claims = claims(subject);
        claims["jti"] = id.into();
        key.token(&claims)
    };
    for used in 1..=9 {
        let response = present(&desk, &token("alice", used)).await;
        assert_eq!(rate(&response, "another token of the same subject").remaining, u64::from(9 - used));
    }
    assert_limited(&present(&desk, &token("alice", 10)).await, "agent", "a tenth");
    assert_believed(&desk, &token("bob", 1), "somebody else").await;
}

#[tokio::test]
async fn tokens_that_are_not_for_us_now_are_refused_with_the_reason() {
    let key = TokenKey::ed("ed");
    let (_origin, desk) = desk_knowing(&[&key]).await;
    for (what, claims, words) in [
        ("expired", but("exp", json!(now() - 3600)), &["expired"][..]),
        ("without end", but("exp", Value::Null), &["exp"]),
        ("not yet", but("nbf", json!(now() + 3600)), &["not yet", "nbf", "becomes valid"]),
        ("another audience", but("aud", json!("https://else.test")), &["audience", "aud"]),
        ("other audiences", but("aud", json!(["https://else.test", "https://site.test.evil"])), &["audience", "aud"]),
        ("no audience", but("aud", Value::Null), &["audience", "aud"]),
        ("another issuer", but("iss", json!("https://id.else.test")), &["issuer", "iss"]),
        ("issuer with a slash", but("iss", json!(format!("{ISSUER}/"))), &["issuer", "iss"]),
        ("no issuer", but("iss", Value::Null), &["issuer", "iss"]),
    ] {
        let reason = assert_not_believed(&desk, &key.token(&claims), what).await;
        assert!(words.iter().any(|w| reason.contains(w)), "{what}: {reason}");
    }
}

#[tokio::test]
async fn tokens_without_a_real_signature_are_refused() {
    let (ed, rsa) = (TokenKey::ed("ed"), TokenKey::rsa("rsa"));
    let (_origin, desk) = desk_knowing(&[&ed, &rsa]).await;
    let good = claims("alice");
    for alg in ["none", "None", "NONE", "nOnE", ""] {
        for kid in [json!("ed"), Value::Null] {
            let plain = unsigned(&json!({ "typ": "JWT", "alg": alg, "kid": kid }), &good);
            assert_not_believed(&desk, &format!("{plain}."), alg).await;
            assert_not_believed(&desk, &plain, alg).await;
            let (_, signed) =
                ed.token(&good).rsplit_once('.').map(|(a, b)| (a.to_owned(), b.to_owned())).expect("three");
            assert_not_believed(&desk, &format!("{plain}.{signed}"), alg).await;
        }
    }
    for key in [&ed, &rsa] {
        let pem = base64::engine::general_purpose::STANDARD.encode(key.public_bytes());
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{pem}\n-----END PUBLIC KEY-----\n");
        let jwk = key.jwk();
        let value = jwk["x"].as_str().or(jwk["n"].as_str()).expect("a public value").to_owned();
        for secret in [key.public_bytes(), pem.into_bytes(), value.into_bytes(), jwk.to_string().into_bytes(), vec![]] {
            for alg in ["HS256", "hs256", key.alg()] {
                let header = json!({ "typ": "JWT", "alg": alg, "kid": key.kid });
                assert_not_believed(&desk, &hmac_token(&secret, &header, &good), alg).await;
            }
        }
    }
    for alg in ["ES512", "PS999", "Ed448", "RS1", "XX"] {
        let header = json!({ "typ": "JWT", "alg": alg, "kid": "ed" });
        assert_not_believed(&desk, &ed.token_with(&header, &good), alg).await;
    }
    let crossed = json!({ "typ": "JWT", "alg": "EdDSA", "kid": "rsa" });
    assert_not_believed(&desk, &ed.token_with(&crossed, &good), "under another key's name").await;
    let renamed = json!({ "typ": "JWT", "alg": "RS256", "kid": "ed" });
    assert_not_believed(&desk, &ed.token_with(&renamed, &good), "as another kind").await;
}

#[tokio::test]
async fn tokens_that_bring_their_own_key_are_refused() {
    let (known, evil) = (TokenKey::ed("ed"), TokenKey::ed("evil"));
    let (_origin, desk) = desk_knowing(&[&known]).await;
    for extra in [
        json!({ "jwk": evil.jwk() }),
        json!({ "jku": "https://evil.test/jwks" }),
        json!({ "x5u": "https://evil.test" }),
    ] {
        for kid in [json!("ed"), json!("evil"), json!("../jwks.json"), json!(7), Value::Null] {
            let mut header = json!({ "typ": "JWT", "alg": "EdDSA", "kid": kid });
            header.as_object_mut().expect("a header").extend(extra.as_object().expect("more").clone());
            assert_not_believed(&desk, &evil.token_with(&header, &claims("alice")), &header.to_string()).await;
        }
    }
}

#[tokio::test]
async fn tokens_cut_or_bent_are_refused() {
    let key = TokenKey::ed("ed");
    let (_origin, desk) = desk_knowing(&[&key]).await;
    let token = key.token(&claims("alice"));
    assert_believed(&desk, &token, "whole").await;
    let parts: Vec<&str> = token.split('.').collect();
    let [header, body, signed] = parts[..] else { panic!("three parts") };
    let raised = text(claims("root").to_string());
    for bent in [
        token[..token.len() - 1].to_owned(),
        token[..token.len() - 20].to_owned(),
        token[..token.len() / 2].to_owned(),
        format!("{header}.{body}"),
        format!("{header}.{body}."),
        format!("{header}..{signed}"),
        format!(".{body}.{signed}"),
        format!("{header}.{raised}.{signed}"),
        format!("{header}.{body}.{signed}.x"),
        format!("{header}.{body}.{signed}.{signed}.x"),
        format!("{token}="),
        format!("{}.{body}.{signed}", text("{not json")),
        format!("{header}.{}.{signed}", text("[]")),
        "..".to_owned(),
        "x".to_owned(),
        "x".repeat(8_000),
    ] {
        assert_not_believed(&desk, &bent, &bent).await;
    }
    for value in ["Bearer", "Bearer "] {
        let response = desk.ask(Via::H1, converse().header("Authorization", value)).await;
        assert_eq!(response.status, 401, "{value:?}: {}", response.text());
    }
    assert_believed(&desk, &token, "still").await;
}

#[tokio::test]
async fn tokens_tell_a_guesser_nothing() {
    let (known, other) = (TokenKey::ed("ed"), TokenKey::ed("other"));
    let (_origin, desk) = desk_knowing(&[&known]).await;
    let good = claims("alice");
    let token = known.token(&good);
    let (front, signed) = token.rsplit_once('.').expect("three parts");
    // The first letters of a signature, for others: well formed, and wrong.
    let wrong = format!("{front}.{}{}", if signed.starts_with('A') { "BBBB" } else { "AAAA" }, &signed[4..]);
    let answers = [
        ("a wrong key", other.token_with(&known.header(), &good)),
        ("an unknown key", other.token(&good)),
        ("a bad signature", wrong),
    ];
    let mut bodies = Vec::new();
    for (what, token) in answers {
        let response = present(&desk, &token).await;
        assert_refused(&response, what);
        bodies.push((response.text(), response.headers.all("www-authenticate").join(", ")));
    }
    assert!(bodies.iter().all(|b| *b == bodies[0]), "{bodies:#?}");
}

#[tokio::test]
async fn tokens_count_as_failed_attempts_only_where_they_failed() {
    let key = TokenKey::ed("ed");
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let setup = Setup::before(&origin).limits(&[("anonymous", "3/minute"), ("authenticated", "9/minute")]);
    let desk = auth(setup, &jwks(&[&key])).start().await;
    for _ in 0..5 {
        assert_believed(&desk, &key.token(&claims("alice")), "good ones are not counted by address").await;
    }
    let expired = key.token(&but("exp", json!(now() - 3600)));
    for _ in 0..3 {
        assert_not_believed(&desk, &expired, "expired").await;
    }
    assert_limited(&present(&desk, &expired).await, "ip", "a fourth");
    assert_believed(&desk, &key.token(&claims("alice")), "a good one").await;
}

#[tokio::test]
async fn tokens_refused_are_metered_by_reason() {
    const REJECTIONS: &str = "frontdesk_rejections_total";
    let (key, other) = (TokenKey::ed("ed"), TokenKey::ed("other"));
    let (_origin, desk) = desk_knowing(&[&key]).await;
    let bad = [
        key.token(&but("exp", json!(now() - 3600))),
        key.token(&but("aud", json!("https://else.test"))),
        other.token(&claims("alice-4711")),
        "x.y.z".to_owned(),
    ];
    for (n, token) in (1..).zip(&bad) {
        assert_not_believed(&desk, token, token).await;
        assert_eq!(desk.metric(REJECTIONS).await, Some(f64::from(n)), "{token}");
    }
    let text = desk.admin_get("/metrics").await.text();
    let reasons = text.lines().filter(|l| l.starts_with(REJECTIONS)).count();
    assert!(reasons >= 2, "an expired token is not a forged one: {text}");
    assert!(!text.contains("alice-4711"), "{text}");
}
