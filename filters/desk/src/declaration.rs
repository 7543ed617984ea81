//! The desk's own configuration checks: rules about the headers that every call carries.

use frontdesk_config::{Declared, Extension, Findings, Item};

use super::call::static_header;

/// The desk's configuration checks.
pub static EXTENSION: Extension = Extension { keys: &[], documents: &[], check };

fn check(declared: &Declared<'_>, found: &mut Findings) {
    let capabilities = declared.root.get("capabilities").map(Item::items).unwrap_or_default();
    for (index, capability) in capabilities.iter().enumerate() {
        for entry in capability.at(&["upstream", "headers"]).map(Item::entries).unwrap_or_default() {
            if let Err(why) = static_header(&entry.key, entry.item.str().unwrap_or_default()) {
                let key = format_args!("capabilities[{index}].upstream.headers.{}", entry.key);
                found.mistake(entry.line, key, why);
            }
        }
        for entry in capability.at(&["upstream", "parameters"]).map(Item::entries).unwrap_or_default() {
            if entry.item.get("in").and_then(Item::str) != Some("header") {
                continue;
            }
            let renamed = capability.at(&["upstream", "rename_input"]).and_then(|names| names.get(&entry.key));
            if let Err(why) = static_header(renamed.and_then(Item::str).unwrap_or(&entry.key), "") {
                let key = format_args!("capabilities[{index}].upstream.parameters.{}", entry.key);
                found.mistake(entry.line, key, why);
            }
        }
    }
}
