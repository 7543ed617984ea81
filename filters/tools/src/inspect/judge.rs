//! Judges another site's contract: mistakes, and warnings for an agent that relies on it.

use std::collections::HashSet;

use frontdesk_filters::site;
use serde_json::Value;
use url::{Host, Url};

use super::{
    contract::{Capability, Contract},
    plain::{plain, some},
};

/// The supported version.
const VERSION: &str = "0.1";

/// The findings.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Mistakes that make the contract invalid.
    pub(super) mistakes: Vec<String>,
    pub(super) warnings: Vec<String>,
}

/// Judges a contract that was fetched from this origin.
pub(super) fn judge(contract: &Contract, base: &Url) -> Findings {
    let mut found = Findings::default();
    top(contract, &mut found);
    origin(contract, base, &mut found);
    for (index, capability) in contract.capabilities.iter().enumerate() {
        shape(index, capability, base, &mut found);
    }
    let mut seen = HashSet::new();
    let twice: Vec<&str> =
        contract.capabilities.iter().filter_map(|c| c.id.as_deref()).filter(|id| !seen.insert(*id)).collect();
    if !twice.is_empty() {
        found.mistakes.push(format!("more than one capability is called {}", some(&twice)));
    }
    defaults(contract, &mut found);
    schemas(contract, &mut found);
    found
}

fn top(contract: &Contract, found: &mut Findings) {
    match &contract.version {
        None => found.mistakes.push("aicp_version is missing".into()),
        Some(version) => {
            let also = contract.raw.get("supported_versions").and_then(Value::as_array);
            let understood = version == VERSION
                || also.is_some_and(|versions| versions.iter().any(|version| version.as_str() == Some(VERSION)));
            // A contract whose own minimum version excludes this reader is not interpreted further (AICP §6.10).
            let least = contract.raw.get("min_supported_version").and_then(Value::as_str);
            match least.filter(|least| site::version(least) > site::version(VERSION)) {
                Some(least) => {
                    let what = format!("it is for {} and later, and only {VERSION} is known here", plain(least));
                    found.mistakes.push(what);
                }
                None if !understood => {
                    found.warnings.push(format!("version {version} is not known here; it is read as {VERSION}"));
                }
                None => {}
            }
        }
    }
    match contract.raw.get("capabilities") {
        Some(Value::Array(_)) | None => {}
        Some(_) => found.mistakes.push("capabilities is not a list of tables".into()),
    }
    for table in ["site", "auth", "policies", "formats", "provenance", "audit", "integrity", "cache", "rate_limits"] {
        if contract.raw.get(table).is_some_and(|value| !value.is_object()) {
            found.mistakes.push(format!("{table} is not a table"));
        }
    }
}

/// A contract is valid for its own origin only (AICP §8.11).
fn origin(contract: &Contract, base: &Url, found: &mut Findings) {
    let here = base.origin().ascii_serialization();
    match contract.at("site", "origin").and_then(Value::as_str) {
        None => found.warnings.push(format!("site.origin is missing: nothing binds the contract to {here}")),
        Some(text) => match Url::parse(text) {
            Ok(url) if url.origin() == base.origin() => {}
            Ok(_) => found.warnings.push(format!("the contract is for {}, but is served by {here}", plain(text))),
            Err(_) => found.mistakes.push(format!("site.origin is no URL: {}", plain(text))),
        },
    }
    let local = match base.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    if base.scheme() != "https" && !local {
        found.warnings.push("it came without TLS: it may have been changed on the way".into());
    }
}

fn shape(index: usize, capability: &Capability, base: &Url, found: &mut Findings) {
    let name = match &capability.id {
        Some(id) => id.clone(),
        None => {
            found.mistakes.push(format!("capabilities[{index}] has no id"));
            format!("capabilities[{index}]")
        }
    };
    match &capability.kind {
        None => found.mistakes.push(format!("{name} has no type")),
        Some(kind) if !capability.known_kind() => {
            found.mistakes.push(format!("{name} has an unknown type, {kind}: not to be called automatically"));
        }
        Some(_) => {}
    }
    let word = |key: &str, read: bool| (capability.raw.contains_key(key) && !read).then(|| key.to_owned());
    let wrong = [
        word("risk_level", capability.risk.is_some()),
        word("auth", capability.auth.is_some()),
        word("requires_user_confirmation", capability.confirmation.is_some()),
        word("required_scopes", capability.raw.get("required_scopes").is_some_and(Value::is_array)),
        word("idempotency_required", capability.raw.get("idempotency_required").is_some_and(Value::is_boolean)),
        word("endpoint", capability.raw.get("endpoint").is_some_and(Value::is_string)),
        word("method", capability.raw.get("method").is_some_and(Value::is_string)),
    ];
    for key in wrong.into_iter().flatten() {
        found.mistakes.push(format!("{name}: {key} cannot be understood"));
    }
    if let Some(endpoint) = capability.raw.get("endpoint").and_then(Value::as_str)
        && base.join(endpoint).is_ok_and(|url| url.origin() != base.origin())
    {
        found.warnings.push(format!("{name} is called on another origin: {}", plain(endpoint)));
    }
}

/// Missing values, and how they are interpreted.
fn defaults(contract: &Contract, found: &mut Findings) {
    let mut taken = |lacks: &dyn Fn(&Capability) -> bool, what: &str| {
        let names: Vec<&str> = contract.capabilities.iter().filter(|c| lacks(c)).map(Capability::name).collect();
        if !names.is_empty() {
            found.warnings.push(format!("{what}: {}", some(&names)));
        }
    };
    taken(&|c| c.risk.is_none(), "no risk_level, so treated as high");
    taken(&|c| c.auth.is_none() && c.is_action(), "no auth, so a credential is needed");
    taken(&|c| c.confirmation.is_none() && c.is_action(), "no requires_user_confirmation, so a person has to confirm");
    taken(&|c| c.confirmation == Some(false) && c.is_action(), "an action that no person confirms");
    let open = |c: &Capability| matches!(c.auth.as_deref(), Some("none" | "optional"));
    taken(&|c| open(c) && c.is_action(), "an action that anyone may call");
    taken(&|c| open(c) && !c.scopes().is_empty(), "it needs scopes, so a credential is needed, whatever auth says");
}

/// Named schemas that do not exist.
fn schemas(contract: &Contract, found: &mut Findings) {
    let lost =
        |capability: &&Capability| ["input_schema", "output_schema"].iter().any(|key| contract.loses(capability, key));
    let names: Vec<&str> = contract.capabilities.iter().filter(lost).map(Capability::name).collect();
    if !names.is_empty() {
        found.warnings.push(format!("a schema is named that is not in [schemas]: {}", some(&names)));
    }
}
