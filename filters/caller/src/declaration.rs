//! Checks that the declared keys can verify and sign.

use std::collections::HashMap;

use frontdesk_config::{Declared, Extension, Findings, Item, Settings};

use super::Callers;
use crate::signing::Signer;

/// The configuration checks about callers.
pub static EXTENSION: Extension = Extension { keys: &[], documents: &[], check };

fn check(declared: &Declared<'_>, found: &mut Findings) {
    signing_key(declared.root, declared.settings, found);
    keys(declared.root, &Callers::new(declared.settings, &HashMap::new()), found);
}

/// Checks that the key which signs the contract can sign.
fn signing_key(root: &Item, settings: &Settings, found: &mut Findings) {
    let item = root.at(&["integrity", "key"]);
    if let (Some(item), Some(Err(why))) = (item, settings.integrity.as_ref().map(Signer::new)) {
        found.mistake(item.line, "integrity.key", why);
    }
    if let Some(item) = root.at(&["integrity", "signed"]).filter(|signed| item.is_none() && signed.bool() == Some(true))
    {
        let finding =
            found.warning(item.line, "integrity.signed", "without a key nothing is signed, and nothing is said of it");
        finding.hint("name the private key in integrity.key");
    }
}

/// Reports keys that cannot verify anything.
fn keys(root: &Item, callers: &Callers, found: &mut Findings) {
    let place = |problem: &str| match problem.starts_with("auth.jwks") {
        true => (root.at(&["auth", "jwks"]), "auth.jwks"),
        false => (root.at(&["auth", "signed_agents", "keys"]), "auth.signed_agents.keys"),
    };
    for (problem, fatal) in callers.problems.iter().map(|p| (p, true)).chain(callers.notes.iter().map(|n| (n, false))) {
        let (item, key) = place(problem);
        let what = problem.strip_prefix("auth.jwks: ").unwrap_or(problem);
        // An array of tables has no line of its own.
        let line = item.map_or(0, |item| item.items().first().map_or(item.line, |first| first.line));
        let finding = if fatal { found.mistake(line, key, what) } else { found.warning(line, key, what) };
        finding.hint("write public keys as JWK (RFC 7517): Ed25519, P-256 or RSA of 2048 bits and more");
    }
}
