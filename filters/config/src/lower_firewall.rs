//! Builds the typed settings of the firewall.

use super::{raw::Files, settings::*, view::View};
use frontdesk_firewall::{Mode, Modes, patterns};

/// `[firewall]`, with its defaults even where there is no table. `contact` is the site's own.
pub(super) fn firewall(view: View, contact: Option<String>, files: &Files) -> FirewallSettings {
    let mode = |key: &str, default: Mode| match view.text(key).as_deref() {
        Some("off") => Mode::Off,
        Some("report") => Mode::Report,
        Some("redact") => Mode::Redact,
        Some("block") => Mode::Block,
        _ => default,
    };
    let file = view.file("patterns").and_then(|file| files.get(&file));
    let address = contact.as_deref().map(|contact| contact.strip_prefix("mailto:").unwrap_or(contact).to_owned());
    FirewallSettings {
        hide: view.flag("hide", true),
        modes: Modes {
            secrets: mode("secrets", Mode::Redact),
            pii: mode("pii", Mode::Report),
            injection: mode("injection", Mode::Report),
        },
        exempt: view.texts("allow").into_iter().chain(contact).chain(address).collect(),
        // Unreadable patterns were reported before.
        patterns: file.and_then(|bytes| patterns(&String::from_utf8_lossy(bytes)).ok()).unwrap_or_default(),
    }
}
