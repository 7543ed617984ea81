//! An answer over HTTP/1.1: its head line by line, then its body as it is framed there.
//!
//! The head waits for the first of the body, so that both leave in one write.

use std::{
    io::{self, IoSlice, Write},
    time::Duration,
};

use frontdesk_filters::Reply as Answer;
use http::{HeaderValue, Method, StatusCode, header};
use pingora::{Error, ErrorType, OrErr, Result, http::ResponseHeader, protocols::http::date::get_cached_date};
use tokio::time::sleep;

use super::line;
use crate::{accept::Conn, answer, framing::announced};

/// Room for a head, and a small body behind it.
const HEAD: usize = 2 * 1024;
/// To copy so many bytes of a body behind its head costs less than to have the system write from two places.
const COPIED: usize = 4 * 1024;

/// How the client knows where the body ends (RFC 9112 §6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// There is none.
    Bodiless,
    /// So many bytes are still to come.
    Length(u64),
    Chunked,
    /// With the connection.
    Close,
}

/// The client's connection, and what is written to it.
pub(super) struct Http1<'a> {
    conn: &'a mut Conn,
    /// Whether the connection is kept for another request.
    keeps: bool,
    /// How long the client may take for each write.
    patience: Duration,
    framing: Framing,
    /// Made and not yet written.
    waiting: Vec<u8>,
}

impl<'a> Http1<'a> {
    pub(super) fn new(conn: &'a mut Conn, keeps: bool, patience: Duration) -> Self {
        Self { conn, keeps, patience, framing: Framing::Bodiless, waiting: Vec::new() }
    }

    /// Whether the connection is kept for another request.
    pub(super) fn keeps(&self) -> bool {
        self.keeps
    }

    /// Whether nothing is left of the body that was promised.
    pub(super) fn is_whole(&self) -> bool {
        !matches!(self.framing, Framing::Length(1..))
    }

    /// The connection ends with this answer.
    pub(super) fn ends(&mut self) {
        self.keeps = false;
    }

    pub(super) async fn gone(&mut self) {
        self.conn.gone().await;
    }

    /// Passes an interim answer at once.
    pub(super) async fn interim(&mut self, head: &ResponseHeader) -> Result<()> {
        self.start(head.status, head.get_reason_phrase().unwrap_or_default().as_bytes());
        head.header_to_h1_wire(&mut self.waiting);
        self.waiting.extend_from_slice(b"\r\n");
        self.flush().await
    }

    /// Begins a head. Of one that nobody has seen nothing is left.
    pub(super) fn start(&mut self, status: StatusCode, reason: &[u8]) {
        self.waiting.clear();
        self.waiting.reserve(HEAD);
        self.waiting.extend_from_slice(b"HTTP/1.1 ");
        self.waiting.extend_from_slice(status.as_str().as_bytes());
        self.waiting.push(b' ');
        self.waiting.extend_from_slice(reason);
        self.waiting.extend_from_slice(b"\r\n");
    }

    /// Adds a line to the head.
    pub(super) fn line(&mut self, name: &[u8], value: &[u8]) {
        line::put(&mut self.waiting, name, value);
    }

    /// The same for one that was sent as `whole`.
    pub(super) fn line_as_sent(&mut self, name: &[u8], value: &[u8], whole: &[u8]) {
        line::put_as_sent(&mut self.waiting, name, value, whole);
    }

    /// Ends the head of the answer itself. `dated`: it has a Date already.
    pub(super) fn end(&mut self, framing: Framing, dated: bool) {
        if !dated {
            self.line(b"Date", get_cached_date().as_bytes());
        }
        self.keeps &= framing != Framing::Close;
        self.line(b"Connection", if self.keeps { b"keep-alive" } else { b"close" });
        self.waiting.extend_from_slice(b"\r\n");
        self.framing = framing;
    }

    /// Makes a head of the library's, and settles by it how the body is framed.
    pub(super) fn begin(&mut self, method: &Method, head: &ResponseHeader) {
        self.start(head.status, head.get_reason_phrase().unwrap_or_default().as_bytes());
        head.header_to_h1_wire(&mut self.waiting);
        self.end(framing(method, head), head.headers.contains_key(header::DATE));
    }

