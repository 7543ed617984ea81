//! Determines the client address, and which forwarding headers the site may trust.
//!
//! Only a peer in `listen.trusted_proxies` is believed about the client behind it. Such headers from any other peer
//! are removed, in every spelling that a CGI-like site would fold into the same name
//! (docs/decisions/0012-credentials-stop-here.md).

use std::net::IpAddr;

use http::HeaderMap;
use ipnet::IpNet;

use frontdesk_base::text::{parts, unquoted};

const X_FORWARDED_FOR: &str = "x-forwarded-for";
const FORWARDED: &str = "forwarded";

/// Names besides `X-Forwarded-*` from which sites read the client address, or a target that differs from the
/// request's.
const FORWARDING_NAMES: [&str; 20] = [
    "forwarded",
    "forwarded-for",
    "x-forwarded",
    "x-original-forwarded-for",
    "x-real-ip",
    "client-ip",
    "x-client-ip",
    "true-client-ip",
    "x-cluster-client-ip",
    "cf-connecting-ip",
    "fastly-client-ip",
    "x-original-url",
    "x-original-uri",
    "x-rewrite-url",
    // Application servers (gunicorn, WSGI middleware, IIS) and gateways take the path from these.
    "script-name",
    "path-info",
    "x-script-name",
    "x-envoy-original-path",
    "x-replaced-path",
    "x-waws-unencoded-url",
];

/// The first letters of the names that [`meaning`] finds. Few other headers begin with one of them.
const INITIALS: &[u8] = b"cfpstx";

/// What a request header's name means to the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Frontdesk's own: `X-Frontdesk-…`, which only Frontdesk may set, or `X-AHP-Key`, which the site does not need. So is
    /// `Proxy`: CGI programs would take it for the proxy of their own requests, `HTTP_PROXY` (CVE-2016-5385).
    Ours,
    /// A statement about the client, which only a trusted peer may make.
    Forwarding,
    /// A forwarding or Frontdesk name spelled with underscores or dots. Removed for every peer, since no proxy sends
    /// it.
    Disguised,
    /// Any other name.
    Plain,
}

/// Classifies a header's name, case-insensitively, as a site would that ignores all but letters and digits.
pub fn meaning(name: &[u8]) -> Meaning {
    if !name.first().is_some_and(|first| INITIALS.contains(&first.to_ascii_lowercase())) {
        return Meaning::Plain;
    }
    let odd = |b: &u8| !b.is_ascii_alphanumeric() && *b != b'-';
    let disguised = name.iter().any(odd);
    let folded: Vec<u8>;
    let plain = if disguised {
        folded = name.iter().map(|b| if odd(b) { b'-' } else { *b }).collect();
        folded.as_slice()
    } else {
        name
    };
    let is = |other: &str| plain.eq_ignore_ascii_case(other.as_bytes());
    let begins = |with: &str| plain.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with.as_bytes()));
    let ours = begins("x-frontdesk-") || is("x-ahp-key") || is("proxy");
    let forwarding = begins("x-forwarded-") || FORWARDING_NAMES.iter().any(|name| is(name));
    match (ours, forwarding, disguised) {
        (true, _, false) => Meaning::Ours,
        (_, true, false) => Meaning::Forwarding,
        (true, _, true) | (_, true, true) => Meaning::Disguised,
        _ => Meaning::Plain,
    }
}

/// Whether a peer is in `listen.trusted_proxies`. An IPv4-mapped IPv6 address counts as IPv4.
pub fn is_trusted(peer: IpAddr, trusted: &[IpNet]) -> bool {
    let peer = peer.to_canonical();
    trusted.iter().any(|net| net.contains(&peer))
}

/// The client address: the peer, or, where the peer is trusted, the rightmost address in `X-Forwarded-For` (else in
/// `Forwarded`) that is not a trusted proxy. The search ends at an unreadable entry.
pub fn client_address(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let list = || if headers.contains_key(X_FORWARDED_FOR) { List::Plain } else { List::Forwarded };
    search(peer, headers, trusted, list).0
}

