//! What was read makes an llms.txt, unless the site has its own.

use super::*;

#[tokio::test]
async fn crawl_makes_an_llms_txt_where_the_site_has_none() {
    let origin = Origin::start(shop).await;
    let desk = Setup::before(&origin).reading(FAST).set("site", SITE).start().await;
    round(&desk).await;
    let reply = desk.get("/llms.txt").await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/plain; charset=utf-8")));
    let body = reply.text();
    assert!(body.starts_with("# Shop\n\n> Sells things.\n"), "{body}");
    for line in [
        "- [About us](https://shop.test/about): All about About us.",
        "## Docs",
        "- [Docs one](https://shop.test/docs/one): All about Docs one.",
        "(https://shop.test/agent/converse)",
        "(https://shop.test/.well-known/agent.json)",
    ] {
        assert!(body.contains(line), "{line} is not in\n{body}");
    }
    for never in ["Tagged", "noindex", "secret", "elsewhere"] {
        assert!(!body.contains(never), "{never} is in\n{body}");
    }
    let tag = reply.header("etag").expect("a tag").to_owned();
    let again = desk.ask(Via::H1, Ask::get("/llms.txt").header("If-None-Match", &tag)).await;
    assert_eq!(again.status, 304);
    let head = desk.ask(Via::H1, Ask::head("/llms.txt")).await;
    let length = body.len().to_string();
    assert_eq!((head.status, head.header("content-length")), (200, Some(length.as_str())));
    assert!(reply.header("x-ratelimit-limit").is_some(), "counted as content");
    assert!(origin.asked().is_empty());
}

#[tokio::test]
async fn crawl_leaves_the_sites_own_llms_txt_alone() {
    let own = "# Mine\n\n- [hidden corner](/corner)\n";
    let origin = Origin::start(move |request: &Request| match request.target.as_str() {
        "/llms.txt" => text(own),
        "/" => page("Start", &[]),
        "/corner" => page("Corner", &[]),
        _ => missing(),
    })
    .await;
    let desk = Setup::before(&origin).reading(FAST).start().await;
    eventually("the site's own", A_WHILE, async || desk.get("/llms.txt").await.text() == own).await;
    eventually("what it links to is read", A_WHILE, async || targets(&origin).contains(&"/corner".to_owned())).await;
}

#[tokio::test]
async fn crawl_does_not_take_a_page_for_an_llms_txt() {
    let origin = Origin::start(|_: &Request| page("App", &["/x"])).await;
    let desk = Setup::before(&origin).reading(FAST).start().await;
    round(&desk).await;
    let body = desk.get("/llms.txt").await.text();
    assert!(body.starts_with("# App\n") && body.matches("- [App]").count() == 1, "{body}");
}
