//! Promise: an ambiguous request is refused with a clear error, and disturbs no other client.

use crate::support::page::PAGE;
use crate::support::{Ask, Desk, Origin, Reply, Request, SOON, Setup, Tls, Via, eventually, soon};

async fn desk() -> (Origin, Desk) {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before(&origin).start().await;
    (origin, desk)
}

const MARKED: &str = "Host: site.test\r\nX-Asked-By: test\r\n";

async fn refused_with(status: u16, requests: &[String]) {
    let (origin, desk) = desk().await;
    for request in requests {
        let mut conn = desk.conn().await;
        conn.send(request).await;
        let response = conn.response("GET").await;
        assert_eq!(response.status, status, "{request:?}: {}", response.text());
        conn.until_closed(SOON).await;
    }
    let seen: Vec<String> = origin.asked().iter().map(|r| String::from_utf8_lossy(&r.raw_head).into_owned()).collect();
    assert!(seen.is_empty(), "the site saw {seen:#?}");
    assert!(desk.metric("frontdesk_rejections_total").await.is_some_and(|n| n >= requests.len() as f64), "all counted");
    assert_eq!(desk.get("/").await.status, 200, "and others are served");
}

#[tokio::test]
async fn refused_is_content_length_with_transfer_encoding() {
    let te = "Transfer-Encoding: chunked\r\n";
    refused_with(
        400,
        &[
            format!("POST / HTTP/1.1\r\n{MARKED}Content-Length: 5\r\n{te}\r\n0\r\n\r\n"),
            format!("POST / HTTP/1.1\r\n{MARKED}{te}Content-Length: 5\r\n\r\n0\r\n\r\n"),
            format!("POST / HTTP/1.1\r\n{MARKED}{te}content-length:0\r\n\r\n0\r\n\r\n"),
        ],
    )
    .await;
}

#[tokio::test]
async fn refused_are_conflicting_lengths() {
    refused_with(
        400,
        &[
            format!("POST / HTTP/1.1\r\n{MARKED}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"),
            format!("POST / HTTP/1.1\r\n{MARKED}Content-Length: 5, 6\r\n\r\nhello!"),
            format!("POST / HTTP/1.1\r\n{MARKED}Content-Length: +5\r\n\r\nhello"),
            format!("POST / HTTP/1.1\r\n{MARKED}Content-Length: -1\r\n\r\n"),
            format!("POST / HTTP/1.1\r\n{MARKED}Content-Length: 5x\r\n\r\nhello"),
        ],
    )
    .await;
}

#[tokio::test]
async fn refused_is_a_target_that_is_no_path() {
    // The library sends on what it cannot read as it came, and a site may read one of our paths in it.
    let targets = ["x:/agent/converse", "agent/converse", "./agent/converse", "a@b/agent/converse", "*/agent/converse"];
    let requests = targets.map(|target| format!("POST {target} HTTP/1.1\r\n{MARKED}Content-Length: 0\r\n\r\n"));
    refused_with(400, &requests).await;
}

#[tokio::test]
async fn refused_is_a_bad_host() {
    let mark = "X-Asked-By: test\r\n";
    refused_with(
        400,
        &[
            format!("GET / HTTP/1.1\r\n{mark}Host: a.test\r\nHost: b.test\r\n\r\n"),
            format!("GET / HTTP/1.1\r\n{mark}\r\n"),
            format!("GET / HTTP/1.1\r\n{mark}Host: a/b\r\n\r\n"),
            format!("GET / HTTP/1.1\r\n{mark}Host: a b\r\n\r\n"),
            format!("GET / HTTP/1.1\r\n{mark}Host: user@site.test\r\n\r\n"),
            format!("GET / HTTP/1.1\r\n{mark}Host: site.test:port\r\n\r\n"),
        ],
    )
    .await;
}

