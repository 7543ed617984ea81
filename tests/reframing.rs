//! Promise: a rewritten page has consistent framing and validators: lengths, entity tags, ranges, digests, conditional
//! requests.

use crate::support::page::{PAGE, assert_rewritten};
use crate::support::{Ask, Coding, Desk, Framing, Headers, Origin, Reply, Request, Setup, Tls, Via};

/// A page with a tag that honours If-None-Match and If-Match as a plain server does.
fn tagged(tag: &'static str) -> impl Fn(&Request) -> Reply + Send + Sync + 'static {
    move |request| {
        let fits = |list: &str| list.split(',').any(|t| t.trim() == tag || t.trim() == "*");
        if request.header("if-none-match").is_some_and(fits) {
            return Reply::new(304).header("ETag", tag).header("Content-Type", "text/html");
        }
        if request.header("if-match").is_some_and(|list| !fits(list)) {
            return Reply::new(412);
        }
        Reply::html(PAGE).header("ETag", tag)
    }
}

fn tag_of(headers: &Headers) -> String {
    let tags = headers.all("etag");
    assert_eq!(tags.len(), 1, "one ETag: {tags:?}");
    tags[0].to_owned()
}

async fn before(tag: &'static str) -> (Origin, Desk) {
    let origin = Origin::start(tagged(tag)).await;
    let desk = Setup::before(&origin).start().await;
    (origin, desk)
}

/// A length said twice is one length; strict clients, and those over HTTP/2, take two of them for none.
#[tokio::test]
async fn reframed_lengths_are_said_once() {
    let tls = Tls::new();
    let says = |request: &Request| {
        let reply = Reply::json("{}").verbatim();
        match request.target.as_str() {
            "/lines" => reply.header("Content-Length", "2").header("Content-Length", "2"),
            "/list" => reply.header("Content-Length", "2 , 2"),
            _ => reply.header("Content-Length", "2").header("Content-Length", "3"),
        }
    };
    let (plain, secured) = (Origin::start(says).await, Origin::start_tls(&tls, says).await);
    for origin in [&plain, &secured] {
        let desk = Setup::before(origin).tls(&tls).trusting(&tls).set("upstream", "http2 = \"off\"").start().await;
        for via in [Via::H1, Via::H1Tls, Via::H2Tls] {
            for path in ["/lines", "/list"] {
                let response = desk.ask(via, Ask::get(path)).await;
                assert_eq!((response.status, response.text().as_str()), (200, "{}"), "{path} over {via:?}");
                assert_eq!(response.headers.all("content-length"), ["2"], "{path} over {via:?}");
            }
            assert_eq!(desk.ask(via, Ask::get("/differ")).await.status, 502, "over {via:?}");
        }
    }
}

#[tokio::test]
async fn reframed_lengths_are_true() {
    let (tls, origin) = (Tls::new(), Origin::start(|_: &Request| Reply::html(PAGE)).await);
    let desk = Setup::before(&origin).tls(&tls).start().await;
    let h1 = desk.get("/").await;
    assert!(h1.complete && matches!(h1.framing, Framing::Length(_) | Framing::Chunked(_)), "{:?}", h1.framing);
    assert!(
        !(h1.headers.has("content-length") && h1.headers.has("transfer-encoding")),
        "one framing: {:?}",
        h1.headers
    );
    assert_rewritten(PAGE, &h1.page(), "HTTP/1.1");
    let h2 = desk.ask(Via::H2Tls, Ask::get("/")).await;
    if let Some(length) = h2.header("content-length") {
        assert_eq!(length, h2.body.len().to_string());
    }
    assert!(h2.complete && !h2.headers.has("transfer-encoding"));
}

#[tokio::test]
async fn reframed_tags_are_weak_and_differ_from_the_sites() {
    for tag in ["\"v1\"", "W/\"v1\""] {
        let (_origin, desk) = before(tag).await;
        let got = tag_of(&desk.get("/").await.headers);
        assert!(got.starts_with("W/\"") && got.ends_with('"'), "weak: {got}");
        assert_ne!(got, tag, "tagged");
    }
}

#[tokio::test]
async fn reframed_tag_comes_back_to_the_site_as_its_own() {
    for tag in ["\"v1\"", "W/\"v1\"", "\"\"", "\"with;fd=inside\""] {
        let (origin, desk) = before(tag).await;
        let ours = tag_of(&desk.get("/").await.headers);
        let again = desk.ask(Via::H1, Ask::get("/").header("If-None-Match", &ours)).await;
        assert_eq!(origin.last().headers.all("if-none-match"), [tag], "what went up, strength and all");
        assert_eq!(again.status, 304, "{tag}");
        assert_eq!(tag_of(&again.headers), ours, "the 304 is tagged as the 200 was");
        assert!(again.body.is_empty());
    }
}

#[tokio::test]
async fn reframed_tag_is_found_in_a_list_and_foreign_ones_pass() {
    let (origin, desk) = before("\"v1\"").await;
    let ours = tag_of(&desk.get("/").await.headers);
    let list = format!("\"older\", {ours}, W/\"other\"");
    let response = desk.ask(Via::H1, Ask::get("/").header("If-None-Match", &list)).await;
    assert_eq!(response.status, 304);
    let went_up = origin.last().headers.joined("if-none-match");
    assert!(went_up.split(',').any(|t| t.trim() == "\"v1\""), "{went_up}");
    let foreign = desk.ask(Via::H1, Ask::get("/").header("If-None-Match", "\"v0\"")).await;
    assert_eq!(foreign.status, 200);
}

#[tokio::test]
async fn reframed_tag_in_if_match_is_translated_too() {
    let (origin, desk) = before("\"v1\"").await;
    let ours = tag_of(&desk.get("/").await.headers);
    let response = desk.ask(Via::H1, Ask::new("PUT", "/").header("If-Match", &ours).body("x")).await;
    assert_eq!(origin.last().headers.all("if-match"), ["\"v1\""]);
    assert_ne!(response.status, 412);
}

#[tokio::test]
async fn reframed_tag_in_if_range_never_glues_two_pages_together() {
    let origin = Origin::start(|request: &Request| {
        let current = request.header("if-range").is_none_or(|tag| tag == "\"v1\"");
        if request.headers.has("range") && current {
            let range = format!("bytes 10-19/{}", PAGE.len());
            let part = Reply::new(206).header("Content-Range", &range).header("Content-Type", "text/html");
            return part.header("ETag", "\"v1\"").body(&PAGE[10..20]);
        }
        Reply::html(PAGE).header("ETag", "\"v1\"")
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    let ours = tag_of(&desk.get("/").await.headers);
    let ask = Ask::get("/").header("Range", "bytes=10-19").header("If-Range", &ours);
    let response = desk.ask(Via::H1, ask).await;
    // Offsets into the site's page mean nothing in ours: the whole page, or the site's part as it is.
    match response.status {
        200 => assert_rewritten(PAGE, &response.page(), "the whole page"),
        206 => assert_eq!(response.text(), &PAGE[10..20]),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn reframed_head_has_the_tag_of_get() {
    let (_origin, desk) = before("\"v1\"").await;
    let get = desk.get("/").await;
    let head = desk.ask(Via::H1, Ask::head("/")).await;
    assert_eq!(tag_of(&head.headers), tag_of(&get.headers));
    assert!(head.body.is_empty());
    if let (Some(said), Framing::Length(is)) = (head.header("content-length"), &get.framing) {
        assert_eq!(said, is.to_string(), "a length that HEAD gives is that of GET");
    } else {
        assert_ne!(head.header("content-length"), Some(PAGE.len().to_string().as_str()), "not the site's own length");
    }
}

#[tokio::test]
async fn reframed_changed_notice_beats_a_304() {
    let origin = Origin::start(tagged("\"v1\"")).await;
    let with = Setup::before(&origin);
    let legacy = with.clone().set("discovery", "legacy_link_rel = true");
    let moved = with.clone().set("paths", "converse = \"/somewhere/else\"");
    let without = with.clone().set("discovery", "notice = false");
    let desk = with.clone().start().await;
    let first = desk.get("/").await;
    let ours = tag_of(&first.headers);
    for (setup, what) in [(&legacy, "legacy"), (&moved, "moved"), (&without, "without a notice")] {
        desk.swap(setup).await;
        let again = desk.ask(Via::H1, Ask::get("/").header("If-None-Match", &ours)).await;
        let same = again.status == 304;
        let now = desk.get("/").await;
        assert!(!same || now.page() == first.page(), "{what}: a 304 for a page that has changed");
        if what == "without a notice" {
            assert_eq!((again.status, again.text().as_str()), (200, PAGE), "{what}");
            assert_eq!(again.header("etag"), Some("\"v1\""), "the site's own tag is back");
        }
    }
    desk.swap(&with).await;
    let plain = desk.ask(Via::H1, Ask::get("/").header("If-None-Match", "\"v1\"")).await;
    assert_eq!(plain.status, 200, "who holds the page without our notice gets the one with it");
    let back = desk.ask(Via::H1, Ask::get("/").header("If-None-Match", &ours)).await;
    assert_eq!(back.status, 304, "and the first tag holds again");
}

#[tokio::test]
async fn reframed_page_with_only_a_date_gets_a_tag() {
    const DATE: &str = "Sat, 01 Jan 2022 00:00:00 GMT";
    let origin = Origin::start(|request: &Request| {
        if request.headers.has("if-modified-since") {
            return Reply::new(304).header("Last-Modified", DATE);
        }
        Reply::html(PAGE).header("Last-Modified", DATE)
    })
    .await;
    let with = Setup::before(&origin);
    let desk = with.clone().start().await;
    let ours = tag_of(&desk.get("/").await.headers);
    let both = |tag: &str| Ask::get("/").header("If-None-Match", tag).header("If-Modified-Since", DATE);
    let again = desk.ask(Via::H1, both(&ours)).await;
    assert_eq!(again.status, 304, "our tag is current, so the date may decide");
    assert_eq!(tag_of(&again.headers), ours);
    let stale = desk.ask(Via::H1, both("W/\"something-else\"")).await;
    assert_eq!(stale.status, 200, "without a current tag the date alone decides nothing");
    let dated = desk.ask(Via::H1, Ask::get("/").header("If-Modified-Since", DATE)).await;
    assert_eq!(dated.status, 200, "who has only the date may hold a page from before us");
    assert_rewritten(PAGE, &dated.page(), "unconditional");
}

#[tokio::test]
async fn reframed_pages_promise_no_ranges_and_no_digests() {
    let headers = ["Accept-Ranges", "Content-MD5", "Digest", "Content-Digest", "Repr-Digest"];
    let origin = Origin::start(move |_: &Request| {
        let mut reply = Reply::html(PAGE).header("X-Kept", "yes").header("Vary", "Cookie");
        for name in headers {
            reply = reply.header(name, if name == "Accept-Ranges" { "bytes" } else { "sha-256=:AAAA:" });
        }
        reply
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    let response = desk.get("/").await;
    for name in headers {
        assert!(!response.headers.has(name), "{name} is of the page before it was rewritten");
    }
    assert_eq!(response.header("x-kept"), Some("yes"));
    assert!(response.headers.tokens("vary").contains(&"cookie".to_owned()), "Vary is added to, not replaced");
}

#[tokio::test]
async fn reframed_tag_survives_compression() {
    let origin = Origin::start(|request: &Request| {
        if request.headers.all("if-none-match") == ["\"z\""] {
            return Reply::new(304).header("ETag", "\"z\"");
        }
        Reply::html(Coding::Br.encode(PAGE.as_bytes())).header("Content-Encoding", "br").header("ETag", "\"z\"")
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    let ask = || Ask::get("/").header("Accept-Encoding", "br");
    let ours = tag_of(&desk.ask(Via::H1, ask()).await.headers);
    let again = desk.ask(Via::H1, ask().header("If-None-Match", &ours)).await;
    assert_eq!((again.status, tag_of(&again.headers)), (304, ours));
}

#[tokio::test]
async fn reframed_page_is_sent_whole_to_who_asks_for_the_rest_of_it() {
    const DATE: &str = "Sat, 01 Jan 2022 00:00:00 GMT";
    let page = crate::support::page::big(2_000);
    let served = page.clone();
    // As a plain server does: a range of whatever it has, if it has not changed.
    let origin = Origin::start(move |request: &Request| {
        let kind = if request.target == "/page" { "text/html" } else { "application/octet-stream" };
        let of_kind = |status| Reply::new(status).header("Content-Type", kind).header("Last-Modified", DATE);
        if request.headers.has("range") && request.header("if-range").is_none_or(|date| date == DATE) {
            assert_eq!(request.header("range"), Some("bytes=300-"));
            let range = format!("bytes 300-{}/{}", served.len() - 1, served.len());
            return of_kind(206).header("Content-Range", &range).body(&served[300..]);
        }
        of_kind(200).header("Accept-Ranges", "bytes").body(&served)
    })
    .await;
    let tls = Tls::new();
    let desk = Setup::before(&origin).tls(&tls).start().await;
    for path in ["/page", "/download"] {
        assert_eq!(desk.get(path).await.status, 200);
    }
    let rest = |path: &str| Ask::get(path).header("Range", "bytes=300-");
    for via in [Via::H1, Via::H2Tls] {
        for ask in [rest("/page"), rest("/page").header("If-Range", DATE)] {
            let response = desk.ask(via, ask.clone()).await;
            assert_eq!(response.status, 200, "offsets into the site's page are not offsets into ours: {ask:?}");
            assert_rewritten(&page, &response.page(), "instead of its rest");
        }
        for ask in [rest("/download"), rest("/download").header("If-Range", DATE), rest("/never-fetched-before")] {
            let response = desk.ask(via, ask.clone()).await;
            assert_eq!((response.status, response.text().as_str()), (206, &page[300..]), "{ask:?}");
        }
    }
}
