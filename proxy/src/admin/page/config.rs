//! The section about the configuration: the running one, why the last reload failed, and how the file differs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use frontdesk_filters::{desk::rfc3339, site::Difference};

use super::{html::Html, view::View};

/// The most bytes of the declaration shown here. A longer one is at /config.
const LONGEST: usize = 100 * 1024;
/// The most differing keys shown.
const SHOWN: usize = 100;

/// The running configuration, its age, and the mistakes of a failed reload.
pub(super) fn config(html: &mut Html, view: &View<'_>) {
    let (running, live) = (&view.running, &view.admin.live);
    html.raw("<h2>Configuration</h2><dl><div><dt>Runs</dt><dd><code class=\"hash\">").text(&running.snapshot.hash);
    html.raw("</code></dd></div><div><dt>From</dt><dd><code>").text(&live.name().to_string_lossy()).raw("</code>");
    html.raw(if live.file().is_none() { " (not a file)" } else { "" }).raw("</dd></div><div><dt>In use since</dt><dd>");
    when(html, view, running.since);
    html.raw("</dd></div></dl>");
    let warnings = running.warnings();
    if !warnings.is_empty() {
        list(html, "Warnings", warnings.iter());
    }
    match &view.failure {
        None if live.file().is_none() => {}
        None => {
            html.raw("<p class=\"quiet\"><span class=\"dot good\"></span> The file says what runs.</p>");
        }
        Some(failure) => {
            html.raw("<p class=\"told wrong\"><span class=\"dot bad\"></span> The file was not taken into use, ");
            when(html, view, failure.at);
            html.raw("; what runs stays.</p>");
            list(html, "Its mistakes", failure.mistakes.iter());
            // Warnings of the running configuration are shown already.
            let mut others = failure.warnings.iter().filter(|warning| !warnings.contains(warning)).peekable();
            if others.peek().is_some() {
                list(html, "Its warnings", others);
            }
            differences(html, view);
        }
    }
    let stuck = live.not_swapped();
    if !stuck.is_empty() {
        list(html, "Takes a restart", stuck.iter());
    }
}

/// The declaration as in /config.
pub(super) fn declared(html: &mut Html, view: &View<'_>) {
    html.raw("<h2 class=\"hidden\">The declaration</h2>");
    let tables = &view.running.declaration.tables;
    if tables.len() > LONGEST {
        html.raw("<p>The declaration is long: <a href=\"/config\">/config</a> has all of it.</p>");
        return;
    }
    let value: serde_json::Value = serde_json::from_str(tables).unwrap_or_default();
    html.raw("<details><summary>What is declared, without secrets and what came from outside the file</summary><pre tabindex=\"0\">");
    html.text(&serde_json::to_string_pretty(&value).unwrap_or_default()).raw("</pre></details>");
}

/// The keys in which the file differs from the running configuration.
fn differences(html: &mut Html, view: &View<'_>) {
    match &view.differs {
        None => {}
        Some(Err(e)) => {
            html.raw("<p>The file cannot be read: ").text(&e.to_string()).raw(".</p>");
        }
        Some(Ok((differences, partial))) => {
            html.raw("<h3>How the file differs");
            html.raw(if *partial { ", as far as it can be read</h3>" } else { "</h3>" });
            if differences.is_empty() {
                html.raw("<p class=\"quiet\">In no value that can be shown: secrets, and files it refers to, are not compared.</p>");
                return;
            }
            html.raw("<pre class=\"diff\" tabindex=\"0\">");
            for difference in differences.iter().take(SHOWN) {
                line(html, difference);
            }
            html.raw("</pre>");
            if differences.len() > SHOWN {
                html.raw("<p class=\"quiet\">and ").number((differences.len() - SHOWN) as u64).raw(" more keys.</p>");
            }
        }
    }
}

fn line(html: &mut Html, difference: &Difference) {
    if let Some(before) = &difference.before {
        html.raw("<del>- ").text(&difference.key).raw(" = ").text(before).raw("</del>\n");
    }
    if let Some(after) = &difference.after {
        html.raw("<ins>+ ").text(&difference.key).raw(" = ").text(after).raw("</ins>\n");
    }
}

fn list<'a>(html: &mut Html, title: &'static str, lines: impl Iterator<Item = &'a String>) {
    html.raw("<h3>").raw(title).raw("</h3><ul class=\"lines\">");
    for line in lines.take(SHOWN) {
        html.raw("<li>").text(line).raw("</li>");
    }
    html.raw("</ul>");
}

fn when(html: &mut Html, view: &View<'_>, at: SystemTime) {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    html.raw("<time datetime=\"").text(&rfc3339(at)).raw("\">").text(&view.ago(since)).raw("</time>");
}
