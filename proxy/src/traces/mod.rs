//! Traces, as OpenTelemetry has them: a span for each request, below it one for each question to the site and one for
//! what is done at the desk, sent to a collector in batches.
//!
//! What is wanted stands in the standard variables of the environment. Where they ask for nothing nothing of this is
//! made, and a trace context that comes with a request goes on as it came. No request waits for a collector: what
//! cannot be sent is dropped and counted.

mod collector;
mod context;
mod queue;
mod span;
mod wanted;

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, Method};
use opentelemetry::{KeyValue, trace::TracerProvider};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracer, SdkTracerProvider},
};

pub use context::{Ids, ids, is_context};
pub use span::{Place, Span, Trace};

use crate::{admin::metrics::Metrics, outbound::Outbound, version};
use collector::Collector;
use queue::{Counted, Queue, Waiting};
use wanted::{Wanted, wanted};

/// What makes spans, while a collector is wanted.
pub struct Traces {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

impl Traces {
    /// As the environment has it; `None`: nothing is traced. A mistake in it is told and keeps nobody from being served.
    /// Called on the runtime that is to carry what is sent.
    pub fn start(outbound: &Arc<Outbound>, metrics: &Metrics) -> Option<Arc<Self>> {
        let wanted = match wanted(|name| std::env::var(name).ok()) {
            Ok(wanted) => wanted?,
            Err(mistakes) => {
                for mistake in mistakes {
                    tracing::warn!("no traces are made: {mistake}");
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
                tracing::warn!("no traces are made: {why}");
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

    /// The spans of a request that begins, below the one that its sender says it belongs to.
    pub fn request(self: &Arc<Self>, headers: &HeaderMap, method: &Method) -> Box<Trace> {
        Box::new(Trace::new(self, context::incoming(headers), method))
    }

    /// Sends what still waits, for as long as `patience`; nothing is made any more after it.
    pub async fn end(&self, patience: Duration) {
        let provider = self.provider.clone();
        // It waits for a thread that waits for this runtime.
        let ended = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(patience));
        if !matches!(tokio::time::timeout(patience, ended).await, Ok(Ok(Ok(())))) {
            tracing::warn!("the last traces could not be sent before the end");
        }
    }
}

/// Who the spans are of. What the environment says wins.
fn resource(named: bool) -> Resource {
    let builder = Resource::builder();
    let builder = if named { builder } else { builder.with_service_name("frontdesk") };
    let said = builder.build();
    let mut ours = vec![KeyValue::new("service.version", version::VERSION)];
    ours.retain(|attribute| said.get(&attribute.key).is_none());
    let all = said.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
    Resource::builder_empty().with_attributes(all.chain(ours)).build()
}
