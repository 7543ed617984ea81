//! What Frontdesk counts, in one registry of its own.
//!
//! Labels are bounded: methods of the standards, statuses, names from this code; never a path, an address or a key.
//! Whatever a request touches is resolved once and found again by index.

mod names;
mod read;

pub use names::SPANS_DROPPED;
pub use read::{Called, Latency};

use std::{
    collections::HashSet,
    sync::OnceLock,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use frontdesk_filters::{Fault, firewall::Flags, frames};
use http::{Method, Version};
use prometheus::{
    Gauge, Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, core::Collector, proto::LabelPair,
};

use super::registry::Book;
use super::seen::{Seen, Who};
use crate::engine::Engine;

pub const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "_OTHER"];
/// In the order of [`Spoken`].
const PROTOCOLS: [&str; 4] = ["1.0", "1.1", "2", frames::PROTOCOL];
/// None for what did not come over HTTP, and the two HTTP engines.
const ENGINES: usize = 3;
const STATUSES: usize = 600;
/// How a run of a background job ends.
const JOB_RESULTS: [&str; 4] = ["ok", "failed", "timeout", "panic"];

/// What a request came in.
#[derive(Debug, Clone, Copy)]
pub enum Spoken {
    Http10,
    Http11,
    Http2,
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

/// A counter for each status, made when the first request is answered with it.
type ByStatus = Box<[OnceLock<IntCounter>]>;

/// All metrics of the process.
pub struct Metrics {
    book: Book,
    requests: IntCounterVec,
    /// Children of `requests`, by method, protocol and engine, and then by status.
    by_request: Vec<OnceLock<ByStatus>>,
    /// Requests by who made them, in the order of [`Who::ALL`].
    visitors: [IntCounter; 3],
    /// What the operator's page remembers beside what is counted here.
    pub seen: Seen,
    /// How long a request took, by who answered it.
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
    call_seconds: HistogramVec,
    pub audit_up: IntGauge,
    pub audit_written: IntCounter,
    pub audit_dropped: IntCounter,
    pub chain_waiting: IntGauge,
    supervised: IntCounterVec,
    pub harness_up: IntGaugeVec,
    pub harness_passed: IntCounterVec,
    pub harness_dropped: IntCounter,
    content_pages: IntGauge,
    content_bytes: IntGauge,
    crawl_requests: IntCounterVec,
    crawl_completed_at: Gauge,
    resident: IntGauge,
}

impl Metrics {
    /// Counts a request that has been answered. `came`: its protocol, and the HTTP engine that served it. `seconds` from
    /// its head to its last byte.
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

    /// Counts who made a request.
    pub fn visited(&self, who: Who) {
        self.visitors[who as usize].inc();
    }

    /// Counts a call of a capability that was declared, and how long the desk took; what never came to it took no time
    /// that would say anything.
    pub fn called(&self, capability: &str, decision: &'static str, took: Duration) {
        self.calls.with_label_values(&[capability, decision]).inc();
        if !took.is_zero() {
            self.call_seconds.with_label_values(&[capability]).observe(took.as_secs_f64());
        }
    }

    /// These capabilities are declared now: what an alert looks at begins at 0, and those that are gone are forgotten. A
    /// process may live through many swaps, and what it once served must not stay a label for ever.
    pub fn declared<'a>(&self, capabilities: impl Iterator<Item = &'a str>) {
        let declared: HashSet<&str> = capabilities.collect();
        for family in [self.calls.collect(), self.call_seconds.collect(), self.in_doubt.collect()].iter().flatten() {
            for sample in family.get_metric() {
                let of = |name| sample.get_label().iter().find(|label| label.name() == name).map(LabelPair::value);
                let Some(capability) = of("capability").filter(|id| !declared.contains(id)) else { continue };
                // Gone already is as good.
                if let Some(decision) = of("decision") {
                    let _ = self.calls.remove_label_values(&[capability, decision]);
                } else {
                    let _ = self.call_seconds.remove_label_values(&[capability]);
                    let _ = self.in_doubt.remove_label_values(&[capability]);
                }
            }
        }
        for capability in declared {
            // From nothing on: the first one is a rise.
            self.in_doubt.with_label_values(&[capability]);
            self.calls.with_label_values(&[capability, Fault::OutcomeUnknown.reason()]);
        }
    }

    /// Counts a call that a harness was asked about.
    pub fn supervised(&self, decision: &'static str) {
        self.supervised.with_label_values(&[decision]).inc();
    }

    /// Counts something that was refused.
    pub fn rejected(&self, reason: &'static str) {
        self.rejections.with_label_values(&[reason]).inc();
    }

    /// Counts what was found in an answer.
    pub fn flagged(&self, flags: &Flags) {
        for (rule, mode, count) in flags.counts() {
            self.firewall.with_label_values(&[rule.as_str(), mode.word()]).inc_by(count as u64);
        }
    }

    /// Counts an open connection until what is returned is dropped.
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

    /// Notes how a reload ended. `now` in seconds since 1970.
    pub fn reloaded(&self, success: bool, now: f64) {
        self.reloads.with_label_values(&[if success { "success" } else { "failure" }]).inc();
        self.last_reload_successful.set(success.into());
        if success {
            self.last_reload_success_at.set(now);
        }
    }

    /// A background job that will run: its counts begin at 0.
    pub fn job_begins(&self, name: &'static str) {
        for result in JOB_RESULTS {
            self.jobs.with_label_values(&[name, result]);
        }
    }

    /// Counts a run of a background job.
    pub fn job(&self, name: &'static str, result: &'static str) {
        self.jobs.with_label_values(&[name, result]).inc();
    }

    /// Counts a request made to read the site.
    pub fn crawled(&self, result: &'static str) {
        self.crawl_requests.with_label_values(&[result]).inc();
    }

    /// Counts links that are not followed because they may act.
    pub fn crawl_left_out(&self, count: usize) {
        self.crawl_requests.with_label_values(&["acts"]).inc_by(count as u64);
    }

    /// Shows how much of the site is known.
    pub fn crawl_pages(&self, pages: usize, bytes: usize) {
        self.content_pages.set(i64::try_from(pages).unwrap_or(i64::MAX));
        self.content_bytes.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// Notes that the site was read to its end.
    pub fn crawl_completed(&self, now: SystemTime) {
        self.crawl_completed_at.set(now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64());
    }

    /// Everything in the text format of Prometheus.
    pub fn text(&self) -> Vec<u8> {
        self.resident.set(resident_bytes());
        self.book.text()
    }
}

/// From the process's own statm; 0 where there is none.
pub(super) fn resident_bytes() -> i64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: i64 = statm.split(' ').nth(1).and_then(|p| p.parse().ok()).unwrap_or(0);
    pages * 4096
}
