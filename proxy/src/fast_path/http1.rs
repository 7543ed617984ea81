//! An answer over HTTP/1.1: its head line by line, then its body as it is framed there.
//!
//! The head waits for the first of the body, so that both leave in one write.

use std::{
    io::{self, IoSlice},
    time::Duration,
};

use frontdesk_filters::Reply as Answer;
use frontdesk_http1::{ResponseWriter, field::cased, response_writer::ClientFraming};
use http::{HeaderValue, Method, header};
use pingora::{Error, ErrorType, OrErr, Result, http::ResponseHeader, protocols::http::date::get_cached_date};
use tokio::time::sleep;

use crate::accept::Conn;

/// To copy so many bytes of a body behind its head costs less than to have the system write from two places.
const COPIED: usize = 4 * 1024;

/// The client's connection, and what is written to it.
pub(super) struct Http1<'a> {
    conn: &'a mut Conn,
    /// How long the client may take for each write.
    patience: Duration,
    pub(super) writer: ResponseWriter,
}

impl<'a> Http1<'a> {
    /// `keeps`: the connection is kept for another request.
    pub(super) fn new(conn: &'a mut Conn, keeps: bool, patience: Duration) -> Self {
        Self { conn, patience, writer: ResponseWriter::new(keeps) }
    }

    pub(super) async fn gone(&mut self) {
        self.conn.gone().await;
    }

    /// Passes an interim answer at once.
    pub(super) async fn interim(&mut self, head: &ResponseHeader) -> Result<()> {
        self.writer.start(head.status, head.get_reason_phrase().unwrap_or_default().as_bytes());
        head.header_to_h1_wire(self.writer.waiting());
        self.writer.end_interim();
        self.flush().await
    }

    /// Ends the head of the answer itself. `dated`: it has a Date already.
    pub(super) fn end(&mut self, framing: ClientFraming, dated: bool) {
        if !dated {
            self.writer.line(b"Date", get_cached_date().as_bytes());
        }
        self.writer.end(framing);
    }

    /// Makes a head of pingora's, and settles by it how the body is framed.
    pub(super) fn begin(&mut self, method: &Method, head: &ResponseHeader) {
        self.writer.start(head.status, head.get_reason_phrase().unwrap_or_default().as_bytes());
        head.header_to_h1_wire(self.writer.waiting());
        let framing = ClientFraming::of_reframed(method, head.status, &head.headers);
        self.end(framing, head.headers.contains_key(header::DATE));
    }

    /// Makes the head of an answer of our own.
    pub(super) fn answer(&mut self, method: &Method, link: Option<&HeaderValue>, told: &Answer) {
        let writer = &mut self.writer;
        writer.start(told.status, told.status.canonical_reason().unwrap_or_default().as_bytes());
        // First, because some clients read only the first.
        if let Some(link) = link {
            writer.line(b"Link", link.as_bytes());
        }
        for (name, value) in &told.headers {
            writer.line(cased(name).unwrap_or(name.as_str()).as_bytes(), value.as_bytes());
        }
        writer.line(b"Date", get_cached_date().as_bytes());
        writer.end_with_length(method, told.status, told.body.len());
    }

    /// Writes a part of the body and what comes after it, the last one with its end. Gives back how many bytes of them
    /// the client wants.
    pub(super) async fn body(&mut self, part: &[u8], after: &[u8], last: bool) -> Result<usize> {
        let writer = &mut self.writer;
        let (part, after) = (writer.wanted(part), writer.wanted(after));
        let sent = part.len() + after.len();
        let end = writer.frame(sent, last);
        if sent <= COPIED {
            for piece in [part, after, end] {
                writer.waiting().extend_from_slice(piece);
            }
            self.flush().await?;
        } else {
            let waiting = std::mem::take(writer.waiting());
            let mut pieces = [&waiting[..], part, after, end].map(IoSlice::new);
            self.write(&mut pieces).await?;
        }
        if last {
            self.writer.body_is_over();
        }
        Ok(sent)
    }

    /// Writes what waits.
    pub(super) async fn flush(&mut self) -> Result<()> {
        let waiting = std::mem::take(self.writer.waiting());
        if waiting.is_empty() {
            return Ok(());
        }
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
