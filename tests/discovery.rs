//! Promise: a plain site with nothing configured is found and read by agents as others look for it: robots.txt, a
//! sitemap, llms.txt, all pages in one text, the way in, and a helpful 404. What the site has itself wins.

use std::time::Duration;

use crate::support::{Ask, Desk, Headers, Origin, Reply, Request, Setup, Via, eventually};

const A_WHILE: Duration = Duration::from_secs(30);
const OLD: &str = "Sat, 01 Jan 2022 00:00:00 GMT";

fn page(title: &str, words: &str) -> Reply {
    Reply::html(format!(
        "<!doctype html><html lang=en><head><title>{title}</title></head><body><main><h1>{title}</h1><p>{words}</p>\
         <a href='/about.html'>About</a> <a href='/contact.html'>Contact</a></main></body></html>"
    ))
    .header("Last-Modified", OLD)
}

fn missing() -> Reply {
    Reply::new(404).header("Content-Type", "text/html").body("<h1>The site's own 404</h1>")
}

/// Three static pages, and nothing else.
fn plain(request: &Request) -> Reply {
    match request.target.as_str() {
        "/" => page("Acme", "We make anvils."),
        "/about.html" => page("About us", "A family business."),
        "/contact.html" => page("Contact", "Write to us."),
        _ => missing(),
    }
}

async fn read(desk: &Desk, pages: usize) {
    eventually("the pages were read", A_WHILE, async || {
        // Documents are counted, 120 a minute.
        tokio::time::sleep(std::time::Duration::from_millis(400)).await;
        desk.get("/sitemap.xml").await.text().matches("<url>").count() == pages
    })
    .await;
}

#[track_caller]
fn is_generated(headers: &Headers, what: &str) {
    assert_eq!(headers.all("x-frontdesk-generated"), ["1"], "{what}");
}

#[tokio::test]
async fn discovery_of_a_plain_site_needs_no_configuration() {
    let origin = Origin::start(plain).await;
    let desk = Desk::run_upstream(&origin.url()).await;
    let first = desk.get("/sitemap.xml").await;
    assert_eq!((first.status, first.media_type().as_str()), (200, "application/xml"), "before anything was read");
    read(&desk, 3).await;
    let sitemap = desk.get("/sitemap.xml").await;
    is_generated(&sitemap.headers, "sitemap");
    let text = sitemap.text();
    for path in ["/", "/about.html", "/contact.html"] {
        let entry = format!("<url><loc>http://site.test{path}</loc><lastmod>2022-01-01T00:00:00Z</lastmod></url>");
        assert!(text.contains(&entry), "{path}: {text}");
    }
    let tag = sitemap.header("etag").expect("a tag").to_owned();
    let again = desk.ask(Via::H1, Ask::get("/sitemap.xml").header("If-None-Match", &tag)).await;
    assert_eq!(again.status, 304);

    let robots = desk.get("/robots.txt").await.text();
    assert!(robots.ends_with("\n\nSitemap: http://site.test/sitemap.xml\n"), "{robots}");

    let full = desk.get("/llms-full.txt").await;
    assert_eq!((full.status, full.media_type().as_str(), full.complete), (200, "text/plain", true));
    is_generated(&full.headers, "llms-full");
    let text = full.text();
    for words in
        ["# Acme\n", "Source: http://site.test/about.html\n", "We make anvils.", "A family business.", "Write to us."]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!full.headers.has("content-length"), "it is sent as it is made");
    let head = desk.ask(Via::H1, Ask::head("/llms-full.txt")).await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(desk.ask(Via::H1, Ask::post("/llms-full.txt", "")).await.status, 405);

    let llms = desk.get("/llms.txt").await.text();
    for part in [
        "## When to use this site\n\n- To read a page",
        "(http://site.test/llms-full.txt)",
        "test/auth.md)",
        "test/about.html)",
    ] {
        assert!(llms.contains(part), "{part}: {llms}");
    }

    let auth = desk.get("/auth.md").await;
    assert_eq!((auth.status, auth.media_type().as_str()), (200, "text/markdown"));
    is_generated(&auth.headers, "auth.md");
    let auth = auth.text();
    assert!(auth.starts_with("# auth.md: ") && auth.contains("No credential is needed"), "{auth}");
    assert!(auth.contains("curl 'http://site.test/.well-known/agent.json'"), "{auth}");
    assert_eq!(desk.get("/.well-known/oauth-protected-resource").await.status, 404, "no server is declared");
}

