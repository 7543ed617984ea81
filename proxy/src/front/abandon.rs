//! Gives up a request from outside its phases, and keeps what is needed to account for it.
//!
//! pingora drops the request then, and calls no phase of it any more.

use std::{sync::Arc, time::Duration};

use pingora::{http::RequestHeader, proxy::Session};
use tokio::task::AbortHandle;

use super::Front;
use crate::accept::ConnInfo;

/// Abandons a request that is not worth waiting for any longer; drop it to keep the request.
pub struct AbandonTimer(AbortHandle);

impl AbandonTimer {
    pub fn start(limit: Duration, connection: Arc<ConnInfo>) -> Self {
        let watch = tokio::spawn(async move {
            tokio::time::sleep(limit).await;
            connection.abandon();
        });
        Self(watch.abort_handle())
    }
}

impl Drop for AbandonTimer {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What is needed to account for a request that is dropped while it waits.
pub(super) struct Unaccounted {
    pub(super) front: Front,
    pub(super) request: RequestHeader,
    pub(super) status: u16,
    pub(super) received: usize,
    /// How long the site may take to begin its answer, where that is what is waited for.
    pub(super) limit: Option<Duration>,
}

impl Unaccounted {
    pub(super) fn new(front: Front, session: &Session, status: u16) -> Self {
        let received = session.body_bytes_read();
        Self { front, request: session.req_header().clone(), status, received, limit: None }
    }

    /// Whether it is for a site that does not begin its answer.
    pub(super) fn waits_for_the_site(&self) -> bool {
        self.limit.is_some()
    }
}
