//! Promise: a person with an account at the site can let an agent act for them there, by OAuth over the site's own sign-in:
//! the agent reads and changes what is theirs, for as long as their session and their permission last.

use crate::support::calls::{assert_answer, assert_fault, call, checked, upstream_calls};
use crate::support::login::{self, CALLBACK, CLIENT, Stage, parameter, posted, text, ticket};
use crate::support::rpc::{self, post};
use crate::support::{Ask, Dir, Origin, Reply, Request, SOON, Via, eventually};
use serde_json::json;

#[tokio::test]
async fn login_the_whole_flow_by_hand() {
    let stage = Stage::new("").await;
    let desk = &stage.desk;
    // A client without a token is told where to begin.
    let refused = desk.call(call("/agent/orders", &json!({}))).await;
    assert_fault(&refused, 401, "auth_required", "no token");
    let challenge = refused.header("www-authenticate").expect("a challenge").to_owned();
    let resource_metadata = "resource_metadata=\"https://site.test/.well-known/oauth-protected-resource\"";
    assert!(challenge.contains(resource_metadata), "{challenge}");
    let resource = desk.get("/.well-known/oauth-protected-resource").await.json();
    assert_eq!(resource["authorization_servers"], json!(["https://site.test"]));
    let server = desk.get("/.well-known/oauth-authorization-server").await;
    assert_eq!(server.status, 200);
    let server = server.json();
    assert_eq!(server["issuer"], "https://site.test");
    assert_eq!(server["authorization_endpoint"], "https://site.test/agent/oauth/authorize");
    assert_eq!(server["token_endpoint"], "https://site.test/agent/oauth/token");
    assert_eq!(server["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(server["client_id_metadata_document_supported"], true);
    assert_eq!(server["authorization_response_iss_parameter_supported"], true);
    assert!(server.get("registration_endpoint").is_none());
    // Nobody is signed in: to the site's own page, and back.
    let target = login::authorize(&[]);
    let away = desk.call(Ask::get(&target)).await;
    assert_eq!(away.status, 303);
    let sign_in = away.header("location").expect("a place").to_owned();
    assert!(sign_in.starts_with("/login?next=%2Fagent%2Foauth%2Fauthorize%3F"), "{sign_in}");
    let signed_in = desk.call(posted(&sign_in, &[("user", "ada"), ("password", "x")])).await;
    assert_eq!(signed_in.header("location"), Some(target.as_str()), "the way back");
    let cookies = signed_in.header("set-cookie").and_then(|set| set.split(';').next()).expect("a cookie").to_owned();
    let page = desk.call(Ask::get(&target).header("Cookie", &cookies)).await;
    assert_eq!((page.status, page.media_type().as_str()), (200, "text/html"));
    let shown = page.text();
    for wanted in [
        "My Assistant",
        "verified",
        "ada &lt;L.&gt;",
        "assistant.example.com",
        "It is orders.",
        "It is book.",
        "type=\"checkbox\"",
    ] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
    assert!(!shown.contains("It is news.") && !shown.contains("<script"), "{shown}");
    let form = [("ticket", &*ticket(&page)), ("decision", "allow"), ("allow", "orders"), ("allow", "news")];
    let answer = stage.decide(&cookies, &form).await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    assert!(answer.header("location").is_some_and(|to| to.starts_with(&format!("{CALLBACK}?"))));
    assert_eq!(parameter(&answer, "state").as_deref(), Some("s-1 &="));
    assert_eq!(parameter(&answer, "iss").as_deref(), Some("https://site.test"));
    let code = parameter(&answer, "code").expect("a code");
    let given = stage.redeem(&code).await;
    assert_eq!(given.status, 200, "{}", given.text());
    assert!(given.headers.tokens("cache-control").contains(&"no-store".to_owned()));
    let given = given.json();
    assert_eq!(
        (&given["token_type"], &given["expires_in"], &given["scope"]),
        (&json!("Bearer"), &json!(3600), &json!("orders"))
    );
    // The call carries the person's cookie, and nothing else of the agent's.
    let called = stage.called("orders", text(&given, "access_token")).await;
    let data = assert_answer(&called, 200, "orders")["data"].clone();
    assert_eq!(data, json!({ "orders": ["order-of-ada"], "cookie": cookies }));
    let seen = upstream_calls(&stage.origin).pop().expect("a call");
    assert_eq!(seen.header("authorization"), None);
    let called = seen.header("x-frontdesk-caller").unwrap_or_default();
    assert!(called.starts_with("person-") && !called.contains("ada"), "{called}");
    // What was left out stays out, and the refusal says what to ask for.
    let less = stage.called("book", text(&given, "access_token")).await;
    assert_fault(&less, 403, "missing_scope", "left out");
    let challenge = less.header("www-authenticate").unwrap_or_default();
    assert!(challenge.contains("insufficient_scope") && challenge.contains("scope=\"book\""), "{challenge}");
}

#[tokio::test]
async fn login_a_token_opens_nothing_but_what_the_person_allowed() {
    let stage = Stage::new("").await;
    let (cookies, given) = stage.linked("ada").await;
    let token = text(&given, "access_token");
    // A public capability carries nothing of the person; one of the operator's needs the operator's credential.
    let news = assert_answer(&stage.called("news", token).await, 200, "news")["data"]["news"].clone();
    assert_eq!(news, json!({ "cookie": null, "authorization": null }));
    assert_fault(&stage.called("ours", token).await, 403, "forbidden", "of the operator's");
    // A page of the site gets neither the token nor anything in its name.
    let page = stage.desk.call(Ask::get("/api/orders").bearer(token)).await;
    assert_eq!(page.status, 401, "a request of its own, without cookies: {}", page.text());
    assert_eq!(upstream_calls(&stage.origin).pop().expect("a call").header("authorization"), None);
    // A body is no place for it.
    let beside =
        json!({ "name": "orders", "arguments": { "query": "mine" }, "_meta": { "auth": format!("Bearer {token}") } });
    let refused = stage.desk.ask(Via::H1, post(rpc::message("tools/call", beside).to_string())).await;
    assert!(!refused.text().contains("order-of-ada"), "{}", refused.text());
    assert!(cookies.starts_with("sid=ada-secret"));
}

/// An agent may hand a weaker token to a part of itself.
#[tokio::test]
async fn login_a_refreshed_token_is_for_no_more_than_was_asked() {
    let stage = Stage::new("").await;
    let (_, given) = stage.linked("ada").await;
    let refresh = |token: String, scope: &'static str| {
        let stage = &stage;
        async move {
            let form =
                [("grant_type", "refresh_token"), ("refresh_token", &token), ("client_id", CLIENT), ("scope", scope)];
            let answer = stage.token(&form).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            answer.json()
        }
    };
    let narrow = refresh(text(&given, "refresh_token").to_owned(), "orders").await;
    assert_eq!(text(&narrow, "scope"), "orders");
    assert_answer(&stage.called("orders", text(&narrow, "access_token")).await, 200, "asked for");
    assert_eq!(stage.called("book", text(&narrow, "access_token")).await.status, 403);
    assert_answer(&stage.called("book", text(&given, "access_token")).await, 201, "the token before is as it was");
    let wide = refresh(text(&narrow, "refresh_token").to_owned(), "").await;
    assert_answer(&stage.called("book", text(&wide, "access_token")).await, 201, "all again");
}

/// A cookie of somebody else, with bytes that are not ASCII, keeps nobody from signing in.
#[tokio::test]
async fn login_other_cookies_may_have_any_bytes() {
    let stage = Stage::new("").await;
    let cookies = stage.sign_in("ada").await;
    let code = stage.code(&format!("theme=caf\u{e9}; {cookies}"), &[], &["orders"]).await;
    assert_eq!(stage.redeem(&code).await.status, 200);
}

#[tokio::test]
async fn login_two_people_at_once_are_never_mixed_up() {
    let stage = Stage::new("").await;
    let people = ["ada", "bob", "cyd", "dan"];
    let mut tokens = Vec::new();
    for who in people {
        tokens.push((who, stage.linked(who).await.1));
    }
    for round in 0..10 {
        let calls = tokens.iter().map(|(who, given)| {
            let token = text(given, "access_token").to_owned();
            let stage = &stage;
            async move {
                let orders = stage.called("orders", &token).await;
                assert_eq!(assert_answer(&orders, 200, who)["data"]["orders"][0], format!("order-of-{who}"));
                let ask =
                    call("/agent/book", &json!({})).bearer(&token).header("Idempotency-Key", &format!("key-{round}"));
                assert_eq!(assert_answer(&stage.desk.call(ask).await, 201, who)["data"]["booked_for"], *who);
                let renewed = stage.called("renewed", &token).await;
                assert_eq!(assert_answer(&renewed, 200, who)["data"]["orders"][0], format!("order-of-{who}"));
            }
        });
        let mut all: Vec<_> = calls.map(Box::pin).collect();
        let (d, c, b, a) = (all.pop().unwrap(), all.pop().unwrap(), all.pop().unwrap(), all.pop().unwrap());
        tokio::join!(a, b, c, d);
    }
}

#[tokio::test]
async fn login_over_mcp_and_a_clients_own_start() {
    let stage = Stage::new("").await;
    let ask = || post(rpc::call("orders", json!({ "query": "mine" })).to_string());
    let refused = stage.desk.ask(Via::H1, ask()).await;
    assert_eq!(refused.status, 401, "{}", refused.text());
    let challenge = refused.header("www-authenticate").unwrap_or_default();
    assert!(challenge.contains("/.well-known/oauth-protected-resource/mcp\""), "{challenge}");
    let metadata = stage.desk.get("/.well-known/oauth-protected-resource/mcp").await.json();
    assert_eq!(metadata["resource"], "https://site.test/mcp");
    let (_, given) = stage.linked("ada").await;
    let answer = stage.desk.ask(Via::H1, ask().bearer(text(&given, "access_token"))).await;
    assert!(answer.text().contains("order-of-ada"), "{}", answer.text());
    let wrong = stage.desk.ask(Via::H1, ask().bearer("fdat_wrong")).await;
    assert_eq!(wrong.status, 401);
    assert!(wrong.header("www-authenticate").is_some_and(|said| said.contains("invalid_token")), "{}", wrong.text());
}

#[tokio::test]
async fn login_the_site_renews_its_cookie() {
    let stage = Stage::new("").await;
    let (cookies, given) = stage.linked("ada").await;
    let token = text(&given, "access_token");
    for _ in 0..3 {
        assert_answer(&stage.called("renewed", token).await, 200, "renewed");
    }
    let orders = assert_answer(&stage.called("orders", token).await, 200, "with the new one")["data"].clone();
    let sent = text(&orders, "cookie");
    assert!(sent.starts_with("sid=ada-secret-") && sent != cookies && !sent.contains("other"), "{sent}");
    // New tokens of the same link have it too.
    let refreshed = stage.refresh(text(&given, "refresh_token")).await;
    assert_eq!(refreshed.status, 200, "{}", refreshed.text());
    assert_answer(&stage.called("orders", text(&refreshed.json(), "access_token")).await, 200, "refreshed");
}

/// A call that cannot be made as the person is not made as a guest, and not as somebody else.
#[tokio::test]
async fn login_a_cookie_that_is_no_longer_the_persons_ends_calls() {
    for how in ["other", "none", "narrowed"] {
        let stage = Stage::new("").await;
        let (_, given) = stage.linked("ada").await;
        let token = text(&given, "access_token");
        let cart = assert_answer(&stage.called("cart", token).await, 200, how)["data"].clone();
        assert_eq!(cart["cart_of"], "ada", "{how}");
        let ask = call("/agent/changed", &json!({ "how": how })).bearer(token);
        assert_answer(&stage.desk.call(ask).await, 200, how);
        assert_fault(&stage.called("cart", token).await, 401, "auth_required", how);
        let orders = stage.called("orders", token).await;
        match how {
            // It is still sent there.
            "narrowed" => drop(assert_answer(&orders, 200, how)),
            _ => drop(assert_fault(&orders, 401, "auth_required", how)),
        }
    }
}

#[tokio::test]
async fn login_a_session_that_the_site_has_ended_is_an_invalid_token() {
    for capability in ["orders", "redirected", "book"] {
        let stage = Stage::new("").await;
        let (_, given) = stage.linked("ada").await;
        let token = text(&given, "access_token");
        assert!(stage.called(capability, token).await.status < 300, "{capability}");
        stage.sessions.lock().expect("the sessions").clear();
        let ended = stage.called(capability, token).await;
        assert_fault(&ended, 401, "auth_required", capability);
        let challenge = ended.header("www-authenticate").unwrap_or_default();
        assert!(
            challenge.contains("error=\"invalid_token\"") && challenge.contains("resource_metadata="),
            "{challenge}"
        );
        // The link is gone, and a sign-in later does not bring it back.
        stage.linked("ada").await;
        assert_fault(&stage.called(capability, token).await, 401, "auth_required", "later");
        login::assert_error(&stage.refresh(text(&given, "refresh_token")).await, "invalid_grant");
    }
    // What the site forbids a person who is signed in is no end.
    let stage = Stage::new("").await;
    let (_, given) = stage.linked("ada").await;
    let token = text(&given, "access_token");
    assert_fault(&stage.called("forbidden", token).await, 403, "forbidden", "forbidden");
    assert_answer(&stage.called("orders", token).await, 200, "still linked");
    // A refresh finds it out too.
    stage.sessions.lock().expect("the sessions").clear();
    login::assert_error(&stage.refresh(text(&given, "refresh_token")).await, "invalid_grant");
}

#[tokio::test]
async fn login_concurrent_calls_while_the_cookie_is_renewed_end_nothing() {
    let stage = Stage::new("").await;
    let (_, given) = stage.linked("ada").await;
    let token = text(&given, "access_token");
    for _ in 0..5 {
        let (one, two, three) =
            tokio::join!(stage.called("renewed", token), stage.called("renewed", token), stage.called("orders", token));
        for response in [&one, &two, &three] {
            assert!([200, 503].contains(&response.status), "{}: {}", response.status, response.text());
        }
        assert!([one.status, two.status].contains(&200));
    }
    assert_answer(&stage.called("orders", token).await, 200, "still linked");
}

#[tokio::test]
async fn login_cookies_of_the_agent_do_not_mix_with_the_persons() {
    let stage =
        Stage::with("", |setup| setup.set("auth", "unverified = \"site\"\nforward = [\"Authorization\", \"Cookie\"]"))
            .await;
    let (cookies, given) = stage.linked("ada").await;
    let bob = stage.sign_in("bob").await;
    let ask = call("/agent/orders", &json!({})).bearer(text(&given, "access_token")).header("Cookie", &bob);
    let data = assert_answer(&stage.desk.call(ask).await, 200, "both")["data"].clone();
    assert_eq!(data, json!({ "orders": ["order-of-ada"], "cookie": cookies }));
    // A token that is over is no credential for the site.
    let over = call("/agent/orders", &json!({})).bearer("fdat_over");
    let before = upstream_calls(&stage.origin).len();
    assert_fault(&stage.desk.call(over).await, 401, "auth_required", "over");
    assert_eq!(upstream_calls(&stage.origin).len(), before);
}

#[tokio::test]
async fn login_check_says_what_is_missing() {
    let origin = Origin::start(|_: &Request| Reply::new(404)).await;
    let fine = checked(&login::setup(&origin, ""));
    assert!(!fine.contains("error"), "{fine}");
    let without = checked(&login::setup(&origin, "").instead("auth.visitor", ""));
    assert!(without.contains("auth.login") && without.contains("auth.visitor"), "{without}");
    assert!(checked(&login::setup(&origin, "").instead("auth.login", "cookies = []")).contains("names no cookie"));
}

#[tokio::test]
async fn login_nothing_of_it_is_in_logs_store_or_metrics() {
    let kept = Dir::new();
    let store = format!("url = \"file:{}\"", kept.path().display());
    let stage = Stage::with("", |setup| {
        let mut setup = setup.set("audit", "path = \"audit.jsonl\"").set("store", &store);
        setup.env.push(("RUST_LOG".into(), "trace".into()));
        setup
    })
    .await;
    let (_, given) = stage.linked("ada-lovelace-4711").await;
    let (access, refresh) = (text(&given, "access_token").to_owned(), text(&given, "refresh_token").to_owned());
    assert_answer(&stage.called("renewed", &access).await, 200, "renewed");
    assert_answer(&stage.called("book", &access).await, 201, "booked");
    let desk = &stage.desk;
    eventually("the access log", SOON, async || desk.stdout().contains("/agent/book")).await;
    assert!(desk.stdout().contains("person-"), "who, by a keyed hash: {}", desk.stdout());
    let metrics = desk.admin_get("/metrics").await.text();
    assert!(metrics.contains("frontdesk_links_total{event=\"linked\"} 1"), "{metrics}");
    let admin = metrics + &desk.admin_get("/config").await.text();
    // A person has been asked, and has not answered.
    let waiting = stage.sign_in("bob-babbage-4712").await;
    ticket(&stage.authorize(&waiting, &[]).await);
    let secrets = ["lovelace-4711", "babbage-4712", &access[5..40], &refresh[5..40], login::VERIFIER];
    for (what, said) in [("stdout", desk.stdout()), ("stderr", desk.stderr()), ("admin", admin)] {
        assert!(secrets.iter().all(|secret| !said.contains(secret)), "{what}");
    }
    let files = [desk.dir.files(), kept.files()].concat();
    for (path, bytes) in &files {
        for secret in secrets {
            assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()), "{}", path.display());
        }
    }
    assert!(files.len() > 2, "the store and the audit log were read");
}
