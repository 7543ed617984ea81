//! Checks `[agtp.policies.methods]`: names must be verbs, and an alias or redirect must lead to its target in one step
//! (AGTP-API §9.2, §9.4).

use frontdesk_config::{Findings, Item};

use super::{
    super::{
        catalog::{Catalog, FLOOR, HTTP, is_name},
        is_native_somewhere,
        policy::{LEGACY, Policy},
        template::Template,
    },
    verbs::{Named, Role, tables, verbs},
};

pub(super) fn rules(root: &Item, catalog: &Catalog, policy: &Policy, found: &mut Findings) {
    lists(root, catalog, policy, found);
    let Some(table) = root.at(&["agtp", "policies", "methods"]) else { return };
    legacy(table, policy, found);
    aliases(root, table, catalog, policy, found);
    redirects(root, catalog, found);
}

fn spoken(verb: &str, catalog: &Catalog, policy: &Policy) -> bool {
    catalog.verb(verb).is_some() || policy.custom().iter().any(|custom| custom == verb)
}

/// Checks `allow` and `disallow`. Removed verbs are reported elsewhere.
fn lists(root: &Item, catalog: &Catalog, policy: &Policy, found: &mut Findings) {
    let known = || catalog.verbs().map(|verb| verb.name.as_str());
    for named in verbs(root) {
        let (verb, what) = (named.verb, |what: &str| format!("{} {what}", named.shown));
        match named.role {
            Role::Allow if HTTP.contains(&verb) => {
                let finding = found.mistake(named.line, &named.key, what("is a method of HTTP, and no verb"));
                finding.hint(match LEGACY.contains(&verb) {
                    true => "agtp.policies.methods.legacy is where it is opted into",
                    false => "leave it out",
                });
            }
            Role::Allow if !is_name(verb) => {
                found.mistake(named.line, &named.key, what("is no verb; one is of 3 to 32 capital letters"));
            }
            // A verb of the server's own, or a typo.
            Role::Allow if policy.custom().iter().any(|custom| custom == verb) => {
                let slip = |known: &&str| known.len() > 3 && strsim::damerau_levenshtein(verb, known) == 1;
                if let Some(near) = known().find(slip) {
                    let what = what("is no verb of the catalog, and so one of your own");
                    found.warning(named.line, &named.key, what).hint(format!("did you mean \"{near}\"?"));
                }
            }
            Role::Disallow if FLOOR.contains(&verb) => {
                let what = what("is one of the 18 verbs that every server has");
                found.mistake(named.line, &named.key, what).hint("leave it out");
            }
            Role::Disallow if LEGACY.contains(&verb) => {
                let meant = policy.resolve(verb);
                if meant.requested.is_some() {
                    let what = what(&format!("has no effect: it is another name for {}", meant.method));
                    found.warning(named.line, &named.key, what).hint(format!("write \"{}\"", meant.method));
                }
            }
            Role::Disallow if !spoken(verb, catalog, policy) && !catalog.is_removed(verb) => {
                found.mistake(named.line, &named.key, what("is no verb of the catalog")).did_you_mean(verb, known());
            }
            _ => {}
        }
    }
}

/// Checks that only the five HTTP verbs occur.
fn legacy(table: &Item, policy: &Policy, found: &mut Findings) {
    for (index, item) in table.get("legacy").map(Item::items).unwrap_or_default().iter().enumerate() {
        let Some(verb) = item.str() else { continue };
        let key = format!("agtp.policies.methods.legacy[{index}]");
        let meant = policy.resolve(verb);
        if !LEGACY.contains(&verb) {
            let what = format!("{} is none of {}", item.shown(), LEGACY.join(", "));
            found.mistake(item.line, key, what).did_you_mean(verb, LEGACY);
        } else if meant.requested.is_some() {
            let what = format!("{} has no effect: it is another name for {}", item.shown(), meant.method);
            found
                .warning(item.line, key, what)
                .hint("leave it out of agtp.policies.methods.aliases; {} there means no other names");
        }
    }
}

