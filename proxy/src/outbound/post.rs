//! Something handed to a service that the operator named: one POST, and the beginning of what it says to that.

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Request, header};
use pingora::{http::RequestHeader, protocols::http::client::HttpSession, upstreams::peer::HttpPeer};
use tokio::time::timeout;
use url::Url;

use super::{CONNECT, Outbound, Whole, because, rest};

/// As many addresses of its name are tried: "localhost" usually has two, and one of them is where it listens.
const ADDRESSES: usize = 4;

impl Outbound {
    /// Sends a request as it is and reads at most `bound` bytes of the answer. No redirect is followed. `limit` bounds
    /// all of it, the name's resolution included.
    ///
    /// # Errors
    ///
    /// Why there is no answer, in few words.
    pub async fn post(&self, request: Request<Bytes>, bound: usize, limit: Duration) -> Result<Whole, String> {
        let posted = timeout(limit, self.post_now(request, bound)).await;
        posted.map_err(|_| format!("no answer within {limit:?}"))?
    }

    async fn post_now(&self, request: Request<Bytes>, bound: usize) -> Result<Whole, String> {
        let url = Url::parse(&request.uri().to_string()).map_err(|e| e.to_string())?;
        let host = url.host_str().ok_or("the URL has no host")?;
        let port = url.port_or_known_default().unwrap_or(443);
        let name = host.trim_start_matches('[').trim_end_matches(']');
        let found = tokio::net::lookup_host((name, port)).await.map_err(|e| format!("{host}: {e}"))?;
        let mut why = format!("{host} has no address");
        for address in found.take(ADDRESSES) {
            match self.posting(address, &url, name).await {
                Ok(mut session) => {
                    let answered = exchange(&mut session, &url, request, bound).await;
                    session.shutdown().await;
                    return answered.map_err(|e| because(&e));
                }
                Err(e) => why = because(&e),
            }
        }
        Err(why)
    }

    async fn posting(&self, address: SocketAddr, url: &Url, name: &str) -> pingora::Result<HttpSession> {
        let mut peer = HttpPeer::new(address, url.scheme() == "https", name.to_owned());
        peer.options.connection_timeout = Some(CONNECT);
        peer.options.total_connection_timeout = Some(CONNECT);
        self.connector.get_http_session(&peer).await.map(|(session, _)| session)
    }
}

async fn exchange(
    session: &mut HttpSession,
    url: &Url,
    request: Request<Bytes>,
    bound: usize,
) -> pingora::Result<Whole> {
    let (parts, body) = request.into_parts();
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let mut head = RequestHeader::build(parts.method, target.as_bytes(), Some(parts.headers.len() + 2))?;
    for (name, value) in &parts.headers {
        head.append_header(name.clone(), value.clone())?;
    }
    let authority = &url[url::Position::BeforeHost..url::Position::AfterPort];
    head.insert_header(header::HOST, authority)?;
    head.insert_header(header::CONTENT_LENGTH, HeaderValue::from(body.len()))?;
    session.write_request_header(Box::new(head)).await?;
    session.write_request_body(body, true).await?;
    session.finish_request_body().await?;
    let (status, headers) = loop {
        session.read_response_header().await?;
        match session.response_header() {
            Some(head) if head.status.is_informational() => {}
            Some(head) => break (head.status, head.headers.clone()),
            None => return pingora::Error::e_explain(pingora::ErrorType::InvalidHTTPHeader, "no response head"),
        }
    };
    let (body, cut) = rest(session, bound).await?;
    Ok(Whole { status, headers, body, cut })
}
