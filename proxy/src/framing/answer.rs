//! How a site's answer is framed (RFC 9112 §6): one decision for the fast path, the library's way and our own requests.
//!
//! An answer goes on with one framing of ours: a Content-Length, `Transfer-Encoding: chunked`, or none. What could be
//! read in two ways is refused, or at least the connection to the site is not used again.

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, header};
use pingora::{Result, http::ResponseHeader};

use super::digits;
use crate::answer::is_bodiless;

/// Interim answers (1xx) that one request may be given. More are a fault of the site.
pub const MOST_INTERIM: usize = 32;

/// The lines of an answer's head that frame its body or say what becomes of the connection.
pub trait Lines {
    /// The values of the `Transfer-Encoding` lines.
    fn codings(&self) -> impl Iterator<Item = &[u8]>;
    /// The values of the `Content-Length` lines.
    fn lengths(&self) -> impl Iterator<Item = &[u8]>;
    /// The values of the `Connection` lines.
    fn options(&self) -> impl Iterator<Item = &[u8]>;
}

impl Lines for HeaderMap {
    fn codings(&self) -> impl Iterator<Item = &[u8]> {
        self.get_all(header::TRANSFER_ENCODING).iter().map(HeaderValue::as_bytes)
    }

    fn lengths(&self) -> impl Iterator<Item = &[u8]> {
        self.get_all(header::CONTENT_LENGTH).iter().map(HeaderValue::as_bytes)
    }

    fn options(&self) -> impl Iterator<Item = &[u8]> {
        self.get_all(header::CONNECTION).iter().map(HeaderValue::as_bytes)
    }
}

/// How the end of a body is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// There is no body, whatever the head says.
    Absent,
    Length(u64),
    Chunked,
    /// The body ends with the connection, or with the stream over HTTP/2.
    UntilClose,
}

/// What is decided about one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framing {
    pub body: Body,
    /// The connection to the site may be used again once the body has been read.
    pub keeps: bool,
}

/// Decides how an answer is framed.
///
/// # Errors
///
/// Why it cannot be passed on, in words for the operator.
pub fn of(method: &Method, status: StatusCode, version: Version, lines: &impl Lines) -> Result<Framing, &'static str> {
    let has_coding = lines.codings().next().is_some();
    let has_length = lines.lengths().next().is_some();
    let absent = *method == Method::HEAD || is_bodiless(status) || status.is_informational();
    let coded = if has_coding { coded(lines) } else { None };
    let body = match (absent, has_coding) {
        (true, true) => Body::Absent,
        (false, true) => coded.ok_or("the answer's Transfer-Encoding is not `chunked`, once")?,
        (_, false) => match (length(lines)?, absent) {
            (_, true) => Body::Absent,
            (Some(length), false) => Body::Length(length),
            (None, false) => Body::UntilClose,
        },
    };
    // A 204 has no body (RFC 9112 §6.3). One that announces a body is likely to send it, as the next one's answer.
    let announces = has_coding || length(lines)?.is_some_and(|length| length > 0);
    let stray = status == StatusCode::NO_CONTENT && announces;
    let ambiguous = has_coding && (has_length || coded != Some(Body::Chunked));
    let keeps = match version {
        _ if stray || ambiguous || body == Body::UntilClose => false,
        Version::HTTP_09 | Version::HTTP_10 => says(lines, b"keep-alive") && !has_coding,
        _ => !says(lines, b"close"),
    };
    Ok(Framing { body, keeps })
}

/// What the `Transfer-Encoding` lines say together: `chunked` once, or the old word for none.
fn coded(lines: &impl Lines) -> Option<Body> {
    // An empty member counts: the library reads `chunked,` otherwise than `chunked`.
    let mut members = lines.codings().flat_map(|value| value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii));
    match (members.next()?, members.next()) {
        (chunked, None) if chunked.eq_ignore_ascii_case(b"chunked") => Some(Body::Chunked),
        (identity, None) if identity.eq_ignore_ascii_case(b"identity") => Some(Body::UntilClose),
        _ => None,
    }
}

