//! What Frontdesk counts, in one registry of its own.
//!
//! Labels are bounded: methods of the standards, statuses, names from this code; never a path, an address or a key.
//! Whatever a request touches is resolved once and found again by index.

mod read;

pub use read::{Called, Latency};

use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use frontdesk_filters::{Fault, firewall::Flags, frames};
use http::{Method, Version};
use prometheus::{
    Gauge, Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, core::Collector,
    proto::LabelPair,
};

use super::registry::{Book, counter, counters, gauge, gauges, histogram, histograms, register};
use super::seen::{Seen, Who};
use crate::version;

/// OpenTelemetry's bounds for HTTP durations, with finer ones below: a proxy adds less than 5 ms.
const SECONDS: [f64; 19] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5,
    10.0,
];
/// There may be a thousand capabilities.
const CALL_SECONDS: [f64; 8] = [0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 30.0];
/// Why spans are dropped: too many wait, or the collector does not take them.
pub const SPANS_DROPPED: [&str; 2] = ["queue_full", "undelivered"];
pub const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "_OTHER"];
/// In the order of [`Spoken`].
const PROTOCOLS: [&str; 4] = ["1.0", "1.1", "2", frames::PROTOCOL];
const STATUSES: usize = 600;
/// Why a connection or its first bytes are refused before there is a request.
const REFUSED_AT_THE_DOOR: [&str; 5] =
    ["max_connections", "header_timeout", "malformed", "proxy_protocol", "tls_handshake"];
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

/// All metrics of the process.
pub struct Metrics {
    book: Book,
    requests: IntCounterVec,
    /// Children of `requests`, by method, protocol and status.
    by_request: Vec<OnceLock<IntCounter>>,
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
    pub store_decided_without: IntCounter,
    pub store_keys: IntGauge,
    calls: IntCounterVec,
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
    /// Registers everything. Fails only if two metrics have one name.
    pub fn new() -> Result<Arc<Self>, prometheus::Error> {
        let r = Book::new();
        let requests =
            counters(&r, "frontdesk_http_requests_total", "Requests answered.", &["method", "status", "protocol"])?;
        let seconds = histograms(
            &r,
            "frontdesk_http_request_duration_seconds",
            "From a request's head to its last byte.",
            &SECONDS,
            &["decision"],
        )?;
        let build = gauges(&r, "frontdesk_build_info", "Always 1.", &["version", "revision"])?;
        build.with_label_values(&[version::VERSION, version::REVISION]).set(1);
        let visits = counters(&r, "frontdesk_visits_total", "Requests, by who made them.", &["who"])?;
        let spans_dropped = counters(
            &r,
            "frontdesk_trace_spans_dropped_total",
            "Spans dropped rather than waited for: too many waited, or the collector did not take them.",
            &["reason"],
        )?;
        SPANS_DROPPED.iter().for_each(|reason| drop(spans_dropped.with_label_values(&[reason])));
        let metrics = Self {
            by_request: (0..METHODS.len() * PROTOCOLS.len() * STATUSES).map(|_| OnceLock::new()).collect(),
            requests,
            visitors: Who::ALL.map(|who| visits.with_label_values(&[who.word()])),
            seen: Seen::default(),
            passed: seconds.with_label_values(&["pass"]),
            answered: seconds.with_label_values(&["answer"]),
            upstream_seconds: histogram(
                &r,
                "frontdesk_upstream_request_duration_seconds",
                "From choosing an upstream to its response's head.",
                &SECONDS,
            )?,
            request_bytes: counter(&r, "frontdesk_http_request_bytes_total", "Body bytes received.")?,
            response_bytes: counter(&r, "frontdesk_http_response_bytes_total", "Body bytes sent.")?,
            open_connections: gauge(&r, "frontdesk_open_connections", "Connections from clients.")?,
            rejections: counters(&r, "frontdesk_rejections_total", "What was refused, and why.", &["reason"])?,
            firewall: counters(
                &r,
                "frontdesk_firewall_total",
                "What was found in what leaves for agents, by rule, and what became of it.",
                &["rule", "action"],
            )?,
            pages_rewritten: counter(&r, "frontdesk_pages_rewritten_total", "Pages that carry the notice.")?,
            pages_untouched: counters(
                &r,
                "frontdesk_pages_untouched_total",
                "HTML responses that were passed as they are, and why.",
                &["reason"],
            )?,
            pages_made: counters(
                &r,
                "frontdesk_pages_made_total",
                "Requests for Markdown, or for a robots.txt with signals, and what was answered.",
                &["what"],
            )?,
            upstream_up: gauges(
                &r,
                "frontdesk_upstream_up",
                "1 while an upstream is believed healthy.",
                &["upstream"],
            )?,
            upstream_retries: counter(&r, "frontdesk_upstream_retries_total", "Connects tried a second time.")?,
            upstream_errors: counters(
                &r,
                "frontdesk_upstream_errors_total",
                "Requests that an upstream failed, and how.",
                &["reason"],
            )?,
            reloads: counters(&r, "frontdesk_config_reloads_total", "Reloads of the configuration.", &["result"])?,
            last_reload_successful: gauge(
                &r,
                "frontdesk_config_last_reload_successful",
                "1 if the running configuration is the one last read.",
            )?,
            last_reload_success_at: register(
                &r,
                Gauge::with_opts(Opts::new(
                    "frontdesk_config_last_reload_success_timestamp_seconds",
                    "When the running configuration was taken into use.",
                ))?,
            )?,
            log_dropped: counter(&r, "frontdesk_log_dropped_total", "Access lines dropped rather than waited for.")?,
            spans_sent: counter(&r, "frontdesk_trace_spans_sent_total", "Spans that a collector has taken.")?,
            spans_dropped,
            jobs: counters(&r, "frontdesk_jobs_total", "Runs of background jobs.", &["task", "result"])?,
            store_up: gauge(&r, "frontdesk_store_up", "1 while the home of counts and records can be reached.")?,
            store_decided_without: counter(
                &r,
                "frontdesk_store_decided_without_total",
                "Decisions made as store.on_error says, because the store was away.",
            )?,
            store_keys: gauge(&r, "frontdesk_store_keys", "Counts kept in this process's memory.")?,
            calls: counters(
                &r,
                "frontdesk_capability_calls_total",
                "Calls of capabilities, and what became of them.",
                &["capability", "decision"],
            )?,
            call_seconds: histograms(
                &r,
                "frontdesk_capability_duration_seconds",
                "How long the desk took for a call.",
                &CALL_SECONDS,
                &["capability"],
            )?,
            audit_up: gauge(&r, "frontdesk_audit_up", "0 while lines of the audit log cannot be written, else 1.")?,
            audit_written: counter(&r, "frontdesk_audit_lines_total", "Lines of the audit log that were written.")?,
            audit_dropped: counter(
                &r,
                "frontdesk_audit_dropped_total",
                "Lines of reads that were dropped because the audit log could not be written in time.",
            )?,
            chain_waiting: gauge(
                &r,
                "frontdesk_chain_waiting",
                "Signed records that wait to be stored; with 4096 of them, what needs one is refused.",
            )?,
            supervised: counters(
                &r,
                "frontdesk_supervised_total",
                "Calls that a harness was asked about, and what came of it; open_on_error went on without a decision.",
                &["decision"],
            )?,
            harness_up: gauges(&r, "frontdesk_harness_up", "1 while a harness can be asked.", &["harness"])?,
            harness_passed: counters(
                &r,
                "frontdesk_harness_passed_total",
                "Events of other agents that went through to a harness, and what came of it.",
                &["event", "decision"],
            )?,
            harness_dropped: counter(
                &r,
                "frontdesk_harness_events_dropped_total",
                "Events that a harness was not told of, as too many waited.",
            )?,
            content_pages: gauge(&r, "frontdesk_content_pages", "Pages of the site that are known.")?,
            content_bytes: gauge(&r, "frontdesk_content_bytes", "What the index of the site's pages takes.")?,
            crawl_requests: counters(
                &r,
                "frontdesk_crawl_requests_total",
                "Requests made to read the site, and what became of them.",
                &["result"],
            )?,
            crawl_completed_at: register(
                &r,
                Gauge::with_opts(Opts::new(
                    "frontdesk_crawl_last_complete_timestamp_seconds",
                    "When the site was last read to its end; 0 before that.",
                ))?,
            )?,
            resident: gauge(&r, "process_resident_memory_bytes", "Resident memory.")?,
            book: r,
        };
        metrics.begin_at_zero();
        Ok(Arc::new(metrics))
    }

