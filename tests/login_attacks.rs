//! Promise: what RFC 9700 warns of does not work against `[auth.login]`: no forged or framed consent, no code or token in
//! other hands, no open redirect.

use crate::support::calls::{assert_answer, assert_fault};
use crate::support::login::{self, CALLBACK, CLIENT, Stage, assert_error, parameter, posted, redemption, text, ticket};
use crate::support::{Ask, SOON, eventually};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

#[tokio::test]
async fn login_attack_pkce_is_needed_and_is_not_plain() {
    let stage = Stage::new("").await;
    let cookies = stage.sign_in("ada").await;
    for changes in [
        [("code_challenge", ""), ("code_challenge_method", "")],
        [("code_challenge", login::VERIFIER), ("code_challenge_method", "plain")],
        [("code_challenge", login::CHALLENGE), ("code_challenge_method", "")],
        [("code_challenge", "short"), ("code_challenge_method", "S256")],
    ] {
        let answer = stage.authorize(&cookies, &changes).await;
        assert_eq!(parameter(&answer, "error").as_deref(), Some("invalid_request"), "{changes:?}: {}", answer.text());
        assert_eq!(parameter(&answer, "iss").as_deref(), Some("https://site.test"));
    }
    for (name, value) in [("code_verifier", "x".repeat(43)), ("code_verifier", login::CHALLENGE.to_owned())] {
        let code = stage.code(&cookies, &[], &["orders"]).await;
        let mut form = redemption(&code);
        form.retain(|(n, _)| *n != name);
        form.push((name, &value));
        assert_error(&stage.token(&form).await, "invalid_grant");
        assert_error(&stage.redeem(&code).await, "invalid_grant");
    }
    let code = stage.code(&cookies, &[], &["orders"]).await;
    let mut form = redemption(&code);
    form.retain(|(name, _)| *name != "code_verifier");
    assert_error(&stage.token(&form).await, "invalid_request");
    assert_eq!(login::challenge(login::VERIFIER), login::CHALLENGE);
}

#[tokio::test]
async fn login_attack_a_code_that_comes_again_ends_the_tokens() {
    let stage = Stage::new("").await;
    let cookies = stage.sign_in("ada").await;
    let code = stage.code(&cookies, &[], &["orders"]).await;
    let given = stage.redeem(&code).await.json();
    assert_answer(&stage.called("orders", text(&given, "access_token")).await, 200, "orders");
    assert_error(&stage.redeem(&code).await, "invalid_grant");
    assert_fault(&stage.called("orders", text(&given, "access_token")).await, 401, "auth_required", "ended");
    assert_error(&stage.refresh(text(&given, "refresh_token")).await, "invalid_grant");
    // Of two at once, at most one gets anything, and in the end nobody has it.
    let code = stage.code(&cookies, &[], &["orders"]).await;
    let (one, two) = tokio::join!(stage.redeem(&code), stage.redeem(&code));
    let given: Vec<_> = [one, two].into_iter().filter(|response| response.status == 200).collect();
    assert!(given.len() <= 1);
    for response in given {
        assert_eq!(stage.called("orders", text(&response.json(), "access_token")).await.status, 401);
    }
}

#[tokio::test]
async fn login_attack_a_code_is_for_one_client_one_address_one_resource() {
    let stage = Stage::new("").await;
    let cookies = stage.sign_in("ada").await;
    for (name, value, error) in [
        ("client_id", "other", "invalid_grant"),
        ("redirect_uri", "https://assistant.example.com/callback/", "invalid_grant"),
        ("resource", "https://elsewhere.test/mcp", "invalid_target"),
        ("resource", "https://site.test", "invalid_target"),
        ("grant_type", "password", "unsupported_grant_type"),
        ("code", "fdac_AAAA", "invalid_grant"),
    ] {
        let code = stage.code(&cookies, &[], &["orders"]).await;
        let mut form = redemption(&code);
        form.iter_mut().filter(|(n, _)| *n == name).for_each(|(_, v)| *v = value);
        assert_error(&stage.token(&form).await, error);
        if !["grant_type", "code"].contains(&name) {
            assert_error(&stage.redeem(&code).await, "invalid_grant");
        }
    }
    // A code is no access token, and an access token no code.
    let code = stage.code(&cookies, &[], &["orders"]).await;
    assert_eq!(stage.called("orders", &code).await.status, 401);
    let json = Ask::post("/agent/oauth/token", "{}").header("Content-Type", "application/json");
    assert_error(&stage.desk.call(json).await, "invalid_request");
    let twice = [redemption(&code), vec![("code", "x")]].concat();
    assert_error(&stage.token(&twice).await, "invalid_request");
}

