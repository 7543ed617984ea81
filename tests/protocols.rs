//! Promise: other uses of HTTP keep working: WebSocket, Expect, trailers, HTTP/1.0, unusual methods, keep-alive, both
//! versions on both sides.

mod pipelines;
mod upgrades;

use crate::support::page::{PAGE, assert_rewritten};
use crate::support::{Ask, Framing, Origin, Reply, Request, SOON, Setup, Step, Tls, Via, soon};
use std::time::Duration;

#[tokio::test]
async fn protocols_expect_continue_lets_the_body_follow() {
    let origin = Origin::start(|r: &Request| Reply::json(r.body.len().to_string())).await;
    let desk = Setup::before(&origin).start().await;
    let mut conn = desk.conn().await;
    for _ in 0..2 {
        conn.send("POST /up HTTP/1.1\r\nHost: s\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n").await;
        conn.until("HTTP/1.1 100 ").await;
        conn.until("\r\n\r\n").await;
        conn.send("hello").await;
        let response = conn.response("POST").await;
        assert_eq!((response.status, response.text().as_str()), (200, "5"));
    }
}

/// HTTP/2 can say blanks around a value, though it must not; HTTP/1 has no way to.
#[tokio::test]
async fn protocols_blanks_around_values_are_taken_away() {
    let padded = |_: &Request| Reply::json("{}").header("X-Padded", " \tb c ").header("X-Plain", "d");
    let (h1, h2) = (Origin::start(|_: &Request| Reply::json("{}")).await, Origin::start_h2(padded).await);
    for origin in [&h1, &h2] {
        let desk = Setup::before(origin).set("listen", "h2c = true").start().await;
        for method in ["GET", "POST"] {
            let ask = Ask::new(method, "/").header("X-Padded", " \tb c ").header("X-Two", "e ").header("X-Two", "f");
            let answer = desk.ask(Via::H2c, ask).await;
            assert_eq!(answer.status, 200);
            let asked = origin.last().headers;
            assert_eq!((asked.get("x-padded"), asked.all("x-two")), (Some("b c"), vec!["e", "f"]), "{method}");
            let raw = String::from_utf8_lossy(&origin.last().raw_head).to_lowercase();
            assert!(raw.is_empty() || raw.contains("x-padded: b c\r\n") && raw.contains("x-two: e\r\n"), "{raw}");
            if origin.speaks == crate::support::origin::Speaks::H2 {
                let told = (answer.header("x-padded"), answer.header("x-plain"));
                assert_eq!(told, (Some("b c"), Some("d")), "{method}");
            }
        }
    }
}

#[tokio::test]
async fn protocols_trailers_go_from_http2_to_http2() {
    let origin = Origin::start_h2(|r: &Request| {
        let got = r.trailers.get("x-sum").unwrap_or("none").to_owned();
        let kind = if r.target == "/page" { "text/html" } else { "application/grpc" };
        let body = if r.target == "/page" { PAGE } else { "data" };
        Reply::new(200).header("Content-Type", kind).body(body).trailer("grpc-status", "0").trailer("x-got", &got)
    })
    .await;
    let tls = Tls::new();
    let desk = Setup::before(&origin).tls(&tls).start().await;
    let mut h2 = desk.h2(Via::H2Tls).await;
    for path in ["/grpc", "/page"] {
        let ask = Ask::post(path, "request").header("TE", "trailers").trailer("x-sum", "42");
        let response = h2.ask(&ask).await;
        assert_eq!(response.trailers.get("grpc-status"), Some("0"), "{path}");
        // Those of the request are dropped by the library, whatever the version.
        assert_eq!(response.trailers.get("x-got"), Some("none"), "{path}");
        assert!(response.complete);
    }
    let page = h2.ask(&Ask::get("/page")).await;
    assert_rewritten(PAGE, &page.page(), "with trailers");
    let h1 = desk.get("/page").await;
    assert!(h1.complete);
    assert_rewritten(PAGE, &h1.page(), "an HTTP/1.1 client of the same");
}

#[tokio::test]
async fn protocols_trailers_of_an_http1_site_do_no_harm() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE).pieces_of(70).trailer("X-Sum", "1")).await;
    let tls = Tls::new();
    let desk = Setup::before(&origin).tls(&tls).start().await;
    let mut conn = desk.conn().await;
    for _ in 0..3 {
        let response = conn.ask(&Ask::get("/")).await;
        assert!(response.complete);
        assert_rewritten(PAGE, &response.page(), "chunked with trailers");
    }
    assert_rewritten(PAGE, &desk.ask(Via::H2Tls, Ask::get("/")).await.page(), "over HTTP/2");
}

#[tokio::test]
async fn protocols_h2c_when_it_is_switched_on_beside_http1() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before(&origin).set("listen", "h2c = true").start().await;
    assert_rewritten(PAGE, &desk.ask(Via::H2c, Ask::get("/")).await.page(), "prior knowledge");
    assert_rewritten(PAGE, &desk.get("/").await.page(), "HTTP/1.1 on the same port");
    let mut short = desk.conn().await;
    short.send("GET / HTTP/1.0\r\n\r\n").await;
    assert_eq!(short.response("GET").await.status, 200, "a request shorter than the HTTP/2 preface");
}

