//! An early answer: the site has answered in full before the client has sent its whole request.
//!
//! The site may not have read the rest of the request, and would take it for a request of its own. So the rest never goes
//! up, the connection to the site closes (RFC 9112 §9.3, §9.6), and so does the client's over HTTP/1.1. Over HTTP/2 the
//! stream is reset with NO_ERROR once the answer has left (RFC 9113 §8.1).
//!
//! A careless site does the same with a body that arrived in time: it answers from the head, and takes the body for the next
//! request. The bytes on the wire do not tell. Most such answers are redirects and errors, so only a success in answer to a
//! method that is about its body keeps the connection to the site. It then carries requests with bodies of the same client
//! connection only: a client that writes a request into a body gets no other client's answer, just as without a proxy.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    os::fd::RawFd,
    time::Duration,
};

use frontdesk_http1::{Body, framing::shows_body_was_read};
use http::Version;
use nix::{
    errno::Errno,
    sys::socket::{MsgFlags, Shutdown, recv, shutdown},
};
use pingora::{Error, ErrorSource, ErrorType, Result, http::ResponseHeader, proxy::Session, upstreams::peer::HttpPeer};

use super::{
    Front,
    abandon::{AbandonTimer, Unaccounted},
    ctx::Ctx,
};
use crate::accept::ConnInfo;

/// How long a client over HTTP/2 may stay silent before its stream is reset: the library reads such bodies without a
/// deadline.
const SILENCE: Duration = Duration::from_secs(1);
/// How long a connection to the site that carried a body waits for another one of the same client connection.
const WAITS_FOR_ITS_CLIENT: Duration = Duration::from_secs(5);

impl Front {
    /// Call this once the answer's head has been read.
    pub(super) fn head_arrived(&self, session: &mut Session, ctx: &mut Ctx, response: &ResponseHeader, body: Body) {
        ctx.status = response.status;
        if response.version == Version::HTTP_2 {
            // Other requests share the connection, and each stream ends by itself.
            ctx.upstream_socket = None;
        }
        if matches!(body, Body::Absent | Body::Length(0)) {
            self.answer_ended(session, ctx);
        }
    }

    /// Call this when the site's whole answer has arrived, before its last bytes go to the client.
    pub(super) fn answer_ended(&self, session: &mut Session, ctx: &mut Ctx) {
        if ctx.answered_early || session.was_upgraded() {
            return;
        }
        if session.is_body_done() {
            // A slow reader holds nothing of the site's.
            ctx.place = None;
            let is_read = ctx.has_own_connections && shows_body_was_read(&session.req_header().method, ctx.status);
            let may_be_unread = ctx.sends_body && !is_read;
            // pingora looks at one line of `Connection` only.
            if let (Some(socket), true) = (ctx.upstream_socket, may_be_unread || !ctx.site_keeps) {
                retire(socket);
            }
            return;
        }
        ctx.answered_early = true;
        ctx.upload_is_over();
        // The library writes the answer and then reads on. This makes that read fail at once.
        session.set_read_timeout(Some(Duration::ZERO));
        session.set_keepalive(None);
        let Some(connection) = ctx.connection.clone() else { return };
        if session.as_http2().is_none() {
            connection.drain_upload();
            return;
        }
        ctx.unaccounted = Some(Box::new(Unaccounted::new(self.clone(), session, ctx.status.as_u16())));
        ctx.abandon_timer = Some(AbandonTimer::start(SILENCE, connection));
    }

    /// Gives up a request unless the site begins its answer within so long. The library drops it then, and calls no phase.
    pub(super) fn abandon_after(&self, limit: Duration, session: &Session, ctx: &mut Ctx) {
        let Some(connection) = ctx.connection.clone() else { return };
        let unaccounted = Unaccounted::new(self.clone(), session, 0);
        ctx.unaccounted = Some(Box::new(Unaccounted { limit: Some(limit), ..unaccounted }));
        ctx.abandon_timer = Some(AbandonTimer::start(limit, connection));
    }
}

/// Makes a connection to the site one that carries no other request. The library keeps it for a moment at most: it finds
/// the connection closed. A request that gets it meanwhile cannot send its head, and is sent on another connection.
pub(super) fn retire(socket: RawFd) {
    // It fails only where the site has closed the connection already.
    let _ = shutdown(socket, Shutdown::Both);
}

/// Has a request with a body use connections that only requests with bodies from the same client connection use.
pub(super) fn keep_for(client: &ConnInfo, peer: &mut HttpPeer) {
    let mut group = DefaultHasher::new();
    (peer.group_key, client.number).hash(&mut group);
    peer.group_key = group.finish();
    peer.options.idle_timeout = Some(WAITS_FOR_ITS_CLIENT);
}

/// Whether something has come on a connection to the site, or its end.
pub(super) fn has_come(socket: RawFd) -> bool {
    recv(socket, &mut [0], MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT) != Err(Errno::EAGAIN)
}

/// Refuses to send up what the client sent after the site's answer, the end of its request included.
pub(super) fn refuse_late_body(ctx: &Ctx) -> Result<()> {
    match ctx.answered_early {
        false => Ok(()),
        true => Error::e_explain(ErrorType::ConnectionClosed, "the site answered before the request was complete")
            .map_err(|e| e.into_down()),
    }
}

/// Whether an error is only the end of a request that has been answered early.
pub(super) fn ended_by(e: &Error, ctx: &Ctx) -> bool {
    let reading = matches!(e.etype(), ErrorType::ReadTimedout | ErrorType::ReadError | ErrorType::ConnectionClosed);
    ctx.answered_early && reading && *e.esource() == ErrorSource::Downstream
}