#[tokio::test]
async fn refused_is_an_unknown_transfer_coding() {
    let (origin, desk) = desk().await;
    for coding in ["gzip", "chunked, gzip", "xchunked", "chunked, chunked"] {
        let request = format!("POST / HTTP/1.1\r\n{MARKED}Transfer-Encoding: {coding}\r\n\r\n0\r\n\r\n");
        let response = desk.raw(request).await;
        assert!([400, 501].contains(&response.status), "{coding}: {}", response.status);
    }
    assert!(origin.asked().is_empty());
}

#[tokio::test]
async fn refused_is_a_head_beyond_max_header() {
    let (origin, desk) = desk().await;
    for size in [33_000, 100_000] {
        let response = desk.raw(format!("GET / HTTP/1.1\r\n{MARKED}X-Long: {}\r\n\r\n", "x".repeat(size))).await;
        assert_eq!(response.status, 431, "{size} bytes");
    }
    let many: String = (0..200).map(|n| format!("X-{n}: {}\r\n", "y".repeat(200))).collect();
    assert_eq!(desk.raw(format!("GET / HTTP/1.1\r\n{MARKED}{many}\r\n")).await.status, 431, "the sum counts");
    assert!(origin.asked().is_empty());
    let fits = desk.raw(format!("GET / HTTP/1.1\r\n{MARKED}X-Long: {}\r\n\r\n", "x".repeat(30_000))).await;
    assert_eq!(fits.status, 200, "below the bound all is well");
}

#[tokio::test]
async fn refused_is_a_head_beyond_a_configured_bound_over_http2_too() {
    let tls = Tls::new();
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before(&origin).tls(&tls).set("protection", "max_header = \"4KB\"").start().await;
    let long = Ask::get("/").header("X-Long", &"x".repeat(5_000));
    assert_eq!(desk.ask(Via::H1, long.clone()).await.status, 431);
    if let Ok(answer) = desk.h2(Via::H2Tls).await.try_begin(&long).await {
        assert_eq!(answer.response.status, 431);
    }
    assert!(origin.asked().is_empty());
}

#[tokio::test]
async fn refused_is_garbage_and_it_is_counted() {
    let (_origin, desk) = desk().await;
    let garbage: [&[u8]; 5] = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\xff\xfe\r\n\r\n",
        b"\x00\x00\x00\x00\x00\x00\r\n\r\n",
        b"hello\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon here\r\n\r\n",
    ];
    for bytes in garbage {
        let mut conn = desk.conn().await;
        conn.send(bytes).await;
        let (said, _) = conn.until_closed(SOON).await;
        assert!(said.is_empty() || said.starts_with(b"HTTP/1.1 4") || said.starts_with(b"HTTP/1.1 505"), "{said:?}");
    }
    desk.metric_reaches("frontdesk_rejections_total{reason=\"malformed\"}", 3.0).await;
    assert_eq!(desk.get("/").await.status, 200);
}

#[tokio::test]
async fn refused_heads_that_nobody_can_read_are_in_the_access_log() {
    let (_origin, desk) = desk().await;
    let mut conn = desk.conn().await;
    conn.send("GET / HTTP/1.1\r\nno colon here\r\n\r\n").await;
    let (said, _) = conn.until_closed(SOON).await;
    let status: u16 = String::from_utf8_lossy(&said[9..12]).parse().expect("a status");
    let mut conn = desk.conn().await;
    conn.send("CONNECT site.test:443 HTTP/1.1\r\nHost: site.test:443\r\n\r\n").await;
    conn.until_closed(SOON).await;
    let lines = || desk.access_log().into_iter().filter(|line| line["error.type"] == "malformed").collect::<Vec<_>>();
    eventually("a line each", SOON, async || lines().len() == 2).await;
    // A line may come after the end of its connection, and so after the other's.
    let line = lines().into_iter().find(|line| line["http.response.status_code"] == status).expect("the first one's");
    assert_eq!(line["client.address"], "127.0.0.1");
    assert!(line["http.request.method"].is_null() && line["url.path"].is_null(), "unknown: {line}");
}

