//! The section about limits: their use, callers close to a limit, and refusals.

use std::fs;

use frontdesk_filters::{
    chain,
    desk::ticket::{self, State},
};

use super::{
    chart,
    html::Html,
    view::{View, grouped, span},
};

/// Reasons of refusals that a limit causes.
const LIMITS: [(&str, &str); 20] = [
    ("rate_limited", "[rate_limits]: too many requests"),
    ("session_tokens", "[token_budget]: a session's tokens"),
    ("daily_tokens", "[token_budget]: a day's tokens"),
    ("tokens_reserved", "[token_budget]: what is left, by answers under way"),
    ("desk_full", "too many questions wait for a person"),
    ("max_connections", "protection.max_connections: had to wait"),
    ("client_connections", "protection.client_share: connections of one address"),
    ("client_share", "protection.client_share: requests of one address under way"),
    ("site_busy", "upstream.max_requests: the site had enough to do"),
    ("firewall_busy", "too many large answers to look through at a time"),
    ("pages_full", "memory for pages of which Markdown is made"),
    ("header_timeout", "protection.header_timeout"),
    ("header_too_large", "protection.max_header"),
    ("slow_upload", "protection.min_rate, transfer_timeout: a body came too slowly"),
    ("slow_reader", "protection.min_rate, idle_timeout: an answer was read too slowly"),
    ("too_large", "a body that is too long"),
    ("store_away", "the store was away"),
    ("store_busy", "too many changes of one record at a time"),
    ("store_full", "the store was full"),
    ("unavailable", "no room for more at the moment"),
];

/// The limits of the process, then those of callers.
pub(super) fn limits(html: &mut Html, view: &View<'_>) {
    html.raw("<h2>Limits <small>what is used of what there is</small></h2><div class=\"columns\">");
    html.raw("<table class=\"numbers\"><caption>Of this process</caption><thead><tr><th scope=\"col\">What</th><th scope=\"col\">Used</th>")
        .raw("<th scope=\"col\">Of</th><th scope=\"col\"><span class=\"hidden\">Share</span></th></tr></thead><tbody>");
    for (what, used, most) in bounds(view) {
        html.raw("<tr><th scope=\"row\">").raw(what).raw("</th><td>").text(&grouped(used)).raw("</td><td>");
        match most {
            Some(most) => {
                html.text(&grouped(most)).raw("</td><td>");
                let class = if used.saturating_mul(100) >= most.saturating_mul(80) { "failed" } else { "calls" };
                chart::split(html, &[(used.min(most), class), (most.saturating_sub(used), "empty")]);
            }
            None => {
                html.raw("<span class=\"quiet\">no bound</span></td><td>");
            }
        }
        html.raw("</td></tr>");
    }
    html.raw("</tbody></table><div>");
    close(html, view);
    html.raw("</div><div>");
    reached(html, view);
    html.raw("</div></div>");
}

/// Each resource: its name, the used amount and the limit, where there is one.
fn bounds(view: &View<'_>) -> Vec<(&'static str, u64, Option<u64>)> {
    let (metrics, settings) = (&view.admin.metrics, &view.running.snapshot.settings);
    let waiting = view.tickets.iter().flatten().filter(|ticket| ticket.state == State::Waiting).count();
    let count = |gauge: &prometheus::IntGauge| u64::try_from(gauge.get()).unwrap_or(0);
    let mut bounds = vec![
        ("connections", metrics.connections(), Some(settings.protection.max_connections as u64)),
        ("counts in the store", view.running.store.status().tracked, Some(settings.store.max_keys as u64)),
        ("questions for a person", waiting as u64, Some(ticket::MOST_WAITING as u64)),
    ];
    if settings.integrity.is_some() {
        bounds.push(("signed records to be stored", count(&metrics.chain_waiting), Some(chain::MOST_WAITING as u64)));
    }
    if settings.reads_site() {
        bounds.push(("pages of the site", metrics.pages(), Some(settings.content.max_pages as u64)));
    }
    bounds.push(("memory, MB", crate::metrics::resident_bytes().max(0) as u64 >> 20, memory_bound()));
    bounds
}

/// The memory limit of the cgroup, in MB.
fn memory_bound() -> Option<u64> {
    let text = fs::read_to_string("/sys/fs/cgroup/memory.max").ok()?;
    text.trim().parse::<u64>().ok().map(|bytes| bytes >> 20)
}

/// Callers close to a limit. The store knows callers only by hash, so this lists those of the last requests.
fn close(html: &mut Html, view: &View<'_>) {
    let close = view.admin.metrics.seen.near();
    html.raw("<table class=\"numbers\"><caption>Close to a limit: over 80 % used</caption>");
    if close.is_empty() {
        html.raw("<tbody><tr><td class=\"quiet\">None.</td></tr></tbody></table>");
        return;
    }
    html.raw("<thead><tr><th scope=\"col\">Who</th><th scope=\"col\">Limit</th><th scope=\"col\">Used</th><th scope=\"col\">Anew in</th></tr></thead><tbody>");
    for one in close {
        html.raw("<tr><th scope=\"row\" class=\"long\">")
            .text(&one.who)
            .raw("</th><td>")
            .raw(one.policy)
            .raw("</td><td>");
        html.text(&grouped(one.used)).raw(" of ").text(&grouped(one.most.into())).raw("</td><td>");
        html.text(&span(one.until.saturating_sub(view.now))).raw("</td></tr>");
    }
    html.raw("</tbody></table>");
}

/// Refusals that a limit caused.
fn reached(html: &mut Html, view: &View<'_>) {
    let rejections = view.admin.metrics.rejections();
    let reached: Vec<(&str, u64)> = LIMITS
        .into_iter()
        .filter_map(|(reason, words)| {
            let (_, count) = rejections.iter().find(|(counted, count)| counted == reason && *count > 0)?;
            Some((words, *count))
        })
        .collect();
    html.raw("<table class=\"numbers\"><caption>Limits that were reached, since the start</caption><tbody>");
    if reached.is_empty() {
        html.raw("<tr><td class=\"quiet\">None.</td></tr>");
    }
    for (words, count) in reached {
        html.raw("<tr><th scope=\"row\">").text(words).raw("</th><td>").text(&grouped(count)).raw("</td></tr>");
    }
    html.raw("</tbody></table>");
}
