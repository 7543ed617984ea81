//! How this protocol says that something is refused (AHP §10 and §11).

use http::{StatusCode, header};
use serde_json::{Value, json};

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
        | Fault::NotAcceptable
        | Fault::InvalidInput
        | Fault::ForbiddenField
        | Fault::ConfirmationRequired
        | Fault::ConfirmationInvalid
        | Fault::KeyRequired
        | Fault::InFlight
        | Fault::KeyReused => "invalid_request",
        Fault::TooLarge => "request_too_large",
        Fault::Unauthenticated | Fault::WeakAuthentication => "auth_required",
        Fault::MissingScope | Fault::Forbidden => "forbidden",
        Fault::RateLimited => "rate_limited",
        Fault::Named(status) if status.is_client_error() => "invalid_request",
        Fault::BadGateway
        | Fault::Internal
        | Fault::Malformed
        | Fault::SiteFailed
        | Fault::Named(_)
        | Fault::CompositionFailed
        | Fault::NotImplemented
        | Fault::OutcomeUnknown => "concierge_error",
        Fault::Unreachable | Fault::Unavailable | Fault::GatewayTimeout => "unavailable",
    }
}

/// Statuses that fit the codes: a gateway's are nobody's business here.
pub(super) fn status(fault: Fault) -> StatusCode {
    match fault {
        Fault::InvalidInput | Fault::ForbiddenField | Fault::KeyReused => StatusCode::BAD_REQUEST,
        Fault::ConfirmationRequired | Fault::ConfirmationInvalid => StatusCode::BAD_REQUEST,
        Fault::BadGateway | Fault::Malformed | Fault::SiteFailed | Fault::CompositionFailed => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
        Fault::Unreachable | Fault::GatewayTimeout => StatusCode::SERVICE_UNAVAILABLE,
        Fault::Named(status) if status.is_server_error() => StatusCode::INTERNAL_SERVER_ERROR,
        other => other.status(),
    }
}

/// The body of a refusal.
pub(crate) fn body(refusal: &Refusal) -> Value {
    let mut body = json!({
        "status": "error",
        "code": code(refusal.fault),
        "message": refusal.detail,
        "reason": refusal.name.as_deref().unwrap_or(refusal.reason),
    });
    if let Some(scope) = refusal.scope {
        body["scope"] = scope.word().into();
        body["retry_after"] = refusal.told_retry_after().into();
    }
    if !refusal.violations.is_empty() {
        let violations = refusal.violations.iter();
        body["violations"] = violations.map(|v| json!({ "pointer": v.pointer, "message": v.message })).collect();
    }
    if !refusal.required_scopes.is_empty() {
        body["required_scopes"] = refusal.required_scopes.clone().into();
    }
    if let Some(details) = &refusal.details {
        body["details"] = details.clone();
    }
    body
}

/// The reply of an endpoint of this protocol.
pub(crate) fn reply(refusal: &Refusal, accept: Option<&str>, insertion: Option<&Insertion>) -> Reply {
    // A person gets a page.
    if accept.is_some_and(problem::prefers_html) {
        return problem::reply(refusal, accept, insertion);
    }
    let reply = Reply::new(status(refusal.fault), "application/json", body(refusal).to_string());
    dressed(refusal, reply.with(header::VARY, "Accept"))
}

/// A reply with the headers that a refusal asks for; 503 always says when to come back (the notes' C8).
pub(super) fn dressed(refusal: &Refusal, mut reply: Reply) -> Reply {
    reply.headers.extend(refusal.standing.iter().cloned());
    let unavailable = status(refusal.fault) == StatusCode::SERVICE_UNAVAILABLE;
    match refusal.retry_after {
        None if unavailable => Refusal { retry_after: Some(5), ..refusal.clone() }.dress(reply),
        _ => refusal.dress(reply),
    }
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

    #[test]
    fn a_gateway_is_not_shown() {
        let told = |fault: Fault| (status(fault).as_u16(), code(fault));
        assert_eq!(told(Fault::Unreachable), (503, "unavailable"));
        assert_eq!(told(Fault::SiteFailed), (500, "concierge_error"));
        assert_eq!(told(Fault::InvalidInput), (400, "invalid_request"));
        assert_eq!(told(Fault::TooLarge), (413, "request_too_large"));
        assert_eq!(told(Fault::MissingScope), (403, "forbidden"));
        assert_eq!(told(Fault::Named(StatusCode::NOT_FOUND)), (404, "invalid_request"));
        let reply = reply(&Fault::GatewayTimeout.into(), None, None);
        assert!(reply.headers.iter().any(|(name, value)| name == "retry-after" && value == "5"));
    }
}
