//! Makes a composition as strict as the strictest of its steps.
//!
//! Whatever the recipe's capability says, each step keeps its declared restrictions: the whole takes the highest risk,
//! all scopes, and a confirmation if any step needs one. The enforced values are also the published ones.

use serde_json::{Value, json};

use super::{Capability, CapabilityKind, Node, Settings, capability_kind::KINDS, settings_harness::RISK};

/// The sensitivity that is implied where only personal data is mentioned.
const PERSONAL: &str = "personal";
/// From the least to the most strict. No statement ranks above `public`.
const SENSITIVITIES: [&str; 5] = ["public", PERSONAL, "confidential", "special_category", "regulated"];

/// The rank of no statement.
const UNSAID: usize = 1;

/// A value that became stricter than written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raised {
    /// The key, with a dot where it is in a sub-table.
    pub(super) key: &'static str,
    /// The first step that requires it.
    pub(super) step: usize,
}

/// Makes a capability as strict as its steps.
pub fn raise(own: &mut Capability, steps: &[&Capability], settings: &Settings) -> Vec<Raised> {
    let mut all = Vec::new();
    let mut raised = |key, step| {
        if !all.iter().any(|raised: &Raised| raised.key == key) {
            all.push(Raised { key, step });
        }
    };
    // First, because the safe defaults depend on it.
    for (at, step) in steps.iter().enumerate() {
        if acting(step.kind) > acting(own.kind) {
            own.kind = step.kind;
            raised("type", at);
        }
    }
    let shared = |of: &Capability| {
        let is_personal = of.privacy.explicit_consent || !of.privacy.personal_data.is_empty();
        let unsaid = of.privacy.recipients.is_empty() && is_personal;
        if unsaid { settings.third_parties.clone() } else { of.privacy.recipients.clone() }
    };
    // Where no step names recipients, a person sees the site's own list.
    let some = steps.iter().copied().chain([&*own]).any(|of| !of.privacy.recipients.is_empty());
    if some {
        own.privacy.recipients = shared(own);
    }
    for (at, step) in steps.iter().enumerate() {
        if place(RISK, step.risk()) > place(RISK, own.risk()) {
            own.risk_level = Some(step.risk().to_owned());
            raised("risk_level", at);
        }
        if sensitivity(step) > sensitivity(own) {
            own.data_sensitivity =
                step.data_sensitivity.clone().or_else(|| step.is_sensitive().then(|| PERSONAL.to_owned()));
            raised("data_sensitivity", at);
        }
        if step.auth_need() > own.auth_need() {
            own.auth = Some(step.auth_need().word().to_owned());
            raised("auth", at);
        }
        if add(&mut own.required_scopes, &step.required_scopes) {
            raised("required_scopes", at);
        }
        if step.is_confirmed() {
            own.confirmation.expires = own.confirmation.expires.min(step.confirmation.expires);
            if !own.requires_user_confirmation.unwrap_or(own.kind.is_action()) {
                own.requires_user_confirmation = Some(true);
                raised("requires_user_confirmation", at);
            }
        }
        for (key, own, step) in [
            (
                "requires_strong_authentication",
                &mut own.requires_strong_authentication,
                step.requires_strong_authentication,
            ),
            ("idempotency_required", &mut own.idempotency_required, step.idempotency_required),
            ("privacy.requires_explicit_consent", &mut own.privacy.explicit_consent, step.privacy.explicit_consent),
        ] {
            if step && !*own {
                *own = true;
                raised(key, at);
            }
        }
        if add(&mut own.privacy.forbidden_fields, &step.privacy.forbidden_fields) {
            raised("privacy.forbidden_fields", at);
        }
        if add(&mut own.privacy.personal_data, &step.privacy.personal_data) {
            raised("privacy.personal_data_required", at);
        }
        own.privacy.shares |= step.privacy.shares;
        if some && add(&mut own.privacy.recipients, &shared(step)) {
            raised("privacy.third_party_sharing", at);
        }
        let ttl = step.kept_for(settings);
        if ttl < own.cache_ttl {
            own.cache_ttl = ttl;
            raised("cache_ttl_seconds", at);
        }
    }
    if all.iter().any(|raised| raised.key.starts_with("privacy.")) {
        let mut declared = own.privacy.declared.take().filter(Value::is_object).unwrap_or_else(|| json!({}));
        for raised in &all {
            if let (Some(name), Some(node)) = (raised.key.strip_prefix("privacy."), node(own, raised.key)) {
                declared[name] = node.to_json();
            }
        }
        own.privacy.declared = Some(declared);
    }
    all
}

