//! Finds what another catalog of verbs would break in a declaration (AGTP-API §4.7).
//!
//! The file need not be complete or valid. Only its verbs and paths are looked at. Values from the environment are
//! unknown here and not judged.

use std::path::Path;

use frontdesk_config::{Findings, Item, Mistake, Nowhere, Refused, Severity, is_spoken, parse};

use super::{
    super::diff::Diff,
    verbs::{Role, paths, tables, verbs},
};

/// Something that would stop working.
#[derive(Debug)]
pub struct Break {
    /// Its kind: `path`, `endpoint`, `recipe` or `policy`.
    pub kind: &'static str,
    pub at: Mistake,
}

/// Everything in a file that would stop working.
///
/// # Errors
///
/// The file is not TOML.
pub fn breaks(path: &Path, text: &str, diff: &Diff) -> Result<Vec<Break>, Refused> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (mut syntax, mut passed_over) = (Findings::new(path.into()), Findings::new(path.into()));
    let raw = parse(text, Path::new("/"), &Nowhere, &mut syntax, &mut passed_over);
    let syntax = syntax.into_sorted();
    if !syntax.is_empty() {
        return Err(Refused::Unreadable(syntax));
    }
    if !is_spoken(&raw.root) {
        return Ok(Vec::new());
    }
    let mut broken = Broken { file: path, found: Vec::new() };
    names(&raw.root, diff, &mut broken);
    places(&raw.root, diff, &mut broken);
    broken.found.sort_by_key(|found| found.at.line);
    Ok(broken.found)
}

fn names(root: &Item, diff: &Diff, broken: &mut Broken) {
    let named = verbs(root);
    let gone = |verb: &str| diff.gone(verb);
    for verb in &named {
        let Some(gone) = gone(verb.verb) else { continue };
        let instead = gone.successor.as_ref().map(|verb| format!("write \"{verb}\""));
        let what = format!("{} is gone in {}", verb.shown, diff.to);
        broken.add(kind(verb.role), verb.line, verb.key.clone(), what, instead);
    }
    // A recipe stops working when its verb is removed.
    for (index, recipe) in tables(root, &["agtp", "recipes"]) {
        for (step, item) in recipe.get("steps").map(Item::items).unwrap_or_default().iter().enumerate() {
            let Some((item, id)) = item.get("capability").and_then(|item| Some((item, item.str()?))) else { continue };
            let of = |(_, capability): &(usize, &Item)| capability.get("id").and_then(Item::str) == Some(id);
            let Some((capability, _)) = tables(root, &["capabilities"]).find(of) else { continue };
            let verb = named.iter().find(|verb| verb.role == Role::Endpoint(capability));
            if let Some(verb) = verb.filter(|verb| gone(verb.verb).is_some()) {
                let what = format!("{} is called with {}, which is gone in {}", item.shown(), verb.verb, diff.to);
                let key = format!("agtp.recipes[{index}].steps[{step}].capability");
                broken.add("recipe", item.line, key, what, None);
            }
        }
    }
}

fn places(root: &Item, diff: &Diff, broken: &mut Broken) {
    let written = |index: usize| {
        let capability = root.get("capabilities").and_then(|all| all.items().get(index));
        capability.is_some_and(|item| item.at(&["agtp", "path"]).is_some())
    };
    for placed in paths(root, diff.older()) {
        if matches!(placed.role, Role::Endpoint(index) if !written(index)) {
            continue;
        }
        let Some((why, suggested)) = diff.blocks(&placed.path) else { continue };
        let instead = suggested.map(|suggested| match suggested.method {
            Some(method) => format!("write path = \"{}\" and method = \"{method}\"", suggested.path),
            None => format!("write \"{}\"", suggested.path),
        });
        broken.add("path", placed.line, placed.key, format!("{} {why}", placed.shown), instead);
    }
    for (index, capability) in tables(root, &["capabilities"]).filter(|(index, _)| !written(*index)) {
        let Some((item, id)) = capability.get("id").and_then(|item| Some((item, item.str()?))) else { continue };
        if let Some((before, after)) = diff.moves(id) {
            let what = format!("{} is called at {after} then, and no more at {before}", item.shown());
            let instead = "write agtp.path to say where it is".to_owned();
            broken.add("path", item.line, format!("capabilities[{index}].agtp.path"), what, Some(instead));
        }
    }
}

