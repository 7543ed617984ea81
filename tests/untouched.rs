//! Promise: every response that is not a complete HTML page passes byte for byte, with its headers.

use crate::support::origin::Speaks;
use crate::support::page::{LINK, PAGE, assert_untouched};
use crate::support::{Ask, Coding, Conn, Framing, H2Conn, Origin, Reply, Request, Setup, Step, Tls, Via};

/// Things with `<body>` in them that must stay as they are.
fn exempt(request: &Request) -> Reply {
    let of_type = |kind: &str| Reply::new(200).header("Content-Type", kind).body(PAGE);
    match request.target.as_str() {
        "/json" => of_type("application/json"),
        "/png" => of_type("image/png"),
        "/svg" => of_type("image/svg+xml"),
        "/js" => of_type("text/javascript"),
        "/text" => of_type("text/plain"),
        "/css" => of_type("text/css"),
        "/untyped" => Reply::new(200).body(PAGE),
        "/part" => {
            let range = format!("bytes 0-{}/9999", PAGE.len() - 1);
            let mut reply = Reply::html(PAGE).header("Content-Range", &range);
            reply.status = 206;
            reply
        }
        "/file" => Reply::html(PAGE).header("Content-Disposition", "Attachment; filename=page.html"),
        "/no-transform" => Reply::html(PAGE).header("Cache-Control", "public, no-transform"),
        "/utf16" => of_type("text/html; charset=utf-16le"),
        "/utf16-quoted" => of_type("text/html; Charset=\"UTF-16\""),
        "/utf16-bom" => {
            let wide: Vec<u8> =
                "\u{feff}".encode_utf16().chain(PAGE.encode_utf16()).flat_map(u16::to_le_bytes).collect();
            Reply::new(200).header("Content-Type", "text/html").body(wide)
        }
        "/fragment" => Reply::html("<div><p>One piece for an XHR.</p></div>"),
        "/events" => Reply::new(200).header("Content-Type", "text/event-stream").body("data: <body>\n\n"),
        "/strange-coding" => Reply::html("not really").header("Content-Encoding", "dcb"),
        "/stacked" => Reply::html(Coding::Gzip.encode(&Coding::Gzip.encode(PAGE.as_bytes())))
            .header("Content-Encoding", "gzip, gzip"),
        "/attachment" => Reply::new(200).header("Content-Type", "application/octet-stream").body(PAGE),
        other => panic!("nobody asked for {other}"),
    }
}

const PATHS: [&str; 18] = [
    "/json",
    "/png",
    "/svg",
    "/js",
    "/text",
    "/css",
    "/untyped",
    "/part",
    "/file",
    "/no-transform",
    "/utf16",
    "/utf16-quoted",
    "/utf16-bom",
    "/fragment",
    "/events",
    "/strange-coding",
    "/stacked",
    "/attachment",
];

async fn stays_as_it_is(speaks: Speaks) {
    let (tls, origin) = (Tls::new(), Origin::speaking(speaks, exempt).await);
    let desk = Setup::before(&origin).tls(&tls).start().await;
    for path in PATHS {
        let request = Ask::get(path);
        let sent = exempt(&Request {
            version: String::new(),
            method: "GET".into(),
            target: path.into(),
            headers: Default::default(),
            body: vec![],
            trailers: Default::default(),
            raw_head: vec![],
        });
        for via in [Via::H1, Via::H2Tls] {
            let response = desk.ask(via, request.clone()).await;
            let when = format!("{path} over {via:?}");
            assert_eq!(response.status, sent.status, "{when}");
            assert_untouched(&sent.whole(), &response.body, &when);
            for (name, value) in &sent.headers {
                assert_eq!(response.header(name), Some(value.as_str()), "{name}, {when}");
            }
            // A body is looked at when the head has left: what shows only there is passed as it is, but re-framed.
            if !["/utf16-bom", "/fragment"].contains(&path) {
                let length = sent.whole().len().to_string();
                assert_eq!(response.header("content-length"), Some(length.as_str()), "{when}");
            }
        }
    }
}

