//! Tests of calls: the desk calls a plain site on the fast path too, in every dialect.

use std::time::{Duration, Instant};

use serde_json::json;

use super::script;
use crate::support::calls::{call, query, site};
use crate::support::{Answer, Origin, Reply, Request, Setup, Step};

/// What a site answers, and whether a call is answered with it. The connection ends after it unless it begins with `=`.
#[rustfmt::skip]
const ANSWERS: [(&str, &str, bool); 17] = [
    ("a length", "=HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{\"a\":1}", true),
    ("chunks", "=HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4;x=y\r\n\":1}\r\n0\r\nX-T: y\r\n\r\n", true),
    ("a length that does not hold", "=HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{\"a\":1}\r\n0\r\n\r\n", true),
    ("until the end", "HTTP/1.1 200 OK\r\n\r\n{\"a\":1}", true),
    ("an older protocol", "HTTP/1.0 200 OK\r\n\r\n{\"a\":1}", true),
    ("the end is announced", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 7\r\n\r\n{\"a\":1}", true),
    ("early hints", "=HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{\"a\":1}", true),
    ("a folded line", "=HTTP/1.1 200 OK\r\nX-F: a\r\n b\r\nContent-Length: 7\r\n\r\n{\"a\":1}", true),
    ("more than was asked for", "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{\"a\":1}HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{\"a\":2}", true),
    ("less than the length", "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{\"a\":1}", false),
    ("no last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{\"a\":1}\r\n", false),
    ("lengths that differ", "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nContent-Length: 8\r\n\r\n{\"a\":1} ", false),
    ("another protocol", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{\"a\":1}", false),
    ("no HTTP", "SSH-2.0-x\r\n\r\n", false),
    ("half a head", "HTTP/1.1 200 OK\r\nContent-Le", false),
    ("nobody", "", false),
    ("a status below a hundred", "HTTP/1.1 042 x\r\nContent-Length: 7\r\n\r\n{\"a\":1}", false),
];

#[tokio::test]
async fn short_way_calls_read_an_answer_however_it_is_framed() {
    let origin = Origin::start(|request: &Request| {
        let row = request.target.strip_prefix("/api/").and_then(|row| row.parse::<usize>().ok());
        row.map_or_else(|| Answer::Script(Vec::new()), |row| script(ANSWERS[row].1))
    })
    .await;
    let input =
        "input_schema = { type = \"object\", required = [\"row\"], properties = { row = { type = \"integer\" } } }";
    let up = "upstream = { method = \"GET\", path = \"/api/{row}\" }";
    let desk = site(&origin, &query("look", &format!("\n{input}\n{up}"))).start().await;
    // In both directions: what one leaves behind on a kept connection would spoil the next.
    for row in (0..ANSWERS.len()).chain((0..ANSWERS.len()).rev()) {
        let (what, _, answered) = ANSWERS[row];
        let response = desk.call(call("/agent/look", &json!({ "row": row })).accept("application/json")).await;
        match answered {
            true => assert_eq!((response.status, response.json()), (200, json!({ "a": 1 })), "{what}"),
            false => {
                assert!([502, 503, 504].contains(&response.status), "{what}: {} {}", response.status, response.text())
            }
        }
    }
}

/// `read_timeout` bounds how long a page may take; how long a call may, it says itself.
#[tokio::test]
async fn short_way_calls_wait_for_as_long_as_they_may() {
    const SILENT: Duration = Duration::from_millis(1500);
    let origin = Origin::start(|request: &Request| match request.target.as_str() {
        "/api/slow" => Answer::Script(vec![
            Step::Pause(SILENT),
            Step::Write(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{\"a\":1}".to_vec()),
            Step::KeepAlive,
        ]),
        _ => Answer::Script(Vec::new()),
    })
    .await;
    let up = |timeout| format!("\nupstream = {{ method = \"GET\", path = \"/api/slow\", timeout = \"{timeout}\" }}");
    let capabilities = query("patient", &up("20s")) + &query("hasty", &up("1s"));
    let desk = site(&origin, &capabilities).set("upstream", "read_timeout = \"1s\"").start().await;
    let began = Instant::now();
    let patient = desk.call(call("/agent/patient", &json!({})).accept("application/json")).await;
    assert_eq!((patient.status, patient.json()), (200, json!({ "a": 1 })));
    assert!(began.elapsed() >= SILENT);
    let hasty = desk.call(call("/agent/hasty", &json!({}))).await;
    assert_eq!(hasty.status, 504, "{}", hasty.text());
}

/// What a site receives of a call, without the names of hosts; of one that is asked the short way, and of one that
/// speaks HTTP/2, which the library asks.
#[tokio::test]
async fn short_way_calls_tell_a_site_the_same() {
    let answered = |_: &Request| Reply::json("{\"a\":1}");
    let (plain, framed) = (Origin::start(answered).await, Origin::start_h2(answered).await);
    let own = "headers = { X-Channel = \"agents\", X-Request-Id = \"the-operators\" }";
    let capabilities = query("look", &format!("\nupstream = {{ method = \"GET\", path = \"/api/look\", {own} }}"))
        + &query("put", "\nupstream = { method = \"POST\", path = \"/api/put\" }");
    let trusting = |setup: Setup| setup.set("listen", "trusted_proxies = [\"127.0.0.0/8\"]");
    let plainly = trusting(site(&plain, &capabilities)).start().await;
    let by_library = trusting(site(&framed, &capabilities)).start().await;
    let before: [&[(&str, &str)]; 4] = [
        &[],
        &[("X-Request-Id", "theirs")],
        &[("X-Forwarded-For", "203.0.113.9"), ("Forwarded", "for=203.0.113.9"), ("Via", "1.1 before")],
        &[
            ("X-Forwarded-Proto", "https"),
            ("X-Forwarded-Host", "www.site.test"),
            ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
            ("tracestate", "a=b"),
            ("X-Frontdesk-Caller", "forged"),
        ],
    ];
    for (headers, target) in before.into_iter().flat_map(|headers| [(headers, "look"), (headers, "put")]) {
        let mut told = Vec::new();
        for (desk, origin) in [(&plainly, &plain), (&by_library, &framed)] {
            let ask = call(&format!("/agent/{target}"), &json!({})).accept("application/json");
            let ask = headers.iter().fold(ask, |ask, (name, value)| ask.header(name, value));
            let response = desk.call(ask).await;
            assert_eq!(response.status, 200, "{headers:?}: {}", response.text());
            let asked = origin.requests().into_iter().rfind(|request| request.target.starts_with("/api/"));
            let request = asked.expect("a call");
            let lines = request.headers.0.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
            // An id of ours is another one each time, and its own part of a request's framing is each protocol's.
            let fresh = target == "put" && !headers.iter().any(|(name, _)| *name == "X-Request-Id");
            let mut lines: Vec<_> = lines.filter(|(name, _)| !(fresh && name == "x-request-id")).collect();
            lines.sort();
            // Over HTTP/2 the host stands in a place of its own too.
            lines.dedup();
            told.push((request.method, request.target, lines));
        }
        assert_eq!(told[0], told[1], "{headers:?}");
        assert_eq!(told[0].2.iter().filter(|(name, _)| name == "host").count(), 1);
        if target == "look" {
            let ids: Vec<_> = told[0].2.iter().filter(|(name, _)| name == "x-request-id").collect();
            assert_eq!(ids, [&("x-request-id".to_owned(), "the-operators".to_owned())], "in place of ours");
        }
    }
}
