//! A response to a client over HTTP/1.1: its head line by line, then its body as it is framed there.
//!
//! What is made waits in a buffer, so that the head and the first of the body leave in one write.

use std::io::Write;

use http::{HeaderMap, Method, StatusCode, header};

use crate::{
    field::{put, put_as_sent, put_of},
    framing::{announced, is_bodiless},
};

/// Room for a head, and a small body behind it.
const HEAD: usize = 2 * 1024;

/// How the client knows where the body ends (RFC 9112 §6.3). It never has to wait for the end of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientFraming {
    /// There is none.
    Bodiless,
    /// So many bytes are still to come.
    Length(u64),
    Chunked,
}

impl ClientFraming {
    /// By a head that was reframed before: it has one framing, or none.
    pub fn of_reframed(method: &Method, status: StatusCode, headers: &HeaderMap) -> Self {
        if *method == Method::HEAD || is_bodiless(status) {
            return Self::Bodiless;
        }
        match headers.contains_key(header::TRANSFER_ENCODING) {
            true => Self::Chunked,
            false => announced(headers).map_or(Self::Bodiless, Self::Length),
        }
    }
}

/// Writes one response.
#[derive(Debug)]
pub struct ResponseWriter {
    /// Whether the connection is kept for another request.
    keeps: bool,
    framing: ClientFraming,
    /// Made and not yet written.
    waiting: Vec<u8>,
}

impl ResponseWriter {
    /// `keeps`: the connection is kept for another request, unless something is in the way.
    pub fn new(keeps: bool) -> Self {
        Self { keeps, framing: ClientFraming::Bodiless, waiting: Vec::new() }
    }

    /// Whether the connection is kept for another request.
    pub fn keeps(&self) -> bool {
        self.keeps
    }

    /// The connection ends with this response.
    pub fn ends(&mut self) {
        self.keeps = false;
    }

    /// Whether nothing is left of the body that was promised.
    pub fn is_whole(&self) -> bool {
        !matches!(self.framing, ClientFraming::Length(1..))
    }

    /// What waits to be written.
    pub fn waiting(&mut self) -> &mut Vec<u8> {
        &mut self.waiting
    }

    /// Begins a head. Of one that nobody has seen nothing is left.
    pub fn start(&mut self, status: StatusCode, reason: &[u8]) {
        self.waiting.clear();
        self.waiting.reserve(HEAD);
        self.waiting.extend_from_slice(b"HTTP/1.1 ");
        self.waiting.extend_from_slice(status.as_str().as_bytes());
        self.waiting.push(b' ');
        self.waiting.extend_from_slice(reason);
        self.waiting.extend_from_slice(b"\r\n");
    }

    /// Adds a line to the head.
    pub fn line(&mut self, name: &[u8], value: &[u8]) {
        put(&mut self.waiting, name, value);
    }

    /// The same for a value in pieces.
    pub fn line_of(&mut self, name: &[u8], value: &[&[u8]]) {
        put_of(&mut self.waiting, name, value);
    }

    /// The same for one that was sent as `whole`.
    pub fn line_as_sent(&mut self, name: &[u8], value: &[u8], whole: &[u8]) {
        put_as_sent(&mut self.waiting, name, value, whole);
    }

    /// Ends the head of an interim response.
    pub fn end_interim(&mut self) {
        self.waiting.extend_from_slice(b"\r\n");
    }

    /// Ends the head of the response itself.
    pub fn end(&mut self, framing: ClientFraming) {
        self.line(b"Connection", if self.keeps { b"keep-alive" } else { b"close" });
        self.waiting.extend_from_slice(b"\r\n");
        self.framing = framing;
    }

    /// The same for a response whose body is here as a whole: its length is said unless its status has none.
    pub fn end_with_length(&mut self, method: &Method, status: StatusCode, length: usize) {
        let mut framing = ClientFraming::Bodiless;
        if !is_bodiless(status) {
            self.line(b"Content-Length", itoa::Buffer::new().format(length).as_bytes());
            if *method != Method::HEAD {
                framing = ClientFraming::Length(length as u64);
            }
        }
        self.end(framing);
    }

