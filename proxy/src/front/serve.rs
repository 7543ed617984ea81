//! A call of an agent endpoint: its body is read, the desk carries it out, and its dialect's reply is sent.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use frontdesk_filters::{
    About, Incoming, Refusal, Serving,
    caller::Caller,
    desk::{Account, Turned, audit::Audit},
};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use pingora::{Result, http::RequestHeader, proxy::Session};
use uuid::Uuid;

use super::{Front, behind::Behind, ctx::Ctx, head};
use crate::{answer, intake, live::Running, outbound::Carrier};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// What goes on to the site besides what is said of the client: how the operator follows a request.
const FOLLOWED: [HeaderName; 2] = [HeaderName::from_static("traceparent"), HeaderName::from_static("tracestate")];
/// The longest name of a request that is taken from a client, in bytes.
const LONGEST_ID: usize = 128;

impl Front {
    pub(super) async fn serve(&self, session: &mut Session, ctx: &mut Ctx, serving: Serving) -> Result<()> {
        let running = ctx.running(&self.live);
        let accept = session.req_header().headers.get(header::ACCEPT).cloned();
        let body = match intake::read(session, serving.most(&running.snapshot.settings)).await {
            Ok(body) => body,
            Err(Some(refusal)) => {
                session.set_keepalive(None);
                let accept = accept.as_ref().and_then(|value| value.to_str().ok());
                let reply = serving.refused(&running.snapshot, &refusal, accept);
                if let (Some(about), Some(caller)) = (serving.about(), &ctx.caller) {
                    self.record(session.req_header(), &running, caller, about, refusal.reason);
                }
                return self.tell_refused(session, ctx, &running, reply, &refusal).await;
            }
            Err(None) => {
                ctx.error = Some("client_gone");
                session.set_keepalive(None);
                return pingora::Error::e_explain(
                    pingora::ErrorType::ConnectionClosed,
                    "the client left its body unsent",
                )
                .map_err(|e| e.into_down());
            }
        };
        let reply = self.carried_out(session, ctx, serving, &running, body).await?;
        answer::send_plain(session, reply, &running).await
    }

    /// Counts a call.
    pub(super) fn count(&self, account: &Account) {
        if account.unkept {
            tracing::error!(
                capability = account.capability,
                "what became of a call could not be kept; a retry with its key will be told that nobody knows"
            );
        }
        self.metrics.called(&account.capability, account.decision, account.duration);
    }

    /// Writes down a call that came no further than to be refused.
    pub(super) fn record(
        &self,
        head: &RequestHeader,
        running: &Running,
        caller: &Caller,
        about: About,
        reason: &'static str,
    ) {
        let About { capability, dialect } = about;
        let request_id = request_id(head);
        let turned = Turned { capability, caller, idempotency_key: None, request_id: &request_id, dialect };
        let audit = running.audit.as_deref().map(|log| log as &dyn Audit);
        let account = running.snapshot.turned_away(&turned, reason, audit);
        self.metrics.called(&account.capability, account.decision, account.duration);
    }

    async fn tell_refused(
        &self,
        session: &mut Session,
        ctx: &mut Ctx,
        running: &Running,
        reply: frontdesk_filters::Reply,
        refusal: &Refusal,
    ) -> Result<()> {
        self.metrics.rejected(refusal.reason);
        ctx.error = Some(refusal.reason);
        answer::send(session, reply, running).await
    }

    async fn carried_out(
        &self,
        session: &Session,
        ctx: &mut Ctx,
        serving: Serving,
        running: &Arc<Running>,
        body: Bytes,
    ) -> Result<frontdesk_filters::Reply> {
        let request_id = request_id(session.req_header());
        let told = || base(session, ctx, running, &request_id);
        let carrier = Carrier { outbound: &self.outbound, running, told: &told };
        let library = self.live.library();
        let behind = Behind { front: self, running, told: &told };
        let desk = self.desk(running, &carrier, &library, &behind);
        let head = session.req_header();
        let Some(caller) = &ctx.caller else {
            return pingora::Error::e_explain(pingora::ErrorType::InternalError, "nobody calls");
        };
        let incoming = Incoming {
            method: &head.method,
            target: &head::target(head),
            headers: &head.headers,
            body,
            caller,
            authority: head::authority(head),
            request_id: &request_id,
        };
        let served = serving.serve(&desk, &incoming).await;
        if served.wants_keys {
            self.live.want_keys();
        }
        if let Some(account) = &served.account {
            self.count(account);
        }
        if let Some(reason) = served.reason {
            self.metrics.rejected(reason);
            ctx.error = Some(reason);
        }
        Ok(match HeaderValue::try_from(request_id) {
            Ok(id) => served.reply.with_value(REQUEST_ID, id),
            Err(_) => served.reply,
        })
    }
}

/// What the site is told of where a request came from, as it is of every one that passes; and nothing of what was sent.
fn base(session: &Session, ctx: &Ctx, running: &Running, request_id: &str) -> Result<HeaderMap> {
    let incoming = session.req_header();
    let mut base = RequestHeader::build_no_case(incoming.method.clone(), b"/", Some(24))?;
    if let Ok(host) = HeaderValue::from_str(head::authority(incoming)) {
        base.insert_header(header::HOST, host)?;
    }
    for (name, value) in &incoming.headers {
        if head::is_forwarding(name) || FOLLOWED.contains(name) {
            base.append_header(name.clone(), value.clone())?;
        }
    }
    base.insert_header(REQUEST_ID, request_id)?;
    head::forward_address(session, &mut base, ctx, running)?;
    Ok(http::request::Parts::from(base).headers)
}

/// The client's name for its request, or one of ours.
fn request_id(head: &RequestHeader) -> String {
    let theirs = head.headers.get(&REQUEST_ID).and_then(|value| value.to_str().ok());
    let fits = |id: &&str| !id.is_empty() && id.len() <= LONGEST_ID && id.bytes().all(|b| b.is_ascii_graphic());
    theirs.filter(fits).map_or_else(|| fresh_id().to_string(), str::to_owned)
}

/// A UUIDv7 that nobody else has; it is no secret, so that the system is not asked for each.
fn fresh_id() -> Uuid {
    // Keyed anew by each state, from a start that the system gave to this thread.
    let random = || RandomState::new().build_hasher().finish().to_be_bytes();
    let (first, second) = (random(), random());
    let mut bytes = [0; 10];
    bytes[..8].copy_from_slice(&first);
    bytes[8..].copy_from_slice(&second[..2]);
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let millis = u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX);
    uuid::Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid()
}
