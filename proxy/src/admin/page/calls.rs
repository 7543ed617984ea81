//! The section about capability calls: counts, outcomes and durations.

use super::{
    chart,
    html::Html,
    view::{View, grouped},
};
use crate::metrics::{
    Called, Latency,
    recent_activity::{STEP, STEPS},
};

/// The most capabilities shown; the most called come first.
const SHOWN: usize = 40;

/// The kinds of outcomes in short words, with their colours.
const KINDS: [(&str, &str); 5] =
    [("done", "done"), ("told again", "again"), ("asked back", "asked"), ("refused", "refused"), ("failed", "failed")];

/// The index in [`KINDS`] of a decision.
fn kind(decision: &str) -> usize {
    match decision {
        "done" | "accepted" | "simulated" => 0,
        "replayed" | "cached" => 1,
        "confirmation_required" | "asked_back" | "harness_escalated" | "idempotency_in_flight" => 2,
        "upstream_error"
        | "upstream_malformed_response"
        | "upstream_unreachable"
        | "upstream_timeout"
        | "bad_gateway"
        | "internal"
        | "outcome_unknown"
        | "composition_failed"
        | "unavailable"
        | "store_away"
        | "store_busy"
        | "client_share"
        | "desk_full"
        | "firewall_busy"
        | "site_busy" => 4,
        away if away.ends_with("_away") => 4,
        _ => 3,
    }
}

/// One row for each capability that was called.
pub(super) fn calls(html: &mut Html, view: &View<'_>) {
    html.raw("<h2>Capabilities <small>what was called, and what became of it</small></h2>");
    let metrics = &view.admin.metrics;
    let mut called: Vec<(String, Called)> = metrics.called_so_far().into_iter().collect();
    if called.is_empty() {
        html.raw("<p class=\"quiet\">Nothing was called since the start.</p>");
        return;
    }
    called.sort_by(|(a, x), (b, y)| y.total().cmp(&x.total()).then_with(|| a.cmp(b)));
    html.raw("<p class=\"legend\">");
    for (word, class) in KINDS {
        html.raw("<span><span class=\"key ").raw(class).raw("\"></span>").raw(word).raw("</span> ");
    }
    let minutes = STEP.as_secs() * STEPS as u64 / 60;
    html.raw("</p><div class=\"wide\"><table><caption>Calls; the bars of calls are the last ").number(minutes);
    html.raw(" minutes, the rest is since the start</caption><thead><tr><th scope=\"col\">Capability</th>")
        .raw("<th scope=\"col\">Calls</th><th scope=\"col\" class=\"n\">All</th><th scope=\"col\">Outcome</th>")
        .raw("<th scope=\"col\">Time</th><th scope=\"col\" class=\"n\"><abbr title=\"half of the calls took no longer\">p50</abbr></th>")
        .raw("<th scope=\"col\" class=\"n\"><abbr title=\"95 of 100 calls took no longer\">p95</abbr></th></tr></thead><tbody>");
    let lately = metrics.seen.calls();
    for (id, called) in called.iter().take(SHOWN) {
        let total = called.total();
        html.raw("<tr><th scope=\"row\"><code>").text(id).raw("</code></th><td>");
        let steps: Vec<u64> = lately.of(id, total).into_iter().map(u64::from).collect();
        chart::bars(html, &steps, "calls");
        html.raw("</td><td class=\"n\">").text(&grouped(total)).raw("</td><td class=\"outcome\">");
        outcome(html, called);
        html.raw("</td>");
        took(html, &called.took);
        html.raw("</tr>");
    }
    html.raw("</tbody></table></div>");
    if called.len() > SHOWN {
        html.raw("<p class=\"quiet\">").number((called.len() - SHOWN) as u64);
        html.raw(" more were called; <a href=\"/metrics\">/metrics</a> has all.</p>");
    }
}

fn outcome(html: &mut Html, called: &Called) {
    let mut shares = KINDS.map(|(_, class)| (0, class));
    for (decision, count) in &called.decisions {
        shares[kind(decision)].0 += count;
    }
    chart::split(html, &shares);
    html.raw("<span class=\"quiet\">");
    let mut decisions: Vec<_> = called.decisions.iter().collect();
    decisions.sort_by(|(_, a), (_, b)| b.cmp(a));
    for (n, (decision, count)) in decisions.into_iter().take(3).enumerate() {
        html.raw(if n > 0 { ", " } else { "" }).text(decision).raw(" ").text(&grouped(*count));
    }
    html.raw("</span>");
}

fn took(html: &mut Html, took: &Latency) {
    html.raw("<td>");
    if took.is_empty() {
        html.raw("</td><td></td><td></td>");
        return;
    }
    chart::bars(html, &took.buckets, "took");
    for share in [0.5, 0.95] {
        html.raw("</td><td class=\"n\">");
        match took.under(share) {
            Some(seconds) if seconds < 1.0 => html.raw("≤ ").decimal(seconds * 1000.0, 0).raw(" ms"),
            Some(seconds) => html.raw("≤ ").decimal(seconds, 0).raw(" s"),
            None => html.raw("&gt; 30 s"),
        };
    }
    html.raw("</td>");
}
