//! A call of an agent endpoint: its body is read, the desk carries it out, and its dialect's reply is sent.

use std::sync::{Arc, atomic::AtomicBool};

use async_trait::async_trait;
use bytes::Bytes;
use frontdesk_filters::{Incoming, Reply, Serving, accept};
use pingora::{Result, http::RequestHeader, proxy::Session};
use tokio::sync::mpsc::Sender;

use super::{
    Front,
    call::Work,
    ctx::Ctx,
    events::{self, Client, Outgoing, Part},
    forwarding::ForwardingContext,
    head,
    request_id::{named, request_id},
};
use crate::{answer, intake, running::Running};

impl Front {
    pub(super) async fn serve(&self, session: &mut Session, ctx: &mut Ctx, mut serving: Serving) -> Result<()> {
        let running = ctx.running(&self.live);
        let read = intake::read(session, serving.most(&running.snapshot.settings)).await;
        let over = match (&read, &ctx.caller) {
            (Err(_), Some(caller)) => {
                let counters = running.store.counters.as_ref();
                let (over, near) = serving.count_unread(&running.snapshot, counters, caller).await;
                if let Some(near) = &near {
                    self.metrics.seen.close(near, caller);
                }
                over
            }
            _ => None,
        };
        let body = match read {
            Ok(body) => body,
            Err(Some(refusal)) => {
                let refusal = over.unwrap_or(refusal);
                session.set_keepalive(None);
                let accept = accept::of(&session.req_header().headers);
                let reply = serving.refused(&running.snapshot, &refusal, accept.as_deref());
                if let (Some(about), Some(caller)) = (serving.about(), &ctx.caller) {
                    let request_id = ctx.request_id.get_or_insert_with(|| request_id(&session.req_header().headers));
                    self.record(request_id, &running, caller, about, refusal.reason);
                }
                let reply = self.finished(session.req_header(), ctx, &running, reply, refusal.reason).await?;
                return answer::send(session, reply, &running).await;
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
        if !events::may_stream(&serving, session.req_header()) {
            let reply = self.at_desk(session.req_header(), ctx, Work::Serve(serving), &running, body, None).await?;
            return answer::send_plain(session, reply, &running).await;
        }
        let (sender, parts) = events::parts();
        let head = session.req_header().clone();
        let call = self.at_desk(&head, ctx, Work::Serve(serving), &running, body, Some(sender));
        match events::carry(call, parts, &mut OverLibrary { session, running: &running, has_sent_more: false }).await? {
            Some(reply) => answer::send_plain(session, reply, &running).await,
            None => Ok(()),
        }
    }

    /// Counts a refusal, and returns it in the form of the dialect that refuses.
    pub(crate) async fn finished(
        &self,
        head: &RequestHeader,
        ctx: &mut Ctx,
        running: &Arc<Running>,
        reply: Reply,
        reason: &'static str,
    ) -> Result<Reply> {
        self.metrics.rejected(reason);
        ctx.error = Some(reason);
        match ctx.finish.clone() {
            Some(serve) => self.at_desk(head, ctx, Work::Finish(serve, reply), running, Bytes::new(), None).await,
            None => {
                let request_id = ctx.request_id.get_or_insert_with(|| request_id(&head.headers));
                Ok(named(reply, request_id))
            }
        }
    }

    /// Has something done at the desk, and says what the client is told. `parts`: the reply may leave in parts, this way.
    pub(crate) async fn at_desk(
        &self,
        head: &RequestHeader,
        ctx: &mut Ctx,
        work: Work,
        running: &Arc<Running>,
        body: Bytes,
        parts: Option<Sender<Part>>,
    ) -> Result<Reply> {
        let request_id = ctx.request_id.get_or_insert_with(|| request_id(&head.headers)).clone();
        let (Some(caller), Some(forwarding)) = (&ctx.caller, ForwardingContext::of(head, ctx)) else {
            return pingora::Error::e_explain(pingora::ErrorType::InternalError, "nobody calls");
        };
        let outgoing = parts.map(|sender| Outgoing {
            front: self,
            running,
            sender,
            request_id: &request_id,
            has_begun: AtomicBool::new(false),
        });
        let incoming = Incoming {
            method: &head.method,
            target: &head::target(head),
            headers: &head.headers,
            body,
            caller,
            authority: head::authority(head),
            request_id: &request_id,
            framed: None,
            events: outgoing.as_ref().map(|outgoing| outgoing as _),
        };
        let (served, visited) = self.call(running, &forwarding, &incoming, work).await;
        (ctx.upstream, ctx.upstream_took) = (visited.upstream.or(ctx.upstream), visited.took.or(ctx.upstream_took));
        if served.reason.is_some() {
            ctx.called = served.account.map(|account| account.capability).or(ctx.called.take());
        }
        ctx.error = served.reason.or(ctx.error);
        Ok(named(served.reply, &request_id))
    }
}

/// A client that the library speaks to.
struct OverLibrary<'a> {
    session: &'a mut Session,
    running: &'a Running,
    /// The client has sent more than its request, so that its end cannot be seen any more.
    has_sent_more: bool,
}

#[async_trait]
impl Client for OverLibrary<'_> {
    async fn begin(&mut self, head: Reply) -> Result<()> {
        answer::begin(self.session, head, self.running).await
    }

    async fn part(&mut self, part: Bytes, last: bool) -> Result<()> {
        self.session.as_downstream_mut().write_response_body(part, last).await.map(drop)
    }

    async fn gone(&mut self) {
        if !self.has_sent_more {
            match self.session.as_downstream_mut().read_body_or_idle(true).await {
                Err(e) if *e.etype() != pingora::ErrorType::ConnectError => return,
                // The library has taken the first byte of the next request.
                _ => self.session.set_keepalive(None),
            }
            self.has_sent_more = true;
        }
        std::future::pending().await
    }
}
