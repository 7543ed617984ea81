//! A reply that leaves in parts while its call is still under way: a stream of events, on which a client hears of progress
//! and is asked for what a person has to decide.

use async_trait::async_trait;
use bytes::Bytes;
use frontdesk_base::reply::Reply;

/// The reply to one request, as it leaves. The handler's reply is its last part once it has begun.
#[async_trait]
pub trait Events: Send + Sync {
    /// Begins the reply: status, headers and the first part of the body. Returns once they are written; `false`: the
    /// client has left.
    async fn begin(&self, head: Reply) -> bool;

    /// Sends another part, in the same way.
    async fn send(&self, part: Bytes) -> bool;

    /// Whether the reply has begun.
    fn has_begun(&self) -> bool;

    /// Whether the client is known to have left. That is seen only once the reply has begun: a call that waits for something
    /// begins it first.
    fn is_gone(&self) -> bool;

    /// Whether the configuration that the call runs under was replaced by another one.
    fn is_outdated(&self) -> bool;

    /// Whether this process is about to end, so that nothing may be waited for any longer.
    fn is_ending(&self) -> bool;
}
