//! The site's side of a plain request: its bytes go up, and the answer is read as the bytes come.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http::Method;
use pingora::{Error, ErrorType, OrErr, Result};

use super::{
    chunks::Chunks,
    head::{Head, take},
    kept::Plain,
    room::{self, READ},
};
use crate::framing::answer::{self, Framing};

/// Room below which there is more made.
const LEAST: usize = 4 * 1024;
/// The longest head, in bytes; more than one read over it ends the request.
const LONGEST_HEAD: usize = 1 << 20;

/// How the end of a body is known (RFC 9112 §6.3).
#[derive(Debug)]
enum Body {
    /// So many bytes are left.
    Length(u64),
    Chunked(Chunks),
    /// With the connection.
    Close,
}

/// One request to a site.
pub struct Site {
    plain: Plain,
    patience: Duration,
    /// Since when the site's answer is waited for, where the clock was looked at then.
    since: Option<Instant>,
    buf: BytesMut,
    body: Body,
    keeps: bool,
    /// A byte of an answer has come.
    heard: bool,
    /// The rest of it is acknowledged as it comes.
    acknowledges: bool,
}

impl Site {
    pub fn new(plain: Plain, patience: Duration) -> Self {
        let since = Some(plain.used);
        let (buf, body) = (BytesMut::new(), Body::Length(0));
        Self { plain, patience, since, buf, body, keeps: false, heard: false, acknowledges: false }
    }

    /// Sends a request, or a part of one.
    pub async fn ask(&mut self, part: &[u8]) -> Result<()> {
        let Self { plain: Plain { transport, alarm, .. }, patience, since, .. } = self;
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
    pub async fn head(&mut self) -> Result<Head> {
        loop {
            if !self.buf.is_empty()
                && let Some(head) = take(&mut self.buf)?
            {
                return Ok(head);
            }
            if self.buf.len() > LONGEST_HEAD {
                return Error::e_explain(ErrorType::InvalidHTTPHeader, "the answer's head is too long");
            }
            if self.read(READ).await? == 0 {
                let had = self.buf.len();
                return Error::e_explain(ErrorType::ConnectionClosed, format!("after {had} bytes of an answer's head"));
            }
        }
    }

    /// Settles how the body of the answer that was read is framed.
    pub fn expect(&mut self, method: &Method, head: &Head) -> Result<Framing> {
        let framing = answer::of(method, head.status, head.version, head)
            .map_err(|why| Error::explain(ErrorType::InvalidHTTPHeader, why))?;
        self.keeps = framing.keeps;
        self.body = match framing.body {
            answer::Body::Absent => Body::Length(0),
            answer::Body::Length(length) => Body::Length(length),
            answer::Body::Chunked => Body::Chunked(Chunks::default()),
            answer::Body::UntilClose => Body::Close,
        };
        Ok(framing)
    }

    /// Whether the body has been read to its end.
    pub fn is_done(&self) -> bool {
        match &self.body {
            Body::Length(left) => *left == 0,
            Body::Chunked(chunks) => chunks.is_done(),
            Body::Close => false,
        }
    }

    /// The next part of the body; `None` at its end, where only the end of the connection told of it.
    pub async fn part(&mut self) -> Result<Option<Bytes>> {
        loop {
            if !self.buf.is_empty() {
                match &mut self.body {
                    Body::Length(left) => {
                        let here = usize::try_from(*left).map_or(self.buf.len(), |left| left.min(self.buf.len()));
                        *left -= here as u64;
                        return Ok(Some(self.buf.split_to(here).freeze()));
                    }
                    Body::Close => return Ok(Some(self.buf.split().freeze())),
                    Body::Chunked(chunks) => {
                        let part = chunks.take(&mut self.buf)?;
                        if !part.is_empty() || chunks.is_done() {
                            return Ok(Some(part));
                        }
                    }
                }
            }
            let most = match &self.body {
                Body::Length(left) => usize::try_from(*left).map_or(READ, |left| left.min(READ)),
                Body::Chunked(_) | Body::Close => READ,
            };
            if self.read(most).await? == 0 {
                if matches!(self.body, Body::Close) {
                    self.body = Body::Length(0);
                    return Ok(None);
                }
                return Error::e_explain(ErrorType::ConnectionClosed, "in the middle of an answer's body");
            }
        }
    }

    /// The connection, if the site keeps it and nothing is left on it.
    pub fn kept(self) -> Option<Plain> {
        (self.keeps && self.is_done() && self.buf.is_empty()).then_some(self.plain)
    }

    /// There is room only while it is filled: whoever waits for a slow site holds nothing but the socket.
    async fn read(&mut self, most: usize) -> Result<usize> {
        let Self { plain: Plain { transport, alarm, .. }, patience, since, buf, heard, acknowledges, .. } = self;
        // Most answers come in one piece, and need none of it.
        if *heard && !std::mem::replace(acknowledges, true) {
            transport.acknowledge();
        }
        let since = since.take();
        let reading = async {
            let make_room = |buf: &mut BytesMut| {
                if buf.is_empty() && buf.capacity() < most {
                    *buf = room::take(most);
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
