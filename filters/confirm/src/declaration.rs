//! What `check` says about confirmation pages.

use frontdesk_config::{AuthNeed, Capability, Declared, Extension, Findings, Item, Settings};

/// The configuration checks about confirmation pages.
pub static EXTENSION: Extension = Extension { keys: &[], documents: &[], check };

fn check(declared: &Declared<'_>, found: &mut Findings) {
    let (root, settings) = (declared.root, declared.settings);
    let capabilities = root.get("capabilities").map(Item::items).unwrap_or_default();
    let all = root.get("confirmation");
    let place = |index: usize, key: &str| match capabilities.get(index)?.at(&["confirmation", key]) {
        Some(item) => Some((item.line, format!("capabilities[{index}].confirmation.{key}"))),
        None => all?.get(key).map(|item| (item.line, format!("confirmation.{key}"))),
    };
    for (index, capability) in settings.capabilities.iter().enumerate() {
        let confirmation = &capability.confirmation;
        if !confirmation.by_page {
            if let Some((line, key)) = place(index, "notify_url").filter(|_| confirmation.notify_url.is_some()) {
                found.warning(line, key, "has no effect without by = \"page\"");
            }
            continue;
        }
        let Some((line, key)) = place(index, "by") else { continue };
        if confirmation.notify_url.is_none() && settings.auth.visitor.is_none() {
            found
                .warning(line, key, "an agent that can open pages could confirm by itself")
                .hint("declare [auth.visitor], or notify_url, so that only the person gets to the page");
            // One warning says it for all.
            break;
        }
        if confirmation.notify_url.is_none() && is_in_nobodys_name(capability, settings) {
            found
                .warning(
                    line,
                    key,
                    "a call without a credential is nobody's: anybody who is signed in could confirm it",
                )
                .hint("write auth = \"required\", so that the call's own person is asked");
            break;
        }
    }
}

/// Whether a capability can be called without a credential, so that no person is known who alone may confirm.
fn is_in_nobodys_name(capability: &Capability, settings: &Settings) -> bool {
    settings.policies.anonymous_access
        && capability.auth_need() != AuthNeed::Required
        && capability.required_scopes.is_empty()
        && !capability.requires_strong_authentication
}
