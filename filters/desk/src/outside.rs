//! The interface for callbacks: late answers that are sent to a URL of the caller's.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

/// Checks callback URLs and delivers to them.
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

    /// Waits.
    async fn pause(&self, time: Duration);

    /// Reports a failed delivery to the operator.
    fn undelivered(&self, what: &str, why: &str);
}