    /// As much of a part of the body as the client wants. It counts as sent.
    pub fn wanted<'p>(&mut self, part: &'p [u8]) -> &'p [u8] {
        match &mut self.framing {
            ClientFraming::Bodiless => &[],
            ClientFraming::Length(left) => {
                let part = &part[..usize::try_from(*left).map_or(part.len(), |left| left.min(part.len()))];
                *left -= part.len() as u64;
                part
            }
            ClientFraming::Chunked => part,
        }
    }

    /// Keeps a part of the body, to go with the next. Gives back how many bytes of it the client wants.
    pub fn hold(&mut self, part: &[u8]) -> usize {
        let part = self.wanted(part);
        let end = self.frame(part.len(), false);
        self.waiting.extend_from_slice(part);
        self.waiting.extend_from_slice(end);
        part.len()
    }

    /// Writes what goes before so many bytes of the body, and gives back what goes behind them.
    pub fn frame(&mut self, len: usize, last: bool) -> &'static [u8] {
        if self.framing != ClientFraming::Chunked {
            return b"";
        }
        if len > 0 {
            let _ = write!(self.waiting, "{len:x}\r\n");
        }
        match (len == 0, last) {
            (false, false) => b"\r\n",
            (false, true) => b"\r\n0\r\n\r\n",
            (true, true) => b"0\r\n\r\n",
            (true, false) => b"",
        }
    }

    /// The body is over. Where the client waits for more than there is, the connection ends.
    pub fn body_is_over(&mut self) {
        self.keeps &= self.is_whole();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(writer: &mut ResponseWriter, parts: &[&str]) -> String {
        for (n, part) in parts.iter().enumerate() {
            let wanted = writer.wanted(part.as_bytes()).to_vec();
            let end = writer.frame(wanted.len(), n + 1 == parts.len());
            writer.waiting().extend_from_slice(&wanted);
            writer.waiting().extend_from_slice(end);
        }
        writer.body_is_over();
        String::from_utf8(std::mem::take(writer.waiting())).unwrap()
    }

    #[test]
    fn a_body_is_framed_as_the_head_says() {
        let mut writer = ResponseWriter::new(true);
        writer.start(StatusCode::OK, b"OK");
        writer.line(b"A", b"b");
        writer.end(ClientFraming::Chunked);
        let head = "HTTP/1.1 200 OK\r\nA: b\r\nConnection: keep-alive\r\n\r\n";
        assert_eq!(written(&mut writer, &["abc", "", "d"]), format!("{head}3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n"));
        assert!(writer.keeps() && writer.is_whole());

        let mut writer = ResponseWriter::new(true);
        writer.start(StatusCode::OK, b"");
        writer.end_with_length(&Method::GET, StatusCode::OK, 4);
        let text = written(&mut writer, &["abcdef"]);
        assert!(text.ends_with("Content-Length: 4\r\nConnection: keep-alive\r\n\r\nabcd") && writer.keeps(), "{text}");

        let mut writer = ResponseWriter::new(true);
        writer.start(StatusCode::OK, b"");
        writer.end_with_length(&Method::GET, StatusCode::OK, 4);
        written(&mut writer, &["abc"]);
        assert!(!writer.keeps() && !writer.is_whole(), "the client waits for a byte more");

        for (method, status) in [(Method::HEAD, StatusCode::OK), (Method::GET, StatusCode::NO_CONTENT)] {
            let mut writer = ResponseWriter::new(true);
            writer.start(status, b"");
            writer.end_with_length(&method, status, 4);
            let text = written(&mut writer, &["abcd"]);
            assert!(text.ends_with("\r\n\r\n") && writer.keeps(), "{text}");
            assert_eq!(text.contains("Content-Length: 4"), method == Method::HEAD, "{text}");
        }
    }
}
