//! The library's phases, a few lines each: what happens when, and who decides it.

mod abandon;
mod accounting;
pub(crate) mod address;
pub(crate) mod answer_head;
pub mod background;
pub(crate) mod call;
pub(crate) mod ctx;
mod decide;
mod early_answer;
pub(crate) mod events;
pub(crate) mod failure;
pub(crate) mod forwarding;
pub(crate) mod head;
pub mod inflight;
mod make;
mod reader_pace;
pub(crate) mod request_id;
mod response_head;
mod serve;
mod slow_clients;
mod upload_pace;
mod worker_threads;

use std::{
    os::fd::RawFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use bytes::Bytes;
use frontdesk_filters::{Decision, Refusal, chain::Chains, desk::Kept};
use frontdesk_http1::hop;
use http::{StatusCode, Version};
use pingora::{
    Error, ErrorType, Result,
    http::{RequestHeader, ResponseHeader},
    modules::http::HttpModules,
    protocols::Digest,
    proxy::{FailToProxy, ProxyHttp, Session},
    upstreams::peer::HttpPeer,
};

use background::BackgroundTasks;

use crate::{
    accept::{self, RequestBody},
    access::AccessLog,
    answer,
    live::Live,
    metrics::Metrics,
    outbound::Outbound,
    process::Processes,
    rewrite::{self, PageBodies, PageBody},
    traces::Traces,
};
use ctx::{Ctx, Over};
use reader_pace::PacedBodies;

/// How long an upgraded connection or an event stream may be silent once it has begun.
const LONG_LIVED: Duration = Duration::from_secs(3600);

/// The proxy's application: everything a request needs besides itself.
#[derive(Clone)]
pub struct Front {
    pub live: Arc<Live>,
    pub metrics: Arc<Metrics>,
    pub access: Arc<AccessLog>,
    /// The process is to end, if only after `shutdown_delay`: no connection is kept for another request.
    pub draining: Arc<AtomicBool>,
    /// Carries the calls of the desk.
    pub outbound: Arc<Outbound>,
    pub processes: Arc<Processes>,
    /// Answers that the desk keeps for a while; outlives a swap.
    pub kept: Arc<Kept>,
    /// Signed records that belong together; outlives a swap.
    pub chains: Arc<Chains>,
    /// Room for calls that go on in the background.
    pub errands: BackgroundTasks,
    /// How many calls are under way, and whether more may begin.
    pub entry: Arc<inflight::InflightLimit>,
    /// `None`: no traces are made.
    pub traces: Option<Arc<Traces>>,
}

impl Front {
    /// Refuses a request before it is known what it asks for, and counts it.
    async fn refuse(&self, session: &mut Session, ctx: &mut Ctx, refusal: Refusal) -> Result<bool> {
        self.metrics.rejected(refusal.reason);
        self.explain(session, ctx, &refusal).await
    }

    async fn explain(&self, session: &mut Session, ctx: &mut Ctx, refusal: &Refusal) -> Result<bool> {
        let reply = self.explained(session.req_header(), ctx, refusal);
        answer::send(session, reply, &ctx.running(&self.live)).await?;
        Ok(true)
    }
}

#[async_trait]
impl ProxyHttp for Front {
    type CTX = Ctx;

    fn new_ctx(&self) -> Ctx {
        Ctx::begun(accept::connection())
    }

    fn init_downstream_modules(&self, modules: &mut HttpModules) {
        modules.add_module(Box::new(PageBodies));
        modules.add_module(Box::new(PacedBodies));
    }

    /// early: one configuration for the whole request; bounds on the connection.
    async fn early_request_filter(&self, session: &mut Session, ctx: &mut Ctx) -> Result<()> {
        if let Some(connection) = &ctx.connection {
            connection.head_is_read(RequestBody::of(session.req_header()));
        }
        if session.req_header().version == Version::HTTP_2 {
            answer_head::trim_request(session.req_header_mut())?;
        }
        self.begin_trace(session.req_header(), ctx);
        let running = ctx.running(&self.live);
        let idle = running.snapshot.settings.protection.idle_timeout;
        self.arrived(session.req_header(), ctx, &running);
        ctx.may_be_silent = head::may_be_silent(session);
        session.set_read_timeout(Some(idle));
        session.set_write_timeout(Some(idle));
        // The library would keep a connection for ever unless told each time; a client's `close` stays a close.
        // A client that learns it before the drain begins sends nothing into a closing connection.
        let leaving = self.draining.load(Ordering::Relaxed);
        let keeps = !leaving && hop::client_keeps(session.req_header().version, &session.req_header().headers);
        ctx.keepalive = session.get_keepalive().filter(|_| keeps).map(|_| idle.as_secs().max(1));
        session.set_keepalive(ctx.keepalive);
        Ok(())
    }

    /// decide: refuse, answer, or pass.
    async fn request_filter(&self, session: &mut Session, ctx: &mut Ctx) -> Result<bool> {
        let running = ctx.running(&self.live);
        let raw = session.as_http1().map(|_| session.to_h1_raw());
        let most = running.snapshot.settings.protection.max_header;
        if let Err((fault, detail)) = head::check(session.req_header(), raw.as_deref(), most) {
            session.set_keepalive(None);
            return self.refuse(session, ctx, Refusal::from(fault).saying(detail)).await;
        }
        let decision = match ctx.decided.take() {
            Some(decision) => decision,
            None => self.decide(session.req_header(), ctx, &running).await,
        };
        let decision = match decision {
            Decision::Make(making) => match self.make(session, ctx, making).await? {
                Some(decision) => {
                    // What is made of a page is for agents; a page that nothing is made of is a page.
                    ctx.agents = !matches!(decision, Decision::Pass);
                    decision
                }
                None => return Ok(true),
            },
            decision => decision,
        };
        match decision {
            Decision::Answer(reply) => answer::send(session, reply, &running).await?,
            Decision::Refuse(reply, reason) => {
                let reply = self.finished(session.req_header(), ctx, &running, reply, reason).await?;
                answer::send(session, reply, &running).await?;
            }
            Decision::Serve(serving) => self.serve(session, ctx, serving).await?,
            Decision::Pass | Decision::Make(_) => match self.pass(session.req_header(), ctx, &running) {
                Ok(()) => return Ok(false),
                Err(reply) => answer::send(session, reply, &running).await?,
            },
        }
        Ok(true)
    }

    /// pass: the next upstream in turn.
    async fn upstream_peer(&self, session: &mut Session, ctx: &mut Ctx) -> Result<Box<HttpPeer>> {
        let running = ctx.running(&self.live);
        let index = running.pool.choose(ctx.tried);
        ctx.upstream = Some(index);
        ctx.upstream_began.get_or_insert_with(std::time::Instant::now);
        let backend = &running.pool.backends()[index];
        if let Some(trace) = &mut ctx.trace {
            let head = session.req_header();
            trace.passes(&head.method, &backend.label, head.uri.path());
        }
        let is_upgrade = session.is_upgrade_req();
        let mut peer = if is_upgrade { backend.peer_for_upgrade().await? } else { backend.peer().await? };
        let sends_body = !is_upgrade && !session.is_body_empty() && backend.is_http1();
        let client = ctx.connection.as_ref().filter(|_| sends_body);
        ctx.has_own_connections = client.is_some();
        client.inspect(|client| early_answer::keep_for(client, &mut peer));
        if ctx.may_be_silent {
            // The library takes one bound for all reads; the head gets one of ours.
            let limit = peer.options.read_timeout.replace(LONG_LIVED);
            if let Some(limit) = limit {
                self.abandon_after(limit, session, ctx);
            }
        }
        Ok(Box::new(peer))
    }

    async fn connected_to_upstream(
        &self,
        session: &mut Session,
        reused: bool,
        _: &HttpPeer,
        socket: RawFd,
        _: Option<&Digest>,
        ctx: &mut Ctx,
    ) -> Result<()> {
        let running = ctx.running(&self.live);
        let backend = ctx.upstream.and_then(|index| running.pool.backends().get(index));
        if reused && backend.is_some_and(|backend| backend.speaks_http1()) && early_answer::has_come(socket) {
            // What is there before a request was sent is no response to it. The request is sent on another connection.
            early_answer::retire(socket);
        }
        ctx.upstream_socket = Some(socket);
        ctx.head_sent = false;
        ctx.sends_body = !session.is_body_empty();
        Ok(())
    }

    /// One retry, and only of a connect: no byte of the request has left.
    fn fail_to_connect(&self, _: &mut Session, _: &HttpPeer, ctx: &mut Ctx, mut e: Box<Error>) -> Box<Error> {
        let again = ctx.tried.is_none();
        if let (Some(index), Some(running)) = (ctx.upstream, &ctx.running) {
            running.pool.refused(index);
            ctx.tried = Some(index);
        }
        if again {
            self.metrics.upstream_retries.inc();
        }
        e.set_retry(again);
        e
    }

    /// Once the head has left the site may have acted on it. What asks for no act is sent once more, if the site closed a
    /// connection that it had kept without a word about this, or said that it has not seen it (RFC 9112 §9.3.1). What did
    /// not get through with its head on a kept connection is sent on another one, whatever it asks for.
    fn error_while_proxy(
        &self,
        _: &HttpPeer,
        session: &mut Session,
        mut e: Box<Error>,
        ctx: &mut Ctx,
        reused: bool,
    ) -> Box<Error> {
        let may_be_repeated = session.req_header().method.is_safe()
            && session.is_body_empty()
            && !session.is_upgrade_req()
            && answered(session).is_none()
            && !std::mem::replace(&mut ctx.repeated, true);
        match may_be_repeated {
            _ if reused && !ctx.head_sent && *e.etype() == ErrorType::WriteError => e.set_retry(true),
            true => e.retry.decide_reuse(reused),
            false => e.set_retry(false),
        }
        if e.retry() {
            self.metrics.upstream_retries.inc();
        }
        e
    }

    async fn upstream_request_filter(
        &self,
        session: &mut Session,
        upstream_request: &mut RequestHeader,
        ctx: &mut Ctx,
    ) -> Result<()> {
        self.watch_upload(session, ctx, upstream_request.version);
        let running = ctx.running(&self.live);
        ctx.asked = rewrite::prepare_request(&running.snapshot, upstream_request, session.req_header().version)?;
        head::forward(session.req_header(), upstream_request, ctx, &running)
    }

    /// An empty last chunk would end a chunked upload twice, and spoil the pooled connection for the next request.
    async fn request_body_filter(
        &self,
        _: &mut Session,
        body: &mut Option<Bytes>,
        end_of_stream: bool,
        ctx: &mut Ctx,
    ) -> Result<()> {
        ctx.head_sent = true;
        early_answer::refuse_late_body(ctx)?;
        if let (Some(upload), Some(body)) = (&ctx.upload, &body) {
            upload.received(body.len());
        }
        if end_of_stream {
            ctx.upload_is_over();
        }
        if end_of_stream && body.as_ref().is_some_and(Bytes::is_empty) {
            *body = None;
        }
        Ok(())
    }

    /// page out: decided here, before the library frames the response.
    async fn upstream_response_filter(
        &self,
        session: &mut Session,
        response: &mut ResponseHeader,
        ctx: &mut Ctx,
    ) -> Result<()> {
        self.site_answers(session, response, ctx)
    }

    fn upstream_response_body_filter(
        &self,
        session: &mut Session,
        body: &mut Option<Bytes>,
        end_of_stream: bool,
        ctx: &mut Ctx,
    ) -> Result<Option<Duration>> {
        let bytes = body.as_ref().map_or(0, Bytes::len);
        ctx.answer_bytes += bytes;
        match end_of_stream {
            true => self.answer_ended(session, ctx),
            false => self.watch_reader(session, ctx),
        }
        Ok(None)
    }

    fn upstream_response_trailer_filter(
        &self,
        session: &mut Session,
        _: &mut http::HeaderMap,
        ctx: &mut Ctx,
    ) -> Result<()> {
        self.answer_ended(session, ctx);
        Ok(())
    }

    async fn response_filter(&self, session: &mut Session, response: &mut ResponseHeader, ctx: &mut Ctx) -> Result<()> {
        self.client_is_answered(session, response, ctx)
    }

    async fn fail_to_proxy(&self, session: &mut Session, e: &Error, ctx: &mut Ctx) -> FailToProxy {
        if early_answer::ended_by(e, ctx) {
            return FailToProxy { error_code: 0, can_reuse_downstream: false };
        }
        let failure = failure::found(e, session, ctx);
        ctx.error = Some(failure.reason());
        self.report(ctx, e, failure);
        let mut code = 0;
        if let (Some(fault), None) = (failure.fault(), answered(session)) {
            session.set_keepalive(None);
            code = fault.status().as_u16();
            let refusal = Refusal { reason: failure.reason(), ..fault.into() };
            let _ = self.explain(session, ctx, &refusal).await;
        }
        FailToProxy { error_code: code, can_reuse_downstream: false }
    }

    fn suppress_error_log(&self, _: &Session, _: &Ctx, _: &Error) -> bool {
        // Said by `report`, in words for the operator.
        true
    }

    fn suppress_proxy_warn_log(&self, _: &Session, _: &Ctx, _: &Error, _: pingora::proxy::ProxyWarnLogContext) -> bool {
        true
    }

    /// after: count it, and say so in one line.
    async fn logging(&self, session: &mut Session, _: Option<&Error>, ctx: &mut Ctx) {
        ctx.unaccounted = None;
        let over = Over {
            request: session.req_header(),
            status: answered(session).map_or(0, |status| status.as_u16()),
            at: Instant::now(),
            received: session.body_bytes_read(),
            sent: session.body_bytes_sent(),
            page: session.downstream_modules_ctx.get::<PageBody>().and_then(PageBody::outcome),
        };
        let running = ctx.running(&self.live);
        self.account(&over, ctx, &running);
    }
}

/// The status that the client has been told. What the site says before its answer is none.
fn answered(session: &Session) -> Option<StatusCode> {
    session
        .response_written()
        .map(|response| response.status)
        .filter(|status| !status.is_informational() || *status == 101)
}
