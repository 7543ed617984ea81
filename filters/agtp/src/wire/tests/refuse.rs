//! Invalid requests, their refusals, and whether the connection continues.

use super::*;
use crate::wire::Wants;

#[test]
fn a_wrong_line_is_refused_and_the_next_is_read() {
    let lines = [
        ("AGTP/1.0 QUERY /a#b", Some("QUERY"), "`#`"),
        ("AGTP/1.0 QUERY /a?b#c", Some("QUERY"), "`#`"),
        ("AGTP/1.0 QU#RY /a", None, "`#`"),
        ("AGTP/1.0 QUERY  /a", Some("QUERY"), "One space"),
        ("AGTP/1.0  QUERY /a", None, "One space"),
        ("AGTP/1.0 QUERY /a b", Some("QUERY"), "One space"),
        ("AGTP/1.0 QUERY /a ", Some("QUERY"), "One space"),
        ("AGTP/1.0 QUERY ", Some("QUERY"), "One space"),
        ("AGTP/1.0 QUERY /a AGTP/1.0", Some("QUERY"), "One space"),
        ("AGTP/1.0 QUERY agtp://host/a", Some("QUERY"), "begins with `/`"),
        ("AGTP/1.0 QUERY *", Some("QUERY"), "begins with `/`"),
        ("AGTP/1.0 QUERY /\u{e4}", Some("QUERY"), "visible ASCII"),
        ("AGTP/1.0 QUERY /\t", Some("QUERY"), "visible ASCII"),
        ("AGTP/1.0 QUERY /\0", Some("QUERY"), "visible ASCII"),
        ("AGTP/1.0 Q\u{dc}RY /", None, "no token"),
        ("AGTP/1.0 Q(RY /", None, "no token"),
        ("AGTP/1.0 QUERY\t/", None, "no token"),
        ("AGTP/1.0 ", None, "no token"),
    ];
    for (line, method, said) in lines {
        let mut reader = fed(format!("{line}\r\nContent-Length: 3\r\n\r\nabcAGTP/1.0 QUERY /next\r\n\r\n"));
        let refused = reader.next_frame().expect_err(line);
        assert_eq!((refused.code, refused.closes, refused.reason), ("invalid-request-line", false, "malformed"));
        assert!(refused.detail.contains(said), "{line:?}: {}", refused.detail);
        assert_eq!(refused.frame.as_ref().map(|frame| frame.method.as_str()), method, "{line:?}");
        assert!(refused.frame.is_none_or(|frame| frame.body == "abc" && frame.target == "/"), "{line:?}");
        assert_eq!(reader.next_frame().unwrap().unwrap().target, "/next", "{line:?}");
    }
}

#[test]
fn what_is_wrong_is_told_once_the_body_is_there() {
    let mut reader = fed("AGTP/1.0 QUERY /a#b\r\nContent-Length: 3\r\n\r\nab");
    assert!(reader.next_frame().unwrap().is_none());
    assert_eq!(reader.wants(), Wants::Body);
    reader.buffer().extend_from_slice(b"c");
    assert!(!reader.next_frame().unwrap_err().closes);
}

/// The refusal has this code, closes, and is the last answer.
fn closes(bytes: impl AsRef<[u8]>, code: &str, said: &str) {
    let bytes = bytes.as_ref();
    let shown = String::from_utf8_lossy(bytes);
    let mut reader = fed(bytes);
    let refused = reader.next_frame().expect_err(&shown);
    assert_eq!((refused.code, refused.closes), (code, true), "{shown:?}: {}", refused.detail);
    assert!(refused.detail.contains(said), "{shown:?}: {}", refused.detail);
    assert_eq!(refused.frame.is_some(), code == "request-too-large" && shown.ends_with("\r\n\r\n"), "{shown:?}");
    assert_eq!(reader.wants(), Wants::Nothing);
    reader.buffer().extend_from_slice(b"AGTP/1.0 QUERY /\r\n\r\n");
    assert!(reader.next_frame().unwrap().is_none(), "{shown:?}: nothing is read behind it");
}

#[test]
fn another_protocol_is_told_so_at_its_first_bytes() {
    let tls = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
    let others = ["GET", "PRI * HTTP/2.0\r\n", "AGTP/1.1 QUERY /", "agtp/1.0 QUERY /", "AGTP/1.01", "AGTP/1.0\r\n"];
    for other in others.map(str::as_bytes).into_iter().chain([&tls[..], b"\r\n", b"\n", b" AGTP"]) {
        closes(other, "invalid-request-line", "begins with `AGTP/1.0`");
    }
    assert!(fed("AGTP/1.0").next_frame().unwrap().is_none(), "so far it may be one");
}

#[test]
fn a_line_ends_in_one_way_only() {
    let framing = |bytes: &str, said: &str| closes(bytes, "invalid-framing", said);
    framing("AGTP/1.0 QUERY /\nA: b\r\n\r\n", "LF alone");
    framing("AGTP/1.0 QUERY /\n", "LF alone");
    framing("AGTP/1.0 QUERY /\r\nA: b\n", "LF alone");
    framing("AGTP/1.0 QUERY /\r\nA: b\r\n\n", "LF alone");
    framing("AGTP/1.0 QUERY /\r\n\n", "LF alone");
    framing("AGTP/1.0 QUERY /\rA: b\r\n\r\n", "carriage return");
    framing("AGTP/1.0 QUERY /\r\r\n\r\n", "carriage return");
    framing("AGTP/1.0 QUERY /\r\nA: b\rC: d\r\n\r\n", "control character");
    framing("AGTP/1.0 QUERY /\r\nA: b\r\r\n\r\n", "control character");
}

