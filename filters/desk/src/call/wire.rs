//! What the desk asks of the process: to send one request to the site and to bring back its whole answer.

use std::{borrow::Cow, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use url::Url;

use crate::form_plan::FormCall;
use frontdesk_caller::Caller;

/// One request to the site.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// The URL of another service, where the capability does not call the site.
    pub elsewhere: Option<&'a Url>,
    pub method: &'a Method,
    /// A path and a query.
    pub target: String,
    /// Headers besides those that every request of a client gets.
    pub headers: Cow<'a, [(HeaderName, HeaderValue)]>,
    pub body: Bytes,
    /// The time limit for the whole exchange.
    pub limit: Duration,
    /// The deadline, by [`Holders::clock`](crate::Holders::clock), after which no byte may be sent: other processes
    /// may by then take this one for dead.
    pub send_by: Option<Duration>,
    /// Maximum bytes of the answer.
    pub most: usize,
    /// The caller; `None` where the answer is shared with others, so the site must not learn who asked.
    pub caller: Option<&'a Caller>,
    /// Whether the site gets the identity headers of the caller.
    pub named: bool,
    /// The caller's own credential, where the capability is called in the caller's name.
    pub credential: Cow<'a, [(HeaderName, HeaderValue)]>,
    /// A form that is filled in first; then `target` is its action.
    pub form: Option<Box<FormCall>>,
}

/// The site's answer.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    /// At least those of [`READ`].
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// The response headers that the desk reads.
pub const READ: [HeaderName; 9] = [
    header::CONTENT_TYPE,
    header::CONTENT_ENCODING,
    header::CACHE_CONTROL,
    header::AGE,
    header::EXPIRES,
    header::LOCATION,
    header::RETRY_AFTER,
    header::SET_COOKIE,
    header::CONTENT_DISPOSITION,
];

/// Why there is no complete answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failed {
    /// No connection: nothing was sent.
    NotSent,
    /// The limit of concurrent requests to the site is reached: nothing was sent.
    Busy,
    /// The client address has used its share of that limit: nothing was sent.
    ClientShare,
    /// No answer in time. The site may have carried it out.
    TimedOut,
    /// The connection broke, or the answer is not HTTP. The site may have carried it out.
    Broken,
    /// The site answered with this status and more bytes than allowed.
    TooLong(StatusCode),
}

/// Sends requests to the site.
#[async_trait]
pub trait Upstream: Send + Sync {
    /// Sends one request and waits for the whole answer. Never retries.
    async fn call(&self, call: Call<'_>) -> Result<Answer, Failed>;
}
