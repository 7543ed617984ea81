//! What belongs to one hop only (RFC 9110 §7.6.1): hop-by-hop fields, what `Connection` names, and interim responses.

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version, header};

use crate::{
    Malformed,
    edit_head::EditHead,
    field::{FieldClass, is_padded},
    framing::{Framing, reframe},
};

/// Interim responses (1xx) that one request may be given. More are a fault of the site.
pub const MOST_INTERIM: usize = 32;

/// Whether an interim response may go on. `count`: how many the request has been given, this one included; `asked`: the
/// request, where it asks for an upgrade.
///
/// # Errors
///
/// Where the site switches to what nobody asked for, or goes on without end.
pub fn check_interim(
    status: StatusCode,
    headers: &HeaderMap,
    count: usize,
    asked: Option<&HeaderMap>,
) -> Result<(), Malformed> {
    let why = match (status, asked) {
        _ if count > MOST_INTERIM => "more interim answers than are taken",
        (StatusCode::SWITCHING_PROTOCOLS, None) => "101 that nobody asked for",
        (StatusCode::SWITCHING_PROTOCOLS, Some(asked)) if !switches_as_asked(asked, headers) => {
            "101 with another protocol than was asked for"
        }
        _ => return Ok(()),
    };
    Err(Malformed::Rule(why))
}

/// Whether a 101 switches to a protocol that was asked for (RFC 9110 §7.8). A 101 that names none passes: the client decides.
fn switches_as_asked(asked: &HeaderMap, answered: &HeaderMap) -> bool {
    let protocols = |headers: &HeaderMap| -> Vec<Vec<u8>> {
        let members = headers.get_all(header::UPGRADE).iter().flat_map(|value| value.as_bytes().split(|b| *b == b','));
        members.map(|member| member.trim_ascii().to_ascii_lowercase()).filter(|member| !member.is_empty()).collect()
    };
    let asked = protocols(asked);
    protocols(answered).iter().all(|protocol| asked.contains(protocol))
}

/// Removes from a response what belongs to one hop only, and leaves one framing, `framing`. An upgrade keeps its
/// handshake. `has_trailers`: they are passed on; where they are not, nobody is to wait for what announces them.
///
/// # Errors
///
/// Where the head takes no more lines.
pub fn end_response<H: EditHead>(
    head: &mut H,
    status: StatusCode,
    framing: Framing,
    has_trailers: bool,
) -> Result<(), H::Error> {
    reframe(head, status, framing.body)?;
    if status == StatusCode::SWITCHING_PROTOCOLS {
        return Ok(());
    }
    let named = connection_options(head.headers())
        // What frames the response is not for a site to take away.
        .filter(|name| !matches!(*name, header::CONTENT_LENGTH | header::TRANSFER_ENCODING | header::CONTENT_TYPE));
    let of_the_hop = |name: &&HeaderName| match FieldClass::of(name.as_ref()) {
        Some(FieldClass::Connection | FieldClass::HopByHop) => true,
        Some(FieldClass::Trailer) => !has_trailers,
        _ => false,
    };
    let ended: Vec<HeaderName> = named.chain(head.headers().keys().filter(of_the_hop).cloned()).collect();
    for name in &ended {
        head.remove(name);
    }
    Ok(())
}

/// The fields that `Connection` says belong to this hop.
pub fn connection_options(headers: &HeaderMap) -> impl Iterator<Item = HeaderName> {
    let lists = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok())
}

/// Whether a client keeps its connection after this request (RFC 9112 §9.3). All `Connection` lines are one list, and
/// `close` anywhere in it is a close. The library reads the first line only.
pub fn client_keeps(version: Version, headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::CONNECTION).iter();
    let mut options = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    match version {
        Version::HTTP_09 | Version::HTTP_10 => {
            options.fold(None, |kept, option| match option {
                _ if option.eq_ignore_ascii_case(b"close") => Some(false),
                _ if option.eq_ignore_ascii_case(b"keep-alive") => kept.or(Some(true)),
                _ => kept,
            }) == Some(true)
        }
        _ => !options.any(|option| option.eq_ignore_ascii_case(b"close")),
    }
}

