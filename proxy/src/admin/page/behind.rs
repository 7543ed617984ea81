//! The section about what Frontdesk depends on (upstreams, store, harnesses, audit log), and the list of problems.

use frontdesk_filters::desk::ticket::State;

use super::{
    html::Html,
    view::{View, grouped},
};

/// The problems that need attention, at the top of the page. Empty if there are none.
pub(super) fn attention(html: &mut Html, view: &View<'_>) {
    let mut list = Html::default();
    let running = &view.running;
    if view.failure.is_some() {
        list.raw("<li><a href=\"#config\">The configuration on disk was not taken into use.</a></li>");
    }
    for sentence in view.admin.live.not_swapped() {
        list.raw("<li>").text(&sentence).raw("</li>");
    }
    for backend in running.pool.backends().iter().filter(|backend| !backend.is_up()) {
        list.raw("<li><a href=\"#behind\">Upstream ").text(&backend.label).raw(" is down.</a></li>");
    }
    if !running.store.status().reachable {
        list.raw("<li><a href=\"#behind\">The store cannot be reached.</a></li>");
    }
    let goes_on = running.harness.as_ref().is_some_and(|harness| harness.declared().goes_on);
    for link in running.harness.iter().flat_map(|harness| &harness.links).filter(|link| link.why_away().is_some()) {
        list.raw("<li><a href=\"#behind\">Harness ").text(&link.name).raw(if goes_on {
            " is unreachable: calls that need its decision go on without it.</a></li>"
        } else {
            " is unreachable: calls that need its decision get 503.</a></li>"
        });
    }
    if running.audit.as_ref().is_some_and(|audit| !audit.status().well) {
        list.raw("<li><a href=\"#behind\">The audit log cannot be written.</a></li>");
    }
    let waiting = view.tickets.iter().flatten().filter(|ticket| ticket.state == State::Waiting).count();
    if waiting > 0 {
        list.raw("<li><a href=\"#desk\">").number(waiting as u64);
        list.raw(if waiting == 1 { " question waits" } else { " questions wait" }).raw(" for a person.</a></li>");
    }
    if !list.is_empty() {
        html.raw("<h2 class=\"hidden\">Needs a look</h2><ul>").add(list).raw("</ul>");
    }
}

/// One row for each dependency.
pub(super) fn behind(html: &mut Html, view: &View<'_>) {
    let running = &view.running;
    let checked = running.snapshot.settings.upstream.health_path.is_some();
    html.raw("<h2>Behind <small>what this stands on</small></h2><div class=\"wide\"><table><caption>Upstreams and what else is needed</caption>")
        .raw("<thead><tr><th scope=\"col\">What</th><th scope=\"col\">State</th><th scope=\"col\">More</th></tr></thead><tbody>");
    for backend in running.pool.backends() {
        row(html, "upstream", &backend.label, if backend.is_up() { (true, "up") } else { (false, "down") });
        if !checked {
            html.raw("not checked: upstream.health_path is not set; ");
        }
        let addresses: Vec<String> = backend.addresses().iter().take(4).map(ToString::to_string).collect();
        html.text(&addresses.join(", ")).raw("</td></tr>");
    }
    let status = running.store.status();
    let home = format!("{:?}", running.store.settings().home);
    row(
        html,
        "store",
        home.split('(').next().unwrap_or_default(),
        match (status.reachable, status.full) {
            (false, _) => (false, "away"),
            (true, true) => (false, "full"),
            (true, false) => (true, "reachable"),
        },
    );
    html.text(&grouped(status.without)).raw(" decisions without it</td></tr>");
    for link in running.harness.iter().flat_map(|harness| &harness.links) {
        let away = link.why_away();
        row(html, "harness", &link.name, if away.is_none() { (true, "decides") } else { (false, "away") });
        html.text(away.as_deref().unwrap_or_default()).raw("</td></tr>");
    }
    if let Some(audit) = &running.audit {
        let status = audit.status();
        row(html, "audit log", "", if status.well { (true, "written") } else { (false, "cannot be written") });
        html.text(&grouped(status.written)).raw(" lines, ").text(&grouped(status.dropped)).raw(" dropped</td></tr>");
    }
    html.raw("</tbody></table></div>");
    waits(html, view);
}

fn row(html: &mut Html, what: &'static str, name: &str, (well, word): (bool, &'static str)) {
    html.raw("<tr><th scope=\"row\">").raw(what).raw(" <code>").text(name).raw("</code></th><td><span class=\"dot ");
    html.raw(if well { "good" } else { "bad" }).raw("\"></span> ").raw(word).raw("</td><td class=\"long\">");
}

/// The mean waiting time for the upstreams.
fn waits(html: &mut Html, view: &View<'_>) {
    let metrics = &view.admin.metrics;
    let (count, seconds) = metrics.upstream_waits();
    html.raw("<p class=\"quiet\">Asked ").text(&grouped(count)).raw(" times since the start");
    if count > 0 {
        let mean = seconds * 1000.0 / count as f64;
        html.raw(", ").decimal(mean, 1).raw(" ms to an answer's head on average");
    }
    html.raw("; ").text(&grouped(metrics.upstream_retries.get())).raw(" connects tried again");
    for (reason, failed) in metrics.upstream_failures().into_iter().filter(|(_, failed)| *failed > 0) {
        html.raw("; ").text(&reason).raw(" ").text(&grouped(failed));
    }
    html.raw(".</p>");
}
