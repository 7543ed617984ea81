//! Determines a contract's conformance level (AICP §14.7), and what the next level requires.
//!
//! It relies on the contract's statements and calls nothing to verify them.

use std::collections::HashSet;

use serde_json::Value;

use super::{
    contract::{Capability, Contract, Risk},
    plain::some,
};

/// The names of the levels.
const LEVELS: [&str; 6] = [
    "a static public manifest",
    "valid capabilities with schemas",
    "policies, provenance and risk levels",
    "auth-aware capabilities and scopes",
    "AOM responses and safe action gating",
    "auditability, idempotency and dynamic contracts",
];

/// The level of a contract.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Level {
    /// 0 to 5.
    pub(super) reached: usize,
    /// What the next level requires and the contract lacks; empty at the last.
    pub(super) missing: Vec<String>,
}

impl Level {
    pub(super) fn name(&self) -> &'static str {
        LEVELS[self.reached]
    }

    pub(super) fn next(&self) -> Option<(usize, &'static str)> {
        LEVELS.get(self.reached + 1).map(|name| (self.reached + 1, *name))
    }
}

/// Each level includes the ones before. `dynamic`: there is a contract for authenticated callers.
pub(super) fn level(contract: &Contract, valid: bool, dynamic: bool) -> Level {
    let asked: [fn(&Contract) -> Vec<String>; 4] = [schemas, terms, auth, gating];
    for (reached, asks) in asked.iter().enumerate() {
        let mut missing = asks(contract);
        if reached == 0 && !valid {
            missing.insert(0, "a contract without the mistakes above".into());
        }
        if !missing.is_empty() {
            return Level { reached, missing };
        }
    }
    let missing = trail(contract, dynamic);
    Level { reached: if missing.is_empty() { 5 } else { 4 }, missing }
}

fn schemas(contract: &Contract) -> Vec<String> {
    if contract.capabilities.is_empty() {
        return vec!["a capability".into()];
    }
    let kind = |c: &Capability, kinds: &[&str]| c.kind.as_deref().is_some_and(|kind| kinds.contains(&kind));
    let schema = |c: &Capability, key: &str| {
        c.raw.get(key).is_some_and(|v| v.is_object() || v.is_string()) && !contract.loses(c, key)
    };
    let input = |c: &Capability| !kind(c, &["event", "policy", "resource"]) && !schema(c, "input_schema");
    let output = |c: &Capability| !kind(c, &["event", "policy"]) && !schema(c, "output_schema");
    [lacking(contract, "input_schema", input), lacking(contract, "output_schema", output)]
        .into_iter()
        .flatten()
        .collect()
}

fn terms(contract: &Contract) -> Vec<String> {
    let table = |name: &str| (!contract.has(name)).then(|| format!("[{name}]"));
    let risk = lacking(contract, "risk_level", |c| c.risk.is_none());
    [table("policies"), table("provenance"), risk].into_iter().flatten().collect()
}

fn auth(contract: &Contract) -> Vec<String> {
    let mut missing = Vec::new();
    let kind = contract.text("auth", "type");
    if kind.is_none() {
        missing.push("auth.type".into());
    }
    missing.extend(lacking(contract, "auth", |c| c.auth.is_none()));
    let needed = |c: &Capability| c.auth.as_deref() == Some("required");
    if kind.as_deref() == Some("none") && contract.capabilities.iter().any(needed) {
        missing.push("an auth.type other than none, since capabilities require it".into());
    }
    missing.extend(lacking(contract, "required_scopes", |c| needed(c) && c.scopes().is_empty()));
    let listed = contract.at("auth", "available_scopes").and_then(Value::as_array);
    let listed: HashSet<&str> = listed.into_iter().flatten().filter_map(Value::as_str).collect();
    missing.extend(lacking(contract, "auth.available_scopes with every scope", |c| {
        c.scopes().iter().any(|scope| !listed.contains(scope.as_str()))
    }));
    missing
}

fn gating(contract: &Contract) -> Vec<String> {
    let mut missing = Vec::new();
    if contract.text("formats", "runtime_response").is_none_or(|format| !format.starts_with("application/aom+json")) {
        missing.push("formats.runtime_response = \"application/aom+json\"".into());
    }
    let ungated = |c: &Capability| {
        let grave = c.effective_risk() >= Risk::High || c.kind.as_deref() != Some("prepare_action");
        c.is_action() && (c.confirmation.is_none() || (grave && c.confirmation == Some(false)))
    };
    missing.extend(lacking(contract, "requires_user_confirmation", ungated));
    missing
}

fn trail(contract: &Contract, dynamic: bool) -> Vec<String> {
    let mut missing = Vec::new();
    if contract.at("audit", "enabled").and_then(Value::as_bool) != Some(true) {
        missing.push("audit.enabled = true".into());
    }
    missing.extend(lacking(contract, "idempotency_required", |c| {
        c.is_action() && c.effective_risk() >= Risk::High && !c.flag("idempotency_required")
    }));
    if !dynamic {
        missing.push(format!("a contract for authenticated callers, at {}", super::DYNAMIC));
    }
    missing
}

/// One line for all capabilities that lack something.
fn lacking(contract: &Contract, what: &str, lacks: impl Fn(&Capability) -> bool) -> Option<String> {
    let names: Vec<&str> = contract.capabilities.iter().filter(|c| lacks(c)).map(Capability::name).collect();
    (!names.is_empty()).then(|| format!("{what}: {}", some(&names)))
}
