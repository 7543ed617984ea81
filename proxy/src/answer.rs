//! Writes Frontdesk's own replies through the library, in one place. The fast path writes them itself: `fast_path/http1` and
//! `fast_path/http2`.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use frontdesk_filters::{Pieces, Reply};
use frontdesk_http1::{
    field::cased,
    framing::{announced, is_bodiless},
};
use http::{HeaderValue, Method, Response, Version, header, response};
use pingora::{ErrorType, OrErr, http::ResponseHeader, proxy::Session};
use tokio::sync::Semaphore;

use crate::{accept, running::Running};

/// A request body up to this size is read to its end before the answer, so that the connection can be reused.
const DRAINED: u64 = 64 * 1024;
/// The time limit for that.
const PATIENCE: Duration = Duration::from_secs(2);
/// Pieces of long documents that are made at a time.
static MAKING: Semaphore = Semaphore::const_new(2);

/// Writes the reply. HEAD gets no body but its length. An error means that the client is gone.
pub async fn send(session: &mut Session, reply: Reply, running: &Running) -> pingora::Result<()> {
    let Reply { status, headers, body, pieces } = reply;
    let mut head = ResponseHeader::build(status, Some(headers.len() + 4))?;
    // First, because some clients read only the first `Link`.
    if let Some(link) = running.snapshot.links.every() {
        head.append_header("Link", link.clone())?;
    }
    for (name, value) in headers {
        match cased(&name) {
            Some(cased) => head.append_header(cased, value)?,
            None => head.append_header(name, value)?,
        };
    }
    match pieces {
        Some(pieces) => stream(session, head, pieces).await,
        None => write(session, head, body).await,
    }
}

/// Writes a body piece by piece. Each is made on a thread that may block, once the one before it has left.
async fn stream(session: &mut Session, mut head: ResponseHeader, pieces: Arc<dyn Pieces>) -> pingora::Result<()> {
    let request = session.req_header();
    let (version, is_head) = (request.version, request.method == Method::HEAD);
    if !session.is_body_done() {
        session.set_keepalive(None);
    }
    head.set_version(Version::HTTP_11);
    if version == Version::HTTP_11 {
        head.insert_header(header::TRANSFER_ENCODING, "chunked")?;
    } else if version < Version::HTTP_11 {
        // Its end is that of the connection.
        session.set_keepalive(None);
    }
    let downstream = session.as_downstream_mut();
    downstream.write_response_header(Box::new(head)).await?;
    for nth in 0..if is_head { 0 } else { usize::MAX } {
        let made = pieces.clone();
        let Some(piece) = make(move || made.piece(nth)).await? else { break };
        if !piece.is_empty() {
            downstream.write_response_body(piece, false).await?;
        }
    }
    if !is_head || downstream.as_http2().is_some() {
        downstream.write_response_body(Bytes::new(), true).await?;
    }
    Ok(())
}

/// Makes a piece. Few are made at a time, however many clients read them.
async fn make(piece: impl FnOnce() -> Option<Bytes> + Send + 'static) -> pingora::Result<Option<Bytes>> {
    let _turn = MAKING.acquire().await;
    let made = tokio::task::spawn_blocking(piece).await;
    // What cannot be made is not left out: the client has to see that the body is not whole.
    made.or_err(ErrorType::InternalError, "a piece of a document could not be made")
}

/// The same for capability calls. Programs do not care about the case of names, and converting it costs more than the
/// rest of the head.
pub async fn send_plain(session: &mut Session, reply: Reply, running: &Running) -> pingora::Result<()> {
    let (head, body) = plain_head(reply, running.snapshot.links.every());
    write(session, head.into(), body).await
}

/// Writes the head of a reply whose end is not known yet, and the first of its body.
pub async fn begin(session: &mut Session, reply: Reply, running: &Running) -> pingora::Result<()> {
    let (head, first) = plain_head(reply, running.snapshot.links.every());
    let mut head = ResponseHeader::from(head);
    let downstream = session.as_downstream_mut();
    if downstream.as_http2().is_none() {
        head.insert_header(header::TRANSFER_ENCODING, "chunked")?;
    }
    downstream.write_response_header(Box::new(head)).await?;
    downstream.write_response_body(first, false).await.map(drop)
}

/// The head of a reply without its length, with lowercase names, and the body.
pub fn plain_head(reply: Reply, link: Option<&HeaderValue>) -> (response::Parts, Bytes) {
    let Reply { status, headers, body, .. } = reply;
    let (mut head, ()) = Response::new(()).into_parts();
    head.status = status;
    head.headers.reserve(headers.len() + 4);
    // First, because some clients read only the first `Link`.
    for (name, value) in link.map(|link| (header::LINK, link.clone())).into_iter().chain(headers) {
        head.headers.append(name, value);
    }
    (head, body)
}

async fn write(session: &mut Session, mut head: ResponseHeader, body: Bytes) -> pingora::Result<()> {
    let unread = !session.is_body_done();
    if unread && !drain(session).await {
        // The client is still sending a body that will not be read.
        session.set_keepalive(None);
        if let Some(connection) = accept::connection() {
            connection.linger();
        }
    }
    let bodiless = is_bodiless(head.status);
    if !bodiless {
        head.insert_header(header::CONTENT_LENGTH, HeaderValue::from(body.len()))?;
    }
    let end = bodiless || body.is_empty() || session.req_header().method == Method::HEAD;
    // Bypass the modules: this reply is final.
    let downstream = session.as_downstream_mut();
    downstream.write_response_header(Box::new(head)).await?;
    // Over HTTP/2 the head has not ended the stream, and after a failure the library resets it instead.
    if !end || downstream.as_http2().is_some() {
        downstream.write_response_body(if end { Bytes::new() } else { body }, true).await?;
    }
    Ok(())
}

/// Reads a small body to its end. `false` if it is too long, has no known length, or waits for `100 Continue`.
async fn drain(session: &mut Session) -> bool {
    let headers = &session.req_header().headers;
    if announced(headers).is_none_or(|length| length > DRAINED) || headers.contains_key(header::EXPECT) {
        return false;
    }
    session.set_total_drain_timeout(Some(PATIENCE));
    session.drain_request_body().await.is_ok()
}
