//! Refusals in AHP's form (AHP §10 and §11).

use std::borrow::Cow;

use http::{StatusCode, header};
use serde_json::{Value, json};

use frontdesk_base::{
    fault::{Fault, Refusal, Scope},
    reply::Reply,
};
use frontdesk_desk::problem;
use frontdesk_page::Insertion;

/// Default `Retry-After` in seconds, for an unavailable store and for the site's own limits.
const SOON: u64 = 5;
const A_WHILE: u64 = 60;

/// The code of a fault. The codes are a closed set; a fault without one gets the nearest.
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
        | Fault::ConfirmationPending
        | Fault::KeyRequired
        | Fault::InFlight
        | Fault::KeyReused => "invalid_request",
        Fault::TooLarge => "request_too_large",
        Fault::Unauthenticated | Fault::WeakAuthentication => "auth_required",
        Fault::MissingScope | Fault::Forbidden | Fault::ConfirmationDeclined => "forbidden",
        Fault::RateLimited => "rate_limited",
        // The site's own statuses have the same meaning in AHP (§10).
        Fault::Named(StatusCode::UNAUTHORIZED) => "auth_required",
        Fault::Named(StatusCode::FORBIDDEN) => "forbidden",
        Fault::Named(StatusCode::PAYLOAD_TOO_LARGE) => "request_too_large",
        Fault::Named(StatusCode::TOO_MANY_REQUESTS) => "rate_limited",
        Fault::Named(StatusCode::SERVICE_UNAVAILABLE) => "unavailable",
        Fault::Named(status) if status.is_client_error() => "invalid_request",
        Fault::BadGateway
        | Fault::Internal
        | Fault::Malformed
        | Fault::SiteChanged
        | Fault::LoginRequired
        | Fault::SiteFailed
        | Fault::Named(_)
        | Fault::CompositionFailed
        | Fault::NotImplemented
        | Fault::OutcomeUnknown => "concierge_error",
        Fault::Unreachable | Fault::Unavailable | Fault::GatewayTimeout => "unavailable",
    }
}

/// The status that goes with the code. AHP has no gateway statuses.
pub(super) fn status(fault: Fault) -> StatusCode {
    match fault {
        Fault::InvalidInput | Fault::ForbiddenField | Fault::KeyReused => StatusCode::BAD_REQUEST,
        Fault::ConfirmationRequired | Fault::ConfirmationInvalid | Fault::ConfirmationPending => {
            StatusCode::BAD_REQUEST
        }
        Fault::BadGateway
        | Fault::Malformed
        | Fault::SiteChanged
        | Fault::LoginRequired
        | Fault::SiteFailed
        | Fault::CompositionFailed => StatusCode::INTERNAL_SERVER_ERROR,
        Fault::Unreachable | Fault::GatewayTimeout => StatusCode::SERVICE_UNAVAILABLE,
        Fault::Named(StatusCode::SERVICE_UNAVAILABLE) => StatusCode::SERVICE_UNAVAILABLE,
        Fault::Named(status) if status.is_server_error() => StatusCode::INTERNAL_SERVER_ERROR,
        other => other.status(),
    }
}

/// A refusal with the fields that AHP and HTTP require beside the status, where the site's failure left them out: the
/// scope of the limit (§11.3), the time to wait (§11.1; always with 503), and the challenge.
pub(super) fn completed(refusal: &Refusal) -> Cow<'_, Refusal> {
    let mut completed = Cow::Borrowed(refusal);
    if refusal.fault == Fault::Named(StatusCode::TOO_MANY_REQUESTS) {
        let own = completed.to_mut();
        own.scope = own.scope.or(Some(Scope::Ip));
        own.retry_after = own.retry_after.or(Some(A_WHILE));
    }
    if status(refusal.fault) == StatusCode::SERVICE_UNAVAILABLE && refusal.retry_after.is_none() {
        completed.to_mut().retry_after = Some(SOON);
    }
    completed
}

