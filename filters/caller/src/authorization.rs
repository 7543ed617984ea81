//! The `Authorization` header: which scheme it uses, and the credentials after it.

/// Whether `Authorization` holds a bearer token.
pub(crate) fn is_bearer(authorization: &[u8]) -> bool {
    bearer(authorization).is_some()
}

/// The credentials after `Bearer`. Other schemes are for the site.
pub(crate) fn bearer(authorization: &[u8]) -> Option<&[u8]> {
    let authorization = authorization.trim_ascii();
    let end = authorization.iter().position(u8::is_ascii_whitespace).unwrap_or(authorization.len());
    let (scheme, rest) = authorization.split_at(end);
    scheme.eq_ignore_ascii_case(b"bearer").then(|| rest.trim_ascii())
}
