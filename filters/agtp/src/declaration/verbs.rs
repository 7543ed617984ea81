//! Finds all verbs and paths that a declaration names.
//!
//! The checks and the comparison of two catalogs both use this list, so they always look in the same places.

use std::borrow::Cow;

use frontdesk_config::{Item, capability_kind};

use super::super::{catalog::Catalog, name};

/// The role of a named verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It calls the capability with this index.
    Endpoint(usize),
    Recipe,
    /// The successor of a deprecated endpoint.
    Successor,
    Allow,
    Disallow,
    /// The target of an alias.
    Alias,
    From,
    To,
}

/// A verb that is named.
#[derive(Debug)]
pub(super) struct Named<'a> {
    pub(super) role: Role,
    pub(super) line: usize,
    pub(super) key: String,
    pub(super) verb: &'a str,
    /// The verb in a form that is safe to display.
    pub(super) shown: String,
}

/// A declared path.
#[derive(Debug)]
pub(super) struct Placed<'a> {
    pub(super) role: Role,
    pub(super) line: usize,
    pub(super) key: String,
    pub(super) path: Cow<'a, str>,
    pub(super) shown: String,
    /// It may be displayed unescaped.
    pub(super) plain: bool,
}

/// Every named verb, those implied by a capability's type included.
pub(super) fn verbs<'a>(root: &'a Item) -> Vec<Named<'a>> {
    let mut found = Vec::new();
    let mut add = |role, item: Option<&'a Item>, key: String| {
        if let Some((item, verb)) = item.and_then(|item| Some((item, item.str()?))) {
            found.push(Named { role, line: item.line, key, verb, shown: item.shown() });
        }
    };
    for (index, recipe) in tables(root, &["agtp", "recipes"]) {
        add(Role::Recipe, recipe.get("method"), format!("agtp.recipes[{index}].method"));
    }
    for (index, capability) in tables(root, &["capabilities"]) {
        let successor = capability.at(&["agtp", "deprecated", "successor", "method"]);
        add(Role::Successor, successor, format!("capabilities[{index}].agtp.deprecated.successor.method"));
    }
    let policy = root.at(&["agtp", "policies", "methods"]);
    let of = |key: &str| policy.and_then(|policy| policy.get(key));
    for (role, list) in [(Role::Allow, "allow"), (Role::Disallow, "disallow")] {
        for (index, item) in of(list).map(Item::items).unwrap_or_default().iter().enumerate() {
            add(role, Some(item), format!("agtp.policies.methods.{list}[{index}]"));
        }
    }
    for entry in of("aliases").map(Item::entries).unwrap_or_default() {
        add(Role::Alias, Some(&entry.item), format!("agtp.policies.methods.aliases.{}", entry.key));
    }
    for (index, redirect) in tables(root, &["agtp", "policies", "methods", "redirects"]) {
        for (role, key) in [(Role::From, "from_method"), (Role::To, "to_method")] {
            add(role, redirect.get(key), format!("agtp.policies.methods.redirects[{index}].{key}"));
        }
    }
    for (index, capability) in tables(root, &["capabilities"]) {
        let written = capability.at(&["agtp", "method"]);
        let kind = capability.get("type").and_then(Item::str).and_then(capability_kind);
        let key = format!("capabilities[{index}].agtp.method");
        match (written, kind) {
            (Some(item), _) => {
                if let Some(verb) = item.str() {
                    let shown = item.shown();
                    found.push(Named { role: Role::Endpoint(index), line: item.line, key, verb, shown });
                }
            }
            (None, Some(kind)) => {
                let verb = name::method_of(kind, None);
                let (line, shown) = (capability.line, format!("\"{verb}\", which follows from the type,"));
                found.push(Named { role: Role::Endpoint(index), line, key, verb, shown });
            }
            (None, None) => {}
        }
    }
    found
}

/// Every declared path, those implied by an id included.
pub(super) fn paths<'a>(root: &'a Item, catalog: &Catalog) -> Vec<Placed<'a>> {
    let mut found = Vec::new();
    let mut add = |role, item: Option<&'a Item>, key: String| {
        if let Some((item, path)) = item.and_then(|item| Some((item, item.str()?))) {
            let (shown, plain) = (item.shown(), !item.replaced);
            found.push(Placed { role, line: item.line, key, path: path.into(), shown, plain });
        }
    };
    for (index, recipe) in tables(root, &["agtp", "recipes"]) {
        add(Role::Recipe, recipe.get("path"), format!("agtp.recipes[{index}].path"));
    }
    for (index, redirect) in tables(root, &["agtp", "policies", "methods", "redirects"]) {
        for (role, key) in [(Role::From, "from_path"), (Role::To, "to_path")] {
            add(role, redirect.get(key), format!("agtp.policies.methods.redirects[{index}].{key}"));
        }
    }
    for (index, capability) in tables(root, &["capabilities"]) {
        let successor = capability.at(&["agtp", "deprecated", "successor", "path"]);
        add(Role::Successor, successor, format!("capabilities[{index}].agtp.deprecated.successor.path"));
        let written = capability.at(&["agtp", "path"]);
        add(Role::Endpoint(index), written, format!("capabilities[{index}].agtp.path"));
    }
    for (index, capability) in tables(root, &["capabilities"]) {
        let Some((item, id)) = capability.get("id").and_then(|item| Some((item, item.str()?))) else { continue };
        if capability.at(&["agtp", "path"]).is_none() {
            let path = name::path_of(id, None, catalog);
            let shown = format!("\"{path}\", which follows from the id,");
            let (line, key, plain) = (item.line, format!("capabilities[{index}].agtp.path"), !item.replaced);
            found.push(Placed { role: Role::Endpoint(index), line, key, path: path.into(), shown, plain });
        }
    }
    found
}

/// The tables of an array, with their indices.
pub(super) fn tables<'a>(root: &'a Item, path: &[&str]) -> impl Iterator<Item = (usize, &'a Item<'a>)> {
    root.at(path).map(Item::items).unwrap_or_default().iter().enumerate()
}
