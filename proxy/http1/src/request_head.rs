//! Which requests are plain: whole, body and all, and spelled so that nobody could read them in another way.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, Version, header, request::Parts};
use httparse::{ParserConfig, Status};

use crate::{
    field::{is_authority, is_padded},
    framing::{COUNTABLE, FOLDED_NAMES, digits},
    hop::{client_keeps, is_of_requests_hop},
};

/// Headers of a plain request at most; pingora reads those that have more.
const MOST: usize = 64;

/// Headers that pingora has to handle, besides those of a hop: they want an interim answer, or are for a proxy.
const NOT_PLAIN: [HeaderName; 4] =
    [header::EXPECT, header::PROXY_AUTHENTICATE, header::PROXY_AUTHORIZATION, header::MAX_FORWARDS];

/// Why a request is not plain: pingora serves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotPlain {
    /// The head has not come as a whole.
    PartOfHead,
    /// The head cannot be parsed.
    Unparsable,
    ManyHeaders,
    HttpVersion,
    OddByte,
    Method,
    Target,
    Host,
    Connection,
    ContentLength,
    EventStream,
    Upgrade,
    TransferEncoding,
    /// Another header that belongs to a hop or wants an interim answer.
    SpecialHeader,
    /// The body has not come with the head.
    PartOfBody,
}

impl NotPlain {
    /// The value of `frontdesk.engine_reason` in the access log.
    pub fn word(self) -> &'static str {
        match self {
            Self::PartOfHead => "part_of_head",
            Self::Unparsable => "unparsable",
            Self::ManyHeaders => "many_headers",
            Self::HttpVersion => "http_version",
            Self::OddByte => "odd_byte",
            Self::Method => "method",
            Self::Target => "target",
            Self::Host => "host",
            Self::Connection => "connection",
            Self::ContentLength => "content_length",
            Self::EventStream => "event_stream",
            Self::Upgrade => "upgrade",
            Self::TransferEncoding => "transfer_encoding",
            Self::SpecialHeader => "special_header",
            Self::PartOfBody => "part_of_body",
        }
    }
}

/// A plain request over HTTP/1.1.
#[derive(Debug)]
pub struct PlainRequest {
    /// Without the case of its names.
    pub parts: Parts,
    /// Of the head as it came, in bytes.
    pub length: usize,
    /// Of the body, which has come with it; only what is posted has one.
    pub body: usize,
    /// The client keeps the connection.
    pub keeps: bool,
}

impl PlainRequest {
    /// Reads a plain request from the beginning of `bytes`.
    ///
    /// # Errors
    ///
    /// It is not all there, or is not plain.
    pub fn parse(bytes: &Bytes) -> Result<Self, NotPlain> {
        let mut headers = [const { std::mem::MaybeUninit::uninit() }; MOST];
        let mut read = httparse::Request::new(&mut []);
        let length = match ParserConfig::default().parse_request_with_uninit_headers(&mut read, bytes, &mut headers) {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) => return Err(NotPlain::PartOfHead),
            Err(httparse::Error::TooManyHeaders) => return Err(NotPlain::ManyHeaders),
            Err(_) => return Err(NotPlain::Unparsable),
        };
        if read.version != Some(1) {
            return Err(NotPlain::HttpVersion);
        }
        if !is_clean(&bytes[..length]) {
            return Err(NotPlain::OddByte);
        }
        let method = match read.method {
            Some("GET") => Method::GET,
            Some("HEAD") => Method::HEAD,
            Some("POST") => Method::POST,
            _ => return Err(NotPlain::Method),
        };
        let target = read.path.filter(|target| target.starts_with('/') && !target.contains('#'));
        let target = target.ok_or(NotPlain::Target)?;
        let (mut request, ()) = Request::new(()).into_parts();
        request.uri = Uri::from_maybe_shared(bytes.slice_ref(target.as_bytes())).map_err(|_| NotPlain::Target)?;
        request.method = method;
        request.version = Version::HTTP_11;
        request.headers.reserve(read.headers.len());
        let mut hosts = 0;
        let mut body = None;
        for header in read.headers.iter() {
            let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| NotPlain::Unparsable)?;
            let value = HeaderValue::from_maybe_shared(bytes.slice_ref(header.value));
            let value = value.map_err(|_| NotPlain::Unparsable)?;
            match name {
                header::HOST if is_authority(&value) => hosts += 1,
                header::HOST => return Err(NotPlain::Host),
                header::CONNECTION if is_plain_option(header.value) => {}
                header::CONNECTION => return Err(NotPlain::Connection),
                header::CONTENT_LENGTH if request.method == Method::POST && body.is_none() => {
                    body = Some(length_of(header.value).ok_or(NotPlain::ContentLength)?);
                }
                header::CONTENT_LENGTH => return Err(NotPlain::ContentLength),
                // An answer to it may be silent for long.
                header::ACCEPT if holds(header.value, b"event-stream") => return Err(NotPlain::EventStream),
                ref name if is_more(name) => return Err(of_header(name)),
                _ => {}
            }
            request.headers.try_append(name, value).map_err(|_| NotPlain::ManyHeaders)?;
        }
        let body = if request.method == Method::POST { body.ok_or(NotPlain::ContentLength)? } else { 0 };
        if hosts != 1 {
            return Err(NotPlain::Host);
        }
        if body > bytes.len() - length {
            return Err(NotPlain::PartOfBody);
        }
        let keeps = client_keeps(Version::HTTP_11, &request.headers);
        Ok(Self { parts: request, length, body, keeps })
    }
}

