//! The section about traffic: requests a second by kind of client.

use super::{
    chart,
    html::Html,
    view::{View, grouped},
};
use crate::metrics::recent_activity::{Rates, SECONDS};

/// "Now" is the mean of so many seconds.
const NOW: usize = 10;
/// The kinds of clients, in the order of the counters, with their colours.
const WHO: [(&str, &str); 3] =
    [("people", "people"), ("agents, not verified", "agents"), ("agents, verified", "verified")];

/// Requests a second.
pub(super) fn traffic(html: &mut Html, view: &View<'_>) {
    let metrics = &view.admin.metrics;
    let rates = metrics.seen.rates();
    html.raw("<h2>Traffic <small>requests a second, the last five minutes</small></h2>");
    let values: Vec<[f32; 3]> = rates.iter().map(|rates| rates.visits).collect();
    let mut bars = Html::default();
    let top = chart::stacked(&mut bars, &values, SECONDS, WHO.map(|(_, class)| class));
    html.raw("<figure><span class=\"top\">").decimal(top, 0).raw("/s</span>").add(bars);
    html.raw("<figcaption><span>5 min ago</span><span>now</span></figcaption></figure>");
    html.raw("<table class=\"numbers\"><caption>Requests by who made them</caption><thead><tr><th scope=\"col\">Who</th>")
        .raw("<th scope=\"col\">now, /s</th><th scope=\"col\">5 min, /s</th><th scope=\"col\">since the start</th></tr></thead><tbody>");
    let latest = &rates[rates.len().saturating_sub(NOW)..];
    for (n, ((who, class), total)) in WHO.into_iter().zip(metrics.visits()).enumerate() {
        html.raw("<tr><th scope=\"row\"><span class=\"key ").raw(class).raw("\"></span>").raw(who).raw("</th>");
        figures(html, (latest, &rates), total, |rates| rates.visits[n]);
    }
    html.raw("<tr><th scope=\"row\">refused, of all</th>");
    figures(html, (latest, &rates), metrics.rejected_so_far(), |rates| rates.refused);
    html.raw(
        "</tbody></table><p class=\"quiet\">People are all who ask for pages and do not say that they are agents.</p>",
    );
}

fn figures(html: &mut Html, (latest, all): (&[Rates], &[Rates]), total: u64, of: impl Fn(&Rates) -> f32) {
    for rates in [latest, all] {
        let mean = rates.iter().map(&of).map(f64::from).sum::<f64>() / rates.len().max(1) as f64;
        html.raw("<td>").decimal(mean, if mean < 10.0 { 1 } else { 0 }).raw("</td>");
    }
    html.raw("<td>").text(&grouped(total)).raw("</td></tr>");
}
