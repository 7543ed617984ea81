//! Promise: a site may answer an upload before its end. The rest never reaches the site, and no other client gets a
//! wrong answer (RFC 9112 §9.3, §9.6; RFC 9113 §8.1).

use crate::support::calls::{call, query};
use crate::support::frames_h2::{DATA, END, END_HEADERS, FramesH2, HEADERS, RST_STREAM, block, frame};
use crate::support::head_only_site::{HeadOnlySite, PythonSite};
use crate::support::{Ask, Conn, Desk, SOON, Setup, Via, eventually};
use serde_json::json;
use std::time::Duration;

/// What an attacker sends as the rest of its upload.
fn smuggled() -> String {
    let head = "GET /own HTTP/1.1\r\nHost: a\r\nX-Frontdesk-Verified: key\r\nX-Pad: ";
    format!("{head}{}\r\n\r\n", "x".repeat(120 - head.len() - 4))
}

/// The heads of uploads whose bodies stay away at first, and the body as it is framed then.
fn uploads() -> Vec<(String, Vec<u8>)> {
    let (late, host) = (smuggled(), "Host: site.test\r\nX-Asked-By: test\r\n");
    let length = late.len();
    let mut uploads = Vec::new();
    for method in ["POST", "PUT"] {
        for more in ["", "Expect: 100-continue\r\n", "Connection: Upgrade\r\nUpgrade: websocket\r\n"] {
            let head = format!("{method} /e HTTP/1.1\r\n{host}{more}Content-Length: {length}\r\n\r\n");
            uploads.push((head, late.clone().into_bytes()));
            let head = format!("{method} /e HTTP/1.1\r\n{host}{more}Transfer-Encoding: chunked\r\n\r\n");
            uploads.push((head, format!("{length:x}\r\n{late}\r\n0\r\n\r\n").into_bytes()));
        }
    }
    uploads
}

async fn before(url: &str) -> Desk {
    let quiet = "concierge = false\nllms_txt = \"off\"";
    Setup::before_urls(&[url.to_owned()]).reading(quiet).set("listen", "h2c = true").start().await
}

/// Other clients, one after another, each on a connection of its own. Uploads and requests with `Max-Forwards` go to the
/// site by the proxy library, and so over the same idle connections.
async fn bystanders_get_their_own(desk: &Desk, what: &str) {
    for n in 0..4 {
        let path = format!("/bystander-{n}");
        let response = desk.ask(Via::H1, Ask::get(&path).header("Max-Forwards", "9")).await;
        assert_eq!(response.text(), format!("this answers GET {path}{}", suffix(&response.text())), "{what}");
    }
}

/// The scripted site names the version too.
fn suffix(text: &str) -> &'static str {
    if text.ends_with(" HTTP/1.1") { " HTTP/1.1" } else { "" }
}

/// Waits for the answer, then sends the rest while others ask.
async fn upload_and_send_the_rest_late(desk: &Desk, head: &str, rest: &[u8]) {
    let mut conn = desk.conn().await;
    conn.send(head).await;
    let response = conn.response("POST").await;
    assert_eq!(response.status, 302, "{head}");
    assert_eq!(response.header("connection"), Some("close"), "nothing follows on this connection: {head}");
    conn.send(rest).await;
    bystanders_get_their_own(desk, head).await;
    let (more, _) = conn.until_closed(SOON).await;
    assert!(more.is_empty(), "{:?} after the answer to {head}", String::from_utf8_lossy(&more));
}

#[tokio::test]
async fn an_early_answer_ends_the_connection_to_the_site() {
    let redirect = |line: &str| {
        let asks = line.starts_with('P');
        asks.then(|| b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n".to_vec())
    };
    let site = HeadOnlySite::start(redirect).await;
    let desk = before(&format!("http://{}", site.addr)).await;
    for (head, rest) in uploads() {
        upload_and_send_the_rest_late(&desk, &head, &rest).await;
    }
    assert!(!site.lines().iter().any(|line| line.contains("/own")), "{:?}", site.lines());
}

#[tokio::test]
async fn an_early_answer_of_pythons_http_server_ends_the_connection_to_it() {
    let site = PythonSite::start().await;
    let desk = before(&format!("http://{}", site.addr)).await;
    for (head, rest) in uploads() {
        upload_and_send_the_rest_late(&desk, &head, &rest).await;
    }
    let asked = desk.get("/asked").await.text();
    assert!(asked.contains("/bystander-3") && !asked.contains("/own"), "{asked}");
}

/// However the answer says that it is over.
#[tokio::test]
async fn an_early_answer_is_over_in_every_framing() {
    let answers = [
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\n\r\n",
        "HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\n\r\nlarge",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 37\r\n\r\n<html><body><p>page</p></body></html>\n",
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n",
    ];
    for answer in answers {
        let site = HeadOnlySite::start(|line: &str| line.starts_with('P').then(|| answer.as_bytes().to_vec())).await;
        let desk = before(&format!("http://{}", site.addr)).await;
        let (head, rest) = uploads().swap_remove(0);
        let mut conn = desk.conn().await;
        conn.send(&head).await;
        let response = conn.response("POST").await;
        assert!(response.complete && answer.contains(&response.status.to_string()), "{answer}: {response:?}");
        conn.send(&rest).await;
        conn.until_closed(SOON).await;
        bystanders_get_their_own(&desk, answer).await;
        assert!(!site.lines().iter().any(|line| line.contains("/own")), "{answer}: {:?}", site.lines());
    }
}

fn h2_upload() -> Vec<u8> {
    block(&[
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":authority", b"site.test"),
        (b":path", b"/e"),
        (b"content-length", b"120"),
        (b"x-asked-by", b"test"),
    ])
}

