//! Replies of the endpoints that clients call (RFC 6749 §5).

use frontdesk_base::reply::Reply;
use http::{HeaderName, StatusCode, header};
use serde_json::{Value, json};

const JSON: &str = "application/json";

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
