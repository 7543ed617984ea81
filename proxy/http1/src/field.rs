//! Names and values of header fields.

use http::{HeaderName, HeaderValue};

/// Fields of a response that matter on its way through a proxy, told apart once by the length of their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldClass {
    Connection,
    ContentLength,
    TransferEncoding,
    /// It belongs to one hop and says nothing about the body.
    HopByHop,
    /// It announces trailers, which are passed over in most cases.
    Trailer,
    Date,
    /// It leads elsewhere.
    Location,
    /// It may name an address of the site.
    Address,
}

impl FieldClass {
    /// By its name, in whatever case.
    pub fn of(name: &[u8]) -> Option<Self> {
        let begins = |letter: u8| name[0] | 0x20 == letter;
        let (lower, class): (&[u8], Self) = match name.len() {
            4 if begins(b'd') => (b"date", Self::Date),
            4 => (b"link", Self::Address),
            7 if begins(b't') => (b"trailer", Self::Trailer),
            7 if begins(b'u') => (b"upgrade", Self::HopByHop),
            7 => (b"refresh", Self::Address),
            8 => (b"location", Self::Location),
            10 if begins(b'c') => (b"connection", Self::Connection),
            10 if begins(b'k') => (b"keep-alive", Self::HopByHop),
            10 => (b"set-cookie", Self::Address),
            14 => (b"content-length", Self::ContentLength),
            16 if begins(b'p') => (b"proxy-connection", Self::HopByHop),
            16 => (b"content-location", Self::Address),
            17 => (b"transfer-encoding", Self::TransferEncoding),
            _ => return None,
        };
        // Of one length, which the arm has settled; without an early end, so many bytes are looked at at a time. A token
        // has no byte that becomes another's small letter but a letter.
        name.iter().zip(lower).fold(true, |same, (a, b)| same & (a | 0x20 == *b)).then_some(class)
    }
}

/// A name that is always the same.
#[derive(Debug)]
pub struct FixedName {
    /// To be compared.
    pub name: HeaderName,
    /// As people are used to read it.
    pub cased: &'static str,
}

impl FixedName {
    pub const fn new(name: HeaderName, cased: &'static str) -> Self {
        Self { name, cased }
    }
}

/// Whether a value begins or ends with a blank.
pub fn is_padded(value: &HeaderValue) -> bool {
    let blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    blank(value.as_bytes().first()) || blank(value.as_bytes().last())
}

/// Whether a Host is a host with or without a port, and nothing else that an authority could hold.
pub fn is_authority(host: &HeaderValue) -> bool {
    // Nearly all of them; the rest is for a parser.
    let named =
        |name: &[u8]| !name.is_empty() && name.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'));
    let (name, port) = match host.as_bytes().iter().rposition(|b| *b == b':') {
        Some(at) => (&host.as_bytes()[..at], &host.as_bytes()[at + 1..]),
        None => (host.as_bytes(), &b"0"[..]),
    };
    if named(name) && (1..=5).contains(&port.len()) && port.iter().all(u8::is_ascii_digit) {
        return true;
    }
    host.to_str().ok().and_then(|h| h.parse::<http::uri::Authority>().ok()).is_some_and(|a| {
        let port = a.as_str().strip_prefix(a.host()).unwrap_or("@");
        let numeric = port.strip_prefix(':').is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()));
        !a.as_str().contains('@') && (port.is_empty() || numeric)
    })
}

/// Writes a line of a head.
pub fn put(wire: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    for part in [name, b": ", value, b"\r\n"] {
        wire.extend_from_slice(part);
    }
}

/// The same for a value in pieces.
pub fn put_of(wire: &mut Vec<u8>, name: &[u8], value: &[&[u8]]) {
    for part in [name, b": "].iter().chain(value).chain(&[&b"\r\n"[..]]) {
        wire.extend_from_slice(part);
    }
}

