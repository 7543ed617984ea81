//! Counts a finished request and writes its access line.

use std::time::{Duration, Instant};

use pingora::Error;

use super::{
    Front,
    ctx::{Ctx, Over},
    failure, head,
};
use crate::{
    accept::ConnInfo,
    access::Line,
    engine::Engine,
    error_text::ErrorText,
    live::Running,
    metrics::recent_activity::{What, Who},
    traces::Trace,
    upstream::advice,
};

impl Front {
    /// Tells the operator about a request that an upstream failed. What clients do, or leave undone, is not news.
    pub(crate) fn report(&self, ctx: &Ctx, e: &Error, failure: failure::Failure) {
        let upstream = ctx.upstream_label();
        match failure {
            failure::Failure::Client => tracing::debug!(error = %ErrorText(e), "a client left"),
            failure::Failure::SlowUpload | failure::Failure::SlowReader => {
                let reason = failure.reason();
                self.metrics.rejected(reason);
                tracing::debug!(reason, error = %ErrorText(e), "a client was too slow, and its request was ended");
            }
            failure::Failure::Fault(fault) if fault.status().is_client_error() => {
                self.metrics.rejected(fault.reason());
                tracing::debug!(reason = fault.reason(), error = %ErrorText(e), "a client's request could not be carried out");
            }
            failure::Failure::Fault(fault) => {
                self.metrics.upstream_errors.with_label_values(&[fault.reason()]).inc();
                tracing::warn!(upstream, reason = fault.reason(), error = %ErrorText(e), advice = advice(e), "a request failed");
            }
        }
    }

    /// Counts a request, and says what became of it in one line.
    pub(crate) fn account(&self, over: &Over<'_>, ctx: &mut Ctx, running: &Running) {
        let Over { request, status, at, .. } = *over;
        let took = at.saturating_duration_since(ctx.began);
        let came = (request.version.into(), Some(ctx.engine));
        self.metrics.request(&request.method, came, status, ctx.passed, took.as_secs_f64());
        self.metrics.request_bytes.inc_by(over.received as u64);
        self.metrics.response_bytes.inc_by(over.sent as u64);
        if let Some(upstream) = ctx.upstream_took.filter(|_| ctx.passed) {
            self.metrics.upstream_seconds.observe(upstream.as_secs_f64());
        }
        self.metrics.visited(Who::of(ctx.caller.as_ref(), ctx.agents));
        if let Some(reason) = ctx.error.filter(|_| ctx.agents) {
            let target = head::target(request);
            let asked = ctx.called.as_deref().or_else(|| running.snapshot.place(&request.method, &target));
            let what = What { asked, method: request.method.as_str(), reason, status, caller: ctx.caller.as_ref() };
            self.metrics.seen.refuse(&what);
        }
        let mut trace = ctx.trace.take();
        self.tell(running, trace.as_deref_mut(), || ctx.line(over, took, running));
    }

    /// Says that a request came whose head nobody could read.
    pub(crate) fn unread(&self, info: &ConnInfo, status: u16, reason: &'static str, duration: Duration) {
        let running = self.live.current();
        self.tell(&running, None, || Line {
            trace: None,
            request_id: None,
            method: None,
            path: None,
            host: None,
            status,
            protocol: None,
            version: "1.1",
            client: Some(info.client.ip()),
            user_agent: None,
            request_bytes: 0,
            response_bytes: 0,
            duration,
            ended: Instant::now(),
            upstream: None,
            upstream_duration: None,
            proof: None,
            caller: None,
            decision: "answer",
            engine: Some(Engine::Pingora),
            engine_reason: None,
            page: None,
            error: Some(reason),
            config: running.short_hash(),
        });
    }

    /// Has what became of a request written where it is wanted: in the access log, and in its spans.
    pub(crate) fn tell<'l>(&self, running: &Running, trace: Option<&mut Trace>, line: impl FnOnce() -> Line<'l>) {
        let logs = running.snapshot.settings.log.access;
        if !logs && trace.is_none() {
            return;
        }
        let mut line = line();
        if let Some(trace) = trace {
            line.trace = Some(trace.ids());
            trace.over(&line);
        }
        if logs {
            self.access.write(&line);
        }
    }
}
