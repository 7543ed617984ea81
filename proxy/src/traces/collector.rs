//! Sends batches to the collector over our own HTTP client and runtime.
//!
//! The library builds batches on a thread without a runtime. So the request is handed to our runtime, and the answer
//! comes back over a channel that any thread can wait for.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use opentelemetry_http::{HttpClient, HttpError};
use tokio::{runtime::Handle, sync::oneshot};

use super::queue::Waiting;
use crate::outbound::Outbound;

/// The most bytes of the answer, which may list rejected spans.
const BOUND: usize = 64 * 1024;

pub(super) struct Collector {
    runtime: Handle,
    outbound: Arc<Outbound>,
    /// The time limit for one answer.
    limit: Duration,
    waiting: Arc<Waiting>,
}

impl Collector {
    /// Call this on the runtime that will send the requests.
    pub(super) fn new(outbound: Arc<Outbound>, limit: Duration, waiting: Arc<Waiting>) -> Self {
        Self { runtime: Handle::current(), outbound, limit, waiting }
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Collector").field("limit", &self.limit).finish_non_exhaustive()
    }
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (said, heard) = oneshot::channel();
        let (outbound, limit) = (self.outbound.clone(), self.limit);
        self.runtime.spawn(async move {
            let _ = said.send(outbound.post(request, BOUND, limit).await);
        });
        // The channel closed: the runtime has ended.
        let answered = heard.await.unwrap_or_else(|_| Err("the process ends".to_owned()));
        let whole = answered.inspect_err(|why| self.waiting.failed_because(why.clone()))?;
        if !whole.status.is_success() {
            self.waiting.failed_because(format!("the collector answers {}", whole.status));
        }
        let mut response = Response::new(whole.body);
        *response.status_mut() = whole.status;
        *response.headers_mut() = whole.headers;
        Ok(response)
    }
}
