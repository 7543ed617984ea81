//! Counts a finished request and writes its access line.

use std::time::{Duration, Instant};

use frontdesk_filters::Fault;
use pingora::Error;

use super::{
    Front,
    abandon::Unaccounted,
    ctx::{Ctx, Over},
    failure::Failure,
    head,
    reader_pace::ReaderWatch,
    upload_pace::UploadWatch,
};
use crate::{
    accept::ConnInfo,
    access::Line,
    engine::Engine,
    error_text::ErrorText,
    metrics::recent_activity::{What, Who},
    running::Running,
    traces::Trace,
    upstream::advice,
};

impl Front {
    /// Tells the operator about a request that an upstream failed. What clients do, or leave undone, is not news.
    pub(crate) fn report(&self, ctx: &Ctx, e: &Error, failure: Failure) {
        let upstream = ctx.upstream_label();
        match failure {
            Failure::Client => tracing::debug!(error = %ErrorText(e), "a client left"),
            Failure::SlowUpload | Failure::SlowReader => {
                let reason = failure.reason();
                self.metrics.rejected(reason);
                tracing::debug!(reason, error = %ErrorText(e), "a client was too slow, and its request was ended");
            }
            Failure::Fault(fault) if fault.status().is_client_error() => {
                self.metrics.rejected(fault.reason());
                tracing::debug!(reason = fault.reason(), error = %ErrorText(e), "a client's request could not be carried out");
            }
            Failure::Fault(fault) => {
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

impl Drop for Ctx {
    /// Accounts for a request that was abandoned: the library calls no phase after that.
    fn drop(&mut self) {
        let Some(unaccounted) = self.unaccounted.take() else { return };
        let Unaccounted { front, request, status, mut received, limit } = *unaccounted;
        let mut sent = self.answer_bytes;
        if let Some(upload) = self.upload.take().filter(UploadWatch::is_too_slow) {
            received = upload.bytes();
            self.error = Some(Failure::SlowUpload.reason());
            front.metrics.rejected(Failure::SlowUpload.reason());
        } else if let Some(reading) = self.reading.take().filter(ReaderWatch::is_too_slow) {
            sent = reading.bytes();
            self.error = Some(Failure::SlowReader.reason());
            front.metrics.rejected(Failure::SlowReader.reason());
        } else if limit.is_some_and(|limit| self.upstream_began.is_some_and(|began| began.elapsed() >= limit)) {
            let (upstream, reason) = (self.upstream_label(), Fault::GatewayTimeout.reason());
            front.metrics.upstream_errors.with_label_values(&[reason]).inc();
            let advice = "see what keeps it from beginning the answer, or raise upstream.read_timeout";
            tracing::warn!(upstream, reason, advice, "an upstream did not begin an event stream or an upgrade in time");
            self.error = Some(reason);
        } else if !self.answered_early && limit.is_none() {
            return;
        }
        let over = Over { request: &request, status, at: Instant::now(), received, sent, page: None };
        let running = self.running(&front.live);
        front.account(&over, self, &running);
    }
}
