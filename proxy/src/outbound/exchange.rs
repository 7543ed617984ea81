//! One request and its whole answer, over whatever connection it goes.

use std::time::Instant;

use bytes::{Bytes, BytesMut};
use frontdesk_filters::desk::{Answer, Call};
use http::{HeaderMap, StatusCode, header};
use pingora::{Error, ErrorType, http::RequestHeader, protocols::http::client::HttpSession, upstreams::peer::HttpPeer};

use super::{Outbound, answered};
use crate::upstream::{Backend, Plain, Site};

/// A body up to this size leaves with its head.
const COPIED: usize = 4 * 1024;

/// A connection that carries one call at a time.
pub(super) enum Line<'a> {
    /// Past the library.
    Plain(Plain, &'a Backend),
    /// The library's. Boxed: most are not.
    Library(Box<(HttpSession, HttpPeer)>),
}

impl Line<'_> {
    pub(super) fn library(session: HttpSession, peer: HttpPeer) -> Self {
        Self::Library(Box::new((session, peer)))
    }

    /// Sends a call and reads the whole answer; then the connection is kept for the next, or closed.
    pub(super) async fn exchange(
        self,
        outbound: &Outbound,
        request: RequestHeader,
        call: &Call<'_>,
    ) -> Result<Answer, Cut> {
        match self {
            Self::Plain(plain, backend) => {
                // However long the site is silent: what bounds it is how long the whole call may take.
                let mut site = Site::new(plain, call.limit);
                let answer = exchange_plainly(&mut site, &request, &call.body, call.most).await?;
                if let Some(plain) = site.kept() {
                    backend.keep(plain, Instant::now());
                }
                Ok(answer)
            }
            Self::Library(line) => {
                let (mut session, peer) = *line;
                let answer = exchange(&mut session, request, &call.body, call.most).await;
                match answer {
                    Ok(_) => outbound.keep(session, &peer).await,
                    Err(_) => session.shutdown().await,
                }
                answer
            }
        }
    }
}

/// Why there is no whole answer.
pub(super) enum Cut {
    Broken(Box<Error>),
    Headless,
    /// Its body is longer than what is taken.
    TooLong(StatusCode),
}

impl From<Box<Error>> for Cut {
    fn from(error: Box<Error>) -> Self {
        Self::Broken(error)
    }
}

/// Sends the request and reads the whole answer, of at most so many bytes. How long that may take is bounded around it.
pub(super) async fn exchange(
    session: &mut HttpSession,
    request: RequestHeader,
    body: &Bytes,
    most: usize,
) -> Result<Answer, Cut> {
    session.write_request_header(Box::new(request)).await?;
    if !body.is_empty() {
        session.write_request_body(body.clone(), true).await?;
    }
    session.finish_request_body().await?;
    let head = answered(session).await?.ok_or(Cut::Headless)?;
    let (status, headers) = (head.status, head.headers.clone());
    if announced(&headers).is_some_and(|length| length > most) {
        return Err(Cut::TooLong(status));
    }
    let mut body = BytesMut::new();
    while let Some(chunk) = session.read_response_body().await? {
        if body.len() + chunk.len() > most {
            return Err(Cut::TooLong(status));
        }
        // Most answers come in one piece.
        if body.is_empty() && session.response_done() {
            return Ok(Answer { status, headers, body: chunk });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer { status, headers, body: body.freeze() })
}

/// The same past the library.
async fn exchange_plainly(site: &mut Site, request: &RequestHeader, body: &Bytes, most: usize) -> Result<Answer, Cut> {
    let mut wire = Vec::with_capacity(1024);
    for part in [request.method.as_str().as_bytes(), b" ", request.raw_path(), b" HTTP/1.1\r\n"] {
        wire.extend_from_slice(part);
    }
    request.header_to_h1_wire(&mut wire);
    wire.extend_from_slice(b"\r\n");
    if body.len() <= COPIED {
        wire.extend_from_slice(body);
        site.ask(&wire).await?;
    } else {
        site.ask(&wire).await?;
        site.ask(body).await?;
    }
    let head = loop {
        let head = site.head().await?;
        if head.status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Error::explain(ErrorType::InvalidHTTPHeader, "101 that nobody asked for").into());
        }
        if !head.status.is_informational() {
            break head;
        }
    };
    site.expect(&request.method, &head)?;
    let (status, mut headers) = (head.status, head.map(0, |_| true)?);
    if headers.contains_key(header::TRANSFER_ENCODING) {
        headers.remove(header::CONTENT_LENGTH);
    }
    if announced(&headers).is_some_and(|length| length > most) {
        return Err(Cut::TooLong(status));
    }
    let mut body = BytesMut::new();
    while !site.is_done() {
        let Some(part) = site.part().await? else { break };
        if body.len() + part.len() > most {
            return Err(Cut::TooLong(status));
        }
        if body.is_empty() && site.is_done() {
            // Copied: who keeps an answer does not keep all the room that it was read into.
            body = BytesMut::from(&part[..]);
            break;
        }
        body.extend_from_slice(&part);
    }
    Ok(Answer { status, headers, body: body.freeze() })
}

fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
