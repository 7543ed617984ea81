//! Faults: the closed set of reasons why a request is refused. A [`Refusal`] adds the details of one case.
//!
//! Every dialect maps the same refusal to its own envelope. Status and headers are the same for all.

mod refusal;

use http::StatusCode;

pub use refusal::{CHALLENGE, REALM};
pub use refusal::{Refusal, Scope};

/// Why a request is refused, independent of the dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Framing or authority is ambiguous or malformed.
    BadRequest,
    /// The path is an endpoint of ours in another spelling than the declared one.
    NotFound,
    MethodNotAllowed,
    /// Raw head above `protection.max_header`.
    HeaderTooLarge,
    /// A presented credential is invalid, or a required one is missing.
    Unauthenticated,
    /// Over a limit.
    RateLimited,
    /// An endpoint of ours without an implementation.
    NotImplemented,
    /// The client accepts no available media type.
    NotAcceptable,
    /// A body above `protection.max_input`.
    TooLarge,
    /// The operator forbids it.
    Forbidden,
    /// The credential lacks a scope.
    MissingScope,
    /// The credential's subject must be authenticated more strongly (RFC 9470).
    WeakAuthentication,
    /// The input violates the schema.
    InvalidInput,
    /// The input contains a forbidden field.
    ForbiddenField,
    /// A person has to confirm the call.
    ConfirmationRequired,
    /// The presented token is invalid, or belongs to another call.
    ConfirmationInvalid,
    /// The person has not decided yet on the confirmation page.
    ConfirmationPending,
    /// The person declined on the confirmation page.
    ConfirmationDeclined,
    /// The call needs an idempotency key.
    KeyRequired,
    /// A call with this key is running.
    InFlight,
    /// The key was used with another input.
    KeyReused,
    /// A call was begun, and its outcome is unknown.
    OutcomeUnknown,
    /// The site's answer does not match the declaration.
    Malformed,
    /// The site's page or form is not as it was declared: the site has changed.
    SiteChanged,
    /// The site wants people to sign in first.
    LoginRequired,
    /// The site failed, and the failure has no declared name.
    SiteFailed,
    /// The site failed, and the operator named this failure.
    Named(StatusCode),
    /// A step of a composition failed.
    CompositionFailed,
    /// The upstream's answer is not HTTP, or it closed the connection.
    BadGateway,
    /// The upstream cannot be reached.
    Unreachable,
    /// Frontdesk is overloaded or cannot reach what it needs.
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
            Self::NotAcceptable => StatusCode::NOT_ACCEPTABLE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Forbidden | Self::MissingScope | Self::ConfirmationDeclined => StatusCode::FORBIDDEN,
            Self::WeakAuthentication => StatusCode::UNAUTHORIZED,
            Self::InvalidInput | Self::ForbiddenField | Self::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            // A status that clients do not retry by themselves, because some steps may have been carried out.
            Self::CompositionFailed => StatusCode::UNPROCESSABLE_ENTITY,
            Self::ConfirmationRequired | Self::ConfirmationInvalid | Self::ConfirmationPending => {
                StatusCode::PRECONDITION_REQUIRED
            }
            Self::KeyRequired => StatusCode::BAD_REQUEST,
            Self::InFlight | Self::OutcomeUnknown => StatusCode::CONFLICT,
            // These statuses have no body, or a header that only the site can set.
            Self::Named(
                StatusCode::NOT_MODIFIED
                | StatusCode::METHOD_NOT_ALLOWED
                | StatusCode::PROXY_AUTHENTICATION_REQUIRED
                | StatusCode::UPGRADE_REQUIRED,
            ) => StatusCode::BAD_GATEWAY,
            Self::Named(status) => status,
            Self::SiteChanged | Self::LoginRequired => StatusCode::BAD_GATEWAY,
            Self::Malformed | Self::SiteFailed | Self::BadGateway | Self::Unreachable => StatusCode::BAD_GATEWAY,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::GatewayTimeout => StatusCode::GATEWAY_TIMEOUT,
            Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The default label of `frontdesk_rejections_total{reason}`, also in the access log.
    pub fn reason(self) -> &'static str {
        match self {
            Self::BadRequest => "bad_request",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::HeaderTooLarge => "header_too_large",
            Self::Unauthenticated => "auth_required",
            Self::RateLimited => "rate_limited",
            Self::NotImplemented => "not_implemented",
            Self::NotAcceptable => "not_acceptable",
            Self::TooLarge => "too_large",
            Self::Forbidden => "forbidden",
            Self::MissingScope => "missing_scope",
            Self::WeakAuthentication => "strong_authentication_required",
            Self::InvalidInput => "invalid_input",
            Self::ForbiddenField => "forbidden_field",
            Self::ConfirmationRequired => "confirmation_required",
            Self::ConfirmationInvalid => "confirmation_invalid",
            Self::ConfirmationPending => "confirmation_pending",
            Self::ConfirmationDeclined => "confirmation_declined",
            Self::KeyRequired => "idempotency_key_required",
            Self::InFlight => "idempotency_in_flight",
            Self::KeyReused => "idempotency_key_reused",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::Malformed => "upstream_malformed_response",
            Self::SiteChanged => "site_changed",
            Self::LoginRequired => "login_required",
            Self::SiteFailed => "upstream_error",
            Self::Named(_) => "upstream_named_error",
            Self::CompositionFailed => "composition_failed",
            Self::BadGateway => "bad_gateway",
            Self::Unreachable => "upstream_unreachable",
            Self::Unavailable => "unavailable",
            Self::GatewayTimeout => "upstream_timeout",
            Self::RequestTimeout => "request_timeout",
            Self::Internal => "internal",
        }
    }

    /// Advice for the client, without details that would help an attacker.
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
            Self::NotAcceptable => "Nothing that the Accept header names can be had here.",
            Self::TooLarge => "The input is larger than this site accepts. Send less.",
            Self::Forbidden => "This site does not offer this to agents.",
            Self::MissingScope => "The credential does not grant what this needs. Ask for the scopes named here.",
            Self::WeakAuthentication => {
                "This credential needs stronger authentication. Get a token with a stronger acr or amr."
            }
            Self::InvalidInput => "The input violates the contract. Correct the violations below and send it again.",
            Self::ForbiddenField => "The input holds fields that must not be sent here. Leave them out.",
            Self::ConfirmationRequired => {
                "A person has to confirm this. Show them the summary, and repeat the call with the token."
            }
            Self::ConfirmationInvalid => {
                "The confirmation has expired, was used, or is for something else. Ask for a new one."
            }
            Self::ConfirmationPending => {
                "The person has not decided yet. Nothing was done. Repeat the same call later with the same token."
            }
            Self::ConfirmationDeclined => "The person declined this. Nothing was done, and nothing will be.",
            Self::KeyRequired => "This needs an Idempotency-Key, so that a retry is not a second call. Send one.",
            Self::InFlight => "A call with this Idempotency-Key is under way. Ask again with the same key.",
            Self::KeyReused => "This Idempotency-Key was used for another input. Use a new key for a new call.",
            Self::OutcomeUnknown => {
                "A call with this key was begun, and its outcome is unknown. Find out before trying with a new key."
            }
            Self::Malformed => "The site's answer is not what was declared, and is not passed on.",
            Self::SiteChanged => {
                "The site has changed, and this does not fit it any more. The operator has to look at it."
            }
            Self::LoginRequired => "The site wants people to sign in before this. Nothing was sent.",
            Self::SiteFailed => "The site could not carry this out. Try again later.",
            Self::Named(_) => "The site did not carry this out.",
            Self::CompositionFailed => "A step of this failed. See which, and what was carried out before it.",
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