/// The body of a refusal.
pub fn body(refusal: &Refusal) -> Value {
    let refusal = &*completed(refusal);
    let mut body = json!({
        "status": "error",
        "code": code(refusal.fault),
        "message": refusal.detail,
        "reason": refusal.name.as_deref().unwrap_or(refusal.reason),
    });
    if let Some(scope) = refusal.scope {
        body["scope"] = scope.word().into();
        body["retry_after"] = refusal.told_retry_after().into();
    } else if let Some(seconds) = refusal.told_retry_after() {
        // MCP has no header for it.
        body["retry_after"] = seconds.into();
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
pub fn reply(refusal: &Refusal, accept: Option<&str>, insertion: Option<&Insertion>) -> Reply {
    // A person gets a page.
    if accept.is_some_and(problem::prefers_html) {
        return problem::reply(refusal, accept, insertion);
    }
    refusal_reply(refusal, accept, insertion).with(header::VARY, "Accept")
}

/// The reply of an endpoint for questions: an error is a JSON object, whatever the client accepts (§10).
pub fn refusal_reply(refusal: &Refusal, _: Option<&str>, _: Option<&Insertion>) -> Reply {
    let reply = Reply::new(status(refusal.fault), "application/json", body(refusal).to_string());
    dressed(refusal, reply)
}

/// A reply with the headers that the refusal requires.
pub(super) fn dressed(refusal: &Refusal, mut reply: Reply) -> Reply {
    reply.headers.extend(refusal.standing.iter().cloned());
    completed(refusal).dress(reply)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_without_tokens_is_not_worth_waiting_for() {
        let mut refusal = Refusal::from(Fault::RateLimited);
        (refusal.scope, refusal.retry_after, refusal.never) = (Some(Scope::SessionTokens), Some(60), true);
        let reply = reply(&refusal, None, None);
        let body: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
        assert_eq!((body["scope"].as_str(), body["retry_after"].is_null()), (Some("session_tokens"), true));
        // HTTP requires the header all the same.
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

    #[test]
    fn a_failure_that_the_site_named_is_told_as_any_other() {
        let named = |status: u16, retry_after| {
            let fault = Fault::Named(StatusCode::from_u16(status).unwrap());
            let reply = reply(&Refusal { name: Some("own".into()), retry_after, ..fault.into() }, None, None);
            let body: Value = serde_json::from_slice(&reply.body).unwrap();
            let header = |name: &str| {
                let found = reply.headers.iter().find(|(known, _)| known == name);
                found.map(|(_, value)| value.to_str().unwrap().to_owned()).unwrap_or_default()
            };
            assert_eq!(body["reason"], "own");
            let told = (reply.status.as_u16(), body["code"].as_str().unwrap_or_default().to_owned());
            (
                told,
                body["scope"].clone(),
                body["retry_after"].clone(),
                header("retry-after"),
                header("www-authenticate"),
            )
        };
        let none = Value::Null;
        let told = |status, code: &str| (status, code.to_owned());
        for (status, code) in [(403, "forbidden"), (413, "request_too_large"), (409, "invalid_request")] {
            assert_eq!(named(status, None), (told(status, code), none.clone(), none.clone(), "".into(), "".into()));
        }
        let challenge = "Bearer realm=\"agents\"".to_owned();
        let refused = (told(401, "auth_required"), none.clone(), none.clone(), "".into(), challenge);
        assert_eq!(named(401, None), refused);
        for (said, seconds) in [(None, 60_u64), (Some(7), 7)] {
            let limited = (told(429, "rate_limited"), json!("ip"), json!(seconds), seconds.to_string(), "".into());
            assert_eq!(named(429, said), limited);
        }
        let away = (told(503, "unavailable"), none.clone(), json!(5), "5".into(), "".into());
        assert_eq!(named(503, None), away);
        let failed = (told(500, "concierge_error"), none.clone(), none, "".into(), "".into());
        assert_eq!(named(500, None), failed);
    }
}
