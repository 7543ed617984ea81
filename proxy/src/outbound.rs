//! Requests of our own to the site: health checks, and looking for documents it already has.

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, HeaderValue, StatusCode, header};
use pingora::{
    connectors::http::Connector, http::RequestHeader, protocols::http::client::HttpSession, upstreams::peer::HttpPeer,
};
use tokio::time::timeout;

/// Asks upstreams, over connections of its own.
pub struct Outbound {
    connector: Connector,
}

/// Whom a question asks for, and whether a client would have asked over TLS.
pub struct Asked {
    pub host: HeaderValue,
    pub tls: bool,
}

/// The head of an answer.
pub struct Head {
    pub status: StatusCode,
    pub headers: HeaderMap,
}

impl Head {
    /// The media type as sent; empty where there is none.
    pub fn kind(&self) -> &str {
        self.headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("")
    }
}

impl Outbound {
    /// A client without connections yet.
    pub fn new() -> Arc<Self> {
        Arc::new(Self { connector: Connector::new(None) })
    }

    /// GETs a path and reads no further than the head; the connection is closed after it. `limit` bounds all of it.
    pub async fn head_of(&self, peer: HttpPeer, asked: &Asked, path: &str, limit: Duration) -> Result<Head, String> {
        timeout(limit, self.ask(peer, asked, path)).await.map_err(|_| format!("{path}: no answer within {limit:?}"))?
    }

    async fn ask(&self, peer: HttpPeer, asked: &Asked, path: &str) -> Result<Head, String> {
        let (mut session, _) = self.connector.get_http_session(&peer).await.map_err(|e| e.to_string())?;
        let result = exchange(&mut session, asked, path).await;
        session.shutdown().await;
        result.map_err(|e| e.to_string())
    }
}

async fn exchange(session: &mut HttpSession, asked: &Asked, path: &str) -> pingora::Result<Head> {
    let mut request = RequestHeader::build("GET", path.as_bytes(), Some(5))?;
    request.insert_header(header::HOST, asked.host.clone())?;
    request.insert_header("X-Forwarded-Proto", if asked.tls { "https" } else { "http" })?;
    request.insert_header("X-Forwarded-Host", asked.host.clone())?;
    request.insert_header(header::USER_AGENT, concat!("frontdesk/", env!("CARGO_PKG_VERSION")))?;
    request.insert_header(header::ACCEPT, "*/*")?;
    session.write_request_header(Box::new(request)).await?;
    session.finish_request_body().await?;
    loop {
        session.read_response_header().await?;
        match session.response_header() {
            Some(head) if head.status.is_informational() => {}
            Some(head) => return Ok(Head { status: head.status, headers: head.headers.clone() }),
            None => return pingora::Error::e_explain(pingora::ErrorType::InvalidHTTPHeader, "no response head"),
        }
    }
}
