//! Tests of the framing of a site's response on its way to the client, and of connection reuse.

use super::{by_the_long_way, script};
use crate::support::calls::{call, query, site};
use crate::support::{Ask, Framing, Origin, Request, SOON, Setup, Tls, Via, fast_path_is_off};
use serde_json::json;

/// What the site says, and what the client is told: the status, its `Transfer-Encoding` lines, whether the body is whole,
/// and `Connection`.
type Row = (&'static str, &'static str, u16, &'static [&'static str], &'static str);

#[rustfmt::skip]
const FRAMED: [Row; 12] = [
    ("chunks", "=HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 200, &["chunked"], "keep-alive"),
    ("chunks and a length", "=HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n2\r\nok\r\n0\r\n\r\n", 200, &["chunked"], "keep-alive"),
    ("a blank before the colon", "=HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 200, &["chunked"], "keep-alive"),
    ("identity", "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nok", 200, &["chunked"], "keep-alive"),
    ("nothing in chunks", "=HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 204, &[], "keep-alive"),
    ("nothing with a length", "=HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", 204, &[], "keep-alive"),
    ("not modified in chunks", "=HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", 304, &[], "keep-alive"),
    ("twice", "=HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 502, &[], "close"),
    ("two lines", "=HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n2\r\nok\r\n0\r\n\r\n", 502, &[], "close"),
    ("gzip, chunked", "=HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 502, &[], "close"),
    ("another coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: x\r\n\r\nok", 502, &[], "close"),
    ("no coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n\r\nok", 502, &[], "close"),
];

#[tokio::test]
async fn short_way_frames_an_answer_once_as_the_long_one() {
    let origin = Origin::start(|request: &Request| {
        let row = request.target.trim_matches('/').parse::<usize>().ok();
        script(row.and_then(|row| FRAMED.get(row)).map_or("HTTP/1.1 404 No\r\n\r\n", |row| row.1))
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    for (row, (what, _, status, codings, connection)) in FRAMED.iter().enumerate() {
        for long in [false, true] {
            for method in ["GET", "HEAD"] {
                let what = format!("{what}, {method}, the long way: {long}");
                let ask = Ask::new(method, &format!("/{row}"));
                let ask = if long { by_the_long_way(ask, Via::H1) } else { ask };
                let mut conn = desk.conn().await;
                let told = conn.ask(&ask).await;
                if method == "HEAD" && *status == 502 {
                    // There is no body that could be misread.
                    assert!([200, 502].contains(&told.status) && !told.headers.has("transfer-encoding"), "{what}");
                    continue;
                }
                let codings = if method == "GET" { *codings } else { &[] };
                assert_eq!(
                    (told.status, told.headers.all("transfer-encoding").as_slice()),
                    (*status, codings),
                    "{what}"
                );
                assert!(codings.is_empty() || !told.headers.has("content-length"), "{what}: {:?}", told.headers);
                assert!(*status != 204 || !told.headers.has("content-length"), "{what}: {:?}", told.headers);
                assert_eq!(told.headers.all("connection"), [*connection], "{what}");
                if *status == 200 && method == "GET" {
                    assert_eq!(told.text(), "ok", "{what}");
                }
                if *connection == "keep-alive" {
                    let again = conn.ask(&Ask::new(method, &format!("/{row}"))).await;
                    assert_eq!(again.status, *status, "{what}: kept");
                } else {
                    conn.send(ask.bytes()).await;
                    let again = conn.try_response(method, SOON).await;
                    assert!(again.is_err(), "{what}: closed");
                }
            }
        }
    }
}

/// A whole answer in chunks: what a length beside them would say is another one.
const BOTH: &str = "=HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{\"own\":1}\r\n0\r\n\r\n";

/// The library forgets a length beside chunks before anybody can see it, and keeps the connection.
#[tokio::test]
async fn short_way_keeps_no_connection_whose_answer_was_framed_twice() {
    if fast_path_is_off() {
        return;
    }
    let origin = Origin::start(|_: &Request| script(BOTH)).await;
    let desk = Setup::before(&origin).start().await;
    let before = origin.settled().await;
    for _ in 0..3 {
        let told = desk.get("/").await;
        assert_eq!((told.text().as_str(), told.framing), ("{\"own\":1}", Framing::Chunked(vec![9])));
    }
    assert_eq!(origin.connections() - before, 3);
}

/// The library takes a line without a size for the last chunk, and cannot be told otherwise. What follows is then no answer
/// to anybody.
#[tokio::test]
async fn short_way_gives_nobody_the_rest_of_another_answer() {
    const REST: [&str; 3] = ["\r\n\r\n", "\r\n6\r\nstolen\r\n0\r\n\r\n", ";x\r\n\r\n"];
    let origin = Origin::start(|request: &Request| {
        let begun = "=HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n";
        let next = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen";
        match request.target.trim_matches('/').parse::<usize>().ok().and_then(|row| REST.get(row)) {
            Some(rest) => script(&format!("{begun}{rest}{next}")),
            None => script("=HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmine"),
        }
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    for (row, rest) in REST.iter().enumerate() {
        for long in [false, true] {
            let ask = |ask: Ask| if long { by_the_long_way(ask, Via::H1) } else { ask };
            for _ in 0..5 {
                let mut conn = desk.conn().await;
                conn.send(ask(Ask::get(&format!("/{row}"))).bytes()).await;
                // Broken off, or complete without the rest.
                let told = conn.try_response("GET", SOON).await.map(|told| told.text()).unwrap_or_default();
                assert!(!told.contains("stolen"), "{rest:?}, the long way: {long}: {told}");
                let next = desk.ask(Via::H1, ask(Ask::get("/mine"))).await;
                assert_eq!((next.status, next.text().as_str()), (200, "mine"), "{rest:?}, the long way: {long}");
            }
        }
    }
}

/// Calls read an answer by the same decision, whichever client carries them.
#[tokio::test]
async fn short_way_calls_by_the_same_framing() {
    let says = |request: &Request| match request.target.as_str() {
        "/api/both" => script(BOTH),
        "/api/twice" => script(
            "=HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked, chunked\r\n\r\n9\r\n{\"own\":1}\r\n0\r\n\r\n",
        ),
        _ => script("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"),
    };
    let declared: String = ["both", "twice"]
        .map(|id| query(id, &format!("\nupstream = {{ method = \"GET\", path = \"/api/{id}\" }}")))
        .concat();
    let tls = Tls::new();
    let (plain, secured) = (Origin::start(says).await, Origin::start_tls(&tls, says).await);
    for (origin, by_library) in [(&plain, false), (&secured, false), (&secured, true)] {
        let desk = site(origin, &declared);
        let desk = if by_library { desk.set("runtime", "fast_path = false") } else { desk };
        let desk = desk.trusting(&tls).set("upstream", "http2 = \"off\"").start().await;
        let before = origin.settled().await;
        for _ in 0..3 {
            let told = desk.call(call("/agent/both", &json!({}))).await;
            assert_eq!((told.status, &told.json()["data"]["own"]), (200, &json!(1)), "{}", told.text());
        }
        // The first may go over one that was kept before.
        let opened = origin.connections() - before;
        assert!((2..=3).contains(&opened), "by the library: {by_library}: {opened} connections");
        let told = desk.call(call("/agent/twice", &json!({}))).await;
        assert_eq!(told.status, 502, "by the library: {by_library}: {}", told.text());
    }
}

/// More interim answers than any site has a reason for.
#[tokio::test]
async fn short_way_takes_no_interim_answers_without_end() {
    let hints = |many: usize| {
        let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n".repeat(many);
        script(&format!("={hint}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
    };
    let origin = Origin::start(move |request: &Request| hints(if request.target == "/few" { 20 } else { 300 })).await;
    let desk = Setup::before(&origin).start().await;
    for long in [false, true] {
        for (path, status, most) in [("/few", 200, 20), ("/many", 502, 40)] {
            let ask = if long { by_the_long_way(Ask::get(path), Via::H1) } else { Ask::get(path) };
            let told = desk.ask(Via::H1, ask).await;
            assert_eq!(told.status, status, "{path}, the long way: {long}");
            assert!(told.informational.len() <= most, "{path}: {}", told.informational.len());
        }
    }
}