/// Name and value of each line of a raw head, and both as they were sent.
pub fn lines(raw: &[u8]) -> impl Iterator<Item = (&[u8], &[u8], &[u8])> {
    let mut lines = raw.split(|byte| *byte == b'\n');
    lines.next();
    lines.filter_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        Some((&line[..colon], line[colon + 1..].trim_ascii(), line.trim_ascii_end()))
    })
}

/// Whether a stream of HTTP/2, whose request has ended with its head, asks for something plain. `path`: as it was sent.
///
/// # Errors
///
/// It does not.
pub fn check_stream(
    method: &Method,
    version: Version,
    uri: &Uri,
    path: &[u8],
    headers: &HeaderMap,
) -> Result<(), NotPlain> {
    let visible = |bytes: &[u8]| bytes.iter().all(|byte| matches!(byte, b' '..=b'~'));
    match () {
        () if !matches!(*method, Method::GET | Method::HEAD) => return Err(NotPlain::Method),
        () if version != Version::HTTP_2 => return Err(NotPlain::HttpVersion),
        () if uri.authority().is_none() => return Err(NotPlain::Host),
        () if !path.starts_with(b"/") || !path.iter().all(|byte| matches!(byte, b'!'..=b'~') && *byte != b'#') => {
            return Err(NotPlain::Target);
        }
        () if headers.len() > MOST => return Err(NotPlain::ManyHeaders),
        () => {}
    }
    for (name, value) in headers {
        match *name {
            _ if !visible(value.as_bytes()) || is_padded(value) => return Err(NotPlain::OddByte),
            header::HOST => return Err(NotPlain::Host),
            header::CONNECTION => return Err(NotPlain::Connection),
            header::CONTENT_LENGTH => return Err(NotPlain::ContentLength),
            header::ACCEPT if holds(value.as_bytes(), b"event-stream") => return Err(NotPlain::EventStream),
            ref name if is_more(name) => return Err(of_header(name)),
            _ => {}
        }
    }
    Ok(())
}

/// Why a request with this header is not plain.
#[cold]
fn of_header(name: &HeaderName) -> NotPlain {
    match *name {
        header::UPGRADE => NotPlain::Upgrade,
        header::TRANSFER_ENCODING => NotPlain::TransferEncoding,
        _ => NotPlain::SpecialHeader,
    }
}

/// The value of a `Content-Length` of at most 18 digits. Beyond that parsers disagree, because the number overflows.
fn length_of(value: &[u8]) -> Option<usize> {
    digits(value).filter(|_| value.len() <= COUNTABLE)?.try_into().ok()
}

/// Whether a header makes a request more than plain, or has it refused, and not here.
fn is_more(name: &HeaderName) -> bool {
    is_of_requests_hop(name) || NOT_PLAIN.contains(name) || FOLDED_NAMES.contains(name)
}

