//! The metrics of Frontdesk, in a registry of its own.
//!
//! Labels are bounded: standard methods, statuses, and names from this code, but never a path, an address or a key.
//! Each counter of the request path is looked up once and then found by index.

mod names;
mod read;
pub mod recent_activity;
mod registry;

pub use names::SPANS_DROPPED;
pub use read::{Called, Latency};

use std::{
    collections::HashSet,
    sync::OnceLock,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use frontdesk_filters::{Fault, firewall::Flags};
use http::{Method, Version};
use prometheus::{
    Gauge, Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, core::Collector, proto::LabelPair,
};

use crate::engine::Engine;
use recent_activity::{Seen, Who};
use registry::Book;

pub const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "_OTHER"];
/// In the order of [`Spoken`].
const PROTOCOLS: &[&str] = &[
    "1.0",
    "1.1",
    "2",
    #[cfg(feature = "agtp")]
    frontdesk_filters::frames::PROTOCOL,
];
/// The number of engine labels: none (not HTTP), and the two HTTP engines.
const ENGINES: usize = 3;
const STATUSES: usize = 600;
/// The outcomes of a background job's run.
const JOB_RESULTS: [&str; 4] = ["ok", "failed", "timeout", "panic"];

/// The protocol of a request.
#[derive(Debug, Clone, Copy)]
pub enum Spoken {
    Http10,
    Http11,
    Http2,
    #[cfg(feature = "agtp")]
    Frames,
}

impl From<Version> for Spoken {
    fn from(version: Version) -> Self {
        match version {
            Version::HTTP_2 => Self::Http2,
            Version::HTTP_11 => Self::Http11,
            _ => Self::Http10,
        }
    }
}

/// A counter for each status, created with the first response of that status.
type ByStatus = Box<[OnceLock<IntCounter>]>;

/// All metrics of the process.
pub struct Metrics {
    book: Book,
    requests: IntCounterVec,
    /// Children of `requests`, by method, protocol and engine, then by status.
    by_request: Vec<OnceLock<ByStatus>>,
    /// Requests by kind of client, in the order of [`Who::ALL`].
    visitors: [IntCounter; 3],
    /// Recent activity for the operator's page.
    pub seen: Seen,
    /// The duration of requests, by who answered them.
    passed: Histogram,
    answered: Histogram,
    pub upstream_seconds: Histogram,
    pub request_bytes: IntCounter,
    pub response_bytes: IntCounter,
    open_connections: IntGauge,
    rejections: IntCounterVec,
    firewall: IntCounterVec,
    pub pages_rewritten: IntCounter,
    pub pages_untouched: IntCounterVec,
    pub pages_made: IntCounterVec,
    pub upstream_up: IntGaugeVec,
    pub upstream_retries: IntCounter,
    pub upstream_errors: IntCounterVec,
    reloads: IntCounterVec,
    last_reload_successful: IntGauge,
    last_reload_success_at: Gauge,
    certificate_valid_until: IntGauge,
    pub log_dropped: IntCounter,
    pub spans_sent: IntCounter,
    pub spans_dropped: IntCounterVec,
    jobs: IntCounterVec,
    pub store_up: IntGauge,
    pub store_full: IntGauge,
    pub store_decided_without: IntCounter,
    pub store_keys: IntGauge,
    pub store_waiting: IntGauge,
    pub store_losses: IntCounter,
    pub store_clock_ahead: Gauge,
    calls: IntCounterVec,
    pub in_doubt: IntCounterVec,
    pub site_changed: IntCounterVec,
    call_seconds: HistogramVec,
    pub audit_up: IntGauge,
    pub audit_written: IntCounter,
    pub audit_dropped: IntCounter,
    pub chain_waiting: IntGauge,
    supervised: IntCounterVec,
    pub harness_up: IntGaugeVec,
    pub harness_passed: IntCounterVec,
    pub harness_dropped: IntCounter,
    pub questions_unanswered: IntCounter,
    /// What became of links between people and agents.
    pub links: IntCounterVec,
    pub model_answers: IntCounterVec,
    content_pages: IntGauge,
    content_bytes: IntGauge,
    content_without_vector: IntGauge,
    crawl_requests: IntCounterVec,
    crawl_completed_at: Gauge,
    resident: IntGauge,
}

impl Metrics {
    /// Counts an answered request. `came`: its protocol and its HTTP engine. `seconds`: from its head to its last byte.
    pub fn request(&self, method: &Method, came: (Spoken, Option<Engine>), status: u16, passed: bool, seconds: f64) {
        let (spoken, engine) = came;
        let m = METHODS.iter().position(|m| *m == method.as_str()).unwrap_or(METHODS.len() - 1);
        let p = spoken as usize;
        let e = engine.map_or(0, |engine| 1 + engine as usize);
        let s = usize::from(status).min(STATUSES - 1);
        let by_status = self.by_request[(m * PROTOCOLS.len() + p) * ENGINES + e]
            .get_or_init(|| (0..STATUSES).map(|_| OnceLock::new()).collect());
        let labels = || [METHODS[m], &s.to_string(), PROTOCOLS[p], engine.map_or("", Engine::word)].map(str::to_owned);
        by_status[s].get_or_init(|| self.requests.with_label_values(&labels())).inc();
        if passed { &self.passed } else { &self.answered }.observe(seconds);
    }

