//! Checks the parts of a capability that AGTP cannot express (AGTP-API §6.4, §6.5, §12.3).

use serde_json::Value;

use frontdesk_config::{Findings, Item, Pointed, Schemas};

use super::{super::is_scope, verbs::tables};

/// The HTTP methods for the site behind an endpoint (§12.3).
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/// Checks every capability, where AGTP is on.
pub(super) fn rules(root: &Item, schemas: &Schemas, found: &mut Findings) {
    for (index, capability) in tables(root, &["capabilities"]) {
        let key = |key: &str| format!("capabilities[{index}].{key}");
        for scope in capability.get("required_scopes").map(Item::items).unwrap_or_default() {
            if scope.str().is_some_and(|text| !is_scope(text)) {
                let what =
                    format!("{} is no scope that a caller of verbs can claim: none can call this", scope.shown());
                let finding = found.warning(scope.line, key("required_scopes"), what);
                finding.hint("write two parts or more, in small letters, with a colon between: \"bookings:hold\"");
            }
        }
        let method = capability.at(&["upstream", "method"]);
        if let Some(item) = method.filter(|item| item.str().is_some_and(|method| !METHODS.contains(&method))) {
            let what = format!("{} is nothing that a site is asked with for a caller of verbs", item.shown());
            let finding = found.warning(item.line, key("upstream.method"), what);
            finding.hint(format!("AGTP-API §12.3 names {}", METHODS.join(", ")));
        }
        if let Some(item) = capability.get("input_schema").filter(|item| !may_be_an_object(item, schemas)) {
            let finding = found.mistake(item.line, key("input_schema"), "describes no object, and every input is one");
            finding.hint("write type = \"object\", and what it holds in properties");
        }
        if let Some(item) = capability.at(&["agtp", "deprecated"]) {
            deprecated(item, &key("agtp.deprecated"), found);
        }
    }
}

/// Whether a schema can accept an object, the only input that AGTP sends.
fn may_be_an_object(item: &Item, schemas: &Schemas) -> bool {
    let schema = match schemas.pointed(item) {
        Pointed::Inline(item) => schemas.alone(item.json()),
        Pointed::Named(schema) => schemas.alone(schema.clone()),
        Pointed::Nowhere => return true,
    };
    match &schema["type"] {
        Value::String(kind) => kind == "object",
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "object"),
        _ => true,
    }
}

/// Checks the deprecation of an endpoint, which the manifest and a header announce.
fn deprecated(item: &Item, key: &str, found: &mut Findings) {
    if item.get("deprecated_in").is_none() {
        let what = "does not say since when: deprecated_in is missing";
        found.warning(item.line, key, what).hint("write deprecated_in = \"1.0\", the version that it began with");
    }
    for name in ["deprecated_in", "removed_in"] {
        let Some(version) = item.get(name) else { continue };
        if version.str().is_some_and(|text| text.chars().any(char::is_control)) {
            let finding = found.mistake(version.line, format!("{key}.{name}"), "holds a character that no header can");
            finding.hint("write a version, such as \"2.0\"");
        }
    }
}