/// Nothing but visible characters and spaces, and every line ends with CRLF. The parser accepts more than some sites do.
fn is_clean(head: &[u8]) -> bool {
    let next = head.iter().skip(1);
    let fits = |byte: u8| matches!(byte, b' '..=b'~' | b'\r' | b'\n');
    // All of it at once, without an early end: so it is looked at many bytes at a time. The last byte ends a line.
    head.first().is_some_and(u8::is_ascii_uppercase)
        && head.iter().zip(next).fold(true, |clean, (a, b)| clean & fits(*a) & ((*a == b'\r') == (*b == b'\n')))
}

/// Whether `Connection` says only whether the connection is kept.
fn is_plain_option(value: &[u8]) -> bool {
    value.eq_ignore_ascii_case(b"keep-alive") || value.eq_ignore_ascii_case(b"close")
}

fn holds(value: &[u8], what: &[u8]) -> bool {
    value.len() >= what.len() && value.windows(what.len()).any(|part| part.eq_ignore_ascii_case(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(head: &str) -> Result<PlainRequest, NotPlain> {
        PlainRequest::parse(&Bytes::copy_from_slice(head.as_bytes()))
    }

    #[test]
    fn a_plain_request_is_read_as_it_was_sent() {
        let text = "GET /a?b=%20c HTTP/1.1\r\nhOsT: x\r\nAccept:  text/html \r\nX-A: 1\r\nx-a: 2\r\n\r\n";
        let head = read(&format!("{text}GET /next")).unwrap();
        let target = head.parts.uri.path_and_query().map(|target| target.as_str());
        assert_eq!((target, head.keeps, head.length), (Some("/a?b=%20c"), true, text.len()));
        let lines: Vec<_> = lines(&text.as_bytes()[..head.length]).collect();
        let shown = |n: usize| lines[n].0.escape_ascii().to_string() + "=" + &lines[n].1.escape_ascii().to_string();
        assert_eq!((0..4).map(shown).collect::<Vec<_>>(), ["hOsT=x", "Accept=text/html", "X-A=1", "x-a=2"]);
        assert_eq!((lines.len(), lines[1].2), (4, &b"Accept:  text/html"[..]));
        let posted = read("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nabGET").unwrap();
        assert_eq!((posted.length, posted.body), (47, 2));
        assert!(read("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap().keeps);
        assert!(read("GET / HTTP/1.1\r\nHost: x\r\nConnection: Keep-Alive\r\n\r\n").unwrap().keeps);
        assert!(!read("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap().keeps);
        let both = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n";
        assert!(!read(both).unwrap().keeps);
    }

    #[test]
    fn whatever_is_out_of_the_ordinary_is_left_with_its_reason() {
        for (head, why) in [
            ("GET / HTTP/1.1\r\nHost: x\r\n", NotPlain::PartOfHead),
            ("GET / HTTP/1.0\r\nHost: x\r\n\r\n", NotPlain::HttpVersion),
            ("POST / HTTP/1.1\r\nHost: x\r\n\r\n", NotPlain::ContentLength),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\na", NotPlain::PartOfBody),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\na", NotPlain::ContentLength),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 1\r\n\r\na", NotPlain::ContentLength),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", NotPlain::ContentLength),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551617\r\n\r\na", NotPlain::ContentLength),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\na", NotPlain::ContentLength),
            (
                "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\na",
                NotPlain::TransferEncoding,
            ),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0000000000000000001\r\n\r\na", NotPlain::ContentLength),
            ("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na", NotPlain::Method),
            ("get / HTTP/1.1\r\nHost: x\r\n\r\n", NotPlain::OddByte),
            ("\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", NotPlain::OddByte),
            ("GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n", NotPlain::Target),
            ("GET * HTTP/1.1\r\nHost: x\r\n\r\n", NotPlain::Target),
            ("GET /#a HTTP/1.1\r\nHost: x\r\n\r\n", NotPlain::Target),
            ("GET / HTTP/1.1\r\n\r\n", NotPlain::Host),
            ("GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", NotPlain::Host),
            ("GET / HTTP/1.1\r\nHost: a@x\r\n\r\n", NotPlain::Host),
            ("GET / HTTP/1.1\r\nHost: x:y\r\n\r\n", NotPlain::Host),
            ("GET / HTTP/1.1\r\nHost:\r\n\r\n", NotPlain::Host),
            ("GET / HTTP/1.1\r\nHost: x\r\nContent_Length: 0\r\n\r\n", NotPlain::SpecialHeader),
            ("GET / HTTP/1.1\nHost: x\n\n", NotPlain::OddByte),
            ("GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n", NotPlain::OddByte),
            ("GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", NotPlain::Unparsable),
            ("GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n", NotPlain::Unparsable),
            ("GET / HTTP/1.1\r\nHost: x\r\nA: \tb\r\n\r\n", NotPlain::OddByte),
            ("GET / HTTP/1.1\r\nHost: x\r\nA: \u{e4}\r\n\r\n", NotPlain::OddByte),
            ("GET /\u{e4} HTTP/1.1\r\nHost: x\r\n\r\n", NotPlain::OddByte),
            ("GET / HTTP/1.1\r\nHost: x\r\nConnection: close, a\r\n\r\n", NotPlain::Connection),
            ("GET / HTTP/1.1\r\nHost: x\r\nAccept: text/Event-Stream\r\n\r\n", NotPlain::EventStream),
            ("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", NotPlain::ContentLength),
            ("GET / HTTP/1.1\r\nHost: x\r\ntransfer-encoding: chunked\r\n\r\n", NotPlain::TransferEncoding),
            ("GET / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n", NotPlain::SpecialHeader),
            ("GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n", NotPlain::Upgrade),
            ("GET / HTTP/1.1\r\nHost: x\r\nTE: trailers\r\n\r\n", NotPlain::SpecialHeader),
        ] {
            assert_eq!(read(head).err(), Some(why), "{head:?}");
        }
        let many = "A: b\r\n".repeat(MOST);
        let many = read(&format!("GET / HTTP/1.1\r\nHost: x\r\n{many}\r\n"));
        assert_eq!(many.err(), Some(NotPlain::ManyHeaders));
    }

    #[test]
    fn a_stream_is_left_with_its_reason() {
        let check = |method: Method, uri: &'static str, name: &'static str, value: &'static [u8]| {
            let uri = Uri::from_static(uri);
            let path = uri.path_and_query().map_or("", |path| path.as_str()).to_owned();
            let value = HeaderValue::from_bytes(value).unwrap();
            let headers = HeaderMap::from_iter([(HeaderName::from_static(name), value)]);
            check_stream(&method, Version::HTTP_2, &uri, path.as_bytes(), &headers)
        };
        let get = |name, value| check(Method::GET, "http://x/a", name, value);
        assert_eq!(get("accept", b"text/html"), Ok(()));
        assert_eq!(check(Method::POST, "http://x/a", "a", b"b"), Err(NotPlain::Method));
        assert_eq!(check(Method::GET, "/a", "a", b"b"), Err(NotPlain::Host));
        for (name, value, why) in [
            ("accept", b"text/event-stream".as_slice(), NotPlain::EventStream),
            ("host", b"x", NotPlain::Host),
            ("connection", b"close", NotPlain::Connection),
            ("content-length", b"0", NotPlain::ContentLength),
            ("transfer-encoding", b"chunked", NotPlain::TransferEncoding),
            ("upgrade", b"a", NotPlain::Upgrade),
            ("expect", b"100-continue", NotPlain::SpecialHeader),
            ("a", b"\xe4", NotPlain::OddByte),
            ("a", b" b", NotPlain::OddByte),
        ] {
            assert_eq!(get(name, value), Err(why), "{name}");
        }
        let many = HeaderMap::from_iter(
            (0..=MOST).map(|n| (HeaderName::try_from(format!("a{n}")).unwrap(), HeaderValue::from_static("b"))),
        );
        let uri = Uri::from_static("http://x/");
        assert_eq!(check_stream(&Method::GET, Version::HTTP_2, &uri, b"/", &many), Err(NotPlain::ManyHeaders));
        assert_eq!(check_stream(&Method::GET, Version::HTTP_11, &uri, b"/", &many), Err(NotPlain::HttpVersion));
        assert_eq!(check_stream(&Method::GET, Version::HTTP_2, &uri, b"/#", &many), Err(NotPlain::Target));
    }
}