    /// Counts the kind of client.
    pub fn visited(&self, who: Who) {
        self.visitors[who as usize].inc();
    }

    /// Counts a call of a declared capability and its duration in the desk. A call that did not reach the desk has no
    /// meaningful duration.
    pub fn called(&self, capability: &str, decision: &'static str, took: Duration) {
        self.calls.with_label_values(&[capability, decision]).inc();
        if !took.is_zero() {
            self.call_seconds.with_label_values(&[capability]).observe(took.as_secs_f64());
        }
    }

    /// Declares the capabilities after a swap. Counters with alerts start at 0; those of removed capabilities go away,
    /// because labels must not pile up over many swaps.
    pub fn declared<'a>(&self, capabilities: impl Iterator<Item = &'a str>) {
        let declared: HashSet<&str> = capabilities.collect();
        let families =
            [self.calls.collect(), self.call_seconds.collect(), self.in_doubt.collect(), self.site_changed.collect()];
        for family in families.iter().flatten() {
            for sample in family.get_metric() {
                let of = |name| sample.get_label().iter().find(|label| label.name() == name).map(LabelPair::value);
                let Some(capability) = of("capability").filter(|id| !declared.contains(id)) else { continue };
                // If it is gone already, that is fine.
                if let Some(decision) = of("decision") {
                    let _ = self.calls.remove_label_values(&[capability, decision]);
                } else {
                    let _ = self.call_seconds.remove_label_values(&[capability]);
                    let _ = self.in_doubt.remove_label_values(&[capability]);
                    let _ = self.site_changed.remove_label_values(&[capability]);
                }
            }
        }
        for capability in declared {
            // Start at 0, so that the first event shows as an increase.
            self.in_doubt.with_label_values(&[capability]);
            self.site_changed.with_label_values(&[capability]);
            self.calls.with_label_values(&[capability, Fault::OutcomeUnknown.reason()]);
        }
    }

    /// Counts a decision of a harness about a call.
    pub fn supervised(&self, decision: &'static str) {
        self.supervised.with_label_values(&[decision]).inc();
    }

    /// Counts a refusal.
    pub fn rejected(&self, reason: &'static str) {
        self.rejections.with_label_values(&[reason]).inc();
    }

    /// Counts the findings in an answer.
    pub fn flagged(&self, flags: &Flags) {
        for (rule, mode, count) in flags.counts() {
            self.firewall.with_label_values(&[rule.as_str(), mode.word()]).inc_by(count as u64);
        }
    }

    /// Counts an open connection until the returned value is dropped.
    pub fn connection_opened(&self) -> impl Drop + Send + use<> {
        struct Open(IntGauge);
        impl Drop for Open {
            fn drop(&mut self) {
                self.0.dec();
            }
        }
        self.open_connections.inc();
        Open(self.open_connections.clone())
    }

    /// Records the outcome of a reload. `now`: seconds since 1970.
    pub fn reloaded(&self, success: bool, now: f64) {
        self.reloads.with_label_values(&[if success { "success" } else { "failure" }]).inc();
        self.last_reload_successful.set(success.into());
        if success {
            self.last_reload_success_at.set(now);
        }
    }

    /// Shows until when the certificate of the TLS listeners is valid, in seconds since 1970.
    pub fn certificate_valid_until(&self, seconds: u64) {
        self.certificate_valid_until.set(i64::try_from(seconds).unwrap_or(i64::MAX));
    }

    /// Declares a background job, whose counters start at 0.
    pub fn job_begins(&self, name: &'static str) {
        for result in JOB_RESULTS {
            self.jobs.with_label_values(&[name, result]);
        }
    }

    /// Counts a run of a background job.
    pub fn job(&self, name: &'static str, result: &'static str) {
        self.jobs.with_label_values(&[name, result]).inc();
    }

    /// Counts a request of the crawler.
    pub fn crawled(&self, result: &'static str) {
        self.crawl_requests.with_label_values(&[result]).inc();
    }

    /// Counts links that the crawler did not follow because they may act.
    pub fn crawl_left_out(&self, count: usize) {
        self.crawl_requests.with_label_values(&["acts"]).inc_by(count as u64);
    }

    /// Records how much of the site is known.
    pub fn crawl_pages(&self, pages: usize, bytes: usize) {
        self.content_pages.set(i64::try_from(pages).unwrap_or(i64::MAX));
        self.content_bytes.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// Records how many passages have no vector of `[content.semantic]` so far.
    pub fn passages_without_vector(&self, count: usize) {
        self.content_without_vector.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Records that a crawl was completed.
    pub fn crawl_completed(&self, now: SystemTime) {
        self.crawl_completed_at.set(now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64());
    }

    /// All metrics in Prometheus' text format.
    pub fn text(&self) -> Vec<u8> {
        self.resident.set(resident_bytes());
        self.book.text()
    }
}

/// The resident memory by /proc/self/statm; 0 where there is none.
pub(super) fn resident_bytes() -> i64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: i64 = statm.split(' ').nth(1).and_then(|p| p.parse().ok()).unwrap_or(0);
    pages * 4096
}
