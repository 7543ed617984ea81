//! The responses of AHP (§6.2 to §6.4, §9.2, §10): one JSON object, whatever dialect carries it.

use http::{HeaderName, HeaderValue, StatusCode};
use serde_json::{Value, json};

use super::error;
use frontdesk_base::{
    fault::{Fault, Refusal},
    reply::Reply,
};
use frontdesk_desk::{Account, Asked, rfc3339};

/// An AHP response.
#[derive(Debug)]
pub struct Said {
    pub status: StatusCode,
    pub body: Value,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Why it was refused, if it was.
    pub reason: Option<&'static str>,
    pub account: Option<Account>,
    /// What a person's confirmation is sent back as, where one is needed.
    pub confirmation: Option<String>,
}

impl Said {
    pub(super) fn ok(body: Value) -> Self {
        Self { status: StatusCode::OK, body, headers: Vec::new(), reason: None, account: None, confirmation: None }
    }

    pub(super) fn refused(refusal: &Refusal) -> Self {
        let reply = error::dressed(refusal, Reply::empty(error::status(refusal.fault)));
        let reason = Some(refusal.reason);
        Self { status: reply.status, headers: reply.headers, reason, ..Self::ok(error::body(refusal)) }
    }

    /// A bad request with a code of AHP's own.
    fn bad(code: &'static str, message: &str, name: &str, more: Value) -> Self {
        let mut said = Self::refused(&Refusal::from(Fault::BadRequest).saying(message.to_owned()));
        said.body["code"] = code.into();
        said.body["reason"] = code.into();
        if !more.is_null() {
            said.body[name] = more;
        }
        said
    }

    /// Part of the request is invalid.
    pub fn wrong(message: &str) -> Box<Self> {
        Box::new(Self::bad("invalid_request", message, "", Value::Null))
    }

    /// A required field is missing.
    pub(super) fn missing(field: &str) -> Box<Self> {
        let message = format!("The field {field} is missing.");
        Box::new(Self::bad("missing_field", &message, "field", field.into()))
    }

    /// The capability does not exist.
    pub(crate) fn unknown_capability<'a>(named: &str, there_are: impl Iterator<Item = &'a str>) -> Self {
        let shown: String = named.chars().filter(|c| !c.is_control()).take(64).collect();
        let message = format!("The capability '{shown}' is not supported.");
        let there_are: Vec<&str> = there_are.take(MOST_NAMED).collect();
        Self::bad("unknown_capability", &message, "available_capabilities", there_are.into())
    }

    /// None of the accepted types is available (AHP §6.6).
    pub(super) fn unsupported_type(there_are: &[String]) -> Self {
        let message = "None of context.accept_types can be had here.";
        Self::bad("unsupported_type", message, "available_types", there_are.into())
    }

    /// A clarifying question (AHP §6.3). It contains both spellings of the question that the specification uses.
    pub(super) fn unclear(session: Option<&str>, question: &str, options: Option<&[&str]>, free_form: bool) -> Self {
        Self::ok(json!({
            "status": "clarification_needed",
            "session_id": session,
            "clarification_question": question,
            "clarification": { "question": question, "options": options, "free_form": free_form },
        }))
    }

    /// A person has to confirm first (docs/decisions/0010-confirmations.md).
    pub(super) fn asked(session: Option<&str>, asked: &Asked) -> Self {
        let stop = if asked.summary.ends_with(['.', '!', '?']) { "" } else { "." };
        let question = format!("{}{stop} {} Confirm?", asked.summary, asked.consequence);
        let options = [asked.token.as_str(), CANCEL];
        let mut said = Self::unclear(session, &question, Some(&options), false);
        let expires = std::time::UNIX_EPOCH + std::time::Duration::from_secs(asked.expires);
        said.body["confirmation"] = json!({
            "required": true,
            "summary": asked.summary,
            "consequence": asked.consequence,
            "expires_at": rfc3339(expires),
            "token": asked.token,
        });
        said.body["reason"] = asked.refusal.reason.into();
        said.confirmation = Some(asked.token.clone());
        said.reason = Some(asked.refusal.reason);
        said
    }

    /// The answer follows later (AHP §6.4).
    pub(super) fn accepted(session: &str, poll: &str, eta: Option<u64>, callback: Option<&str>) -> Self {
        let mut body = json!({ "status": "accepted", "session_id": session, "eta_seconds": eta, "poll": poll });
        if let Some(url) = callback {
            body["callback"] = json!({ "method": "POST", "url": url });
        }
        Self::ok(body)
    }

    /// The HTTP reply.
    pub fn reply(self) -> Reply {
        let mut reply = Reply::new(self.status, "application/json", self.body.to_string());
        reply.headers.extend(self.headers);
        if !reply.headers.iter().any(|(name, _)| name == http::header::CACHE_CONTROL) {
            reply = reply.with(http::header::CACHE_CONTROL, "no-store");
        }
        reply
    }
}

/// The answer that declines a confirmation.
pub(super) const CANCEL: &str = "cancel";
/// Maximum capabilities that are named in the error for an unknown one.
const MOST_NAMED: usize = 100;
