//! Maps faults to AGTP's status codes. Every failure of the site is a named 422.

use http::{StatusCode, header};
use serde_json::{Value, json};

use super::{
    response::{AgtpError, JSON},
    wire::Refused,
};
use frontdesk_base::{
    fault::{CHALLENGE, Fault, Refusal},
    reply::Reply,
};
use frontdesk_desk::{TOO_LONG, not_kept};
use frontdesk_page::Insertion;
use frontdesk_state::NotKept;

/// The errors of every endpoint that calls the site (AGTP-API §12.3).
pub(super) const UPSTREAM: [&str; 5] = [
    "upstream_timeout",
    "upstream_connection_error",
    "upstream_malformed_response",
    "upstream_authentication_failed",
    "upstream_error",
];

/// The error of every composition (§12.1).
pub(super) const COMPOSITION_FAILED: &str = "composition_failed";

/// The store is unavailable.
impl From<NotKept> for AgtpError {
    fn from(why: NotKept) -> Self {
        wrong(&not_kept(why), None, 455)
    }
}

/// The reply where only the refusal is known.
pub(super) fn reply(refusal: &Refusal, _: Option<&str>, _: Option<&Insertion>) -> Reply {
    let wrong = wrong(refusal, None, 455);
    let body = wrong.body("", "").to_string();
    let status = StatusCode::from_u16(wrong.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut reply = Reply::new(status, JSON, body);
    reply.headers.extend(wrong.headers);
    reply.with(header::CACHE_CONTROL, "no-store")
}

/// The reply to input that could not be parsed as a request.
pub fn unread(refused: &Refused) -> Reply {
    let method = refused.frame.as_ref().map_or("", |frame| frame.method.as_str());
    let body = AgtpError::new(400, refused.code, refused.detail.clone()).body(method, "").to_string();
    Reply::new(StatusCode::BAD_REQUEST, JSON, body).with(header::CACHE_CONTROL, "no-store")
}

/// A refusal in AGTP's form. `upstream_status` is the site's status, `violation` the status for insufficient scopes.
pub(super) fn wrong(refusal: &Refusal, upstream_status: Option<u16>, violation: u16) -> AgtpError {
    let said = |status, code| AgtpError::new(status, code, refusal.detail.clone());
    let mut wrong = match refusal.fault {
        Fault::BadRequest | Fault::HeaderTooLarge | Fault::RequestTimeout | Fault::NotAcceptable => {
            said(400, "bad-request")
        }
        Fault::TooLarge => said(400, "request-too-large"),
        Fault::KeyRequired => said(400, "idempotency-key-required"),
        Fault::NotFound => said(404, "not-found"),
        Fault::MethodNotAllowed => said(405, "method-not-allowed"),
        // No credential was presented, so the first step is to get one.
        Fault::Unauthenticated if refusal.reason == Fault::Unauthenticated.reason() => {
            let required = AgtpError::required("credentials-missing", refusal.detail.clone());
            scopes(required, refusal)
        }
        Fault::Unauthenticated => said(401, "unauthorized").with("reason", credential_reason(refusal)),
        Fault::WeakAuthentication => {
            AgtpError::required("credentials-missing", refusal.detail.clone()).with("reason", refusal.reason)
        }
        Fault::MissingScope if violation == 262 => {
            scopes(AgtpError::required("scope-required", refusal.detail.clone()), refusal)
        }
        Fault::MissingScope => scopes(said(455, "scope-violation"), refusal),
        Fault::Forbidden if refusal.reason == Fault::Forbidden.reason() => said(403, "forbidden"),
        Fault::Forbidden => said(403, "forbidden").with("reason", refusal.reason),
        Fault::RateLimited => said(429, "rate-limited"),
        Fault::NotImplemented => said(501, "not-implemented"),
        Fault::InvalidInput => said(422, "schema-validation-failed"),
        Fault::ForbiddenField => said(422, "forbidden-field"),
        Fault::ConfirmationDeclined => said(403, "forbidden").with("reason", refusal.reason),
        Fault::ConfirmationRequired | Fault::ConfirmationInvalid | Fault::ConfirmationPending => {
            AgtpError::required("confirmation-required", refusal.detail.clone()).with("reason", refusal.reason)
        }
        Fault::InFlight | Fault::KeyReused | Fault::OutcomeUnknown => {
            said(409, "conflict").with("reason", refusal.reason)
        }
        Fault::Malformed if refusal.reason == TOO_LONG => {
            said(422, "upstream_error").with("reason", "response-too-large")
        }
        Fault::Malformed => said(422, "upstream_malformed_response"),
        Fault::SiteChanged | Fault::LoginRequired => said(422, "upstream_error").with("reason", refusal.reason),
        Fault::SiteFailed if matches!(upstream_status, Some(401 | 403)) => said(422, "upstream_authentication_failed"),
        Fault::SiteFailed => said(422, "upstream_error"),
        Fault::Named(_) => {
            let mut wrong = said(422, "upstream_error");
            if let Some(name) = &refusal.name {
                wrong.code = name.to_string().into();
            }
            wrong
        }
        Fault::CompositionFailed => said(422, COMPOSITION_FAILED),
        Fault::BadGateway | Fault::Unreachable => said(422, "upstream_connection_error"),
        Fault::GatewayTimeout => said(422, "upstream_timeout"),
        Fault::Unavailable => said(503, "unavailable").with("reason", refusal.reason),
        Fault::Internal => said(500, "server-error"),
    };
    wrong.reason = refusal.reason;
    let mut details = match &refusal.details {
        Some(Value::Object(details)) => details.clone(),
        _ => serde_json::Map::new(),
    };
    if wrong.status == 422
        && let Some(status) = upstream_status
    {
        details.insert("upstream_status".into(), status.into());
    }
    if !refusal.violations.is_empty() {
        let violations = refusal.violations.iter().map(|v| json!({ "pointer": v.pointer, "message": v.message }));
        details.insert("violations".into(), violations.collect::<Vec<Value>>().into());
    }
    if !details.is_empty() {
        wrong.details = Some(details.into());
    }
    if let Some(seconds) = refusal.retry_after {
        wrong = wrong.after(seconds.max(1));
        if refusal.never {
            wrong = wrong.with("retry_after", Value::Null);
        }
    }
    // A 401 requires a challenge (RFC 9110 §15.5.2).
    let challenge = refusal.challenge.clone().or_else(|| (wrong.status == 401).then_some(CHALLENGE));
    wrong.headers.extend(challenge.map(|challenge| (header::WWW_AUTHENTICATE, challenge)));
    if let Some(scope) = refusal.scope {
        wrong = wrong.with("scope", scope.word());
    }
    wrong
}

fn scopes(wrong: AgtpError, refusal: &Refusal) -> AgtpError {
    match refusal.required_scopes.as_slice() {
        [] => wrong,
        scopes => wrong.with("required_scopes", scopes.to_vec()),
    }
}

/// Why a credential was refused, in AGTP's words where it has one.
fn credential_reason(refusal: &Refusal) -> &'static str {
    match refusal.reason {
        "signature_required" => "agent-unauthenticated",
        reason if reason.starts_with("signature") => "agent-unauthenticated",
        _ => "oauth-invalid",
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn of(refusal: impl Into<Refusal>, upstream: Option<u16>) -> (u16, String) {
        let wrong = wrong(&refusal.into(), upstream, 455);
        (wrong.status, wrong.code.into_owned())
    }

    #[test]
    fn whatever_the_site_did_is_a_422_with_a_name() {
        assert_eq!(of(Fault::GatewayTimeout, None), (422, "upstream_timeout".into()));
        assert_eq!(of(Fault::Unreachable, None), (422, "upstream_connection_error".into()));
        assert_eq!(of(Fault::BadGateway, None), (422, "upstream_connection_error".into()));
        assert_eq!(of(Fault::Malformed, Some(200)), (422, "upstream_malformed_response".into()));
        assert_eq!(of(Fault::SiteFailed, Some(401)), (422, "upstream_authentication_failed".into()));
        assert_eq!(of(Fault::SiteFailed, Some(403)), (422, "upstream_authentication_failed".into()));
        assert_eq!(of(Fault::SiteFailed, Some(500)), (422, "upstream_error".into()));
        let named = Refusal { name: Some("sold_out".into()), ..Fault::Named(StatusCode::CONFLICT).into() };
        assert_eq!(of(named, Some(409)), (422, "sold_out".into()));
        assert!(UPSTREAM.contains(&"upstream_error"));
    }

    #[test]
    fn what_is_missing_is_told_apart_from_what_is_wrong() {
        assert_eq!(of(Fault::Unauthenticated, None), (262, "credentials-missing".into()));
        let rejected = Refusal { reason: "token_expired", ..Fault::Unauthenticated.into() };
        assert_eq!(of(rejected, None), (401, "unauthorized".into()));
        let blocked = Refusal { reason: "harness_blocked", ..Fault::Forbidden.into() };
        let (plain, blocked) = (wrong(&Fault::Forbidden.into(), None, 455), wrong(&blocked, None, 455));
        assert_eq!((blocked.status, blocked.members.get("reason")), (403, Some(&json!("harness_blocked"))));
        assert_eq!((plain.status, plain.members.get("reason")), (403, None));
        assert_eq!(of(Fault::MissingScope, None).0, 455);
        assert_eq!(wrong(&Fault::MissingScope.into(), None, 262).members["type"], "scope-required");
        assert_eq!(of(Fault::ConfirmationRequired, None), (262, "confirmation-required".into()));
        let header: HeaderValue = 7.into();
        let limited = Refusal { retry_after: Some(7), ..Fault::RateLimited.into() };
        let told = wrong(&limited, None, 455);
        assert_eq!(told.headers, [(header::RETRY_AFTER, header)]);
        let body = told.body("QUERY", "/search");
        assert_eq!((&body["retry_after"], &body["error"]["retry_after"]), (&json!(7), &json!(7)));
        let soon = Refusal { retry_after: Some(0), ..limited.clone() };
        assert_eq!(wrong(&soon, None, 455).members["retry_after"], 1, "as the header");
        let never = wrong(&Refusal { never: true, ..limited }, None, 455);
        assert_eq!((&never.members["retry_after"], never.headers.len()), (&Value::Null, 1));
    }
}
