//! The queue of spans for the collector. Spans beyond its bound, and spans that cannot be delivered, are counted.
//!
//! The library drops spans without counting them, so two wrappers count: one at the entry, one at the exit.

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

use crate::metrics::{Metrics, SPANS_DROPPED};

/// The number of waiting spans, and the outcomes of the others.
#[derive(Debug)]
pub(super) struct Waiting {
    spans: AtomicUsize,
    most: usize,
    sent: IntCounter,
    too_many: IntCounter,
    undelivered: IntCounter,
    /// The last delivery failed. Changes are logged once each.
    away: AtomicBool,
    /// Why the last connection failed; the library's error does not say.
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

/// Counts spans when they end.
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

/// Takes a batch out of the queue and sends it.
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
