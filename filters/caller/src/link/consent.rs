//! What a person agreed to: a capability as it was when they read about it.
//!
//! The operator may change a capability later. A permission holds for the same request to the site at the same risk or a
//! lower one. For anything else the person is asked anew.

use frontdesk_base::text::hex;
use frontdesk_config::{Capability, CapabilityKind, risk_rank};
use ring::digest::{Context, SHA256};
use serde_json::{Value, json};

/// A capability that a person allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    /// The capability's id.
    pub id: String,
    acts: u64,
    risk: u64,
    confirmed: bool,
    /// A digest of what the site is asked.
    request: String,
}

impl Consent {
    /// The consent to a capability as it is declared now.
    pub fn to(capability: &Capability) -> Self {
        Self {
            id: capability.id.clone(),
            acts: acts(capability.kind),
            risk: risk_rank(capability.risk()) as u64,
            confirmed: capability.is_confirmed(),
            request: request(capability),
        }
    }

    /// Whether it holds for a capability as it is declared now.
    pub fn covers(&self, capability: &Capability) -> bool {
        let now = Self::to(capability);
        self.id == now.id
            && self.request == now.request
            && now.acts <= self.acts
            && now.risk <= self.risk
            && (now.confirmed || !self.confirmed)
    }

    /// Reads a stored one.
    pub fn read(value: &Value) -> Option<Self> {
        Some(Self {
            id: value["id"].as_str()?.to_owned(),
            acts: value["acts"].as_u64()?,
            risk: value["risk"].as_u64()?,
            confirmed: value["confirmed"].as_bool()?,
            request: value["request"].as_str()?.to_owned(),
        })
    }

    /// Reads a stored list. What cannot be read is no consent.
    pub fn read_all(value: &Value) -> Option<Vec<Self>> {
        Some(value.as_array()?.iter().filter_map(Self::read).collect())
    }

    /// Its stored form.
    pub fn json(&self) -> Value {
        json!({
            "id": self.id, "acts": self.acts, "risk": self.risk, "confirmed": self.confirmed, "request": self.request,
        })
    }
}

/// How much a kind of capability changes, from nothing to what cannot be undone.
fn acts(kind: CapabilityKind) -> u64 {
    match kind {
        CapabilityKind::DestructiveAction => 3,
        CapabilityKind::CommitAction => 2,
        kind if !kind.is_read() => 1,
        _ => 0,
    }
}

/// A digest of the request that a capability makes at the site, and of the inputs that it takes. How answers are read, words
/// and limits are not in it.
fn request(capability: &Capability) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut add = |name: &str, value: &str| parts.push(format!("{name}={value}"));
    let Some(call) = &capability.upstream else { return String::new() };
    let own = |text: &Option<String>| text.clone().unwrap_or_default();
    add("method", call.method.as_deref().unwrap_or(capability.method()));
    add("path", call.path.as_deref().or(capability.endpoint.as_deref()).unwrap_or_default());
    add("url", &own(&call.url));
    add("recipe", &own(&call.recipe));
    add("template", &own(&call.body_template));
    for (ours, theirs) in &call.rename_input {
        add("renamed", &format!("{ours}:{theirs}"));
    }
    // Their values are often the operator's keys, which change by themselves.
    for (name, _) in &call.headers {
        add("header", name);
    }
    add("undeclared inputs", if call.drop_undeclared { "no" } else { "yes" });
    if let Some(form) = &call.form_of_page {
        add("form", &form.page);
        add("select", &own(&form.select));
        add("submit", &own(&form.submit));
    }
    let mut inputs = Vec::new();
    if let Some(schema) = &capability.input_schema {
        constraints(schema, false, "", &mut inputs);
    }
    inputs.sort();
    for input in &inputs {
        add("input", input);
    }
    let mut digest = Context::new(&SHA256);
    for part in &parts {
        digest.update(&(part.len() as u64).to_be_bytes());
        digest.update(part.as_bytes());
    }
    hex(&digest.finish().as_ref()[..16])
}

