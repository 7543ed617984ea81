//! The section about questions that the site's pages do not answer.

use super::{
    html::Html,
    view::{View, clock, grouped},
};

/// The most questions shown.
const SHOWN: usize = 30;

/// The latest questions without an answer. They are a visitor's own words.
pub(super) fn unanswered(html: &mut Html, view: &View<'_>) {
    html.raw("<h2>Unanswered <small>what agents asked, and no page of the site says</small></h2>");
    let questions = view.admin.metrics.seen.unanswered();
    if questions.is_empty() {
        html.raw("<p class=\"quiet\">Every question since the start has an answer on the site, or none was asked.</p>");
        return;
    }
    html.raw("<div class=\"wide\"><table><caption>The latest questions without an answer</caption><thead><tr>")
        .raw("<th scope=\"col\">Last, UTC</th><th scope=\"col\">Times</th><th scope=\"col\">Question</th></tr></thead><tbody>");
    for one in questions.iter().take(SHOWN) {
        html.raw("<tr><td><time title=\"").text(&view.ago(one.at)).raw("\">").text(&clock(one.at));
        html.raw("</time></td><td class=\"n\">").text(&grouped(one.times));
        html.raw("</td><td class=\"long\">").text(&one.question).raw("</td></tr>");
    }
    html.raw("</tbody></table></div>");
}
