//! Responses before attribution: an answer, or an error.

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, header};
use serde_json::{Map, Value, json};

use frontdesk_desk::Account;

/// The media type of bodies without a more specific one.
pub(super) const JSON: &str = "application/vnd.agtp+json";

/// The media type of an approved endpoint (§17.2).
const ENDPOINT: &str = "application/vnd.agtp.endpoint+json";

/// An answer.
#[derive(Debug)]
pub(super) struct AgtpResponse {
    pub(super) status: u16,
    pub(super) body: Body,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    /// Why it was refused, if it was.
    pub(super) reason: Option<&'static str>,
    /// The account of the called capability, if any.
    pub(super) account: Option<Box<Account>>,
    /// The contract that it was carried out under.
    pub(super) lineage: Option<Lineage>,
    /// It may have changed something, so its record gets an action id.
    pub(super) acted: bool,
}

/// The body of a response.
#[derive(Debug)]
pub(super) enum Body {
    Nothing,
    /// With its media type.
    Of(HeaderValue, Bytes),
}

/// A contract in the form that every record of its calls has (AGTP-API §10.1.6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lineage {
    pub(super) synthesis_id: String,
    pub(super) contract_hash: String,
    /// `rcns-gate` or `propose`.
    pub(super) negotiation_origin: &'static str,
}

impl AgtpResponse {
    /// A status and a JSON body.
    pub(super) fn json(status: u16, value: &Value) -> Self {
        Self::text(status, JSON, value.to_string())
    }

    /// 263: an approved endpoint.
    pub(super) fn approved(approval: &Value) -> Self {
        Self::text(263, ENDPOINT, approval.to_string())
    }

    /// A status and a body that is already serialised.
    pub(super) fn text(status: u16, kind: &'static str, body: impl Into<Bytes>) -> Self {
        let body = Body::Of(HeaderValue::from_static(kind), body.into());
        Self { status, body, headers: Vec::new(), reason: None, account: None, lineage: None, acted: false }
    }

    /// 204.
    pub(super) fn nothing() -> Self {
        Self { body: Body::Nothing, ..Self::json(204, &Value::Null) }
    }

    /// Adds a header.
    pub(super) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }
}

/// An error response.
///
/// The members that the drafts require stand at the top level and again in `error`: `{"status": 460, "segment":
/// "search", "error": {"code", "method", "path", "message", "segment", "details"?}}`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AgtpError {
    pub(super) status: u16,
    pub(super) code: Cow<'static, str>,
    pub(super) message: Cow<'static, str>,
    /// Members that the drafts name: `type`, `reason`, `segment` …
    pub(super) members: Map<String, Value>,
    pub(super) details: Option<Value>,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    /// The reason label in metrics.
    pub(super) reason: &'static str,
}

impl AgtpError {
    /// A status, a code and a sentence with advice.
    pub(super) fn new(status: u16, code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            status,
            code: code.into(),
            message: message.into(),
            members: Map::new(),
            details: None,
            headers: Vec::new(),
            reason: code,
        }
    }

    /// Adds a member.
    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.members.insert(name.to_owned(), value.into());
        self
    }

    /// Sets the seconds until a retry, in the header and, as in every other dialect, in the body.
    pub(super) fn after(mut self, seconds: u64) -> Self {
        self.headers.push((header::RETRY_AFTER, seconds.into()));
        self.with("retry_after", seconds)
    }

    /// A missing precondition (262); `type` names it.
    pub(super) fn required(kind: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(262, kind, message).with("type", kind)
    }

    /// The error body for a verb on a path.
    pub(super) fn body(&self, method: &str, path: &str) -> Value {
        let mut error = self.members.clone();
        error.insert("code".into(), (*self.code).into());
        error.insert("method".into(), method.into());
        error.insert("path".into(), path.into());
        error.insert("message".into(), (*self.message).into());
        if let Some(details) = &self.details {
            error.insert("details".into(), details.clone());
        }
        let mut body = json!({ "status": self.status, "code": self.code, "error": error });
        if let Some(body) = body.as_object_mut() {
            for (name, value) in &self.members {
                body.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        body
    }

    /// The error as an answer for a verb on a path.
    pub(super) fn said(self, method: &str, path: &str) -> AgtpResponse {
        let body = self.body(method, path);
        AgtpResponse { headers: self.headers, reason: Some(self.reason), ..AgtpResponse::json(self.status, &body) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_texts_name_stands_in_both_places() {
        let body = AgtpError::new(460, "endpoint-violation", "No.").with("segment", "search").body("QUERY", "/search");
        assert_eq!((&body["segment"], &body["error"]["segment"]), (&json!("search"), &json!("search")));
        assert_eq!((&body["status"], &body["error"]["path"]), (&json!(460), &json!("/search")));
        let later = AgtpError::new(429, "rate-limited", "Later.").after(7);
        let body = later.body("QUERY", "/search");
        assert_eq!((&body["retry_after"], &body["error"]["retry_after"]), (&json!(7), &json!(7)));
        assert_eq!(later.headers, [(header::RETRY_AFTER, HeaderValue::from(7_u64))]);
    }
}
