//! Refusals in AICP's form (§7.11): an error with a code, and possible next actions.

use http::{HeaderValue, header};
use serde_json::{Map, Value, json};

use frontdesk_base::{
    accept,
    fault::{Fault, Refusal},
    reply::Reply,
};
use frontdesk_desk::problem;
use frontdesk_page::Insertion;

/// The type of a runtime response (§14.3).
use frontdesk_base::media::AOM;
/// What it is to somebody who does not know it.
const JSON: &str = "application/json";

/// The form of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// All planes.
    Aom,
    /// The data alone.
    Bare,
}

impl Form {
    /// The form that a client accepts, the richer one if it accepts both equally; `None`: neither.
    pub(super) fn of(accept: Option<&str>) -> Option<Self> {
        let accept = match accept {
            // Nearly all clients name exactly one of the two.
            None | Some(AOM) => return Some(Self::Aom),
            Some(JSON) => return Some(Self::Bare),
            Some(accept) => accept,
        };
        match (accept::weight_of(accept, AOM), accept::weight_of(accept, JSON)) {
            (0, 0) => None,
            (aom, json) if aom >= json => Some(Self::Aom),
            _ => Some(Self::Bare),
        }
    }

    /// The value of `Content-Type`.
    pub(super) fn media_type(self) -> HeaderValue {
        match self {
            Self::Aom => const { HeaderValue::from_static(AOM) },
            Self::Bare => const { HeaderValue::from_static(JSON) },
        }
    }
}

/// The code of a refusal.
fn code(refusal: &Refusal) -> &str {
    match refusal.fault {
        Fault::BadRequest
        | Fault::MethodNotAllowed
        | Fault::HeaderTooLarge
        | Fault::RequestTimeout
        | Fault::TooLarge => "invalid_request",
        Fault::GatewayTimeout => "upstream_timeout",
        Fault::Unreachable | Fault::BadGateway => "upstream_connection_error",
        Fault::Named(_) => refusal.name.as_deref().unwrap_or("upstream_error"),
        // The message gives the reason; the agent's next step is the same.
        Fault::Unauthenticated => "auth_required",
        fault => fault.reason(),
    }
}

/// The reply where only the refusal is known.
pub(super) fn reply(refusal: &Refusal, accept: Option<&str>, insertion: Option<&Insertion>) -> Reply {
    // A browser gets an HTML page.
    if accept.is_some_and(problem::prefers_html) {
        return problem::reply(refusal, accept, insertion);
    }
    refusal_reply(refusal, accept, None, Map::new(), Vec::new())
}

/// The id of the action with which an agent requests a person's permission.
pub(super) const AUTHORIZE: &str = "auth.authorize";
pub(super) const ASK_THE_USER: &str = "Ask the user for permission";

/// The action that leads to a person's permission.
pub(super) fn permission(authorization_url: &str, id: &str, label: &str, input: &Value) -> Value {
    json!({
        "id": id, "label": label, "method": "GET", "endpoint": authorization_url, "risk_level": "medium",
        "requires_user_confirmation": true, "input": input,
    })
}

/// The full reply: with the risk of the call, further members, and next actions.
pub(super) fn refusal_reply(
    refusal: &Refusal,
    accept: Option<&str>,
    risk: Option<&str>,
    more: Map<String, Value>,
    actions: Vec<Value>,
) -> Reply {
    let mut error = json!({ "code": code(refusal), "message": refusal.detail });
    if refusal.reason != code(refusal) && !matches!(refusal.fault, Fault::Named(_)) {
        error["reason"] = refusal.reason.into();
    }
    if let Some(risk) = risk {
        error["risk_level"] = risk.into();
    }
    if !refusal.required_scopes.is_empty() {
        error["required_scopes"] = json!(refusal.required_scopes);
    }
    if !refusal.violations.is_empty() {
        let violation = |v: &frontdesk_desk::Violation| json!({ "pointer": v.pointer, "message": v.message });
        error["details"] = refusal.violations.iter().map(violation).collect();
    } else if let Some(details) = &refusal.details {
        error["details"] = details.clone();
    }
    if let Some(scope) = refusal.scope {
        error["scope"] = scope.word().into();
    }
    if refusal.scope.is_some() || refusal.retry_after.is_some() {
        error["retry_after"] = refusal.told_retry_after().into();
    }
    let mut body = json!({ "error": error, "actions": actions });
    if let Some(body) = body.as_object_mut() {
        body.extend(more);
    }
    let form = Form::of(accept).unwrap_or(Form::Aom);
    let reply = Reply::of(refusal.fault.status(), form.media_type(), body.to_string());
    refusal.dress(reply.with(header::VARY, "Accept"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_richer_form_unless_only_the_other_is_taken() {
        for (accept, form) in [
            (None, Some(Form::Aom)),
            (Some("*/*"), Some(Form::Aom)),
            (Some("application/aom+json"), Some(Form::Aom)),
            (Some("application/json"), Some(Form::Bare)),
            (Some("application/json, text/plain, */*"), Some(Form::Aom)),
            (Some("application/json, application/aom+json;q=0.5"), Some(Form::Bare)),
            (Some("application/aom+json;q=0, */*"), Some(Form::Bare)),
            (Some("text/html"), None),
            (Some("application/json;q=0"), None),
        ] {
            assert_eq!(Form::of(accept), form, "{accept:?}");
        }
    }
}