/// What trusted proxies state about the client in `Forwarded` only.
#[derive(Debug, PartialEq, Eq)]
pub struct Stated<'h> {
    /// `http` or `https`.
    pub scheme: Option<&'static str>,
    /// The host that the client asked for.
    pub host: Option<&'h str>,
}

/// The other parameters of the `Forwarded` element that [`client_address`] ends at, which the trusted proxy nearest to
/// the client added (RFC 7239 §4). Used only where the peer is trusted and sends no `X-Forwarded-*` headers: a proxy
/// that sends those may ignore `Forwarded`, and pass on what a client wrote there.
pub fn stated<'h>(peer: IpAddr, headers: &'h HeaderMap, trusted: &[IpNet]) -> Option<Stated<'h>> {
    let elsewhere = [X_FORWARDED_FOR, "x-forwarded-proto", "x-forwarded-host", "x-real-ip"];
    if !headers.contains_key(FORWARDED) || elsewhere.iter().any(|name| headers.contains_key(*name)) {
        return None;
    }
    let element = search(peer, headers, trusted, || List::Forwarded).1?;
    let proto = only(element, "proto");
    let is = |scheme: &&str| proto.is_some_and(|proto| proto.eq_ignore_ascii_case(scheme));
    Some(Stated { scheme: ["http", "https"].into_iter().find(is), host: only(element, "host") })
}

/// The header in which proxies list the clients.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    /// `X-Forwarded-For`.
    Plain,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

/// The client address and the element it comes from. A trusted proxy added every element that is looked at, even if
/// the address in it is unreadable. `list` is called only where the peer is trusted, which is rare.
fn search<'h>(
    peer: IpAddr,
    headers: &'h HeaderMap,
    trusted: &[IpNet],
    list: impl FnOnce() -> List,
) -> (IpAddr, Option<&'h str>) {
    let mut client = peer.to_canonical();
    let mut told = None;
    if !is_trusted(client, trusted) {
        return (client, told);
    }
    let list = list();
    let lines = headers.get_all(if list == List::Plain { X_FORWARDED_FOR } else { FORWARDED }).iter();
    for line in lines.rev() {
        let mut rest = Some(line.as_bytes());
        while let Some(line) = rest {
            let element;
            (rest, element) = last_element(line, list == List::Forwarded);
            let Ok(text) = std::str::from_utf8(element) else { return (client, told) };
            told = Some(text);
            let address = if list == List::Plain { parse_address(text) } else { forwarded_for(text) };
            let Some(address) = address else { return (client, told) };
            client = address;
            if !is_trusted(address, trusted) {
                return (client, told);
            }
        }
    }
    (client, told)
}

/// The last element of a list, and the rest before it. Reads from the right, because that end is the proxy's own: a
/// quote that a client leaves open cannot swallow it, and a comma in the host name, which the proxy quotes, begins no
/// new element.
fn last_element(line: &[u8], has_quotes: bool) -> (Option<&[u8]>, &[u8]) {
    let escaped = |at: usize| line[..at].iter().rev().take_while(|b| **b == b'\\').count() % 2 == 1;
    let mut quoted = false;
    let comma = (0..line.len()).rev().find(|at| {
        if has_quotes && line[*at] == b'"' && !escaped(*at) {
            quoted = !quoted;
        }
        line[*at] == b',' && !quoted
    });
    comma.map_or((None, line), |at| (Some(&line[..at]), &line[at + 1..]))
}

/// `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]:4711`.
fn parse_address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(address.to_canonical());
    }
    let (address, port) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']').filter(|(address, _)| address.contains(':'))?,
        None => text.find(':').map(|colon| text.split_at(colon))?,
    };
    (port.is_empty() || is_port(port.strip_prefix(':')?)).then_some(())?;
    address.parse::<IpAddr>().ok().map(|a| a.to_canonical())
}

