//! The headers that a call carries besides those of every request, and which of them may be declared.

use frontdesk_base::method_override;
use frontdesk_caller::forwarded::{self, Meaning};
use frontdesk_config::{Call, ResponseKind};
use http::{HeaderName, HeaderValue, header};

/// The headers of every call of a capability. `None` where a declared one is not allowed.
pub(super) fn of_every_call(call: &Call) -> Option<Vec<(HeaderName, HeaderValue)>> {
    let mut headers = vec![(header::USER_AGENT, HeaderValue::from_static("frontdesk"))];
    let accept = match call.response {
        ResponseKind::Json => "application/json, */*;q=0.1",
        // Some sites answer a program with something else than a page.
        ResponseKind::Page | ResponseKind::Extract => "text/html, application/xhtml+xml;q=0.9, */*;q=0.1",
        _ if call.form_of_page.is_some() => "text/html, application/xhtml+xml;q=0.9, */*;q=0.1",
        _ => "*/*",
    };
    headers.push((header::ACCEPT, HeaderValue::from_static(accept)));
    for (name, value) in &call.headers {
        let (name, value) = static_header(name, value).ok()?;
        headers.retain(|(other, _)| *other != name);
        headers.push((name, value));
    }
    Some(headers)
}

/// A header that the operator adds to every call.
///
/// # Errors
///
/// The reason why it is not allowed. The operator may not set headers of routing, framing or length.
pub fn static_header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    const OURS: [HeaderName; 13] = [
        header::HOST,
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
        header::CONNECTION,
        header::CONTENT_TYPE,
        header::UPGRADE,
        header::TE,
        header::TRAILER,
        header::EXPECT,
        header::VIA,
        header::ACCEPT_ENCODING,
        HeaderName::from_static("keep-alive"),
        HeaderName::from_static("proxy-connection"),
    ];
    let name: HeaderName = name.parse().map_err(|_| "is not the name of a header".to_owned())?;
    if OURS.contains(&name) || !matches!(forwarded::meaning(name.as_str().as_bytes()), Meaning::Plain) {
        return Err("is set by Frontdesk itself".into());
    }
    let value = HeaderValue::from_str(value).map_err(|_| "is not the value of a header".to_owned())?;
    Ok((name, value))
}

/// A header that an input of a call becomes.
///
/// # Errors
///
/// The reason why it is not allowed: those of [`static_header`], and headers by which a caller would change the method,
/// the coding of the body, or who it is to a proxy in between.
pub fn header_of_input(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    const NOT_FROM_CALLERS: [HeaderName; 4] = [
        header::PROXY_AUTHORIZATION,
        header::CONTENT_ENCODING,
        HeaderName::from_static("http2-settings"),
        // The audit log and the site's log are brought together by it.
        HeaderName::from_static("x-request-id"),
    ];
    let (name, value) = static_header(name, value)?;
    if NOT_FROM_CALLERS.contains(&name) || method_override::is_header(name.as_str()) {
        return Err("cannot come from a caller".into());
    }
    Ok((name, value))
}
