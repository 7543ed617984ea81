//! One failure: what is known about it besides its kind, in no dialect's words.

use std::{borrow::Cow, sync::Arc};

use http::{HeaderName, HeaderValue, StatusCode, header};
use serde_json::Value;

use super::Fault;
use crate::{reply::Reply, violation::Violation};

/// What every challenge begins with (RFC 6750 §3).
pub const REALM: &str = "Bearer realm=\"agents\"";
/// How to prove who one is, where no more is known.
pub const CHALLENGE: HeaderValue = HeaderValue::from_static(REALM);

/// Whose limit was reached (AHP §11.3, §11.4).
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
    /// As it is written in a reply.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ip => "ip",
            Self::Agent => "agent",
            Self::SessionTokens => "session_tokens",
        }
    }
}

/// A fault, and what is known about this one.
#[derive(Debug, Clone)]
pub struct Refusal {
    pub fault: Fault,
    /// The label of `frontdesk_rejections_total{reason}`.
    pub reason: &'static str,
    /// One sentence about what to do.
    pub detail: Cow<'static, str>,
    pub scope: Option<Scope>,
    /// Seconds after which it is worth trying again: `Retry-After`.
    pub retry_after: Option<u64>,
    /// What `RateLimit-Policy` calls the limit that was reached.
    pub violated: Option<&'static str>,
    /// Waiting does not help: a session's budget is used up. Told as `retry_after: null` (AHP §11.4).
    pub never: bool,
    /// What `Allow` says.
    pub allow: Option<HeaderValue>,
    /// What `WWW-Authenticate` says.
    pub challenge: Option<HeaderValue>,
    /// What the operator calls this failure of the site's.
    pub name: Option<Arc<str>>,
    /// What is wrong with an input.
    pub violations: Vec<Violation>,
    /// What a credential has to grant.
    pub required_scopes: Vec<String>,
    /// What else there is to say of this one: an object, with a bound.
    pub details: Option<Value>,
    /// Where the limit stands that was reached, in the fields of a reply, where nobody else tells it.
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
    /// The site has as many requests as it is given at a time. One more would make those wait who came before.
    pub fn busy() -> Self {
        let detail = "The site behind this address has all the requests it can take at the moment. Try again soon.";
        Self { reason: "site_busy", retry_after: Some(1), ..Self::from(Fault::Unavailable).saying(detail) }
    }

    /// Pages take all the memory that there is for them.
    pub fn crowded() -> Self {
        let detail = "More pages are on their way at the moment than there is memory for. Try again soon.";
        Self { reason: "pages_full", retry_after: Some(1), ..Self::from(Fault::Unavailable).saying(detail) }
    }

    /// There is no room to look a large answer through at the moment, and nothing leaves without that.
    pub fn unread() -> Self {
        let detail = "The site's answer could not be looked through in time, and is not passed on. Try again later.";
        Self { reason: "firewall_busy", retry_after: Some(5), ..Self::from(Fault::Unavailable).saying(detail) }
    }

    /// One client address has as many requests under way to the site as it may have.
    pub fn client_busy() -> Self {
        let detail =
            "Your address has as many requests under way to this site as one address may have. Try again soon.";
        Self { reason: "client_share", retry_after: Some(1), ..Self::from(Fault::Unavailable).saying(detail) }
    }

    /// The same with a sentence of its own.
    pub fn saying(mut self, detail: impl Into<Cow<'static, str>>) -> Self {
        self.detail = detail.into();
        self
    }

    /// What a body says of when to try again.
    pub fn told_retry_after(&self) -> Option<u64> {
        self.retry_after.filter(|_| !self.never)
    }

    /// Adds to a dialect's reply the headers that HTTP asks for with such a status.
    pub fn dress(&self, mut reply: Reply) -> Reply {
        reply = reply.with(header::CACHE_CONTROL, "no-store");
        if let Some(seconds) = self.retry_after {
            reply = reply.with_value(header::RETRY_AFTER, seconds.max(1).into());
        }
        // A 401 has one (RFC 9110 §15.5.2), also where it is the site's.
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
