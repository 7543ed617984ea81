//! Checks everything that AGTP calls by verb and path: every verb is in the catalog, every path follows the grammar,
//! and no two endpoints are the same (AGTP-API §4.5, §5, §13.2).
//!
//! Many ordinary words of a site are verbs of the catalog, and a path with one in it can never be called. A site's
//! routes do not show this trap, so the error explains it and suggests a path that avoids it.

mod breaks;
mod capability;
mod identity;
mod keys;
mod policy;
mod verbs;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use serde_json::Value;

use frontdesk_config::{Declared, Extension, Findings, Item, Pointed, Schemas, Value as Raw, capability_kind};

use self::verbs::{Named, Placed, Role, paths, tables, verbs};
use super::{
    BOOTSTRAP, RESERVED,
    catalog::{Catalog, FLOOR},
    name,
    policy::{Admission, Policy},
    suggest::suggest,
    taken_routes::TakenRoutes,
    template::Template,
};

pub use breaks::{Break, breaks};

/// AGTP's configuration keys and checks.
pub static EXTENSION: Extension = Extension { keys: keys::KEYS, documents: &[BOOTSTRAP], check };

/// Checks `[agtp]`; does nothing where AGTP is off.
fn check(declared: &Declared<'_>, found: &mut Findings) {
    let Declared { root, settings, schemas, .. } = *declared;
    identity::rules(root, settings, found);
    let agtp = &settings.agtp;
    if !agtp.spoken {
        return;
    }
    let catalog = match agtp.catalog.as_deref().map(Catalog::of_operator) {
        None => Catalog::built_in(),
        Some(Ok(catalog)) => Arc::new(catalog),
        Some(Err(why)) => {
            // With the wrong catalog the other checks would report false errors.
            let line = root.at(&["agtp", "catalog"]).map_or(0, |item| item.line);
            found.mistake(line, "agtp.catalog", why);
            return;
        }
    };
    let spoken = Policy::new(&agtp.policies.methods, &catalog);
    let known = Known { catalog: &catalog, policy: &spoken };
    let named = verbs(root);
    for verb in &named {
        known.judge(verb, found);
    }
    policy::rules(root, &catalog, &spoken, found);
    let spoken_at: HashMap<&str, &Named> = named.iter().map(|verb| (table(&verb.key), verb)).collect();
    // A recipe is used only where no endpoint matches.
    let (mut endpoints, mut recipes) = (TakenRoutes::default(), TakenRoutes::default());
    for capability in settings.built_in.iter() {
        let (method, path) = (name::method_of(capability.kind, None), name::path_of(&capability.id, None, &catalog));
        if let Ok(template) = Template::parse(&path, &catalog) {
            let who = format!("{}, which is built in,", capability.id);
            let _ = endpoints.take(method, template, who);
        }
    }
    for placed in &paths(root, &catalog) {
        let capability = match placed.role {
            Role::Endpoint(index) => root.get("capabilities").and_then(|all| all.items().get(index)),
            _ => None,
        };
        let Some(template) = parsed(placed, capability, &catalog, found) else { continue };
        let verb = spoken_at.get(table(&placed.key)).copied();
        if let Some(capability) = capability {
            inputs(placed, &template, capability, schemas, found);
        }
        if let (Some(verb), Role::Endpoint(_) | Role::Recipe) = (verb, placed.role) {
            reserved(placed, &template, verb, found);
            // An endpoint that is not loaded takes no path.
            if known.is_spoken(verb.verb) {
                let taken = if placed.role == Role::Recipe { &mut recipes } else { &mut endpoints };
                take(taken, placed, verb.verb, template, found);
            }
        }
    }
    for (index, recipe) in tables(root, &["agtp", "recipes"]) {
        for (key, other) in [("method", "path"), ("path", "method")] {
            if let Some(item) = recipe.get(key).filter(|_| recipe.get(other).is_none()) {
                let what = format!("needs {other} beside it: a recipe is looked for by both");
                found.mistake(item.line, format!("agtp.recipes[{index}].{key}"), what);
            }
        }
    }
    claims(root, found);
    capability::rules(root, schemas, found);
    without_effect(root, found);
}

/// The table of a key.
fn table(key: &str) -> &str {
    key.rsplit_once('.').map_or("", |(table, _)| table)
}

struct Known<'a> {
    catalog: &'a Catalog,
    policy: &'a Policy,
}

