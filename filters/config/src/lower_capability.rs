//! Builds the typed settings of a capability and of its call to the site.

use frontdesk_base::{parameter::Style, schema::is_self_contained};
use serde_json::Value;

use super::{
    capability_kind::KINDS,
    lower_agtp, lower_pages,
    merge_policy::sensitivity_rank,
    raw::{Item, Value as Raw},
    schemas::{Pointed, Schemas},
    settings::*,
    view::View,
};

/// `all`: the top-level `[confirmation]`, which counts where the capability says nothing.
pub(super) fn capability(view: View, all: View, schemas: &Schemas) -> Option<Capability> {
    let schema = |key| match schemas.pointed(view.get(key)?) {
        Pointed::Inline(schema) => Some(schemas.alone(schema.json())),
        Pointed::Named(schema) => Some(schemas.alone(schema.clone())),
        Pointed::Nowhere => None,
    };
    let written = |key| match schemas.pointed(view.get(key)?) {
        Pointed::Inline(schema) => Some(schema.json()),
        Pointed::Named(schema) => Some(schema.clone()),
        Pointed::Nowhere => None,
    };
    let table = |key| View { item: view.get(key), ..view };
    Some(Capability {
        id: view.text("id")?,
        kind: capability_kind(view.get("type")?.str()?)?,
        description: view.text("description"),
        method: view.text("method"),
        endpoint: view.text("endpoint"),
        risk_level: view.text("risk_level"),
        data_sensitivity: sensitivity(view.text("data_sensitivity"), table("privacy").text("data_sensitivity")),
        auth: view.text("auth"),
        required_scopes: view.texts("required_scopes"),
        requires_user_confirmation: view.item.and_then(confirmed),
        requires_strong_authentication: view.flag("requires_strong_authentication", false),
        idempotency_required: view.flag("idempotency_required", false),
        cache_ttl: std::time::Duration::from_secs(view.number("cache_ttl_seconds", 0)),
        exposed: view.flag("exposed", true),
        group: view.text("group"),
        input_schema: schema("input_schema"),
        written_input_schema: written("input_schema").filter(is_self_contained),
        output_schema: schema("output_schema"),
        input: view.get("input_schema").and_then(|item| schemas.compiled(item).ok().flatten()),
        upstream: view.get("upstream").map(|_| call(table("upstream"))),
        aom: aom(table("aom")),
        confirmation: confirmation(table("confirmation"), all),
        privacy: privacy(table("privacy")),
        ahp: ahp(table("ahp")),
        agtp: lower_agtp::capability(table("agtp")),
        built_in: None,
    })
}

/// The kind of a `type`; `None` for an unknown word.
pub fn capability_kind(word: &str) -> Option<CapabilityKind> {
    KINDS.iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind)
}

/// A table of strings.
fn names(view: View, key: &str) -> Vec<(String, String)> {
    let entries = view.get(key).map(Item::entries).unwrap_or_default();
    entries.iter().filter_map(|entry| Some((entry.key.to_string(), entry.item.str()?.to_owned()))).collect()
}

fn call(view: View) -> Call {
    let names = |key| names(view, key);
    Call {
        method: view.text("method"),
        path: view.text("path"),
        url: view.text("url"),
        recipe: view.text("recipe"),
        desk: view.flag("desk", false),
        rename_input: names("rename_input"),
        rename_output: names("rename_output"),
        errors: names("errors").into_iter().filter_map(|(status, name)| Some((status.parse().ok()?, name))).collect(),
        timeout: view.get("timeout").map(|_| view.duration("timeout", "30s")),
        body: view.text("body").and_then(|word| match word.as_str() {
            "json" => Some(BodyForm::Json),
            "form" => Some(BodyForm::Form),
            "multipart" => Some(BodyForm::Multipart),
            "none" => Some(BodyForm::None),
            _ => None,
        }),
        body_optional: view.flag("body_optional", false),
        parameters: parameters(view),
        drop_undeclared: view.text("undeclared").as_deref() == Some("drop"),
        headers: names("headers"),
        idempotent: view.flag("idempotent", false),
        identity: match view.text("identity").as_deref() {
            Some("caller") => Identity::Caller,
            _ => Identity::None,
        },
        response: match view.text("response").as_deref() {
            Some("wrap") => ResponseKind::Wrap,
            Some("raw") => ResponseKind::Raw,
            Some("auto") => ResponseKind::Auto,
            Some("page") => ResponseKind::Page,
            Some("text") => ResponseKind::Text,
            Some("table") => ResponseKind::Table,
            Some("xml") => ResponseKind::Xml,
            Some("file") => ResponseKind::File,
            Some("extract") => ResponseKind::Extract,
            None if view.get("extract").is_some() => ResponseKind::Extract,
            // A form is answered with a page.
            None if view.get("form").is_some() => ResponseKind::Auto,
            _ => ResponseKind::Json,
        },
        says: names("errors").into_iter().filter(|(key, _)| key.starts_with('/')).collect(),
        body_template: view.text("body_template").filter(|text| !text.is_empty()),
        content_type: view.text("content_type").filter(|text| !text.is_empty()),
        failed: view.text("failed").filter(|text| !text.is_empty()),
        extract: view.get("extract").map(|item| lower_pages::extract(View { item: Some(item), ..view })),
        form_of_page: view.get("form").map(|item| lower_pages::form(View { item: Some(item), ..view })),
        keeps_cookies: view.text("cookies").as_deref() == Some("session"),
    }
}