#[tokio::test]
async fn protocols_https_by_alpn_and_without_it() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let tls = Tls::new();
    let desk = Setup::before(&origin).tls(&tls).start().await;
    for (offered, chosen) in
        [(&["h2", "http/1.1"][..], Some("h2")), (&["http/1.1"][..], Some("http/1.1")), (&[][..], None)]
    {
        let stream = tls.connect(desk.ports.https, offered).await.expect("TLS");
        let alpn = stream.get_ref().1.alpn_protocol().map(|p| String::from_utf8_lossy(p).into_owned());
        assert_eq!(alpn.as_deref(), chosen, "offered {offered:?}");
    }
    assert_rewritten(PAGE, &desk.ask(Via::H1Tls, Ask::get("/")).await.page(), "HTTP/1.1 over TLS");
}

#[tokio::test]
async fn protocols_a_tls_site_in_both_versions() {
    let theirs = Tls::new();
    let origin = Origin::start_tls(&theirs, |r: &Request| Reply::html(PAGE).header("X-Version", &r.version)).await;
    for (http2, version) in [("auto", "HTTP/2.0"), ("off", "HTTP/1.1")] {
        let setup = Setup::before(&origin).trusting(&theirs).set("upstream", &format!("http2 = \"{http2}\""));
        let desk = setup.start().await;
        let response = desk.get("/").await;
        assert_eq!(response.header("x-version"), Some(version), "http2 = {http2}");
        assert_rewritten(PAGE, &response.page(), http2);
    }
}

#[tokio::test]
async fn protocols_odd_methods_pass() {
    let origin = Origin::start(|r: &Request| Reply::new(200).header("X-Method", &r.method).body("ok")).await;
    let tls = Tls::new();
    let desk = Setup::before(&origin).tls(&tls).start().await;
    for method in ["PROPFIND", "REPORT", "PURGE", "BOOK", "M-SEARCH", "BASELINE-CONTROL"] {
        for via in [Via::H1, Via::H2Tls] {
            let response = desk.ask(via, Ask::new(method, "/x")).await;
            assert_eq!(response.header("x-method"), Some(method), "{via:?}");
        }
    }
}

