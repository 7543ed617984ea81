//! Request lines, targets, hosts and fields that two parsers read differently.

use super::judge::Is::{self, Broken, Either, Passed, Refused};
use super::judge::{BODY, Court, HIDDEN, Verdicts};
use crate::support::Ask;
use crate::support::Via;

/// What it is, what becomes of it, and the request; %h stands for a Host line and the tests' mark.
type Row = (&'static str, Is, &'static str);

#[rustfmt::skip]
const LINES: &[Row] = &[
    ("two spaces after the method", Refused, "GET  /case HTTP/1.1\r\n%h\r\n"),
    // What may not be in a target goes up as an escape, or is refused if it comes in pieces.
    ("two spaces before the version", Either, "GET /case  HTTP/1.1\r\n%h\r\n"),
    ("tabs for spaces", Refused, "GET\t/case\tHTTP/1.1\r\n%h\r\n"),
    ("a space in the target", Either, "GET /case /other HTTP/1.1\r\n%h\r\n"),
    ("two versions", Refused, "GET /case HTTP/1.1 HTTP/1.1\r\n%h\r\n"),
    ("a space at the end", Refused, "GET /case HTTP/1.1 \r\n%h\r\n"),
    ("a space at the beginning", Refused, " GET /case HTTP/1.1\r\n%h\r\n"),
    ("a bare CR for a space", Refused, "GET /case\rHTTP/1.1\r\n%h\r\n"),
    ("a bare CR before the end", Refused, "GET /case HTTP/1.1\r\r\n%h\r\n"),
    ("a bare CR in the target", Either, "GET /case\r/x HTTP/1.1\r\n%h\r\n"),
    ("a vertical tab for a space", Refused, "GET\x0b/case HTTP/1.1\r\n%h\r\n"),
    ("a NUL in the target", Either, "GET /case\0x HTTP/1.1\r\n%h\r\n"),
    ("a DEL in the target", Either, "GET /case\x7f HTTP/1.1\r\n%h\r\n"),
    ("a NUL in the method", Refused, "G\0ET /case HTTP/1.1\r\n%h\r\n"),
    ("a method that is no token", Refused, "GE(T /case HTTP/1.1\r\n%h\r\n"),
    ("no method", Refused, " /case HTTP/1.1\r\n%h\r\n"),
    ("a method of a whole request", Refused, "GET /smuggled HTTP/1.1\r\nX: POST /case HTTP/1.1\r\n%h\rX: y\r\n\r\n"),
    ("no version", Refused, "GET /case\r\n%h\r\n"),
    ("no version and nothing else", Refused, "GET /case\r\n\r\n"),
    ("a version in lower case", Refused, "GET /case http/1.1\r\n%h\r\n"),
    ("version 0.9", Refused, "GET /case HTTP/0.9\r\n%h\r\n"),
    ("version 1.2", Refused, "GET /case HTTP/1.2\r\n%h\r\n"),
    ("version 1.10", Refused, "GET /case HTTP/1.10\r\n%h\r\n"),
    ("version 2.0", Refused, "GET /case HTTP/2.0\r\n%h\r\n"),
    ("version 11", Refused, "GET /case HTTP/11\r\n%h\r\n"),
    ("another protocol", Refused, "GET /case ICAP/1.0\r\n%h\r\n"),
    ("version 1.0 in chunks", Refused, "POST /case HTTP/1.0\r\n%hTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ("the preface of HTTP/2, half", Refused, "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"),
    ("CONNECT", Refused, "CONNECT site.test:80 HTTP/1.1\r\n%h\r\n"),
    ("a method in lower case", Passed, "get /case HTTP/1.1\r\n%h\r\n"),
    ("an empty line before", Passed, "\r\nGET /case HTTP/1.1\r\n%h\r\n"),
    ("an end of line in escapes", Passed, "GET /case%0d%0aHost:%20x%0d%0a HTTP/1.1\r\n%h\r\n"),
    ("a length of nothing", Passed, "GET /case HTTP/1.1\r\n%hContent-Length: 0\r\n\r\n"),
    ("a request in a body", Passed, "GET /case HTTP/1.1\r\n%hContent-Length: 33\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r"),
];

#[rustfmt::skip]
const TARGETS: &[Row] = &[
    ("another host in the target", Refused, "GET http://other.test/case HTTP/1.1\r\n%h\r\n"),
    ("another port in the target", Refused, "GET http://site.test:81/case HTTP/1.1\r\n%h\r\n"),
    ("another host behind a user", Refused, "GET http://site.test@other.test/case HTTP/1.1\r\n%h\r\n"),
    ("a host behind one slash", Refused, "GET http:/other.test/case HTTP/1.1\r\n%h\r\n"),
    ("a host behind backslashes", Refused, "GET http:\\\\other.test/case HTTP/1.1\r\n%h\r\n"),
    ("a backslash before the path", Refused, "GET http://site.test\\@other.test/case HTTP/1.1\r\n%h\r\n"),
    ("no host in the target", Refused, "GET http:///case HTTP/1.1\r\n%h\r\n"),
    ("another scheme", Refused, "GET gopher://site.test/case HTTP/1.1\r\n%h\r\n"),
    ("no slash", Refused, "GET case HTTP/1.1\r\n%h\r\n"),
    ("only a query", Refused, "GET ?case HTTP/1.1\r\n%h\r\n"),
    ("an asterisk", Refused, "GET * HTTP/1.1\r\n%h\r\n"),
    ("a fragment", Passed, "GET /case#/smuggled HTTP/1.1\r\n%h\r\n"),
    ("two hosts", Refused, "GET /case HTTP/1.1\r\n%hHost: other.test\r\n\r\n"),
    ("the same host twice", Refused, "GET /case HTTP/1.1\r\n%hHost: site.test\r\n\r\n"),
    ("a list of hosts", Refused, "GET /case HTTP/1.1\r\nHost: site.test, other.test\r\n\r\n"),
    ("a folded host", Refused, "GET /case HTTP/1.1\r\nHost: site.test\r\n other.test\r\n\r\n"),
    ("a space before the colon", Refused, "GET /case HTTP/1.1\r\nHost : site.test\r\n\r\n"),
    ("a host with a space", Refused, "GET /case HTTP/1.1\r\nHost: site.test other.test\r\n\r\n"),
    ("a host with a path", Refused, "GET /case HTTP/1.1\r\nHost: site.test/smuggled\r\n\r\n"),
    ("a host with a user", Refused, "GET /case HTTP/1.1\r\nHost: site.test@other.test\r\n\r\n"),
    ("a host with a port that is none", Refused, "GET /case HTTP/1.1\r\nHost: site.test:80@other.test\r\n\r\n"),
    ("a host with two ports", Refused, "GET /case HTTP/1.1\r\nHost: site.test:80:81\r\n\r\n"),
    ("a host with a NUL", Refused, "GET /case HTTP/1.1\r\nHost: site.test\0.other.test\r\n\r\n"),
    ("an empty host", Refused, "GET /case HTTP/1.1\r\nHost:\r\n\r\n"),
    ("no host", Refused, "GET /case HTTP/1.1\r\nX-Asked-By: test\r\n\r\n"),
    ("a host of one hop", Refused, "GET /case HTTP/1.1\r\n%hConnection: Host\r\n\r\n"),
    ("a URL of this host", Passed, "GET http://site.test/case HTTP/1.1\r\n%h\r\n"),
    ("two slashes", Passed, "GET //other.test/case HTTP/1.1\r\n%h\r\n"),
];

#[rustfmt::skip]
const FIELDS: &[Row] = &[
    ("a line without a colon", Refused, "GET /case HTTP/1.1\r\n%hX-One\r\n\r\n"),
    ("a name with a space", Refused, "GET /case HTTP/1.1\r\n%hX One: 1\r\n\r\n"),
    ("no name", Refused, "GET /case HTTP/1.1\r\n%h: 1\r\n\r\n"),
    ("a name of HTTP/2", Refused, "GET /case HTTP/1.1\r\n%h:path: /smuggled\r\n\r\n"),
    ("a NUL in a name", Refused, "GET /case HTTP/1.1\r\n%hX\0One: 1\r\n\r\n"),
    ("a bare CR in a name", Refused, "GET /case HTTP/1.1\r\n%hX\rOne: 1\r\n\r\n"),
    ("a DEL in a name", Refused, "GET /case HTTP/1.1\r\n%hX\x7f: 1\r\n\r\n"),
    ("a NUL in a value", Refused, "GET /case HTTP/1.1\r\n%hX-One: a\0b\r\n\r\n"),
    ("a bare CR in a value", Refused, "GET /case HTTP/1.1\r\n%hX-One: a\rb\r\n\r\n"),
    ("a bare CR before the end", Refused, "GET /case HTTP/1.1\r\n%hX-One: a\r\r\n\r\n"),
    ("a request behind a bare CR", Refused, "GET /case HTTP/1.1\r\n%hX-One: a\r\rGET /smuggled HTTP/1.1\rHost: x\r\r\n\r\n"),
    ("an escape in a value", Refused, "GET /case HTTP/1.1\r\n%hX-One: \x1b[31m\r\n\r\n"),
    ("a folded value", Refused, "GET /case HTTP/1.1\r\n%hX-One: a\r\n b\r\n\r\n"),
    ("a value folded by a tab", Refused, "GET /case HTTP/1.1\r\n%hX-One: a\r\n\tb\r\n\r\n"),
    ("a fold before the first field", Refused, "GET /case HTTP/1.1\r\n X-One: a\r\n%h\r\n"),
    ("a line of a blank", Refused, "GET /case HTTP/1.1\r\n%h \r\nGET /smuggled HTTP/1.1\r\n\r\n"),
    ("a name of one hop that is none", Refused, "GET /case HTTP/1.1\r\n%hConnection: \"X-Forwarded-For\"\r\n\r\n"),
    ("names of one hop by the hundred", Refused, "GET /case HTTP/1.1\r\n%hConnection: a,b,c,d,e,f,g,h,i,j,k,l,m\r\n\r\n"),
    ("an expectation that is none", Passed, "POST /case HTTP/1.1\r\n%hExpect: x\r\nContent-Length: 2\r\n\r\n{}"),
    ("a bare LF between lines", Passed, "GET /case HTTP/1.1\nHost: site.test\nX-Asked-By: test\n\n"),
    ("h2c", Passed, "GET /case HTTP/1.1\r\n%hConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n"),
    ("TLS", Passed, "GET /case HTTP/1.1\r\n%hConnection: Upgrade\r\nUpgrade: TLS/1.2\r\n\r\n"),
    ("a WebSocket that the site does not open", Passed, "GET /case HTTP/1.1\r\n%hConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"),
    ("a WebSocket with a length", Passed, "POST /case HTTP/1.1\r\n%hConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\n{}"),
    ("a WebSocket in chunks", Passed, "POST /case HTTP/1.1\r\n%hConnection: Upgrade\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
    ("a close of one hop", Passed, "GET /case HTTP/1.1\r\n%hConnection: close, X-One\r\nX-One: 1\r\n\r\n"),
];

async fn hear_all(rows: &[Row]) {
    let (court, mut verdicts) = (Court::open().await, Verdicts::default());
    for (what, is, request) in rows {
        let hidden = if matches!(is, Refused | Broken) { HIDDEN } else { "" };
        let request = request.replace("%h", "Host: site.test\r\nX-Asked-By: test\r\n") + hidden;
        verdicts.add(&court, court.hear(what, request.as_bytes(), *is)).await;
    }
    verdicts.are_all_right();
}

#[tokio::test]
async fn smuggling_by_request_lines() {
    hear_all(LINES).await;
}

#[tokio::test]
async fn smuggling_by_targets_and_hosts() {
    hear_all(TARGETS).await;
}

#[tokio::test]
async fn smuggling_by_fields() {
    hear_all(FIELDS).await;
}

/// A body that no server reads is no request either (CL.0).
#[tokio::test]
async fn smuggling_by_bodies_that_are_not_read() {
    let court = Court::open().await;
    for (method, path) in [
        ("GET", "/.well-known/agent.json"),
        ("POST", "/.well-known/agent.json"),
        ("GET", "/agent/look"),
        ("PUT", "/agent/converse"),
        ("POST", "/agent/nowhere"),
        ("POST", "/%61gent/look"),
        ("DELETE", "/agent/converse/status/x"),
        ("OPTIONS", "/agent/look"),
    ] {
        for framing in [
            format!("Content-Length: {}\r\n\r\n{HIDDEN}", HIDDEN.len()),
            format!("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{HIDDEN}\r\n0\r\n\r\n", HIDDEN.len()),
        ] {
            let request = format!("{method} {path} HTTP/1.1\r\nHost: site.test\r\nX-Asked-By: test\r\n{framing}");
            let mut conn = court.desk.conn().await;
            conn.send(&request).await;
            let first = conn.response(method).await;
            conn.send("GET /next HTTP/1.1\r\nHost: site.test\r\nX-Asked-By: test\r\n\r\n").await;
            if let Ok(next) = conn.try_response("GET", crate::support::SOON).await {
                assert!(next.text().contains("GET /next"), "{request:?}: {} and then {}", first.status, next.text());
            }
            court.judge(&request, Either).await;
        }
    }
}

/// A client that waits for 100 has sent no body yet, and what it sends then is a body.
#[tokio::test]
async fn smuggling_by_expectations() {
    let court = Court::open().await;
    for path in super::judge::PLACES {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: site.test\r\nX-Asked-By: test\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
        );
        for length in [
            format!("Content-Length: {}\r\n\r\n{BODY}", BODY.len()),
            format!("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{BODY}\r\n0\r\n\r\n", BODY.len()),
        ] {
            court.hear("sent without waiting", format!("{head}{length}").as_bytes(), Passed).await;
        }
        court
            .hear(
                "two framings",
                format!("{head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{HIDDEN}").as_bytes(),
                Refused,
            )
            .await;
        // A body that does not come is no request of the next one.
        let is = if path == "/case" { Broken } else { Refused };
        court.hear("a body that breaks off", format!("{head}Content-Length: 900\r\n\r\n{HIDDEN}").as_bytes(), is).await;
    }
    assert_eq!(court.desk.ask(Via::H1, Ask::get("/after")).await.status, 200);
}
