//! The operator's page as a whole: the frame, and the order of its sections.

use frontdesk_filters::desk::rfc3339;

use super::{
    behind, calls, config, desk,
    html::Html,
    limits, login, refused, traffic, unanswered,
    view::{Told, View, begin, clock, span},
};
use crate::live;

impl View<'_> {
    /// The whole document.
    pub(super) fn document(&self, told: Option<Told>) -> Html {
        let mut html = Html::default();
        let name = &self.running.snapshot.settings.site.name;
        begin(&mut html, "Frontdesk", Some(self.base()));
        html.raw("<header><h1>Frontdesk <small>");
        html.text(name.as_deref().unwrap_or_default()).raw("</small></h1>");
        self.state(&mut html);
        self.way_in_and_out(&mut html);
        html.raw("</header><main>");
        if let Some(told) = told {
            html.raw("<p class=\"told ").raw(if told.well { "well" } else { "wrong" }).raw("\" role=\"alert\">");
            html.text(&told.text).raw("</p>");
        }
        self.parts(&mut html);
        html.raw("<section id=\"declared\">");
        config::declared(&mut html, self);
        html.raw("</section></main>");
        html.raw("<footer><p><a href=\"/manual\">The manual</a>, <a href=\"/manual/runbook\">what to do about an alert</a>, ");
        html.raw("<a href=\"/manual/runbook-reasons\">what a reason means</a>.");
        html.raw(" Also here, for machines: <a href=\"/metrics\">/metrics</a>");
        // On other addresses these links need a token, which a browser does not send with a link.
        if self.admin.live.bound().admin.ip().is_loopback() {
            html.raw(" <a href=\"/config\">/config</a> <a href=\"/readyz?verbose\">/readyz?verbose</a>");
            html.raw(" <a href=\"/desk\">/desk</a>");
        }
        html.raw("</p></footer></body></html>\n");
        html
    }

    /// The sections that the script refreshes.
    pub(super) fn live(&self) -> Html {
        let mut html = Html::default();
        html.raw("<!doctype html><html lang=\"en\"><title>Frontdesk</title><body>");
        self.state(&mut html);
        self.parts(&mut html);
        html.raw("</body></html>\n");
        html
    }

    fn parts(&self, html: &mut Html) {
        part(html, "attention", false, |html| behind::attention(html, self));
        part(html, "desk", true, |html| desk::desk(html, self));
        part(html, "traffic", false, |html| traffic::traffic(html, self));
        part(html, "refused", false, |html| refused::refused(html, self));
        part(html, "unanswered", false, |html| unanswered::unanswered(html, self));
        part(html, "calls", false, |html| calls::calls(html, self));
        part(html, "limits", false, |html| limits::limits(html, self));
        part(html, "behind", false, |html| behind::behind(html, self));
        part(html, "config", false, |html| config::config(html, self));
    }

    /// One line about the overall state.
    fn state(&self, html: &mut Html) {
        let draining = self.admin.draining.load(std::sync::atomic::Ordering::Relaxed);
        html.raw("<p id=\"state\" class=\"state\" data-live><span class=\"dot ");
        html.raw(if draining { "bad" } else { "good" }).raw("\"></span> ");
        html.raw(if draining { "draining" } else { "taking requests" }).raw(" · up ");
        html.text(&span(live::started().elapsed())).raw(" · version ").raw(env!("CARGO_PKG_VERSION"));
        html.raw(" · configuration <code>").text(self.running.short_hash()).raw("</code> · <time datetime=\"");
        html.text(&rfc3339(std::time::UNIX_EPOCH + self.now)).raw("\">").text(&clock(self.now)).raw("</time> UTC");
        html.raw("</p>");
    }

    fn way_in_and_out(&self, html: &mut Html) {
        if let Some(operator) = &self.operator {
            html.raw("<form class=\"logout\" method=\"post\" action=\"").text(&operator.base).raw("/logout\">");
            html.raw("<input type=\"hidden\" name=\"form\" value=\"").text(&operator.form);
            html.raw("\"><button>Log out</button></form>");
        }
    }

    /// The login form, or the reason why login is not possible.
    pub(super) fn login(&self, html: &mut Html) {
        match self.running.snapshot.settings.admin.token_sha256 {
            _ if self.operator.is_some() => {}
            Some(_) => login::form(html),
            None => login::closed(html),
        }
    }
}

/// A refreshed section. `merged`: a person may be typing in it, so the script changes only rows that came or went.
fn part(html: &mut Html, id: &'static str, merged: bool, what: impl FnOnce(&mut Html)) {
    html.raw("<section id=\"").raw(id).raw(if merged { "\" data-merge>" } else { "\" data-live>" });
    what(html);
    html.raw("</section>");
}
