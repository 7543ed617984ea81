//! Errors in A2A's codes, and the refusals of the endpoint itself in that form.

use http::{HeaderName, HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use super::{
    super::{
        ahp::{Conversed, Turn, question::Wrong, turn::Failure},
        jsonrpc::{INTERNAL, INVALID_PARAMS, INVALID_REQUEST, Malformed},
    },
    form::Form,
};
use frontdesk_base::{
    fault::{Fault, Refusal},
    reply::Reply,
    violation::Violation,
};
use frontdesk_desk::problem;
use frontdesk_page::Insertion;

// A2A's own codes.
pub(super) const NO_TASK: i32 = -32001;
pub(super) const NOT_CANCELABLE: i32 = -32002;
pub(super) const NO_PUSH: i32 = -32003;
pub(super) const UNSUPPORTED: i32 = -32004;
pub(super) const CONTENT_TYPE: i32 = -32005;
const INVALID_RESPONSE: i32 = -32006;
pub(super) const NO_EXTENDED_CARD: i32 = -32007;
pub(super) const NO_VERSION: i32 = -32009;

/// `reason` of a request that names nothing that exists, or something that cannot be done.
pub(super) const WRONG: &str = "bad_request";
/// The domain of the reasons in 1.0 (google.rpc.ErrorInfo).
const DOMAIN: &str = "frontdesk";

/// An error.
#[derive(Debug)]
pub(super) struct Problem {
    code: i32,
    message: String,
    /// The label of `frontdesk_rejections_total{reason}`.
    pub(super) reason: &'static str,
    id: Option<Value>,
    status: StatusCode,
    details: Box<Details>,
}

/// What a client can act on, beside the code and the message.
#[derive(Debug, Default)]
struct Details {
    /// The reason as the client sees it: the operator's name for a failure of the site, or one of AHP's codes.
    reason: Option<String>,
    retry_after: Option<u64>,
    violations: Vec<Violation>,
    required_scopes: Vec<String>,
    /// An object of bounded size.
    more: Option<Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    pub(super) fn new(code: i32, message: impl Into<String>) -> Self {
        let (message, details) = (message.into(), Box::default());
        Self { code, message, reason: WRONG, id: None, status: StatusCode::OK, details }
    }

    /// The error for a question that failed.
    pub(super) fn failed(failure: &Failure, status: StatusCode, headers: Vec<(HeaderName, HeaderValue)>) -> Self {
        let refusal = &*failure.refusal;
        let code = match &failure.wrong {
            Some(Wrong::UnsupportedType { .. }) => CONTENT_TYPE,
            Some(_) => INVALID_PARAMS,
            None => code(refusal.fault),
        };
        let wrong = failure.wrong.as_ref();
        let status = http_status(status);
        let details = Details {
            reason: wrong.map(|wrong| wrong.code().to_owned()).or_else(|| refusal.name.as_deref().map(str::to_owned)),
            retry_after: refusal.told_retry_after(),
            violations: refusal.violations.clone(),
            required_scopes: refusal.required_scopes.clone(),
            more: wrong.and_then(Wrong::member).map(|(name, value)| json!({ name: value })).or(refusal.details.clone()),
            // Headers that accompany an error status of HTTP.
            headers: if status == StatusCode::OK { Vec::new() } else { headers },
        };
        Self { reason: refusal.reason, status, details: details.into(), ..Self::new(code, refusal.detail.clone()) }
    }

    pub(super) fn refused(refusal: &Refusal) -> Self {
        let Conversed { turn, status, headers, .. } = Conversed::refused(refusal);
        match turn {
            Turn::Failed(failure) => Self::failed(&failure, status, headers),
            _ => Self::new(INTERNAL, refusal.detail.clone()),
        }
    }

    pub(super) fn malformed(malformed: Malformed) -> Self {
        // A body that a page may not send is refused by its status, as at every endpoint.
        let status = http_status(malformed.status);
        Self { id: malformed.id, status, ..Self::new(malformed.code, malformed.message) }
    }

    pub(super) fn to(self, id: &Value) -> Self {
        Self { id: Some(id.clone()), ..self }
    }

    pub(super) fn reply(self, form: Form) -> Reply {
        let mut error = json!({ "code": self.code, "message": self.message });
        error["data"] = self.data(form);
        let body = json!({ "jsonrpc": "2.0", "id": self.id, "error": error });
        let mut reply = Reply::new(self.status, "application/json", body.to_string());
        reply.headers.extend(self.details.headers);
        if !reply.headers.iter().any(|(name, _)| name == header::CACHE_CONTROL) {
            reply = reply.with(header::CACHE_CONTROL, "no-store");
        }
        reply
    }

    /// The details: an object in 0.3, a list of google.rpc messages in 1.0.
    fn data(&self, form: Form) -> Value {
        let Details { retry_after, violations, required_scopes, more, .. } = &*self.details;
        let reason = self.details.reason.as_deref().unwrap_or(self.reason);
        if form == Form::V03 {
            let mut data = json!({ "reason": reason });
            if let Some(seconds) = retry_after {
                data["retry_after"] = (*seconds).into();
            }
            if !violations.is_empty() {
                data["violations"] =
                    violations.iter().map(|v| json!({ "pointer": v.pointer, "message": v.message })).collect();
            }
            if !required_scopes.is_empty() {
                data["required_scopes"] = required_scopes.clone().into();
            }
            if let Some(more) = more {
                data["details"] = more.clone();
            }
            return data;
        }
        let mut metadata = json!({});
        if !required_scopes.is_empty() {
            metadata["required_scopes"] = required_scopes.join(" ").into();
        }
        for (name, value) in more.iter().filter_map(Value::as_object).flatten() {
            // The metadata of google.rpc.ErrorInfo are texts.
            metadata[name] = value.as_str().map_or_else(|| value.to_string(), str::to_owned).into();
        }
        let kind = |name: &str| format!("type.googleapis.com/google.rpc.{name}");
        let mut data = vec![json!({
            "@type": kind("ErrorInfo"), "reason": reason.to_ascii_uppercase(), "domain": DOMAIN, "metadata": metadata,
        })];
        if let Some(seconds) = retry_after {
            data.push(json!({ "@type": kind("RetryInfo"), "retryDelay": format!("{seconds}s") }));
        }
        if !violations.is_empty() {
            let fields = violations.iter().map(|v| json!({ "field": v.pointer, "description": v.message }));
            data.push(json!({ "@type": kind("BadRequest"), "fieldViolations": fields.collect::<Value>() }));
        }
        data.into()
    }
}

/// The HTTP status: JSON-RPC says most errors in a 200. Credentials, limits and overload are HTTP's, so that clients
/// and proxies act on them.
fn http_status(status: StatusCode) -> StatusCode {
    match status {
        StatusCode::UNAUTHORIZED
        | StatusCode::FORBIDDEN
        | StatusCode::PAYLOAD_TOO_LARGE
        | StatusCode::UNSUPPORTED_MEDIA_TYPE
        | StatusCode::TOO_MANY_REQUESTS
        | StatusCode::SERVICE_UNAVAILABLE => status,
        _ => StatusCode::OK,
    }
}

fn code(fault: Fault) -> i32 {
    match fault {
        Fault::InvalidInput
        | Fault::ForbiddenField
        | Fault::KeyRequired
        | Fault::KeyReused
        | Fault::NotFound
        | Fault::TooLarge => INVALID_PARAMS,
        Fault::Malformed | Fault::BadGateway => INVALID_RESPONSE,
        Fault::NotAcceptable => CONTENT_TYPE,
        Fault::NotImplemented => UNSUPPORTED,
        Fault::Named(status) if status.is_client_error() => INVALID_PARAMS,
        _ if fault.status().is_client_error() => INVALID_REQUEST,
        _ => INTERNAL,
    }
}

/// Whether a failure says nothing about the call itself, so that the same message may be sent again.
pub(super) fn is_passing(fault: Fault) -> bool {
    match fault {
        Fault::Unauthenticated
        | Fault::WeakAuthentication
        | Fault::MissingScope
        | Fault::RateLimited
        | Fault::Unavailable
        | Fault::Unreachable
        | Fault::InFlight => true,
        Fault::Named(status) => {
            matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
        }
        _ => false,
    }
}

/// The refusal of a request before its message is parsed.
pub(super) fn refused(refusal: &Refusal, accept: Option<&str>, insertion: Option<&Insertion>) -> Reply {
    // A browser gets an HTML page.
    if accept.is_some_and(problem::prefers_html) {
        return problem::reply(refusal, accept, insertion);
    }
    let mut problem = Problem { status: refusal.fault.status(), ..Problem::refused(refusal) };
    problem.details.headers.clear();
    let mut reply = problem.reply(Form::V03);
    reply.headers.retain(|(name, _)| *name != header::CACHE_CONTROL);
    refusal.dress(reply.with(header::VARY, "Accept"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(problem: Problem, form: Form) -> Value {
        serde_json::from_slice(&problem.reply(form).body).unwrap()
    }

    #[test]
    fn a_failure_has_a_code_of_the_protocol_and_its_details() {
        let refusal = || {
            let violations = vec![Violation { pointer: "/a".into(), message: "is no number".into() }];
            Refusal { violations, ..Refusal::from(Fault::InvalidInput).saying("Not so.") }
        };
        let old = body(Problem::refused(&refusal()), Form::V03);
        assert_eq!((&old["error"]["code"], &old["error"]["message"]), (&json!(-32602), &json!("Not so.")));
        assert_eq!(old["error"]["data"]["violations"][0]["pointer"], "/a");
        let new = body(Problem::refused(&refusal()), Form::V1);
        assert_eq!(new["error"]["data"][0]["reason"], "INVALID_INPUT");
        assert_eq!(new["error"]["data"][1]["fieldViolations"][0]["field"], "/a");
        for (fault, code, status) in [
            (Fault::Unauthenticated, -32600, 401),
            (Fault::RateLimited, -32600, 429),
            (Fault::Unavailable, -32603, 503),
            (Fault::SiteFailed, -32603, 200),
            (Fault::Malformed, -32006, 200),
            (Fault::Named(StatusCode::CONFLICT), -32602, 200),
        ] {
            let reply = Problem::refused(&fault.into()).reply(Form::V1);
            let body: Value = serde_json::from_slice(&reply.body).unwrap();
            assert_eq!((&body["error"]["code"], reply.status.as_u16()), (&json!(code), status), "{fault:?}");
        }
    }

    #[test]
    fn a_credential_is_asked_for_by_http_too() {
        let refusal = Refusal { challenge: Some(HeaderValue::from_static("Bearer")), ..Fault::Unauthenticated.into() };
        let reply = refused(&refusal, None, None);
        assert_eq!(reply.status, 401);
        assert_eq!(reply.headers.iter().filter(|(name, _)| name == header::WWW_AUTHENTICATE).count(), 1);
    }
}
