//! The access rules of the admin address.

use std::net::IpAddr;

use http::{StatusCode, header};
use pingora::http::RequestHeader;

use super::{Answer, problem};
use crate::live::Live;

/// Refuses requests of web pages in a browser on this host, by their Host and Origin.
pub(super) fn check_browser(request: &RequestHeader, live: &Live) -> Result<(), Box<Answer>> {
    let running = live.current();
    let names = &running.snapshot.settings.admin.hosts;
    let known = |authority: &str| {
        let host = host_of(authority);
        host.parse::<IpAddr>().is_ok()
            || host.eq_ignore_ascii_case("localhost")
            || names.iter().any(|n| n.eq_ignore_ascii_case(host))
    };
    let host = request.headers.get(header::HOST).map(|v| v.to_str().unwrap_or("?"));
    if host.is_some_and(|h| !known(h)) {
        return Err(Box::new(problem(
            StatusCode::MISDIRECTED_REQUEST,
            "This Host is not one of the operator's. Use an address, localhost, or a name in admin.hosts.",
        )));
    }
    let Some(origin) = request.headers.get(header::ORIGIN) else { return Ok(()) };
    let authority = origin.to_str().ok().and_then(|o| o.split_once("://")).map(|(_, authority)| authority);
    if authority.is_some() && authority == host {
        return Ok(());
    }
    Err(Box::new(problem(StatusCode::FORBIDDEN, "A page of another origin may not use this address.")))
}

/// `host`, `host:port`, `[v6]:port` → the host alone.
fn host_of(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(rest),
        None if authority.matches(':').count() > 1 => authority,
        None => authority.split(':').next().unwrap_or(authority),
    }
}

/// Checks that the client is the operator: on loopback always, elsewhere by the token.
pub(super) fn check_operator(request: &RequestHeader, live: &Live) -> Result<(), Box<Answer>> {
    if live.bound().admin.ip().is_loopback() { Ok(()) } else { check_token(request, live) }
}

/// Checks the token on any address, for decisions in the operator's name: other programs on this host share our
/// loopback.
pub(super) fn check_token(request: &RequestHeader, live: &Live) -> Result<(), Box<Answer>> {
    let running = live.current();
    let Some(expected) = running.snapshot.settings.admin.token_sha256 else {
        return Err(Box::new(problem(
            StatusCode::FORBIDDEN,
            "This needs the operator's token, and admin.token_sha256 is not set. \
             Set it to the SHA-256 of a token and send the token as Authorization: Bearer.",
        )));
    };
    let token = request.headers.get(header::AUTHORIZATION).and_then(|v| v.to_str().ok());
    let token = token.and_then(|v| v.split_once(' ')).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    if token.is_some_and(|(_, token)| is_token(token, &expected)) {
        return Ok(());
    }
    let mut refusal = problem(StatusCode::UNAUTHORIZED, "Send the operator's token as Authorization: Bearer.");
    refusal.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
    Err(Box::new(refusal))
}

/// Whether a text is the operator's token.
pub(super) fn is_token(given: &str, expected: &[u8; 32]) -> bool {
    let given = ring::digest::digest(&ring::digest::SHA256, given.trim().as_bytes());
    // Compare hashes of equal length in constant time.
    given.as_ref().iter().zip(expected).fold(0, |diff, (a, b)| diff | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::host_of;

    #[test]
    fn hosts_lose_their_ports() {
        for (authority, host) in [
            ("a:1", "a"),
            ("a", "a"),
            ("[::1]:1", "::1"),
            ("[::1]", "::1"),
            ("::1", "::1"),
            ("127.0.0.1:9", "127.0.0.1"),
        ] {
            assert_eq!(host_of(authority), host);
        }
    }
}
