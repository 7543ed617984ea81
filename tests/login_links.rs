//! Promise: a person sees at `/agent/links` which agents may act for them and ends any of them there, and nobody else does;
//! a person has a bounded number of them.

use crate::support::calls::assert_answer;
use crate::support::login::{CLIENT, Stage, posted, text};
use crate::support::{Ask, Response};

async fn list(stage: &Stage, cookies: &str) -> Response {
    stage.desk.call(Ask::get("/agent/links").header("Cookie", cookies)).await
}

/// The values of the buttons, and the token of the forms.
fn forms(page: &Response) -> (Vec<String>, String) {
    let page = page.text();
    let value = |part: &str| part.split('"').next().unwrap_or_default().to_owned();
    let links = page.split("name=\"link\" value=\"").skip(1).map(value).collect();
    (links, page.split("name=\"token\" value=\"").nth(1).map(value).unwrap_or_default())
}

fn end(link: &str, token: &str, cookies: &str) -> Ask {
    posted("/agent/links", &[("link", link), ("token", token)])
        .header("Cookie", cookies)
        .header("Sec-Fetch-Site", "same-origin")
}

#[tokio::test]
async fn login_links_are_listed_and_ended_by_their_person() {
    let stage = Stage::new("").await;
    let away = stage.desk.call(Ask::get("/agent/links")).await;
    assert_eq!((away.status, away.header("location")), (303, Some("/login?next=%2Fagent%2Flinks")));
    let (ada, given) = stage.linked("ada").await;
    let (bob, of_bob) = stage.linked("bob").await;
    let page = list(&stage, &ada).await;
    assert_eq!(page.status, 200);
    assert!(page.headers.tokens("cache-control").contains(&"no-store".to_owned()));
    assert!(page.header("content-security-policy").is_some_and(|policy| policy.contains("frame-ancestors 'none'")));
    let shown = page.text();
    assert!(shown.contains("My Assistant") && shown.contains("It is orders.") && shown.contains("never"), "{shown}");
    assert_answer(&stage.called("orders", text(&given, "access_token")).await, 200, "orders");
    let page = list(&stage, &ada).await;
    assert!(!page.text().contains("never"), "the last use: {}", page.text());
    let (links, token) = forms(&page);
    assert_eq!(links.len(), 1);
    // Not from elsewhere, not with another person's token, not another person's link.
    let (of_bobs, bobs) = forms(&list(&stage, &bob).await);
    let forged = posted("/agent/links", &[("link", links[0].as_str()), ("token", &token)]).header("Cookie", &ada);
    for (name, value) in [("Sec-Fetch-Site", "cross-site"), ("Origin", "https://evil.test"), ("X", "y")] {
        assert_eq!(stage.desk.call(forged.clone().header(name, value)).await.status, 403, "{name}");
    }
    assert_eq!(stage.desk.call(end(&links[0], &bobs, &ada)).await.status, 403);
    assert_eq!(stage.desk.call(end(&links[0], "", &ada)).await.status, 403);
    assert_eq!(stage.desk.call(end(&links[0], &token, "x=1")).await.status, 403);
    assert_eq!(stage.desk.call(end(&of_bobs[0], &token, &ada)).await.status, 303, "not in this list");
    for (who, given) in [("ada", &given), ("bob", &of_bob)] {
        assert_answer(&stage.called("orders", text(given, "access_token")).await, 200, who);
    }
    let ended = stage.desk.call(end(&links[0], &token, &ada)).await;
    assert_eq!((ended.status, ended.header("location")), (303, Some("/agent/links")));
    assert_eq!(stage.called("orders", text(&given, "access_token")).await.status, 401);
    assert_eq!(stage.refresh(text(&given, "refresh_token")).await.status, 400);
    assert_answer(&stage.called("orders", text(&of_bob, "access_token")).await, 200, "bob");
    assert!(list(&stage, &ada).await.text().contains("No agent may act for you."));
}

#[tokio::test]
async fn login_links_of_one_agent_are_bounded() {
    let stage = Stage::new("").await;
    let cookies = stage.sign_in("ada").await;
    let mut tokens = Vec::new();
    for _ in 0..6 {
        let code = stage.code(&cookies, &[], &["orders"]).await;
        tokens.push(text(&stage.redeem(&code).await.json(), "access_token").to_owned());
    }
    assert_eq!(stage.called("orders", &tokens[0]).await.status, 401, "the oldest of {CLIENT} ended");
    for token in &tokens[1..] {
        assert_answer(&stage.called("orders", token).await, 200, "the five others");
    }
    assert_eq!(forms(&list(&stage, &cookies).await).0.len(), 5);
}

#[tokio::test]
async fn login_links_speak_the_persons_language() {
    let stage = Stage::new("").await;
    let (cookies, _) = stage.linked("ada").await;
    for (language, list, consent) in [
        ("de", "Beenden", "Nicht erlauben"),
        ("fr", "Mettre fin", "Autoriser"),
        ("es", "Terminar", "Permitir"),
        ("ja", "終了する", "許可する"),
    ] {
        let ask = |path: &str| Ask::get(path).header("Cookie", &cookies).header("Accept-Language", language);
        let page = stage.desk.call(ask("/agent/links")).await.text();
        assert!(page.contains(list) && page.contains(&format!("lang=\"{language}\"")), "{language}: {page}");
        let page = stage.desk.call(ask(&crate::support::login::authorize(&[]))).await.text();
        assert!(page.contains(consent), "{language}: {page}");
    }
}
