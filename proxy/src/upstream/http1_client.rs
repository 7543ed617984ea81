//! One request to a site over HTTP/1.1: its bytes are written, and the response is read as its bytes come.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use bytes::{Bytes, BytesMut};
use frontdesk_http1::{Framing, ResponseHead, ResponseReader};
use http::Method;
use pingora::{Error, ErrorType, OrErr, Result};

use super::{
    buffer_pool::{self, READ},
    idle_pool::PooledConn,
};
use crate::pingora_head::invalid;

/// Room below which there is more made.
const LEAST: usize = 4 * 1024;
/// One request to a site.
pub struct Exchange {
    plain: PooledConn,
    patience: Duration,
    /// Since when the site's answer is waited for, where the clock was looked at then.
    since: Option<Instant>,
    reader: ResponseReader,
    /// A byte of an answer has come.
    heard: bool,
    /// The rest of it is acknowledged as it comes.
    acknowledges: bool,
}

impl Exchange {
    pub fn new(plain: PooledConn, patience: Duration) -> Self {
        let since = Some(plain.used);
        Self { plain, patience, since, reader: ResponseReader::default(), heard: false, acknowledges: false }
    }

    /// Sends a request, or a part of one.
    pub async fn ask(&mut self, part: &[u8]) -> Result<()> {
        let Self { plain: PooledConn { transport, alarm, .. }, patience, since, .. } = self;
        let late = async {
            *since = None;
            alarm.within(*patience).await;
        };
        tokio::select! {
            biased;
            sent = transport.write_all(part) => sent.or_err(ErrorType::WriteError, "asking"),
            () = late => Error::e_explain(ErrorType::WriteTimedout, "asking"),
        }
    }

    /// Whether the site has closed a connection that it kept, and not said a word about this request: it is likely not
    /// to have seen it (RFC 9112 §9.3.1).
    pub fn has_parted(&self, e: &Error) -> bool {
        let closed = [ErrorType::ConnectionClosed, ErrorType::ReadError, ErrorType::WriteError].contains(e.etype());
        self.plain.is_reused() && !self.heard && closed
    }

    /// Reads until there is a whole head, of an interim answer perhaps.
    pub async fn head(&mut self) -> Result<ResponseHead> {
        loop {
            if let Some(head) = self.reader.head().map_err(invalid)? {
                return Ok(head);
            }
            if self.read(READ).await? == 0 {
                let had = self.reader.buffer().len();
                return Error::e_explain(ErrorType::ConnectionClosed, format!("after {had} bytes of an answer's head"));
            }
        }
    }

    /// Settles how the body of the answer that was read is framed.
    pub fn expect(&mut self, method: &Method, head: &ResponseHead) -> Result<Framing> {
        self.reader.expect(method, head).map_err(invalid)
    }

    /// Whether the body has been read to its end.
    pub fn is_done(&self) -> bool {
        self.reader.is_done()
    }

    /// The next part of the body; `None` at its end, where the end of the connection is the end of the body.
    pub async fn part(&mut self) -> Result<Option<Bytes>> {
        loop {
            if let Some(part) = self.reader.part().map_err(invalid)? {
                return Ok(Some(part));
            }
            if self.read(self.reader.wanted(READ)).await? == 0 {
                return match self.reader.ends_with_connection() {
                    true => Ok(None),
                    false => Error::e_explain(ErrorType::ConnectionClosed, "in the middle of an answer's body"),
                };
            }
        }
    }

    /// Where the site is, if it sent bytes after its response that no request asked for.
    pub(super) fn sent_unasked(&self) -> Option<SocketAddr> {
        self.reader.has_unasked().then(|| self.plain.address())
    }

    /// The connection, if the site keeps it and nothing is left on it.
    pub(super) fn kept(mut self) -> Option<PooledConn> {
        if !self.reader.is_reusable() {
            return None;
        }
        self.plain.rests = self.reader.is_bodiless();
        if self.plain.rests {
            // The site's system may hold a body back until the head is acknowledged.
            self.plain.transport.acknowledge();
        }
        Some(self.plain)
    }

    /// A buffer is held only while it is filled: a request that waits for a slow site holds only the socket.
    async fn read(&mut self, most: usize) -> Result<usize> {
        let Self { plain: PooledConn { transport, alarm, .. }, patience, since, reader, heard, acknowledges } = self;
        let buf = reader.buffer();
        // Most answers come in one piece, and need none of it.
        if *heard && !std::mem::replace(acknowledges, true) {
            transport.acknowledge();
        }
        let since = since.take();
        let reading = async {
            let make_room = |buf: &mut BytesMut| {
                if buf.is_empty() && buf.capacity() < most {
                    *buf = buffer_pool::acquire(most);
                } else if buf.capacity() - buf.len() < LEAST {
                    buf.reserve(most);
                }
            };
            std::future::poll_fn(|cx| transport.poll_read(cx, buf, make_room)).await
        };
        let late = async {
            match since {
                Some(since) => alarm.at((since + *patience).into()).await,
                None => alarm.within(*patience).await,
            }
        };
        tokio::select! {
            biased;
            read = reading => {
                *heard |= matches!(read, Ok(1..));
                read.or_err(ErrorType::ReadError, "reading an answer")
            }
            () = late => Error::e_explain(ErrorType::ReadTimedout, "reading an answer"),
        }
    }
}
