//! Builds the typed settings of supervision.

use super::{
    settings::{Harness, risk_rank},
    view::View,
};

/// `None` where there is no such table.
pub(super) fn harness(view: View) -> Option<Harness> {
    view.item?;
    let urls = if view.get("url").is_some() { view.texts("url") } else { view.texts("urls") };
    Some(Harness {
        urls,
        token: view.text_or("token", ""),
        min_risk: risk_rank(&view.text_or("min_risk", "medium")),
        timeout: view.duration("timeout", "500ms"),
        goes_on: view.text("on_error").as_deref() == Some("allow"),
        gateway_path: view.text("gateway_path").map(|path| path.trim_end_matches('/').to_owned()),
    })
}
