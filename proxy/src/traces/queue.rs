//! What waits to be sent to a collector: so many spans, and what is beyond them, or cannot be delivered, is counted.
//!
//! The library drops without telling how much, so its parts are wrapped: one counts what comes in, one what goes out.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use opentelemetry::Context;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{BatchSpanProcessor, Span, SpanData, SpanProcessor},
};
use parking_lot::Mutex;
use prometheus::IntCounter;

use crate::admin::metrics::{Metrics, SPANS_DROPPED};

/// How many spans wait, and what became of the others.
#[derive(Debug)]
pub(super) struct Waiting {
    spans: AtomicUsize,
    most: usize,
    sent: IntCounter,
    too_many: IntCounter,
    undelivered: IntCounter,
    /// Nothing could be delivered the last time: said once, and once when it can be again.
    away: AtomicBool,
    /// Why the last connection failed; the library's own words say no more than that it did.
    why: Mutex<Option<String>>,
}

impl Waiting {
    pub(super) fn new(most: usize, metrics: &Metrics) -> Self {
        let [too_many, undelivered] = SPANS_DROPPED.map(|reason| metrics.spans_dropped.with_label_values(&[reason]));
        Self {
            spans: AtomicUsize::new(0),
            most,
            sent: metrics.spans_sent.clone(),
            too_many,
            undelivered,
            away: AtomicBool::new(false),
            why: Mutex::default(),
        }
    }

    pub(super) fn failed_because(&self, why: String) {
        *self.why.lock() = Some(why);
    }

    fn became(&self, count: usize, result: &OTelSdkResult) {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        match result {
            Ok(()) => {
                self.sent.inc_by(count);
                if self.away.swap(false, Ordering::Relaxed) {
                    tracing::info!("traces are delivered again");
                }
            }
            Err(e) => {
                self.undelivered.inc_by(count);
                let why = self.why.lock().take().unwrap_or_else(|| e.to_string());
                if !self.away.swap(true, Ordering::Relaxed) {
                    tracing::warn!(why, "traces cannot be delivered; they are dropped and counted until they can be");
                }
            }
        }
    }
}

/// Where spans go when they end.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) inner: BatchSpanProcessor,
    pub(super) waiting: Arc<Waiting>,
}

impl SpanProcessor for Queue {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if self.waiting.spans.fetch_add(1, Ordering::AcqRel) >= self.waiting.most {
            self.waiting.spans.fetch_sub(1, Ordering::AcqRel);
            self.waiting.too_many.inc();
            return;
        }
        self.inner.on_end(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

/// What takes a batch out of the queue, and sends it.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) inner: SpanExporter,
    pub(super) waiting: Arc<Waiting>,
}

impl opentelemetry_sdk::trace::SpanExporter for Counted {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let count = batch.len();
        self.waiting.spans.fetch_sub(count, Ordering::AcqRel);
        let result = self.inner.export(batch).await;
        self.waiting.became(count, &result);
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}
