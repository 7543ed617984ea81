//! Decides what becomes of a request, for both engines, and writes refusals.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use frontdesk_filters::{Decision, Refusal, Reply, Request, accept, caller::forwarded, decide};
use pingora::http::RequestHeader;

use super::{Front, address, ctx::Ctx, head, request_id::request_id};
use crate::{clock::since_1970, outbound::Outbound, running::Running, upstream::NoPlace};

/// Where a connection has no address: a unix socket, say.
const NOBODY: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

impl Front {
    /// Begins the spans of a request, where traces are made and they have not begun: the fast path may have looked at the
    /// request before.
    pub(crate) fn begin_trace(&self, head: &RequestHeader, ctx: &mut Ctx) {
        if let (Some(traces), None) = (&self.traces, &ctx.trace) {
            ctx.trace = Some(traces.request(&head.headers, &head.method));
        }
    }

    /// Looks at where a request comes from, before anything is decided about it.
    pub(crate) fn arrived(&self, head: &RequestHeader, ctx: &mut Ctx, running: &Running) {
        ctx.client = ctx.connection.as_ref().map(|connection| {
            connection.hold_to_pace(&running.snapshot.settings.protection);
            let trusted = &running.snapshot.settings.listen.trusted_proxies;
            address::warn_of_a_terminator(head, connection, &running.snapshot.settings);
            address::warn_of_http_1_0(head, connection, &running.snapshot.settings);
            forwarded::client_address(connection.client.ip(), &head.headers, trusted)
        });
    }

    /// Asks what becomes of a request whose head is in order.
    pub(crate) async fn decide(&self, head: &RequestHeader, ctx: &mut Ctx, running: &Arc<Running>) -> Decision {
        let target = head::target(head);
        let request = request(head, ctx, running, &self.outbound, &target);
        let decided = decide(&running.snapshot, running.store.counters.as_ref(), &request).await;
        if decided.wants_keys {
            self.live.want_keys();
        }
        if let (Decision::Refuse(_, reason), Some(about)) = (&decided.decision, decided.about) {
            ctx.called = running.snapshot.settings.capability(about.capability).map(|capability| capability.id.clone());
            let request_id = ctx.request_id.get_or_insert_with(|| request_id(&head.headers));
            self.record(request_id, running, &decided.caller, about, reason);
        }
        if let Some(near) = &decided.near {
            self.metrics.seen.close(near, &decided.caller);
        }
        ctx.agents = decided.agents;
        ctx.caller = Some(decided.caller);
        ctx.finish = decided.finish;
        decided.decision
    }

    /// Takes a place at the site for a request that passes. The error is what is said where there is none.
    pub(crate) fn pass(&self, head: &RequestHeader, ctx: &mut Ctx, running: &Running) -> Result<(), Reply> {
        let refusal = match running.place(ctx.client) {
            Ok(place) => {
                (ctx.place, ctx.passed) = (Some(place), true);
                return Ok(());
            }
            Err(NoPlace::SiteBusy) => Refusal::busy(),
            Err(NoPlace::ClientShare) => Refusal::client_busy(),
        };
        self.metrics.rejected(refusal.reason);
        Err(self.explained(head, ctx, &refusal))
    }

    /// The reply to a request that was refused before its endpoint was known, or that failed.
    pub(crate) fn explained(&self, head: &RequestHeader, ctx: &mut Ctx, refusal: &Refusal) -> Reply {
        ctx.error = Some(refusal.reason);
        let running = ctx.running(&self.live);
        let accept = accept::of(&head.headers);
        let insertion = running.snapshot.insertion.as_ref().map(|(insertion, _)| insertion.as_ref());
        running.snapshot.explain(&head.method, &head::target(head))(refusal, accept.as_deref(), insertion)
    }
}

/// What is asked, as it is decided on.
pub(super) fn request<'a>(
    head: &'a RequestHeader,
    ctx: &Ctx,
    running: &'a Running,
    outbound: &'a Outbound,
    target: &'a str,
) -> Request<'a> {
    let connection = ctx.connection.as_deref();
    let trusted = &running.snapshot.settings.listen.trusted_proxies;
    Request {
        method: &head.method,
        target,
        headers: &head.headers,
        address: ctx.client.unwrap_or(NOBODY),
        authority: head::authority(head),
        tls: connection.is_some_and(|c| c.tls) || head::said_to_be_tls(head, connection, trusted),
        now: since_1970(ctx.began).as_secs(),
        harness: running.harness.as_deref(),
        token_server: Some(outbound),
        records: Some(running.store.records.as_ref()),
    }
}