/// What a schema says about inputs, without what it says to readers. `named`: the keys of this object are names of inputs.
fn constraints(schema: &Value, named: bool, path: &str, out: &mut Vec<String>) {
    const WORDS: [&str; 6] = ["title", "description", "examples", "example", "$comment", "deprecated"];
    const NAMES: [&str; 3] = ["properties", "patternProperties", "$defs"];
    match schema {
        Value::Object(all) => {
            out.push(path.to_owned());
            for (key, value) in all.iter().filter(|(key, _)| named || !WORDS.contains(&key.as_str())) {
                constraints(value, !named && NAMES.contains(&key.as_str()), &format!("{path}/{key}"), out);
            }
        }
        Value::Array(all) => {
            for (at, value) in all.iter().enumerate() {
                constraints(value, false, &format!("{path}/{at}"), out);
            }
        }
        leaf => out.push(format!("{path}={leaf}")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use frontdesk_config::testing::{Nowhere, declare_text};

    use super::*;

    /// A capability with these lines, of this kind, and with these lines of `upstream`.
    fn declared(kind: &str, lines: &str, upstream: &str) -> Capability {
        let text = format!(
            "[upstream]\nurl = 'http://127.0.0.1:9'\n[[capabilities]]\nid = 'orders'\ntype = '{kind}'\ndescription = 'D'\n\
             endpoint = '/agent/orders'\nrisk_level = 'low'\n{lines}\n[capabilities.upstream]\nidentity = 'caller'\n{upstream}\n"
        );
        declare_text(Path::new("/x.toml"), &text, &Nowhere).unwrap().settings.capabilities[0].clone()
    }

    #[test]
    fn a_capability_that_has_become_riskier_is_not_covered() {
        const READ: &str = "method = 'GET'\npath = '/orders'";
        let consent = Consent::to(&declared("query", "", READ));
        assert_eq!(Consent::read(&consent.json()).as_ref(), Some(&consent));
        assert!(consent.covers(&declared("query", "", READ)));
        assert!(consent.covers(&declared("query", "cache_ttl = '1m'", READ)));
        let bounded = |words: &str, most: u64| {
            let n = format!("{{ type = 'integer', maximum = {most}, description = '{words}' }}");
            declared("query", &format!("input_schema = {{ type = 'object', properties = {{ n = {n} }} }}"), READ)
        };
        let few = Consent::to(&bounded("How many.", 10));
        assert!(few.covers(&bounded("Other words.", 10)) && !few.covers(&bounded("How many.", 1000)));
        let input = "input_schema = { type = 'object', properties = { everybody = { type = 'boolean' } } }";
        for (kind, lines, upstream) in [
            ("commit_action", "", READ),
            ("destructive_action", "", READ),
            ("query", input, READ),
            ("query", "", "method = 'GET'\npath = '/orders?of=all'"),
            ("query", "", "method = 'POST'\npath = '/orders'"),
        ] {
            assert!(!consent.covers(&declared(kind, lines, upstream)), "{kind} {lines} {upstream}");
        }
        const ACT: &str = "method = 'POST'\npath = '/orders'";
        let consent = Consent::to(&declared("commit_action", "requires_user_confirmation = true", ACT));
        assert!(!consent.covers(&declared("commit_action", "requires_user_confirmation = false", ACT)));
        let without = Consent::to(&declared("commit_action", "requires_user_confirmation = false", ACT));
        assert!(without.covers(&declared("commit_action", "requires_user_confirmation = true", ACT)));
        assert!(without.covers(&declared("query", "", ACT)), "it does less");
        let high = declared("commit_action", "requires_user_confirmation = false", ACT);
        let high = Capability { risk_level: Some("high".into()), ..high };
        assert!(!without.covers(&high) && Consent::to(&high).covers(&high));
    }
}