/// The same for one that was sent as `whole`: mostly there is nothing to put together.
pub fn put_as_sent(wire: &mut Vec<u8>, name: &[u8], value: &[u8], whole: &[u8]) {
    if whole.len() == name.len() + 2 + value.len() && whole[name.len()..].starts_with(b": ") {
        wire.extend_from_slice(whole);
        wire.extend_from_slice(b"\r\n");
    } else {
        put(wire, name, value);
    }
}

/// A name as people are used to read it over HTTP/1, where pingora would write most in small letters.
pub fn cased(name: &HeaderName) -> Option<&'static str> {
    Some(match name.as_str() {
        "accept" => "Accept",
        "accept-encoding" => "Accept-Encoding",
        "accept-signature" => "Accept-Signature",
        "allow" => "Allow",
        "cache-control" => "Cache-Control",
        "content-encoding" => "Content-Encoding",
        "content-length" => "Content-Length",
        "content-signal" => "Content-Signal",
        "content-type" => "Content-Type",
        "content-usage" => "Content-Usage",
        "etag" => "ETag",
        "forwarded" => "Forwarded",
        "host" => "Host",
        "idempotency-replayed" => "Idempotency-Replayed",
        "link" => "Link",
        "location" => "Location",
        "ratelimit" => "RateLimit",
        "ratelimit-policy" => "RateLimit-Policy",
        "retry-after" => "Retry-After",
        "set-cookie" => "Set-Cookie",
        "user-agent" => "User-Agent",
        "vary" => "Vary",
        "via" => "Via",
        "www-authenticate" => "WWW-Authenticate",
        "x-forwarded-for" => "X-Forwarded-For",
        "x-forwarded-host" => "X-Forwarded-Host",
        "x-forwarded-proto" => "X-Forwarded-Proto",
        "x-frontdesk-agent" => "X-Frontdesk-Agent",
        "x-frontdesk-caller" => "X-Frontdesk-Caller",
        "x-frontdesk-flags" => "X-Frontdesk-Flags",
        "x-frontdesk-verified" => "X-Frontdesk-Verified",
        "x-markdown-tokens" => "X-Markdown-Tokens",
        "x-ratelimit-limit" => "X-RateLimit-Limit",
        "x-ratelimit-remaining" => "X-RateLimit-Remaining",
        "x-ratelimit-reset" => "X-RateLimit-Reset",
        "x-ratelimit-window" => "X-RateLimit-Window",
        "x-real-ip" => "X-Real-IP",
        "x-request-id" => "X-Request-Id",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_known_in_whatever_case() {
        for (name, class) in [
            ("Date", Some(FieldClass::Date)),
            ("CONTENT-LENGTH", Some(FieldClass::ContentLength)),
            ("transfer-Encoding", Some(FieldClass::TransferEncoding)),
            ("Keep-Alive", Some(FieldClass::HopByHop)),
            ("Trailer", Some(FieldClass::Trailer)),
            ("content_length", None),
            ("Content-Type", None),
            ("Dat", None),
        ] {
            assert_eq!(FieldClass::of(name.as_bytes()), class, "{name}");
        }
    }

    #[test]
    fn a_host_is_a_host() {
        for (host, is) in
            [("x", true), ("a.b:80", true), ("[::1]:8", true), ("a@x", false), ("x:y", false), ("", false)]
        {
            assert_eq!(is_authority(&HeaderValue::from_static(host)), is, "{host}");
        }
    }

    #[test]
    fn a_line_that_needs_no_change_is_copied_as_it_was_sent() {
        for (whole, line) in [("A: b", "A: b\r\n"), ("A:b", "A: b\r\n"), ("A:  b", "A: b\r\n"), ("A : b", "A: b\r\n")] {
            let mut wire = Vec::new();
            put_as_sent(&mut wire, b"A", b"b", whole.as_bytes());
            assert_eq!(wire, line.as_bytes(), "{whole}");
        }
    }
}
