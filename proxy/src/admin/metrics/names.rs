//! All metrics with their names and help texts. Operators write alerts from this table.

use std::sync::{Arc, OnceLock};

use frontdesk_filters::Fault;
use prometheus::{Gauge, Opts};

use super::{ENGINES, METHODS, Metrics, PROTOCOLS};
use crate::{
    admin::{
        registry::{Book, counter, counters, gauge, gauges, histogram, histograms, register},
        seen::{Seen, Who},
    },
    version,
};

/// OpenTelemetry's bounds for HTTP durations, with finer ones below: a proxy adds less than 5 ms.
const SECONDS: [f64; 19] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5,
    10.0,
];

/// Fewer buckets, because there may be a thousand capabilities.
pub(super) const CALL_SECONDS: [f64; 8] = [0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 30.0];

/// Why spans are dropped: the queue is full, or the collector does not take them.
pub const SPANS_DROPPED: [&str; 2] = ["queue_full", "undelivered"];

/// Why a connection is refused before its first request.
const REFUSED_AT_THE_DOOR: [&str; 6] =
    ["max_connections", "client_connections", "header_timeout", "malformed", "proxy_protocol", "tls_handshake"];

impl Metrics {
    /// Registers all metrics. Fails only if two of them have the same name.
    pub fn new() -> Result<Arc<Self>, prometheus::Error> {
        let r = Book::new();
        let labels = ["method", "status", "protocol", "engine"];
        let requests = counters(&r, "frontdesk_http_requests_total", "Requests answered.", &labels)?;
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
            by_request: (0..METHODS.len() * PROTOCOLS.len() * ENGINES).map(|_| OnceLock::new()).collect(),
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
            upstream_retries: counter(
                &r,
                "frontdesk_upstream_retries_total",
                "Connects, and requests that ask for no act, tried a second time.",
            )?,
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
            store_full: gauge(
                &r,
                "frontdesk_store_full",
                "1 while the home of records takes no new ones because it has no room.",
            )?,
            store_decided_without: counter(
                &r,
                "frontdesk_store_decided_without_total",
                "Decisions made as store.on_error says, because the store was away.",
            )?,
            store_keys: gauge(&r, "frontdesk_store_keys", "Counts kept in this process's memory.")?,
            store_losses: counter(
                &r,
                "frontdesk_store_losses_total",
                "Times that the store was found without what it had held: it was emptied, or began anew.",
            )?,
            store_clock_ahead: register(
                &r,
                Gauge::with_opts(Opts::new(
                    "frontdesk_store_clock_ahead_seconds",
                    "How far the store's clock is ahead of this machine's; negative where it is behind.",
                ))?,
            )?,
            store_waiting: gauge(
                &r,
                "frontdesk_store_waiting",
                "Ends of calls that wait for the store; with 10000 of them, what became of a call is not kept.",
            )?,
            calls: counters(
                &r,
                "frontdesk_capability_calls_total",
                "Calls of capabilities, and what became of them.",
                &["capability", "decision"],
            )?,
            in_doubt: counters(
                &r,
                "frontdesk_outcomes_unknown_total",
                "Calls of which nobody knows whether they were carried out.",
                &["capability"],
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
                "Events that a harness was not told of: too many waited, or it did not take them.",
            )?,
            content_pages: gauge(&r, "frontdesk_content_pages", "Pages of the site that are known.")?,
            content_bytes: gauge(&r, "frontdesk_content_bytes", "What the index of the site's pages takes.")?,
            crawl_requests: counters(
                &r,
                "frontdesk_crawl_requests_total",
                "Requests made to read the site, and what became of them; acts: links that were left alone.",
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

    /// Starts counters with alerts at 0, because `increase()` ignores a series that appears with its first event.
    fn begin_at_zero(&self) {
        for result in ["success", "failure"] {
            self.reloads.with_label_values(&[result]);
        }
        // For the last one a single event is worth an alert.
        for reason in REFUSED_AT_THE_DOOR.into_iter().chain(["store_full"]) {
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
}
