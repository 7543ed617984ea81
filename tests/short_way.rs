//! Promise: a plain request on the fast path reaches the site and is answered exactly as on the library's path.
//!
//! `Keep-Alive` belongs to the hop and has no meaning here, but a request with it does not take the fast path; over
//! HTTP/2, which has no such header, neither does one with `Max-Forwards`. So each row is sent twice, without and with
//! such a header, and both the upstream requests and the responses are compared line by line.

mod calls;
mod framing;
mod generated;
mod pages;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::calls::{action, query, site};
use crate::support::{Answer, Reply, Step};
use crate::support::{Ask, Desk, Framing, Origin, Request, Response, SOON, Setup, Tls, Via, eventually};

/// What the site answers. The connection ends after it unless it begins with `=`.
#[rustfmt::skip]
const ANSWERS: [(&str, &str); 51] = [
    ("a length", "=HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n\r\nhello"),
    ("a Date", "=HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 1\r\n\r\nx"),
    ("names and values as they are", "=HTTP/1.1 200 OK\r\ncontent-LENGTH: 2\r\nx-a:  b \r\nX-A: c\r\nX-Empty:\r\n\r\nok"),
    ("cookies", "=HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX-B: c\r\nSet-Cookie: b=2\r\nContent-Length: 0\r\n\r\n"),
    ("letters that are not ASCII", "=HTTP/1.1 200 OK\r\nX-N: \u{e4}\u{20ac}\r\nContent-Length: 0\r\n\r\n"),
    ("another reason", "=HTTP/1.1 418 Short and stout\r\nContent-Length: 0\r\n\r\n"),
    ("no reason", "=HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n"),
    ("not even a space for one", "=HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"),
    ("chunks", "=HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"),
    ("trailers", "=HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n1\r\na\r\n0\r\nX-T: y\r\n\r\n"),
    ("chunks, written otherwise", "=HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n0000A \r\n0123456789\r\n00\r\n\r\n"),
    ("no chunks at all", "=HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ("until the end", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhello"),
    ("an older protocol", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
    ("an older one that keeps", "=HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello"),
    ("an older one until the end", "HTTP/1.0 200 OK\r\n\r\nhello"),
    ("nothing", "=HTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n"),
    ("nothing, with a length", "=HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"),
    ("not modified", "=HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nContent-Length: 77\r\n\r\n"),
    ("an empty body", "=HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Type: text/html\r\n\r\n"),
    ("the same length twice", "=HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok"),
    ("lengths that differ", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!"),
    ("no length", "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok"),
    ("a signed length", "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok"),
    ("a length and chunks", "=HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
    ("a length that is none and chunks", "=HTTP/1.1 200 OK\r\nContent-Length: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
    ("chunked twice", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
    ("chunked in two lines", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
    ("gzip, then chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
    ("the coding that is none", "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nhello"),
    ("an unknown coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: x\r\n\r\nhello"),
    ("nothing, in chunks", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ("not modified, in chunks", "=HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nTransfer-Encoding: chunked\r\n\r\n"),
    ("early hints with a framing", "=HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: chunked\r\nConnection: close\r\nLink: </a.css>; rel=preload\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
    ("less than the length", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"),
    ("no last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"),
    ("a folded line", "=HTTP/1.1 200 OK\r\nX-F: a\r\n  b\r\nContent-Length: 0\r\n\r\n"),
    ("a space before the colon", "=HTTP/1.1 200 OK\r\nX-S : a\r\nContent-Length: 0\r\n\r\n"),
    ("the hop's own", "=HTTP/1.1 200 OK\r\nConnection: X-Hop, keep-alive\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nProxy-Connection: a\r\nUpgrade: h2c\r\nContent-Length: 0\r\n\r\n"),
    ("early hints", "=HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
    ("continue, and on", "=HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
    ("a Link of its own", "=HTTP/1.1 200 OK\r\nLink: </x>; rel=next\r\nContent-Length: 0\r\n\r\n"),
    ("two types", "=HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok"),
    ("no HTTP", "SSH-2.0-x\r\n\r\n"),
    ("nobody", ""),
    ("half a head", "HTTP/1.1 200 OK\r\nContent-Le"),
    ("a part of a page", "=HTTP/1.1 206 Partial Content\r\nContent-Type: text/html\r\nContent-Range: bytes 0-1/9\r\nContent-Length: 2\r\n\r\n<p"),
    ("a page to be left alone", "=HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nCache-Control: no-transform\r\nContent-Length: 6\r\n\r\n<body>"),
    ("a status below a hundred", "=HTTP/1.1 042 x\r\nContent-Length: 0\r\n\r\n"),
    ("no status", "HTTP/1.1 000 x\r\nContent-Length: 500\r\n\r\n"),
    ("more than was asked for", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"),
];

/// Headers, as they are sent.
type Lines = &'static [(&'static str, &'static str)];

/// What is asked for, besides the plainest.
#[rustfmt::skip]
const ASKED: [(&str, &str, Lines); 25] = [
    ("GET", "//other.test/a", &[]),
    ("GET", "/http://other.test:80/@a", &[]),
    ("GET", "/%00%0d%0a\\^`{|}<>\"'", &[]),
    ("GET", "/?a=%2f&b=c", &[]),
    ("HEAD", "/", &[]),
    ("GET", "/a//b/../%2e", &[("USER-agent", "x"), ("accept", "*/*")]),
    ("GET", "/", &[("Host", "Example.test:8080")]),
    ("GET", "/", &[("Connection", "keep-alive")]),
    ("GET", "/", &[("X-A", "1"), ("x-b", "2"), ("X-A", "3"), ("X-Empty", "")]),
    ("GET", "/", &[("Cookie", "a=1"), ("Cookie", "b=2")]),
    ("GET", "/", &[("Cookie", "a=1; b=2"), ("Authorization", "Basic eDp5")]),
    ("GET", "/", &[("X-Forwarded-For", "192.0.2.1, 192.0.2.2"), ("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "h")]),
    ("GET", "/", &[("Forwarded", "for=192.0.2.7"), ("X-Real-IP", "192.0.2.9"), ("Via", "1.0 x"), ("True-Client-IP", "192.0.2.3")]),
    ("GET", "/", &[("X_Forwarded_For", "1"), ("X-Frontdesk-Caller", "me"), ("X-Frontdesk-Verified", "key"), ("x.real.ip", "1")]),
    ("GET", "/", &[("X-Forwarded-Port", "1"), ("X-Forwarded-For", "a"), ("X-Forwarded-For", "b"), ("CF-Connecting-IP", "1")]),
    ("GET", "/", &[("Accept-Encoding", "gzip, deflate, br, zstd")]),
    ("GET", "/", &[("Accept-Encoding", "gzip;q=0.5, compress, dcb")]),
    ("GET", "/", &[("Accept-Encoding", "compress")]),
    ("GET", "/", &[("If-None-Match", "\"a\"")]),
    ("GET", "/", &[("If-None-Match", "W/\"a\", \"b\""), ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")]),
    ("GET", "/", &[("Range", "bytes=0-1"), ("If-Range", "\"a\"")]),
    ("GET", "/x.html", &[("Range", "bytes=0-1"), ("Accept", "text/html")]),
    ("GET", "/", &[("If-Match", "\"a\""), ("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:37 GMT")]),
    ("GET", "/", &[("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), ("X-Request-Id", "r")]),
    ("GET", "/agents/../.well-known/none", &[("Accept", "application/json")]),
];

/// An answer that is not all there.
const NOT_WHOLE: &str = "not whole";

/// What the client got, but for when, and for how a body was cut into chunks.
fn told(response: &Result<Response, String>) -> Vec<String> {
    let Response { version, status, headers, body, framing, informational, .. } = match response {
        // How much of it there is before it is cut is a matter of moments.
        Ok(Response { complete: false, .. }) | Err(_) => return vec![NOT_WHOLE.into()],
        Ok(response) => response,
    };
    let mut lines: Vec<String> = headers.0.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    if headers.get("date") != Some("Sun, 06 Nov 1994 08:49:37 GMT") {
        lines.retain(|line| !line.to_lowercase().starts_with("date: "));
        assert_eq!(lines.len() + 1, headers.0.len(), "one Date: {headers:?}");
    }
    lines.sort();
    let framing = match framing {
        Framing::Chunked(_) => "chunked".to_owned(),
        other => format!("{other:?}"),
    };
    lines.push(format!("{version} {status}, {framing}, {informational:?}: {}", body.escape_ascii()));
    lines
}

/// What the site was sent, but for the order of the lines.
fn sent(request: Option<&Request>) -> Vec<String> {
    let head = request.map(|request| String::from_utf8_lossy(&request.raw_head).into_owned()).unwrap_or_default();
    let mut lines: Vec<String> = head.split("\r\n").map(str::to_owned).collect();
    lines[1..].sort();
    lines
}

/// A request that only the library reads.
fn by_the_long_way(ask: Ask, via: Via) -> Ask {
    match via {
        Via::H2c | Via::H2Tls => ask.header("Max-Forwards", "9"),
        Via::H1 | Via::H1Tls => ask.header("Keep-Alive", "timeout=9"),
    }
}

/// The answer, or why there is none.
async fn answered(desk: &Desk, via: Via, ask: &Ask) -> Result<Response, String> {
    if matches!(via, Via::H2c | Via::H2Tls) {
        let begun = desk.h2(via).await.try_begin(ask).await;
        return match begun {
            Ok(begun) => Ok(begun.finish().await),
            Err(e) => Err(e.to_string()),
        };
    }
    let mut conn = desk.conn().await;
    conn.send(ask.bytes()).await;
    conn.try_response(&ask.method, SOON).await
}

/// Asks both ways; what differs, if anything does.
async fn both(desk: &Desk, origin: &Origin, via: Via, ask: &Ask, what: &str) -> Option<String> {
    let mut last = None;
    // What a path turned out to be is remembered: the first to ask make it known.
    for (round, long) in [false, true, false, true].into_iter().enumerate() {
        let ask = if long { by_the_long_way(ask.clone(), via) } else { ask.clone() };
        let before = origin.asked().len();
        let told = told(&answered(desk, via, &ask).await);
        assert!(told != [NOT_WHOLE] || origin.asked().len() > before, "{what}: nobody was asked");
        let asked = origin.asked();
        assert!(asked.len() <= before + 1, "{what}: asked once");
        let mut sent = sent(asked.get(before));
        if matches!(via, Via::H2c | Via::H2Tls) {
            // Names have no case over HTTP/2.
            sent = sent
                .iter()
                .map(|line| {
                    line.split_once(':')
                        .map_or(line.clone(), |(name, value)| format!("{}:{value}", name.to_lowercase()))
                })
                .collect();
            sent[1..].sort();
            sent.retain(|line| line != "max-forwards: 9");
        }
        let both = (told, sent);
        if let Some((short, true)) = last.as_ref().map(|(last, was_short)| (last, *was_short))
            && *short != both
            && round == 3
        {
            return Some(format!("{what}:\nshort {short:?}\nlong  {both:?}"));
        }
        last = Some((both, !long));
    }
    None
}

fn script(wire: &str) -> Answer {
    let (keeps, wire) = wire.strip_prefix('=').map_or((false, wire), |wire| (true, wire));
    let mut steps = vec![Step::Write(wire.as_bytes().to_vec())];
    steps.extend(keeps.then_some(Step::KeepAlive));
    Answer::Script(steps)
}

#[tokio::test]
async fn short_way_answers_as_the_long_one() {
    let origin = Origin::start(|request: &Request| {
        let row = request.target.trim_matches('/').parse::<usize>().ok();
        script(
            row.and_then(|row| ANSWERS.get(row)).map_or("=HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", |row| row.1),
        )
    })
    .await;
    let desk = Setup::before(&origin).set("listen", "h2c = true").start().await;
    let mut different = Vec::new();
    for (row, (what, _)) in ANSWERS.iter().enumerate() {
        for (via, method) in [(Via::H1, "GET"), (Via::H1, "HEAD"), (Via::H2c, "GET"), (Via::H2c, "HEAD")] {
            let ask = Ask::new(method, &format!("/{row}"));
            different.extend(both(&desk, &origin, via, &ask, &format!("{what}, {method} over {via:?}")).await);
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[tokio::test]
async fn short_way_asks_as_the_long_one() {
    let origin = Origin::start(|_: &Request| script(ANSWERS[0].1)).await;
    let mut different = Vec::new();
    for listen in ["", "trusted_proxies = [\"127.0.0.1\"]"] {
        for upstream in ["", "preserve_host = false"] {
            let desk = Setup::before(&origin)
                .set("listen", "h2c = true")
                .set("listen", listen)
                .set("upstream", upstream)
                .start()
                .await;
            for (method, target, headers) in ASKED {
                let ask = headers.iter().fold(Ask::new(method, target), |ask, (name, value)| ask.header(name, value));
                // What HTTP/2 cannot say, or the client's library does not.
                let over_http2 = !target.contains('\\') && !headers.iter().any(|(name, _)| *name == "Connection");
                for via in [Some(Via::H1), over_http2.then_some(Via::H2c)].into_iter().flatten() {
                    let what = format!("{method} {target} {headers:?} over {via:?}, {listen} {upstream}");
                    different.extend(both(&desk, &origin, via, &ask, &what).await);
                }
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// Else all of this compares one way with itself. The library writes what the site is told over HTTP/2 in small letters.
#[tokio::test]
async fn short_way_takes_streams_too() {
    if crate::support::fast_path_is_off() {
        return;
    }
    let origin = Origin::start(|_: &Request| Reply::json("{}")).await;
    let desk = Setup::before(&origin).set("listen", "h2c = true").start().await;
    for (ask, name) in [
        (Ask::get("/a"), "\r\nX-Forwarded-For: "),
        (by_the_long_way(Ask::get("/b"), Via::H2c), "\r\nx-forwarded-for: "),
    ] {
        assert_eq!(desk.ask(Via::H2c, ask.clone()).await.status, 200);
        let asked = origin.asked();
        let head = asked.iter().find(|request| request.target == ask.target).map(|request| request.raw_head.clone());
        let head = String::from_utf8(head.unwrap()).unwrap();
        assert!(head.contains(name), "{head}");
    }
}

#[tokio::test]
async fn short_way_takes_no_protocol_that_nobody_asked_for() {
    let wire = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n";
    let origin = Origin::start(move |_: &Request| script(wire)).await;
    let desk = Setup::before(&origin).start().await;
    assert_eq!(desk.get("/").await.status, 502);
    let long = desk.ask(Via::H1, Ask::get("/").header("TE", "trailers")).await;
    assert_eq!(long.status, 502, "nor does the long way");
}

#[tokio::test]
async fn short_way_ends_tls_in_order_and_only_after_a_whole_answer() {
    let origin = Origin::start(|request: &Request| match request.target.as_str() {
        "/whole" => script(ANSWERS[0].1),
        _ => script("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"),
    })
    .await;
    let tls = Tls::new();
    let desk = Setup::before(&origin).tls(&tls).start().await;
    for (path, whole) in [("/whole", true), ("/cut", false)] {
        let mut stream = tls.connect(desk.ports.https, &[]).await.expect("a TLS connection");
        let ask = format!("GET {path} HTTP/1.1\r\nHost: site.test\r\nX-Asked-By: test\r\nConnection: close\r\n\r\n");
        stream.write_all(ask.as_bytes()).await.expect("asked");
        let mut all = Vec::new();
        // The client's library takes an end without a close_notify for a cut.
        assert_eq!(stream.read_to_end(&mut all).await.is_ok(), whole, "{path}: {}", all.escape_ascii());
        assert!(all.ends_with(b"hello"), "{path}: {}", all.escape_ascii());
    }
}

#[tokio::test]
async fn short_way_begins_where_a_request_does() {
    let origin = Origin::start(|_: &Request| script(ANSWERS[0].1)).await;
    let desk = Setup::before(&origin).start().await;
    // The library reads the first, with the beginning of the second, and then as many bytes as the second has.
    let first = "GET /1 HTTP/1.1\r\nHost: site.test\r\nX-Asked-By: test\r\nContent-Length: 0\r\n\r\n";
    let second = "GET /2 HTTP/1.1\r\nHost: site.test\r\nX-Asked-By: test\r\n\r\n";
    let third = "GET /3 HTTP/1.1\r\nX-Asked-By: test\r\nX: ";
    let rest = "GET /4 HTTP/1.1\r\nHost: site.test\r\n\r\n";
    let (begun, left) = second.split_at(third.len());
    let mut conn = desk.conn().await;
    for bytes in [format!("{first}{begun}"), format!("{left}{third}"), rest.to_owned()] {
        conn.send(bytes).await;
        assert_eq!(conn.response("GET").await.status, 200);
    }
    let asked: Vec<String> = origin.asked().into_iter().map(|request| request.target).collect();
    assert_eq!(asked, ["/1", "/2", "/3"]);
}

#[tokio::test]
async fn short_way_leaves_the_site_when_the_client_leaves() {
    for begun in ["", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel"] {
        let origin = Origin::start(move |request: &Request| match request.target.as_str() {
            "/" => Answer::Script(vec![Step::Write(begun.into()), Step::Stall]),
            _ => script("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        })
        .await;
        let desk = Setup::before(&origin).set("listen", "h2c = true").start().await;
        let mut conn = desk.conn().await;
        let mut stream = desk.h2(Via::H2c).await;
        // Whatever the first ones need is there by now.
        for _ in 0..9 {
            assert_eq!(conn.ask(&Ask::get("/well")).await.status, 200);
            assert_eq!(stream.ask(&Ask::get("/well")).await.status, 200);
        }
        conn.send(Ask::get("/").bytes()).await;
        let mut one_stream = stream.clone();
        let asking = tokio::spawn(async move { one_stream.ask(&Ask::get("/")).await.status });
        eventually("both have asked the site", SOON, async || origin.asked().len() == 20).await;
        let held = desk.descriptors();
        // A stream is reset and its connection stays; over HTTP/1.1 there is nothing but the connection to end.
        asking.abort();
        drop(conn);
        eventually("the site is left, twice", SOON, async || desk.descriptors() + 3 <= held).await;
        drop(stream);
    }
}

#[tokio::test]
async fn short_way_calls_as_the_long_one() {
    let origin = Origin::start(|_: &Request| Reply::json("{\"lamps\":[1,2]}")).await;
    let wants =
        "\ninput_schema = { type = \"object\", required = [\"q\"], properties = { q = { type = \"string\" } } }";
    let up = "\nupstream = { method = \"GET\", path = \"/api/lamps\" }";
    let desk = site(&origin, &(query("lamps", &format!("{wants}{up}")) + &action("buy", up))).start().await;
    let long = format!("{{\"q\":\"{}\"}}", "x".repeat(9000));
    let json = ("Content-Type", "application/json");
    for (endpoint, body, headers) in [
        ("/agent/lamps", "{\"q\":\"red\"}", vec![json]),
        ("/agent/lamps", "{\"q\":\"red\"}", vec![json, ("Accept", "application/json")]),
        ("/agent/lamps", "{\"q\":\"red\"}", vec![json, ("Accept", "text/html")]),
        ("/agent/lamps", "{\"q\":\"red\"}", vec![("Content-Type", "text/plain")]),
        ("/agent/lamps", "{\"q\":1}", vec![json]),
        ("/agent/lamps", "{\"q\":", vec![json]),
        ("/agent/lamps", "", vec![json]),
        ("/agent/lamps", &long, vec![json]),
        ("/agent/buy", "{}", vec![json]),
        ("/agent/buy", "{}", vec![json, ("Authorization", "Bearer no-such-key")]),
        ("/agent/none", "{}", vec![json]),
        ("/elsewhere", "a=b", vec![("Content-Type", "application/x-www-form-urlencoded")]),
    ] {
        let ask = Ask::post(endpoint, body).header("X-Request-Id", "r-1");
        let ask = headers.iter().fold(ask, |ask, (name, value)| ask.header(name, value));
        let mut conn = desk.conn().await;
        let mut told = Vec::new();
        for ask in [ask.clone(), by_the_long_way(ask.clone(), Via::H1), ask] {
            let response = conn.ask(&ask).await;
            let names: Vec<String> = response.headers.0.iter().map(|(name, _)| name.to_lowercase()).collect();
            let names: std::collections::BTreeSet<String> = names.into_iter().collect();
            // But for when, which is another second now and then.
            let text = response.text();
            let mut parts = text.split("\"retrieved_at\":\"");
            let first = parts.next().unwrap_or_default().to_owned();
            let text = parts.fold(first, |text, part| text + "then" + &part["2026-11-23T23:23:34Z".len()..]);
            told.push((response.status, names, text));
        }
        assert_eq!(told[0], told[1], "{endpoint} {headers:?} {body:.40}");
        assert_eq!(told[0], told[2], "{endpoint} {headers:?} {body:.40}, again");
    }
}
