//! Writes Frontdesk's own replies through the library, in one place. The fast path writes them itself: `fast_path/http1` and
//! `fast_path/http2`.

use std::time::Duration;

use bytes::Bytes;
use frontdesk_filters::Reply;
use frontdesk_http1::{
    field::cased,
    framing::{announced, is_bodiless},
};
use http::{HeaderValue, Method, Response, header, response};
use pingora::{http::ResponseHeader, proxy::Session};

use crate::{accept, live::Running};

/// A request body up to this size is read to its end before the answer, so that the connection can be reused.
const DRAINED: u64 = 64 * 1024;
/// The time limit for that.
const PATIENCE: Duration = Duration::from_secs(2);

/// Writes the reply. HEAD gets no body but its length. An error means that the client is gone.
pub async fn send(session: &mut Session, reply: Reply, running: &Running) -> pingora::Result<()> {
    let Reply { status, headers, body } = reply;
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
    write(session, head, body).await
}

/// The same for capability calls. Programs do not care about the case of names, and converting it costs more than the
/// rest of the head.
pub async fn send_plain(session: &mut Session, reply: Reply, running: &Running) -> pingora::Result<()> {
    let (head, body) = plain_head(reply, running.snapshot.links.every());
    write(session, head.into(), body).await
}

/// The head of a reply without its length, with lowercase names, and the body.
pub fn plain_head(reply: Reply, link: Option<&HeaderValue>) -> (response::Parts, Bytes) {
    let Reply { status, headers, body } = reply;
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
