//! The fast path: it answers a plain request, or passes it to the site, without the state that pingora keeps for every
//! kind of request.
//!
//! It stands before pingora and takes a request only if nothing about it is out of the ordinary. pingora reads all other
//! requests from the first byte, as if the fast path had not read them. The same code decides on a request, chooses the
//! headers that go up and rewrites a page, on either engine. Only the bytes move differently: in one task, without
//! channels, and what came in one read leaves in one write.

mod http1;
mod http2;
mod passthrough_head;
mod plain_request;
mod read_ahead;
mod relay;
mod reply;
mod upstream_request;

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use bytes::Bytes;
use frontdesk_filters::{Decision, Reply as Answer, boxed};
use http::{Method, Request};
use pingora::{Result, http::RequestHeader, protocols::http::v2::server::HttpSession as Http2Session};

use crate::{
    accept::{Conn, ConnInfo, FastPathOutcome, ServeFast},
    engine::{Engine, LeftFastPath},
    front::{
        Front,
        call::Work,
        ctx::{Ctx, Over},
        events, failure, head as front_head,
    },
    rewrite::PageBody,
    running::Running,
};
use plain_request::{Sent, check_stream, plain};
use relay::Relay;
use reply::{Reply, Streamed};

/// Serves plain requests.
pub struct FastPath(pub Front);

impl ServeFast for FastPath {
    async fn serve(&self, mut conn: Box<Conn>) -> FastPathOutcome {
        let head = match plain(conn.ahead()) {
            Ok(head) => head,
            Err(why) => {
                conn.info().leave(Box::new(LeftFastPath::NotPlain(why)));
                return FastPathOutcome::Library(conn);
            }
        };
        let Some(begun) = self.begin(&head.sent.request, Some(head.length), head.body, conn.info()).await else {
            return FastPathOutcome::Library(conn);
        };
        conn.take_head(head.length);
        let body = conn.take_body(head.body);
        let keeps = head.keeps && !self.0.draining.load(Ordering::Relaxed);
        let mut reply = Reply::over_http1(&mut conn, keeps, begun.patience());
        let (is_whole, ended) = self.carry_out(&head.sent, body, begun, &mut reply).await;
        match (reply.keeps(), is_whole) {
            (true, _) => FastPathOutcome::Next(conn, ended),
            (false, true) => FastPathOutcome::Over(Some(conn)),
            (false, false) => FastPathOutcome::Over(None),
        }
    }

    async fn serve_stream(&self, mut stream: Box<Http2Session>, info: &Arc<ConnInfo>) -> Option<Box<Http2Session>> {
        let is_whole = if stream.is_body_empty() { Ok(()) } else { Err(LeftFastPath::Body) };
        if let Err(why) = is_whole.and_then(|()| check_stream(stream.req_header()).map_err(LeftFastPath::NotPlain)) {
            info.leave(Box::new(why));
            return Some(stream);
        }
        let Some(begun) = self.begin(stream.req_header(), None, 0, info).await else { return Some(stream) };
        let (nothing, ()) = Request::new(()).into_parts();
        let request = std::mem::replace(stream.req_header_mut(), nothing.into());
        let mut reply = Reply::over_http2(&mut stream, begun.patience(), begun.min_rate());
        self.carry_out(&Sent { request, raw: None }, Bytes::new(), begun, &mut reply).await;
        // An answer that is not whole is reset when the stream is dropped, once what there is of it has left.
        None
    }

    fn unread(&self, info: &ConnInfo, status: u16, reason: &'static str, took: Duration) {
        self.0.unread(info, status, reason, took);
    }
}

/// A request that is served here, and what becomes of it.
struct Begun {
    /// Boxed: it is moved several times.
    ctx: Box<Ctx>,
    running: Arc<Running>,
    decision: Decision,
}

impl Begun {
    /// How long the client may take for each write.
    fn patience(&self) -> Duration {
        self.running.snapshot.settings.protection.idle_timeout
    }

    /// How many bytes a second it takes at least.
    fn min_rate(&self) -> u64 {
        self.running.snapshot.settings.protection.min_rate
    }
}

