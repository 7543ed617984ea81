//! The desk's own configuration checks: rules about the headers that calls carry, and about bodies that are written out.

use frontdesk_config::{Declared, Entry, Extension, Findings, Item, Settings, Unverified};

use super::call::static_header;
use frontdesk_answers::Template;

/// The desk's configuration checks.
pub static EXTENSION: Extension = Extension { keys: &[], documents: &[], check };

/// The header in which only Frontdesk reads a key.
const OWN_KEY: &str = "X-AHP-Key";

fn check(declared: &Declared<'_>, found: &mut Findings) {
    let capabilities = declared.root.get("capabilities").map(Item::items).unwrap_or_default();
    for (index, capability) in capabilities.iter().enumerate() {
        headers(index, capability, found);
        let text = |key: &str| capability.at(&["upstream", key]).and_then(Item::str).filter(|text| !text.is_empty());
        if let (Some(item), Some(template)) = (capability.at(&["upstream", "body_template"]), text("body_template"))
            && let Err(why) = Template::parse(template, text("content_type").unwrap_or("application/json"))
        {
            found.mistake(item.line, format_args!("capabilities[{index}].upstream.body_template"), why);
        }
    }
    let mut in_their_name = capabilities.iter().enumerate().filter_map(|(index, capability)| {
        let item = capability.at(&["upstream", "identity"])?;
        (item.str() == Some("caller")).then_some((index, capability, item))
    });
    let first = in_their_name.next();
    for (index, capability, item) in first.into_iter().chain(in_their_name) {
        identity(index, capability, item, declared.settings, found);
    }
    forwarding(declared, first, found);
}

/// The headers of a capability's calls by name: those that the operator wrote out, and inputs that become one. Each
/// with its table.
fn sent<'a>(capability: &'a Item<'a>) -> Vec<(&'static str, &'a Entry<'a>, &'a str)> {
    let upstream = |key: &str| capability.at(&["upstream", key]);
    let entries = |key: &str| upstream(key).map(Item::entries).unwrap_or_default();
    let renamed = |entry: &Entry| upstream("rename_input").and_then(|names| names.get(&entry.key)).and_then(Item::str);
    let is_header = |entry: &&Entry| entry.item.get("in").and_then(Item::str) == Some("header");
    let inputs = entries("parameters").iter().filter(is_header);
    let inputs = inputs.map(|entry| ("parameters", entry, renamed(entry).unwrap_or(&entry.key)));
    entries("headers").iter().map(|entry| ("headers", entry, &*entry.key)).chain(inputs).collect()
}

/// Checks the headers of a capability's calls.
fn headers(index: usize, capability: &Item, found: &mut Findings) {
    let all = sent(capability);
    for (table, entry, name) in &all {
        let key = format_args!("capabilities[{index}].upstream.{table}.{}", entry.key);
        let is_input = *table == "parameters";
        let value = entry.item.str().filter(|_| !is_input).unwrap_or_default();
        let is_other = |of: &&str, key: &str| (*of, key) != (*table, &*entry.key);
        let same = || all.iter().find(|(of, other, own)| is_other(of, &other.key) && own.eq_ignore_ascii_case(name));
        if let Err(why) = static_header(name, value) {
            found.mistake(entry.line, key, why);
        } else if let Some((other, first, _)) = same().filter(|_| is_input) {
            let what = format!("is the header of upstream.{other}.{} too", first.key);
            found.mistake(entry.line, key, what).hint("keep one of the two");
        }
    }
}

/// Checks a capability that is called in the caller's name.
fn identity(index: usize, capability: &Item, item: &Item, settings: &Settings, found: &mut Findings) {
    if let Some(url) = capability.at(&["upstream", "url"]) {
        let key = format_args!("capabilities[{index}].upstream.identity");
        found
            .mistake(item.line, key, "would give the caller's credential to another service")
            .hint(format!("remove identity, or call the site itself by upstream.path instead of line {}", url.line));
    }
    for (table, entry, own) in sent(capability) {
        if settings.auth.forward.iter().any(|name| name.eq_ignore_ascii_case(own)) {
            let key = format_args!("capabilities[{index}].upstream.{table}.{}", entry.key);
            found
                .mistake(
                    entry.line,
                    key,
                    "is also in auth.forward, and identity = \"caller\" passes on the caller's own",
                )
                .hint("keep one of the two");
        }
    }
}

/// Checks what goes on to the site, and whether anything ever can.
fn forwarding(declared: &Declared<'_>, first: Option<(usize, &Item, &Item)>, found: &mut Findings) {
    let (root, auth) = (declared.root, &declared.settings.auth);
    let forward = root.at(&["auth", "forward"]);
    for (index, item) in forward.map(Item::items).unwrap_or_default().iter().enumerate() {
        let name = item.str().unwrap_or_default();
        let key = format_args!("auth.forward[{index}]");
        match static_header(name, "") {
            _ if name.eq_ignore_ascii_case(OWN_KEY) => {
                found.mistake(item.line, key, "holds keys of Frontdesk, which the site never gets");
            }
            Err(why) => {
                found.mistake(item.line, key, why);
            }
            Ok(_) if !name.eq_ignore_ascii_case("Authorization") && auth.unverified == Unverified::Refuse => {
                found
                    .warning(item.line, key, "is never passed on: nothing here can verify it")
                    .hint("write auth.unverified = \"site\" to let the site decide");
            }
            Ok(_) => {}
        }
    }
    let unverified = root.at(&["auth", "unverified"]).filter(|item| item.str() == Some("site"));
    match (unverified, first) {
        (Some(item), None) => {
            found
                .warning(item.line, "auth.unverified", "has no effect: no capability passes a credential on")
                .hint("write upstream.identity = \"caller\" in the capabilities that need it");
        }
        (None, Some((index, _, item)))
            if !declared.settings.verifies_tokens() && auth.introspection.is_none() && auth.login.is_none() =>
        {
            let key = format_args!("capabilities[{index}].upstream.identity");
            found.warning(item.line, key, "no credential is ever passed on: nothing here can verify one").hint(
                "declare auth.jwks or auth.introspection, or write auth.unverified = \"site\" to let the site decide",
            );
        }
        (Some(item), Some(_)) if !declared.settings.policies.anonymous_access => {
            found
                .warning(item.line, "auth.unverified", "policies.anonymous_access = false refuses these callers first")
                .hint("allow anonymous access, or have their tokens verified by auth.jwks");
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
