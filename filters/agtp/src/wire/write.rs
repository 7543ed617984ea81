//! Writes replies: the status line, the headers in AGTP's spelling, the body.

use bytes::{BufMut, BytesMut};
use http::{HeaderName, StatusCode, header};

use super::BEGINNING;
use frontdesk_base::reply::Reply;

/// Appends a reply. Headers keep their order, and the body's type and length come last. A header value cannot contain
/// a line break, because its type forbids it.
pub fn write(reply: &Reply, out: &mut BytesMut) {
    let Reply { status, headers, body, .. } = reply;
    let bodiless = *status == StatusCode::NO_CONTENT;
    let body: &[u8] = if bodiless { &[] } else { body };
    let lines: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    out.reserve(64 + lines + body.len());

    out.put_slice(BEGINNING);
    out.put_slice(status.as_str().as_bytes());
    out.put_u8(b' ');
    out.put_slice(reason(*status).as_bytes());
    out.put_slice(b"\r\n");
    let kinds = headers.iter().filter(|(name, _)| *name == header::CONTENT_TYPE && !bodiless);
    for (name, value) in headers.iter().filter(|(name, _)| !OURS.contains(name)).chain(kinds) {
        spelled(name, out);
        out.put_slice(b": ");
        out.put_slice(value.as_bytes());
        out.put_slice(b"\r\n");
    }
    out.put_slice(b"Content-Length: ");
    decimal(body.len(), out);
    out.put_slice(b"\r\n\r\n");
    out.put_slice(body);
}

/// Headers of framing or of another protocol's connection, which a reply must not set.
const OURS: [HeaderName; 5] =
    [header::CONTENT_TYPE, header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::CONNECTION, header::UPGRADE];

/// The reason phrase (base draft, AGTP-API §11).
fn reason(status: StatusCode) -> &'static str {
    match status.as_u16() {
        261 => "Negotiation In Progress",
        262 => "Authorization Required",
        263 => "Proposal Approved",
        408 => "Timeout",
        422 => "Unprocessable Entity",
        429 => "Rate Limited",
        455 => "Scope Violation",
        456 => "Budget Exceeded",
        457 => "Zone Violation",
        458 => "Counterparty Unverified",
        459 => "Method Violation",
        460 => "Endpoint Violation",
        461 => "RCNS Contract Available",
        463 => "Proposal Rejected",
        464 => "RCNS No Contract",
        500 => "Server Error",
        503 => "Unavailable",
        550 => "Delegation Failure",
        551 => "Authority Chain Broken",
        _ => status.canonical_reason().unwrap_or("Unknown"),
    }
}

/// Words that are not spelled with one capital letter.
const WORDS: [(&str, &str); 8] = [
    ("agtp", "AGTP"),
    ("api", "API"),
    ("etag", "ETag"),
    ("id", "ID"),
    ("ratelimit", "RateLimit"),
    ("rcns", "RCNS"),
    ("ttl", "TTL"),
    ("www", "WWW"),
];

/// Writes a name as the drafts spell it: `Server-ID`, `AGTP-API-Version`, `Trust-Tier`. Names are case-insensitive,
/// but people read them.
fn spelled(name: &HeaderName, out: &mut BytesMut) {
    // The exception to the spelling rules.
    if name == "rcns-attempt-id" {
        return out.put_slice(b"RCNS-Attempt-Id");
    }
    for (at, word) in name.as_str().split('-').enumerate() {
        if at > 0 {
            out.put_u8(b'-');
        }
        if let Some((_, spelled)) = WORDS.iter().find(|(plain, _)| *plain == word) {
            out.put_slice(spelled.as_bytes());
        } else if let Some((first, rest)) = word.as_bytes().split_first() {
            out.put_u8(first.to_ascii_uppercase());
            out.put_slice(rest);
        }
    }
}

/// A number in decimal digits.
fn decimal(number: usize, out: &mut BytesMut) {
    let mut digits = [0; 20];
    let (mut rest, mut at) = (number, digits.len());
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.put_slice(&digits[at..]);
}