/// Who refuses is this site, and not the library that it is made with.
#[tokio::test]
async fn refused_in_nobodys_name() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let tls = Tls::new();
    let desk = Setup::before(&origin).set("listen", "h2c = true").tls(&tls).start().await;
    for head in [
        "GET / HTTP/1.1\r\nno colon here\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX\0: y\r\n\r\n",
        "CONNECT site.test:443 HTTP/1.1\r\nHost: site.test:443\r\n\r\n",
    ] {
        for mut conn in [desk.conn().await, crate::support::Conn::open_tls(desk.ports.https, &tls).await] {
            conn.send(head).await;
            let (said, _) = conn.until_closed(SOON).await;
            let said = String::from_utf8_lossy(&said).into_owned();
            assert!(said.starts_with("HTTP/1.1 4") && said.ends_with("\r\n\r\n"), "{head:?}: {said:?}");
            assert!(!said.to_lowercase().contains("pingora") && !said.contains("Server"), "{head:?}: {said:?}");
            assert!(said.contains("\r\nContent-Length: 0\r\n"), "{head:?}: {said:?}");
        }
    }
    let socket = tokio::net::TcpStream::connect(desk.ports.http).await.expect("a connection");
    let (mut sender, connection) = h2::client::handshake(socket).await.expect("HTTP/2");
    tokio::spawn(async move {
        let _ = connection.await;
    });
    let connect = http::Request::builder().method("CONNECT").uri("site.test:80").body(()).expect("a request");
    let (answer, _) = sender.send_request(connect, true).expect("sent");
    let answer = soon("an answer", answer).await.expect("an answer");
    assert_eq!((answer.status().as_u16(), answer.headers().get("server")), (405, None), "{:?}", answer.headers());
    assert!(origin.requests().iter().all(|r| r.method != "CONNECT"));
}

#[tokio::test]
async fn refused_is_connect() {
    let (origin, desk) = desk().await;
    let mut conn = desk.conn().await;
    conn.send("CONNECT site.test:443 HTTP/1.1\r\nHost: site.test:443\r\n\r\n").await;
    let (said, _) = conn.until_closed(SOON).await;
    assert!(said.is_empty() || said.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&said));
    assert!(origin.requests().iter().all(|r| r.method != "CONNECT"));
}

#[tokio::test]
async fn refused_are_more_than_256_fields() {
    let (origin, desk) = desk().await;
    let many: String = (0..300).map(|n| format!("X-{n}: y\r\n")).collect();
    let mut conn = desk.conn().await;
    conn.send(format!("GET / HTTP/1.1\r\n{MARKED}{many}\r\n")).await;
    let (said, _) = conn.until_closed(SOON).await;
    assert!(said.is_empty() || said.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&said));
    assert!(origin.asked().is_empty());
}

#[tokio::test]
async fn refused_request_smuggles_nothing_behind_it() {
    let (origin, desk) = desk().await;
    let mut conn = desk.conn().await;
    let hidden = "GET /hidden HTTP/1.1\r\nHost: s\r\nX-Asked-By: test\r\n\r\n";
    conn.send(format!(
        "POST / HTTP/1.1\r\n{MARKED}Content-Length: {}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}",
        hidden.len() + 5
    ))
    .await;
    assert_eq!(conn.response("POST").await.status, 400);
    conn.until_closed(SOON).await;
    assert!(origin.asked().is_empty());
}

#[tokio::test]
async fn refused_are_lengths_said_twice() {
    refused_with(
        400,
        &[
            format!("POST / HTTP/1.1\r\n{MARKED}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"),
            format!("POST / HTTP/1.1\r\n{MARKED}Content-Length: 5\r\nX: y\r\ncontent-length:5\r\n\r\nhello"),
            format!("POST / HTTP/1.1\r\n{MARKED}Content-Length: 5, 5\r\n\r\nhello"),
            format!("POST / HTTP/1.1\r\n{MARKED}Content-Length: 5,5\r\n\r\nhello"),
            format!("GET / HTTP/1.1\r\n{MARKED}Content-Length: 0\r\nContent-Length: 0\r\n\r\n"),
        ],
    )
    .await;
}
