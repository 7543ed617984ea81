//! A metrics registry that declares each metric before its first sample.
//!
//! The library omits metrics without samples. A dashboard or an alert on such a metric looks like one with a spelling
//! mistake until it is needed, so every name appears from the first scrape on.

use parking_lot::Mutex;
use prometheus::{
    Encoder, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
    TextEncoder,
    core::{Collector, Desc},
    proto::MetricFamily,
};

/// The metrics of one process.
pub(super) struct Book {
    registry: Registry,
    /// Each name with its HELP and TYPE lines.
    heads: Mutex<Vec<(String, String)>>,
}

impl Book {
    pub(super) fn new() -> Self {
        Self { registry: Registry::new(), heads: Mutex::default() }
    }

    /// All metrics in Prometheus' text format.
    pub(super) fn text(&self) -> Vec<u8> {
        let gathered = self.registry.gather();
        let mut out = Vec::with_capacity(32 * 1024);
        if let Err(e) = TextEncoder::new().encode(&gathered, &mut out) {
            tracing::error!(error = %e, "metrics could not be written");
        }
        for (name, head) in self.heads.lock().iter() {
            if gathered.iter().all(|family| family.name() != name) {
                out.extend_from_slice(head.as_bytes());
            }
        }
        out
    }
}

/// Registers and declares a metric. Fails only if its name is taken.
pub(super) fn register<C: Collector + Clone + 'static>(book: &Book, collector: C) -> Result<C, prometheus::Error> {
    book.registry.register(Box::new(collector.clone()))?;
    let heads = collector.collect().iter().map(|family| (family.name().to_owned(), head(family))).collect::<Vec<_>>();
    debug_assert!(heads.iter().map(|(name, _)| name).eq(collector.desc().iter().map(|desc: &&Desc| &desc.fq_name)));
    book.heads.lock().extend(heads);
    Ok(collector)
}

/// The lines as the encoder writes them. No help text of ours needs escaping.
fn head(family: &MetricFamily) -> String {
    let (name, kind) = (family.name(), format!("{:?}", family.get_field_type()).to_lowercase());
    format!("# HELP {name} {}\n# TYPE {name} {kind}\n", family.help())
}

pub(super) fn counter(book: &Book, name: &str, help: &str) -> Result<IntCounter, prometheus::Error> {
    register(book, IntCounter::new(name, help)?)
}

pub(super) fn counters(
    book: &Book,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntCounterVec, prometheus::Error> {
    register(book, IntCounterVec::new(Opts::new(name, help), labels)?)
}

pub(super) fn gauge(book: &Book, name: &str, help: &str) -> Result<IntGauge, prometheus::Error> {
    register(book, IntGauge::new(name, help)?)
}

pub(super) fn gauges(book: &Book, name: &str, help: &str, labels: &[&str]) -> Result<IntGaugeVec, prometheus::Error> {
    register(book, IntGaugeVec::new(Opts::new(name, help), labels)?)
}

/// `bounds`: in seconds, rising.
pub(super) fn histogram(book: &Book, name: &str, help: &str, bounds: &[f64]) -> Result<Histogram, prometheus::Error> {
    register(book, Histogram::with_opts(HistogramOpts::new(name, help).buckets(bounds.to_vec()))?)
}

/// The same for each combination of labels.
pub(super) fn histograms(
    book: &Book,
    name: &str,
    help: &str,
    bounds: &[f64],
    labels: &[&str],
) -> Result<HistogramVec, prometheus::Error> {
    register(book, HistogramVec::new(HistogramOpts::new(name, help).buckets(bounds.to_vec()), labels)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_sample_is_declared_and_what_has_one_is_declared_once() -> Result<(), prometheus::Error> {
        let book = Book::new();
        let seen = counters(&book, "a_total", "Of a.", &["what"])?;
        histograms(&book, "b_seconds", "Of b.", &[1.0], &["what"])?;
        gauge(&book, "c", "Of c.")?;
        let before = String::from_utf8_lossy(&book.text()).into_owned();
        for line in [
            "# HELP a_total Of a.\n# TYPE a_total counter\n",
            "# HELP b_seconds Of b.\n# TYPE b_seconds histogram\n",
            "# HELP c Of c.\n# TYPE c gauge\nc 0\n",
        ] {
            assert!(before.contains(line), "{line} in {before}");
        }
        assert!(!before.contains("a_total{"));
        seen.with_label_values(&["x"]).inc();
        let after = String::from_utf8_lossy(&book.text()).into_owned();
        assert!(after.contains("a_total{what=\"x\"} 1\n"));
        assert_eq!(after.matches("# TYPE a_total ").count(), 1, "{after}");
        Ok(())
    }
}
