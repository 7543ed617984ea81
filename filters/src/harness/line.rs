//! How a harness is reached, as far as it matters to whoever asks it.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;

/// Why nothing came back, in words for a log. No secret is in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost(pub String);

/// Where a harness is, and how one gets there.
#[async_trait]
pub trait Way: Send + Sync {
    /// Opens a connection. Where the transport has none that lasts (HTTP), nothing is sent yet.
    async fn open(&self, within: Duration) -> Result<Arc<dyn Line>, Lost>;
}

/// A connection to a harness. Several may ask over it at a time.
#[async_trait]
pub trait Line: Send + Sync {
    /// Sends one message and waits for the answer to it, which has the same `id`. An answer with another id is no answer
    /// where the transport carries several (stdio, WebSocket, Unix socket); over HTTP it is given back as it came.
    async fn ask(&self, id: &str, message: Bytes, within: Duration) -> Result<Bytes, Lost>;

    /// Sends one message that nobody answers.
    async fn tell(&self, message: Bytes, within: Duration) -> Result<(), Lost>;

    /// Nothing goes over it any more; another has to be opened.
    fn is_broken(&self) -> bool;
}
