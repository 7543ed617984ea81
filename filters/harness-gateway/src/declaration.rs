//! The gateway's configuration key and its checks.

use frontdesk_config::{Declared, Extension, Findings, Item, Kind::*, Place, forms::*, key};

/// The gateway's configuration keys and checks.
pub static EXTENSION: Extension =
    Extension { keys: &[(Place::Harness, key("gateway_path", Text(own_path)))], documents: &[], check };

fn check(declared: &Declared<'_>, found: &mut Findings) {
    gateway(declared.root, found);
}

/// Checks that the gateway requires a credential, and does not shadow the site.
fn gateway(root: &Item, found: &mut Findings) {
    let Some(item) = root.at(&["harness", "gateway_path"]) else { return };
    if item.str().is_some_and(|path| path.trim_end_matches('/').is_empty()) {
        let finding = found.mistake(item.line, "harness.gateway_path", "\"/\" is all of the site");
        finding.hint("write a path such as \"/harness\"");
    }
    if !["api_keys", "jwks"].iter().any(|key| root.at(&["auth", key]).is_some()) {
        let what = "no agent can use it, because no credentials are configured";
        found.warning(item.line, "harness.gateway_path", what).hint("declare [[auth.api_keys]] or auth.jwks");
    }
}
