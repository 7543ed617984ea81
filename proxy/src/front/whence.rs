//! Where a request came from, whatever it came over, and what the site is told of it.

use std::net::IpAddr;

use frontdesk_filters::caller::forwarded::{self, Meaning};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use pingora::{Result, http::RequestHeader};

use super::head::is_authority;
use crate::{
    accept::ConnInfo,
    label::{Fixed, Label},
    live::Running,
    outbound::Told,
    traces::Place,
};

static X_FORWARDED_FOR: Fixed = fixed("x-forwarded-for", "X-Forwarded-For");
pub(super) static X_FORWARDED_PROTO: Fixed = fixed("x-forwarded-proto", "X-Forwarded-Proto");
static X_FORWARDED_HOST: Fixed = fixed("x-forwarded-host", "X-Forwarded-Host");
static X_REAL_IP: Fixed = fixed("x-real-ip", "X-Real-IP");
static FORWARDED: Fixed = fixed("forwarded", "Forwarded");
static VIA: Fixed = Fixed::new(header::VIA, "Via");

const fn fixed(name: &'static str, cased: &'static str) -> Fixed {
    Fixed::new(HeaderName::from_static(name), cased)
}

/// What goes on to the site besides what is said of the client: how the operator follows a request.
const FOLLOWED: [HeaderName; 2] = [HeaderName::from_static("traceparent"), HeaderName::from_static("tracestate")];

/// Where a request came from.
pub struct Whence<'a> {
    /// As they were sent.
    pub headers: &'a HeaderMap,
    /// Whom the client asked for, where it said so.
    pub host: Option<HeaderValue>,
    /// What `Via` calls the way it came in.
    pub protocol: &'static str,
    pub connection: &'a ConnInfo,
    /// The client's address, as far as it can be believed.
    pub client: IpAddr,
    /// It may have come through proxies that say so in its headers.
    pub proxied: bool,
    /// The request's place in its trace, while traces are made.
    pub trace: Option<&'a Place>,
}

