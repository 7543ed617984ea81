//! Promise: a redirect shows a visitor the requested host, wherever the site names its internal one.

use crate::support::calls::{FULL, action, call, site};
use crate::support::{Ask, Desk, Origin, Reply, Request, SOON, Setup, Tls, Via, eventually};
use serde_json::json;

/// A site that names itself, by the address at which it listens, in every header that may; and its visitors' host with
/// its own port.
async fn naming() -> Origin {
    Origin::start(|request: &Request| {
        let host =
            request.header("x-forwarded-host").unwrap_or("none").split(':').next().unwrap_or_default().to_owned();
        let own = request.header("x-own").unwrap_or_default().to_owned();
        let port = own.rsplit(':').next().unwrap_or_default();
        match request.target.as_str() {
            "/there" => Reply::new(301).header("Location", &format!("http://{own}/there/?a=b#c")),
            "/by-host" => Reply::new(302).header("Location", &format!("http://{host}:{port}/by-host/")),
            "/others" => Reply::new(200)
                .header("Content-Location", &format!("http://{own}/here"))
                .header("Refresh", &format!("5; url=http://{own}/next"))
                .header("Link", &format!("<http://{own}/a>; rel=next, </b>; rel=prev"))
                .header("Link", "<https://cdn.test/c>; rel=preload")
                .header("Set-Cookie", "a=1; Domain=127.0.0.1; Path=/")
                .header("Set-Cookie", "b=2; Path=/"),
            _ => Reply::new(302).header("Location", "https://idp.test/login?back=http://127.0.0.1/"),
        }
    })
    .await
}

/// A request that says what the site's own address is, and goes the library's way where it is to.
fn asks(method: &str, target: &str, origin: &Origin, host: &str, library: bool) -> Ask {
    let ask = Ask::new(method, target).header("X-Own", &origin.addr.to_string()).header("Host", host);
    if library { ask.header("TE", "trailers") } else { ask }
}

#[tokio::test]
async fn redirects_name_what_was_asked() {
    let (origin, tls) = (naming().await, Tls::new());
    let desk = Setup::before(&origin).tls(&tls).start().await;
    for (via, asked) in
        [(Via::H1, "http://docs.test:8080"), (Via::H1, "http://docs.test"), (Via::H1Tls, "https://docs.test")]
    {
        let host = asked.split_once("://").unwrap().1;
        for (method, library) in [("GET", false), ("HEAD", false), ("GET", true), ("POST", true)] {
            let what = format!("{method} of {asked} by the library: {library}");
            let ask = |target| asks(method, target, &origin, host, library);
            let there = desk.ask(via, ask("/there")).await;
            let wanted = format!("{asked}/there/?a=b#c");
            assert_eq!((there.status, there.headers.all("location")), (301, vec![wanted.as_str()]), "{what}");
            let by_host = desk.ask(via, ask("/by-host")).await;
            let wanted = format!("{asked}/by-host/");
            assert_eq!(by_host.headers.all("location"), [wanted.as_str()], "{what}");
            let others = desk.ask(via, ask("/others")).await.headers;
            assert_eq!(others.all("content-location"), [format!("{asked}/here")], "{what}");
            assert_eq!(others.all("refresh"), [format!("5; url={asked}/next")], "{what}");
            let links = others.all("link");
            assert!(links.contains(&format!("<{asked}/a>; rel=next, </b>; rel=prev").as_str()), "{what}: {links:?}");
            assert!(links.contains(&"<https://cdn.test/c>; rel=preload"), "{what}: {links:?}");
            assert_eq!(others.all("set-cookie"), ["a=1; Domain=docs.test; Path=/", "b=2; Path=/"], "{what}");
            let away = desk.ask(via, ask("/away")).await;
            let wanted = "https://idp.test/login?back=http://127.0.0.1/";
            assert_eq!(away.headers.all("location"), [wanted], "{what}");
        }
    }
}

#[tokio::test]
async fn redirects_over_http2_name_what_was_asked() {
    let (origin, tls) = (naming().await, Tls::new());
    let desk = Setup::before(&origin).tls(&tls).start().await;
    let there = desk.ask(Via::H2Tls, Ask::get("/there").header("X-Own", &origin.addr.to_string())).await;
    assert_eq!(there.headers.all("location"), ["https://site.test/there/?a=b#c"]);
}