/// Checks that an alias leads to a verb in one step.
fn aliases(root: &Item, table: &Item, catalog: &Catalog, policy: &Policy, found: &mut Findings) {
    let entries = table.get("aliases").map(Item::entries).unwrap_or_default();
    for entry in entries {
        let key = format!("agtp.policies.methods.aliases.{}", entry.key);
        let alias = &*entry.key;
        if !is_name(alias) {
            let what = "is no name that could be sent; one is of 3 to 32 capital letters";
            found.mistake(entry.line, key, what);
        } else if spoken(alias, catalog, policy) {
            let what = "is a verb itself; another name for it would hide it";
            found.mistake(entry.line, key, what).hint("[[agtp.policies.methods.redirects]] leads elsewhere");
        }
    }
    for named in verbs(root).iter().filter(|named| named.role == Role::Alias) {
        if entries.iter().any(|entry| entry.key == named.verb) {
            let what = format!("{} is such a name itself; it leads to a verb in one step", named.shown);
            found.mistake(named.line, &named.key, what);
        } else if !spoken(named.verb, catalog, policy) && !catalog.is_removed(named.verb) {
            unknown(named, catalog, found);
        }
    }
}

/// Reports an unknown verb.
pub(super) fn unknown(named: &Named, catalog: &Catalog, found: &mut Findings) {
    let what = format!("{} is no verb of the catalog {}", named.shown, catalog.version);
    let finding = found.mistake(named.line, &named.key, what);
    if let Some(meant) = catalog.preferred(named.verb) {
        finding.hint(format!("write \"{meant}\": a method of HTTP says too little"));
        return;
    }
    finding.did_you_mean(named.verb, catalog.verbs().map(|verb| verb.name.as_str()));
    if finding.hint.is_none() {
        finding.hint("write one that is, or list it in agtp.policies.methods.allow as one of your own");
    }
}

/// Checks that a redirect leads to a place that has no redirect itself.
fn redirects(root: &Item, catalog: &Catalog, found: &mut Findings) {
    let all: Vec<_> = tables(root, &["agtp", "policies", "methods", "redirects"])
        .filter_map(|(index, item)| Redirect::of(index, item, catalog))
        .collect();
    for redirect in &all {
        let key = format!("agtp.policies.methods.redirects[{}]", redirect.index);
        if is_native_somewhere(redirect.from, redirect.from_path.as_ref()) {
            let what = format!("leads {} away from what every server answers to it itself", redirect.from);
            let hint = "write a from_path that is one of yours; \"/\" and what DISCOVER / lists are the protocol's";
            found.mistake(redirect.line, format!("{key}.from_method"), what).hint(hint);
        }
        if let Some(to) = &redirect.to_path {
            let places = redirect.from_path.as_ref().map(|from| from.names().collect::<Vec<_>>()).unwrap_or_default();
            for name in to.names().filter(|name| !places.contains(name)) {
                let what = format!("has a place for \"{name}\", which from_path does not have");
                found.mistake(redirect.line, format!("{key}.to_path"), what);
            }
        }
        if let Some(next) = all.iter().find(|next| redirect.leads_to(next)) {
            let what = match next.index == redirect.index {
                true => "leads to where it begins".to_owned(),
                false => format!("leads to what redirects[{}] leads away from; a redirect is one step", next.index),
            };
            found.mistake(redirect.line, key, what);
        }
    }
}

struct Redirect<'a> {
    index: usize,
    line: usize,
    from: &'a str,
    from_path: Option<Template>,
    to: &'a str,
    to_path: Option<Template>,
}

impl<'a> Redirect<'a> {
    /// `None` where a part is too wrong to go on; that was reported.
    fn of(index: usize, item: &'a Item, catalog: &Catalog) -> Option<Self> {
        let text = |key: &str| item.get(key).and_then(Item::str);
        let path = |key: &str| match text(key) {
            Some(path) => Template::parse(path, catalog).ok().map(Some),
            None => Some(None),
        };
        let (from, to) = (text("from_method")?, text("to_method")?);
        let (from_path, to_path) = (path("from_path")?, path("to_path")?);
        Some(Self { index, line: item.line, from, from_path, to, to_path })
    }

    /// Whether a request after this redirect could match the next one.
    fn leads_to(&self, next: &Redirect) -> bool {
        let here = self.to_path.as_ref().or(self.from_path.as_ref());
        let meet = match (here, &next.from_path) {
            (Some(here), Some(there)) => here.meets(there),
            _ => true,
        };
        self.to == next.from && meet
    }
}
