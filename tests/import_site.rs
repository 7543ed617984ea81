//! Promise: `import site` reads a site by GET alone, and what it writes passes `check`, runs, and its search works.

use crate::support::calls::{FULL, assert_answer, call};
use crate::support::desk::run_to_end;
use crate::support::rates::api_key;
use crate::support::{Ask, Desk, Dir, Origin, Reply, Request};
use serde_json::json;

const HOME: &str = "<title>Chairs &amp; more</title><link rel=alternate type=application/rss+xml title=News href=/feed.xml>\
    <form role=search action=/find><input type=hidden name=lang value=en><input name=q></form>\
    <a href=/contact>Contact</a><a href=/items/1/delete>Delete</a>\
    <form action=/login method=post><input name=user><input type=password name=p></form>";
const CONTACT: &str = "<form id=contact action=/contact/send method=post><input type=hidden name=csrf value=secret>\
    <label>E-mail <input name=email type=email required></label><label>Text <textarea name='msg[text]'></textarea></label>\
    <button>Send</button></form>";

async fn origin() -> Origin {
    Origin::start(|request: &Request| match request.target.as_str() {
        "/" => Reply::html(HOME),
        "/contact" => Reply::html(CONTACT),
        "/find?lang=en" | "/find?lang=en&q=red" => Reply::html("<title>Found</title><main><p>One red chair.</main>"),
        "/feed.xml" => Reply::new(200)
            .header("Content-Type", "application/rss+xml")
            .body("<rss><channel><title>News</title><item><title>Open</title></item></channel></rss>"),
        _ => Reply::new(404),
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn import_site_writes_what_runs() {
    let (origin, dir) = (origin().await, Dir::new());
    let (code, _, err) = run_to_end(&["import", "site", &origin.url(), "--write", "site.toml"], dir.path());
    assert_eq!(code, 0, "{err}");
    assert!(origin.requests().iter().all(|request| request.method == "GET"));
    assert!(origin.requests().iter().all(|request| !request.target.contains("delete")));
    let text = std::fs::read_to_string(dir.join("site.toml")).expect("the file");
    for line in
        ["left out: a form on /: it asks for a password", "id = \"site.search\"", "auth = \"required\"", "review:"]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("secret"), "{text}");
    let (code, out, err) = run_to_end(&["check", "site.toml"], dir.path());
    assert_eq!(code, 0, "{out}{err}\n{text}");
    let (code, out, err) = run_to_end(&["check", "site.toml", "--live"], dir.path());
    assert_eq!(code, 0, "{out}{err}\n{text}");

    let text = text.replace("[site]", "[content]\nconcierge = false\n\n[site]");
    let desk = Desk::with_config(|ports| {
        format!("[listen]\nhttp = \"{}\"\nadmin = \"{}\"\n\n{text}", ports.http, ports.admin)
    })
    .await;
    let found = assert_answer(
        &desk.call(call("/agent/site/search", &json!({ "q": "red", "query": "chairs?" }))).await,
        200,
        "a search",
    );
    assert!(found["data"]["markdown"].as_str().is_some_and(|text| text.contains("One red chair.")), "{found}");
    let news = assert_answer(&desk.call(Ask::get("/agent/news/feed?query=news")).await, 200, "the feed");
    assert_eq!(news["data"]["items"], json!([{ "title": "Open" }]));
    let sent = desk.call(call("/agent/send/send", &json!({ "email": "a@b.test" }))).await;
    assert_eq!(sent.status, 401, "a form needs a credential: {}", sent.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn import_site_sends_a_form_where_its_buttons_lead() {
    const NOTES: &str = "<form action=/notes method=post><input name=text><button name=draft value=1>Save</button>\
        <button name=publish value=1 formaction=/notes/publish>Publish</button></form>\
        <form action=/wrong><input name=words><button formaction=/words formmethod=post>Keep</button></form>";
    let origin = Origin::start(|request: &Request| match request.method.as_str() {
        "GET" if request.target == "/" => Reply::html(NOTES),
        "POST" => Reply::new(303).header("Location", "/done"),
        _ => Reply::html("<p>Done."),
    })
    .await;
    let dir = Dir::new();
    let (code, _, err) = run_to_end(&["import", "site", &origin.url(), "--write", "site.toml"], dir.path());
    assert_eq!(code, 0, "{err}");
    let text = std::fs::read_to_string(dir.join("site.toml")).expect("the file");
    for file in [&["check", "site.toml"][..], &["check", "site.toml", "--live"]] {
        let (code, out, err) = run_to_end(file, dir.path());
        assert_eq!(code, 0, "{out}{err}\n{text}");
    }
    let text = text.replace("[site]", "[content]\nconcierge = false\n\n[site]").replace(
        "requires_user_confirmation = true\nidempotency_required = true",
        "requires_user_confirmation = false",
    );
    let text = text + &api_key("full", FULL, "");
    let desk = Desk::with_config(|ports| {
        format!("[listen]\nhttp = \"{}\"\nadmin = \"{}\"\n\n{text}", ports.http, ports.admin)
    })
    .await;
    for (endpoint, input, target, body) in [
        ("/agent/notes/send", json!({ "text": "a" }), "/notes", "text=a&draft=1"),
        ("/agent/publish/send", json!({ "text": "b" }), "/notes/publish", "text=b&publish=1"),
        ("/agent/words/send", json!({ "words": "c" }), "/words", "words=c"),
    ] {
        assert_answer(&desk.call(call(endpoint, &input).bearer(FULL)).await, 200, endpoint);
        let sent = origin.requests().into_iter().rfind(|request| request.method == "POST").expect("a POST");
        assert_eq!((sent.target.as_str(), String::from_utf8(sent.body).expect("text").as_str()), (target, body));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn import_site_says_why_nothing_is_there() {
    let origin =
        Origin::start(|_: &Request| Reply::html("<form action=/login><input type=password name=p></form>")).await;
    let dir = Dir::new();
    let (code, _, err) = run_to_end(&["import", "site", &origin.url()], dir.path());
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("left out: a form on /: it asks for a password"), "{err}");
}

/// What each entry of the data file is recognised by, and how its API shows itself.
const KNOWN: [(&str, &str, &str, &str); 7] = [
    (
        "posts.read",
        "<link rel='https://api.w.org/' href='/wp-json/'>",
        "/wp-json/wp/v2/types",
        r#"{"post":{"slug":"p"}}"#,
    ),
    (
        "products.read",
        "<link rel='https://api.w.org/' href='/?rest_route=/'>",
        "/?rest_route=/wc/store/v1/products",
        "[]",
    ),
    (
        "pages.read",
        "<link rel=EditURI href='/w/api.php?action=rsd'>",
        "/w/api.php?action=query&meta=siteinfo&format=json&formatversion=2",
        r#"{"query":{"general":{"sitename":"Tea"}}}"#,
    ),
    ("topics.read", "<meta name=generator content='Discourse 3.5'>", "/latest.json", r#"{"topic_list":{"topics":[]}}"#),
    ("products.search", "<link href='//cdn.shopify.com/x'>", "/products.json?limit=1", r#"{"products":[]}"#),
    (
        "articles.list",
        "<meta name=Generator content='Drupal 11'>",
        "/jsonapi/node/article?page%5Blimit%5D=1",
        r#"{"data":[]}"#,
    ),
    ("repositories.issues", "<meta name=keywords content='go,gitea'>", "/api/v1/version", r#"{"version":"1.24"}"#),
];

#[tokio::test(flavor = "multi_thread")]
async fn import_site_calls_known_software_by_its_api_and_check_takes_each_entry() {
    for (id, mark, probe, answer) in KNOWN {
        let origin = Origin::start(move |request: &Request| match request.target.as_str() {
            "/" => Reply::html(format!("<title>Tea</title>{mark}<p>Tea.")),
            target if target == probe => Reply::new(200).header("Content-Type", "application/json").body(answer),
            _ => Reply::new(404),
        })
        .await;
        let dir = Dir::new();
        let (code, _, err) = run_to_end(&["import", "site", &origin.url(), "--write", "site.toml"], dir.path());
        assert_eq!(code, 0, "{id}: {err}");
        let text = std::fs::read_to_string(dir.join("site.toml")).expect("the file");
        assert!(text.contains(&format!("id = \"{id}\"")) && !text.contains('@'), "{id}: {text}");
        let (code, out, err) = run_to_end(&["check", "site.toml"], dir.path());
        assert_eq!(code, 0, "{id}: {out}{err}\n{text}");
    }
}
