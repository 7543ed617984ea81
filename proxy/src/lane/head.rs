//! Which requests are plain: whole, body and all, and spelled so that nobody could read them otherwise.

#[cfg(test)]
mod likewise;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Uri, Version, header};
use httparse::{ParserConfig, Status};
use pingora::{
    Result,
    http::{RequestHeader, header_value_from_raw},
};

use crate::{
    framing::digits,
    front::{
        answer_head::is_padded,
        head::{COUNTABLE, FRAMING_FOLDED, is_authority},
    },
};

/// Headers of a plain request at most; who sends more is read by the library.
const MOST: usize = 64;

/// What makes a request more than plain: a body in parts, another protocol, an answer in between, a hop's own business.
const NOT_PLAIN: [&str; 11] = [
    "transfer-encoding",
    "expect",
    "upgrade",
    "te",
    "trailer",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "keep-alive",
    "http2-settings",
    "max-forwards",
];

/// A plain request as it was sent.
pub struct Sent {
    /// Without the case of its names.
    pub request: RequestHeader,
    /// As it came over HTTP/1.
    pub raw: Option<Bytes>,
}

/// A plain request over HTTP/1.
pub struct Head {
    pub sent: Sent,
    /// Of the head as it came, in bytes.
    pub length: usize,
    /// Of the body, which has come with it; only what is posted has one.
    pub body: usize,
    /// The client keeps the connection.
    pub keeps: bool,
}

/// Reads a plain request from the beginning of `bytes`; `None` where it is not all there, or is not plain.
pub fn plain(bytes: &Bytes) -> Option<Head> {
    let mut headers = [const { std::mem::MaybeUninit::uninit() }; MOST];
    let mut read = httparse::Request::new(&mut []);
    let length = match ParserConfig::default().parse_request_with_uninit_headers(&mut read, bytes, &mut headers) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) | Err(_) => return None,
    };
    if read.version != Some(1) || !is_clean(&bytes[..length]) {
        return None;
    }
    let method = match read.method? {
        "GET" => Method::GET,
        "HEAD" => Method::HEAD,
        "POST" => Method::POST,
        _ => return None,
    };
    let target = read.path?;
    if !target.starts_with('/') || target.contains('#') {
        return None;
    }
    let (mut request, ()) = Request::new(()).into_parts();
    request.uri = Uri::from_maybe_shared(bytes.slice_ref(target.as_bytes())).ok()?;
    request.method = method;
    request.version = Version::HTTP_11;
    request.headers.reserve(read.headers.len());
    let mut keeps = true;
    let mut hosts = 0;
    let mut body = None;
    for header in read.headers.iter() {
        let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
        let value = HeaderValue::from_maybe_shared(bytes.slice_ref(header.value)).ok()?;
        match name {
            header::HOST if is_authority(&value) => hosts += 1,
            header::HOST => return None,
            header::CONNECTION => keeps &= kept(header.value)?,
            header::CONTENT_LENGTH if request.method == Method::POST && body.is_none() => {
                body = Some(length_of(header.value)?);
            }
            header::CONTENT_LENGTH => return None,
            // An answer to it may be silent for long.
            header::ACCEPT if holds(header.value, b"event-stream") => return None,
            ref name if is_more(name) => return None,
            _ => {}
        }
        request.headers.try_append(name, value).ok()?;
    }
    let body = if request.method == Method::POST { body? } else { 0 };
    let whole = body <= bytes.len() - length;
    let sent = || Sent { request: request.into(), raw: Some(bytes.slice(..length)) };
    (hosts == 1 && whole).then(|| Head { sent: sent(), length, body, keeps })
}

impl Sent {
    /// Name and value of each of its lines, and both as they were sent; none over HTTP/2.
    pub fn lines(&self) -> impl Iterator<Item = (&[u8], &[u8], &[u8])> {
        let mut lines = self.raw.as_deref().unwrap_or_default().split(|byte| *byte == b'\n');
        lines.next();
        lines.filter_map(|line| {
            let colon = memchr::memchr(b':', line)?;
            Some((&line[..colon], line[colon + 1..].trim_ascii(), line.trim_ascii_end()))
        })
    }

    /// The same, to be changed: its names keep their case.
    pub fn to_be_changed(&self) -> Result<RequestHeader> {
        let Some(raw) = &self.raw else { return Ok(self.request.clone()) };
        let room = Some(self.request.headers.len() + ROOM);
        let mut request = RequestHeader::build(self.request.method.clone(), self.request.raw_path(), room)?;
        for (name, value, _) in self.lines() {
            request.append_header(raw.slice_ref(name), header_value_from_raw(raw.slice_ref(value)))?;
        }
        Ok(request)
    }
}

/// A length as it may be written; none that is long enough to be something else to somebody.
fn length_of(value: &[u8]) -> Option<usize> {
    digits(value).filter(|_| value.len() <= COUNTABLE)?.try_into().ok()
}

