//! The headers that tell the site where a request came from: `X-Forwarded-*`, `X-Real-IP`, `Forwarded` and `Via`.
//!
//! Whom to believe is decided elsewhere; this writes down what was decided.

use std::net::IpAddr;

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{self, InvalidHeaderValue},
};

use crate::field::{FixedName, is_authority};

static X_FORWARDED_FOR: FixedName = fixed("x-forwarded-for", "X-Forwarded-For");
pub static X_FORWARDED_PROTO: FixedName = fixed("x-forwarded-proto", "X-Forwarded-Proto");
static X_FORWARDED_HOST: FixedName = fixed("x-forwarded-host", "X-Forwarded-Host");
static X_REAL_IP: FixedName = fixed("x-real-ip", "X-Real-IP");
static FORWARDED: FixedName = fixed("forwarded", "Forwarded");
pub static VIA: FixedName = FixedName::new(header::VIA, "Via");

const fn fixed(name: &'static str, cased: &'static str) -> FixedName {
    FixedName::new(HeaderName::from_static(name), cased)
}

/// Where a request came from.
#[derive(Debug)]
pub struct Origin<'a> {
    /// The peer of the connection.
    pub peer: IpAddr,
    /// The same as a value.
    pub peer_text: &'a HeaderValue,
    /// The client's address, as far as it can be believed.
    pub client: IpAddr,
    /// The connection is over TLS.
    pub tls: bool,
    /// The peer is a proxy that may say such things itself.
    pub trusted: bool,
    /// What trusted proxies say in `Forwarded`, where they say so nowhere else.
    pub stated: Option<Stated<'a>>,
    /// Whom the client asked for, where it said so.
    pub host: Option<&'a HeaderValue>,
    /// `Via` is written, with this version of HTTP.
    pub via: Option<&'static str>,
}

/// What `Forwarded` says of the client's own request.
#[derive(Debug, Clone, Copy)]
pub struct Stated<'a> {
    pub scheme: Option<&'static str>,
    pub host: Option<&'a str>,
}

/// The lines about a request's origin.
#[derive(Debug)]
pub struct ForwardedFields {
    /// In place of whatever was sent under these names.
    pub lines: Vec<(&'static FixedName, HeaderValue)>,
    /// Besides what was sent, where the site is to have it.
    pub via: Option<HeaderValue>,
}

impl ForwardedFields {
    /// Whether one of the lines has this name.
    pub fn says(&self, name: &[u8]) -> bool {
        self.lines.iter().any(|(line, _)| line.cased.as_bytes().eq_ignore_ascii_case(name))
    }
}

impl Origin<'_> {
    /// What the site is told; `sent` are the headers that came.
    ///
    /// # Errors
    ///
    /// Where a text is no header value.
    pub fn fields(&self, sent: &HeaderMap) -> Result<ForwardedFields, InvalidHeaderValue> {
        let Self { peer, client, trusted, stated, .. } = self;
        let before = |name: &HeaderName| if *trusted { joined(sent, name) } else { None };
        let (scheme, spoken) = match self.tls {
            true => ("https", const { HeaderValue::from_static("https") }),
            false => ("http", const { HeaderValue::from_static("http") }),
        };
        let mut lines = Vec::with_capacity(5);
        // A site that reads none but the other names is not to be told otherwise in them.
        let all = match before(&X_FORWARDED_FOR.name) {
            Some(before) => HeaderValue::from_str(&format!("{before}, {peer}"))?,
            None if stated.is_some() && client != peer => HeaderValue::from_str(&format!("{client}, {peer}"))?,
            None => self.peer_text.clone(),
        };
        lines.push((&X_FORWARDED_FOR, all));
        if let Some(elements) = before(&FORWARDED.name) {
            let node = if peer.is_ipv6() { format!("\"[{peer}]\"") } else { peer.to_string() };
            lines.push((&FORWARDED, HeaderValue::from_str(&format!("{elements}, for={node};proto={scheme}"))?));
        }
        let said_before = |name: &HeaderName| *trusted && sent.contains_key(name);
        if !said_before(&X_FORWARDED_PROTO.name) {
            let scheme = stated.and_then(|stated| stated.scheme);
            lines.push((&X_FORWARDED_PROTO, scheme.map_or(spoken, HeaderValue::from_static)));
        }
        let host = stated.and_then(|stated| HeaderValue::try_from(stated.host?).ok()).filter(is_authority);
        if let (false, Some(host)) = (said_before(&X_FORWARDED_HOST.name), host.as_ref().or(self.host)) {
            lines.push((&X_FORWARDED_HOST, host.clone()));
        }
        let real = if client == peer { self.peer_text.clone() } else { HeaderValue::from_str(&client.to_string())? };
        lines.push((&X_REAL_IP, real));
        let via = self.via.map(|version| match version {
            "1.0" => const { HeaderValue::from_static("1.0 frontdesk") },
            "2" => const { HeaderValue::from_static("2 frontdesk") },
            _ => const { HeaderValue::from_static("1.1 frontdesk") },
        });
        Ok(ForwardedFields { lines, via })
    }
}

/// All lines of a list header as one; bytes that are no text are shown as such.
fn joined(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    if !headers.contains_key(name) {
        return None;
    }
    let lines: Vec<_> = headers.get_all(name).iter().map(|v| String::from_utf8_lossy(v.as_bytes())).collect();
    Some(lines.join(", ").replace(|c: char| !matches!(c, ' '..='~'), "?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(origin: &Origin<'_>, sent: &HeaderMap) -> Vec<String> {
        let ForwardedFields { lines, via } = origin.fields(sent).unwrap();
        let via = via.map(|via| (&VIA, via));
        lines
            .into_iter()
            .chain(via)
            .map(|(name, value)| format!("{}: {}", name.cased, value.to_str().unwrap()))
            .collect()
    }

    #[test]
    fn a_stranger_is_told_as_what_it_is_and_a_proxy_is_added_to() {
        let (peer, host) = (HeaderValue::from_static("192.0.2.1"), HeaderValue::from_static("site.test"));
        let mut origin = Origin {
            peer: "192.0.2.1".parse().unwrap(),
            peer_text: &peer,
            client: "192.0.2.1".parse().unwrap(),
            tls: true,
            trusted: false,
            stated: None,
            host: Some(&host),
            via: Some("2"),
        };
        let mut sent = HeaderMap::new();
        sent.insert("x-forwarded-for", HeaderValue::from_static("203.0.113.9"));
        sent.insert("x-forwarded-proto", HeaderValue::from_static("http"));
        let stranger = ["X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: https", "X-Forwarded-Host: site.test"];
        let rest = ["X-Real-IP: 192.0.2.1", "Via: 2 frontdesk"];
        assert_eq!(shown(&origin, &sent), [&stranger[..], &rest[..]].concat());
        (origin.trusted, origin.client, origin.via) = (true, "203.0.113.9".parse().unwrap(), None);
        let proxy =
            ["X-Forwarded-For: 203.0.113.9, 192.0.2.1", "X-Forwarded-Host: site.test", "X-Real-IP: 203.0.113.9"];
        assert_eq!(shown(&origin, &sent), proxy);
        assert!(origin.fields(&sent).unwrap().says(b"x-REAL-ip"));
    }
}
