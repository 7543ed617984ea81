//! An answer over HTTP/2: frames are the library's, and when they are written its connection's.

use std::time::Duration;

use bytes::Bytes;
use frontdesk_filters::Reply as Answer;
use http::{HeaderValue, Method, header};
use pingora::{Result, http::ResponseHeader, protocols::http::v2::server::HttpSession as Http2Session};

use crate::answer;

/// The client's stream, and what is written to it.
pub(super) struct Http2<'a> {
    session: &'a mut Http2Session,
    /// Made and not yet written: without a body it ends the stream.
    head: Option<Box<ResponseHeader>>,
    bodiless: bool,
}

impl<'a> Http2<'a> {
    pub(super) fn new(session: &'a mut Http2Session, patience: Duration) -> Self {
        session.set_write_timeout(Some(patience));
        Self { session, head: None, bodiless: false }
    }

    pub(super) async fn gone(&mut self) {
        let _ = self.session.idle().await;
    }

    pub(super) fn begin(&mut self, method: &Method, head: ResponseHeader) {
        self.bodiless = *method == Method::HEAD || answer::is_bodiless(head.status);
        self.head = Some(Box::new(head));
    }

    /// Begins with an answer of our own, and gives back its body.
    pub(super) fn answer(&mut self, method: &Method, link: Option<&HeaderValue>, told: Answer) -> Bytes {
        let (mut head, body) = answer::plain_head(told, link);
        if !answer::is_bodiless(head.status) {
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
            self.session.write_response_header(head, ended).map_err(|e| e.into_down())?;
            if ended {
                return Ok(0);
            }
        }
        if last || !part.is_empty() {
            self.session.write_body(part, last).await.map_err(|e| e.into_down())?;
        }
        Ok(sent)
    }

    /// Writes the head, if it waits.
    pub(super) fn flush(&mut self) -> Result<()> {
        let Some(head) = self.head.take() else { return Ok(()) };
        self.session.write_response_header(head, false).map_err(|e| e.into_down())
    }
}