impl FastPath {
    /// Decides on a plain request. `None`: pingora serves it; the decision stays on `ConnInfo`.
    /// `length`: of the head, over HTTP/1. `body`: how many bytes came with it.
    async fn begin(
        &self,
        request: &RequestHeader,
        length: Option<usize>,
        body: usize,
        info: &Arc<ConnInfo>,
    ) -> Option<Begun> {
        let Self(front) = self;
        let mut ctx = Box::new(Ctx::new(Some(info.clone())));
        let running = ctx.running(&front.live);
        let most = running.snapshot.settings.protection.max_header;
        let is_in_order = match length {
            // What is plain has nothing else in it that could be refused.
            Some(length) => length <= most,
            None => front_head::check(request, None, most).is_ok(),
        };
        let here = match () {
            () if !running.snapshot.settings.fast_path => Err(LeftFastPath::SwitchedOff),
            () if !is_in_order => Err(LeftFastPath::HeadToRefuse),
            () => Ok(()),
        };
        if let Err(why) = here {
            info.leave(Box::new(why));
            return None;
        }
        front.begin_trace(request, &mut ctx);
        front.arrived(request, &mut ctx, &running);
        let decision = front.decide(request, &mut ctx, &running).await;
        let left = match &decision {
            // pingora sends an answer that is made while it is sent.
            Decision::Answer(reply) => reply.pieces.is_some().then_some(LeftFastPath::AnswerInPieces),
            Decision::Refuse(..) => None,
            Decision::Serve(serving) => {
                (body > serving.most(&running.snapshot.settings)).then_some(LeftFastPath::LargeBody)
            }
            Decision::Pass if request.method == Method::POST => Some(LeftFastPath::BodyForSite),
            Decision::Pass => (!running.pool.speaks_http1()).then_some(LeftFastPath::UpstreamProtocol),
            Decision::Make(_) => Some(LeftFastPath::MadePage),
        };
        if left.is_some() {
            ctx.left_fast_path = left;
            ctx.decided = Some(decision);
            info.leave(ctx);
            return None;
        }
        ctx.engine = Engine::FastPath;
        Some(Begun { ctx, running, decision })
    }

    /// Says whether the answer is whole, and when it was over.
    async fn carry_out(&self, sent: &Sent, body: Bytes, begun: Begun, reply: &mut Reply<'_>) -> (bool, Instant) {
        let Begun { ctx, running, decision } = begun;
        let received = body.len();
        let mut served = Served { front: &self.0, running: &running, sent, ctx, page: PageBody::default() };
        let answered = served.run(decision, body, reply).await;
        let ended = served.over(received, reply);
        (answered && reply.is_whole(), ended)
    }
}

/// A request that is served here.
struct Served<'a> {
    front: &'a Front,
    running: &'a Arc<Running>,
    sent: &'a Sent,
    ctx: Box<Ctx>,
    page: PageBody,
}

impl Served<'_> {
    /// Answers it, come what may; a client that cannot be answered any more is left. Says whether it was answered.
    async fn run(&mut self, decision: Decision, body: Bytes, reply: &mut Reply<'_>) -> bool {
        let Err(e) = self.carry_out(decision, body, reply).await else { return true };
        reply.ends();
        let failure = failure::of(&e, false);
        self.ctx.error = Some(failure.reason());
        self.front.report(&self.ctx, &e, failure);
        if let (Some(fault), false) = (failure.fault(), reply.seen) {
            let told = self.front.explained(&self.sent.request, &mut self.ctx, &fault.into());
            return self.answer(told, reply).await.is_ok();
        }
        reply.status = if reply.seen { reply.status } else { 0 };
        false
    }

    async fn carry_out(&mut self, decision: Decision, body: Bytes, reply: &mut Reply<'_>) -> Result<()> {
        let front = self.front;
        match decision {
            Decision::Answer(told) => self.answer(told, reply).await,
            Decision::Refuse(told, reason) => {
                let finished = front.finished(&self.sent.request, &mut self.ctx, self.running, told, reason);
                let told = Box::pin(finished).await?;
                self.answer(told, reply).await
            }
            Decision::Serve(serving) => {
                let request = &self.sent.request;
                let streams = events::may_stream(&serving, request).then(events::parts);
                let (sender, parts) = streams.unzip();
                let work = Work::Serve(serving);
                // Boxed: most requests are no calls.
                let call = boxed(|| front.at_desk(request, &mut self.ctx, work, self.running, body, sender));
                let told = match parts {
                    None => Some(call.await?),
                    Some(parts) => {
                        let link = self.running.snapshot.links.every();
                        events::carry(call, parts, &mut Streamed { reply, link }).await?
                    }
                };
                match told {
                    Some(told) => self.answer(told, reply).await,
                    None => Ok(()),
                }
            }
            Decision::Pass | Decision::Make(_) => {
                if let Err(told) = front.pass(&self.sent.request, &mut self.ctx, self.running) {
                    return self.answer(told, reply).await;
                }
                let Self { running, sent, ctx, page, .. } = self;
                Relay { front, running, sent, ctx, page }.run(reply).await
            }
        }
    }

    async fn answer(&self, told: Answer, reply: &mut Reply<'_>) -> Result<()> {
        reply.answer(&self.sent.request.method, self.running.snapshot.links.every(), told).await
    }

    /// Tells the operator, and says when it was over.
    fn over(mut self, received: usize, reply: &Reply<'_>) -> Instant {
        let at = Instant::now();
        let over = Over {
            request: &self.sent.request,
            status: reply.status,
            at,
            received,
            sent: reply.sent,
            page: self.page.outcome(),
        };
        self.front.account(&over, &mut self.ctx, self.running);
        at
    }
}
