//! Bounded reads of a request's body.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use frontdesk_filters::{Fault, Refusal};
use frontdesk_http1::framing::{announced, is_held_back};
use http::Version;
use pingora::{Error, ErrorType, proxy::Session};
use tokio::time::timeout;

use crate::accept;

/// The time limit for a whole body, even if it arrives in small pieces.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Reads a body of at most `most` bytes.
///
/// # Errors
///
/// The reply: the body is too long, or did not come in time. `Err(None)`: the client has left.
pub async fn read(session: &mut Session, most: usize) -> Result<Bytes, Option<Refusal>> {
    let too_large = || {
        let detail = format!("The body is longer than the {most} bytes that are taken here. Send less.");
        Some(Refusal::from(Fault::TooLarge).saying(detail))
    };
    let headers = &session.req_header().headers;
    if announced(headers).is_some_and(|length| length > most as u64) {
        return Err(too_large());
    }
    // An HTTP/1.0 client knows no interim responses.
    if session.req_header().version != Version::HTTP_10 && is_held_back(headers) {
        session.write_continue_response().await.map_err(|_| None)?;
    }
    let reading = async {
        let mut body = BytesMut::new();
        loop {
            match session.read_request_body().await {
                Ok(None) => return Ok(body.freeze()),
                Ok(Some(chunk)) if body.len() + chunk.len() > most => return Err(too_large()),
                // Most bodies come in one piece.
                Ok(Some(chunk)) if body.is_empty() && session.is_body_done() => return Ok(chunk),
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Err(e) if *e.etype() == ErrorType::ReadTimedout => return Err(Some(Fault::RequestTimeout.into())),
                Err(e) if is_gone(&e) && !is_malformed() => return Err(None),
                Err(_) => {
                    let detail =
                        "The body is not framed as HTTP has it. Send it with a Content-Length, or in whole chunks.";
                    return Err(Some(Refusal::from(Fault::BadRequest).saying(detail)));
                }
            }
        }
    };
    match timeout(PATIENCE, reading).await {
        Ok(read) => read,
        Err(_) => Err(Some(Fault::RequestTimeout.into())),
    }
}

/// Whether reading failed because of the client's framing.
fn is_malformed() -> bool {
    accept::connection().is_some_and(|connection| connection.has_malformed_body())
}

/// Whether the client has left.
fn is_gone(e: &Error) -> bool {
    matches!(e.etype(), ErrorType::ConnectionClosed | ErrorType::ReadError | ErrorType::H2Error)
}