/// The length that all `Content-Length` lines agree on. Beside a transfer coding they mean nothing.
fn length(lines: &impl Lines) -> Result<Option<u64>, &'static str> {
    if lines.codings().next().is_some() {
        return Ok(None);
    }
    let mut all = lines.lengths().flat_map(|value| value.split(|byte| *byte == b','));
    let Some(first) = all.next() else { return Ok(None) };
    let length = digits(first).filter(|length| all.all(|other| digits(other) == Some(*length)));
    length.map(Some).ok_or("the answer has no valid Content-Length")
}

/// Whether `Connection` says so.
fn says(lines: &impl Lines, option: &[u8]) -> bool {
    lines.options().flat_map(members).any(|member| member.eq_ignore_ascii_case(option))
}

/// The members of a list that are not empty.
fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|member| !member.is_empty())
}

/// Leaves in a head those lines that frame the body as it was decided, each of them once.
pub fn reframe(head: &mut ResponseHeader, body: Body) -> Result<()> {
    let coding = matches!(body, Body::Chunked);
    let length = match body {
        // What a 200 would have had, for HEAD and 304. An interim answer and a 204 have none (RFC 9110 §8.6).
        Body::Absent => {
            let coded = head.headers.contains_key(header::TRANSFER_ENCODING);
            !coded && head.status != StatusCode::NO_CONTENT && !head.status.is_informational()
        }
        Body::Length(_) => true,
        Body::Chunked | Body::UntilClose => false,
    };
    drop_unless(head, coding, &header::TRANSFER_ENCODING);
    drop_unless(head, length, &header::CONTENT_LENGTH);
    if coding && head.headers.get(header::TRANSFER_ENCODING).is_none_or(|coding| coding != "chunked") {
        head.insert_header(header::TRANSFER_ENCODING, "chunked")?;
    }
    say_length_once(head)
}

/// Looked for first: most lines are not there, and the library removes from two maps.
fn drop_unless(head: &mut ResponseHeader, keep: bool, name: &HeaderName) {
    if !keep && head.headers.contains_key(name) {
        head.remove_header(name);
    }
}