impl Known<'_> {
    fn is_spoken(&self, verb: &str) -> bool {
        self.catalog.verb(verb).is_some() || self.policy.custom().iter().any(|custom| custom == verb)
    }

    fn judge(&self, named: &Named, found: &mut Findings) {
        let Named { role, line, key, verb, shown } = named;
        let version = &self.catalog.version;
        if self.catalog.is_removed(verb) {
            let what = format!("{shown} is no verb any more since version {version} of the catalog");
            let finding = found.warning(*line, key, what);
            let instead = self.catalog.successor(verb).map(|verb| format!("write \"{verb}\"; ")).unwrap_or_default();
            finding.hint(match role {
                Role::Endpoint(_) => format!("{instead}until then it is not called by verbs"),
                Role::Recipe => format!("{instead}until then it is not used"),
                Role::Successor => format!("{instead}no agent can call it"),
                _ => format!("{instead}it has no effect"),
            });
        } else if !self.is_spoken(verb) {
            match role {
                // The policy's own checks report these.
                Role::Allow | Role::Disallow | Role::Alias => {}
                _ => policy::unknown(named, self.catalog, found),
            }
        } else if let Role::Endpoint(_) = role
            && self.policy.admits(verb, self.catalog) == Admission::Refused
        {
            let what = format!("{shown} is refused by agtp.policies.methods: no agent can call this");
            found.warning(*line, key, what).hint("allow it there, or write another verb here");
        }
    }
}

/// Parses a path; explains what is wrong with an invalid one.
fn parsed(placed: &Placed, capability: Option<&Item>, catalog: &Catalog, found: &mut Findings) -> Option<Template> {
    let wrong = match Template::parse(&placed.path, catalog) {
        Ok(template) => return Some(template),
        Err(wrong) => wrong,
    };
    if !placed.plain {
        found.mistake(placed.line, &placed.key, format!("{} is against the grammar of paths", placed.shown));
        return None;
    }
    let kind = capability.and_then(|item| item.get("type")?.str()).and_then(capability_kind);
    let finding = found.mistake(placed.line, &placed.key, format!("{} {}", placed.shown, wrong.detail));
    if let Some(suggested) = suggest(&placed.path, kind.is_some_and(|kind| kind.is_action()), catalog) {
        finding.hint(match (&suggested.method, placed.role) {
            (Some(method), Role::Endpoint(_) | Role::Recipe) => {
                format!("write path = \"{}\" and method = \"{method}\"", suggested.path)
            }
            _ => format!("write \"{}\"", suggested.path),
        });
    }
    None
}

/// Checks that every placeholder is an input (§5.3).
fn inputs(placed: &Placed, template: &Template, capability: &Item, schemas: &Schemas, found: &mut Findings) {
    if template.names().next().is_none() {
        return;
    }
    let Some(properties) = properties(capability, schemas) else { return };
    for name in template.names().filter(|name| !properties.contains(*name)) {
        let what = format!("{} has a place for \"{name}\", which is no property of the input_schema", placed.shown);
        let finding = found.mistake(placed.line, &placed.key, what);
        finding.did_you_mean(name, properties.iter().map(String::as_str));
        if finding.hint.is_none() {
            finding.hint(format!("declare it: properties = {{ {name} = {{ type = \"string\" }} }}"));
        }
    }
}

/// The possible inputs; `None` where they cannot be determined.
fn properties(capability: &Item, schemas: &Schemas) -> Option<HashSet<String>> {
    let schema = match capability.get("input_schema").map(|item| schemas.pointed(item)) {
        None => return Some(HashSet::new()),
        Some(Pointed::Inline(item)) => schemas.alone(item.json()),
        Some(Pointed::Named(schema)) => schemas.alone(schema.clone()),
        Some(Pointed::Nowhere) => return None,
    };
    fn collect(schema: &Value, depth: usize, names: &mut HashSet<String>) {
        names.extend(schema["properties"].as_object().into_iter().flat_map(|map| map.keys().cloned()));
        let parts = ["allOf", "anyOf", "oneOf"].iter().filter_map(|key| schema[*key].as_array());
        for part in parts.flatten().filter(|_| depth > 0) {
            collect(part, depth - 1, names);
        }
    }
    let mut names = HashSet::new();
    collect(&schema, 8, &mut names);
    let left_open = schema.as_object().is_none_or(serde_json::Map::is_empty);
    (!left_open).then_some(names)
}

