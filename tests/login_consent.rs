//! Promise: a person decides what they have read, and their agent may do no more: not after a change of the configuration,
//! not by a scope that is not declared, and not after they have signed out at the site.

use crate::support::calls::{assert_answer, assert_fault};
use crate::support::clocks::ahead;
use crate::support::login::{self, Sessions, Stage, capabilities, parameter, text};
use crate::support::{Ask, Dir, Response};

/// Whether a capability is offered, and whether it is chosen before the person does anything.
fn offered(page: &Response, id: &str) -> Option<bool> {
    let page = page.text();
    let (_, after) = page.split_once(&format!("name=\"allow\" value=\"{id}\""))?;
    Some(after.starts_with(" checked"))
}

#[tokio::test]
async fn login_consent_does_not_hold_for_what_has_become_riskier() {
    let kept = Dir::new();
    let store = format!("url = \"file:{}\"", kept.path().display());
    let sessions = Sessions::default();
    let origin = login::site(sessions.clone()).await;
    let desk = login::setup(&origin, "").set("store", &store).start().await;
    let stage = Stage { sessions, origin, desk };
    let changed = |from: &str, to: &str| {
        let all = capabilities();
        assert!(all.contains(from), "{from}: {all}");
        login::setup_of(&stage.origin, "", &all.replacen(from, to, 1)).set("store", &store)
    };
    let (cookies, given) = stage.linked("ada").await;
    let mut token = text(&given, "access_token").to_owned();
    let mut refresh = text(&given, "refresh_token").to_owned();
    assert_answer(&stage.called("orders", &token).await, 200, "as it was");
    for (from, to) in [
        (
            "id = \"orders\"\ntype = \"query\"",
            "id = \"orders\"\ntype = \"commit_action\"\nrequires_user_confirmation = false",
        ),
        ("path = \"/api/orders\"", "path = \"/api/orders?of=everybody\""),
        ("method = \"GET\", path = \"/api/orders\"", "method = \"POST\", path = \"/api/orders\""),
        ("risk_level = \"low\"", "risk_level = \"high\""),
    ] {
        stage.desk.swap(&changed(from, to)).await;
        let refused = stage.called("orders", &token).await;
        assert_fault(&refused, 403, "missing_scope", to);
        let challenge = refused.header("www-authenticate").unwrap_or_default();
        assert!(challenge.contains("scope=\"orders\""), "what to ask the person for: {challenge}");
        assert_answer(&stage.called("cart", &token).await, 200, "the rest is as it was");
        let again = stage.refresh(&refresh).await.json();
        assert!(!text(&again, "scope").split(' ').any(|scope| scope == "orders"), "{to}: {again}");
        refresh = text(&again, "refresh_token").to_owned();
        token = text(&again, "access_token").to_owned();
        let list = stage.desk.call(Ask::get("/agent/links").header("Cookie", &cookies)).await.text();
        assert!(list.contains("It is cart.") && !list.contains("It is orders."), "{to}: {list}");
        // Once the person has agreed to that, it is allowed.
        let code = stage.code(&cookies, &[("scope", "orders")], &["orders"]).await;
        let anew = stage.redeem(&code).await.json();
        assert_eq!(text(&anew, "scope"), "orders");
        assert!(stage.called("orders", text(&anew, "access_token")).await.status < 300, "{to}");
    }
    stage.desk.swap(&login::setup(&stage.origin, "").set("store", &store)).await;
    assert_answer(&stage.called("orders", &token).await, 200, "as it was read");
}

#[tokio::test]
async fn login_consent_is_asked_for_known_scopes_and_changes_nothing_unasked() {
    let stage = Stage::new("").await;
    let cookies = stage.sign_in("ada").await;
    for unknown in ["everything", "orders everything", "openid"] {
        let answer = stage.authorize(&cookies, &[("scope", unknown)]).await;
        assert_eq!(parameter(&answer, "error").as_deref(), Some("invalid_scope"), "{unknown}: {}", answer.text());
    }
    for nothing_named in ["", "offline_access"] {
        let page = stage.authorize(&cookies, &[("scope", nothing_named)]).await;
        assert_eq!((offered(&page, "orders"), offered(&page, "book")), (Some(true), Some(false)), "{}", page.text());
    }
    let page = stage.authorize(&cookies, &[("scope", "orders book offline_access")]).await;
    assert_eq!((offered(&page, "orders"), offered(&page, "book")), (Some(true), Some(true)), "{}", page.text());
    assert_eq!(offered(&page, "cart"), None);
}

/// The site serves guests too, so a call alone would not show that the person has signed out.
#[tokio::test]
async fn login_consent_ends_with_a_sign_out_at_the_site() {
    let kept = Dir::new();
    let sessions = Sessions::default();
    let origin = login::site(sessions.clone()).await;
    let setup = login::setup(&origin, "").set("store", &format!("url = \"file:{}\"", kept.path().display()));
    let stage = Stage { sessions, origin, desk: setup.clone().start().await };
    let (_, unused) = stage.linked("ada").await;
    let (_, used) = stage.linked("bob").await;
    let cart = assert_answer(&stage.called("cart", text(&used, "access_token")).await, 200, "bob")["data"].clone();
    assert_eq!(cart["cart_of"], "bob");
    let asked = stage.origin.requests().iter().filter(|r| r.target == "/api/me").count();
    assert_answer(&stage.called("cart", text(&used, "access_token")).await, 200, "within the minute");
    assert_eq!(stage.origin.requests().iter().filter(|r| r.target == "/api/me").count(), asked, "not asked again");
    stage.sessions.lock().expect("the sessions").clear();
    assert_fault(
        &stage.called("cart", text(&unused, "access_token")).await,
        401,
        "auth_required",
        "before the first use",
    );
    let Stage { sessions, origin, desk } = stage;
    drop(desk);
    let stage = Stage { sessions, origin, desk: ahead(&setup, 61).start().await };
    let token = text(&used, "access_token");
    assert_fault(&stage.called("cart", token).await, 401, "auth_required", "a minute later");
    // A later sign-in does not bring the link back.
    stage.linked("bob").await;
    assert_fault(&stage.called("cart", token).await, 401, "auth_required", "later");
}
