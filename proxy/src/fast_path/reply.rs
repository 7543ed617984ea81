//! An answer on its way to the client, whatever it speaks.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use frontdesk_filters::Reply as Answer;
use http::{HeaderValue, Method, header};
use pingora::{Result, http::ResponseHeader, protocols::http::v2::server::HttpSession as Http2Session};

use super::{http1::Http1, http2::Http2};
use crate::{accept::Conn, answer, front::events::Client, upstream::buffer_pool};

/// How the client is spoken to.
pub(super) enum To<'a> {
    Http1(Http1<'a>),
    Http2(Http2<'a>),
}

/// One answer.
pub(super) struct Reply<'a> {
    pub(super) to: To<'a>,
    /// Of the answer, once its head has been made; 0 before.
    pub(super) status: u16,
    /// Bytes of the body that have left.
    pub(super) sent: usize,
    /// The client may have seen something of the answer itself.
    pub(super) seen: bool,
}

impl<'a> Reply<'a> {
    /// An answer over HTTP/1.1 that has not begun. `patience`: how long the client may take for each write.
    pub(super) fn over_http1(conn: &'a mut Conn, keeps: bool, patience: Duration) -> Self {
        Self { to: To::Http1(Http1::new(conn, keeps, patience)), status: 0, sent: 0, seen: false }
    }

    /// The same over HTTP/2. `min_rate`: bytes a second that the client takes at least; 0: no bound.
    pub(super) fn over_http2(session: &'a mut Http2Session, patience: Duration, min_rate: u64) -> Self {
        Self { to: To::Http2(Http2::new(session, patience, min_rate)), status: 0, sent: 0, seen: false }
    }

    /// Whether the connection is there for another request. A stream is for one.
    pub(super) fn keeps(&self) -> bool {
        matches!(&self.to, To::Http1(to) if to.writer.keeps())
    }

    /// Whether the client has been sent as much of a body as it was promised.
    pub(super) fn is_whole(&self) -> bool {
        match &self.to {
            To::Http1(to) => to.writer.is_whole(),
            To::Http2(_) => true,
        }
    }

    /// The answer is not whole, or not the site's: nothing comes after it.
    pub(super) fn ends(&mut self) {
        if let To::Http1(to) = &mut self.to {
            to.writer.ends();
        }
    }

    /// Passes an interim answer at once, where there is a way to.
    pub(super) async fn interim(&mut self, head: &ResponseHeader) -> Result<()> {
        match &mut self.to {
            To::Http1(to) => to.interim(head).await,
            // The library has no place for one.
            To::Http2(_) => Ok(()),
        }
    }

    /// Begins with the site's head as the client is to see it.
    pub(super) fn begin(&mut self, method: &Method, head: ResponseHeader) {
        self.status = head.status.as_u16();
        match &mut self.to {
            To::Http1(to) => to.begin(method, &head),
            To::Http2(to) => to.begin(method, head),
        }
    }

    /// Gives an answer of our own.
    pub(super) async fn answer(&mut self, method: &Method, link: Option<&HeaderValue>, told: Answer) -> Result<()> {
        self.status = told.status.as_u16();
        let body = match &mut self.to {
            To::Http1(to) => {
                to.answer(method, link, &told);
                told.body
            }
            To::Http2(to) => to.answer(method, link, told),
        };
        self.body(body, true).await
    }

    /// Writes a part of the body, the last one with its end.
    pub(super) async fn body(&mut self, part: Bytes, last: bool) -> Result<()> {
        self.body_and(part, Bytes::new(), last).await
    }

    /// Writes a part of the body and what comes after it, the last one with its end.
    pub(super) async fn body_and(&mut self, part: Bytes, after: Bytes, last: bool) -> Result<()> {
        self.seen = true;
        self.sent += match &mut self.to {
            To::Http1(to) => {
                let sent = to.body(&part, &after, last).await?;
                buffer_pool::release(part);
                sent
            }
            To::Http2(to) if after.is_empty() => to.body(part, last).await?,
            To::Http2(to) => to.body(part, false).await? + to.body(after, last).await?,
        };
        Ok(())
    }

    /// Takes a small part of the body that others follow at once.
    pub(super) async fn hold(&mut self, part: Bytes) -> Result<()> {
        match &mut self.to {
            To::Http1(to) => self.sent += to.writer.hold(&part),
            To::Http2(_) if part.is_empty() => {}
            To::Http2(_) => return self.body(part, false).await,
        }
        Ok(())
    }

    /// Writes what waits.
    pub(super) async fn flush(&mut self) -> Result<()> {
        self.seen |= self.status != 0;
        match &mut self.to {
            To::Http1(to) => to.flush().await,
            To::Http2(to) => to.flush(),
        }
    }

    /// Returns when the client has left.
    pub(super) async fn gone(&mut self) {
        match &mut self.to {
            To::Http1(to) => to.gone().await,
            To::Http2(to) => to.gone().await,
        }
    }
}

/// An answer of our own that leaves in parts.
pub(super) struct Streamed<'r, 'a> {
    pub(super) reply: &'r mut Reply<'a>,
    pub(super) link: Option<&'r HeaderValue>,
}

#[async_trait]
impl Client for Streamed<'_, '_> {
    async fn begin(&mut self, head: Answer) -> Result<()> {
        let (head, first) = answer::plain_head(head, self.link);
        let mut head = ResponseHeader::from(head);
        if let To::Http1(_) = &self.reply.to {
            head.insert_header(header::TRANSFER_ENCODING, "chunked")?;
        }
        self.reply.begin(&Method::POST, head);
        self.reply.body(first, false).await
    }

    async fn part(&mut self, part: Bytes, last: bool) -> Result<()> {
        self.reply.body(part, last).await
    }

    async fn gone(&mut self) {
        self.reply.gone().await;
    }
}
