//! Promise: every response to a readable request carries the Link header, and the site's own Link lines survive.

use crate::support::page::{LINK, PAGE};
use crate::support::setup::dead_address;
use crate::support::{Ask, Headers, Origin, Reply, Request, Setup, Tls, Via};

fn site(request: &Request) -> Reply {
    match request.target.as_str() {
        "/" | "/?a=1" => Reply::html(PAGE),
        "/old" => Reply::new(301).header("Location", "/"),
        "/same" => Reply::new(304).header("ETag", "\"v1\""),
        "/broken" => Reply::new(500).header("Content-Type", "text/html").body(PAGE),
        "/nothing" => Reply::new(204),
        "/api/x" => Reply::json("{\"x\":1}"),
        "/img.png" => Reply::new(200).header("Content-Type", "image/png").body(b"\x89PNG\r\n\x1a\n"),
        "/wordless" => {
            Reply::html("<!doctype html><html><head><title>App</title></head><body><div id=app></div></body></html>")
        }
        "/linked" => Reply::html(PAGE)
            .header("Link", "</style.css>; rel=preload; as=style")
            .header("Link", "</2>; rel=\"next\", </0>; rel=\"prev\""),
        _ => Reply::new(404).header("Content-Type", "text/plain").body("no such page"),
    }
}

#[track_caller]
fn carries_ours_once(headers: &Headers, what: &str) {
    let lines = headers.all("link");
    let ours: Vec<_> = lines.iter().filter(|line| line.starts_with(LINK)).collect();
    assert_eq!(ours.len(), 1, "one added Link line on {what}: {lines:?}");
    let is_page = headers.joined("content-type").starts_with("text/html");
    assert_eq!(ours[0].len() > LINK.len(), is_page, "pages name more, and only they: {what}: {lines:?}");
    assert!(ours[0].len() <= 600, "{what}: {lines:?}");
}

#[tokio::test]
async fn link_is_on_pages_errors_redirects_api_answers_and_images() {
    let origin = Origin::start(site).await;
    let desk = Setup::before(&origin).start().await;
    for (path, status) in [
        ("/", 200),
        ("/missing", 404),
        ("/old", 301),
        ("/same", 304),
        ("/broken", 500),
        ("/nothing", 204),
        ("/api/x", 200),
        ("/img.png", 200),
    ] {
        for method in ["GET", "HEAD"] {
            let response = desk.ask(Via::H1, Ask::new(method, path)).await;
            assert_eq!(response.status, status, "{method} {path}");
            carries_ours_once(&response.headers, &format!("{method} {path}"));
        }
    }
}

#[tokio::test]
async fn link_is_on_answers_to_every_method() {
    let origin = Origin::start(|_: &Request| Reply::new(200).header("Allow", "GET, OPTIONS").body("ok")).await;
    let desk = Setup::before(&origin).start().await;
    for method in ["OPTIONS", "POST", "PUT", "PATCH", "DELETE", "PROPFIND", "BREW"] {
        let response = desk.ask(Via::H1, Ask::new(method, "/x").body("")).await;
        assert_eq!(response.status, 200, "{method}");
        carries_ours_once(&response.headers, method);
    }
}

#[tokio::test]
async fn link_is_on_http2_answers() {
    let (tls, origin) = (Tls::new(), Origin::start(site).await);
    let desk = Setup::before(&origin).tls(&tls).start().await;
    let mut h2 = desk.h2(Via::H2Tls).await;
    for path in ["/", "/missing", "/old", "/api/x", "/nothing"] {
        let response = h2.ask(&Ask::get(path)).await;
        carries_ours_once(&response.headers, path);
    }
}

#[tokio::test]
async fn link_is_on_frontdesks_own_answers() {
    let desk = Setup::before_urls(&[format!("http://{}", dead_address())]).start().await;
    for (ask, status) in [
        (Ask::get("/"), 502),
        (Ask::get("/.well-known/agent.json"), 200),
        (Ask::head("/.well-known/agent.json"), 200),
        (Ask::post("/.well-known/agent.json", "{}"), 405),
        (Ask::get("/.well-known/agent-interface.toml"), 200),
        (Ask::get("/.well-known/agent-interface"), 200),
        (Ask::get("/.well-known/agent-interface").accept("application/aicp+toml;version=9.9"), 406),
        (Ask::get("/x").accept("application/agent+json"), 200),
        (Ask::get("/x").header("X-Long", &"x".repeat(40_000)), 431),
    ] {
        let what = format!("{} {}", ask.method, ask.target);
        let response = desk.ask(Via::H1, ask).await;
        assert_eq!(response.status, status, "{what}: {}", response.text());
        carries_ours_once(&response.headers, &what);
    }
}

