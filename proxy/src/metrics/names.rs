//! All metrics with their names and help texts. Operators write alerts from this table.

use std::sync::{Arc, OnceLock};

use frontdesk_filters::Fault;
use prometheus::{Gauge, Opts};

use super::{
    ENGINES, METHODS, Metrics, PROTOCOLS,
    recent_activity::{Seen, Who},
    registry::{Book, counter, counters, gauge, gauges, histogram, histograms, register},
};
use crate::version;

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
        let visits = counters(&r, "frontdesk_visits_total", "Requests by kind of client.", &["who"])?;
        let spans_dropped = counters(
            &r,
            "frontdesk_trace_spans_dropped_total",
            "Spans dropped because the queue was full or the collector did not take them.",
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
                "Seconds from choosing an upstream to the head of its response.",
                &SECONDS,
            )?,
            request_bytes: counter(&r, "frontdesk_http_request_bytes_total", "Body bytes received.")?,
            response_bytes: counter(&r, "frontdesk_http_response_bytes_total", "Body bytes sent.")?,
            open_connections: gauge(&r, "frontdesk_open_connections", "Connections from clients.")?,
            rejections: counters(&r, "frontdesk_rejections_total", "Refusals by reason.", &["reason"])?,
            firewall: counters(
                &r,
                "frontdesk_firewall_total",
                "Findings of the firewall in responses to agents, by rule and action.",
                &["rule", "action"],
            )?,
            pages_rewritten: counter(&r, "frontdesk_pages_rewritten_total", "Pages that carry the notice.")?,
            pages_untouched: counters(
                &r,
                "frontdesk_pages_untouched_total",
                "HTML responses that passed unchanged, by reason.",
                &["reason"],
            )?,
            pages_made: counters(
                &r,
                "frontdesk_pages_made_total",
                "Answers made from those of the site (Markdown, robots.txt, a 404 for agents), by result.",
                &["what"],
            )?,
            upstream_up: gauges(&r, "frontdesk_upstream_up", "1 while an upstream counts as healthy.", &["upstream"])?,
            upstream_retries: counter(
                &r,
                "frontdesk_upstream_retries_total",
                "Retried connects and retried safe requests.",
            )?,
            upstream_errors: counters(
                &r,
                "frontdesk_upstream_errors_total",
                "Failed upstream requests by kind of failure.",
                &["reason"],
            )?,
            reloads: counters(&r, "frontdesk_config_reloads_total", "Reloads of the configuration.", &["result"])?,
            last_reload_successful: gauge(
                &r,
                "frontdesk_config_last_reload_successful",
                "1 if the last reload succeeded.",
            )?,
            last_reload_success_at: register(
                &r,
                Gauge::with_opts(Opts::new(
                    "frontdesk_config_last_reload_success_timestamp_seconds",
                    "When the running configuration came into use, in seconds since 1970.",
                ))?,
            )?,
            certificate_valid_until: gauge(
                &r,
                "frontdesk_certificate_valid_until_timestamp_seconds",
                "Until when the certificate of the TLS listeners is valid, in seconds since 1970; 0 without one.",
            )?,
            log_dropped: counter(
                &r,
                "frontdesk_log_dropped_total",
                "Access log lines dropped because the writer was too slow.",
            )?,
            spans_sent: counter(&r, "frontdesk_trace_spans_sent_total", "Spans that a collector has accepted.")?,
            spans_dropped,
            jobs: counters(&r, "frontdesk_jobs_total", "Runs of background jobs.", &["task", "result"])?,
            store_up: gauge(&r, "frontdesk_store_up", "1 while the store is reachable.")?,
            store_full: gauge(
                &r,
                "frontdesk_store_full",
                "1 while the store accepts no new records because it is full.",
            )?,
            store_decided_without: counter(
                &r,
                "frontdesk_store_decided_without_total",
                "Decisions by store.on_error during an outage of the store.",
            )?,
            store_keys: gauge(&r, "frontdesk_store_keys", "Counts kept in this process's memory.")?,
            store_losses: counter(
                &r,
                "frontdesk_store_losses_total",
                "Times that the store was found without its data: it was emptied, or started empty.",
            )?,
            store_clock_ahead: register(
                &r,
                Gauge::with_opts(Opts::new(
                    "frontdesk_store_clock_ahead_seconds",
                    "Seconds by which the store's clock is ahead of this machine's; negative if it is behind.",
                ))?,
            )?,
            store_waiting: gauge(
                &r,
                "frontdesk_store_waiting",
                "Results of calls that wait for the store; beyond 10000 they are not kept.",
            )?,
            calls: counters(
                &r,
                "frontdesk_capability_calls_total",
                "Capability calls by decision.",
                &["capability", "decision"],
            )?,
            in_doubt: counters(
                &r,
                "frontdesk_outcomes_unknown_total",
                "Calls with an unknown outcome: the site may or may not have done them.",
                &["capability"],
            )?,
            site_changed: counters(
                &r,
                "frontdesk_site_changed_total",
                "Calls that found the site's page or form not as declared.",
                &["capability"],
            )?,
            call_seconds: histograms(
                &r,
                "frontdesk_capability_duration_seconds",
                "Seconds that a call took in the desk.",
                &CALL_SECONDS,
                &["capability"],
            )?,
            audit_up: gauge(&r, "frontdesk_audit_up", "0 while the audit log cannot be written, else 1.")?,
            audit_written: counter(&r, "frontdesk_audit_lines_total", "Written lines of the audit log.")?,
            audit_dropped: counter(
                &r,
                "frontdesk_audit_dropped_total",
                "Audit lines of reads that were dropped because the log could not be written in time.",
            )?,
            chain_waiting: gauge(
                &r,
                "frontdesk_chain_waiting",
                "Signed records that wait to be stored; with 4096 of them, calls that need one are refused.",
            )?,
            supervised: counters(
                &r,
                "frontdesk_supervised_total",
                "Calls that needed a harness's decision, by decision; open_on_error went on without one.",
                &["decision"],
            )?,
            harness_up: gauges(&r, "frontdesk_harness_up", "1 while a harness is reachable.", &["harness"])?,
            harness_passed: counters(
                &r,
                "frontdesk_harness_passed_total",
                "Events that the gateway passed to a harness, by result.",
                &["event", "decision"],
            )?,
            harness_dropped: counter(
                &r,
                "frontdesk_harness_events_dropped_total",
                "Events lost for a harness: its queue was full, or it did not accept them.",
            )?,
            questions_unanswered: counter(
                &r,
                "frontdesk_questions_unanswered_total",
                "Questions that the site's pages do not answer.",
            )?,
            links: counters(
                &r,
                "frontdesk_links_total",
                "What became of links between people and agents (auth.login).",
                &["event"],
            )?,
            model_answers: counters(
                &r,
                "frontdesk_model_answers_total",
                "Questions that went to the model of content.model, by what became of them.",
                &["result"],
            )?,
            content_pages: gauge(&r, "frontdesk_content_pages", "Known pages of the site.")?,
            content_bytes: gauge(&r, "frontdesk_content_bytes", "Bytes of the index of the site's pages.")?,
            content_without_vector: gauge(
                &r,
                "frontdesk_content_passages_without_vector",
                "Passages that have no vector of content.semantic so far. Above a tenth, answers are found by words alone.",
            )?,
            crawl_requests: counters(
                &r,
                "frontdesk_crawl_requests_total",
                "Crawl requests by result; acts: links that were not followed.",
                &["result"],
            )?,
            crawl_completed_at: register(
                &r,
                Gauge::with_opts(Opts::new(
                    "frontdesk_crawl_last_complete_timestamp_seconds",
                    "When the last crawl was completed, in seconds since 1970; 0 before that.",
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
