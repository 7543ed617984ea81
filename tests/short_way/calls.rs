//! Calls: the desk asks a plain site the short way too, whichever way it was called.

use std::time::{Duration, Instant};

use serde_json::json;

use super::script;
use crate::support::calls::{call, query, site};
use crate::support::{Answer, Origin, Request, Step};

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
