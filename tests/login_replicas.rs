//! Promise: two replicas on one Redis are one authorization server: what a person allowed at one of them works, is renewed and
//! ends at the other.

use crate::support::calls::assert_answer;
use crate::support::login::{self, CLIENT, Sessions, Stage, assert_error, posted, text};
use crate::support::redis::{Redis, connected};
use crate::support::{Ask, Desk};

/// A site whose people sign in, and two replicas in front of it. `Stage` talks to one of them at a time.
async fn replicas() -> (Redis, Stage, Desk) {
    let redis = Redis::start().await;
    let sessions = Sessions::default();
    let origin = login::site(sessions.clone()).await;
    let setup = login::setup(&origin, "").set("store", &format!("url = \"{}\"", redis.url()));
    let (one, other) = (connected(&setup).await, connected(&setup).await);
    (redis, Stage { sessions, origin, desk: one }, other)
}

#[tokio::test]
async fn login_replicas_share_links() {
    let (_redis, mut stage, mut other) = replicas().await;
    let cookies = stage.sign_in("ada").await;
    // The page from one, the answer to the other, the code at the first.
    let page = stage.authorize(&cookies, &[]).await;
    let ticket = login::ticket(&page);
    std::mem::swap(&mut stage.desk, &mut other);
    let form = [("ticket", ticket.as_str()), ("decision", "allow"), ("allow", "orders"), ("allow", "renewed")];
    let answer = stage.decide(&cookies, &form).await;
    let code = login::parameter(&answer, "code").expect("a code");
    std::mem::swap(&mut stage.desk, &mut other);
    let given = stage.redeem(&code).await;
    assert_eq!(given.status, 200, "{}", given.text());
    let given = given.json();
    std::mem::swap(&mut stage.desk, &mut other);
    assert_answer(&stage.called("renewed", text(&given, "access_token")).await, 200, "at the other");
    let next = stage.refresh(text(&given, "refresh_token")).await.json();
    std::mem::swap(&mut stage.desk, &mut other);
    let orders = stage.called("orders", text(&next, "access_token")).await;
    assert_eq!(assert_answer(&orders, 200, "refreshed there, used here")["data"]["orders"][0], "order-of-ada");
    // The same refresh token at the other replica again: somebody has stolen it.
    std::mem::swap(&mut stage.desk, &mut other);
    assert_error(&stage.refresh(text(&given, "refresh_token")).await, "invalid_grant");
    std::mem::swap(&mut stage.desk, &mut other);
    assert_eq!(stage.called("orders", text(&next, "access_token")).await.status, 401, "it has ended here too");
}

#[tokio::test]
async fn login_replicas_end_links_for_each_other() {
    let (_redis, mut stage, mut other) = replicas().await;
    // By the agent at the other one.
    let (_, given) = stage.linked("ada").await;
    let revoke = posted("/agent/oauth/revoke", &[("token", text(&given, "refresh_token")), ("client_id", CLIENT)]);
    assert_eq!(other.call(revoke).await.status, 200);
    assert_eq!(stage.called("orders", text(&given, "access_token")).await.status, 401);
    // By the person at the other one.
    let (cookies, given) = stage.linked("ada").await;
    assert_answer(&stage.called("orders", text(&given, "access_token")).await, 200, "a new one");
    std::mem::swap(&mut stage.desk, &mut other);
    let page = stage.desk.call(Ask::get("/agent/links").header("Cookie", &cookies)).await.text();
    let value = |name: &str| {
        let (_, after) = page.split_once(&format!("name=\"{name}\" value=\"")).unwrap_or_else(|| panic!("{page}"));
        after.split('"').next().unwrap_or_default().to_owned()
    };
    let end = posted("/agent/links", &[("link", &value("link")), ("token", &value("token"))]);
    let end = end.header("Cookie", &cookies).header("Sec-Fetch-Site", "same-origin");
    assert_eq!(stage.desk.call(end).await.status, 303);
    std::mem::swap(&mut stage.desk, &mut other);
    assert_eq!(stage.called("orders", text(&given, "access_token")).await.status, 401);
    // By the site.
    let (_, given) = stage.linked("ada").await;
    assert_answer(&stage.called("orders", text(&given, "access_token")).await, 200, "once more");
    stage.sessions.lock().expect("the sessions").clear();
    std::mem::swap(&mut stage.desk, &mut other);
    assert_eq!(stage.called("orders", text(&given, "access_token")).await.status, 401);
    std::mem::swap(&mut stage.desk, &mut other);
    assert_error(&stage.refresh(text(&given, "refresh_token")).await, "invalid_grant");
}
