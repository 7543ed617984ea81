//! Requests that Frontdesk itself sends: capability calls, health checks, probes of the site's own paths, crawling, key
//! fetches, traces, and site inspection.

mod carry;
mod deliver;
mod exchange;
mod external_target;
mod models;
mod page;
mod page_memory;
mod read;
mod service_post;
mod token_server;
pub mod transports;
mod upstream_timings;

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use frontdesk_filters::dialect::Seen;
use frontdesk_http1::{
    framing::{self, has_content_length},
    hop::MOST_INTERIM,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use pingora::{
    Error, ErrorType,
    connectors::{
        TransportConnector,
        http::{Connector, v1},
    },
    http::{RequestHeader, ResponseHeader},
    protocols::{UniqueID, http::client::HttpSession},
    upstreams::peer::{HttpPeer, Peer},
};
use tokio::time::timeout;
use url::Url;

pub use carry::{Carrier, Told};
pub use models::model_name;
pub use page::{Body, Rest};
pub use page_memory::{PageMemory, room_to_read};
pub use read::Question;
pub use upstream_timings::{UpstreamTimings, Visited};

use crate::{error_text::without_bytes, metrics::Metrics, running::Running, sys, upstream::KEPT};
use external_target::ExternalTarget;

/// The HTTP client for upstreams and other services, with its own connections.
pub struct Outbound {
    connector: Connector,
    /// Connections to servers that speak only HTTP/1. Their reuse is cheaper.
    plain: v1::Connector,
    /// Connections that do not stay HTTP. Made when first needed, because it loads all trusted certificates.
    transport: OnceLock<TransportConnector>,
    /// Set once deliveries may start.
    process: OnceLock<Process>,
    /// What the operator's models have been asked.
    asked_models: models::Asked,
}

/// What deliveries need of the running process.
struct Process {
    /// Returns the configuration in use.
    current: Box<dyn Fn() -> Arc<Running> + Send + Sync>,
    metrics: Arc<Metrics>,
}

/// The `Host` of a request, and whether a client would have used TLS.
pub struct Asked {
    pub host: HeaderValue,
    pub tls: bool,
}

/// An answer, complete or up to a bound.
pub struct Whole {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// The body is longer than the bound.
    pub cut: bool,
}

impl Asked {
    /// For a request of our own to an upstream: the site's public host if `Host` is kept, else the upstream's.
    pub fn at(running: &Running, index: usize) -> Self {
        let settings = &running.snapshot.settings;
        // Many sites redirect requests that did not come over TLS, going by X-Forwarded-Proto.
        let origin_is_tls = settings.site.origin.as_deref().is_some_and(|origin| origin.starts_with("https://"));
        let tls = origin_is_tls || !settings.listen.https.is_empty();
        let own = settings.site.origin.as_deref().filter(|_| settings.upstream.preserve_host);
        let host = own
            .and_then(|origin| origin.split_once("://"))
            .map(|(_, rest)| rest.split('/').next().unwrap_or(rest))
            .and_then(|authority| HeaderValue::from_str(authority).ok())
            .unwrap_or_else(|| running.pool.backends()[index].authority.clone());
        Self { host, tls }
    }
}

impl Outbound {
    /// A client without connections.
    pub fn new() -> Arc<Self> {
        let connector = Connector::new(None);
        let plain = v1::Connector::new(None);
        let asked_models = models::Asked::default();
        Arc::new(Self { connector, plain, transport: OnceLock::new(), process: OnceLock::new(), asked_models })
    }

    /// A connection, kept or new. The connect is boxed: its future contains a whole TLS handshake and would add 160 KB
    /// to each call.
    async fn connected(&self, peer: &HttpPeer) -> pingora::Result<HttpSession> {
        self.connected_or_kept(peer).await.map(|(session, _)| session)
    }

    /// The same, and whether it was kept.
    async fn connected_or_kept(&self, peer: &HttpPeer) -> pingora::Result<(HttpSession, bool)> {
        if !is_plain(peer) {
            return Box::pin(self.connector.get_http_session(peer)).await;
        }
        if let Some(kept) = self.plain.reused_http_session(peer).await {
            return Ok((HttpSession::H1(kept), true));
        }
        let connected = Box::pin(self.plain.get_http_session(peer)).await;
        connected.map(|(session, kept)| (HttpSession::H1(session), kept))
    }

    /// The connector for connections that carry no HTTP, with the same trusted certificates.
    fn transport(&self) -> &TransportConnector {
        self.transport.get_or_init(|| TransportConnector::new(None))
    }

    /// Keeps a connection for the next call, if it can carry one.
    async fn keep(&self, mut session: HttpSession, peer: &HttpPeer) {
        if is_in_doubt(&session) {
            return session.shutdown().await;
        }
        match session {
            HttpSession::H1(session) if is_plain(peer) => {
                self.plain.release_http_session(session, peer, Some(KEPT)).await;
            }
            session => self.connector.release_http_session(session, peer, Some(KEPT)).await,
        }
    }

    /// The same for connections of the page connector.
    async fn release(&self, mut session: HttpSession, peer: &HttpPeer, lasts: Duration) {
        match is_in_doubt(&session) {
            true => session.shutdown().await,
            false => self.connector.release_http_session(session, peer, Some(lasts)).await,
        }
    }

    /// Enables deliveries. `current` returns the configuration in use.
    pub fn deliver_for(&self, current: impl Fn() -> Arc<Running> + Send + Sync + 'static, metrics: Arc<Metrics>) {
        let _ = self.process.set(Process { current: Box::new(current), metrics });
    }

    /// The configuration in use; `None` before deliveries may start.
    fn running(&self) -> Option<Arc<Running>> {
        self.process.get().map(|process| (process.current)())
    }

    /// GETs a path, reads only the head, and closes the connection. `limit` bounds everything.
    pub async fn head_of(&self, peer: HttpPeer, asked: &Asked, path: &str, limit: Duration) -> Result<Seen, String> {
        self.ask(peer, asked, &Method::GET, path, limit).await
    }

    /// The same with another safe method.
    pub async fn ask(
        &self,
        peer: HttpPeer,
        asked: &Asked,
        method: &Method,
        path: &str,
        limit: Duration,
    ) -> Result<Seen, String> {
        let ask = async {
            let (mut session, _) = self.connector.get_http_session(&peer).await?;
            let manner = Manner { asked, accept: ANYTHING, site: true, more: &[] };
            let result = head(&mut session, &manner, method, path).await;
            session.shutdown().await;
            result
        };
        match timeout(limit, ask).await {
            Ok(result) => result.map_err(|e| e.to_string()),
            Err(_) => Err(format!("{path}: no answer within {limit:?}")),
        }
    }

    /// GETs a document of at most `bound` bytes. Follows no redirect, because the operator declared the server. `limit`
    /// bounds everything, name resolution included.
    pub async fn document(&self, url: &str, bound: usize, limit: Duration) -> Result<Bytes, String> {
        let whole = self.whole(url, ANYTHING, bound, limit).await?;
        match whole.status {
            StatusCode::OK if whole.cut => Err(format!("the answer has more than {bound} bytes")),
            StatusCode::OK => Ok(whole.body),
            status => Err(format!("the answer is {status}, not 200 OK")),
        }
    }

    /// The same for any status, with the headers and at most the first `bound` bytes of the body.
    pub async fn whole(&self, url: &str, accept: &'static str, bound: usize, limit: Duration) -> Result<Whole, String> {
        let fetched = timeout(limit, self.fetch(url, accept, bound)).await;
        fetched.map_err(|_| format!("no answer within {limit:?}"))?
    }

    async fn fetch(&self, url: &str, accept: &'static str, bound: usize) -> Result<Whole, String> {
        let url = Url::parse(url).map_err(|e| e.to_string())?;
        let named = ExternalTarget::of(&url)?;
        let peer = named.peer().await?;
        let host = HeaderValue::try_from(named.authority()).map_err(|e| e.to_string())?;
        let asked = Asked { host, tls: true };
        let (mut session, _) = self.connector.get_http_session(&peer).await.map_err(|e| because(&e))?;
        let manner = Manner { asked: &asked, accept, site: false, more: &[] };
        let result = whole(&mut session, &manner, named.target(), bound).await;
        session.shutdown().await;
        result
    }
}

/// Whether it is unclear where an HTTP/1 answer ended. The rest of it would look like the answer to the next request.
fn is_in_doubt(session: &HttpSession) -> bool {
    let HttpSession::H1(session) = session else { return false };
    let Some(head) = session.resp_header() else { return true };
    // The library has removed a length beside a transfer coding.
    let ambiguous =
        head.headers.contains_key(header::TRANSFER_ENCODING) && has_content_length(&session.get_headers_raw_bytes());
    let framing = framing::of(&Method::GET, head.status, head.version, &head.headers);
    ambiguous || !framing.is_ok_and(|framing| framing.keeps)
}

/// Whether a server is used with HTTP/1 only.
fn is_plain(peer: &HttpPeer) -> bool {
    peer.get_peer_options().is_none_or(|options| options.alpn.get_max_http_version() == 1)
}

/// The time limit for connecting to another service.
const CONNECT: Duration = Duration::from_secs(3);

/// The `Accept` without a preference.
const ANYTHING: &str = "*/*";

async fn whole(session: &mut HttpSession, manner: &Manner<'_>, path: &str, bound: usize) -> Result<Whole, String> {
    let seen = head(session, manner, &Method::GET, path).await.map_err(|e| because(&e))?;
    let headers = session.response_header().map(|head| head.headers.clone()).unwrap_or_default();
    let (body, cut) = rest(session, bound).await.map_err(|e| because(&e))?;
    Ok(Whole { status: seen.status, headers, body, cut })
}

/// The rest of the body, and whether it is longer than the bound.
async fn rest(session: &mut HttpSession, bound: usize) -> pingora::Result<(Bytes, bool)> {
    let (mut body, mut cut) = (Vec::new(), false);
    while let Some(chunk) = session.read_response_body().await? {
        let room = bound - body.len();
        cut = chunk.len() > room;
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if cut {
            break;
        }
    }
    Ok((body.into(), cut))
}

/// The root cause of an error, in a few words.
fn because(error: &pingora::Error) -> String {
    let mut first = error;
    while let Some(earlier) = first.cause.as_deref().and_then(|cause| cause.downcast_ref::<Box<pingora::Error>>()) {
        first = earlier;
    }
    let cause = first.cause.as_ref().map(ToString::to_string);
    // After a failed handshake the library puts our own address into the cause. The useful text is in the context.
    cause
        .filter(|cause| !cause.starts_with("local address "))
        .map(|cause| without_bytes(&cause).into_owned())
        .unwrap_or_else(|| {
            let context = first.context.as_ref().map_or(first.etype().as_str(), |context| context.as_str());
            without_bytes(context).into_owned()
        })
}

/// The properties of a request.
struct Manner<'a> {
    asked: &'a Asked,
    accept: &'static str,
    /// The site gets the headers that a client of its own would cause.
    site: bool,
    /// Additional headers.
    more: &'a [(HeaderName, HeaderValue)],
}

