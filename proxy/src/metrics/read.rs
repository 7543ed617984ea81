//! Reads the counters for the operator's page, so that nothing is counted twice.

use std::collections::BTreeMap;

use prometheus::{core::Collector, proto::Metric};

use super::{Metrics, names::CALL_SECONDS};

/// The outcomes of one capability's calls since the start.
#[derive(Debug, Clone, Default)]
pub struct Called {
    /// The number of calls, by decision.
    pub decisions: BTreeMap<String, u64>,
    /// The duration in the desk.
    pub took: Latency,
}

impl Called {
    /// The number of all calls.
    pub fn total(&self) -> u64 {
        self.decisions.values().sum()
    }
}

/// A distribution of durations.
#[derive(Debug, Clone, Default)]
pub struct Latency {
    /// The number of calls in each bucket alone. The last bucket has no upper bound.
    pub buckets: [u64; CALL_SECONDS.len() + 1],
}

impl Latency {
    /// The upper bounds of all buckets but the last, in seconds.
    pub const BOUNDS: [f64; CALL_SECONDS.len()] = CALL_SECONDS;

    /// The upper bound of the bucket that contains this quantile, in seconds; `None` without calls, or in the last
    /// bucket.
    pub fn under(&self, share: f64) -> Option<f64> {
        let total: u64 = self.buckets.iter().sum();
        let wanted = total as f64 * share;
        let mut so_far = 0;
        let bucket = self.buckets.iter().position(|count| {
            so_far += count;
            so_far as f64 >= wanted
        });
        if total == 0 { None } else { Self::BOUNDS.get(bucket?).copied() }
    }

    /// Whether there were no calls.
    pub fn is_empty(&self) -> bool {
        self.buckets.iter().all(|count| *count == 0)
    }
}

impl Metrics {
    /// The requests so far, in the order of [`super::Who::ALL`].
    pub fn visits(&self) -> [u64; 3] {
        std::array::from_fn(|who| self.visitors[who].get())
    }

    /// All refusals so far.
    pub fn rejected_so_far(&self) -> u64 {
        self.rejections().into_iter().map(|(_, count)| count).sum()
    }

    /// The refusals so far, by reason.
    pub fn rejections(&self) -> Vec<(String, u64)> {
        by_label(&self.rejections, "reason")
    }

    /// Failed upstream requests so far, by reason.
    pub fn upstream_failures(&self) -> Vec<(String, u64)> {
        by_label(&self.upstream_errors, "reason")
    }

    /// The calls so far, by capability.
    pub fn calls_so_far(&self) -> BTreeMap<String, u64> {
        let mut calls = BTreeMap::new();
        for (capability, count) in by_label(&self.calls, "capability") {
            *calls.entry(capability).or_default() += count;
        }
        calls
    }

    /// The outcomes of calls so far, by capability.
    pub fn called_so_far(&self) -> BTreeMap<String, Called> {
        let mut called: BTreeMap<String, Called> = BTreeMap::new();
        for family in self.calls.collect() {
            for metric in family.get_metric() {
                // Declared at the start, but never counted.
                if metric.get_counter().get_value() == 0.0 {
                    continue;
                }
                let of = called.entry(label(metric, "capability").to_owned()).or_default();
                of.decisions.insert(label(metric, "decision").to_owned(), whole(metric.get_counter().get_value()));
            }
        }
        for family in self.call_seconds.collect() {
            for metric in family.get_metric() {
                let of = called.entry(label(metric, "capability").to_owned()).or_default();
                let histogram = metric.get_histogram();
                let mut before = 0;
                for (count, bucket) in of.took.buckets.iter_mut().zip(histogram.get_bucket()) {
                    *count = bucket.cumulative_count().saturating_sub(before);
                    before = bucket.cumulative_count();
                }
                if let Some(last) = of.took.buckets.last_mut() {
                    *last = histogram.get_sample_count().saturating_sub(before);
                }
            }
        }
        called
    }

    /// Open client connections.
    pub fn connections(&self) -> u64 {
        self.open_connections.get().try_into().unwrap_or(0)
    }

    /// Known pages of the site.
    pub fn pages(&self) -> u64 {
        self.content_pages.get().try_into().unwrap_or(0)
    }

    /// The number of upstream requests, and their total waiting time in seconds.
    pub fn upstream_waits(&self) -> (u64, f64) {
        (self.upstream_seconds.get_sample_count(), self.upstream_seconds.get_sample_sum())
    }
}

fn by_label(counters: &impl Collector, name: &str) -> Vec<(String, u64)> {
    let families = counters.collect();
    let metrics = families.iter().flat_map(|family| family.get_metric());
    let counts = metrics.map(|metric| (label(metric, name).to_owned(), whole(metric.get_counter().get_value())));
    // Some labels are declared at the start but never counted.
    counts.filter(|(_, count)| *count > 0).collect()
}

fn label<'a>(metric: &'a Metric, name: &str) -> &'a str {
    metric.get_label().iter().find(|pair| pair.name() == name).map_or("", |pair| pair.value())
}

/// The value of a counter of whole things.
fn whole(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_counted_is_read() {
        let metrics = Metrics::new().unwrap();
        for millis in [0, 2, 2, 40, 60_000] {
            metrics.called("a.b", "done", Duration::from_millis(millis));
        }
        metrics.called("a.b", "forbidden", Duration::ZERO);
        metrics.called("c", "done", Duration::from_millis(400));
        metrics.rejected("rate_limited");
        assert_eq!(metrics.calls_so_far(), BTreeMap::from([("a.b".into(), 6), ("c".into(), 1)]));
        let called = metrics.called_so_far();
        let a = &called["a.b"];
        assert_eq!((a.total(), a.decisions["done"], a.decisions["forbidden"]), (6, 5, 1));
        assert_eq!(a.took.buckets, [0, 2, 0, 1, 0, 0, 0, 0, 1]);
        assert_eq!((a.took.under(0.5), a.took.under(0.99)), (Some(0.005), None));
        assert_eq!(called["c"].took.under(0.95), Some(0.5));
        assert_eq!((metrics.rejected_so_far(), metrics.rejections()), (1, vec![("rate_limited".into(), 1)]));
    }
}
