//! Replies of the endpoints that clients call (RFC 6749 §5).

use frontdesk_base::reply::Reply;
use frontdesk_desk::Served;
use frontdesk_state::NotKept;
use http::{HeaderName, StatusCode, header};
use serde_json::{Value, json};

const JSON: &str = "application/json";

/// A reply to a client, and what is counted of it.
pub(crate) struct Answer {
    pub(crate) reply: Reply,
    /// What became of a link.
    pub(crate) link_event: Option<&'static str>,
    /// Why it was refused, where the operator should see that.
    pub(crate) reason: Option<&'static str>,
}

impl Answer {
    /// A reply that comes with an event of a link.
    pub(crate) fn with_event(reply: Reply, link_event: &'static str) -> Self {
        Self { link_event: Some(link_event), ..reply.into() }
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self { reply, link_event: None, reason: None }
    }
}

impl From<NotKept> for Answer {
    fn from(_: NotKept) -> Self {
        away().into()
    }
}

impl From<Answer> for Served {
    fn from(Answer { reply, link_event, reason }: Answer) -> Self {
        Self { link_event, reason, ..reply.into() }
    }
}

/// A reply that no cache keeps.
pub(crate) fn json_reply(status: StatusCode, body: &Value) -> Reply {
    Reply::new(status, JSON, body.to_string())
        .with(header::CACHE_CONTROL, "no-store")
        .with(header::X_CONTENT_TYPE_OPTIONS, "nosniff")
        .with(HeaderName::from_static("referrer-policy"), "no-referrer")
}

/// An error with its code and a sentence.
pub(crate) fn error(status: StatusCode, code: &str, why: &str) -> Reply {
    json_reply(status, &json!({ "error": code, "error_description": described(why) }))
}

/// The store is unavailable, and nothing was done.
pub(crate) fn away() -> Reply {
    let why = "This cannot be stored at the moment. Nothing was done; try again in a few seconds.";
    error(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", why).with(header::RETRY_AFTER, "5")
}

/// The characters that a description may have (RFC 6749 §5.2).
pub(crate) fn described(why: &str) -> String {
    why.chars().filter(|c| matches!(c, ' '..='~') && !matches!(c, '"' | '\\')).collect()
}
