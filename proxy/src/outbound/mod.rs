//! Requests of our own: calls of the desk, health checks, looking for what the site already has, fetching keys, and
//! inspecting a site.

mod carry;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use frontdesk_filters::dialect::Seen;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use pingora::{
    connectors::http::Connector, http::RequestHeader, protocols::http::client::HttpSession, upstreams::peer::HttpPeer,
};
use tokio::time::timeout;
use url::Url;

pub use carry::Carrier;

/// Asks upstreams and others, over connections of its own.
pub struct Outbound {
    connector: Connector,
}

/// Whom a question asks for, and whether a client would have asked over TLS.
pub struct Asked {
    pub host: HeaderValue,
    pub tls: bool,
}

/// An answer that was read to its end, or to a bound.
pub struct Whole {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// There is more of the body than the bound.
    pub cut: bool,
}

impl Outbound {
    /// A client without connections yet.
    pub fn new() -> Arc<Self> {
        Arc::new(Self { connector: Connector::new(None) })
    }

    /// GETs a path and reads no further than the head; the connection is closed after it. `limit` bounds all of it.
    pub async fn head_of(&self, peer: HttpPeer, asked: &Asked, path: &str, limit: Duration) -> Result<Seen, String> {
        self.ask(peer, asked, &Method::GET, path, limit).await
    }

    /// The same with another method that changes nothing.
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
            let manner = Manner { asked, accept: ANYTHING, site: true };
            let result = head(&mut session, &manner, method, path).await;
            session.shutdown().await;
            result
        };
        match timeout(limit, ask).await {
            Ok(result) => result.map_err(|e| e.to_string()),
            Err(_) => Err(format!("{path}: no answer within {limit:?}")),
        }
    }

    /// GETs a document of at most `bound` bytes. Redirects are not followed: who is asked was declared. `limit` bounds
    /// all of it, the name's resolution included.
    pub async fn document(&self, url: &str, bound: usize, limit: Duration) -> Result<Bytes, String> {
        let whole = self.whole(url, ANYTHING, bound, limit).await?;
        match whole.status {
            StatusCode::OK if whole.cut => Err(format!("the answer has more than {bound} bytes")),
            StatusCode::OK => Ok(whole.body),
            status => Err(format!("the answer is {status}, not 200 OK")),
        }
    }

    /// The same whatever the status is, with its headers, and no more than the first `bound` bytes of its body.
    pub async fn whole(&self, url: &str, accept: &'static str, bound: usize, limit: Duration) -> Result<Whole, String> {
        let fetched = timeout(limit, self.fetch(url, accept, bound)).await;
        fetched.map_err(|_| format!("no answer within {limit:?}"))?
    }

    async fn fetch(&self, url: &str, accept: &'static str, bound: usize) -> Result<Whole, String> {
        let url = Url::parse(url).map_err(|e| e.to_string())?;
        let host = url.host_str().ok_or("the URL has no host")?;
        let port = url.port_or_known_default().unwrap_or(443);
        let name = host.trim_start_matches('[').trim_end_matches(']');
        let mut found = tokio::net::lookup_host((name, port)).await.map_err(|e| format!("{host}: {e}"))?;
        let address = found.next().ok_or_else(|| format!("{host} has no address"))?;
        let mut peer = HttpPeer::new(address, url.scheme() == "https", name.to_owned());
        peer.options.connection_timeout = Some(CONNECT);
        peer.options.total_connection_timeout = Some(CONNECT);
        let authority = url.port().map_or(host.to_owned(), |port| format!("{host}:{port}"));
        let host = HeaderValue::try_from(authority).map_err(|e| e.to_string())?;
        let asked = Asked { host, tls: true };
        let path = url.query().map_or(url.path().to_owned(), |query| format!("{}?{query}", url.path()));
        let (mut session, _) = self.connector.get_http_session(&peer).await.map_err(|e| because(&e))?;
        let result = whole(&mut session, &asked, &path, accept, bound).await;
        session.shutdown().await;
        result
    }
}

/// How long a connection to somebody else may take.
const CONNECT: Duration = Duration::from_secs(3);

/// What is asked for where no representation is preferred.
const ANYTHING: &str = "*/*";

async fn whole(
    session: &mut HttpSession,
    asked: &Asked,
    path: &str,
    accept: &'static str,
    bound: usize,
) -> Result<Whole, String> {
    let manner = Manner { asked, accept, site: false };
    let seen = head(session, &manner, &Method::GET, path).await.map_err(|e| because(&e))?;
    let headers = session.response_header().map(|head| head.headers.clone()).unwrap_or_default();
    let (mut body, mut cut) = (Vec::new(), false);
    while let Some(chunk) = session.read_response_body().await.map_err(|e| because(&e))? {
        let room = bound - body.len();
        cut = chunk.len() > room;
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if cut {
            break;
        }
    }
    Ok(Whole { status: seen.status, headers, body: body.into(), cut })
}

/// An error in few words: what began it.
fn because(error: &pingora::Error) -> String {
    let root = error.root_cause();
    match root.downcast_ref::<pingora::Error>() {
        Some(e) => e.context.as_ref().map_or(e.etype().as_str(), |context| context.as_str()).to_owned(),
        None => root.to_string(),
    }
}

/// How a question is put.
struct Manner<'a> {
    asked: &'a Asked,
    accept: &'static str,
    /// The site in front of which we stand is told what a client of its own would have been.
    site: bool,
}

/// Asks, and reads the head of the answer.
async fn head(session: &mut HttpSession, manner: &Manner<'_>, method: &Method, path: &str) -> pingora::Result<Seen> {
    let Manner { asked, accept, site } = *manner;
    let mut request = RequestHeader::build(method.clone(), path.as_bytes(), Some(5))?;
    request.insert_header(header::HOST, asked.host.clone())?;
    if site {
        request.insert_header("X-Forwarded-Proto", if asked.tls { "https" } else { "http" })?;
        request.insert_header("X-Forwarded-Host", asked.host.clone())?;
    }
    request.insert_header(header::USER_AGENT, concat!("frontdesk/", env!("CARGO_PKG_VERSION")))?;
    request.insert_header(header::ACCEPT, accept)?;
    session.write_request_header(Box::new(request)).await?;
    session.finish_request_body().await?;
    loop {
        session.read_response_header().await?;
        match session.response_header() {
            Some(head) if head.status.is_informational() => {}
            Some(head) => {
                let kind = head.headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
                return Ok(Seen { status: head.status, kind: kind.to_owned() });
            }
            None => return pingora::Error::e_explain(pingora::ErrorType::InvalidHTTPHeader, "no response head"),
        }
    }
}
