//! The operator's policy on verbs (AGTP-API §9): which are allowed, their aliases, and redirects.
//!
//! Entries that name a verb which the catalog has removed are ignored (§9.4). The configuration checks report those
//! and refuse invalid entries, so nothing is checked again here.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::{
    catalog::{Catalog, FLOOR, is_name},
    path::Asked,
    template::Template,
};
use frontdesk_config::MethodPolicy;

/// The HTTP verbs that may be enabled (§9.2).
pub(crate) const LEGACY: [&str; 5] = ["GET", "POST", "PUT", "DELETE", "PATCH"];

/// `[agtp.policies.methods]`, compiled.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// `None`: every verb of the catalog.
    allow: Option<HashSet<String>>,
    disallow: HashSet<String>,
    legacy: HashSet<&'static str>,
    aliases: HashMap<String, String>,
    redirects: Vec<Redirect>,
    custom: Vec<String>,
    manifest: Value,
}

#[derive(Debug, Clone)]
struct Redirect {
    from_method: String,
    /// `None`: any path.
    from_path: Option<Template>,
    to_method: String,
    /// `None`: the requested path.
    to_path: Option<Template>,
}

/// A verb after the aliases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Resolved<'a> {
    pub method: &'a str,
    /// What was sent, where that is something else: `requested_method` of the record.
    pub requested: Option<&'a str>,
}

/// The decision on a verb, whatever the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    Admitted,
    /// An enabled HTTP verb without an alias.
    Legacy(Legacy),
    /// 405: a verb, but not allowed here.
    Refused,
    /// 459: not a verb.
    Unknown,
}

/// The meaning of an enabled HTTP verb (§3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Legacy {
    Get,
    Post,
    /// Needs the client's idempotency key. None is generated, because the same PUT may be repeated after another one.
    Put,
    Delete,
    Patch,
}

impl Legacy {
    /// The verb it stands for.
    pub fn method(self) -> &'static str {
        if self == Self::Get { "QUERY" } else { "EXECUTE" }
    }

    /// The implied action, where there is one.
    pub fn action(self) -> Option<&'static str> {
        match self {
            Self::Delete => Some("delete"),
            Self::Patch => Some("modify"),
            Self::Get | Self::Post | Self::Put => None,
        }
    }

    fn of(method: &str) -> Option<Self> {
        Some(match method {
            "GET" => Self::Get,
            "POST" => Self::Post,
            "PUT" => Self::Put,
            "DELETE" => Self::Delete,
            "PATCH" => Self::Patch,
            _ => return None,
        })
    }
}

impl Policy {
    pub fn new(declared: &MethodPolicy, catalog: &Catalog) -> Self {
        let there = |name: &&String| !catalog.is_removed(name);
        let names = |list: &[String]| list.iter().filter(there).cloned().collect::<HashSet<_>>();
        let seeded = || catalog.legacy().map(|(name, preferred)| (name.to_owned(), preferred.to_owned())).collect();
        let aliases = declared.aliases.as_ref().map_or_else(seeded, |written| {
            written.iter().filter(|(_, canonical)| there(&canonical)).cloned().collect::<HashMap<_, _>>()
        });
        let mut policy = Self {
            allow: declared.allow.as_deref().map(names),
            disallow: names(&declared.disallow),
            legacy: LEGACY.into_iter().filter(|verb| declared.legacy.iter().any(|name| name == verb)).collect(),
            aliases,
            redirects: declared
                .redirects
                .iter()
                .filter(|redirect| there(&&redirect.from_method) && there(&&redirect.to_method))
                .filter_map(|redirect| {
                    let path = |path: &Option<String>| match path {
                        Some(path) => Template::parse(path, catalog).ok().map(Some),
                        None => Some(None),
                    };
                    Some(Redirect {
                        from_method: redirect.from_method.clone(),
                        from_path: path(&redirect.from_path)?,
                        to_method: redirect.to_method.clone(),
                        to_path: path(&redirect.to_path)?,
                    })
                })
                .collect(),
            custom: custom(declared, catalog),
            manifest: Value::Null,
        };
        policy.manifest = policy.projected(declared, catalog);
        policy
    }

    /// Resolves an alias, in one step, before all other checks.
    pub(crate) fn resolve<'a>(&'a self, method: &'a str) -> Resolved<'a> {
        match self.aliases.get(method) {
            Some(canonical) => Resolved { method: canonical, requested: Some(method) },
            None => Resolved { method, requested: None },
        }
    }

