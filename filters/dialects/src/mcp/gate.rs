//! Checks which pages may call the endpoint from a browser: those of the site itself only.
//!
//! A foreign page can point its own host name at this machine (DNS rebinding) and then call it as its own server. Its
//! requests reveal that in `Host` and `Origin`, which pages cannot change. Clients other than browsers send no
//! `Origin`.

use frontdesk_desk::Compiled;
use http::header;
use url::Url;

use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_caller::{authority_of, is_loopback};
use frontdesk_desk::Incoming;

/// Checks the origin and the host of a request.
///
/// # Errors
///
/// The refusal for a foreign page, or for a request to another host.
pub(super) fn check(compiled: &Compiled, request: &Incoming<'_>) -> Result<(), Refusal> {
    if !compiled.callers.answers_to(request.authority) {
        let detail = "This endpoint answers under the site's own name only. Ask for the address that was announced.";
        return Err(Refusal { reason: "host_not_ours", ..Refusal::from(Fault::Forbidden).saying(detail) });
    }
    let mut origins = request.headers.get_all(header::ORIGIN).iter();
    let (Some(origin), more) = (origins.next(), origins.next()) else { return Ok(()) };
    let ours = compiled.settings.site.origin.as_deref();
    if more.is_none() && origin.to_str().is_ok_and(|origin| may(origin, ours, request.authority)) {
        return Ok(());
    }
    let detail = "Pages of other sites may not call this. A client that is no page sends no Origin.";
    Err(Refusal { reason: "origin_not_ours", ..Refusal::from(Fault::Forbidden).saying(detail) })
}

/// Allows the site's own pages, and pages of this machine where the request addresses it as such. Without a declared
/// origin no host name is known to be the site's.
fn may(origin: &str, ours: Option<&str>, authority: &str) -> bool {
    let Ok(url) = Url::parse(origin) else { return false };
    // An opaque origin ("null") equals none.
    if ours.and_then(|ours| Url::parse(ours).ok()).is_some_and(|ours| ours.origin() == url.origin()) {
        return true;
    }
    let asked = authority_of(&format!("{}://{authority}", url.scheme()));
    is_loopback(authority) && authority_of(origin).is_some_and(|origin| Some(origin) == asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_sites_own_pages_may() {
        let site = Some("https://Example.com");
        for (origin, ours, authority, expected) in [
            ("https://example.com", site, "example.com", true),
            ("https://example.com:443", site, "127.0.0.1:8080", true),
            ("http://example.com", site, "example.com", false),
            ("https://evil.example", site, "example.com", false),
            ("https://example.com.evil.example", site, "example.com", false),
            ("null", site, "example.com", false),
            ("", site, "example.com", false),
            ("http://127.0.0.1:8080", site, "127.0.0.1:8080", true),
            ("http://localhost:8080", None, "localhost:8080", true),
            ("http://localhost:6274", None, "localhost:8080", false),
            ("http://localhost", None, "localhost", true),
            ("http://evil.example:8080", None, "evil.example:8080", false),
            ("http://evil.example:8080", None, "127.0.0.1:8080", false),
        ] {
            assert_eq!(may(origin, ours, authority), expected, "{origin} {ours:?} {authority}");
        }
    }
}
