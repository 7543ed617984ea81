//! What the contract says: what was declared, with the versions and the safe defaults written out.

use crate::site::{Declaration, Node};

/// Kinds that only read: what is missing on the others is not permission (AICP §8.12).
const READS: [&str; 6] = ["resource", "query", "compare", "monitor", "event", "policy"];

/// The contract as it is published.
pub(super) fn published(declaration: &Declaration) -> Node<&str> {
    let mut entries = match declaration.contract.view() {
        Node::Table(entries) => entries,
        other => return other,
    };
    let has = |entries: &[(&str, Node<&str>)], key: &str| entries.iter().any(|(k, _)| *k == key);
    for (at, key) in ["aicp_version", "min_supported_version", "recommended_version"].into_iter().enumerate() {
        if !has(&entries, key) {
            entries.insert(at.min(entries.len()), (key, Node::String("0.1")));
        }
    }
    if !has(&entries, "supported_versions") {
        entries.insert(3, ("supported_versions", Node::Array(vec![Node::String("0.1")])));
    }
    if !has(&entries, "formats") {
        let formats = Node::Table(vec![
            ("canonical", Node::String(super::TOML)),
            ("json", Node::String(super::JSON)),
            ("runtime_response", Node::String("application/aom+json")),
        ]);
        entries.push(("formats", formats));
    }
    for (key, value) in &mut entries {
        if let ("capabilities", Node::Array(capabilities)) = (*key, value) {
            capabilities.iter_mut().for_each(write_out_defaults);
        }
    }
    Node::Table(entries)
}

/// The safe defaults of AICP §8.12, applied and published.
fn write_out_defaults(capability: &mut Node<&str>) {
    let Node::Table(entries) = capability else { return };
    let reads = entries.iter().any(|(k, v)| *k == "type" && matches!(v, Node::String(kind) if READS.contains(kind)));
    let mut default = |key: &'static str, value: Node<&'static str>| {
        if !entries.iter().any(|(k, _)| *k == key) {
            entries.push((key, value));
        }
    };
    default("risk_level", Node::String("high"));
    if !reads {
        default("auth", Node::String("required"));
        default("requires_user_confirmation", Node::Boolean(true));
    }
}

/// The versions of AICP that the contract offers.
pub(super) fn versions(contract: &Node<&str>) -> Vec<String> {
    let Node::Table(entries) = contract else { return Vec::new() };
    let mut versions: Vec<String> = Vec::new();
    for (key, value) in entries {
        match (*key, value) {
            ("aicp_version", Node::String(v)) => versions.push((*v).to_owned()),
            ("supported_versions", Node::Array(list)) => {
                versions.extend(list.iter().filter_map(|v| match v {
                    Node::String(v) => Some((*v).to_owned()),
                    _ => None,
                }));
            }
            _ => {}
        }
    }
    versions.sort();
    versions.dedup();
    versions
}