    /// Whether a verb, after its aliases, may be used here.
    pub(crate) fn admits(&self, method: &str, catalog: &Catalog) -> Admission {
        let known = catalog.verb(method).is_some() || self.custom.iter().any(|custom| custom == method);
        if FLOOR.contains(&method) {
            return Admission::Admitted;
        }
        let legacy = if known { None } else { Legacy::of(method).filter(|_| self.legacy.contains(method)) };
        if !known && legacy.is_none() {
            return Admission::Unknown;
        }
        if self.disallow.contains(method) {
            return Admission::Refused;
        }
        match (legacy, &self.allow) {
            (Some(legacy), _) => Admission::Legacy(legacy),
            (None, Some(allow)) if !allow.contains(method) => Admission::Refused,
            (None, _) => Admission::Admitted,
        }
    }

    /// Where a request is redirected: the verb, and the path in its encoded form, or no path where it stays the same.
    /// One step.
    pub fn redirect(&self, method: &str, asked: &Asked) -> Option<(&str, Option<String>)> {
        self.redirects.iter().filter(|redirect| redirect.from_method == method).find_map(|redirect| {
            let places = match &redirect.from_path {
                Some(from) => from.matches(&asked.segments)?,
                None => Vec::new(),
            };
            let path = match &redirect.to_path {
                Some(to) => Some(to.fill(&places)?),
                None => None,
            };
            Some((redirect.to_method.as_str(), path))
        })
    }

    /// `redirects_for_path` of a 405 (§11): verbs, and their targets here.
    pub(crate) fn redirects_for(&self, asked: &Asked) -> Map<String, Value> {
        let mut verbs = Map::new();
        for redirect in &self.redirects {
            if redirect.from_path.as_ref().is_none_or(|from| from.matches(&asked.segments).is_some()) {
                verbs.entry(redirect.from_method.clone()).or_insert_with(|| redirect.to_method.clone().into());
            }
        }
        verbs
    }

    /// `policies.methods` of the manifest (§9.3): what holds.
    pub fn manifest(&self) -> &Value {
        &self.manifest
    }

    /// Verbs that are spoken here and in no catalog (§3.3, A29), in the order they were written.
    pub fn custom(&self) -> &[String] {
        &self.custom
    }

    fn projected(&self, declared: &MethodPolicy, catalog: &Catalog) -> Value {
        let there = |name: &&String| !catalog.is_removed(name);
        let kept = |list: &[String]| list.iter().filter(there).cloned().collect::<Vec<_>>();
        let legacy: Vec<_> = LEGACY.into_iter().filter(|verb| self.legacy.contains(verb)).collect();
        let redirects = declared.redirects.iter();
        let redirects = redirects.filter(|redirect| there(&&redirect.from_method) && there(&&redirect.to_method));
        let redirect = |redirect: &frontdesk_config::Redirect| {
            let members = [
                ("from_method", Some(&redirect.from_method)),
                ("from_path", redirect.from_path.as_ref()),
                ("to_method", Some(&redirect.to_method)),
                ("to_path", redirect.to_path.as_ref()),
            ];
            let written = members.into_iter().filter_map(|(key, text)| Some((key.to_owned(), json!(text?))));
            written.collect::<Value>()
        };
        json!({
            "allow": declared.allow.as_deref().map_or_else(|| json!("*"), |list| json!(kept(list))),
            "disallow": kept(&declared.disallow),
            "legacy": match legacy.len() {
                0 => json!("NONE"),
                5 => json!("*"),
                _ => json!(legacy),
            },
            "aliases": self.aliases.iter().map(|(alias, verb)| (alias.clone(), json!(verb))).collect::<Map<_, _>>(),
            "redirects": redirects.map(redirect).collect::<Vec<_>>(),
        })
    }
}

/// A server's own verbs: those it allows by name and no catalog has or had.
pub fn custom(declared: &MethodPolicy, catalog: &Catalog) -> Vec<String> {
    let own = |name: &&String| {
        is_name(name) && !LEGACY.contains(&name.as_str()) && catalog.verb(name).is_none() && !catalog.is_removed(name)
    };
    declared.allow.iter().flatten().filter(own).cloned().collect()
}

#[cfg(test)]
mod tests;