#[tokio::test]
async fn login_attack_redirect_uris_are_exact_and_errors_lead_nowhere() {
    let stage = Stage::new("clients = \"dynamic\"").await;
    let cookies = stage.sign_in("ada").await;
    let exact = [
        "https://assistant.example.com/callback/",
        "https://assistant.example.com/callback?x=1",
        "https://assistant.example.com:8443/callback",
        "https://assistant.example.com.evil.test/callback",
        "https://assistant.example.com@evil.test/callback",
        "http://assistant.example.com/callback",
        "http://127.0.0.1.evil.test/cb",
        "http://127.0.0.1:1234/other",
        "http://localhost:1234/cb",
        "javascript:alert(1)",
        "//evil.test",
        "",
    ];
    for uri in exact {
        let page = stage.authorize(&cookies, &[("redirect_uri", uri)]).await;
        assert_eq!((page.status, page.header("location")), (400, None), "{uri}");
        assert!(!page.text().contains("href"), "{uri}: {}", page.text());
    }
    let port = stage.authorize(&cookies, &[("redirect_uri", "http://127.0.0.1:49152/cb")]).await;
    assert_eq!(port.status, 200, "the port of the own machine may differ");
    let unknown = stage.authorize(&cookies, &[("client_id", "nobody")]).await;
    assert_eq!((unknown.status, unknown.header("location")), (400, None));
    let twice = stage
        .desk
        .call(Ask::get(&format!("{}&client_id=other", login::authorize(&[]))).header("Cookie", &cookies))
        .await;
    assert_eq!((twice.status, twice.header("location")), (400, None), "a parameter twice");
    // A client that anybody can register makes nobody's browser go anywhere without a click.
    let body = "{\"redirect_uris\":[\"https://evil.test/\"]}";
    let made =
        stage.desk.call(Ask::post("/agent/oauth/register", body).header("Content-Type", "application/json")).await;
    let id = text(&made.json(), "client_id").to_owned();
    let wrong = [("client_id", id.as_str()), ("redirect_uri", "https://evil.test/"), ("response_type", "token")];
    let page = stage.authorize(&cookies, &wrong).await;
    assert_eq!((page.status, page.header("location")), (400, None));
    assert!(page.text().contains("unsupported_response_type"), "{}", page.text());
    // The way to the sign-in page never leaves the site.
    for changes in [&wrong[..], &[("state", "//evil.test"), ("extra", "https://evil.test/")]] {
        let away = stage.authorize("x=1", changes).await;
        let to = away.header("location").unwrap_or_default();
        assert!(to.starts_with("/login?next=%2Fagent%2Foauth%2Fauthorize%3F"), "{to}");
    }
    let wrong = stage.authorize(&cookies, &[("resource", "https://elsewhere.test")]).await;
    assert_eq!(parameter(&wrong, "error").as_deref(), Some("invalid_target"));
    assert_eq!(parameter(&wrong, "state").as_deref(), Some("s-1 &="));
}

