//! The way to the collector: over our own connections, on our own runtime.
//!
//! Batches are made on a thread of the library's that knows no runtime and only waits for what it is given. So the
//! request is handed to ours, and the answer comes back over a channel that can be waited for anywhere.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use opentelemetry_http::{HttpClient, HttpError};
use tokio::{runtime::Handle, sync::oneshot};

use super::queue::Waiting;
use crate::outbound::Outbound;

/// As many bytes of its answer are read: it says which spans it did not take, if any.
const BOUND: usize = 64 * 1024;

pub(super) struct Collector {
    runtime: Handle,
    outbound: Arc<Outbound>,
    /// How long one answer may take.
    limit: Duration,
    waiting: Arc<Waiting>,
}

impl Collector {
    /// Made on the runtime that is to carry the requests.
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
        // Unheard: the runtime has ended.
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
