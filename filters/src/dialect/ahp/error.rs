//! How this protocol says that something is refused (AHP §10 and §11).

use http::header;
use serde_json::json;

use crate::{
    fault::{Fault, Refusal},
    page::Insertion,
    problem,
    reply::Reply,
};

/// The codes are a closed set; what it lacks goes under the nearest (the notes' C8).
fn code(fault: Fault) -> &'static str {
    match fault {
        Fault::BadRequest
        | Fault::NotFound
        | Fault::MethodNotAllowed
        | Fault::HeaderTooLarge
        | Fault::RequestTimeout
        | Fault::NotImplemented
        | Fault::NotAcceptable
        | Fault::TooLarge
        | Fault::InvalidInput
        | Fault::ForbiddenField
        | Fault::ConfirmationRequired
        | Fault::ConfirmationInvalid
        | Fault::KeyRequired
        | Fault::InFlight
        | Fault::KeyReused => "invalid_request",
        Fault::Unauthenticated | Fault::WeakAuthentication | Fault::MissingScope | Fault::Forbidden => "auth_required",
        Fault::RateLimited => "rate_limited",
        Fault::BadGateway
        | Fault::Internal
        | Fault::Malformed
        | Fault::SiteFailed
        | Fault::Named(_)
        | Fault::OutcomeUnknown => "concierge_error",
        Fault::Unreachable | Fault::Unavailable | Fault::GatewayTimeout => "unavailable",
    }
}

/// The reply of an endpoint of this protocol.
pub(super) fn reply(refusal: &Refusal, accept: Option<&str>, insertion: Option<&Insertion>) -> Reply {
    // A person gets a page; and nothing of this protocol answers yet where nothing is implemented.
    if refusal.fault == Fault::NotImplemented || accept.is_some_and(problem::prefers_html) {
        return problem::reply(refusal, accept, insertion);
    }
    let mut body = json!({
        "status": "error",
        "code": code(refusal.fault),
        "message": refusal.detail,
        "reason": refusal.reason,
    });
    if let Some(scope) = refusal.scope {
        body["scope"] = scope.word().into();
        body["retry_after"] = refusal.told_retry_after().into();
    }
    let reply = Reply::new(refusal.fault.status(), "application/json", body.to_string());
    refusal.dress(reply.with(header::VARY, "Accept"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Scope;

    #[test]
    fn a_session_without_tokens_is_not_worth_waiting_for() {
        let mut refusal = Refusal::from(Fault::RateLimited);
        (refusal.scope, refusal.retry_after, refusal.never) = (Some(Scope::SessionTokens), Some(60), true);
        let reply = reply(&refusal, None, None);
        let body: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
        assert_eq!((body["scope"].as_str(), body["retry_after"].is_null()), (Some("session_tokens"), true));
        // HTTP wants the header all the same.
        assert!(reply.headers.iter().any(|(name, value)| name == "retry-after" && value == "60"));
    }
}