/// Whether a header makes a request more than plain, or has it refused, and not here.
fn is_more(name: &HeaderName) -> bool {
    NOT_PLAIN.contains(&name.as_str()) || FRAMING_FOLDED.contains(name)
}

/// Whether a stream of HTTP/2, whose request has ended with its head, asks for something plain.
pub fn is_plain(request: &RequestHeader) -> bool {
    let visible = |bytes: &[u8]| bytes.iter().all(|byte| matches!(byte, b' '..=b'~'));
    let path = request.raw_path();
    matches!(request.method, Method::GET | Method::HEAD)
        && request.version == Version::HTTP_2
        && request.uri.authority().is_some()
        && path.starts_with(b"/")
        && path.iter().all(|byte| matches!(byte, b'!'..=b'~') && *byte != b'#')
        && request.headers.len() <= MOST
        && request.headers.iter().all(|(name, value)| {
            visible(value.as_bytes())
                && !is_padded(value)
                && match *name {
                    header::HOST | header::CONNECTION | header::CONTENT_LENGTH => false,
                    header::ACCEPT => !holds(value.as_bytes(), b"event-stream"),
                    ref name => !is_more(name),
                }
        })
}

/// For what the site is told besides.
const ROOM: usize = 8;

/// Nothing but visible characters and spaces, and whole ends of lines: the parser is kinder than some site may be.
fn is_clean(head: &[u8]) -> bool {
    let next = head.iter().skip(1);
    let fits = |byte: u8| matches!(byte, b' '..=b'~' | b'\r' | b'\n');
    // All of it at once, without an early end: so it is looked at many bytes at a time. The last byte ends a line.
    head.first().is_some_and(u8::is_ascii_uppercase)
        && head.iter().zip(next).fold(true, |clean, (a, b)| clean & fits(*a) & ((*a == b'\r') == (*b == b'\n')))
}

/// Whether the connection is kept; `None` where its header says more than that.
fn kept(value: &[u8]) -> Option<bool> {
    match value {
        keep if keep.eq_ignore_ascii_case(b"keep-alive") => Some(true),
        close if close.eq_ignore_ascii_case(b"close") => Some(false),
        _ => None,
    }
}

fn holds(value: &[u8], what: &[u8]) -> bool {
    value.len() >= what.len() && value.windows(what.len()).any(|part| part.eq_ignore_ascii_case(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(head: &str) -> Option<Head> {
        plain(&Bytes::copy_from_slice(head.as_bytes()))
    }

    #[test]
    fn a_plain_request_is_read_as_it_was_sent() {
        let text = "GET /a?b=%20c HTTP/1.1\r\nhOsT: x\r\nAccept:  text/html \r\nX-A: 1\r\nx-a: 2\r\n\r\n";
        let head = read(&format!("{text}GET /next")).unwrap();
        assert_eq!((head.sent.request.raw_path(), head.keeps), (&b"/a?b=%20c"[..], true));
        assert_eq!(head.length, text.len());
        let mut wire = Vec::new();
        head.sent.to_be_changed().unwrap().header_to_h1_wire(&mut wire);
        assert_eq!(String::from_utf8(wire).unwrap(), "hOsT: x\r\nAccept: text/html\r\nX-A: 1\r\nx-a: 2\r\n");
        let posted = read("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nabGET").unwrap();
        assert_eq!((posted.length, posted.body), (47, 2));
        assert!(read("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap().keeps);
        assert!(read("GET / HTTP/1.1\r\nHost: x\r\nConnection: Keep-Alive\r\n\r\n").unwrap().keeps);
        assert!(!read("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap().keeps);
        let both = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n";
        assert!(!read(both).unwrap().keeps);
    }

    #[test]
    fn whatever_is_out_of_the_ordinary_is_left() {
        for head in [
            "GET / HTTP/1.1\r\nHost: x\r\n",
            "GET / HTTP/1.0\r\nHost: x\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\na",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\na",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 1\r\n\r\na",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551617\r\n\r\na",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\na",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\na",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0000000000000000001\r\n\r\na",
            "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na",
            "get / HTTP/1.1\r\nHost: x\r\n\r\n",
            "\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET * HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET /#a HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a@x\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x:y\r\n\r\n",
            "GET / HTTP/1.1\r\nHost:\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nContent_Length: 0\r\n\r\n",
            "GET / HTTP/1.1\nHost: x\n\n",
            "GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nA: \tb\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nA: \u{e4}\r\n\r\n",
            "GET /\u{e4} HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nConnection: close, a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nAccept: text/Event-Stream\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\ntransfer-encoding: chunked\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nTE: trailers\r\n\r\n",
        ] {
            assert!(read(head).is_none(), "{head:?}");
        }
        let many = "A: b\r\n".repeat(MOST);
        assert!(read(&format!("GET / HTTP/1.1\r\nHost: x\r\n{many}\r\n")).is_none());
    }
}