#[test]
fn a_header_is_one_line_with_a_name() {
    let framing = |line: &str, said: &str| {
        closes(format!("AGTP/1.0 QUERY /\r\nX: y\r\n{line}\r\nContent-Length: 5\r\n\r\n"), "invalid-framing", said);
    };
    framing(" folded", "goes on in the next line");
    framing("\tfolded: x", "goes on in the next line");
    framing("no colon", "no header");
    framing(": value", "no header");
    framing("Content-Length : 5", "no header");
    framing("Na me: x", "no header");
    framing("N\u{e4}me: x", "no header");
    framing("Name: a\0b", "control character");
    framing("Name: a\u{7f}b", "control character");
}

#[test]
fn one_length_in_digits_or_none() {
    let framing = |lines: &str, said: &str| {
        closes(format!("AGTP/1.0 QUERY /\r\n{lines}\r\n\r\nabcdefgh"), "invalid-framing", said);
    };
    framing("Content-Length: 3\r\nContent-Length: 3", "more than one");
    framing("Content-Length: 3\r\nA: b\r\ncontent-length: 8", "more than one");
    for length in ["", "-1", "+3", "3, 3", "3,8", "0x3", "3 3", "three", "3.0", "\u{b3}", "\u{663}"] {
        framing(&format!("Content-Length: {length}"), "digits");
    }
    for coding in ["chunked", "identity", "", "gzip"] {
        framing(&format!("Transfer-Encoding: {coding}"), "Transfer-Encoding");
        framing(&format!("Content-Length: 3\r\ntransfer-encoding: {coding}"), "Transfer-Encoding");
    }
}

#[test]
fn what_is_too_large_is_refused_before_it_is_read() {
    let large = |bytes: String, said: &str| closes(bytes, "request-too-large", said);
    for length in ["65", "18446744073709551615", "18446744073709551616", &"9".repeat(400)] {
        large(format!("AGTP/1.0 QUERY /\r\nContent-Length: {length}\r\n\r\n"), "64 bytes");
    }
    large(format!("AGTP/1.0 QUERY /{}", "x".repeat(BOUNDS.head)), "1024 bytes");
    large(format!("AGTP/1.0 QUERY /\r\n{}", "A: b\r\n".repeat(300)), "1024 bytes");
    let mut reader = Reader::new(Bounds { head: 10_000, body: 0 });
    reader.buffer().extend_from_slice(format!("AGTP/1.0 QUERY /\r\n{}\r\n", "A: b\r\n".repeat(257)).as_bytes());
    let refused = reader.next_frame().unwrap_err();
    assert_eq!((refused.code, refused.closes), ("request-too-large", true));
    assert!(refused.detail.contains("256 headers"), "{}", refused.detail);
    assert_eq!(refused.frame.unwrap().headers.len(), 256);
}

#[test]
fn what_is_not_read_to_its_end_says_all_the_same_what_it_asks() {
    let head = "AGTP/1.0 QUERY /a\r\nAgent-ID: x\r\nContent-Length: 64\r\n\r\n";
    let mut waits = fed(format!("{head}ab"));
    assert!(waits.next_frame().unwrap().is_none());
    let late = waits.late();
    assert_eq!((late.code, late.closes, waits.wants()), ("request-timeout", true, Wants::Nothing));
    let large = head.replace("64", "65");
    for (refused, head) in [(late, head), (refused(format!("{large}ab")), &large)] {
        let frame = refused.frame.unwrap();
        assert_eq!((frame.method.as_str(), frame.target.as_str()), ("QUERY", "/a"));
        assert_eq!(frame.headers["agent-id"], "x");
        assert!(frame.body.is_empty());
        assert_eq!(frame.digest, ring::digest::digest(&ring::digest::SHA256, head.as_bytes()).as_ref());
    }
    let unread = refused("AGTP/1.0 QUERY /#\r\nContent-Length: 65\r\n\r\n");
    assert_eq!((unread.code, unread.frame.unwrap().target.as_str()), ("request-too-large", "/"));
    assert!(refused("AGTP/1.0 QU(RY /\r\nContent-Length: 65\r\n\r\n").frame.is_none());
}

#[test]
fn a_bound_that_shrinks_within_a_head_holds() {
    let mut reader = fed(format!("AGTP/1.0 QUERY /{}", "x".repeat(100)));
    assert!(reader.next_frame().unwrap().is_none());
    reader.hold_to(Bounds { head: 32, body: 0 });
    assert_eq!(reader.next_frame().unwrap_err().code, "request-too-large");
}

#[test]
fn a_refusal_is_told_as_json() {
    let reply = crate::unread(&refused("AGTP/1.0 QUERY /#\r\n\r\n"));
    let body: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
    assert_eq!((reply.status.as_u16(), &body["status"]), (400, &400.into()));
    assert_eq!(
        (&body["code"], &body["error"]["code"]),
        (&"invalid-request-line".into(), &"invalid-request-line".into())
    );
    assert_eq!(body["error"]["method"], "QUERY");
    let written = written(&reply);
    assert!(written.starts_with("AGTP/1.0 400 Bad Request\r\n"), "{written}");
    assert!(written.contains("\r\nContent-Type: application/vnd.agtp+json\r\nContent-Length: "), "{written}");
}
