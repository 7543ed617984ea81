//! A refusal: one fault with its details, independent of the dialect.

use std::{borrow::Cow, sync::Arc};

use http::{HeaderName, HeaderValue, StatusCode, header};
use serde_json::Value;

use super::Fault;
use crate::{reply::Reply, violation::Violation};

/// The start of every challenge (RFC 6750 §3).
pub const REALM: &str = "Bearer realm=\"agents\"";
/// The default challenge.
pub const CHALLENGE: HeaderValue = HeaderValue::from_static(REALM);

/// The subject of the limit that was reached (AHP §11.3, §11.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The client's address.
    Ip,
    /// A credential or an agent.
    Agent,
    /// The tokens of a session.
    SessionTokens,
}

impl Scope {
    /// The word in a reply.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ip => "ip",
            Self::Agent => "agent",
            Self::SessionTokens => "session_tokens",
        }
    }
}

/// A fault with its details.
#[derive(Debug, Clone)]
pub struct Refusal {
    pub fault: Fault,
    /// The label of `frontdesk_rejections_total{reason}`.
    pub reason: &'static str,
    /// One sentence of advice.
    pub detail: Cow<'static, str>,
    pub scope: Option<Scope>,
    /// Seconds until a retry: `Retry-After`.
    pub retry_after: Option<u64>,
    /// The name of the exceeded limit in `RateLimit-Policy`.
    pub violated: Option<&'static str>,
    /// Waiting does not help: a session's budget is exhausted. Sent as `retry_after: null` (AHP §11.4).
    pub never: bool,
    /// The value of `Allow`.
    pub allow: Option<HeaderValue>,
    /// The value of `WWW-Authenticate`.
    pub challenge: Option<HeaderValue>,
    /// The operator's name for this failure of the site.
    pub name: Option<Arc<str>>,
    /// The violations of an input.
    pub violations: Vec<Violation>,
    /// The scopes that the credential needs.
    pub required_scopes: Vec<String>,
    /// Further details: an object of bounded size.
    pub details: Option<Value>,
    /// The headers of the exceeded limit, unless the reply gets them elsewhere.
    pub standing: Vec<(HeaderName, HeaderValue)>,
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self {
            fault,
            reason: fault.reason(),
            detail: fault.detail().into(),
            scope: None,
            retry_after: (fault == Fault::Unavailable).then_some(5),
            violated: None,
            never: false,
            allow: None,
            challenge: None,
            name: None,
            violations: Vec::new(),
            required_scopes: Vec::new(),
            details: None,
            standing: Vec::new(),
        }
    }
}

impl Refusal {
    /// The limit of concurrent requests to the site is reached. One more would delay the earlier ones.
    pub fn busy() -> Self {
        let detail = "The site behind this address has all the requests it can take at the moment. Try again soon.";
        Self { reason: "site_busy", retry_after: Some(1), ..Self::from(Fault::Unavailable).saying(detail) }
    }

    /// Pages use up the memory reserved for them.
    pub fn crowded() -> Self {
        let detail = "More pages are on their way at the moment than there is memory for. Try again soon.";
        Self { reason: "pages_full", retry_after: Some(1), ..Self::from(Fault::Unavailable).saying(detail) }
    }

    /// No thread is free to scan a large answer, and nothing leaves unscanned.
    pub fn unread() -> Self {
        let detail = "The site's answer could not be looked through in time, and is not passed on. Try again later.";
        Self { reason: "firewall_busy", retry_after: Some(5), ..Self::from(Fault::Unavailable).saying(detail) }
    }

    /// The client address has reached its limit of concurrent requests to the site.
    pub fn client_busy() -> Self {
        let detail =
            "Your address has as many requests under way to this site as one address may have. Try again soon.";
        Self { reason: "client_share", retry_after: Some(1), ..Self::from(Fault::Unavailable).saying(detail) }
    }

    /// The same with a message of its own.
    pub fn saying(mut self, detail: impl Into<Cow<'static, str>>) -> Self {
        self.detail = detail.into();
        self
    }

    /// `retry_after` for a body.
    pub fn told_retry_after(&self) -> Option<u64> {
        self.retry_after.filter(|_| !self.never)
    }

    /// Adds to a dialect's reply the headers that HTTP requires with its status.
    pub fn dress(&self, mut reply: Reply) -> Reply {
        reply = reply.with(header::CACHE_CONTROL, "no-store");
        if let Some(seconds) = self.retry_after {
            reply = reply.with_value(header::RETRY_AFTER, seconds.max(1).into());
        }
        // A 401 requires a challenge (RFC 9110 §15.5.2), also where it is the site's.
        let named = || (self.fault == Fault::Named(StatusCode::UNAUTHORIZED)).then_some(CHALLENGE);
        let challenge = self.challenge.clone().or_else(named);
        let optional = [(header::ALLOW, &self.allow), (header::WWW_AUTHENTICATE, &challenge)];
        for (name, value) in optional {
            if let Some(value) = value {
                reply = reply.with_value(name, value.clone());
            }
        }
        reply
    }
}
