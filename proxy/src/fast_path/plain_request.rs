//! The head of a plain request, as the fast path keeps it.

#[cfg(test)]
mod differential_tests;

use bytes::Bytes;
use frontdesk_http1::request_head::{self, NotPlain, PlainRequest};
use pingora::{
    Result,
    http::{RequestHeader, header_value_from_raw},
};

/// Room for the headers that Frontdesk adds.
const ROOM: usize = 8;

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

/// Reads a plain request from the beginning of `bytes`.
///
/// # Errors
///
/// It is not all there, or is not plain.
pub fn plain(bytes: &Bytes) -> Result<Head, NotPlain> {
    let PlainRequest { parts, length, body, keeps } = PlainRequest::parse(bytes)?;
    let sent = Sent { request: parts.into(), raw: Some(bytes.slice(..length)) };
    Ok(Head { sent, length, body, keeps })
}

/// Whether a stream of HTTP/2, whose request has ended with its head, asks for something plain.
///
/// # Errors
///
/// It does not.
pub fn check_stream(request: &RequestHeader) -> Result<(), NotPlain> {
    let (method, uri, headers) = (&request.method, &request.uri, &request.headers);
    request_head::check_stream(method, request.version, uri, request.raw_path(), headers)
}

impl Sent {
    /// Name and value of each of its lines, and both as they were sent; none over HTTP/2.
    pub fn lines(&self) -> impl Iterator<Item = (&[u8], &[u8], &[u8])> {
        request_head::lines(self.raw.as_deref().unwrap_or_default())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_request_keeps_the_case_of_its_names() {
        let text = "GET /a?b=%20c HTTP/1.1\r\nhOsT: x\r\nAccept:  text/html \r\nX-A: 1\r\nx-a: 2\r\n\r\n";
        let head = plain(&Bytes::copy_from_slice(text.as_bytes())).unwrap();
        assert_eq!((head.sent.request.raw_path(), head.keeps), (&b"/a?b=%20c"[..], true));
        let mut wire = Vec::new();
        head.sent.to_be_changed().unwrap().header_to_h1_wire(&mut wire);
        assert_eq!(String::from_utf8(wire).unwrap(), "hOsT: x\r\nAccept: text/html\r\nX-A: 1\r\nx-a: 2\r\n");
    }
}