    /// What an alert looks at begins at 0: `increase()` does not see a series that is born with its first event.
    fn begin_at_zero(&self) {
        for result in ["success", "failure"] {
            self.reloads.with_label_values(&[result]);
        }
        for reason in REFUSED_AT_THE_DOOR {
            self.rejections.with_label_values(&[reason]);
        }
        for fault in [Fault::Unreachable, Fault::BadGateway, Fault::GatewayTimeout, Fault::Unavailable, Fault::Internal]
        {
            self.upstream_errors.with_label_values(&[fault.reason()]);
        }
        for decision in ["closed", "open_on_error"] {
            self.supervised.with_label_values(&[decision]);
        }
    }

    /// Counts a request that has been answered. `seconds` from its head to its last byte.
    pub fn request(&self, method: &Method, spoken: Spoken, status: u16, passed: bool, seconds: f64) {
        let m = METHODS.iter().position(|m| *m == method.as_str()).unwrap_or(METHODS.len() - 1);
        let p = spoken as usize;
        let s = usize::from(status).min(STATUSES - 1);
        self.by_request[(m * PROTOCOLS.len() + p) * STATUSES + s]
            .get_or_init(|| self.requests.with_label_values(&[METHODS[m], s.to_string().as_str(), PROTOCOLS[p]]))
            .inc();
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
        for family in self.calls.collect().iter().chain(&self.call_seconds.collect()) {
            for sample in family.get_metric() {
                let of = |name| sample.get_label().iter().find(|label| label.name() == name).map(LabelPair::value);
                let Some(capability) = of("capability").filter(|id| !declared.contains(id)) else { continue };
                // Gone already is as good.
                let _ = match of("decision") {
                    Some(decision) => self.calls.remove_label_values(&[capability, decision]),
                    None => self.call_seconds.remove_label_values(&[capability]),
                };
            }
        }
        for capability in declared {
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
