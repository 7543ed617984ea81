//! How a harness is reached, as far as it matters to whoever asks it.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;

/// Why nothing came back, in words for a log. No secret is in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost(pub String);

/// See [`Lost::ungreeted`].
const UNGREETED: &str = "it is reached over a new connection and has to be greeted first; nothing was sent";

impl Lost {
    /// Nothing was sent: whoever is at the other end may have begun anew, and nobody has greeted it.
    pub fn ungreeted() -> Self {
        Self(UNGREETED.into())
    }

    pub(super) fn is_ungreeted(&self) -> bool {
        self.0 == UNGREETED
    }
}

/// Where a harness is, and how one gets there.
#[async_trait]
pub trait Way: Send + Sync {
    /// Opens a connection. Where the transport has none that lasts (HTTP), nothing is sent yet.
    async fn open(&self, within: Duration) -> Result<Arc<dyn Line>, Lost>;
}

/// A connection to a harness. Several may ask over it at a time.
#[async_trait]
pub trait Line: Send + Sync {
    /// Sends a greeting and waits for the answer to it. Where connections come and go unseen (HTTP), messages are lost as
    /// [`Lost::ungreeted`] from then on if they would be the first that a new connection carries.
    async fn greet(&self, id: &str, message: Bytes, within: Duration) -> Result<Bytes, Lost> {
        self.ask(id, message, within).await
    }

    /// Sends one message and waits for the answer to it, which has the same `id`. An answer with another id is no answer
    /// where the transport carries several (stdio, WebSocket, Unix socket); over HTTP it is given back as it came.
    async fn ask(&self, id: &str, message: Bytes, within: Duration) -> Result<Bytes, Lost>;

    /// Sends one message that nobody answers.
    async fn tell(&self, message: Bytes, within: Duration) -> Result<(), Lost>;

    /// Nothing goes over it any more; another has to be opened.
    fn is_broken(&self) -> bool;
}