/// Whether it is a port number or an obfuscated port (RFC 7239 §6.3).
fn is_port(text: &str) -> bool {
    let word = |rest: &str| rest.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    match text.strip_prefix('_') {
        Some(rest) => !rest.is_empty() && word(rest),
        None => (1..=5).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit()),
    }
}

fn forwarded_for(element: &str) -> Option<IpAddr> {
    parse_address(only(element, "for")?)
}

/// A parameter of one `Forwarded` element (RFC 7239 §4); `None` where the name occurs twice.
fn only<'e>(element: &'e str, name: &str) -> Option<&'e str> {
    let mut named = parts(element, b';').filter_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        key.trim().eq_ignore_ascii_case(name).then(|| unquoted(value.trim()))
    });
    named.next().filter(|_| named.next().is_none())
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(HeaderName::from_static(name), value.parse().unwrap());
        }
        map
    }

    #[test]
    fn every_forwarding_name_is_found_in_any_case_and_disguised() {
        for name in FORWARDING_NAMES {
            assert_eq!(meaning(name.as_bytes()), Meaning::Forwarding);
            assert_eq!(meaning(name.to_uppercase().as_bytes()), Meaning::Forwarding);
            if name.contains('-') {
                assert_eq!(meaning(name.replace('-', "_").as_bytes()), Meaning::Disguised);
            }
        }
        for name in ["X-Frontdesk-Caller", "x-ahp-key", "Proxy"] {
            assert_eq!(meaning(name.as_bytes()), Meaning::Ours);
        }
        for name in ["Host", "Cookie", "User-Agent", "_", ""] {
            assert_eq!(meaning(name.as_bytes()), Meaning::Plain);
        }
    }

    #[test]
    fn only_a_trusted_peer_is_believed() {
        let trusted: Vec<IpNet> = vec!["10.0.0.0/8".parse().unwrap()];
        let h = headers(&[("x-forwarded-for", "203.0.113.9, 198.51.100.7, 10.1.1.1")]);
        let ip = |s: &str| s.parse::<IpAddr>().unwrap();
        assert_eq!(client_address(ip("192.0.2.1"), &h, &trusted), ip("192.0.2.1"));
        assert_eq!(client_address(ip("10.0.0.1"), &h, &trusted), ip("198.51.100.7"));
        assert_eq!(client_address(ip("::ffff:10.0.0.1"), &h, &trusted), ip("198.51.100.7"));
        let garbled = headers(&[("x-forwarded-for", "203.0.113.9, oops")]);
        assert_eq!(client_address(ip("10.0.0.1"), &garbled, &trusted), ip("10.0.0.1"));
        let mut bytes = HeaderMap::new();
        bytes.insert("x-forwarded-for", http::HeaderValue::from_bytes(b"\xff, 198.51.100.7").unwrap());
        assert_eq!(client_address(ip("10.0.0.1"), &bytes, &trusted), ip("198.51.100.7"));
        let f = headers(&[("forwarded", "for=\"[2001:db8::7]:99\";proto=https, for=10.2.2.2")]);
        assert_eq!(client_address(ip("10.0.0.1"), &f, &trusted), ip("2001:db8::7"));
    }

    #[test]
    fn what_a_proxy_quotes_names_nobody() {
        let trusted: Vec<IpNet> = vec!["10.0.0.0/8".parse().unwrap()];
        let ip = |s: &str| s.parse::<IpAddr>().unwrap();
        let client = |line: &'static str| client_address(ip("10.0.0.1"), &headers(&[("forwarded", line)]), &trusted);
        // The requested host, quoted by the proxy that reports it.
        assert_eq!(client("for=198.51.100.7;host=\"a,for=192.0.2.66\""), ip("198.51.100.7"));
        assert_eq!(client("host=\"a;for=192.0.2.66\";for=198.51.100.7"), ip("198.51.100.7"));
        assert_eq!(client("for=198.51.100.7;host=\"\\\",for=192.0.2.66;a=\\\"\""), ip("198.51.100.7"));
        // Sent by the client before it, with an open quote.
        assert_eq!(client("for=\"192.0.2.66, for=198.51.100.7;host=\"a\", for=10.0.0.9"), ip("198.51.100.7"));
        // Two of them are ambiguous.
        assert_eq!(client("for=192.0.2.66;for=198.51.100.7"), ip("10.0.0.1"));
        // An obfuscated port (RFC 7239 §6.3).
        assert_eq!(client("for=\"198.51.100.7:_a.b\""), ip("198.51.100.7"));
    }

    #[test]
    fn what_else_a_trusted_proxy_states_is_of_the_element_it_added() {
        let trusted: Vec<IpNet> = vec!["10.0.0.0/8".parse().unwrap()];
        let proxy = "10.0.0.1".parse().unwrap();
        let said = |line: &'static str| {
            let headers = headers(&[("forwarded", line)]);
            stated(proxy, &headers, &trusted).map(|s| (s.scheme, s.host.map(str::to_owned)))
        };
        let all = |scheme, host: &str| Some((scheme, Some(host.to_owned())));
        assert_eq!(said("for=192.0.2.7;proto=HTTPS;host=\"www.test:8\""), all(Some("https"), "www.test:8"));
        assert_eq!(said("for=6.6.6.6;proto=http;host=evil, for=192.0.2.7;proto=https;host=w"), all(Some("https"), "w"));
        assert_eq!(said("for=192.0.2.7;proto=https;host=w, for=10.2.2.2;proto=http"), all(Some("https"), "w"));
        assert_eq!(said("for=unknown;proto=https"), Some((Some("https"), None)));
        assert_eq!(said("proto=gopher"), Some((None, None)));
        assert_eq!(said("proto=http;proto=https"), Some((None, None)));
        for name in ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-real-ip"] {
            let both = headers(&[("forwarded", "proto=https;host=evil"), (name, "192.0.2.7")]);
            assert_eq!(stated(proxy, &both, &trusted), None, "it speaks by {name}");
        }
        let one = headers(&[("forwarded", "proto=https")]);
        assert_eq!(stated("192.0.2.1".parse().unwrap(), &one, &trusted), None, "a stranger");
    }

    #[test]
    fn every_spelling_of_our_names_is_recognised() {
        let m = |s: &str| meaning(s.as_bytes());
        assert_eq!(m("X-Frontdesk-Caller"), Meaning::Ours);
        assert_eq!(m("X-AHP-Key"), Meaning::Ours);
        assert_eq!(m("Proxy"), Meaning::Ours);
        assert_eq!(m("Proxy-Trace"), Meaning::Plain);
        assert_eq!(m("X_Frontdesk_Caller"), Meaning::Disguised);
        assert_eq!(m("x-frontdesk_agent"), Meaning::Disguised);
        assert_eq!(m("X-Forwarded-Proto"), Meaning::Forwarding);
        assert_eq!(m("X_Forwarded-For"), Meaning::Disguised);
        assert_eq!(m("Forwarded"), Meaning::Forwarding);
        assert_eq!(m("X-Real-IP"), Meaning::Forwarding);
        assert_eq!(m("X.Frontdesk.Caller"), Meaning::Disguised);
        assert_eq!(m("Client-IP"), Meaning::Forwarding);
        assert_eq!(m("X-Rewrite-URL"), Meaning::Forwarding);
        assert_eq!(m("Script-Name"), Meaning::Forwarding);
        for name in ["SCRIPT_NAME", "script_name", "PATH_INFO"] {
            assert_eq!(m(name), Meaning::Disguised, "{name}");
        }
        assert_eq!(m("X_Original_URL"), Meaning::Disguised);
        assert_eq!(m("X-Request-Id"), Meaning::Plain);
        assert_eq!(m("Content-Type"), Meaning::Plain);
    }
}