#[tokio::test]
async fn login_attack_consent_cannot_be_forged_framed_kept_or_moved() {
    let stage = Stage::new("").await;
    let (ada, bob) = (stage.sign_in("ada").await, stage.sign_in("bob").await);
    let page = stage.authorize(&ada, &[]).await;
    let header = |name: &str| page.header(name).unwrap_or_default().to_owned();
    assert!(page.headers.tokens("cache-control").contains(&"no-store".to_owned()));
    let policy = header("content-security-policy");
    assert!(policy.contains("frame-ancestors 'none'") && policy.contains("default-src 'none'"), "{policy}");
    assert_eq!((&*header("x-frame-options"), &*header("referrer-policy")), ("DENY", "same-origin"));
    assert_eq!(header("cross-origin-opener-policy"), "same-origin");
    let secret = ticket(&page);
    let form = [("ticket", secret.as_str()), ("decision", "allow"), ("allow", "orders")];
    // From another site, from a client that says nothing, and without cookies.
    for (name, value) in [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
        ("Origin", "https://evil.test"),
        ("Origin", "http://site.test"),
        ("X", "y"),
    ] {
        let forged = posted("/agent/oauth/consent", &form).header("Cookie", &ada).header(name, value);
        assert_eq!(stage.desk.call(forged).await.status, 403, "{name}: {value}");
    }
    assert_eq!(stage.decide("x=1", &form).await.status, 403);
    // With another person's ticket, another session of the same person, or an invented ticket.
    assert_eq!(stage.decide(&bob, &form).await.status, 403);
    let ada_elsewhere = stage.sign_in("ada").await;
    assert_eq!(stage.decide(&ada_elsewhere, &form).await.status, 403);
    for invented in ["", "00000000000000000000000000000000", "../x"] {
        let answer = stage.decide(&ada, &[("ticket", invented), ("decision", "allow"), ("allow", "orders")]).await;
        assert_eq!((answer.status, answer.header("location")), (410, None), "{invented}");
    }
    // Looking, or a request by GET, decides nothing.
    assert_ne!(
        stage
            .desk
            .call(Ask::get(&format!("/agent/oauth/consent?ticket={secret}&decision=allow")).header("Cookie", &ada))
            .await
            .status,
        303
    );
    let head = stage.desk.call(Ask::head(&login::authorize(&[])).header("Cookie", &ada)).await;
    assert_eq!(head.status, 405);
    // It is still good for its person, once, and behind a proxy that puts another name into Host.
    let behind = posted("/agent/oauth/consent", &form).header("Cookie", &ada).header("Sec-Fetch-Site", "same-origin");
    let answer = stage.desk.call(behind.header("Host", "10.0.0.5:8080").header("Origin", "https://site.test")).await;
    assert!(parameter(&answer, "code").is_some(), "{}", answer.text());
    assert_eq!(stage.decide(&ada, &form).await.status, 410);
    // A no, and a yes to nothing.
    for form in [vec![("decision", "deny"), ("allow", "orders")], vec![("decision", "allow")]] {
        let secret = ticket(&stage.authorize(&ada, &[]).await);
        let answer = stage.decide(&ada, &[form, vec![("ticket", secret.as_str())]].concat()).await;
        assert_eq!(parameter(&answer, "error").as_deref(), Some("access_denied"), "{}", answer.text());
        assert!(
            parameter(&answer, "code").is_none()
                && answer.header("location").is_some_and(|to| to.starts_with(CALLBACK))
        );
    }
}

#[tokio::test]
async fn login_attack_refresh_tokens_rotate_and_an_old_one_ends_the_link() {
    let stage = Stage::new("").await;
    let (_, first) = stage.linked("ada").await;
    let second = stage.refresh(text(&first, "refresh_token")).await.json();
    assert_ne!(text(&second, "refresh_token"), text(&first, "refresh_token"));
    assert_answer(&stage.called("orders", text(&second, "access_token")).await, 200, "the new one");
    assert_answer(&stage.called("orders", text(&first, "access_token")).await, 200, "until it expires");
    let third = stage.refresh(text(&second, "refresh_token")).await;
    assert_eq!(third.status, 200);
    assert_error(&stage.refresh(text(&first, "refresh_token")).await, "invalid_grant");
    assert_error(&stage.refresh(text(&third.json(), "refresh_token")).await, "invalid_grant");
    assert_eq!(stage.called("orders", text(&third.json(), "access_token")).await.status, 401);
    // Another client's, and more than was allowed.
    let (_, given) = stage.linked("ada").await;
    let token = text(&given, "refresh_token");
    let more =
        [("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", CLIENT), ("scope", "orders news")];
    assert_error(&stage.token(&more).await, "invalid_scope");
    let elsewhere = [
        ("grant_type", "refresh_token"),
        ("refresh_token", token),
        ("client_id", CLIENT),
        ("resource", "https://e.test"),
    ];
    assert_error(&stage.token(&elsewhere).await, "invalid_target");
    let other = [("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", "other")];
    assert_error(&stage.token(&other).await, "invalid_grant");
    assert_error(&stage.refresh(token).await, "invalid_grant");
    // Who knows the id of a link, from an access token in a log for example, cannot invent a token that ends it.
    let (_, given) = stage.linked("ada").await;
    let (access, token) = (text(&given, "access_token"), text(&given, "refresh_token"));
    for invented in invented(access, token) {
        assert_error(&stage.refresh(&invented).await, "invalid_grant");
        let revoke = posted("/agent/oauth/revoke", &[("token", invented.as_str()), ("client_id", CLIENT)]);
        assert_eq!(stage.desk.call(revoke).await.status, 200, "{invented}");
        let asked = posted("/agent/oauth/revoke", &[("token", invented.as_str()), ("client_id", "other")]);
        assert_eq!(stage.desk.call(asked).await.status, 200, "it says nothing about the link either");
        let code = invented.replace("fdrt_", "fdac_");
        assert_error(&stage.redeem(&code[..code.len().min(69)]).await, "invalid_grant");
    }
    assert_answer(&stage.called("orders", access).await, 200, "the link goes on");
    assert_eq!(stage.refresh(token).await.status, 200);
    for not_one in [text(&given, "access_token"), "fdrt_", ""] {
        let response = stage.refresh(not_one).await;
        assert_eq!(response.status, 400, "{not_one}");
    }
}

