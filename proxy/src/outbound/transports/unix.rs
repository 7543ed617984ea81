//! Lines over a Unix socket. The permissions of its file decide who may connect.

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use frontdesk_filters::harness::{HarnessConnection, HarnessTransport, Lost};
use tokio::{net::UnixStream, time::timeout};

use super::{
    shared::Shared,
    text::{Lines, Sheet},
};

/// The way to a socket.
pub(super) struct Socket {
    path: PathBuf,
}

impl Socket {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }
}

#[async_trait]
impl HarnessTransport for Socket {
    async fn open(&self, within: Duration) -> Result<Arc<dyn HarnessConnection>, Lost> {
        let lost = |why: String| Lost(format!("{}: {why}", self.path.display()));
        let connected = timeout(within, UnixStream::connect(&self.path)).await;
        let stream = connected.map_err(|_| lost(format!("no connection within {within:?}")))?;
        let (from, to) = stream.map_err(|e| lost(e.to_string()))?.into_split();
        Ok(Shared::start(Lines::new(from), Sheet(to), ()))
    }
}
