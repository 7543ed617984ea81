//! Why a request is refused: a closed set of faults, and what is known beside them.
//!
//! Every dialect maps the same refusal to its own envelope; status and headers are the same for all.

use std::borrow::Cow;

use http::{HeaderValue, StatusCode, header};

use crate::reply::Reply;

/// Why a request cannot be carried out, before any dialect is involved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Framing or authority is ambiguous or malformed.
    BadRequest,
    /// The path is one of ours under a spelling that is not the declared one.
    NotFound,
    MethodNotAllowed,
    /// Raw head above `protection.max_header`.
    HeaderTooLarge,
    /// A credential that was presented is not valid, or one is needed and there is none.
    Unauthenticated,
    /// More than a limit allows.
    RateLimited,
    /// An endpoint of ours that nothing is behind.
    NotImplemented,
    /// The upstream answered with something that is not HTTP, or hung up.
    BadGateway,
    /// The upstream cannot be reached.
    Unreachable,
    /// Frontdesk cannot take more at the moment.
    Unavailable,
    /// The upstream did not answer in time.
    GatewayTimeout,
    /// The client stopped sending its request's body.
    RequestTimeout,
    Internal,
}

impl Fault {
    /// The HTTP status.
    pub fn status(self) -> StatusCode {
        match self {
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::HeaderTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Self::NotImplemented => StatusCode::NOT_IMPLEMENTED,
            Self::BadGateway | Self::Unreachable => StatusCode::BAD_GATEWAY,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::GatewayTimeout => StatusCode::GATEWAY_TIMEOUT,
            Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The label of `frontdesk_rejections_total{reason}` unless more is known, and what the access line says.
    pub fn reason(self) -> &'static str {
        match self {
            Self::BadRequest => "bad_request",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::HeaderTooLarge => "header_too_large",
            Self::Unauthenticated => "auth_required",
            Self::RateLimited => "rate_limited",
            Self::NotImplemented => "not_implemented",
            Self::BadGateway => "bad_gateway",
            Self::Unreachable => "upstream_unreachable",
            Self::Unavailable => "unavailable",
            Self::GatewayTimeout => "upstream_timeout",
            Self::RequestTimeout => "request_timeout",
            Self::Internal => "internal",
        }
    }

    /// What the reader can do about it; nothing that tells an attacker about the inside.
    pub fn detail(self) -> &'static str {
        match self {
            Self::BadRequest => "The request is ambiguous or malformed. Send one Host and one kind of body framing.",
            Self::NotFound => "There is nothing under this spelling of the path. Use the path as it was announced.",
            Self::MethodNotAllowed => "This address does not take this method. See the Allow header.",
            Self::HeaderTooLarge => {
                "The request's headers are larger than this site accepts. Send fewer or smaller ones."
            }
            Self::Unauthenticated => "This address needs a credential. The manifest says which.",
            Self::RateLimited => "Too many requests. Wait as long as Retry-After says.",
            Self::NotImplemented => "This address is declared, but nothing answers here yet.",
            Self::BadGateway => {
                "The site behind this address gave an answer that cannot be passed on. Try again later."
            }
            Self::Unreachable => "The site behind this address cannot be reached at the moment. Try again later.",
            Self::Unavailable => "This address cannot take more requests at the moment. Try again later.",
            Self::GatewayTimeout => "The site behind this address did not answer in time. Try again later.",
            Self::RequestTimeout => "The request's body did not arrive in time. Send it again.",
            Self::Internal => "Something went wrong here. Try again later; if it stays, tell the operator.",
        }
    }
}

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
        }
    }
}

impl Refusal {
    /// The same with a sentence of its own.
    pub fn saying(mut self, detail: impl Into<Cow<'static, str>>) -> Self {
        self.detail = detail.into();
        self
    }

    /// What a body says of when to try again.
    pub(crate) fn told_retry_after(&self) -> Option<u64> {
        self.retry_after.filter(|_| !self.never)
    }

    /// Adds to a dialect's reply the headers that HTTP asks for with such a status.
    pub(crate) fn dress(&self, mut reply: Reply) -> Reply {
        reply = reply.with(header::CACHE_CONTROL, "no-store");
        if let Some(seconds) = self.retry_after {
            reply = reply.with_value(header::RETRY_AFTER, seconds.max(1).into());
        }
        let optional = [(header::ALLOW, &self.allow), (header::WWW_AUTHENTICATE, &self.challenge)];
        for (name, value) in optional {
            if let Some(value) = value {
                reply = reply.with_value(name, value.clone());
            }
        }
        reply
    }
}
