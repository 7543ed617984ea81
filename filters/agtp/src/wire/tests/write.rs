//! The bytes of replies.

use http::{HeaderName, HeaderValue, StatusCode, header};

use super::*;
use frontdesk_base::Reply;

fn name(name: &str) -> HeaderName {
    HeaderName::from_bytes(name.as_bytes()).unwrap()
}

fn reply(status: u16, headers: &[(&str, &str)], body: &str) -> Reply {
    let headers = headers.iter().map(|(n, v)| (name(n), HeaderValue::from_str(v).unwrap())).collect();
    Reply { headers, body: body.to_owned().into(), ..Reply::empty(StatusCode::from_u16(status).unwrap()) }
}

/// The worked example, without its record.
#[test]
fn the_example_is_written_byte_for_byte() {
    let agent = "61de55ba3388aec4fdf6ecfc6eef846fb0f1b13e28cc8381270c27ffa313aee5";
    let audit = "1d600b5fe63aa55a435a638d0891a07226eb02f2d2df1f585b47abd08d00841c";
    let headers = [
        ("Server-ID", "gw.example.test"),
        ("Agent-ID", agent),
        ("Task-ID", "t-77"),
        ("Request-ID", "01991b5e-0000-7000-8000-000000000001"),
        ("Response-ID", "01991b5e-0000-7000-8000-000000000002"),
        ("Owner-ID", "owner:example.test"),
        ("Trust-Tier", "2"),
        ("Verification-Path", "org-asserted"),
        ("Trust-Warning", "verification-incomplete"),
        ("Attribution-Record", "x"),
        ("Audit-ID", audit),
    ];
    let body = "{\"items\":[{\"id\":\"L1\",\"name\":\"Desk lamp\"}]}";
    let mut lines: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    lines.insert(0, "AGTP/1.0 200 OK".into());
    lines.extend(["Content-Type: application/vnd.agtp+json", "Content-Length: 42", "", body].map(String::from));
    let typed = ("Content-Type", "application/vnd.agtp+json");
    let expected = lines.join("\r\n");
    assert_eq!(written(&reply(200, &[&headers[..], &[typed]].concat(), body)), expected);
    assert_eq!(written(&reply(200, &[&[typed], &headers[..]].concat(), body)), expected, "wherever the type stood");
    // The record of the example has 934 characters.
    assert_eq!(expected.len() - 1 + 934, 1492);
}

#[test]
fn names_are_spelled_as_the_drafts_do() {
    let names = [
        "Server-ID",
        "Agent-ID",
        "Audit-ID",
        "Owner-ID",
        "Session-ID",
        "Response-ID",
        "RCNS-Attempt-Id",
        "AGTP-API-Version",
        "AGTP-Catalog-Warning",
        "AGTP-Endpoint-Warning",
        "Contract-Synthesized",
        "Supported-Methods",
        "Continuation-Token",
        "ETag",
        "Cache-Control",
        "WWW-Authenticate",
        "RateLimit-Policy",
        "X-RateLimit-Limit",
        "Retry-After",
    ];
    for spelled in names {
        assert!(written(&reply(200, &[(spelled, "x")], "")).contains(&format!("\r\n{spelled}: x\r\n")), "{spelled}");
    }
}

#[test]
fn every_status_has_its_name() {
    let names = [
        (200, "OK"),
        (202, "Accepted"),
        (204, "No Content"),
        (261, "Negotiation In Progress"),
        (262, "Authorization Required"),
        (263, "Proposal Approved"),
        (400, "Bad Request"),
        (401, "Unauthorized"),
        (403, "Forbidden"),
        (404, "Not Found"),
        (405, "Method Not Allowed"),
        (408, "Timeout"),
        (409, "Conflict"),
        (410, "Gone"),
        (422, "Unprocessable Entity"),
        (425, "Too Early"),
        (429, "Rate Limited"),
        (455, "Scope Violation"),
        (456, "Budget Exceeded"),
        (457, "Zone Violation"),
        (458, "Counterparty Unverified"),
        (459, "Method Violation"),
        (460, "Endpoint Violation"),
        (461, "RCNS Contract Available"),
        (463, "Proposal Rejected"),
        (464, "RCNS No Contract"),
        (500, "Server Error"),
        (501, "Not Implemented"),
        (503, "Unavailable"),
        (550, "Delegation Failure"),
        (551, "Authority Chain Broken"),
        (999, "Unknown"),
    ];
    for (status, reason) in names {
        let expected = format!("AGTP/1.0 {status} {reason}\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(written(&reply(status, &[], "")), expected);
    }
}

#[test]
fn nothing_but_the_body_says_how_long_it_is() {
    let headers =
        [("Content-Length", "7"), ("Transfer-Encoding", "chunked"), ("Connection", "close"), ("Upgrade", "h2c")];
    assert_eq!(written(&reply(200, &headers, "ab")), "AGTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab");
    let long = "x".repeat(123_456);
    assert!(written(&reply(200, &[], &long)).ends_with(&format!("\r\nContent-Length: 123456\r\n\r\n{long}")));
}

#[test]
fn no_content_has_neither_body_nor_type() {
    let no_content = reply(204, &[("Content-Type", "text/plain"), ("Task-ID", "1")], "left over");
    assert_eq!(written(&no_content), "AGTP/1.0 204 No Content\r\nTask-ID: 1\r\nContent-Length: 0\r\n\r\n");
}

#[test]
fn replies_stand_one_behind_the_other() {
    let mut out = BytesMut::from("before");
    for body in ["a", "bc"] {
        crate::wire::write(&Reply::new(StatusCode::OK, "text/plain", body), &mut out);
    }
    let one = |body: &str| {
        format!("AGTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    };
    assert_eq!(out, format!("before{}{}", one("a"), one("bc")));
    assert!(HeaderValue::from_bytes(b"a\r\nb").is_err(), "the type of a value keeps the end of a line out");
    assert!(HeaderName::from_bytes(header::ETAG.as_str().as_bytes()).is_ok());
}