/// How single inputs are written.
fn parameters(view: View) -> Vec<(String, Parameter)> {
    let entries = view.get("parameters").map(Item::entries).unwrap_or_default();
    let parameter = |item: &Item| {
        let place = item.get("in").and_then(Item::str).and_then(|word| match word {
            "path" => Some(ParameterPlace::Path),
            "query" => Some(ParameterPlace::Query),
            "header" => Some(ParameterPlace::Header),
            "body" => Some(ParameterPlace::Body),
            _ => None,
        });
        let explode = item.get("explode").and_then(Item::bool);
        let usual = match place {
            Some(ParameterPlace::Path | ParameterPlace::Header) => "simple",
            _ => "form",
        };
        let word = item.get("style").and_then(Item::str).or(explode.map(|_| usual));
        let name = item.get("name").and_then(Item::str).map(str::to_owned);
        Parameter { place, style: word.and_then(|word| Style::named(word, explode)), name }
    };
    entries.iter().map(|entry| (entry.key.to_string(), parameter(&entry.item))).collect()
}

fn aom(view: View) -> Aom {
    let freshness = View { item: view.get("freshness"), ..view };
    let action = |view: View| {
        Some(NextAction {
            id: view.text("id")?,
            label: view.text("label"),
            input: view.get("input").map_or_else(|| Value::Object(Default::default()), Item::json),
        })
    };
    Aom {
        max_age: freshness.get("max_age").map(|_| freshness.duration("max_age", "0s")),
        volatility: freshness.text("volatility"),
        revalidation_required_before_commit: freshness.get("revalidation_required_before_commit").and_then(Item::bool),
        warnings: view.get("warnings").map(Item::items).unwrap_or_default().iter().map(Item::json).collect(),
        agent_hints: view.get("agent_hints").map(Item::json),
        actions: view.tables("actions").filter_map(action).collect(),
    }
}

/// Whether a person confirms each call, where that is declared, in one word or as in AICP §5.10. If both are declared
/// the stricter one counts (§6.10). Consent is a confirmation too (§9.4).
pub(super) fn confirmed(capability: &Item) -> Option<bool> {
    let word = |path: &[&str]| capability.at(path).and_then(Item::bool);
    let consents = wants_consent(capability).then_some(true);
    word(&["requires_user_confirmation"]).max(word(&["confirmation", "required"])).max(consents)
}

/// The confirmation's texts. Those of AICP §5.10 stand in where ours are missing.
fn confirmation(view: View, all: View) -> Confirmation {
    let either = |key| view.text(key).or_else(|| all.text(key));
    Confirmation {
        expires: view.duration("expires", "5m"),
        summary: view.text("summary").or_else(|| view.text("confirmation_text")),
        consequence: view.text("consequence").or_else(|| view.text("reason")),
        by_page: either("by").as_deref() == Some("page"),
        notify_url: either("notify_url").filter(|url| !url.is_empty()),
    }
}

/// The capability's own sensitivity, unless that of its privacy table is stricter (AICP §6.10).
fn sensitivity(own: Option<String>, of_privacy: Option<String>) -> Option<String> {
    let rank = |word: &String| sensitivity_rank(word);
    // No statement is stricter than `public`.
    let least = own.as_ref().map_or(1, rank);
    of_privacy.filter(|word| rank(word) > least).or(own)
}

fn privacy(view: View) -> Privacy {
    Privacy {
        declared: view.item.map(Item::json),
        purpose: view.text("purpose"),
        retention: view.text("retention"),
        personal_data: view.texts("personal_data_required"),
        recipients: view.texts("third_party_sharing"),
        shares: shares(view.get("third_party_sharing")),
        explicit_consent: view.get("requires_explicit_consent").is_some_and(is_wish),
        is_personal: ["requires_explicit_consent", "personal_data_included"]
            .iter()
            .any(|key| view.get(key).is_some_and(is_wish))
            || ["personal_data_required", "data_categories"].iter().any(|key| shares(view.get(key))),
        forbidden_fields: view.texts("forbidden_fields"),
    }
}

/// Whether a person must give consent.
pub(super) fn wants_consent(capability: &Item) -> bool {
    capability.at(&["privacy", "requires_explicit_consent"]).is_some_and(is_wish)
}

/// Any value but `false` asks for consent.
fn is_wish(item: &Item) -> bool {
    !matches!(item.value, Raw::Boolean(false))
}

/// Any value but `false` and an empty list says that data is shared.
pub(super) fn shares(written: Option<&Item>) -> bool {
    written.is_some_and(|item| match &item.value {
        Raw::Boolean(shares) => *shares,
        Raw::Array(items) => !items.is_empty(),
        _ => true,
    })
}

fn ahp(view: View) -> AhpCapability {
    AhpCapability {
        name: view.text("name"),
        mode: view.text("mode"),
        action_type: view.text("action_type"),
        response_types: view.texts("response_types"),
        accept_fallback: view.get("accept_fallback").and_then(Item::bool),
        extract: names(view, "extract"),
        payload: view.get("payload").map(Item::json),
        answer: view.text("answer"),
        eta: view.get("eta").map(|_| view.duration("eta", "0s")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys_capability::TYPES;

    #[test]
    fn every_type_that_is_accepted_has_a_kind() {
        assert!(TYPES.iter().all(|word| capability_kind(word).is_some()));
        assert_eq!(capability_kind("action"), None);
    }
}
