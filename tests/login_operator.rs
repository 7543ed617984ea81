//! Promise: the operator ends everything that people have allowed one agent, and only that.

use crate::support::calls::assert_answer;
use crate::support::handshake::{OPERATOR, operators_token};
use crate::support::login::{CLIENT, Stage, assert_error, posted, redemption, text};
use crate::support::{Ask, SOON, eventually};

const OTHER: [(&str, &str); 2] = [("client_id", "other"), ("redirect_uri", "https://other.test/cb")];

#[tokio::test]
async fn login_operator_ends_all_links_of_an_agent() {
    let stage = Stage::with("", |setup| setup.set("admin", &operators_token())).await;
    let (cookies, ada) = stage.linked("ada").await;
    let (_, bob) = stage.linked("bob").await;
    let code = stage.code(&cookies, &OTHER, &["orders"]).await;
    let mut form = redemption(&code);
    form.iter_mut().for_each(|(name, value)| *value = OTHER.iter().find(|(n, _)| n == name).map_or(*value, |(_, v)| v));
    let other = stage.token(&form).await.json();
    let pending = stage.code(&cookies, &[], &["orders"]).await;
    let end = |client: &str| posted("/links/end", &[("client", client)]);
    assert_eq!(stage.desk.admin(end(CLIENT)).await.status, 401, "without the operator's token");
    assert_eq!(stage.desk.admin(end("").bearer(OPERATOR)).await.status, 400);
    let mistyped = stage.desk.admin(end("my-assistent").bearer(OPERATOR)).await.json();
    assert!(mistyped["note"].as_str().is_some_and(|note| note.contains("takes no agent with this id")), "{mistyped}");
    for given in [&ada, &bob, &other] {
        assert_answer(&stage.called("orders", text(given, "access_token")).await, 200, "not ended");
    }
    let ended = stage.desk.admin(end(CLIENT).bearer(OPERATOR)).await;
    assert_eq!(ended.status, 200, "{}", ended.text());
    assert!(ended.json()["note"].is_null(), "{}", ended.text());
    for given in [&ada, &bob] {
        assert_eq!(stage.called("orders", text(given, "access_token")).await.status, 401);
        assert_error(&stage.refresh(text(given, "refresh_token")).await, "invalid_grant");
    }
    assert_error(&stage.redeem(&pending).await, "invalid_grant");
    assert_answer(&stage.called("orders", text(&other, "access_token")).await, 200, "another agent");
    let list = stage.desk.call(Ask::get("/agent/links").header("Cookie", &cookies)).await.text();
    assert!(list.contains("Other") && !list.contains("My Assistant"), "{list}");
    let metrics = stage.desk.admin_get("/metrics").await.text();
    assert!(metrics.contains("frontdesk_links_total{event=\"client_ended\"} 2"), "{metrics}");
    // People may allow it again, from the next second on.
    eventually("a new link", SOON, async || {
        let code = stage.code(&cookies, &[], &["orders"]).await;
        let given = stage.redeem(&code).await;
        given.status == 200 && stage.called("orders", text(&given.json(), "access_token")).await.status == 200
    })
    .await;
}
