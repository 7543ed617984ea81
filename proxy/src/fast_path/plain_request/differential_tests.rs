//! Whatever is plain the library reads differential_tests: the same request, the same body, and the next one from the same byte.
//! Requests are put together from parts that are meant to be read in two ways; with
//! `PROPTEST_CASES` of more than usual.

use std::io::Cursor;

use bytes::Bytes;
use pingora::{http::RequestHeader, protocols::http::v1::server::HttpSession};
use proptest::{
    collection::vec,
    prelude::*,
    sample::select,
    test_runner::{Config, TestRunner},
};

use super::plain;
use crate::front::head::check;

const CASES: u32 = 20_000;

/// Nearly always the first.
fn mostly(usual: &'static str, others: &[&'static str]) -> impl Strategy<Value = &'static str> {
    prop_oneof![12 => Just(usual), 1 => select(others.to_vec())]
}

fn one_of(all: &'static str) -> impl Strategy<Value = &'static str> {
    select(all.split('|').collect::<Vec<_>>())
}

fn line() -> impl Strategy<Value = String> {
    let name = one_of(
        "Host|Content-Length|content-length|Transfer-Encoding|Connection|Expect|TE|Upgrade|Accept|X-A|x-a|X-Forwarded-For|\
         Content_Length|Content-Length |Content-Length\0|Cookie|Range| folded|\tfolded||H\u{f6}st|Keep-Alive|X:Y",
    );
    let value = one_of(
        "x|y:80|0|1|3|+3|-1|0x3|3, 3|003|3 |\t3|9999999999999999999|chunked|Chunked|identity|close|keep-alive|Keep-Alive|\
         close, x-a||a, b|100-continue|text/event-stream|a\u{e4}b|a\u{7f}|a\0b|trailers|a\rb|a\nb|a\r\n b",
    );
    let apart = mostly(": ", &[":", " : ", ":\t", ":  ", "", ";"]);
    let odd = (name, apart, value, mostly("\r\n", &["\n", "\r", "\r\r\n", "\n\r\n"]))
        .prop_map(|(a, b, c, d)| [a, b, c, d].concat());
    let usual = one_of("X-A: b|x-a: b |Connection: close|connection: Keep-Alive|Cookie: a=b; c");
    prop_oneof![2 => odd, 3 => usual.prop_map(|line| format!("{line}\r\n"))]
}

/// Where a byte is changed: to which, or taken out.
fn change() -> impl Strategy<Value = (prop::sample::Index, Option<u8>)> {
    (any::<prop::sample::Index>(), prop::option::of(select(b"\0\t\n\r !#,/0:;A\\_a\x7f\xe4".to_vec())))
}

fn request() -> impl Strategy<Value = Bytes> {
    let method = prop_oneof![8 => one_of("GET|HEAD|POST|POST"), 1 => one_of("PUT|get|OPTIONS|GE\tT")];
    let target =
        mostly("/a/b?c=%20d", &["/", "//x/y", "/%2e%2e/", "/a\\b", "*", "http://z/", "/#a", "/\u{e4}", "", "/a b"]);
    let version = mostly("HTTP/1.1", &["HTTP/1.0", "HTTP/1.2", "http/1.1", "HTTP/1.1 ", "HTTP/2.0", ""]);
    let end = mostly("\r\n", &["\n", "\r", "\r\n\r\n", ""]);
    let host =
        mostly("Host: x\r\n", &["", "Host: x y\r\n", "Host:\r\n", "Host: x:y\r\n", "Host: a@x\r\n", "host:x\r\n"]);
    let length = one_of("|Content-Length: 3\r\n|Content-Length: 0\r\n|Content-Length: 03\r\n");
    let body = one_of("abc|abcGET / HTTP/1.1\r\n\r\n||ab|0\r\n\r\n|3\r\nabc\r\n0\r\n\r\n");
    let before = mostly("", &["\r\n", "\n", " "]);
    let head = (before, method, mostly(" ", &["  ", "\t"]), target, mostly(" ", &["  ", "\t"]), version);
    let changes = prop_oneof![4 => Just(Vec::new()), 1 => vec(change(), 1..3)];
    (head, end, host, length, vec(line(), 0..4), end_of_head(), body, changes).prop_map(
        |((before, method, one, target, two, version), end, host, length, lines, over, body, changes)| {
            let parts = [before, method, one, target, two, version, end, host, length, &lines.concat(), over, body];
            let mut request = parts.concat().into_bytes();
            for (at, byte) in changes {
                let at = at.index(request.len());
                match byte {
                    Some(byte) => request[at] = byte,
                    None => drop(request.remove(at)),
                }
            }
            // It is shown as text.
            request.into()
        },
    )
}

fn end_of_head() -> impl Strategy<Value = &'static str> {
    mostly("\r\n", &["\n", "\r", "\r\n\r\n", " \r\n", ""])
}

/// What the library makes of the same bytes.
struct Read {
    request: RequestHeader,
    head: Bytes,
    body: Vec<u8>,
    keeps: bool,
}

async fn by_library(bytes: &[u8]) -> Option<Read> {
    let mut session = HttpSession::new(Box::new(Cursor::new(bytes.to_vec())));
    session.read_request().await.ok()??;
    session.respect_keepalive();
    let mut body = Vec::new();
    while let Some(part) = session.read_body_bytes().await.ok()? {
        body.extend_from_slice(&part);
    }
    let (request, head) = (session.req_header().clone(), session.get_headers_raw_bytes());
    Some(Read { request, head, body, keeps: session.will_keepalive() })
}

fn lines(request: &RequestHeader) -> String {
    let mut wire = Vec::new();
    request.header_to_h1_wire(&mut wire);
    String::from_utf8(wire).expect("visible characters")
}

#[test]
fn the_library_reads_the_same_in_whatever_is_plain() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let config = Config::default();
    let cases = config.cases.max(CASES);
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..config });
    let plainly = std::cell::Cell::new(0);
    let held = runner.run(&request(), |bytes| {
        let Ok(ours) = plain(&bytes) else { return Ok(()) };
        plainly.set(plainly.get() + 1);
        let theirs = runtime.block_on(by_library(&bytes));
        let theirs = theirs.ok_or_else(|| TestCaseError::fail("the library does not read it"))?;
        let sent = &ours.sent;
        prop_assert_eq!(&sent.request.method, &theirs.request.method);
        prop_assert_eq!(sent.request.raw_path(), theirs.request.raw_path());
        prop_assert_eq!(sent.request.version, theirs.request.version);
        prop_assert_eq!(&sent.request.headers, &theirs.request.headers);
        prop_assert_eq!(lines(&sent.to_be_changed().expect("lines")), lines(&theirs.request));
        prop_assert_eq!(sent.raw.as_ref(), Some(&theirs.head));
        prop_assert_eq!(ours.length, theirs.head.len());
        prop_assert_eq!(&bytes[ours.length..ours.length + ours.body], &theirs.body[..]);
        // Of several lines that differ the library believes one; a connection that is closed too early harms nobody.
        prop_assert!(theirs.keeps || !ours.keeps);
        prop_assert_eq!(check(&theirs.request, Some(&theirs.head), bytes.len()), Ok(()));
        Ok(())
    });
    if let Err(e) = held {
        panic!("{e}");
    }
    assert!(plainly.get() > cases / 20, "{} of {cases} were plain", plainly.get());
}
