//! Valid requests.

use http::Method;

use super::*;
use crate::wire::Wants;

/// The worked example.
const EXAMPLE: &str = "AGTP/1.0 QUERY /catalog?category=lamps\r\n\
    Agent-ID: 61de55ba3388aec4fdf6ecfc6eef846fb0f1b13e28cc8381270c27ffa313aee5\r\n\
    Request-ID: 01991b5e-0000-7000-8000-000000000001\r\nTask-ID: t-77\r\nContent-Length: 0\r\n\r\n";

#[test]
fn the_example_is_read_byte_for_byte() {
    assert_eq!(EXAMPLE.len(), 202);
    let read = frame(EXAMPLE);
    assert_eq!((read.method.as_str(), read.target.as_str()), ("QUERY", "/catalog?category=lamps"));
    assert_eq!(read.headers["task-id"], "t-77");
    assert_eq!(read.headers.len(), 4);
    assert!(read.body.is_empty());
    assert_eq!(hex(&read.digest), "07dc76e9832b4e8d02f8794b1cde7d040787df00f011ae9b6e25da8572e26c9a");
}

#[test]
fn a_line_without_a_path_asks_for_the_root() {
    let read = frame("AGTP/1.0 DESCRIBE\r\n\r\n");
    assert_eq!((read.method.as_str(), read.target.as_str()), ("DESCRIBE", "/"));
    let read = frame("AGTP/1.0 DISCOVER\r\nAccept: */*\r\n\r\n");
    assert_eq!((read.target.as_str(), &read.headers["accept"]), ("/", &"*/*".parse().unwrap()));
}

#[test]
fn a_missing_length_is_no_body() {
    let mut reader = fed("AGTP/1.0 QUERY /a\r\n\r\nAGTP/1.0 QUERY /b\r\n\r\n");
    for target in ["/a", "/b"] {
        let read = reader.next_frame().unwrap().unwrap();
        assert_eq!((read.target.as_str(), read.body.len()), (target, 0));
    }
    assert!(reader.next_frame().unwrap().is_none());
    assert_eq!(reader.wants(), Wants::Request);
}

#[test]
fn a_method_that_can_be_read_gets_through_whatever_it_is() {
    for method in ["query", "CHECK-OUT", "X-TRY", "GET", "AUDIT_LEGACY", "Q", "HEAD", "CONNECT", &"A".repeat(40)] {
        assert_eq!(frame(format!("AGTP/1.0 {method} /\r\n\r\n")).method.as_str(), method);
    }
    assert_eq!(frame("AGTP/1.0 GET /\r\n\r\n").method, Method::GET);
}

#[test]
fn the_target_is_as_it_was_sent() {
    for target in ["/", "/a//b/", "/%67et?x=%23&y=?", "/a?b?c", "/{x}", "/a;b=c@d:e", "//host/x", "/.."] {
        assert_eq!(frame(format!("AGTP/1.0 QUERY {target}\r\n\r\n")).target, target);
    }
}

#[test]
fn header_values_lose_the_blanks_around_them() {
    let read = frame("AGTP/1.0 QUERY /\r\nA:b\r\nB: \t c d \t\r\nC:\r\nD:  \r\nA: e\r\n\r\n");
    assert_eq!(read.headers["b"], "c d");
    assert_eq!((read.headers["c"].as_bytes(), read.headers["d"].as_bytes()), (&b""[..], &b""[..]));
    assert_eq!(read.headers.get_all("a").iter().count(), 2);
    assert_eq!(frame(b"AGTP/1.0 QUERY /\r\nA: \xff\xfe\tx\r\n\r\n").headers["a"].as_bytes(), b"\xff\xfe\tx");
}

#[test]
fn the_body_is_as_long_as_it_is_said_to_be() {
    let mut reader = fed("AGTP/1.0 EXECUTE /a\r\nContent-Length: 005\r\n\r\n12");
    assert!(reader.next_frame().unwrap().is_none());
    assert_eq!(reader.wants(), Wants::Body);
    reader.buffer().extend_from_slice(b"345AGTP");
    let read = reader.next_frame().unwrap().unwrap();
    assert_eq!(read.body, "12345");
    assert!(reader.next_frame().unwrap().is_none());
    assert_eq!((reader.wants(), &reader.buffer()[..]), (Wants::Head, &b"AGTP"[..]));
    let whole = "AGTP/1.0 EXECUTE /a\r\nContent-Length: 005\r\n\r\n12345";
    assert_eq!(read.digest, ring::digest::digest(&ring::digest::SHA256, whole.as_bytes()).as_ref());
}

#[test]
fn exactly_the_bounds_still_fit() {
    let padding = BOUNDS.head - "AGTP/1.0 QUERY /\r\nA: \r\nContent-Length: 64\r\n\r\n".len();
    let request = |more: usize| {
        let value = "x".repeat(padding + more);
        format!("AGTP/1.0 QUERY /\r\nA: {value}\r\nContent-Length: 64\r\n\r\n{}", "y".repeat(BOUNDS.body))
    };
    assert_eq!(frame(request(0)).body.len(), 64);
    assert_eq!(refused(request(1)).code, "request-too-large");
    let mut reader = fed(&request(1)[..BOUNDS.head - 1]);
    assert!(reader.next_frame().unwrap().is_none(), "one byte less could still end in time");
}

#[test]
fn an_idle_reader_holds_nothing() {
    let mut reader = fed(EXAMPLE);
    drop(reader.next_frame().unwrap().unwrap());
    assert_eq!(reader.buffer().capacity(), 0);
    assert_eq!(reader.wants(), Wants::Request);
}

#[test]
fn other_bounds_hold_from_the_next_head_on() {
    let mut reader = fed("AGTP/1.0 QUERY /\r\nContent-Length: 60\r\n\r\n");
    assert!(reader.next_frame().unwrap().is_none());
    reader.hold_to(Bounds { head: 1024, body: 8 });
    reader.buffer().extend_from_slice(&[b'x'; 60]);
    assert!(reader.next_frame().unwrap().is_some());
    reader.buffer().extend_from_slice(b"AGTP/1.0 QUERY /\r\nContent-Length: 60\r\n\r\n");
    assert_eq!(reader.next_frame().unwrap_err().code, "request-too-large");
}
