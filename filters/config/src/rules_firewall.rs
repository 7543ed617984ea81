//! Checks the operator's firewall patterns, and warns of settings without effect.

use std::path::Path;

use super::{
    mistake::Findings,
    raw::{Files, Item},
};
use frontdesk_firewall::patterns;

/// The checks of `[firewall]`.
pub(super) fn rules(root: &Item, base: &Path, files: &Files, found: &mut Findings) {
    let Some(item) = root.at(&["firewall", "patterns"]) else { return };
    let Some(name) = item.str() else { return };
    let Some(bytes) = files.get(&base.join(name)) else { return };
    let Ok(text) = std::str::from_utf8(bytes) else {
        found.mistake(item.line, "firewall.patterns", format!("{name} is not UTF-8 text"));
        return;
    };
    for wrong in patterns(text).err().unwrap_or_default() {
        let what = format!("{name}:{}: {}", wrong.line, wrong.what);
        found.mistake(item.line, "firewall.patterns", what).hint(wrong.hint);
    }
}
