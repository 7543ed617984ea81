//! The section about refused requests of agents.

use super::{
    html::Html,
    view::{View, clock, grouped},
};

/// The most kinds of refusals shown.
const SHOWN: usize = 20;

/// The latest kinds of refusals. It shows nothing that the client sent, except the name that an agent gives itself.
pub(super) fn refused(html: &mut Html, view: &View<'_>) {
    html.raw("<h2>Refused <small>what agents asked, and did not get</small></h2>");
    let refused = view.admin.metrics.seen.refused();
    if refused.is_empty() {
        html.raw("<p class=\"quiet\">Nothing was refused to an agent since the start.</p>");
        return;
    }
    html.raw("<div class=\"wide\"><table><caption>The latest kinds of refusals</caption><thead><tr><th scope=\"col\">Last, UTC</th>")
        .raw("<th scope=\"col\">Times</th><th scope=\"col\">Asked for</th><th scope=\"col\">Why not</th>")
        .raw("<th scope=\"col\">Who, the last time</th></tr></thead><tbody>");
    for one in refused.iter().take(SHOWN) {
        html.raw("<tr><td><time title=\"")
            .text(&view.ago(one.at))
            .raw("\">")
            .text(&clock(one.at))
            .raw("</time></td><td class=\"n\">");
        html.text(&grouped(one.times)).raw("</td><td class=\"long\"><code>");
        match &one.asked {
            Some(asked) => html.text(&one.method).raw(" ").text(asked),
            None => html.text(&one.method).raw("</code> <span class=\"quiet\">nothing declared</span><code>"),
        };
        html.raw("</code></td><td><a href=\"/explain/").raw(one.reason).raw("\"><code>").raw(one.reason);
        html.raw("</code></a> <span class=\"quiet\">").number(one.status);
        html.raw("</span>");
        html.raw("</td><td class=\"long\">");
        match (&one.who, one.proof) {
            (Some(who), "none") => html.text(who).raw(" <span class=\"quiet\">so it says</span>"),
            (Some(who), proof) => html.text(who).raw(" <span class=\"quiet\">by ").raw(proof).raw("</span>"),
            (None, "none") => html.raw("<span class=\"quiet\">did not say</span>"),
            (None, proof) => html.raw("<span class=\"quiet\">a client with a ").raw(proof).raw("</span>"),
        };
        html.raw("</td></tr>");
    }
    html.raw("</tbody></table></div>");
}
