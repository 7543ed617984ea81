//! Promise: a site that is down, slow or broken gives distinct errors, in JSON for machines and in HTML for browsers.

use crate::support::page::PAGE;
use crate::support::setup::dead_address;
use crate::support::{Ask, Desk, Origin, Reply, Request, Response, SOON, Setup, Step, Tls, Via, eventually};
use std::time::{Duration, Instant};

fn assert_problem(response: &Response, status: u16, what: &str) {
    assert_eq!(response.status, status, "{what}: {}", response.text());
    assert_eq!(response.media_type(), "application/problem+json", "{what}");
    let problem = response.json();
    assert_eq!(problem["status"], status, "{what}: {problem}");
    assert!(problem["title"].is_string(), "{what}: {problem}");
    assert!(
        response.headers.tokens("cache-control").contains(&"no-store".to_owned()),
        "{what}: {:?}",
        response.headers
    );
    assert!(response.complete, "{what}");
}

#[tokio::test]
async fn errors_a_site_that_is_down_is_502() {
    let dead = format!("http://{}", dead_address());
    let desk = Setup::before_urls(&[dead]).start().await;
    assert_problem(&desk.get("/").await, 502, "nobody listens");
}

#[tokio::test]
async fn errors_tell_nothing_about_the_inside() {
    let dead = dead_address();
    let desk = Setup::before_urls(&[format!("http://{dead}")]).start().await;
    let text = desk.get("/").await.text();
    for inside in [&dead.to_string(), "pingora", "Pingora", "os error"] {
        assert!(!text.contains(inside), "{inside} in {text}");
    }
}

#[tokio::test]
async fn errors_a_site_that_never_answers_is_504() {
    let origin = Origin::start(|_: &Request| vec![Step::Stall]).await;
    let desk = Setup::before(&origin).set("upstream", "read_timeout = \"1s\"").start().await;
    let begun = Instant::now();
    assert_problem(&desk.get("/").await, 504, "no answer");
    assert!(begun.elapsed() >= Duration::from_millis(900), "not before the read timeout");
}

#[tokio::test]
async fn errors_a_site_that_talks_garbage_is_502() {
    for garbage in
        [&b"\x16\x03\x01\x02\x00 not http at all\r\n\r\n"[..], b"HTTP/1.1 abc\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\n"]
    {
        let origin = Origin::start(move |_: &Request| vec![Step::Write(garbage.to_vec()), Step::Close]).await;
        let desk = Setup::before(&origin).start().await;
        assert_problem(&desk.get("/").await, 502, &format!("{:?}", String::from_utf8_lossy(garbage)));
    }
}

#[tokio::test]
async fn errors_speak_html_to_who_prefers_it() {
    let dead = format!("http://{}", dead_address());
    let desk = Setup::before_urls(&[dead]).start().await;
    for (accept, html) in [
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true),
        ("text/html", true),
        ("*/*", false),
        ("application/json", false),
        ("application/json, text/html;q=0.5", false),
    ] {
        let response = desk.ask(Via::H1, Ask::get("/").accept(accept)).await;
        assert_eq!(response.status, 502);
        if html {
            assert_eq!(response.media_type(), "text/html", "{accept}");
        } else {
            assert_problem(&response, 502, accept);
        }
    }
}

#[tokio::test]
async fn errors_to_head_have_no_body() {
    let dead = format!("http://{}", dead_address());
    let tls = Tls::new();
    let desk = Setup::before_urls(&[dead]).tls(&tls).start().await;
    for _ in 0..2 {
        let response = desk.ask(Via::H1, Ask::head("/")).await;
        assert_eq!((response.status, response.body.len()), (502, 0));
    }
    let h2 = desk.ask(Via::H2Tls, Ask::head("/")).await;
    assert_eq!((h2.status, h2.body.len()), (502, 0));
}

#[tokio::test]
async fn errors_do_not_end_what_comes_after() {
    let origin = Origin::start(|r: &Request| {
        let broken = vec![Step::Write(b"nonsense\r\n\r\n".to_vec()), Step::Close];
        if r.target == "/bad" { broken.into() } else { crate::support::Answer::from(Reply::html(PAGE)) }
    })
    .await;
    let tls = Tls::new();
    let desk = Setup::before(&origin).tls(&tls).start().await;
    let mut h2 = desk.h2(Via::H2Tls).await;
    for _ in 0..3 {
        assert_eq!(desk.get("/bad").await.status, 502);
        assert_eq!(desk.get("/").await.status, 200);
        assert_eq!(h2.ask(&Ask::get("/bad")).await.status, 502);
        assert_eq!(h2.ask(&Ask::get("/")).await.status, 200);
    }
}