#[tokio::test]
async fn link_lines_of_the_site_survive() {
    let origin = Origin::start(site).await;
    let desk = Setup::before(&origin).start().await;
    let response = desk.get("/linked").await;
    carries_ours_once(&response.headers, "/linked");
    let own: Vec<_> = response.headers.all("link").into_iter().filter(|line| !line.starts_with(LINK)).collect();
    assert_eq!(own, ["</style.css>; rel=preload; as=style", "</2>; rel=\"next\", </0>; rel=\"prev\""]);
}

/// The targets of a Link line with their relations.
fn targets(line: &str) -> Vec<(String, String)> {
    let values = line.split(", ").map(|value| {
        let (target, rest) = value.strip_prefix('<').and_then(|value| value.split_once('>')).expect("a target");
        let rel = rest.split("rel=\"").nth(1).and_then(|rel| rel.split('"').next()).expect("a relation");
        (target.to_owned(), rel.to_owned())
    });
    values.collect()
}

#[tokio::test]
async fn link_of_a_page_names_what_others_look_for_and_everything_is_there() {
    let (tls, origin) = (Tls::new(), Origin::start(site).await);
    let setup = || Setup::before(&origin).reading("start = [\"/\"]");
    let desk = setup().tls(&tls).start().await;
    let slow = setup().set("runtime", "fast_path = false").start().await;
    let over_h2 = desk.h2(Via::H2Tls).await.ask(&Ask::get("/")).await;
    let lines = [desk.get("/").await, desk.ask(Via::H1, Ask::head("/")).await, over_h2, slow.get("/").await]
        .map(|response| response.headers.joined("link"));
    assert!(lines.iter().all(|line| *line == lines[0]), "both engines, both versions: {lines:?}");
    let named = targets(&lines[0]);
    let relations: Vec<&str> = named.iter().map(|(_, rel)| rel.as_str()).collect();
    assert_eq!(relations[..2], ["ahp-manifest", "agent-interface"], "{named:?}");
    for rel in ["describedby", "api-catalog", "service-desc", "sitemap", "alternate"] {
        assert!(relations.contains(&rel), "{rel}: {named:?}");
    }
    for (target, rel) in named {
        let response = desk.get(&target).await;
        assert_eq!(response.status, 200, "{rel}: {target}");
        if rel == "alternate" {
            assert_eq!((target.as_str(), response.media_type().as_str()), ("/index.md", "text/markdown"));
        }
    }
}

#[tokio::test]
async fn link_names_markdown_only_of_pages_that_have_it() {
    let origin = Origin::start(site).await;
    let alternate = "rel=\"alternate\"; type=\"text/markdown\"";
    let desk = Setup::before(&origin).set("content", "exclude = ['/linked']").start().await;
    for (path, names) in [("/", true), ("/?a=1", true), ("/linked", false), ("/broken", false), ("/api/x", false)] {
        let link = desk.get(path).await.headers.joined("link");
        assert_eq!(link.contains(alternate), names, "{path}: {link}");
    }
    // It has no words, which is known once somebody asked.
    assert!(desk.get("/wordless").await.headers.joined("link").contains(alternate));
    let asked = desk.ask(Via::H1, Ask::get("/wordless").accept("text/markdown")).await;
    assert_eq!(asked.media_type(), "text/html");
    assert!(!desk.get("/wordless").await.headers.joined("link").contains(alternate));
    let off = Setup::before(&origin).set("content", "markdown = false").start().await;
    let link = off.get("/").await.headers.joined("link");
    assert!(!link.contains(alternate) && link.contains("service-desc"), "{link}");
    let off = Setup::before(&origin).set("discovery", "links = false").start().await;
    assert_eq!(off.get("/").await.headers.all("link"), [LINK]);
}

#[tokio::test]
async fn link_can_be_switched_off_and_the_legacy_relation_on() {
    let origin = Origin::start(site).await;
    let off = Setup::before(&origin).set("discovery", "link_header = false").start().await;
    assert!(!off.get("/").await.headers.has("link"));
    let legacy = Setup::before(&origin).set("discovery", "legacy_link_rel = true").start().await;
    let response = legacy.get("/").await;
    let lines = response.headers.all("link");
    assert_eq!(lines.len(), 1, "one line, because agents read only the first: {lines:?}");
    for relation in ["rel=\"ahp-manifest\"", "rel=\"agent-manifest\"", "rel=\"agent-interface\""] {
        assert!(lines[0].contains(relation), "{relation} in {}", lines[0]);
    }
}
