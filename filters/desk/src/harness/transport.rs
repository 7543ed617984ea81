//! The interface of the transports to a harness.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;

/// Why no answer came, for the log. It contains no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost(pub String);

/// See [`Lost::ungreeted`].
const UNGREETED: &str = "the connection is new and needs a handshake first; nothing was sent";

impl Lost {
    /// Nothing was sent: the connection is new, so the harness may have restarted and needs a handshake first.
    pub fn ungreeted() -> Self {
        Self(UNGREETED.into())
    }

    pub(super) fn is_ungreeted(&self) -> bool {
        self.0 == UNGREETED
    }
}

/// The address of a harness and the transport to it.
#[async_trait]
pub trait HarnessTransport: Send + Sync {
    /// Opens a connection. A transport without lasting connections (HTTP) sends nothing yet.
    async fn open(&self, within: Duration) -> Result<Arc<dyn HarnessConnection>, Lost>;
}

/// A connection to a harness. It takes several requests at a time.
#[async_trait]
pub trait HarnessConnection: Send + Sync {
    /// Sends a handshake and waits for the reply. Over HTTP, where connections change unnoticed, a later message fails
    /// with [`Lost::ungreeted`] if it would be the first on a new connection.
    async fn greet(&self, id: &str, message: Bytes, within: Duration) -> Result<Bytes, Lost> {
        self.ask(id, message, within).await
    }

    /// Sends one request and waits for the answer. On transports that multiplex (stdio, WebSocket, Unix socket) only
    /// an answer with the same `id` counts; HTTP returns the answer as it came.
    async fn ask(&self, id: &str, message: Bytes, within: Duration) -> Result<Bytes, Lost>;

    /// Sends one notification.
    async fn tell(&self, message: Bytes, within: Duration) -> Result<(), Lost>;

    /// Whether the connection is unusable and has to be replaced.
    fn is_broken(&self) -> bool;
}
