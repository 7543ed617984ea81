//! The one place that writes a reply of Frontdesk's own.

use std::time::Duration;

use bytes::Bytes;
use frontdesk_filters::Reply;
use http::{HeaderName, HeaderValue, Method, Response, header};
use pingora::{http::ResponseHeader, proxy::Session};

use crate::{accept, live::Running};

/// A request body up to this size is read to its end before answering, so that the connection can be used again.
const DRAINED: usize = 64 * 1024;
/// How long that may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Writes the reply. The body is left out for HEAD, its length is not. Errors mean that the client is gone.
pub async fn send(session: &mut Session, reply: Reply, running: &Running) -> pingora::Result<()> {
    let (head, body) = cased_head(reply, running)?;
    write(session, head, body).await
}

/// The head of a reply, but for its length, and its body.
fn cased_head(reply: Reply, running: &Running) -> pingora::Result<(ResponseHeader, Bytes)> {
    let Reply { status, headers, body } = reply;
    let mut head = ResponseHeader::build(status, Some(headers.len() + 4))?;
    // First, because some clients read only the first.
    if let Some(link) = &running.snapshot.link {
        head.append_header("Link", link.clone())?;
    }
    for (name, value) in headers {
        match cased(&name) {
            Some(cased) => head.append_header(cased, value)?,
            None => head.append_header(name, value)?,
        };
    }
    Ok((head, body))
}

/// A reply as it is written over HTTP/1: its head, and what follows it.
pub fn whole(reply: Reply, running: &Running) -> pingora::Result<(ResponseHeader, Bytes)> {
    let (mut head, body) = cased_head(reply, running)?;
    tell_length(&mut head, body.len())?;
    Ok((head, body))
}

fn tell_length(head: &mut ResponseHeader, length: usize) -> pingora::Result<()> {
    if !matches!(head.status.as_u16(), 204 | 304) {
        head.insert_header(header::CONTENT_LENGTH, HeaderValue::from(length))?;
    }
    Ok(())
}

/// The same for whoever calls a capability: no person reads its names, and to have them in another case takes longer
/// than all the rest of the head.
pub async fn send_plain(session: &mut Session, reply: Reply, running: &Running) -> pingora::Result<()> {
    let (mut head, ()) = Response::new(()).into_parts();
    head.status = reply.status;
    head.headers.reserve(reply.headers.len() + 4);
    let link = running.snapshot.link.iter().map(|link| (header::LINK, link.clone()));
    for (name, value) in link.chain(reply.headers) {
        head.headers.append(name, value);
    }
    write(session, head.into(), reply.body).await
}

async fn write(session: &mut Session, mut head: ResponseHeader, body: Bytes) -> pingora::Result<()> {
    let unread = !session.is_body_done();
    if unread && !drain(session).await {
        // Somebody is still sending what nobody will read.
        session.set_keepalive(None);
        if let Some(connection) = accept::connection() {
            connection.linger();
        }
    }
    tell_length(&mut head, body.len())?;
    let end =
        matches!(head.status.as_u16(), 204 | 304) || body.is_empty() || session.req_header().method == Method::HEAD;
    // Not through the modules: what is written here is ready as it is.
    let downstream = session.as_downstream_mut();
    downstream.write_response_header(Box::new(head)).await?;
    if !end {
        downstream.write_response_body(body, true).await?;
    }
    Ok(())
}

/// Names as people are used to read them over HTTP/1, where the library would write them in small letters.
fn cased(name: &HeaderName) -> Option<&'static str> {
    match *name {
        header::ALLOW => Some("Allow"),
        header::ETAG => Some("ETag"),
        header::LINK => Some("Link"),
        header::LOCATION => Some("Location"),
        header::RETRY_AFTER => Some("Retry-After"),
        header::VARY => Some("Vary"),
        header::WWW_AUTHENTICATE => Some("WWW-Authenticate"),
        _ => LIMITS.into_iter().find(|cased| cased.eq_ignore_ascii_case(name.as_str())),
    }
}

/// Names that the library knows nothing about.
const LIMITS: [&str; 13] = [
    "RateLimit",
    "RateLimit-Policy",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "X-RateLimit-Window",
    "Accept-Signature",
    "Idempotency-Replayed",
    "X-Request-Id",
    "X-Markdown-Tokens",
    "X-Frontdesk-Flags",
    "Content-Signal",
    "Content-Usage",
];

/// Reads a small body to its end. `false` when it is too long, unknown in length or waited for with `Expect`.
async fn drain(session: &mut Session) -> bool {
    let headers = &session.req_header().headers;
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()).and_then(|v| v.parse().ok());
    if announced.is_none_or(|n: usize| n > DRAINED) || headers.contains_key(header::EXPECT) {
        return false;
    }
    session.set_total_drain_timeout(Some(PATIENCE));
    session.drain_request_body().await.is_ok()
}