#[tokio::test]
async fn errors_a_certificate_that_is_not_trusted_is_502() {
    let tls = Tls::new();
    let origin = Origin::start_tls(&tls, |_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before(&origin).start().await;
    assert_problem(&desk.get("/").await, 502, "an unknown issuer");
}

const PATIENCE: &str = "read_timeout = \"1s\"";
/// The read timeout and more than enough for a busy machine.
const GIVEN_UP: Duration = Duration::from_secs(8);

#[tokio::test]
async fn errors_a_site_that_never_begins_an_event_stream_is_given_up() {
    let origin = Origin::start(|_: &Request| vec![Step::Stall]).await;
    let tls = Tls::new();
    let desk = Setup::before(&origin).set("upstream", PATIENCE).tls(&tls).start().await;
    let ask = Ask::get("/events").accept("text/event-stream");
    let mut conn = desk.conn().await;
    conn.send(ask.bytes()).await;
    conn.until_closed(GIVEN_UP).await;
    let mut h2 = desk.h2(Via::H2Tls).await;
    let answer = crate::support::within(GIVEN_UP, "the end of the stream", h2.try_begin(&ask)).await;
    if let Ok(incoming) = answer {
        assert_eq!(incoming.response.status, 504);
    }
    assert_eq!(origin.asked().len(), 2, "asked once each");
    assert_given_up(&desk, "/events", 2).await;
}

/// Each of them has its line in the access log, and is counted.
async fn assert_given_up(desk: &Desk, path: &str, count: usize) {
    let lines = || {
        let all = desk.access_log().into_iter();
        all.filter(|line| line["url.path"] == path && line["error.type"] == "upstream_timeout").collect::<Vec<_>>()
    };
    eventually("an access line each", SOON, async || lines().len() == count).await;
    assert!(lines().iter().all(|line| line["upstream.address"].is_string()), "{:?}", lines());
    let counted = "frontdesk_upstream_errors_total{reason=\"upstream_timeout\"}";
    assert_eq!(desk.metric(counted).await, Some(count as f64));
}

#[tokio::test]
async fn errors_a_site_that_never_answers_an_upgrade_is_given_up() {
    let origin = Origin::start(|_: &Request| vec![Step::Stall]).await;
    let desk = Setup::before(&origin).set("upstream", PATIENCE).start().await;
    let mut conn = desk.conn().await;
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";
    conn.send(format!("GET / HTTP/1.1\r\nHost: s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n{key}\r\n")).await;
    conn.until_closed(GIVEN_UP).await;
    assert_given_up(&desk, "/", 1).await;
}

#[tokio::test]
async fn errors_an_event_stream_that_its_client_closes_has_an_access_line() {
    let origin = Origin::start(|r: &Request| match r.target.as_str() {
        "/begun" => {
            let head = Reply::new(200).header("Content-Type", "text/event-stream").body("data: 0\n\n").chunked().head();
            vec![Step::Write([head, b"9\r\ndata: 0\n\n\r\n".to_vec()].concat()), Step::Stall]
        }
        _ => vec![Step::Stall],
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    for path in ["/begun", "/never"] {
        let mut conn = desk.conn().await;
        conn.send(Ask::get(path).accept("text/event-stream").bytes()).await;
        eventually("the site is asked", SOON, async || origin.asked().iter().any(|asked| asked.target == path)).await;
        drop(conn);
        let line = || desk.access_log().into_iter().filter(|line| line["url.path"] == path).count();
        eventually(path, SOON, async || line() == 1).await;
    }
}

#[tokio::test]
async fn errors_a_post_that_would_take_events_as_well_is_504() {
    let origin = Origin::start(|_: &Request| vec![Step::Stall]).await;
    let desk = Setup::before(&origin).set("upstream", PATIENCE).start().await;
    let ask = Ask::post("/mcp-like", "{}").accept("application/json, text/event-stream");
    assert_problem(&desk.ask(Via::H1, ask).await, 504, "an answer was waited for, not a stream");
}
