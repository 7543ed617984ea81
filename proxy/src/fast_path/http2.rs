//! An answer over HTTP/2: frames are the library's, and when they are written its connection's.
//!
//! The client says how much it takes: a window for each stream. One that opens its window too slowly is ended, its stream
//! alone. What the socket takes is the connection's to watch.

use std::{
    future::poll_fn,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use frontdesk_filters::Reply as Answer;
use frontdesk_http1::framing::is_bodiless;
use h2::SendStream;
use http::{HeaderValue, Method, header};
use pingora::{
    Error, ErrorType, OrErr, Result, http::ResponseHeader, protocols::http::v2::server::HttpSession as Http2Session,
};
use tokio::time::{Instant, sleep};

use crate::{
    answer,
    client_pace::{Pace, SHARED_WINDOW},
};

/// The client's stream, and what is written to it.
pub(super) struct Http2<'a> {
    session: &'a mut Http2Session,
    /// Made and not yet written: without a body it ends the stream.
    head: Option<Box<ResponseHeader>>,
    bodiless: bool,
    /// There once the head was written and a body follows.
    writer: Option<SendStream<Bytes>>,
    /// How long the client may take nothing at all.
    patience: Duration,
    pace: Pace,
}

impl<'a> Http2<'a> {
    /// `min_rate`: bytes a second that the client takes at least; 0: no bound.
    pub(super) fn new(session: &'a mut Http2Session, patience: Duration, min_rate: u64) -> Self {
        let pace = Pace::new(min_rate, patience).patient(SHARED_WINDOW);
        Self { session, head: None, bodiless: false, writer: None, patience, pace }
    }

    pub(super) async fn gone(&mut self) {
        match &mut self.writer {
            Some(writer) => drop(poll_fn(|cx| writer.poll_reset(cx)).await),
            None => drop(self.session.idle().await),
        }
    }

    pub(super) fn begin(&mut self, method: &Method, head: ResponseHeader) {
        self.bodiless = *method == Method::HEAD || is_bodiless(head.status);
        self.head = Some(Box::new(head));
    }

    /// Begins with an answer of our own, and gives back its body.
    pub(super) fn answer(&mut self, method: &Method, link: Option<&HeaderValue>, told: Answer) -> Bytes {
        let (mut head, body) = answer::plain_head(told, link);
        if !is_bodiless(head.status) {
            head.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        self.begin(method, head.into());
        body
    }

    /// Writes a part of the body, the last one with its end. Gives back how many bytes of it the client wants.
    pub(super) async fn body(&mut self, part: Bytes, last: bool) -> Result<usize> {
        let part = if self.bodiless { Bytes::new() } else { part };
        let sent = part.len();
        if let Some(head) = self.head.take() {
            let ended = last && part.is_empty();
            self.write_head(head, ended)?;
            if ended {
                return Ok(0);
            }
        }
        if last || !part.is_empty() {
            self.write(part, last).await.map_err(Error::into_down)?;
        }
        Ok(sent)
    }

    /// Writes the head, if it waits.
    pub(super) fn flush(&mut self) -> Result<()> {
        match self.head.take() {
            Some(head) => self.write_head(head, false),
            None => Ok(()),
        }
    }

    fn write_head(&mut self, head: Box<ResponseHeader>, ended: bool) -> Result<()> {
        self.session.write_response_header(head, ended).map_err(|e| e.into_down())?;
        if !ended {
            self.writer = self.session.take_response_body_writer();
        }
        Ok(())
    }

    /// Writes as much at a time as the client's window has room for.
    async fn write(&mut self, mut part: Bytes, last: bool) -> Result<()> {
        let Some(writer) = &mut self.writer else {
            return Error::e_explain(ErrorType::InternalError, "a body before its head");
        };
        while !part.is_empty() {
            writer.reserve_capacity(part.len());
            let room = match poll_fn(|cx| Poll::Ready(poll_room(writer, cx))).await {
                Poll::Ready(room) => room?,
                Poll::Pending => wait_for_room(writer, &mut self.pace, self.patience).await?,
            };
            let piece = part.split_to(room.min(part.len()));
            self.pace.moved(piece.len() as u64);
            let ends = last && part.is_empty();
            writer.send_data(piece, ends).or_err(ErrorType::WriteError, "writing to the client")?;
            if ends {
                return Ok(());
            }
        }
        match last {
            true => writer.send_data(part, true).or_err(ErrorType::WriteError, "writing to the client"),
            false => Ok(()),
        }
    }
}

/// How many bytes the client takes now.
fn poll_room(writer: &mut SendStream<Bytes>, cx: &mut Context<'_>) -> Poll<Result<usize>> {
    writer.poll_capacity(cx).map(|room| {
        let gone = || Error::explain(ErrorType::ConnectionClosed, "the client left");
        room.ok_or_else(gone)?.or_err(ErrorType::WriteError, "waiting for the client")
    })
}

/// The same once it takes some. An error if that takes it too long.
async fn wait_for_room(writer: &mut SendStream<Bytes>, pace: &mut Pace, patience: Duration) -> Result<usize> {
    let (began, limit) = (Instant::now(), pace.allowed().min(patience));
    let room = tokio::select! {
        biased;
        room = poll_fn(|cx| poll_room(writer, cx)) => Some(room?),
        () = sleep(limit) => None,
    };
    match room {
        Some(room) if !pace.is_too_slow_after(began.elapsed()) => Ok(room),
        _ => Error::e_explain(ErrorType::WriteTimedout, "the client reads too slowly"),
    }
}
