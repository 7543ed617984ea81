//! Where a request came from, over any protocol, and the headers that tell the site.

use std::net::IpAddr;

use frontdesk_filters::caller::{
    Caller,
    forwarded::{self, Meaning},
};
use frontdesk_http1::{
    field::FixedName,
    forwarding::{ForwardedFields, Origin, Stated, VIA},
};
use http::{HeaderMap, HeaderName, HeaderValue, Version, header};
use pingora::{ErrorType::InternalError, OrErr, Result, http::RequestHeader};

use super::ctx::Ctx;
use crate::{
    accept::ConnInfo,
    label::Label,
    outbound::Told,
    running::Running,
    traces::{self, Place},
    upstream::Backend,
};

/// What goes on to the site besides what is said of the client: how the operator follows a request.
const FOLLOWED: [HeaderName; 2] = [HeaderName::from_static("traceparent"), HeaderName::from_static("tracestate")];

/// Where a request came from.
pub struct ForwardingContext<'a> {
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

impl<'a> ForwardingContext<'a> {
    /// Of one request; `None` where nothing is known of its connection.
    pub fn of(incoming: &'a RequestHeader, ctx: &'a Ctx) -> Option<Self> {
        let connection = ctx.connection.as_deref()?;
        let asked_for = || incoming.uri.authority().and_then(|a| HeaderValue::from_str(a.as_str()).ok());
        Some(Self {
            headers: &incoming.headers,
            host: incoming.headers.get(header::HOST).cloned().or_else(asked_for),
            protocol: match incoming.version {
                Version::HTTP_2 => "2",
                Version::HTTP_10 => "1.0",
                _ => "1.1",
            },
            connection,
            client: ctx.client.unwrap_or_else(|| connection.client.ip().to_canonical()),
            proxied: true,
            trace: ctx.trace.as_ref().map(|trace| trace.place()),
        })
    }

    /// The forwarding headers of a call, as for every request that passes, without any header of the client.
    pub fn told(&self, running: &Running, request_id: (&'static FixedName, HeaderValue)) -> Result<Told> {
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
        let (id, value) = request_id;
        lines.push((Label::Fixed(id), value));
        lines.extend(said.lines().map(|(name, value)| (Label::Fixed(name), value.clone())));
        Ok(Told { host: self.host.clone(), lines })
    }

    /// The forwarding headers for a request with these headers.
    pub fn says(&self, sent: &HeaderMap, running: &Running) -> Result<ForwardedHeaders> {
        let Self { connection, client, .. } = self;
        let settings = &running.snapshot.settings;
        let peer = connection.client.ip().to_canonical();
        // With the PROXY protocol it is the named client that speaks, and it is no proxy of ours.
        let trusted = forwarded::is_trusted(peer, &settings.listen.trusted_proxies);
        let stated = if trusted { forwarded::stated(peer, sent, &settings.listen.trusted_proxies) } else { None };
        let origin = Origin {
            peer,
            peer_text: &connection.address,
            client: *client,
            tls: connection.tls,
            trusted,
            stated: stated.map(|stated| Stated { scheme: stated.scheme, host: stated.host }),
            host: self.host.as_ref(),
            via: settings.upstream.via.then_some(self.protocol),
        };
        let fields = origin.fields(sent).or_err(InternalError, "a forwarding header that is not a header value")?;
        Ok(ForwardedHeaders { trusted, fields })
    }
}

/// The forwarding headers of a request.
pub struct ForwardedHeaders {
    /// It came from a proxy that may say such things itself.
    trusted: bool,
    fields: ForwardedFields,
}

impl ForwardedHeaders {
    /// Whether a header that was sent does not go on to the site: it is said anew, or nobody may say it.
    fn replaces(&self, name: &[u8]) -> bool {
        match forwarded::meaning(name) {
            Meaning::Ours | Meaning::Disguised => true,
            Meaning::Forwarding => !self.trusted || self.fields.says(name),
            Meaning::Plain => false,
        }
    }

    /// What is said, in the order in which it leaves.
    fn lines(&self) -> impl Iterator<Item = (&'static FixedName, &HeaderValue)> {
        let lines = self.fields.lines.iter().map(|(name, value)| (*name, value));
        lines.chain(self.fields.via.iter().map(|via| (&VIA, via)))
    }
}

/// What goes up to the site in place of lines that a client sent, and besides them: one decision for both engines, which
/// put it into what each of them keeps a head in.
pub struct UpstreamHeaders<'a> {
    /// In place of the client's Host. `None`: that goes on.
    pub host: Option<HeaderValue>,
    /// `None`: nothing is known of the connection.
    said: Option<ForwardedHeaders>,
    /// Who was verified.
    caller: Option<&'a Caller>,
    /// The request's place in its trace, while traces are made.
    trace: Option<[(HeaderName, Option<HeaderValue>); 2]>,
}

impl<'a> UpstreamHeaders<'a> {
    /// For a request that came as `incoming` and goes to `backend`; `sent`: its headers as they would go up.
    pub fn of(
        incoming: &RequestHeader,
        sent: &HeaderMap,
        ctx: &'a Ctx,
        running: &Running,
        backend: Option<&Backend>,
    ) -> Result<Self> {
        let forwarding = ForwardingContext::of(incoming, ctx);
        let said = forwarding.as_ref().map(|forwarding| forwarding.says(sent, running)).transpose()?;
        // A client over HTTP/1.0 may not have named a host; what goes up speaks HTTP/1.1, which must.
        let keeps_host =
            running.snapshot.settings.upstream.preserve_host && forwarding.is_some_and(|w| w.host.is_some());
        let host = backend.filter(|_| !keeps_host).map(|backend| backend.authority.clone());
        let trace = ctx.trace.as_ref().map(|trace| trace.onward().headers());
        Ok(Self { host, said, caller: ctx.caller.as_ref(), trace })
    }

    /// Whether a line that was sent does not go on.
    pub fn replaces(&self, name: &[u8]) -> bool {
        self.said.as_ref().is_some_and(|said| said.replaces(name))
            || self.trace.is_some() && traces::is_context(name)
            || self.caller.is_some_and(|caller| caller.hides_authorization)
                && name.eq_ignore_ascii_case(b"authorization")
    }

    /// Lines about where the request came from, in the order in which they leave.
    pub fn fixed_lines(&self) -> impl Iterator<Item = (&'static FixedName, &HeaderValue)> {
        self.said.iter().flat_map(ForwardedHeaders::lines)
    }

    /// The other lines, with names in small letters.
    pub fn named_lines(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let trace = self.trace.iter().flatten().filter_map(|(name, value)| Some((name.clone(), value.clone()?)));
        self.caller.iter().flat_map(|caller| caller.told()).chain(trace)
    }
}

/// Whether a header says where a request came from, on its way through proxies.
fn is_forwarding(name: &HeaderName) -> bool {
    matches!(forwarded::meaning(name.as_ref()), Meaning::Forwarding)
}

/// A text of ours as the value of a header.
pub(super) fn value(text: impl AsRef<str>) -> Result<HeaderValue> {
    HeaderValue::from_str(text.as_ref()).or_err(InternalError, "a forwarding header that is not a header value")
}