    /// Makes the head of an answer of our own.
    pub(super) fn answer(&mut self, method: &Method, link: Option<&HeaderValue>, told: &Answer) {
        self.start(told.status, told.status.canonical_reason().unwrap_or_default().as_bytes());
        // First, because some clients read only the first.
        if let Some(link) = link {
            self.line(b"Link", link.as_bytes());
        }
        for (name, value) in &told.headers {
            self.line(answer::cased(name).unwrap_or(name.as_str()).as_bytes(), value.as_bytes());
        }
        let mut framing = Framing::Bodiless;
        if !answer::is_bodiless(told.status) {
            self.line(b"Content-Length", itoa::Buffer::new().format(told.body.len()).as_bytes());
            if *method != Method::HEAD {
                framing = Framing::Length(told.body.len() as u64);
            }
        }
        self.end(framing, false);
    }

    /// As much of a part of the body as the client wants.
    fn wanted<'p>(&mut self, part: &'p [u8]) -> &'p [u8] {
        match &mut self.framing {
            Framing::Bodiless => &[],
            Framing::Length(left) => {
                let part = &part[..usize::try_from(*left).map_or(part.len(), |left| left.min(part.len()))];
                *left -= part.len() as u64;
                part
            }
            Framing::Chunked | Framing::Close => part,
        }
    }

    /// Keeps a part of the body, to go with the next. Gives back how many bytes of it the client wants.
    pub(super) fn hold(&mut self, part: &[u8]) -> usize {
        let part = self.wanted(part);
        let end = self.frame(part.len(), false);
        self.waiting.extend_from_slice(part);
        self.waiting.extend_from_slice(end);
        part.len()
    }

    /// Writes what goes before so many bytes of the body, and gives back what goes behind them.
    fn frame(&mut self, len: usize, last: bool) -> &'static [u8] {
        if self.framing != Framing::Chunked {
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

    /// Writes a part of the body and what comes after it, the last one with its end. Gives back how many bytes of them
    /// the client wants.
    pub(super) async fn body(&mut self, part: &[u8], after: &[u8], last: bool) -> Result<usize> {
        let (part, after) = (self.wanted(part), self.wanted(after));
        let sent = part.len() + after.len();
        let end = self.frame(sent, last);
        if sent <= COPIED {
            for piece in [part, after, end] {
                self.waiting.extend_from_slice(piece);
            }
            self.flush().await?;
        } else {
            let waiting = std::mem::take(&mut self.waiting);
            let mut pieces = [&waiting[..], part, after, end].map(IoSlice::new);
            self.write(&mut pieces).await?;
        }
        if last && !self.is_whole() {
            // The client waits for more than there is.
            self.keeps = false;
        }
        Ok(sent)
    }

    /// Writes what waits.
    pub(super) async fn flush(&mut self) -> Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let waiting = std::mem::take(&mut self.waiting);
        self.write(&mut [IoSlice::new(&waiting)]).await
    }

    async fn write(&mut self, bufs: &mut [IoSlice<'_>]) -> Result<()> {
        let patience = self.patience;
        let sent = tokio::select! {
            biased;
            sent = self.conn.send(bufs) => match sent {
                Err(e) if e.kind() == io::ErrorKind::TimedOut => {
                    Error::e_because(ErrorType::WriteTimedout, "the client reads too slowly", e)
                }
                sent => sent.or_err(ErrorType::WriteError, "writing to the client"),
            },
            // Nothing is set and no clock looked at until there is something to wait for.
            () = async { sleep(patience).await } => {
                Error::e_explain(ErrorType::WriteTimedout, "the client does not read")
            }
        };
        sent.map_err(Error::into_down)
    }
}

/// By a head that was reframed before: it has one framing, or none.
fn framing(method: &Method, head: &ResponseHeader) -> Framing {
    if *method == Method::HEAD || answer::is_bodiless(head.status) {
        return Framing::Bodiless;
    }
    match head.headers.contains_key(header::TRANSFER_ENCODING) {
        true => Framing::Chunked,
        false => announced(&head.headers).map_or(Framing::Close, Framing::Length),
    }
}