fn kind(role: Role) -> &'static str {
    match role {
        Role::Endpoint(_) | Role::Successor => "endpoint",
        Role::Recipe => "recipe",
        Role::Allow | Role::Disallow | Role::Alias | Role::From | Role::To => "policy",
    }
}

struct Broken<'a> {
    file: &'a Path,
    found: Vec<Break>,
}

impl Broken<'_> {
    fn add(&mut self, kind: &'static str, line: usize, key: String, what: String, hint: Option<String>) {
        let severity = Severity::Mistake;
        self.found.push(Break {
            kind,
            at: Mistake { severity, file: self.file.into(), line, key, capability: None, what, hint },
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::diff;

    fn broken(text: &str) -> Vec<String> {
        let old = include_str!("../../../../conf/catalog/agtp-1.0.0.json");
        let new = old
            .replace("\"version\": \"1.0.0\"", "\"version\": \"2.0.0\"")
            .replace(
                "{\"name\": \"BOOK\",",
                "{\"name\": \"BOOK\", \"removed_in\": \"2.0.0\", \"successor\": \"RESERVE\",",
            )
            .replace("{\"name\": \"QUERY\",", "{\"name\": \"FRANK\"}, {\"name\": \"QUERY\",");
        let diff = diff(old.as_bytes(), new.as_bytes()).unwrap();
        let found = breaks(Path::new("a.toml"), text, &diff).unwrap_or_else(|refused| panic!("{refused}"));
        found.iter().map(|found| format!("{} {}", found.kind, found.at)).collect()
    }

    #[test]
    fn every_kind_of_break_is_found_where_it_is() {
        let found = broken(
            "[[capabilities]]\nid = 'rooms'\ntype = 'query'\nagtp = { method = 'BOOK', path = '/rooms/frank' }\n\
             [[capabilities]]\nid = 'frank'\ntype = 'query'\n\
             [[agtp.recipes]]\nname = 'r'\nmethod = 'BOOK'\npath = '/cheapest'\n\
             steps = [{ capability = 'rooms' }, { capability = 'frank' }]\n\
             [agtp.policies.methods]\nallow = ['BOOK', '${NOBODY}']\naliases = { HOLD = 'BOOK' }\n\
             redirects = [{ from_method = 'BOOK', to_method = 'RESERVE' }]\n",
        );
        assert_eq!(
            found,
            [
                "endpoint a.toml:4: capabilities[0].agtp.method: \"BOOK\" is gone in 2.0.0; write \"RESERVE\"",
                "path a.toml:4: capabilities[0].agtp.path: \"/rooms/frank\" has the segment \"frank\", which is the verb \
                 FRANK; a path says what, the verb before it what is done; write path = \"/rooms\" and method = \"FRANK\"",
                "path a.toml:6: capabilities[1].agtp.path: \"frank\" is called at /frank-call then, and no more at \
                 /frank; write agtp.path to say where it is",
                "recipe a.toml:10: agtp.recipes[0].method: \"BOOK\" is gone in 2.0.0; write \"RESERVE\"",
                "recipe a.toml:12: agtp.recipes[0].steps[0].capability: \"rooms\" is called with BOOK, which is gone in \
                 2.0.0",
                "policy a.toml:14: agtp.policies.methods.allow[0]: \"BOOK\" is gone in 2.0.0; write \"RESERVE\"",
                "policy a.toml:15: agtp.policies.methods.aliases.HOLD: \"BOOK\" is gone in 2.0.0; write \"RESERVE\"",
                "policy a.toml:16: agtp.policies.methods.redirects[0].from_method: \"BOOK\" is gone in 2.0.0; write \
                 \"RESERVE\"",
            ]
        );
    }

    #[test]
    fn what_is_not_spoken_to_in_verbs_is_not_broken() {
        assert_eq!(broken("[[capabilities]]\nid = 'frank'\ntype = 'query'\n"), Vec::<String>::new());
        assert_eq!(broken("[package]\nname = 'something else'\n"), Vec::<String>::new());
        assert_eq!(broken("[listen]\nagtp = ':4480'\n[[capabilities]]\nid = 'frank'\n").len(), 1);
        let diff = diff(
            include_bytes!("../../../../conf/catalog/agtp-1.0.0.json"),
            include_bytes!("../../../../conf/catalog/agtp-1.0.0.json"),
        );
        assert!(breaks(Path::new("a.toml"), "a = [", &diff.unwrap()).is_err_and(|refused| refused.exit_code() == 2));
    }
}
