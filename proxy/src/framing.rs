//! What a head says of the body that follows: how long it is, and whether it is held back until somebody wants it.

pub mod answer;
pub mod chunks;

use http::{HeaderMap, Method, StatusCode, header};

/// A length as it may be written (RFC 9110 §8.6): digits, and nothing else.
pub fn digits(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let value = |so_far: u64, byte: &u8| so_far.checked_mul(10)?.checked_add(digit(byte)?);
    (!text.is_empty()).then(|| text.iter().try_fold(0, value))?
}

/// The length in bytes that is said, if it is one.
pub fn announced(headers: &HeaderMap) -> Option<u64> {
    digits(headers.get(header::CONTENT_LENGTH)?.as_bytes())
}

/// Whether an answer shows that the site has read the request's body. A careless site answers from the head alone and
/// takes the body for the next request. Most such answers are redirects and errors, or answer a method without a body.
pub fn shows_body_was_read(method: &Method, status: StatusCode) -> bool {
    matches!(*method, Method::POST | Method::PUT | Method::PATCH) && status.is_success()
}

/// Whether the body stays away until it is asked for (`Expect: 100-continue`, RFC 9110 §10.1.1).
pub fn is_held_back(headers: &HeaderMap) -> bool {
    headers.get(header::EXPECT).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// Looks for a Content-Length line in a raw head.
pub fn has_content_length(raw: &[u8]) -> bool {
    const NAME: &[u8] = b"content-length:";
    raw.split(|b| *b == b'\n')
        .skip(1)
        .any(|line| line.len() >= NAME.len() && line[..NAME.len()].eq_ignore_ascii_case(NAME))
}
