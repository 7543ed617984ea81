//! How the end of a body is known (RFC 9112 §6), and whether its connection can be used again: one decision for both
//! HTTP engines and for requests of our own.
//!
//! A response goes on with one framing of ours: a Content-Length, `Transfer-Encoding: chunked`, or none. What could be
//! read in two ways is refused, or at least the connection to the site is not used again.

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, header};

use crate::edit_head::EditHead;

/// Digits of a length that fits into 63 bits whatever they are.
pub const COUNTABLE: usize = 18;

/// The names that frame a message, as a site spells them that makes no difference between `-` and `_`.
pub const FOLDED_NAMES: [HeaderName; 2] =
    [HeaderName::from_static("content_length"), HeaderName::from_static("transfer_encoding")];

/// A length as it may be written (RFC 9110 §8.6): digits, and nothing else.
pub fn digits(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let value = |so_far: u64, byte: &u8| so_far.checked_mul(10)?.checked_add(digit(byte)?);
    (!text.is_empty()).then(|| text.iter().try_fold(0, value))?
}

/// The length in bytes that `Content-Length` announces, if it is one.
pub fn announced(headers: &HeaderMap) -> Option<u64> {
    digits(headers.get(header::CONTENT_LENGTH)?.as_bytes())
}

/// Whether a response of that status has no body, whatever the method (RFC 9110 §6.4.1).
pub fn is_bodiless(status: StatusCode) -> bool {
    matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

/// Whether a response shows that the site has read the request's body. A careless site answers from the head alone and
/// takes the body for the next request. Most such responses are redirects and errors, or answer a method without a body.
pub fn shows_body_was_read(method: &Method, status: StatusCode) -> bool {
    matches!(*method, Method::POST | Method::PUT | Method::PATCH) && status.is_success()
}

/// Whether bytes that came when no request was waiting may be a response to nobody, which the next client would get.
///
/// Line ends after a body are common and harmless. With 408 a site says that it closes an idle connection (RFC 9110
/// §15.5.9). Some sites send it without waiting for a request.
pub fn is_unasked(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii_start();
    let is_timeout = bytes.starts_with(b"HTTP/1.1 408") || bytes.starts_with(b"HTTP/1.0 408");
    !bytes.is_empty() && !is_timeout
}

/// Whether the client holds the body back until it is asked for (`Expect: 100-continue`, RFC 9110 §10.1.1).
pub fn is_held_back(headers: &HeaderMap) -> bool {
    headers.get(header::EXPECT).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// Looks for a Content-Length line in a raw head.
pub fn has_content_length(raw: &[u8]) -> bool {
    const NAME: &[u8] = b"content-length:";
    raw.split(|b| *b == b'\n')
        .skip(1)
        .any(|line| line.len() >= NAME.len() && line[..NAME.len()].eq_ignore_ascii_case(NAME))
}

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
        _ if says(lines, b"close") => false,
        // As every such site writes it, and pingora reads it.
        Version::HTTP_09 | Version::HTTP_10 => {
            let mut options = lines.options();
            let only = options.next().filter(|_| options.next().is_none());
            only.is_some_and(|only| only.trim_ascii().eq_ignore_ascii_case(b"keep-alive")) && !has_coding
        }
        _ => true,
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
///
/// # Errors
///
/// Where the head takes no more lines.
pub fn reframe<H: EditHead>(head: &mut H, status: StatusCode, body: Body) -> Result<(), H::Error> {
    let coding = matches!(body, Body::Chunked);
    let length = match body {
        // What a 200 would have had, for HEAD and 304. An interim answer and a 204 have none (RFC 9110 §8.6).
        Body::Absent => {
            let coded = head.headers().contains_key(header::TRANSFER_ENCODING);
            !coded && status != StatusCode::NO_CONTENT && !status.is_informational()
        }
        Body::Length(_) => true,
        Body::Chunked | Body::UntilClose => false,
    };
    if !coding {
        head.remove(&header::TRANSFER_ENCODING);
    }
    if !length {
        head.remove(&header::CONTENT_LENGTH);
    }
    let chunked = HeaderValue::from_static("chunked");
    if coding && head.headers().get(header::TRANSFER_ENCODING) != Some(&chunked) {
        head.insert(header::TRANSFER_ENCODING, chunked)?;
    }
    say_length_once(head)
}

/// A length that a site says twice, and the same each time, is one to us (RFC 9110 §8.6). Strict clients, and those over
/// HTTP/2, take two of them for none.
fn say_length_once<H: EditHead>(head: &mut H) -> Result<(), H::Error> {
    let mut lengths = head.headers().get_all(header::CONTENT_LENGTH).iter();
    let Some(first) = lengths.next() else { return Ok(()) };
    if lengths.next().is_none() && !first.as_bytes().contains(&b',') {
        return Ok(());
    }
    let first = first.as_bytes().split(|byte| *byte == b',').next().unwrap_or_default();
    match digits(first) {
        Some(length) => head.insert(header::CONTENT_LENGTH, HeaderValue::from(length)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_and_timeouts_are_no_unasked_response() {
        for harmless in ["", "\r\n", "\n\n", "HTTP/1.1 408 Request Timeout\r\n", "\r\nHTTP/1.0 408 x"] {
            assert!(!is_unasked(harmless.as_bytes()), "{harmless}");
        }
        for unasked in ["HTTP/1.1 200 OK\r\n", "H", "\r\nHTTP/1.1 40", "</html>"] {
            assert!(is_unasked(unasked.as_bytes()), "{unasked}");
        }
    }

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
        assert_eq!(keeps("Content-Length: 5|Connection: x, keep-alive"), Ok(false));
        assert_eq!(keeps("Content-Length: 5|Connection: keep-alive, close"), Ok(false));
        assert_eq!(keeps("Content-Length: 5|Connection: keep-alive|Connection: close"), Ok(false));
        assert_eq!(keeps("Content-Length: 5|Connection: x|Connection: keep-alive"), Ok(false));
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
            let mut sent = head(lines);
            reframe(&mut sent, StatusCode::from_u16(*status).unwrap(), *body).unwrap();
            assert_eq!(sent, head(expected), "{status} {lines}");
        }
    }
}
