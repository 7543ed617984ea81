//! The head of a site's answer on its way: what belongs to the hop ends here, and one framing is left.

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, header};
use pingora::{
    Error, ErrorType, Result,
    http::{RequestHeader, ResponseHeader},
};

use super::head::nominated;
use crate::framing::answer::{self, Framing, MOST_INTERIM, reframe};

/// Whether an interim answer may go on. `count`: how many the request has been given, this one included; `asked`: the
/// request, where it asks for an upgrade.
///
/// # Errors
///
/// Where the site switches to what nobody asked for, or goes on without end.
pub fn check_interim(response: &ResponseHeader, count: usize, asked: Option<&HeaderMap>) -> Result<()> {
    let why = match (response.status, asked) {
        _ if count > MOST_INTERIM => "more interim answers than are taken",
        (StatusCode::SWITCHING_PROTOCOLS, None) => "101 that nobody asked for",
        (StatusCode::SWITCHING_PROTOCOLS, Some(asked)) if !switches_as_asked(asked, &response.headers) => {
            "101 with another protocol than was asked for"
        }
        _ => return Ok(()),
    };
    Error::e_explain(ErrorType::InvalidHTTPHeader, why)
}

/// Whether a 101 switches to a protocol that was asked for (RFC 9110 §7.8). One that names none is left to whoever asked.
fn switches_as_asked(asked: &HeaderMap, answered: &HeaderMap) -> bool {
    let protocols = |headers: &HeaderMap| -> Vec<Vec<u8>> {
        let members = headers.get_all(header::UPGRADE).iter().flat_map(|value| value.as_bytes().split(|b| *b == b','));
        members.map(|member| member.trim_ascii().to_ascii_lowercase()).filter(|member| !member.is_empty()).collect()
    };
    let asked = protocols(asked);
    protocols(answered).iter().all(|protocol| asked.contains(protocol))
}

/// Whether a value begins or ends with a blank: HTTP/1 has no way to say that, and HTTP/2 forbids it (RFC 9113 §8.2.1).
pub fn is_padded(value: &HeaderValue) -> bool {
    let blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    blank(value.as_bytes().first()) || blank(value.as_bytes().last())
}

/// The fields one of whose values is padded, with all of their values, no longer padded.
fn trimmed(headers: &HeaderMap) -> Vec<(HeaderName, Vec<HeaderValue>)> {
    let trim = |value: &HeaderValue| HeaderValue::from_bytes(value.as_bytes().trim_ascii()).ok();
    let names = headers.keys().filter(|name| headers.get_all(*name).iter().any(is_padded));
    names.map(|name| (name.clone(), headers.get_all(name).iter().filter_map(trim).collect())).collect()
}

/// Takes the blanks away around the values of a request over HTTP/2.
pub fn trim_request(request: &mut RequestHeader) -> Result<()> {
    for (name, values) in trimmed(&request.headers) {
        request.remove_header(&name);
        values.into_iter().try_for_each(|value| request.append_header(name.clone(), value).map(drop))?;
    }
    Ok(())
}

/// The same for an answer of a site that speaks HTTP/2.
pub fn trim_response(response: &mut ResponseHeader) -> Result<()> {
    let fields = if response.version == Version::HTTP_2 { trimmed(&response.headers) } else { Vec::new() };
    for (name, values) in fields {
        response.remove_header(&name);
        values.into_iter().try_for_each(|value| response.append_header(name.clone(), value).map(drop))?;
    }
    Ok(())
}

/// Removes from a response what belongs to one hop only, and leaves one framing, which it gives back. An upgrade keeps its
/// handshake.
/// `has_trailers`: they are passed on; where they are not, nobody is to wait for what announces them.
///
/// # Errors
///
/// Where the response could be framed in more than one way.
pub fn end_hop(response: &mut ResponseHeader, method: &Method, has_trailers: bool) -> Result<Framing> {
    let framing = answer::of(method, response.status, response.version, &response.headers)
        .map_err(|why| Error::explain(ErrorType::InvalidHTTPHeader, why))?;
    reframe(response, framing.body)?;
    if response.status == StatusCode::SWITCHING_PROTOCOLS {
        return Ok(framing);
    }
    let nominated: Vec<HeaderName> = nominated(&response.headers)
        // What frames the response is not for a site to take away.
        .filter(|name| !matches!(*name, header::CONTENT_LENGTH | header::TRANSFER_ENCODING | header::CONTENT_TYPE))
        .collect();
    for name in nominated.iter().chain(&HOP_BY_HOP) {
        // Looked for first: most are not there, and the library removes from two maps.
        if response.headers.contains_key(name) {
            response.remove_header(name);
        }
    }
    if !has_trailers && response.headers.contains_key(header::TRAILER) {
        response.remove_header(&header::TRAILER);
    }
    Ok(framing)
}

const HOP_BY_HOP: [HeaderName; 4] = [
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::UPGRADE,
    header::CONNECTION,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_protocol_is_one_that_was_asked_for() {
        let switches = |asked: &str, answered: &[(&str, &str)]| {
            switches_as_asked(&headers(&[("upgrade", asked)]), &headers(answered))
        };
        assert!(switches("websocket", &[("upgrade", "WebSocket")]));
        assert!(switches("h2c, websocket", &[("upgrade", "websocket")]));
        assert!(switches("websocket", &[]));
        assert!(!switches("websocket", &[("upgrade", "h2c")]));
        assert!(!switches("websocket", &[("upgrade", "websocket"), ("upgrade", "tls/1.0")]));
        assert!(!switches("websocket", &[("upgrade", "websocket2")]));
    }

    #[test]
    fn values_lose_the_blanks_around_them() {
        let padded = headers(&[("a", "1"), ("a", "2 3"), ("b", "4")]);
        assert!(trimmed(&padded).is_empty());
        let mut padded = headers(&[("a", "1"), ("b", "4")]);
        padded.append("a", HeaderValue::from_static(" \t2 3 "));
        let fields = trimmed(&padded);
        assert_eq!(fields.len(), 1);
        assert_eq!(
            (fields[0].0.as_str(), &fields[0].1[..]),
            ("a", &[HeaderValue::from_static("1"), HeaderValue::from_static("2 3")][..])
        );
    }
}
