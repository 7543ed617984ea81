//! Parses a complete head: the request line, the headers, and the length of the body.

use http::{HeaderMap, HeaderName, HeaderValue, Method, header};

use super::{BEGINNING, refused::Refused};

/// Maximum headers of a request.
const MOST_HEADERS: usize = 256;

/// A complete head.
pub(super) struct Head {
    /// The request line, with the target (path and query) as sent. Or the error in it, with the method if that is
    /// readable.
    pub(super) line: Result<(Method, String), (Refused, Option<Method>)>,
    pub(super) headers: HeaderMap,
}

/// The length of the body. Or why the body is not read; the connection then closes although the request is known.
type Body = Result<usize, Refused>;

/// Parses a head, from the first byte of the request line to the empty line. Lines end in CRLF.
///
/// # Errors
///
/// The end of the request is ambiguous, so the connection has to close.
pub(super) fn read(head: &[u8], most_body: usize) -> Result<(Head, Body), Refused> {
    let mut lines = head.split(|b| *b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let first = lines.next().unwrap_or_default();
    if first.contains(&b'\r') {
        return Err(Refused::framing(BARE_RETURN));
    }
    let line = request_line(first.get(BEGINNING.len()..).unwrap_or_default());
    let mut headers = HeaderMap::with_capacity(16);
    for header in lines.filter(|line| !line.is_empty()) {
        let (name, value) = field(header)?;
        if headers.len() == MOST_HEADERS {
            return Ok((Head { line, headers }, Err(Refused::too_many_headers(MOST_HEADERS))));
        }
        headers.append(name, value);
    }
    let length = length(&headers)?;
    let body = if length <= most_body { Ok(length) } else { Err(Refused::body_too_large(most_body)) };
    Ok((Head { line, headers }, body))
}

const BARE_RETURN: &str =
    "A carriage return stands alone. End each line with CR and LF, and use them for nothing else.";

/// `METHOD TARGET`, or `METHOD` alone, which means the root.
fn request_line(line: &[u8]) -> Result<(Method, String), (Refused, Option<Method>)> {
    let (method, target) = match line.iter().position(|b| *b == b' ') {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, &b"/"[..]),
    };
    // A number sign is valid in a token, but not in a request line (§5.6).
    let method = Method::from_bytes(method).ok().filter(|_| !method.contains(&b'#'));
    match (method, wrong(line, target)) {
        (Some(method), None) => Ok((method, String::from_utf8_lossy(target).into_owned())),
        (None, None) => Err((Refused::line("The method is no token. Send one of the verbs of the catalog."), None)),
        (method, Some(detail)) => Err((Refused::line(detail), method)),
    }
}

/// What is wrong with the target, or with its line.
fn wrong(line: &[u8], target: &[u8]) -> Option<&'static str> {
    if line.contains(&b'#') {
        Some("A request line holds no `#`. Leave the fragment out, or write `%23`.")
    } else if target.contains(&b' ') || target.is_empty() || line.starts_with(b" ") {
        Some("One space stands between the version, the method and the path, and none after it. Write blanks as `%20`.")
    } else if !target.iter().all(u8::is_ascii_graphic) {
        Some("The path holds something else than visible ASCII. Percent-encode it.")
    } else if !target.starts_with(b"/") {
        Some("What is asked for is a path that begins with `/`. Send no URI; who is asked stands in the connection.")
    } else {
        None
    }
}

/// `Name: value`.
fn field(line: &[u8]) -> Result<(HeaderName, HeaderValue), Refused> {
    if line.starts_with(b" ") || line.starts_with(b"\t") {
        return Err(Refused::framing("A header goes on in the next line. Write each in one line."));
    }
    let colon = line.iter().position(|b| *b == b':').ok_or_else(|| Refused::framing(NO_FIELD))?;
    let name = HeaderName::from_bytes(&line[..colon]).map_err(|_| Refused::framing(NO_FIELD))?;
    let value = HeaderValue::from_bytes(trimmed(&line[colon + 1..]))
        .map_err(|_| Refused::framing("A header's value holds a control character. Leave it out."))?;
    Ok((name, value))
}

const NO_FIELD: &str = "A line is no header. Write a name, a colon and a value, and no blank before the colon.";

/// The declared length of the body; 0 where there is none.
fn length(headers: &HeaderMap) -> Result<usize, Refused> {
    if headers.contains_key(header::TRANSFER_ENCODING) {
        return Err(Refused::framing("Transfer-Encoding does not exist here. Frame the body with Content-Length."));
    }
    let mut lengths = headers.get_all(header::CONTENT_LENGTH).iter();
    let Some(length) = lengths.next() else { return Ok(0) };
    if lengths.next().is_some() {
        return Err(Refused::framing("There is more than one Content-Length. Send one."));
    }
    let digits = length.as_bytes();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Refused::framing("Content-Length is not a number of bytes. Write it in digits."));
    }
    // A number too large to parse exceeds every bound too.
    Ok(length.to_str().ok().and_then(|digits| digits.parse().ok()).unwrap_or(usize::MAX))
}

/// Without surrounding blanks.
fn trimmed(value: &[u8]) -> &[u8] {
    let plain = |b: &u8| !matches!(*b, b' ' | b'\t');
    let start = value.iter().position(plain).unwrap_or(value.len());
    let end = value.iter().rposition(plain).map_or(start, |last| last + 1);
    &value[start..end]
}
