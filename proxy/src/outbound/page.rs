//! Fetches a whole page for a client. The head of the answer decides how much of the body to wait for.

use std::{net::IpAddr, time::Duration};

use bytes::{Bytes, BytesMut};
use frontdesk_http1::framing::announced;
use http::{HeaderMap, StatusCode, header};
use pingora::{
    http::{RequestHeader, ResponseHeader},
    protocols::http::client::HttpSession,
    upstreams::peer::HttpPeer,
};
use tokio::time::{Instant, timeout, timeout_at};

use super::{Outbound, PageMemory, answered, headless};
use crate::{
    error_text::ErrorText,
    running::Running,
    upstream::{KEPT, Place},
};

/// The most attempts: another upstream if one refuses, another connection if a kept one turns out to be closed.
const TRIES: usize = 3;

/// How many bytes of the body to wait for, by the head; `None`: only the head.
pub type Most = fn(StatusCode, &HeaderMap) -> Option<usize>;

/// The body of an answer.
pub enum Body {
    Whole(Bytes, PageMemory),
    /// The body is longer than the bytes waited for.
    Rest(Box<Rest>),
}

/// A body of which only the beginning was read.
pub struct Rest {
    session: HttpSession,
    begun: Bytes,
    broken: Option<Box<pingora::Error>>,
    _place: Place,
    _held: PageMemory,
}

impl Rest {
    /// The next piece, which is not empty; `None` at the end. `limit` bounds each piece.
    pub async fn next(&mut self, limit: Duration) -> pingora::Result<Option<Bytes>> {
        if !self.begun.is_empty() {
            return Ok(Some(std::mem::take(&mut self.begun)));
        }
        if let Some(e) = self.broken.take() {
            return Err(e.into_up());
        }
        loop {
            let Ok(read) = timeout(limit, self.session.read_response_body()).await else {
                return pingora::Error::e_explain(pingora::ErrorType::ReadTimedout, "the rest of a page")
                    .map_err(|e| e.into_up());
            };
            match read.map_err(|e| e.into_up())? {
                Some(chunk) if chunk.is_empty() => {}
                chunk => return Ok(chunk),
            }
        }
    }
}

impl Outbound {
    /// Requests a page from the site. `None`: no upstream answers in time, or no more requests may go to the site now.
    /// A body that takes longer is a [`Body::Rest`].
    pub async fn page(
        &self,
        running: &Running,
        request: &RequestHeader,
        most: Most,
        limit: Duration,
        client: Option<IpAddr>,
    ) -> Option<(ResponseHeader, Body)> {
        let until = Instant::now() + limit;
        let place = running.place(client).ok()?;
        let (mut session, peer, head) = timeout_at(until, self.tried(running, request)).await.ok()??;
        let mut held = PageMemory::default();
        let body = match whole(&mut session, most(head.status, &head.headers), until, &mut held).await {
            Ok(body) => {
                self.release(session, &peer, KEPT).await;
                Body::Whole(body, held)
            }
            Err((begun, broken)) => Body::Rest(Box::new(Rest { session, begun, broken, _place: place, _held: held })),
        };
        Some((head, body))
    }

    async fn tried(
        &self,
        running: &Running,
        request: &RequestHeader,
    ) -> Option<(HttpSession, HttpPeer, ResponseHeader)> {
        let pool = &running.pool;
        let mut refused = None;
        for _ in 0..TRIES {
            let index = pool.choose(refused);
            let backend = &pool.backends()[index];
            let peer = backend.peer().await.ok()?;
            let mut request = request.clone();
            let preserve = running.snapshot.settings.upstream.preserve_host;
            if !preserve || !request.headers.contains_key(header::HOST) {
                request.insert_header(header::HOST, backend.authority.clone()).ok()?;
            }
            let (mut session, reused) = match self.connector.get_http_session(&peer).await {
                Ok(connected) => connected,
                Err(_) => {
                    pool.refused(index);
                    refused = Some(index);
                    continue;
                }
            };
            let answered = answered(&mut session, request, Bytes::new()).await;
            match answered.and_then(|head| head.cloned().ok_or_else(headless)) {
                Ok(head) => return Some((session, peer, head)),
                Err(e) => {
                    session.shutdown().await;
                    if !reused {
                        tracing::debug!(error = %ErrorText(&e), upstream = backend.label, "a page could not be fetched");
                        return None;
                    }
                }
            }
        }
        None
    }
}

/// Reads the body while the memory reservation can grow. Returns what was read, and why it stopped.
async fn whole(
    session: &mut HttpSession,
    most: Option<usize>,
    until: Instant,
    held: &mut PageMemory,
) -> Result<Bytes, (Bytes, Option<Box<pingora::Error>>)> {
    let Some(most) = most else { return Err((Bytes::new(), None)) };
    let announced = session.response_header().and_then(|head| announced(&head.headers));
    if announced.is_some_and(|length| length > most as u64) {
        return Err((Bytes::new(), None));
    }
    let mut body = BytesMut::new();
    loop {
        match timeout_at(until, session.read_response_body()).await {
            Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
            Ok(Ok(None)) => return Ok(body.freeze()),
            Ok(Err(e)) => return Err((body.freeze(), Some(e))),
            Err(_) => return Err((body.freeze(), None)),
        }
        if body.len() > most || !held.resize(body.len()) {
            return Err((body.freeze(), None));
        }
    }
}