#[tokio::test]
async fn untouched_are_other_types_parts_and_charsets_from_an_http1_site() {
    stays_as_it_is(Speaks::H1).await;
}

#[tokio::test]
async fn untouched_are_other_types_parts_and_charsets_from_an_http2_site() {
    stays_as_it_is(Speaks::H2).await;
}

#[tokio::test]
async fn untouched_pages_have_their_304() {
    let origin = Origin::start(|r: &Request| {
        if r.headers.get("if-none-match") == Some("\"a\"") {
            return Reply::new(304).header("ETag", "\"a\"");
        }
        let reply = if r.target == "/wide" {
            Reply::new(200).header("Content-Type", "text/html; charset=utf-16").body("wide")
        } else {
            Reply::html(PAGE).header("Cache-Control", "no-transform")
        };
        reply.header("ETag", "\"a\"")
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    for path in ["/as-it-is", "/wide"] {
        assert_eq!(desk.ask(Via::H1, Ask::get(path)).await.status, 200, "{path}");
        let again = desk.ask(Via::H1, Ask::get(path).header("If-None-Match", "\"a\"")).await;
        assert_eq!((again.status, again.header("etag")), (304, Some("\"a\"")), "{path}");
    }
}

#[tokio::test]
async fn untouched_headers_arrive_in_order_with_only_the_link_added() {
    let origin = Origin::start(|_: &Request| {
        Reply::json("{}")
            .header("X-Twice", "1")
            .header("Set-Cookie", "a=1; Path=/")
            .header("Set-Cookie", "b=2; HttpOnly")
            .header("ETag", "\"strong\"")
            .header("Accept-Ranges", "bytes")
            .header("Content-MD5", "1B2M2Y8AsgTpgAmY7PhCfg==")
            .header("Server", "the-site/1.0")
            .header("Date", "Sat, 01 Jan 2022 00:00:00 GMT")
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    let response = desk.get("/api").await;
    assert_eq!(response.headers.all("set-cookie"), ["a=1; Path=/", "b=2; HttpOnly"]);
    for (name, value) in [
        ("etag", "\"strong\""),
        ("accept-ranges", "bytes"),
        ("content-md5", "1B2M2Y8AsgTpgAmY7PhCfg=="),
        ("server", "the-site/1.0"),
        ("date", "Sat, 01 Jan 2022 00:00:00 GMT"),
        ("link", LINK),
    ] {
        assert_eq!(response.headers.all(name), [value], "{name}");
    }
    assert!(!response.headers.has("vary"), "an API answer has no variants of ours");
}

#[tokio::test]
async fn untouched_is_a_range_request_for_a_download() {
    let origin = Origin::start(|request: &Request| {
        assert_eq!(request.header("range"), Some("bytes=2-5"), "ranges go up");
        Reply::new(206).header("Content-Type", "video/mp4").header("Content-Range", "bytes 2-5/10").body("2345")
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    let response = desk.ask(Via::H1, Ask::get("/film.mp4").header("Range", "bytes=2-5")).await;
    assert_eq!((response.status, response.text().as_str()), (206, "2345"));
    assert_eq!(response.header("content-range"), Some("bytes 2-5/10"));
}

/// An address may have a page for some and data for others: who takes no page has what it has without us.
#[tokio::test]
async fn untouched_is_what_is_asked_for_by_who_takes_no_page() {
    let origin = Origin::start(|request: &Request| {
        if request.header("accept").is_none_or(|accept| accept.contains("text/html")) {
            return Reply::html(PAGE).header("ETag", "\"page\"");
        }
        match (request.header("if-none-match"), request.header("range")) {
            (Some("\"data\""), _) => Reply::new(304).header("ETag", "\"data\""),
            (_, Some("bytes=0-3")) => Reply::new(206).header("Content-Range", "bytes 0-3/9").body("{\"a\""),
            _ => Reply::json("{\"a\": 12}").header("ETag", "\"data\""),
        }
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    let page = async || assert_eq!(desk.ask(Via::H1, Ask::get("/x").accept("text/html")).await.status, 200);
    let data = || Ask::get("/x").accept("application/json");
    let picture = || Ask::get("/x").accept("*/*;q=0.1").header("Sec-Fetch-Dest", "image");
    for (what, ask) in [("data", data()), ("a picture", picture())] {
        page().await;
        let again = desk.ask(Via::H1, ask.clone().header("If-None-Match", "\"data\"")).await;
        assert_eq!(again.status, 304, "{what}");
        page().await;
        assert_eq!(desk.ask(Via::H1, ask.clone().header("Range", "bytes=0-3")).await.status, 206, "{what}");
        page().await;
        desk.ask(Via::H1, ask.header("Accept-Encoding", "gzip, dcb")).await;
        assert_eq!(origin.last().header("accept-encoding"), Some("gzip, dcb"), "{what}");
    }
    // What a script fetches may be part of a page.
    page().await;
    let part = Ask::get("/x").accept("*/*").header("Sec-Fetch-Dest", "empty").header("If-None-Match", "\"data\"");
    desk.ask(Via::H1, part.header("Accept-Encoding", "gzip, dcb")).await;
    assert!(!origin.last().headers.has("if-none-match"));
    assert_eq!(origin.last().header("accept-encoding"), Some("gzip"));
}

/// A coding that one client alone is offered says nothing of what others get.
#[tokio::test]
async fn untouched_in_a_coding_for_one_is_a_page_for_others() {
    let origin = Origin::start(|request: &Request| {
        let dictionary = request.header("accept-encoding").is_some_and(|offered| offered.contains("dcz"));
        match (request.header("if-none-match"), dictionary) {
            (Some("\"a\""), _) => Reply::new(304).header("ETag", "\"a\""),
            (_, true) => Reply::html("coded").header("Content-Encoding", "dcz"),
            _ => Reply::html(PAGE).header("ETag", "\"a\""),
        }
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    let page = || Ask::get("/").accept("text/html");
    assert_eq!(desk.ask(Via::H1, page()).await.status, 200);
    let data = Ask::get("/").accept("application/json").header("Accept-Encoding", "dcz");
    assert_eq!(desk.ask(Via::H1, data).await.text(), "coded");
    let sent_before_us = desk.ask(Via::H1, page().header("If-None-Match", "\"a\"")).await;
    assert_eq!(sent_before_us.status, 200, "it has no notice yet");
}

#[tokio::test]
async fn untouched_are_204_205_and_304() {
    let origin = Origin::start(|request: &Request| match request.target.as_str() {
        "/204" => Reply::new(204).header("Content-Type", "text/html"),
        "/205" => Reply::new(205).header("Content-Type", "text/html"),
        _ => Reply::new(304).header("Content-Type", "text/html").header("ETag", "\"a\""),
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    let mut conn = desk.conn().await;
    for (path, status) in [("/204", 204), ("/205", 205), ("/304", 304), ("/204", 204)] {
        let response = conn.ask(&Ask::get(path)).await;
        assert_eq!((response.status, response.body.len()), (status, 0), "{path}");
    }
}

#[tokio::test]
async fn untouched_are_pages_for_http_1_0_clients() {
    for chunked in [false, true] {
        let origin = Origin::start(move |_: &Request| {
            let reply = Reply::html(PAGE);
            if chunked { reply.pieces_of(50).chunked() } else { reply }
        })
        .await;
        let desk = Setup::before(&origin).start().await;
        let mut conn = desk.conn().await;
        conn.send("GET / HTTP/1.0\r\nHost: site.test\r\nX-Asked-By: test\r\n\r\n").await;
        let response = conn.response("GET").await;
        assert_eq!(response.text(), PAGE, "chunked upstream: {chunked}");
        assert!(!response.headers.has("transfer-encoding"), "HTTP/1.0 knows no chunks: {:?}", response.headers);
        assert!(matches!(response.framing, Framing::Length(_) | Framing::Close), "{:?}", response.framing);
        conn.until_closed(crate::support::SOON).await;
    }
}

#[tokio::test]
async fn untouched_is_an_upgraded_connection() {
    let origin = Origin::start(|_: &Request| vec![Step::RawEcho("websocket".into())]).await;
    let desk = Setup::before(&origin).start().await;
    let mut conn = desk.conn().await;
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";
    conn.send(format!("GET / HTTP/1.1\r\nHost: s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n{key}\r\n")).await;
    assert_eq!(conn.response("GET").await.status, 101);
    conn.send(PAGE).await;
    assert_untouched(PAGE.as_bytes(), &conn.until("</html>\n").await, "after an upgrade");
}

const DATED_BODY: &str = "Received:\r\nDate: Tue, 02 Feb 2022 00:00:00 GMT\r\n\r\n<body>\r\nDate: x\r\n";

/// `/length/NN` or `/chunked/NN`: of the NNth of January, about a mail of another day. `/undated/…` has no Date.
fn dated(request: &Request) -> Reply {
    let words: Vec<&str> = request.target.split('/').skip(1).collect();
    let body = format!("{DATED_BODY}{}", words[1]);
    let reply = Reply::new(200).header("Content-Type", "message/rfc822").body(body);
    match words[0] {
        "undated" => reply,
        "chunked" => reply.pieces_of(9).chunked().header("Date", &date_of(words[1])),
        _ => reply.header("Date", &date_of(words[1])),
    }
}

fn date_of(day: &str) -> String {
    format!("Sat, {day} Jan 2022 00:00:00 GMT")
}

async fn arrives_as_dated(mut conn: H2Conn, path: String) {
    let response = conn.ask(&Ask::get(&path)).await;
    let day = path.rsplit('/').next().expect("a day");
    assert_untouched(format!("{DATED_BODY}{day}").as_bytes(), &response.body, &path);
    assert!(response.complete && response.headers.all("date").len() == 1, "{path}: {:?}", response.headers);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn untouched_is_a_body_with_a_date_in_it_over_http2() {
    let (tls, origin) = (Tls::new(), Origin::start(dated).await);
    let desk = Setup::before(&origin).set("listen", "h2c = true").tls(&tls).start().await;
    for via in [Via::H2c, Via::H2Tls] {
        let conn = desk.h2(via).await;
        arrives_as_dated(conn.clone(), "/length/01".into()).await;
        arrives_as_dated(conn.clone(), "/chunked/02".into()).await;
        let mut streams = tokio::task::JoinSet::new();
        for n in 0..60 {
            let framing = if n % 2 == 0 { "length" } else { "chunked" };
            streams.spawn(arrives_as_dated(conn.clone(), format!("/{framing}/{n:02}")));
        }
        while let Some(ended) = streams.join_next().await {
            ended.unwrap_or_else(|e| panic!("one of many streams, {via:?}: {e}"));
        }
    }
}

#[tokio::test]
async fn untouched_is_the_sites_date_over_http1() {
    let (tls, origin) = (Tls::new(), Origin::start(dated).await);
    let desk = Setup::before(&origin).tls(&tls).start().await;
    for mut conn in [desk.conn().await, Conn::open_tls(desk.ports.https, &tls).await] {
        for (framing, day) in
            [("length", "01"), ("chunked", "02"), ("undated", "03"), ("chunked", "04"), ("length", "05")]
        {
            let response = conn.ask(&Ask::get(&format!("/{framing}/{day}"))).await;
            let sent = format!("{DATED_BODY}{day}");
            assert_untouched(sent.as_bytes(), &response.body, &format!("{framing}/{day}"));
            if framing == "undated" {
                let dates = response.headers.all("date");
                assert!(dates.len() <= 1 && !dates.concat().contains("2022"), "of an earlier response: {dates:?}");
            } else {
                assert_eq!(response.headers.all("date"), [date_of(day)], "{framing}/{day}");
            }
        }
        let ours = conn.ask(&Ask::get("/.well-known/agent.json")).await;
        assert!(!ours.headers.joined("date").contains("2022"), "ours is not of the site's day: {:?}", ours.headers);
    }
}
