//! How AICP says that something is refused (§7.11): an error with a code, and what can be done about it.

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

/// What a response is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// All planes.
    Aom,
    /// The data alone.
    Bare,
}

impl Form {
    /// The form that a client takes, the richer one where it takes both alike; `None`: neither.
    pub(super) fn of(accept: Option<&str>) -> Option<Self> {
        let accept = match accept {
            // Nearly everybody names one of them and nothing else.
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

    /// As `Content-Type` names it.
    pub(super) fn media_type(self) -> HeaderValue {
        match self {
            Self::Aom => const { HeaderValue::from_static(AOM) },
            Self::Bare => const { HeaderValue::from_static(JSON) },
        }
    }
}

/// One table from the faults to the codes.
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
        // Why somebody is not believed is said in the message; what to do is the same.
        Fault::Unauthenticated => "auth_required",
        fault => fault.reason(),
    }
}

/// The reply of an endpoint of this protocol, where no more is known than the refusal.
pub(super) fn reply(refusal: &Refusal, accept: Option<&str>, insertion: Option<&Insertion>) -> Reply {
    // A person gets a page.
    if accept.is_some_and(problem::prefers_html) {
        return problem::reply(refusal, accept, insertion);
    }
    told(refusal, accept, None, Map::new(), Vec::new())
}

/// What an agent can do where somebody has to be asked for permission, and what it is told to ask.
pub(super) const AUTHORIZE: &str = "auth.authorize";
pub(super) const ASK_THE_USER: &str = "Ask the user for permission";

/// The way to a person's permission.
pub(super) fn permission(authorization_url: &str, id: &str, label: &str, input: &Value) -> Value {
    json!({
        "id": id, "label": label, "method": "GET", "endpoint": authorization_url, "risk_level": "medium",
        "requires_user_confirmation": true, "input": input,
    })
}

/// The reply with everything that is known: the risk of what was asked for, other members, and what can be done next.
pub(super) fn told(
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
