//! The interface for URLs that callers name: callbacks, to which late answers are sent, and documents about clients.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

/// Checks URLs of callers, delivers to them, and reads them.
#[async_trait]
pub trait Outside: Send + Sync {
    /// Checks the spelling of a callback URL.
    ///
    /// # Errors
    ///
    /// The reason, for the caller who named the URL.
    fn check(&self, url: &str) -> Result<(), String>;

    /// Delivers JSON; does not retry.
    ///
    /// # Errors
    ///
    /// The reason, for the log.
    async fn deliver(&self, url: &str, body: Bytes) -> Result<(), String>;

    /// Reads a document of at most so many bytes, under the same rules. Follows no redirect.
    ///
    /// # Errors
    ///
    /// The reason, which tells nothing about this network.
    async fn document(&self, url: &str, most: usize) -> Result<Bytes, String>;

    /// Waits.
    async fn pause(&self, time: Duration);

    /// Reports a failed delivery to the operator.
    fn undelivered(&self, what: &str, why: &str);
}