/// Sends a request and reads the head of the answer.
async fn head(session: &mut HttpSession, manner: &Manner<'_>, method: &Method, path: &str) -> pingora::Result<Seen> {
    let Manner { asked, accept, site, more } = *manner;
    let mut request = RequestHeader::build(method.clone(), path.as_bytes(), Some(5))?;
    request.insert_header(header::HOST, asked.host.clone())?;
    if site {
        request.insert_header("X-Forwarded-Proto", if asked.tls { "https" } else { "http" })?;
        request.insert_header("X-Forwarded-Host", asked.host.clone())?;
    }
    request.insert_header(header::USER_AGENT, concat!("frontdesk/", env!("CARGO_PKG_VERSION")))?;
    request.insert_header(header::ACCEPT, accept)?;
    for (name, value) in more {
        request.insert_header(name, value)?;
    }
    let head = answered(session, request, Bytes::new()).await?.ok_or_else(headless)?;
    let kind = head.headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
    Ok(Seen { status: head.status, kind: kind.to_owned() })
}

/// Sends a request and reads the head of its final answer, skipping interim ones.
async fn answered(
    session: &mut HttpSession,
    request: RequestHeader,
    body: Bytes,
) -> pingora::Result<Option<&ResponseHeader>> {
    let method = request.method.clone();
    session.write_request_header(Box::new(request)).await?;
    if !body.is_empty() {
        session.write_request_body(body, true).await?;
    }
    session.finish_request_body().await?;
    for _ in 0..=MOST_INTERIM {
        session.read_response_header().await?;
        let Some(head) = session.response_header() else { return Ok(None) };
        if head.status == StatusCode::SWITCHING_PROTOCOLS {
            return Error::e_explain(ErrorType::InvalidHTTPHeader, "101 without an Upgrade");
        }
        if !head.status.is_informational() {
            if let HttpSession::H1(session) = &*session {
                // The rest of the body may wait for an acknowledgement of the head.
                sys::acknowledge(session.id());
            }
            framing::of(&method, head.status, head.version, &head.headers)
                .map_err(|why| Error::explain(ErrorType::InvalidHTTPHeader, why))?;
            return Ok(session.response_header());
        }
    }
    Error::e_explain(ErrorType::InvalidHTTPHeader, "more interim answers than are taken")
}

fn headless() -> Box<pingora::Error> {
    pingora::Error::explain(pingora::ErrorType::InvalidHTTPHeader, "no response head")
}
