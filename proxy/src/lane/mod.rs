//! The short way: a plain request is answered, or goes to the site, without what the library keeps ready for all that a
//! request may be.
//!
//! It stands before the library and takes a request only while nothing about it is out of the ordinary; the rest the
//! library reads from the first byte, as if nobody had looked. What becomes of a request, what the site is told of it and
//! what is made of a page is the same code either way. Only the bytes move differently: in one task, without channels,
//! and what came in one read leaves in one write.

mod ask;
mod by;
mod chunks;
mod head;
mod relay;
mod reply;
mod site;

use std::sync::{Arc, atomic::Ordering};

use frontdesk_filters::{Decision, Refusal, Reply as Answer};
use http::Method;
use pingora::Result;

use crate::{
    accept::{Conn, Shortcut, Way},
    answer,
    front::{
        Front,
        ctx::{Ctx, Over},
        failure, head as front_head,
    },
    live::Running,
    rewrite::PageBody,
};
use head::{Head, plain};
use relay::Relay;
use reply::{Framing, Reply};

/// Serves plain requests.
pub struct Lane(pub Front);

impl Shortcut for Lane {
    async fn serve(&self, mut conn: Box<Conn>, leaving: bool) -> Way {
        let Self(front) = self;
        let Some(head) = plain(conn.ahead()).filter(|_| front.traces.is_none()) else { return Way::Library(conn) };
        let mut ctx = Ctx::new(Some(conn.info().clone()));
        let running = ctx.running(&front.live);
        let protection = &running.snapshot.settings.protection;
        if front_head::check(&head.request, Some(&conn.ahead()[..head.length]), protection.max_header).is_err() {
            return Way::Library(conn);
        }
        front.arrived(&head.request, &mut ctx);
        let decision = front.decide(&head.request, &mut ctx).await;
        if !match decision {
            Decision::Answer(_) | Decision::Refuse(..) => true,
            Decision::Pass => running.pool.is_plain(),
            Decision::Make(_) | Decision::Serve(_) => false,
        } {
            ctx.decided = Some(decision);
            conn.info().leave(Box::new(ctx));
            return Way::Library(conn);
        }
        conn.take_head(head.length);
        let keeps = head.keeps && !leaving && !front.draining.load(Ordering::Relaxed);
        let mut reply = Reply::new(&mut conn, keeps, protection.idle_timeout);
        let mut served = Served { front, running: &running, head: &head, ctx, page: PageBody::default() };
        served.run(decision, &mut reply).await;
        let keeps = reply.keeps;
        served.over(&reply);
        if keeps { Way::Next(conn) } else { Way::Over }
    }
}

/// A request that is served here.
struct Served<'a> {
    front: &'a Front,
    running: &'a Arc<Running>,
    head: &'a Head,
    ctx: Ctx,
    page: PageBody,
}

impl Served<'_> {
    /// Answers it, come what may; a client that cannot be answered any more is left.
    async fn run(&mut self, decision: Decision, reply: &mut Reply<'_>) {
        let Err(e) = self.carry_out(decision, reply).await else { return };
        reply.keeps = false;
        let failure = failure::of(&e);
        self.ctx.error = Some(failure.reason());
        self.front.report(&self.ctx, &e, failure);
        if let (Some(fault), false) = (failure.fault(), reply.seen) {
            let told = self.front.explained(&self.head.request, &mut self.ctx, &fault.into());
            let _ = self.answer(told, reply).await;
        } else {
            reply.status = if reply.seen { reply.status } else { 0 };
        }
    }

    async fn carry_out(&mut self, decision: Decision, reply: &mut Reply<'_>) -> Result<()> {
        let front = self.front;
        match decision {
            Decision::Answer(told) => self.answer(told, reply).await,
            Decision::Refuse(told, reason) => {
                front.metrics.rejected(reason);
                self.ctx.error = Some(reason);
                let told = front.finished(&self.head.request, &mut self.ctx, self.running, told).await?;
                self.answer(told, reply).await
            }
            Decision::Pass | Decision::Make(_) | Decision::Serve(_) => {
                self.ctx.place = self.running.pool.place();
                if self.ctx.place.is_none() {
                    let refusal = Refusal::busy();
                    front.metrics.rejected(refusal.reason);
                    let told = front.explained(&self.head.request, &mut self.ctx, &refusal);
                    return self.answer(told, reply).await;
                }
                self.ctx.passed = true;
                let Self { running, head, ctx, page, .. } = self;
                Relay { front, running, request: &head.request, ctx, page }.run(reply).await
            }
        }
    }

    async fn answer(&self, told: Answer, reply: &mut Reply<'_>) -> Result<()> {
        let Answer { status, headers, body } = told;
        reply.start(status.as_u16(), status.canonical_reason().unwrap_or_default().as_bytes());
        // First, because some clients read only the first.
        if let Some(link) = &self.running.snapshot.link {
            reply.line(b"Link", link.as_bytes());
        }
        for (name, value) in &headers {
            reply.line(answer::cased(name).unwrap_or(name.as_str()).as_bytes(), value.as_bytes());
        }
        let mut framing = Framing::Bodiless;
        if !answer::is_bodiless(status) {
            reply.line(b"Content-Length", itoa::Buffer::new().format(body.len()).as_bytes());
            if self.head.request.method != Method::HEAD {
                framing = Framing::Length(body.len() as u64);
            }
        }
        reply.end(status.as_u16(), framing, false);
        reply.body(&body, true).await
    }

    fn over(mut self, reply: &Reply<'_>) {
        let over = Over {
            request: &self.head.request,
            status: reply.status,
            received: 0,
            sent: reply.sent,
            page: self.page.outcome(),
        };
        self.front.account(&over, &mut self.ctx);
    }
}