/// Adds the raised values to the published contract.
pub(super) fn publish(contract: &mut Node, capability: &Capability, all: &[Raised]) {
    let Some(Node::Array(published)) = member(contract, "capabilities") else { return };
    let is_it = |node: &&mut Node| node.get("id").and_then(Node::as_str) == Some(&capability.id);
    let Some(published) = published.iter_mut().find(is_it) else { return };
    for raised in all {
        let value = node(capability, raised.key);
        match raised.key.split_once('.') {
            Some((table, key)) => {
                if member(published, table).is_none() {
                    put(published, table, Some(Node::Table(Vec::new())));
                }
                member(published, table).into_iter().for_each(|table| put(table, key, value.clone()));
            }
            None => put(published, raised.key, value),
        }
    }
}

/// The effective value of a key; `None`: nothing to publish.
pub(super) fn node(capability: &Capability, key: &str) -> Option<Node> {
    let text = |text: &str| Some(Node::String(text.to_owned()));
    let list = |list: &[String]| Some(Node::Array(list.iter().cloned().map(Node::String).collect()));
    let privacy = &capability.privacy;
    match key {
        "type" => text(word(capability.kind)),
        "risk_level" => text(capability.risk()),
        "data_sensitivity" => text(capability.data_sensitivity.as_ref()?),
        "auth" => text(capability.auth_need().word()),
        "required_scopes" => list(&capability.required_scopes),
        "requires_user_confirmation" => Some(Node::Boolean(capability.is_confirmed())),
        "requires_strong_authentication" => Some(Node::Boolean(capability.requires_strong_authentication)),
        "idempotency_required" => Some(Node::Boolean(capability.idempotency_required)),
        "cache_ttl_seconds" => i64::try_from(capability.cache_ttl.as_secs()).ok().map(Node::Integer),
        "privacy.requires_explicit_consent" => Some(Node::Boolean(privacy.explicit_consent)),
        "privacy.forbidden_fields" => list(&privacy.forbidden_fields),
        "privacy.personal_data_required" => list(&privacy.personal_data),
        "privacy.third_party_sharing" => list(&privacy.recipients),
        _ => None,
    }
}

/// The word in a declaration.
pub(super) fn word(kind: CapabilityKind) -> &'static str {
    KINDS.iter().find(|(_, of)| *of == kind).map_or("", |(word, _)| word)
}

/// The strength of its effect.
pub(super) fn acting(kind: CapabilityKind) -> u8 {
    match kind {
        CapabilityKind::DestructiveAction => 3,
        CapabilityKind::CommitAction => 2,
        CapabilityKind::PrepareAction => 1,
        _ => 0,
    }
}

fn place(words: &[&str], word: &str) -> Option<usize> {
    words.iter().position(|known| *known == word)
}

/// `public` ranks below no statement.
fn sensitivity(capability: &Capability) -> usize {
    match capability.data_sensitivity.as_deref() {
        None if capability.is_sensitive() => sensitivity_rank(PERSONAL),
        None => UNSAID,
        Some(word) => sensitivity_rank(word),
    }
}

/// The rank of a `data_sensitivity`; an unknown word counts as personal.
pub(super) fn sensitivity_rank(word: &str) -> usize {
    match word {
        "public" => 0,
        word => place(&SENSITIVITIES, word).map_or(UNSAID + 1, |place| place + UNSAID),
    }
}

/// Adds the missing items; returns whether there were any.
fn add(own: &mut Vec<String>, more: &[String]) -> bool {
    let before = own.len();
    for name in more {
        if !own.contains(name) {
            own.push(name.clone());
        }
    }
    own.len() > before
}

fn member<'n>(node: &'n mut Node, key: &str) -> Option<&'n mut Node> {
    match node {
        Node::Table(entries) => entries.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value),
        _ => None,
    }
}

/// Sets or removes a member.
pub(super) fn put(node: &mut Node, key: &str, value: Option<Node>) {
    let Node::Table(entries) = node else { return };
    let at = entries.iter().position(|(name, _)| name == key);
    match (at, value) {
        (Some(at), Some(value)) => entries[at].1 = value,
        (Some(at), None) => drop(entries.remove(at)),
        (None, Some(value)) => entries.push((key.to_owned(), value)),
        (None, None) => {}
    }
}
