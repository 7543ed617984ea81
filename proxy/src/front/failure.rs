//! Whose fault a failed request is, and what the client is told.

use frontdesk_filters::Fault;
use frontdesk_http1::framing::is_held_back;
use pingora::{
    Error, ErrorSource,
    ErrorType::{
        ConnectError, ConnectNoRoute, ConnectRefused, ConnectTimedout, ConnectionClosed, HTTPStatus, InvalidCert,
        ReadError, ReadTimedout, SocketError, TLSHandshakeFailure, TLSHandshakeTimedout, WriteError, WriteTimedout,
    },
    proxy::Session,
};

use super::{answered, ctx::Ctx};

/// Why a request could not be carried out.
#[derive(Debug, Clone, Copy)]
pub enum Failure {
    /// The client is gone: there is nobody to tell.
    Client,
    /// The client sent the body of its request too slowly.
    SlowUpload,
    /// The client took its answer too slowly.
    SlowReader,
    Fault(Fault),
}

impl Failure {
    /// What the client is told, if it is still there.
    pub fn fault(self) -> Option<Fault> {
        match self {
            Self::Client | Self::SlowReader => None,
            Self::SlowUpload => Some(Fault::RequestTimeout),
            Self::Fault(fault) => Some(fault),
        }
    }

    /// What the access line says.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Client => "client_gone",
            Self::SlowUpload => "slow_upload",
            Self::SlowReader => "slow_reader",
            Self::Fault(fault) => fault.reason(),
        }
    }
}

/// Why a request failed, from what its connection knows and from pingora's error.
pub fn found(e: &Error, session: &mut Session, ctx: &Ctx) -> Failure {
    let Some(connection) = &ctx.connection else { return of(e, false) };
    if connection.has_malformed_body() {
        return Failure::Fault(Fault::BadRequest);
    }
    if ctx.upload_is_too_slow() {
        // It may still be sending, and a reset would overtake the answer.
        connection.linger();
        return Failure::SlowUpload;
    }
    if connection.is_slow_reader() {
        return Failure::SlowReader;
    }
    of(e, answered(session).is_none() && is_sending(session, ctx))
}

/// One total function from the library's error to ours. `sending`: the client had yet to send some of its body, and the
/// site was waiting for nothing else.
pub fn of(e: &Error, sending: bool) -> Failure {
    let fault = match (e.esource(), e.etype()) {
        (_, HTTPStatus(503)) => Fault::Unavailable,
        (ErrorSource::Downstream, ReadTimedout) => Fault::RequestTimeout,
        (ErrorSource::Downstream, WriteTimedout) => return Failure::SlowReader,
        (ErrorSource::Downstream, WriteError | ReadError | ConnectionClosed | ConnectError) => {
            return Failure::Client;
        }
        (ErrorSource::Downstream, _) => Fault::BadRequest,
        (ErrorSource::Upstream, ReadTimedout) if sending => Fault::RequestTimeout,
        (ErrorSource::Upstream, ReadTimedout | WriteTimedout | ConnectTimedout | TLSHandshakeTimedout) => {
            Fault::GatewayTimeout
        }
        (
            ErrorSource::Upstream,
            ConnectRefused | ConnectNoRoute | ConnectError | SocketError | TLSHandshakeFailure | InvalidCert,
        ) => Fault::Unreachable,
        (ErrorSource::Upstream, _) => Fault::BadGateway,
        (ErrorSource::Internal | ErrorSource::Unset, _) => Fault::Internal,
    };
    Failure::Fault(fault)
}

/// Whether the client has yet to send some of its body, which it does not hold back until the site wants it. The library
/// looks how long a site takes anew with each part that goes up.
fn is_sending(session: &mut Session, ctx: &Ctx) -> bool {
    let held_back = is_held_back(&session.req_header().headers) && session.body_bytes_read() == 0 && !ctx.wants_body;
    !session.is_body_done() && !session.is_upgrade_req() && !held_back
}
