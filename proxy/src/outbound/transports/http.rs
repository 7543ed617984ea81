//! Messages over HTTP, one POST for each.
//!
//! Nothing is sent twice: a message on a kept connection that turns out to be closed is lost. This is rare, because
//! closed connections are noticed before use, and no caller takes a lost message for a yes.

use std::{sync::Arc, time::Duration};

use ::http::{HeaderMap, HeaderValue, StatusCode, header};
use async_trait::async_trait;
use bytes::Bytes;
use frontdesk_filters::{
    desk::Answer,
    harness::{HarnessConnection, HarnessTransport, Lost},
};
use parking_lot::Mutex;
use pingora::{http::RequestHeader, protocols::http::client::HttpSession, upstreams::peer::HttpPeer};
use tokio::{sync::Semaphore, time::timeout};

use super::{MOST, Place, late};
use crate::outbound::{
    Outbound, because,
    exchange::{Cut, exchange},
};

/// The most messages on their way at a time. Further ones wait as long as their own limit allows.
const AT_A_TIME: usize = 256;

/// The HTTP transport.
pub(super) struct Posts(Arc<Posting>);

impl Posts {
    pub(super) fn new(outbound: Arc<Outbound>, place: Place, authorization: Option<HeaderValue>) -> Self {
        let mut headers = HeaderMap::with_capacity(6);
        headers.insert(header::HOST, place.authority.clone());
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(value) = authorization {
            headers.insert(header::AUTHORIZATION, value);
        }
        let (places, met) = (Semaphore::new(AT_A_TIME), Mutex::new(Met::Nobody));
        Self(Arc::new(Posting { outbound, place, headers, places, met }))
    }
}

#[async_trait]
impl HarnessTransport for Posts {
    async fn open(&self, _within: Duration) -> Result<Arc<dyn HarnessConnection>, Lost> {
        Ok(self.0.clone())
    }
}

struct Posting {
    outbound: Arc<Outbound>,
    place: Place,
    /// The headers of every request, except the length.
    headers: HeaderMap,
    places: Semaphore,
    met: Mutex<Met>,
}

/// What is known about the peer. HTTP has no sign that the peer restarted. A restart is assumed when a connection is
/// lost, or when none is left and a new one has to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Met {
    /// No greeting has gone over this transport, because none is needed.
    Nobody,
    /// The peer was greeted just now. If that connection closes, the next one is as good.
    JustNow,
    Before,
    /// The peer may have restarted and needs a greeting.
    Others,
}

#[async_trait]
impl HarnessConnection for Posting {
    async fn greet(&self, _id: &str, message: Bytes, within: Duration) -> Result<Bytes, Lost> {
        *self.met.lock() = Met::Nobody;
        let answer = self.post(message, within).await?;
        if !answer.status.is_success() {
            return Err(Lost(format!("the answer is {}", answer.status)));
        }
        *self.met.lock() = Met::JustNow;
        Ok(answer.body)
    }

    async fn ask(&self, _id: &str, message: Bytes, within: Duration) -> Result<Bytes, Lost> {
        let answer = self.post(message, within).await?;
        if answer.status.is_success() { Ok(answer.body) } else { Err(Lost(format!("the answer is {}", answer.status))) }
    }

    async fn tell(&self, message: Bytes, within: Duration) -> Result<(), Lost> {
        self.post(message, within).await.map(drop)
    }

    fn is_broken(&self) -> bool {
        false
    }
}

impl Posting {
    async fn post(&self, message: Bytes, within: Duration) -> Result<Answer, Lost> {
        // On a timeout the unfinished exchange is dropped together with its connection.
        timeout(within, self.posted(&message)).await.unwrap_or_else(|_| Err(late(within)))
    }

    async fn posted(&self, message: &Bytes) -> Result<Answer, Lost> {
        let _place = self.places.acquire().await.map_err(|e| Lost(e.to_string()))?;
        let request = self.request(message.len()).map_err(|e| Lost(because(&e)))?;
        let (mut session, peer) = self.connected().await?;
        match exchange(&mut session, request, message, MOST).await {
            Ok(answer) => {
                // Redirects are not followed: the operator declared this peer.
                self.outbound.keep(session, &peer).await;
                Ok(answer)
            }
            Err(cut) => {
                session.shutdown().await;
                if !matches!(cut, Cut::TooLong(_)) {
                    self.has_lost_one();
                }
                Err(Lost(cut.words()))
            }
        }
    }

    /// A connection on which a message may be sent.
    async fn connected(&self) -> Result<(HttpSession, HttpPeer), Lost> {
        if *self.met.lock() == Met::Others {
            return Err(Lost::ungreeted());
        }
        let mut why = Lost(String::new());
        for peer in self.place.peers().await? {
            match self.outbound.connected_or_kept(&peer).await {
                Ok((session, is_kept)) if self.may_carry(is_kept) => return Ok((session, peer)),
                Ok((session, _)) => {
                    // Keep it for the greeting.
                    self.outbound.keep(session, &peer).await;
                    return Err(Lost::ungreeted());
                }
                Err(e) => why = Lost(because(&e)),
            }
        }
        Err(why)
    }

    /// Whether the peer of a connection was greeted, as far as can be known.
    fn may_carry(&self, is_kept: bool) -> bool {
        let mut met = self.met.lock();
        match *met {
            Met::Nobody => true,
            Met::JustNow => {
                *met = Met::Before;
                true
            }
            // New connections are normal while others are in use.
            Met::Before if is_kept || self.places.available_permits() + 1 < AT_A_TIME => true,
            Met::Before | Met::Others => {
                *met = Met::Others;
                false
            }
        }
    }

    /// Records a connection lost during an exchange.
    fn has_lost_one(&self) {
        let mut met = self.met.lock();
        if *met != Met::Nobody {
            *met = Met::Others;
        }
    }

    fn request(&self, length: usize) -> pingora::Result<RequestHeader> {
        let fields = Some(self.headers.len() + 1);
        let mut request = RequestHeader::build(::http::Method::POST, self.place.target.as_bytes(), fields)?;
        for (name, value) in &self.headers {
            request.insert_header(name, value)?;
        }
        request.insert_header(header::CONTENT_LENGTH, length)?;
        Ok(request)
    }
}

impl Cut {
    /// The text for a log.
    fn words(&self) -> String {
        match self {
            Self::Broken(e) => because(e),
            Self::Headless => "the answer has no head".into(),
            Self::TooLong(StatusCode::OK) => format!("the answer has more than {MOST} bytes"),
            Self::TooLong(status) => format!("the answer is {status}, with more than {MOST} bytes"),
        }
    }
}