#[tokio::test]
async fn discovery_of_what_is_not_there_leads_agents_on_and_leaves_browsers_the_sites_own() {
    let origin = Origin::start(plain).await;
    for fast in [true, false] {
        let setup = Setup::before(&origin).reading("").set("runtime", &format!("fast_path = {fast}"));
        let desk = setup.set("listen", "h2c = true").start().await;
        read(&desk, 3).await;
        for path in ["/abuot", "/abuot.md"] {
            let told = desk.ask(Via::H1, Ask::get(path).accept("text/markdown")).await;
            assert_eq!((told.status, told.media_type().as_str()), (404, "text/markdown"), "{path}");
            assert_eq!(told.header("cache-control"), Some("private, no-cache"));
            assert_eq!(told.headers.tokens("vary"), ["accept"]);
            is_generated(&told.headers, path);
            let text = told.text();
            for part in [
                "- [About us](http://site.test/about.html)",
                "(http://site.test/llms.txt)",
                "(http://site.test/sitemap.xml)",
            ] {
                assert!(text.contains(part), "{part}: {text}");
            }
            assert!(text.len() < 1_000, "{text}");
        }
        let mut h2 = desk.h2(Via::H2c).await;
        let json = Ask::get("/abuot").accept("application/json");
        for told in [desk.ask(Via::H1, json.clone()).await, h2.ask(&json).await] {
            assert_eq!(
                (told.status, told.media_type().as_str(), told.complete),
                (404, "application/problem+json", true)
            );
            assert_eq!(told.json()["nearest"][0]["url"], "/about.html", "{}", told.text());
            assert_eq!(told.json()["sitemap"], "/sitemap.xml");
            assert!(told.headers.tokens("vary").contains(&"accept".to_owned()), "{:?}", told.headers);
            is_generated(&told.headers, "json");
        }
        let head = desk.ask(Via::H1, Ask::head("/abuot").accept("application/json")).await;
        assert_eq!((head.status, head.media_type().as_str(), head.body.len()), (404, "application/problem+json", 0));
        let script = Ask::get("/abuot").accept("application/json").header("Sec-Fetch-Mode", "cors");
        for ask in [Ask::get("/abuot"), Ask::get("/abuot").accept("text/html,*/*;q=0.8"), script] {
            let told = desk.ask(Via::H1, ask).await;
            assert_eq!((told.status, told.media_type().as_str()), (404, "text/html"));
            assert!(told.text().contains("The site's own 404"), "{}", told.text());
        }
    }
}