#[tokio::test]
async fn protocols_an_http_1_0_client_is_never_answered_in_chunks() {
    let origin = Origin::start(|r: &Request| match r.target.as_str() {
        "/stream" => Reply::new(200).header("Content-Type", "text/plain").body("streamed").pieces_of(3).chunked(),
        _ => Reply::json("{\"known\":\"length\"}"),
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    for (path, text) in [("/stream", "streamed"), ("/plain", "{\"known\":\"length\"}")] {
        let mut conn = desk.conn().await;
        conn.send(format!("GET {path} HTTP/1.0\r\n\r\n")).await;
        let response = conn.response("GET").await;
        assert!(!response.headers.has("transfer-encoding"), "{path}");
        assert!(matches!(response.framing, Framing::Close | Framing::Length(_)));
        assert!(response.version.starts_with("HTTP/1."), "{}", response.version);
        assert_eq!(response.text(), text);
    }
    let mut conn = desk.conn().await;
    conn.send("GET /.well-known/agent.json HTTP/1.0\r\n\r\n").await;
    let response = conn.response("GET").await;
    assert!(!response.headers.has("transfer-encoding") && response.json()["ahp"].is_string());
}

#[tokio::test]
async fn protocols_interim_answers_of_the_site_do_not_confuse() {
    let origin = Origin::start(|_: &Request| {
        let hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n".to_vec();
        let reply = Reply::html(PAGE);
        vec![
            Step::Write(hints),
            Step::Pause(Duration::from_millis(20)),
            Step::Write([reply.head(), PAGE.as_bytes().to_vec()].concat()),
            Step::KeepAlive,
        ]
    })
    .await;
    let tls = Tls::new();
    let desk = Setup::before(&origin).tls(&tls).start().await;
    let mut conn = desk.conn().await;
    for _ in 0..2 {
        let response = conn.ask(&Ask::get("/")).await;
        assert_eq!(response.status, 200);
        assert_rewritten(PAGE, &response.page(), "after a 103");
        assert!(response.informational.iter().all(|(status, _)| *status == 103));
    }
    assert_rewritten(PAGE, &desk.ask(Via::H2Tls, Ask::get("/")).await.page(), "after a 103, over HTTP/2");
}

#[tokio::test]
async fn protocols_a_site_that_fails_after_an_interim_answer_is_told() {
    let origin = Origin::start(|_: &Request| {
        vec![Step::Write(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n".to_vec()), Step::Close]
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    // The short way, and the library's.
    for ask in [Ask::get("/"), Ask::post("/", "x")] {
        let mut conn = desk.conn().await;
        let response = conn.ask(&ask).await;
        assert_eq!(response.status, 502, "{}", response.text());
    }
}

#[tokio::test]
async fn protocols_what_an_older_site_sends_in_chunks_is_told_as_what_we_are() {
    let origin = Origin::start(|_: &Request| {
        let head = "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n";
        vec![Step::Write(format!("{head}2\r\nok\r\n0\r\n\r\n").into_bytes()), Step::Close]
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    for ask in [Ask::get("/"), Ask::post("/", "x")] {
        let response = desk.conn().await.ask(&ask).await;
        assert_eq!((response.version.as_str(), response.text().as_str()), ("HTTP/1.1", "ok"));
    }
}

#[tokio::test]
async fn protocols_an_empty_last_frame_ends_an_upload_once() {
    // HTTP/2 in, chunked HTTP/1.1 up: a second terminator would poison the pooled connection.
    let origin = Origin::start(|r: &Request| Reply::json(r.body.len().to_string())).await;
    let tls = Tls::new();
    let desk = Setup::before(&origin).tls(&tls).start().await;
    let mut h2 = desk.h2(Via::H2Tls).await;
    for _ in 0..5 {
        let up = Ask::post("/up", "12345").trailer("x-end", "1");
        assert_eq!(h2.ask(&up).await.text(), "5");
        assert_eq!(h2.ask(&Ask::post("/up", "123")).await.text(), "3");
        assert_eq!(h2.ask(&Ask::get("/next")).await.text(), "0");
    }
    assert!(origin.asked().iter().all(|r| r.raw_head.starts_with(b"GET") || r.raw_head.starts_with(b"POST")));
}

#[tokio::test]
async fn protocols_connection_close_is_honoured() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before(&origin).start().await;
    let mut conn = desk.conn().await;
    let response = conn.ask(&Ask::get("/").header("Connection", "close")).await;
    assert!(response.complete);
    conn.until_closed(SOON).await;
}

/// All lines of `Connection` are one list.
#[tokio::test]
async fn protocols_connection_close_in_any_line_is_honoured() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before(&origin).start().await;
    for lines in [
        &["keep-alive", "close"][..],
        &["close", "keep-alive"],
        &["keep-alive, Close"],
        &["keep-alive", "x-own, close"],
        &["x-own", "close"],
    ] {
        for (method, version) in [("GET", "1.1"), ("POST", "1.1"), ("GET", "1.0")] {
            let mut conn = desk.conn().await;
            let options: String = lines.iter().map(|line| format!("Connection: {line}\r\n")).collect();
            let length = if method == "POST" { "Content-Length: 0\r\n" } else { "" };
            conn.send(format!("{method} / HTTP/{version}\r\nHost: site.test\r\n{options}{length}\r\n")).await;
            let response = conn.response(method).await;
            assert!(response.complete, "{method} {lines:?}");
            assert_eq!(response.headers.tokens("connection"), ["close"], "{method} {version} {lines:?}");
            conn.until_closed(SOON).await;
        }
    }
}

/// Small servers that people develop with still speak it.
#[tokio::test]
async fn protocols_a_site_of_http_1_0_is_answered_for_in_1_1() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let site = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = site.local_addr().expect("bound").port();
    tokio::spawn(async move {
        while let Ok((mut io, _)) = site.accept().await {
            tokio::spawn(async move {
                let mut asked = vec![0; 4096];
                let size = io.read(&mut asked).await.unwrap_or(0);
                let asked = String::from_utf8_lossy(&asked[..size]).into_owned();
                let kind = if asked.contains(" /page") { "text/html" } else { "text/plain" };
                let said = format!("Content-Length: {}\r\n", PAGE.len());
                let length = if asked.contains("nolength") { "" } else { &said };
                let body = if asked.starts_with("HEAD") { "" } else { PAGE };
                let answer = format!("HTTP/1.0 200 OK\r\nContent-Type: {kind}\r\n{length}\r\n{body}");
                let _ = io.write_all(answer.as_bytes()).await;
            });
        }
    });
    let desk = Setup::before_urls(&[format!("http://127.0.0.1:{port}")]).start().await;
    for path in ["/page", "/text", "/page?nolength", "/text?nolength"] {
        for method in ["GET", "HEAD"] {
            let mut conn = desk.conn().await;
            conn.send(format!("{method} {path} HTTP/1.1\r\nHost: site.test\r\n\r\n")).await;
            let answer = conn.response(method).await;
            assert!(answer.complete && answer.status == 200, "{method} {path}: {answer:?}");
            assert_eq!(answer.version, "HTTP/1.1", "{method} {path}");
            if method == "GET" {
                let whole = answer.text().ends_with("</html>\n") || answer.body == PAGE.as_bytes();
                assert!(whole && answer.text().len() >= PAGE.len(), "{path}: {}", answer.text());
            }
        }
    }
}
