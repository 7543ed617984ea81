//! The id of a request, which the site, the access line, the audit log and the answer repeat (`X-Request-Id`).

use frontdesk_filters::{Reply, fresh_id};
use frontdesk_http1::field::FixedName;
use http::{HeaderMap, HeaderName, HeaderValue};

pub(super) static REQUEST_ID: FixedName = FixedName::new(HeaderName::from_static("x-request-id"), "X-Request-Id");
/// The longest id that is taken from a client, in bytes.
const LONGEST_ID: usize = 128;

/// The client's id for its request, or one of ours.
pub(crate) fn request_id(headers: &HeaderMap) -> String {
    theirs(headers).map_or_else(|| fresh_id().hyphenated().encode_lower(&mut [0; 36]).to_owned(), str::to_owned)
}

/// The client's id for its request, where it can be taken as it is.
pub(super) fn theirs(headers: &HeaderMap) -> Option<&str> {
    let fits = |id: &&str| !id.is_empty() && id.len() <= LONGEST_ID && id.bytes().all(|b| b.is_ascii_graphic());
    headers.get(&REQUEST_ID.name).and_then(|value| value.to_str().ok()).filter(fits)
}

/// The reply with the id of the request that it answers.
pub(super) fn named(reply: Reply, request_id: &str) -> Reply {
    match HeaderValue::from_str(request_id) {
        Ok(id) => reply.with_value(REQUEST_ID.name.clone(), id),
        Err(_) => reply,
    }
}
