//! Promise: every item of AGTP-API conformance (§13.1 of the draft) holds; each has a test of its name. Item 1 is the
//! endpoint itself.

mod answers;
mod endpoints;
mod policy;

use crate::support::calls::{last_upstream, upstream_calls};
use crate::support::lamps::{
    self, COMPOSED, ENDPOINTS, FULL, RECIPE, STAFF, lookup, negotiating, open, synthesising, with,
};
use crate::support::verbs::{
    MANIFEST, OTHER, anonymous, assert_code, assert_refusal, assert_says, assert_told, endpoint, is_hash, member,
    proposal, propose, verb,
};
use crate::support::{Ask, Origin, Response, Setup};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const CATALOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../conf/catalog/agtp-1.0.0.json");

const CATEGORIES: [&str; 9] = [
    "discovery",
    "retrieval",
    "analysis",
    "transaction",
    "modification",
    "creation",
    "notification",
    "mechanics",
    "domain_spanning",
];

const UPSTREAM_FAILURES: [&str; 5] = [
    "upstream_timeout",
    "upstream_connection_error",
    "upstream_malformed_response",
    "upstream_authentication_failed",
    "upstream_error",
];

/// Verbs that drafts name and the catalog has not, HTTP's that no alias knows, and one of ours.
const FOREIGN: [&str; 32] = [
    "AML",
    "BATCH",
    "BREAK",
    "CALL",
    "CHAIN",
    "COLLABORATE",
    "CONSENT",
    "DISPENSE",
    "EMBED",
    "HEDGE",
    "KYC",
    "LEARN",
    "LOG",
    "MAKE",
    "MAP",
    "PRESCRIBE",
    "PRESERVE",
    "RECOMMEND",
    "REDLINE",
    "REFER",
    "RUN",
    "SEND",
    "SYNC",
    "TAKE",
    "TRANSACT",
    "TRANSLATE",
    "TRIAGE",
    "TURN",
    "HEAD",
    "OPTIONS",
    "FROBNICATE",
    "DELETED",
];

fn catalog() -> Value {
    serde_json::from_str(&std::fs::read_to_string(CATALOG).expect("the catalog")).expect("JSON")
}

fn catalog_verbs() -> Vec<String> {
    let all = catalog()["verbs"].as_array().expect("verbs").clone();
    all.iter().map(|v| v["name"].as_str().expect("a name").to_owned()).collect()
}

/// The catalog as a later edition, with members of these verbs changed.
fn edition(version: &str, changes: &[(&str, Value)]) -> String {
    let mut all = catalog();
    all["version"] = version.into();
    for (name, change) in changes {
        let verbs = all["verbs"].as_array_mut().expect("verbs");
        let verb = verbs.iter_mut().find(|v| v["name"] == *name).expect("a verb of the catalog");
        verb.as_object_mut().expect("an object").extend(change.as_object().expect("members").clone());
    }
    all.to_string()
}

fn endpoints(manifest: &Value) -> &Vec<Value> {
    manifest["endpoints"].as_array().expect("endpoints")
}

fn paid(input: Value) -> Ask {
    verb("PURCHASE", "/basket").bearer(FULL).scopes("shop:buy").key("k-1").json(&input)
}