/// A proxy that is believed says how visitors ask.
#[tokio::test]
async fn redirects_name_what_a_trusted_proxy_was_asked() {
    let origin = naming().await;
    let (shop, inner) = ("https://shop.test/there/?a=b#c", "http://inner:8080/there/?a=b#c");
    // A proxy that is trusted may still pass on what a client wrote: only the site's own name leads anywhere.
    for (trusted, known, expected) in
        [(true, true, shop), (true, false, "https://inner:8080/there/?a=b#c"), (false, true, inner)]
    {
        let listen = if trusted { "trusted_proxies = [\"127.0.0.1\"]" } else { "" };
        let site = if known { "origin = \"https://shop.test\"" } else { "" };
        let desk = Setup::before(&origin).set("listen", listen).set("site", site).start().await;
        for library in [false, true] {
            let ask = asks("GET", "/there", &origin, "inner:8080", library)
                .header("X-Forwarded-Host", "shop.test")
                .header("X-Forwarded-Proto", "https");
            assert_eq!(desk.ask(Via::H1, ask).await.headers.all("location"), [expected], "{trusted} {library}");
        }
    }
}

#[tokio::test]
async fn redirects_stay_as_they_are_where_that_is_wanted() {
    let origin = naming().await;
    let desk = Setup::before(&origin).set("upstream", "rewrite_redirects = false").start().await;
    for library in [false, true] {
        let there = desk.ask(Via::H1, asks("GET", "/there", &origin, "docs.test", library)).await;
        assert_eq!(there.headers.all("location"), [format!("http://{}/there/?a=b#c", origin.addr)]);
        let others = desk.ask(Via::H1, asks("GET", "/others", &origin, "docs.test", library)).await;
        assert_eq!(others.headers.all("set-cookie")[0], "a=1; Domain=127.0.0.1; Path=/");
    }
}

/// As nginx answers for a directory without its slash: who wants Markdown is led on within the site.
#[tokio::test]
async fn redirects_of_a_page_lead_to_its_markdown_within_the_site() {
    let origin = Origin::start(|request: &Request| match request.target.as_str() {
        "/faq" => {
            Reply::new(301).header("Location", &format!("http://{}/faq/", request.header("x-own").unwrap_or("x")))
        }
        "/faq/" => Reply::html("<!doctype html><title>t</title><main><h1>Questions</h1><p>Many.</main>"),
        _ => Reply::new(404).body("no"),
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    let by_path = desk.ask(Via::H1, asks("GET", "/faq.md", &origin, "docs.test:8080", false)).await;
    assert_eq!((by_path.status, by_path.header("location")), (301, Some("http://docs.test:8080/faq/")));
    let there = desk.ask(Via::H1, asks("GET", "/faq/index.md", &origin, "docs.test:8080", false)).await;
    assert_eq!((there.status, there.media_type().as_str()), (200, "text/markdown"), "{}", there.text());
    assert!(there.text().contains("Questions"), "{}", there.text());
    let by_accept =
        desk.ask(Via::H1, asks("GET", "/faq", &origin, "docs.test:8080", false).accept("text/markdown")).await;
    assert_eq!((by_accept.status, by_accept.header("location")), (301, Some("http://docs.test:8080/faq/")));
}

/// How often the desk has warned of another host.
fn warnings(desk: &Desk) -> usize {
    desk.stderr().matches("redirects visitors to another host").count()
}

#[tokio::test]
async fn redirects_to_another_host_are_warned_of_once() {
    let origin = naming().await;
    let desk = Setup::before(&origin).start().await;
    desk.ask(Via::H1, asks("GET", "/there", &origin, "docs.test", false)).await;
    assert_eq!(warnings(&desk), 0, "it became the site's own");
    for library in [false, true, false] {
        desk.ask(Via::H1, asks("GET", "/away", &origin, "docs.test", library)).await;
    }
    eventually("a warning", SOON, async || warnings(&desk) == 1).await;
    let said = desk.stderr();
    assert!(
        said.contains("https://idp.test")
            && said.contains("site.origin")
            && !said.replace("back=*", "").contains("back="),
        "{said}"
    );
}

/// A form's answer that names the site by its whole address is within the site.
#[tokio::test]
async fn redirects_of_a_call_are_told_as_paths() {
    let origin = Origin::start(|request: &Request| {
        let host = request.header("host").unwrap_or_default();
        Reply::new(303).header("Location", &format!("http://{host}/done?n=1"))
    })
    .await;
    let form = "\nupstream = { method = \"POST\", path = \"/api/do\", body = \"form\", response = \"wrap\" }";
    for preserve in ["preserve_host = true", "preserve_host = false"] {
        let desk = site(&origin, &action("form", form)).set("upstream", preserve).start().await;
        let told = desk.call(call("/agent/form", &json!({ "a": 1 })).bearer(FULL)).await;
        assert_eq!(told.json()["data"]["location"], "/done?n=1", "{preserve}: {}", told.text());
    }
}