/// A length that a site says twice, and the same each time, is one to us (RFC 9110 §8.6). Strict clients, and those over
/// HTTP/2, take two of them for none.
fn say_length_once(head: &mut ResponseHeader) -> Result<()> {
    let mut lengths = head.headers.get_all(header::CONTENT_LENGTH).iter();
    let Some(first) = lengths.next() else { return Ok(()) };
    if lengths.next().is_none() && !first.as_bytes().contains(&b',') {
        return Ok(());
    }
    let first = first.as_bytes().split(|byte| *byte == b',').next().unwrap_or_default();
    match digits(first) {
        Some(length) => head.insert_header(header::CONTENT_LENGTH, HeaderValue::from(length)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A head's lines, separated by bars.
    fn head(lines: &str) -> HeaderMap {
        let pairs = lines.split('|').filter_map(|line| line.split_once(':'));
        pairs.map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.trim().parse().unwrap())).collect()
    }

    fn decided(status: u16, lines: &str) -> Option<(Body, bool)> {
        let status = StatusCode::from_u16(status).unwrap();
        of(&Method::GET, status, Version::HTTP_11, &head(lines)).ok().map(|framing| (framing.body, framing.keeps))
    }

    /// A status, a head's lines, and what is decided.
    type Row = (u16, &'static str, Option<(Body, bool)>);

    #[test]
    fn an_answer_has_one_framing_or_is_refused() {
        use Body::*;
        #[rustfmt::skip]
        let rows: &[Row] = &[
            (200, "Content-Length: 5", Some((Length(5), true))),
            (200, "Content-Length: 5|Connection: close", Some((Length(5), false))),
            (200, "Content-Length: 5|Connection: x, Close", Some((Length(5), false))),
            (200, "Content-Length: 5|Content-Length: 5, 5", Some((Length(5), true))),
            (200, "Content-Length: 5|Content-Length: 6", None),
            (200, "Content-Length: +5", None),
            (200, "Content-Length: 5,", None),
            (200, "", Some((UntilClose, false))),
            (200, "Transfer-Encoding: chunked", Some((Chunked, true))),
            (200, "Transfer-Encoding: CHUNKED|Connection: close", Some((Chunked, false))),
            (200, "Transfer-Encoding: chunked,", None),
            (200, "Transfer-Encoding: chunked, chunked", None),
            (200, "Transfer-Encoding: chunked|Transfer-Encoding: chunked", None),
            (200, "Transfer-Encoding: chunked|Transfer-Encoding: identity", None),
            (200, "Transfer-Encoding: identity|Transfer-Encoding: chunked", None),
            (200, "Transfer-Encoding: gzip, chunked", None),
            (200, "Transfer-Encoding: chunked, gzip", None),
            (200, "Transfer-Encoding: chunked;q=1", None),
            (200, "Transfer-Encoding: x", None),
            (200, "Transfer-Encoding:", None),
            (200, "Transfer-Encoding: identity", Some((UntilClose, false))),
            (200, "Transfer-Encoding: chunked|Content-Length: 2", Some((Chunked, false))),
            (200, "Transfer-Encoding: chunked|Content-Length: two", Some((Chunked, false))),
            (200, "Transfer-Encoding: identity|Content-Length: 2", Some((UntilClose, false))),
            (204, "", Some((Absent, true))),
            (204, "Content-Length: 0", Some((Absent, true))),
            (204, "Content-Length: 5", Some((Absent, false))),
            (204, "Transfer-Encoding: chunked", Some((Absent, false))),
            (204, "Transfer-Encoding: chunked, chunked", Some((Absent, false))),
            (304, "Content-Length: 77", Some((Absent, true))),
            (304, "Transfer-Encoding: chunked", Some((Absent, true))),
            (304, "Transfer-Encoding: gzip, chunked", Some((Absent, false))),
            (304, "Content-Length: two", None),
            (103, "Transfer-Encoding: chunked", Some((Absent, true))),
            (205, "Content-Length: 0", Some((Length(0), true))),
        ];
        for (status, lines, expected) in rows {
            assert_eq!(decided(*status, lines), *expected, "{status} {lines}");
        }
    }

    #[test]
    fn an_older_site_keeps_a_connection_only_where_it_says_so() {
        let keeps =
            |lines| of(&Method::GET, StatusCode::OK, Version::HTTP_10, &head(lines)).map(|framing| framing.keeps);
        assert_eq!(keeps("Content-Length: 5"), Ok(false));
        assert_eq!(keeps("Content-Length: 5|Connection: keep-alive"), Ok(true));
        assert_eq!(keeps("Transfer-Encoding: chunked|Connection: keep-alive"), Ok(false));
    }

    #[test]
    fn an_answer_to_head_has_no_body() {
        let of_head = |lines| of(&Method::HEAD, StatusCode::OK, Version::HTTP_11, &head(lines));
        for (lines, keeps) in [("Content-Length: 5", true), ("Transfer-Encoding: chunked", true), ("", true)] {
            assert_eq!(of_head(lines), Ok(Framing { body: Body::Absent, keeps }), "{lines}");
        }
    }

    #[test]
    fn a_head_goes_on_with_one_framing() {
        #[rustfmt::skip]
        let rows: &[(u16, Body, &str, &str)] = &[
            (200, Body::Length(5), "content-length: 5|content-length: 5", "content-length: 5"),
            (200, Body::Length(5), "content-length: 5 , 5", "content-length: 5"),
            (200, Body::Chunked, "transfer-encoding: Chunked,|content-length: 5", "transfer-encoding: chunked"),
            (200, Body::UntilClose, "transfer-encoding: identity|content-length: 5", ""),
            (200, Body::Absent, "transfer-encoding: chunked", ""),
            (200, Body::Absent, "content-length: 5, 5", "content-length: 5"),
            (204, Body::Absent, "transfer-encoding: chunked|content-length: 0", ""),
            (304, Body::Absent, "transfer-encoding: chunked", ""),
            (304, Body::Absent, "content-length: 5", "content-length: 5"),
            (304, Body::Absent, "transfer-encoding: chunked|content-length: 5", ""),
            (103, Body::Absent, "content-length: 5|link: </a>", "link: </a>"),
        ];
        for (status, body, lines, expected) in rows {
            let mut sent = ResponseHeader::build(*status, None).unwrap();
            head(lines).iter().for_each(|(name, value)| {
                sent.append_header(name.clone(), value.clone()).unwrap();
            });
            reframe(&mut sent, *body).unwrap();
            assert_eq!(sent.headers, head(expected), "{status} {lines}");
        }
    }
}