/// What a request's `Connection` names that may not be named there, if anything: no name at all, or one of those that say
/// who asks what of whom. pingora refuses the same without a word about it, and only where a request passes.
pub fn wrong_connection_option(headers: &HeaderMap) -> Option<&[u8]> {
    const ENDS: [&str; 4] = ["host", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"];
    let fits = |option: &[u8]| HeaderName::from_bytes(option).is_ok_and(|name| !ENDS.contains(&name.as_str()));
    let options = headers.get_all(header::CONNECTION).iter().flat_map(|v| v.as_bytes().split(|b| *b == b','));
    options.map(<[u8]>::trim_ascii).find(|option| !option.is_empty() && !fits(option))
}

/// Whether a field of a request belongs to the hop that it came over, whatever `Connection` says.
pub fn is_of_requests_hop(name: &HeaderName) -> bool {
    matches!(name.as_str(), "te" | "transfer-encoding" | "http2-settings")
        || matches!(
            FieldClass::of(name.as_ref()),
            Some(FieldClass::Connection | FieldClass::HopByHop | FieldClass::Trailer)
        )
}

/// Takes the blanks away around all values: HTTP/1 has no way to write them, and HTTP/2 forbids them (RFC 9113 §8.2.1).
///
/// # Errors
///
/// Where the head takes no more lines.
pub fn trim_values<H: EditHead>(head: &mut H) -> Result<(), H::Error> {
    let trim = |value: &HeaderValue| HeaderValue::from_bytes(value.as_bytes().trim_ascii()).ok();
    let headers = head.headers();
    let names = headers.keys().filter(|name| headers.get_all(*name).iter().any(is_padded));
    let trimmed: Vec<(HeaderName, Vec<HeaderValue>)> =
        names.map(|name| (name.clone(), headers.get_all(name).iter().filter_map(trim).collect())).collect();
    for (name, values) in trimmed {
        head.remove(&name);
        values.into_iter().try_for_each(|value| head.append(name.clone(), value))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;
    use crate::framing;

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
    fn a_hop_ends_with_what_belongs_to_it() {
        let sent = headers(&[
            ("connection", "close, x-own, content-type"),
            ("keep-alive", "timeout=5"),
            ("proxy-connection", "close"),
            ("upgrade", "h2c"),
            ("trailer", "x-sum"),
            ("x-own", "1"),
            ("content-type", "text/plain"),
            ("content-length", "5"),
            ("x-other", "2"),
        ]);
        let framing = framing::of(&Method::GET, StatusCode::OK, Version::HTTP_11, &sent).unwrap();
        let left = |status: StatusCode, has_trailers: bool| {
            let mut head = sent.clone();
            end_response(&mut head, status, framing, has_trailers).unwrap();
            head
        };
        let kept = headers(&[("content-type", "text/plain"), ("content-length", "5"), ("x-other", "2")]);
        assert_eq!(left(StatusCode::OK, false), kept);
        let mut with_trailers = kept.clone();
        with_trailers.insert("trailer", "x-sum".parse().unwrap());
        assert_eq!(left(StatusCode::OK, true), with_trailers);
        assert!(left(StatusCode::SWITCHING_PROTOCOLS, false).contains_key("upgrade"));
    }

    #[test]
    fn close_in_any_line_ends_a_clients_connection() {
        // Lines, and whether HTTP/1.1 and HTTP/1.0 keep the connection.
        let cases: [(&[&str], bool, bool); 12] = [
            (&[], true, false),
            (&["keep-alive"], true, true),
            (&["Close"], false, false),
            (&["keep-alive", "close"], false, false),
            (&["close", "keep-alive"], false, false),
            (&["keep-alive, CLOSE"], false, false),
            (&["x-own", "close"], false, false),
            (&["keep-alive", "upgrade, close"], false, false),
            (&["keep-alive", ",close,"], false, false),
            (&["x-own", "keep-alive"], true, true),
            (&["x-own"], true, false),
            (&["closed, not-close"], true, false),
        ];
        for (lines, newer, older) in cases {
            let sent: Vec<_> = lines.iter().map(|line| ("connection", *line)).collect();
            let keeps = |version| client_keeps(version, &headers(&sent));
            assert_eq!((keeps(Version::HTTP_11), keeps(Version::HTTP_10)), (newer, older), "{lines:?}");
        }
    }

    #[test]
    fn requests_name_no_end_to_end_field_of_routing_in_connection() {
        for (said, wrong) in [
            ("close", None),
            ("keep-alive, x-own", None),
            ("", None),
            (", ,", None),
            ("close, Host", Some("Host")),
            ("x-forwarded-for", Some("x-forwarded-for")),
            ("a b", Some("a b")),
        ] {
            let sent = headers(&[("connection", said)]);
            assert_eq!(wrong_connection_option(&sent), wrong.map(str::as_bytes), "{said}");
        }
    }

    #[test]
    fn values_lose_the_blanks_around_them() {
        let mut plain = headers(&[("a", "1"), ("a", "2 3"), ("b", "4")]);
        let before = plain.clone();
        trim_values(&mut plain).unwrap();
        assert_eq!(plain, before);
        let mut padded = headers(&[("a", "1"), ("b", "4")]);
        padded.append("a", HeaderValue::from_static(" \t2 3 "));
        trim_values(&mut padded).unwrap();
        assert_eq!(padded, before);
    }
}
