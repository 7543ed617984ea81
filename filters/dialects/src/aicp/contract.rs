//! Completes the contract: the declaration, with versions and safe defaults written out.

use frontdesk_config::Node;

/// Kinds that only read. For the others a missing value is no permission (AICP §8.12).
const READS: [&str; 4] = ["resource", "query", "compare", "policy"];
/// Further kinds that need no confirmation.
const WATCHES: [&str; 2] = ["monitor", "event"];

/// The contract's statement on its signature (§8.11).
pub(super) struct Signed<'a> {
    pub(super) url: &'a str,
    pub(super) key_id: Option<&'a str>,
    pub(super) public_key: &'a str,
}

/// The contract as it is published.
pub(super) fn published<'a>(contract: &'a Node, signed: Option<Signed<'a>>) -> Node<&'a str> {
    let mut entries = match contract.view() {
        Node::Table(entries) => entries,
        other => return other,
    };
    // Agents could not verify a signature that the operator declared and Frontdesk does not make.
    entries.retain(|(key, _)| *key != "integrity");
    if let Some(Signed { url, key_id, public_key }) = signed {
        let mut integrity = vec![("signed", Node::Boolean(true)), ("signature_url", Node::String(url))];
        integrity.extend(key_id.map(|id| ("key_id", Node::String(id))));
        integrity.extend([("algorithm", Node::String("ed25519")), ("public_key", Node::String(public_key))]);
        // Before the arrays of tables, where TOML would read it as a part of the last one.
        let at = entries.iter().position(|(_, value)| matches!(value, Node::Array(_))).unwrap_or(entries.len());
        entries.insert(at, ("integrity", Node::Table(integrity)));
    }
    let version = entries.iter().find_map(|(key, value)| match value {
        Node::String(version) if *key == "aicp_version" => Some(*version),
        _ => None,
    });
    let version = version.unwrap_or("0.1");
    let has = |entries: &[(&str, Node<&str>)], key: &str| entries.iter().any(|(k, _)| *k == key);
    for (at, key) in ["aicp_version", "min_supported_version", "recommended_version"].into_iter().enumerate() {
        if !has(&entries, key) {
            entries.insert(at.min(entries.len()), (key, Node::String(version)));
        }
    }
    if !has(&entries, "supported_versions") {
        entries.insert(3, ("supported_versions", Node::Array(vec![Node::String(version)])));
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

/// Writes out the safe defaults of AICP §8.12.
fn write_out_defaults(capability: &mut Node<&str>) {
    let Node::Table(entries) = capability else { return };
    let is_one_of = |kinds: &[&str]| {
        entries.iter().any(|(k, v)| *k == "type" && matches!(v, Node::String(kind) if kinds.contains(kind)))
    };
    let (reads, watches) = (is_one_of(&READS), is_one_of(&WATCHES));
    let called = entries.iter().any(|(k, _)| *k == "endpoint");
    let gets = |v: &Node<&str>| matches!(v, Node::String("resource" | "policy"));
    let usual = if entries.iter().any(|(k, v)| *k == "type" && gets(v)) { "GET" } else { "POST" };
    let mut default = |key: &'static str, value: Node<&'static str>| {
        if !entries.iter().any(|(k, _)| *k == key) {
            entries.push((key, value));
        }
    };
    if called {
        default("method", Node::String(usual));
    }
    default("risk_level", Node::String("high"));
    if !reads {
        default("auth", Node::String("required"));
    }
    if !reads && !watches {
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

/// The text of a member.
pub(super) fn text<'n>(node: &Node<&'n str>, key: &str) -> Option<&'n str> {
    let Node::Table(entries) = node else { return None };
    entries.iter().find_map(|(name, value)| match value {
        Node::String(text) if *name == key => Some(*text),
        _ => None,
    })
}
