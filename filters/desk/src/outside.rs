//! What is sent to somebody else than the site: an answer that came later, to whoever asked for it.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

/// Who delivers, and looks at where to first.
#[async_trait]
pub trait Outside: Send + Sync {
    /// Whether something could be delivered there, as far as its spelling tells.
    ///
    /// # Errors
    ///
    /// Why not, for whoever named it.
    fn check(&self, url: &str) -> Result<(), String>;

    /// Delivers JSON, once.
    ///
    /// # Errors
    ///
    /// Why not, for the log.
    async fn deliver(&self, url: &str, body: Bytes) -> Result<(), String>;

    /// Lets some time pass.
    async fn pause(&self, time: Duration);

    /// Says to the operator that something could not be delivered.
    fn undelivered(&self, what: &str, why: &str);
}
