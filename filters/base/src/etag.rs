//! Entity tags of Frontdesk's own documents (RFC 9110 §8.8.3).

use http::{HeaderMap, HeaderValue, header};
use ring::digest;

use crate::text::hex;

/// A strong entity tag: the first 16 hex digits of the body's SHA-256.
pub fn strong(body: &[u8]) -> HeaderValue {
    let digest = digest::digest(&digest::SHA256, body);
    HeaderValue::try_from(format!("\"{}\"", hex(&digest.as_ref()[..8])))
        .unwrap_or_else(|_| HeaderValue::from_static("\"0\""))
}

/// Whether `If-Match` is present and names only other tags, by strong comparison (RFC 9110 §13.1.1).
pub fn fails(headers: &HeaderMap, etag: &HeaderValue) -> bool {
    let mut wanted =
        headers.get_all(header::IF_MATCH).iter().flat_map(|v| v.as_bytes().split(|b| *b == b',')).peekable();
    wanted.peek().is_some() && !wanted.any(|tag| [b"*", etag.as_bytes()].contains(&tag.trim_ascii()))
}

/// Whether `If-None-Match` names this tag, by weak comparison (RFC 9110 §13.1.2).
pub fn matches(headers: &HeaderMap, etag: &HeaderValue) -> bool {
    let Ok(etag) = etag.to_str() else { return false };
    headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|v| v.to_str().ok())
        .flat_map(|v| v.split(','))
        .map(str::trim)
        .any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}