impl Whence<'_> {
    /// What the site is told of a call, as it is of every request that passes; and nothing of what was sent.
    pub fn told(&self, running: &Running, request_id: (&'static Fixed, HeaderValue)) -> Result<Told> {
        let nothing = HeaderMap::new();
        let before = if self.proxied { self.headers } else { &nothing };
        let said = self.says(before, running)?;
        let mut lines = Vec::with_capacity(16);
        // Of anybody else nothing goes on.
        for (name, value) in before.iter().filter(|_| said.trusted) {
            if is_forwarding(name) && !said.replaces(name.as_ref()) {
                lines.push((Label::Other(name.clone()), value.clone()));
            }
        }
        for name in FOLLOWED {
            let followed = self.headers.get_all(&name).iter();
            lines.extend(followed.map(|value| (Label::Other(name.clone()), value.clone())));
        }
        let ours = [request_id].into_iter().chain(said.lines).chain(said.via.map(|via| (&VIA, via)));
        lines.extend(ours.map(|(label, value)| (Label::Fixed(label), value)));
        Ok(Told { host: self.host.clone(), lines })
    }

    /// Removes what nobody but a trusted proxy may say, and says it ourselves.
    pub fn forward(&self, request: &mut RequestHeader, running: &Running) -> Result<()> {
        let said = self.says(&request.headers, running)?;
        let unwelcome: Vec<HeaderName> =
            request.headers.keys().filter(|name| said.replaces(name.as_ref())).cloned().collect();
        for name in &unwelcome {
            request.remove_header(name);
        }
        for (label, value) in said.lines {
            request.append_header(label.cased, value)?;
        }
        said.via.map_or(Ok(()), |via| request.append_header(VIA.cased, via).map(drop))
    }

    /// What the site is told of where a request with these headers came from.
    pub fn says(&self, sent: &HeaderMap, running: &Running) -> Result<Said> {
        let peer = self.connection.client.ip().to_canonical();
        // With the PROXY protocol it is the named client that speaks, and it is no proxy of ours.
        let trusted = forwarded::is_trusted(peer, &running.snapshot.settings.listen.trusted_proxies);
        let before = |name: &HeaderName| if trusted { joined(sent, name) } else { None };
        let (scheme, spoken) = match self.connection.tls {
            true => ("https", const { HeaderValue::from_static("https") }),
            false => ("http", const { HeaderValue::from_static("http") }),
        };
        let told = &self.connection.address;
        let mut lines = Vec::with_capacity(5);
        // A site that reads none but the other names is not to be told otherwise in them.
        let stated = match trusted {
            true => forwarded::stated(peer, sent, &running.snapshot.settings.listen.trusted_proxies),
            false => None,
        };
        let all = match before(&X_FORWARDED_FOR.name) {
            Some(before) => value(format!("{before}, {peer}"))?,
            None if stated.is_some() && self.client != peer => value(format!("{}, {peer}", self.client))?,
            None => told.clone(),
        };
        lines.push((&X_FORWARDED_FOR, all));
        if let Some(elements) = before(&FORWARDED.name) {
            let node = if peer.is_ipv6() { format!("\"[{peer}]\"") } else { peer.to_string() };
            lines.push((&FORWARDED, value(format!("{elements}, for={node};proto={scheme}"))?));
        }
        let said_before = |name: &HeaderName| trusted && sent.contains_key(name);
        if !said_before(&X_FORWARDED_PROTO.name) {
            let scheme = stated.as_ref().and_then(|stated| stated.scheme);
            lines.push((&X_FORWARDED_PROTO, scheme.map_or(spoken, HeaderValue::from_static)));
        }
        let host = stated.and_then(|stated| HeaderValue::try_from(stated.host?).ok()).filter(is_authority);
        if let (false, Some(host)) = (said_before(&X_FORWARDED_HOST.name), host.as_ref().or(self.host.as_ref())) {
            lines.push((&X_FORWARDED_HOST, host.clone()));
        }
        let client = if self.client == peer { told.clone() } else { value(self.client.to_string())? };
        lines.push((&X_REAL_IP, client));
        let via = match (running.snapshot.settings.upstream.via, self.protocol) {
            (false, _) => None,
            (true, "1.0") => Some(const { HeaderValue::from_static("1.0 frontdesk") }),
            (true, "2") => Some(const { HeaderValue::from_static("2 frontdesk") }),
            (true, _) => Some(const { HeaderValue::from_static("1.1 frontdesk") }),
        };
        Ok(Said { trusted, lines, via })
    }
}

/// What the site is told of where a request came from.
pub struct Said {
    /// It came from a proxy that may say such things itself.
    trusted: bool,
    /// In place of whatever was sent under these names.
    pub lines: Vec<(&'static Fixed, HeaderValue)>,
    /// Besides what was sent, where the site is to have it.
    pub via: Option<HeaderValue>,
}

impl Said {
    /// Whether a header that was sent does not go on to the site: it is said anew, or nobody may say it.
    pub fn replaces(&self, name: &[u8]) -> bool {
        let says = |label: &Fixed| label.cased.as_bytes().eq_ignore_ascii_case(name);
        match forwarded::meaning(name) {
            Meaning::Ours | Meaning::Disguised => true,
            Meaning::Forwarding => !self.trusted || self.lines.iter().any(|(label, _)| says(label)),
            Meaning::Plain => false,
        }
    }
}

/// Whether a header says where a request came from, on its way through proxies.
fn is_forwarding(name: &HeaderName) -> bool {
    matches!(forwarded::meaning(name.as_ref()), Meaning::Forwarding)
}

/// All lines of a list header as one; bytes that are no text are shown as such.
fn joined(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    if !headers.contains_key(name) {
        return None;
    }
    let lines: Vec<_> = headers.get_all(name).iter().map(|v| String::from_utf8_lossy(v.as_bytes())).collect();
    Some(lines.join(", ").replace(|c: char| !matches!(c, ' '..='~'), "?"))
}

/// A text of ours as the value of a header.
pub(super) fn value(text: impl AsRef<str>) -> Result<HeaderValue> {
    use pingora::{ErrorType::InternalError, OrErr};
    HeaderValue::from_str(text.as_ref()).or_err(InternalError, "a forwarding header that is not a header value")
}
