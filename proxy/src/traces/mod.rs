//! OpenTelemetry traces: a span for each request, child spans for each upstream request and for the desk's work, sent
//! to a collector in batches.
//!
//! The standard OTEL_* environment variables configure it. Without them nothing of this runs, and a request's trace
//! context passes through unchanged. No request waits for a collector: spans that cannot be sent are dropped and
//! counted.

mod collector;
pub(crate) mod context;
mod otel_env;
mod queue;
mod span;

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, Method};
use opentelemetry::{KeyValue, trace::TracerProvider};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracer, SdkTracerProvider},
};

pub use context::{ids, is_context};
pub use span::{Place, Span, Trace};

use crate::{metrics::Metrics, outbound::Outbound, version};
use collector::Collector;
use otel_env::{Wanted, wanted};
use queue::{Counted, Queue, Waiting};

/// Makes spans while a collector is configured.
pub struct Traces {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

impl Traces {
    /// Starts tracing as the environment says; `None` if it is off. A mistake is logged and does not prevent serving.
    /// Call this on the runtime that will send the spans.
    pub fn start(outbound: &Arc<Outbound>, metrics: &Metrics) -> Option<Arc<Self>> {
        let wanted = match wanted(|name| std::env::var(name).ok()) {
            Ok(wanted) => wanted?,
            Err(mistakes) => {
                for mistake in mistakes {
                    tracing::warn!("tracing is off: {mistake}");
                }
                return None;
            }
        };
        match Self::to(&wanted, outbound, metrics) {
            Ok(traces) => {
                tracing::info!(collector = wanted.origin, "traces are sent");
                Some(Arc::new(traces))
            }
            Err(why) => {
                tracing::warn!("tracing is off: {why}");
                None
            }
        }
    }

    fn to(wanted: &Wanted, outbound: &Arc<Outbound>, metrics: &Metrics) -> Result<Self, String> {
        let waiting = Arc::new(Waiting::new(wanted.queue, metrics));
        let collector = Collector::new(outbound.clone(), wanted.limit, waiting.clone());
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(&wanted.endpoint)
            .with_timeout(wanted.limit)
            .with_http_client(collector)
            .build()
            .map_err(|e| e.to_string())?;
        let config = BatchConfigBuilder::default()
            .with_max_queue_size(wanted.queue)
            .with_max_export_batch_size(wanted.batch)
            .with_scheduled_delay(wanted.delay)
            .build();
        let counted = Counted { inner: exporter, waiting: waiting.clone() };
        let batches = BatchSpanProcessor::builder(counted).with_batch_config(config).build();
        let provider = SdkTracerProvider::builder()
            .with_sampler(wanted.sampler.clone())
            .with_resource(resource(wanted.named))
            .with_span_processor(Queue { inner: batches, waiting })
            .build();
        Ok(Self { tracer: provider.tracer("frontdesk"), provider })
    }

    /// The spans of a new request, below the parent that its headers name.
    pub fn request(self: &Arc<Self>, headers: &HeaderMap, method: &Method) -> Box<Trace> {
        Box::new(Trace::new(self, context::incoming(headers), method))
    }

    /// Sends waiting spans, for at most `patience`. After that no spans are made.
    pub async fn end(&self, patience: Duration) {
        let provider = self.provider.clone();
        // Shutdown blocks its thread until the library's thread is done, which needs this runtime.
        let ended = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(patience));
        if !matches!(tokio::time::timeout(patience, ended).await, Ok(Ok(Ok(())))) {
            tracing::warn!("the last traces could not be sent before exit");
        }
    }
}

/// The resource of the spans. The environment's values win.
fn resource(named: bool) -> Resource {
    let builder = Resource::builder();
    let builder = if named { builder } else { builder.with_service_name("frontdesk") };
    let said = builder.build();
    let mut ours = vec![KeyValue::new("service.version", version::VERSION)];
    ours.retain(|attribute| said.get(&attribute.key).is_none());
    let all = said.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
    Resource::builder_empty().with_attributes(all.chain(ours)).build()
}