#[tokio::test]
async fn discovery_leaves_errors_of_the_sites_apis_alone() {
    let origin = Origin::start(|r: &Request| match r.target.as_str() {
        "/api/none" => Reply::new(404).header("Content-Type", "application/json").body("{\"own\":1}"),
        "/empty" => Reply::new(404).header("Content-Type", "text/html"),
        "/kept" => missing().header("Cache-Control", "no-transform"),
        "/forbidden" => Reply::new(403).header("Content-Type", "text/html").body("no"),
        _ => missing(),
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    for (path, status, body) in [
        ("/api/none", 404, "{\"own\":1}"),
        ("/empty", 404, ""),
        ("/kept", 404, "<h1>The site's own 404</h1>"),
        ("/forbidden", 403, "no"),
    ] {
        let told = desk.ask(Via::H1, Ask::get(path).accept("application/json")).await;
        assert_eq!(told.status, status, "{path}");
        assert!(told.text().contains(body) && !told.text().contains("nearest"), "{path}: {}", told.text());
    }
    // The connection is used again.
    let mut conn = desk.conn().await;
    for _ in 0..3 {
        let told = conn.ask(&Ask::get("/none").accept("application/json")).await;
        assert_eq!((told.status, told.media_type().as_str()), (404, "application/problem+json"));
    }
}

#[tokio::test]
async fn discovery_gives_way_to_what_the_site_has_itself() {
    let text = |kind: &str, body: &str| Reply::new(200).header("Content-Type", kind).body(body);
    let map = "<?xml version=\"1.0\"?><urlset><url><loc>http://site.test/own</loc></url></urlset>";
    let origin = Origin::start(move |r: &Request| match r.target.as_str() {
        "/" => page("Acme", "Words."),
        "/wp-sitemap.xml" => text("application/xml", map),
        "/llms-full.txt" => text("text/plain", "own text"),
        "/auth.md" => text("text/markdown", "# own auth.md"),
        "/robots.txt" => text("text/plain", "User-agent: *\nDisallow: /x\n"),
        _ => missing(),
    })
    .await;
    let desk = Setup::before(&origin).reading("").start().await;
    eventually("the site's own are served", A_WHILE, async || {
        desk.get("/auth.md").await.text() == "# own auth.md"
            && desk.get("/llms-full.txt").await.text() == "own text"
            && desk.get("/sitemap.xml").await.status == 404
    })
    .await;
    let link = desk.get("/").await.headers.joined("link");
    assert!(link.contains("</wp-sitemap.xml>; rel=\"sitemap\""), "{link}");
    let robots = desk.get("/robots.txt").await.text();
    assert!(robots.contains("\nDisallow: /x\n"), "its rules stay: {robots}");
    assert!(robots.contains("Content-Signal: search=yes, ai-input=yes\n"), "{robots}");
    assert!(robots.ends_with("\nSitemap: http://site.test/wp-sitemap.xml\n"), "{robots}");
}

#[tokio::test]
async fn discovery_finds_the_sitemap_that_robots_txt_names() {
    let text = |kind: &str, body: &str| Reply::new(200).header("Content-Type", kind).body(body);
    let map = "<?xml version=\"1.0\"?><urlset><url><loc>/</loc></url></urlset>";
    let origin = Origin::start(move |r: &Request| match r.target.as_str() {
        "/" => page("Acme", "Words."),
        "/maps/all.xml" => text("application/xml", map),
        "/robots.txt" => text("text/plain", "User-agent: *\nDisallow: /x\nSitemap: /maps/all.xml\n"),
        _ => missing(),
    })
    .await;
    let desk = Setup::before(&origin).reading("start = [\"/\"]").start().await;
    eventually("ours is gone", A_WHILE, async || desk.get("/sitemap.xml").await.status == 404).await;
    let link = desk.get("/").await.headers.joined("link");
    assert!(link.contains("</maps/all.xml>; rel=\"sitemap\""), "{link}");
    let robots = desk.get("/robots.txt").await.text();
    assert_eq!(robots.matches("Sitemap:").count(), 1, "{robots}");
}

#[tokio::test]
async fn discovery_can_be_switched_off_part_by_part() {
    let origin = Origin::start(plain).await;
    let setup = Setup::before(&origin).reading("llms_full = false");
    let desk = setup.set("discovery", "sitemap = false\nauth_md = false\nrobots = false").start().await;
    for path in ["/sitemap.xml", "/auth.md", "/llms-full.txt", "/robots.txt"] {
        let told = desk.get(path).await;
        assert_eq!((told.status, told.media_type().as_str()), (404, "text/html"), "{path}");
    }
    let link = desk.get("/").await.headers.joined("link");
    assert!(!link.contains("sitemap") && link.contains("describedby"), "{link}");
}

#[tokio::test]
async fn discovery_of_an_authorization_server_and_of_where_to_register() {
    let origin = Origin::start(plain).await;
    let key = "0f".repeat(32);
    let declared = "authorization_servers = [\"https://login.test\"]\nregistration_url = \"https://acme.test/agents\"\n\
                    available_scopes = [\"tea.write\"]";
    let capability = "[[capabilities]]\nid = \"tea.order\"\ntype = \"query\"\ndescription = \"Orders tea.\"\n\
                      method = \"GET\"\nendpoint = \"/agent/order\"\nrisk_level = \"low\"\nauth = \"required\"\n\
                      required_scopes = [\"tea.write\"]\n[capabilities.upstream]\nmethod = \"GET\"\npath = \"/order\"\n";
    let desk = Setup::before(&origin)
        .set("auth", declared)
        .tail(&format!("{capability}[[auth.api_keys]]\nname = \"a\"\nsha256 = \"{key}\"\n"))
        .start()
        .await;
    for (path, resource) in [
        ("/.well-known/oauth-protected-resource", "http://site.test"),
        ("/.well-known/oauth-protected-resource/mcp", "http://site.test/mcp"),
    ] {
        let told = desk.get(path).await;
        assert_eq!((told.status, told.media_type().as_str()), (200, "application/json"), "{path}");
        let metadata = told.json();
        assert_eq!(metadata["resource"], resource);
        assert_eq!(metadata["authorization_servers"][0], "https://login.test");
        assert_eq!(metadata["scopes_supported"][0], "tea.write");
    }
    let auth = desk.get("/auth.md").await.text();
    for part in [
        "## With a credential\n\n- `tea.order`: Orders tea. Scopes: `tea.write`.",
        "Issuer: https://login.test",
        "http://site.test/.well-known/oauth-protected-resource",
        "gets a credential at https://acme.test/agents",
        "curl 'http://site.test/agent/order' -H 'X-AHP-Key: KEY'",
    ] {
        assert!(auth.contains(part), "{part}: {auth}");
    }
    for (path, metadata) in [
        ("/mcp", "http://site.test/.well-known/oauth-protected-resource/mcp"),
        ("/agent/order", "http://site.test/.well-known/oauth-protected-resource"),
    ] {
        let method = if path == "/mcp" { "POST" } else { "GET" };
        let refused = desk.ask(Via::H1, Ask::new(method, path).header("X-AHP-Key", "wrong").body("")).await;
        let challenge = refused.headers.joined("www-authenticate");
        assert_eq!(refused.status, 401, "{path}");
        assert!(challenge.starts_with("Bearer ") && challenge.contains(metadata), "{path}: {challenge}");
    }
    for ask in [Ask::get("/agent/order"), Ask::get("/agent/order").accept("application/json")] {
        let refused = desk.ask(Via::H1, ask).await;
        assert_eq!(refused.status, 401);
        assert!(refused.text().contains("https://acme.test/agents"), "{}", refused.text());
    }
}