/// Checks that a path is not reserved for the protocol (§5.9, §6.1).
fn reserved(placed: &Placed, template: &Template, verb: &Named, found: &mut Findings) {
    let first = template.first().unwrap_or_default();
    let begins = |name: &&&str| first.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    let what = if template.is_root() && FLOOR.contains(&verb.verb) {
        format!("{} / is the protocol's own", verb.verb)
    } else if let ("DISCOVER", Some(name)) = (verb.verb, RESERVED.iter().find(begins)) {
        format!("DISCOVER at a path that begins with /{name} is the protocol's own")
    } else if verb.verb == "DESCRIBE" && first.eq_ignore_ascii_case("agents") {
        "DESCRIBE below /agents says who an agent is".to_owned()
    } else if verb.verb == "QUERY" && first.eq_ignore_ascii_case("proposals") {
        "QUERY below /proposals tells how a proposal stands".to_owned()
    } else {
        return;
    };
    found.mistake(placed.line, &placed.key, what).hint("choose another path, or another verb");
}

/// Checks that no two endpoints have the same verb and path.
fn take(taken: &mut TakenRoutes<String>, placed: &Placed, method: &str, template: Template, found: &mut Findings) {
    let who = placed.key.trim_end_matches(".path").trim_end_matches(".agtp").to_owned();
    let places = template.names().next().is_some();
    let Err(first) = taken.take(method, template, who) else { return };
    let shown = if placed.plain { &*placed.path } else { "this path" };
    let what = match places {
        false => format!("{method} {shown} is where {first} is already"),
        true => format!("{method} {shown} and the path of {first} may be asked for in the same words"),
    };
    found.mistake(placed.line, &placed.key, what).hint("choose another verb, or a path with another word in it");
}

/// Warns where claimed scopes are sufficient, because no credential is required.
fn claims(root: &Item, found: &mut Findings) {
    for (index, capability) in tables(root, &["capabilities"]) {
        let scopes = capability.get("required_scopes").is_some_and(|item| !item.items().is_empty());
        let Some(auth) = capability.get("auth").filter(|item| item.str() == Some("none") && scopes) else { continue };
        let what = "with required_scopes: an AGTP caller only has to claim them";
        found
            .warning(auth.line, format!("capabilities[{index}].auth"), format!("{} {what}", auth.shown()))
            .hint("write auth = \"required\"");
    }
}

fn without_effect(root: &Item, found: &mut Findings) {
    let policies = |path: &[&str]| root.at(&["agtp", "policies"])?.at(path).filter(|item| item.bool() == Some(true));
    if let Some(item) = policies(&["wildcards_accepted"]) {
        found
            .warning(item.line, "agtp.policies.wildcards_accepted", "has no effect: only what is declared is called")
            .hint("what is not declared is answered 405, or 459 where the verb is none");
    }
    let recipe = |(_, recipe): (usize, &Item)| recipe.get("method").is_some() && recipe.get("path").is_some();
    let hidden = |(_, item): (usize, &Item)| item.get("exposed").and_then(Item::bool) == Some(false);
    if let Some(item) = policies(&["rcns", "enabled"])
        && !tables(root, &["agtp", "recipes"]).any(recipe)
        && !tables(root, &["capabilities"]).any(hidden)
    {
        let what = "there is nothing to make a contract of: no recipe with method and path, and no capability with \
                    exposed = false";
        found.warning(item.line, "agtp.policies.rcns.enabled", what);
    }
    if let Some(item) = policies(&["rcns", "enabled"])
        && policies(&["synthesis_enabled"]).is_none()
    {
        let what = "has no effect without synthesis_enabled";
        found
            .warning(item.line, "agtp.policies.rcns.enabled", what)
            .hint("write synthesis_enabled = true in agtp.policies");
    }
    let tier = root.at(&["agtp", "policies", "rcns", "min_trust_tier"]);
    if let Some(item) = policies(&["rcns", "enabled"])
        && tier.is_none_or(|tier| matches!(tier.value, Raw::Integer(1)))
    {
        // The anchors of a tier 1 agent cannot be verified here.
        found
            .warning(
                item.line,
                "agtp.policies.rcns.min_trust_tier",
                "is 1, and no agent is of a better tier than 2 here",
            )
            .hint("write min_trust_tier = 2, or no agent gets a contract");
    }
}
