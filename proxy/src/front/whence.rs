//! Where a request came from, whatever it came over, and what the site is told of it.

use std::net::IpAddr;

use frontdesk_filters::caller::forwarded::{self, Meaning};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use pingora::{Result, http::RequestHeader};

use crate::{accept::ConnInfo, live::Running, traces::Place};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
pub(super) const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED: HeaderName = HeaderName::from_static("forwarded");

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
    pub fn told(&self, running: &Running, request_id: (&HeaderName, &str)) -> Result<HeaderMap> {
        let mut told = RequestHeader::build_no_case(http::Method::GET, b"/", Some(24))?;
        if let Some(host) = &self.host {
            told.insert_header(header::HOST, host.clone())?;
        }
        for (name, value) in self.headers {
            if self.proxied && is_forwarding(name) || FOLLOWED.contains(name) {
                told.append_header(name.clone(), value.clone())?;
            }
        }
        let (name, id) = request_id;
        told.insert_header(name, id)?;
        self.forward(&mut told, running)?;
        Ok(http::request::Parts::from(told).headers)
    }

    /// Removes what nobody but a trusted proxy may say, and says it ourselves.
    pub fn forward(&self, request: &mut RequestHeader, running: &Running) -> Result<()> {
        let said = self.says(&request.headers, running)?;
        let unwelcome: Vec<HeaderName> =
            request.headers.keys().filter(|name| said.replaces(name.as_ref())).cloned().collect();
        for name in &unwelcome {
            request.remove_header(name);
        }
        for (name, value) in said.lines {
            request.append_header(name, value)?;
        }
        request.append_header("Via", said.via)?;
        Ok(())
    }

    /// What the site is told of where a request with these headers came from.
    pub fn says(&self, sent: &HeaderMap, running: &Running) -> Result<Said> {
        let peer = self.connection.client.ip().to_canonical();
        // With the PROXY protocol it is the named client that speaks, and it is no proxy of ours.
        let trusted = forwarded::is_trusted(peer, &running.snapshot.settings.listen.trusted_proxies);
        let before = |name: &HeaderName| if trusted { joined(sent, name) } else { None };
        let scheme = if self.connection.tls { "https" } else { "http" };
        let told = &self.connection.address;
        let mut lines = Vec::with_capacity(5);
        let all = match before(&X_FORWARDED_FOR) {
            Some(before) => value(format!("{before}, {peer}"))?,
            None => told.clone(),
        };
        lines.push(("X-Forwarded-For", all));
        if let Some(elements) = before(&FORWARDED) {
            let node = if peer.is_ipv6() { format!("\"[{peer}]\"") } else { peer.to_string() };
            lines.push(("Forwarded", value(format!("{elements}, for={node};proto={scheme}"))?));
        }
        let said_before = |name: &HeaderName| trusted && sent.contains_key(name);
        if !said_before(&X_FORWARDED_PROTO) {
            lines.push(("X-Forwarded-Proto", HeaderValue::from_static(scheme)));
        }
        if let (false, Some(host)) = (said_before(&X_FORWARDED_HOST), &self.host) {
            lines.push(("X-Forwarded-Host", host.clone()));
        }
        let client = if self.client == peer { told.clone() } else { value(self.client.to_string())? };
        lines.push(("X-Real-IP", client));
        let via = match self.protocol {
            "1.1" => HeaderValue::from_static("1.1 frontdesk"),
            "2" => HeaderValue::from_static("2 frontdesk"),
            other => value(format!("{other} frontdesk"))?,
        };
        Ok(Said { trusted, lines, via })
    }
}

/// What the site is told of where a request came from.
pub struct Said {
    /// It came from a proxy that may say such things itself.
    trusted: bool,
    /// In place of whatever was sent under these names.
    pub lines: Vec<(&'static str, HeaderValue)>,
    /// Besides what was sent.
    pub via: HeaderValue,
}

impl Said {
    /// Whether a header that was sent does not go on to the site: it is said anew, or nobody may say it.
    pub fn replaces(&self, name: &[u8]) -> bool {
        let says = |said: &str| said.as_bytes().eq_ignore_ascii_case(name);
        match forwarded::meaning(name) {
            Meaning::Ours | Meaning::Disguised => true,
            Meaning::Forwarding => !self.trusted || self.lines.iter().any(|(said, _)| says(said)),
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

fn value(text: String) -> Result<HeaderValue> {
    use pingora::{ErrorType::InternalError, OrErr};
    HeaderValue::try_from(text).or_err(InternalError, "a forwarding header that is not a header value")
}