/// Refresh tokens that were never given for a link, from tokens that show its id.
fn invented(access: &str, refresh: &str) -> Vec<String> {
    let bytes = |token: &str| URL_SAFE_NO_PAD.decode(&token[5..]).expect("base64");
    let (access, refresh) = (bytes(access), bytes(refresh));
    let id = &access[..16];
    let long = [id, &[7; 64]].concat();
    let mut bent = refresh.clone();
    bent[20] ^= 1;
    let mut marked = refresh.clone();
    let last = marked.len() - 1;
    marked[last] ^= 1;
    let as_refresh = [&access[..], &refresh[48..]].concat();
    let all = [long, [id, &[7; 32]].concat(), access.clone(), bent, marked, as_refresh];
    all.iter().map(|bytes| format!("fdrt_{}", URL_SAFE_NO_PAD.encode(bytes))).collect()
}

#[tokio::test]
async fn login_attack_tokens_expire() {
    let stage = Stage::new("access_ttl = \"1s\"\nlink_ttl = \"10s\"").await;
    let (_, given) = stage.linked("ada").await;
    assert_eq!(given["expires_in"], 1);
    let token = text(&given, "access_token").to_owned();
    eventually("it expires", SOON, async || stage.called("orders", &token).await.status == 401).await;
    let refreshed = stage.refresh(text(&given, "refresh_token")).await;
    assert_eq!(refreshed.status, 200, "{}", refreshed.text());
    let mut last = refreshed.json();
    let mut end = None;
    for _ in 0..100 {
        let next = stage.refresh(text(&last, "refresh_token")).await;
        if next.status != 200 {
            end = Some(next);
            break;
        }
        last = next.json();
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    }
    assert_error(&end.expect("an end, however often it is refreshed"), "invalid_grant");
}

#[tokio::test]
async fn login_attack_revoked_tokens_open_nothing() {
    let stage = Stage::new("").await;
    let (_, given) = stage.linked("ada").await;
    let (access, refresh) = (text(&given, "access_token"), text(&given, "refresh_token"));
    let revoke = |token: &str, client: &str| posted("/agent/oauth/revoke", &[("token", token), ("client_id", client)]);
    assert_error(&stage.desk.call(revoke(access, "other")).await, "invalid_client");
    assert_eq!(stage.desk.call(revoke("fdat_unknown", CLIENT)).await.status, 200);
    assert_answer(&stage.called("orders", access).await, 200, "not yet");
    assert_eq!(stage.desk.call(revoke(access, CLIENT)).await.status, 200);
    assert_eq!(stage.called("orders", access).await.status, 401);
    let second = stage.refresh(refresh).await.json();
    assert_eq!(stage.desk.call(revoke(text(&second, "refresh_token"), CLIENT)).await.status, 200);
    assert_eq!(stage.called("orders", text(&second, "access_token")).await.status, 401, "the link is over");
    assert_error(&stage.refresh(text(&second, "refresh_token")).await, "invalid_grant");
}

#[tokio::test]
async fn login_attack_a_session_that_is_not_the_persons_is_not_linked() {
    // The site knows the person by another cookie than the one that calls would carry.
    let stage = Stage::with("", |setup| setup.instead("auth.login", "cookies = [\"device\"]")).await;
    let ada = stage.sign_in("ada").await;
    let page = stage.authorize(&ada, &[]).await;
    assert_eq!(page.status, 409, "nothing to carry: {}", page.text());
    let both = format!("{ada}; device=d-1");
    let secret = ticket(&stage.authorize(&both, &[]).await);
    let answer = stage.decide(&both, &[("ticket", &secret), ("decision", "allow"), ("allow", "orders")]).await;
    assert_eq!((answer.status, answer.header("location")), (409, None), "{}", answer.text());
}
