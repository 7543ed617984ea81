//! after: what the operator is told of a request once it is over.

use std::sync::Arc;

use pingora::{Error, proxy::Session};

use super::{Front, ctx::Ctx, failure, head};
use crate::{
    admin::seen::{What, Who},
    live::Running,
    rewrite::{PageBody, Touched},
};

impl Front {
    /// Tells the operator about a request that an upstream failed. Clients that leave are not news.
    pub(super) fn report(&self, ctx: &Ctx, e: &Error, failure: failure::Failure) {
        let upstream = ctx.upstream_label();
        match failure {
            failure::Failure::Client => tracing::debug!(error = %e, "a client left"),
            failure::Failure::Fault(fault) => {
                self.metrics.upstream_errors.with_label_values(&[fault.reason()]).inc();
                tracing::warn!(upstream, reason = fault.reason(), error = %e, "a request failed");
            }
        }
    }

    pub(super) fn account(&self, session: &mut Session, ctx: &mut Ctx) {
        let request = session.req_header();
        let status = session.response_written().map_or(0, |r| r.status.as_u16());
        let took = ctx.began.elapsed();
        self.metrics.request(&request.method, request.version.into(), status, ctx.passed, took.as_secs_f64());
        let (received, sent) = (session.body_bytes_read(), session.body_bytes_sent());
        self.metrics.request_bytes.inc_by(received as u64);
        self.metrics.response_bytes.inc_by(sent as u64);
        if let Some(upstream) = ctx.upstream_took {
            self.metrics.upstream_seconds.observe(upstream.as_secs_f64());
        }
        let running: Arc<Running> = ctx.running(&self.live);
        self.metrics.visited(Who::of(ctx.caller.as_ref(), ctx.agents));
        if let Some(reason) = ctx.error.filter(|_| ctx.agents) {
            let target = head::target(request);
            let asked = ctx.called.as_deref().or_else(|| running.snapshot.place(&request.method, &target));
            let what = What { asked, method: request.method.as_str(), reason, status, caller: ctx.caller.as_ref() };
            self.metrics.seen.refuse(&what);
        }
        let mut trace = ctx.trace.take();
        if running.snapshot.settings.log.access || trace.is_some() {
            let page = match ctx.page {
                Touched::No => None,
                Touched::Left(why) | Touched::Instead(why) => Some(why),
                Touched::Page => {
                    Some(session.downstream_modules_ctx.get::<PageBody>().and_then(PageBody::outcome).unwrap_or("head"))
                }
            };
            let mut line = ctx.line(session, status, took, page, &running);
            if let Some(trace) = &mut trace {
                line.trace = Some(trace.ids());
                trace.over(&line);
            }
            if running.snapshot.settings.log.access {
                self.access.write(&line);
            }
        }
    }
}