fn redirects(line: &str) -> Option<Vec<u8>> {
    line.starts_with('P').then(|| b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n".to_vec())
}

#[tokio::test]
async fn an_early_answer_over_http2_resets_the_stream_without_an_error() {
    let site = HeadOnlySite::start(redirects).await;
    let desk = before(&format!("http://{}", site.addr)).await;
    let mut conn = FramesH2::open(desk.ports.http).await;
    for (stream, end) in [(1, 0), (3, END), (5, 0), (7, END)] {
        conn.send(frame(HEADERS, END_HEADERS, stream, h2_upload())).await;
        let answer = conn.next_of(HEADERS).await.expect("an answer");
        assert_eq!((answer.stream, answer.flags & END), (stream, END), "it is whole");
        conn.send(frame(DATA, end, stream, smuggled())).await;
        if end == 0 {
            let reset = conn.next_of(RST_STREAM).await.expect("a reset");
            assert_eq!((reset.stream, &reset.payload[..]), (stream, &[0, 0, 0, 0][..]), "NO_ERROR");
        }
        bystanders_get_their_own(&desk, "over HTTP/2").await;
    }
    assert!(!site.lines().iter().any(|line| line.contains("/own")), "{:?}", site.lines());
}

/// It holds neither a connection to the site nor its place in the access log.
#[tokio::test]
async fn an_early_answer_over_http2_does_not_wait_for_a_silent_client() {
    let site = HeadOnlySite::start(redirects).await;
    let desk = before(&format!("http://{}", site.addr)).await;
    let mut conn = FramesH2::open(desk.ports.http).await;
    conn.send(frame(HEADERS, END_HEADERS, 1, h2_upload())).await;
    let reset = conn.next_of(RST_STREAM).await.expect("a reset");
    assert_eq!(reset.payload, [0, 0, 0, 0], "NO_ERROR");
    eventually("no connection to the site is left", SOON, async || site.open() == 0).await;
    let line = |desk: &Desk| desk.access_log().into_iter().find(|line| line["url.path"] == "/e");
    eventually("an access line", SOON, async || line(&desk).is_some()).await;
    let line = line(&desk).expect("a line");
    assert_eq!(line["http.response.status_code"], 302, "{line}");
}

/// A client that reads only once it has sent everything gets the answer too, over a connection that is not reset.
#[tokio::test]
async fn an_early_answer_reaches_a_client_that_sends_everything_first() {
    let refuses = |line: &str| {
        let upload = line.starts_with('P');
        upload.then(|| b"HTTP/1.1 413 Too Large\r\nContent-Length: 9\r\n\r\ntoo large".to_vec())
    };
    let site = HeadOnlySite::start(refuses).await;
    let desk = before(&format!("http://{}", site.addr)).await;
    let upload = vec![b'x'; 12 << 20];
    let mut conn = Conn::open(desk.ports.http).await;
    conn.send(Ask::post("/e", &upload).bytes()).await;
    let response = conn.response("POST").await;
    assert_eq!((response.status, response.text().as_str()), (413, "too large"));
}

/// A client over HTTP/2 is told to stop after the answer, and stops long before its upload is over.
#[tokio::test]
async fn an_early_answer_stops_large_uploads_over_http2() {
    let site = HeadOnlySite::start(redirects).await;
    let desk = before(&format!("http://{}", site.addr)).await;
    let mut conn = desk.h2(Via::H2c).await;
    for n in 0..5 {
        let ask = Ask::new("PUT", &format!("/e{n}")).body(vec![b'x'; 100 << 20]);
        let response = tokio::time::timeout(Duration::from_secs(5), conn.ask(&ask)).await;
        assert_eq!(response.expect("an answer, not an upload to its end").status, 302);
    }
    eventually("no connection to the site is left", SOON, async || site.open() <= 1).await;
}

/// An upload that the site has read keeps both connections.
#[tokio::test]
async fn an_answer_to_a_whole_upload_keeps_the_connection() {
    let origin = crate::support::Origin::start(|_: &crate::support::Request| crate::support::Reply::json("{}")).await;
    let desk = Setup::before(&origin).reading("concierge = false\nllms_txt = \"off\"").start().await;
    let mut conn = desk.conn().await;
    let before = origin.settled().await;
    for _ in 0..100 {
        let response = conn.ask(&Ask::post("/e", vec![b'x'; 20_000])).await;
        assert_eq!((response.status, response.header("connection")), (200, Some("keep-alive")));
    }
    let opened = origin.connections() - before;
    assert!(opened < 10, "{opened} connections to the site for 100 uploads on one connection");
}

/// A body that arrived in time may be unread too: what the answer does not show is not relied on.
#[tokio::test]
async fn a_connection_is_kept_only_after_an_answer_that_shows_the_body_was_read() {
    let statuses = [(200, true), (201, true), (302, false), (401, false), (404, false), (500, false)];
    for (method, path, kept) in statuses
        .map(|(status, kept)| ("POST", format!("/{status}"), kept))
        .into_iter()
        .chain([("DELETE", "/200".to_owned(), false), ("GET", "/200".to_owned(), false)])
    {
        let answer = |line: &str| {
            let status = line.split(['/', ' ']).nth(2)?.parse::<u16>().ok()?;
            Some(format!("HTTP/1.1 {status} Answer\r\nContent-Length: 2\r\n\r\nok").into_bytes())
        };
        let site = HeadOnlySite::start(answer).await;
        let desk = before(&format!("http://{}", site.addr)).await;
        let asked = desk.ask(Via::H1, Ask::new(method, &path).body("GET /own HTTP/1.1\r\nHost: a")).await;
        assert_eq!(asked.text(), "ok");
        let line = format!("{method} {path} ");
        if kept {
            tokio::time::sleep(Duration::from_millis(300)).await;
            assert!(site.keeps_connection_of(&line), "{line}: the connection is gone");
        } else {
            eventually("the connection is closed", SOON, async || !site.keeps_connection_of(&line)).await;
        }
    }
}

/// A site may answer 200 without having read the body, and nothing shows it. What it takes for the next request is the
/// client's own affair then.
#[tokio::test]
async fn a_connection_that_carried_a_body_serves_no_other_client() {
    let site = HeadOnlySite::start(|_| None).await;
    let desk = before(&format!("http://{}", site.addr)).await;
    let asked = desk.ask(Via::H1, Ask::post("/e", "half a request")).await;
    assert_eq!(asked.text(), "this answers POST /e HTTP/1.1");
    let others = [
        (Via::H1, Ask::post("/other", "")),
        (Via::H1, Ask::post("/another", "x")),
        (Via::H1, Ask::get("/plain").header("Max-Forwards", "9")),
        (Via::H2c, Ask::post("/over-http2", "x")),
    ];
    for (via, ask) in others {
        let line = format!("{} ", String::from_utf8_lossy(&ask.bytes()).lines().next().unwrap_or_default());
        let line = line.split(" HTTP").next().unwrap_or_default().to_owned();
        let answer = desk.ask(via, ask).await;
        assert_eq!(answer.text(), format!("this answers {line} HTTP/1.1"));
        assert_ne!(site.connection_of(&line), site.connection_of("POST /e"), "{line}");
    }
}

/// A call of a capability sends a body too, and shares the idle connections with visitors.
#[tokio::test]
async fn a_call_leaves_no_body_for_the_next_request() {
    let refuses = |line: &str| {
        line.starts_with("POST").then(|| b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n".to_vec())
    };
    for fast_path in [true, false] {
        let site = HeadOnlySite::start(refuses).await;
        let upstream = "\nupstream = { method = \"POST\", path = \"/api/ask\" }";
        let desk = Setup::before_urls(&[format!("http://{}", site.addr)])
            .set("runtime", &format!("fast_path = {fast_path}"))
            .tail(&query("ask", upstream))
            .start()
            .await;
        for _ in 0..4 {
            let answer = desk.ask(Via::H1, call("/agent/ask", &json!({ "a": "hello" }))).await;
            assert_ne!(answer.status, 200, "{}", answer.text());
            let visitor = desk.ask(Via::H1, Ask::get("/visitor")).await;
            assert_eq!(visitor.text(), "this answers GET /visitor HTTP/1.1", "fast_path = {fast_path}");
        }
        assert!(site.lines().iter().any(|line| line.starts_with("POST /api/ask")), "{:?}", site.lines());
    }
}
