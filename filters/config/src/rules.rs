//! Checks keys of the declaration against each other, and warns of surprising consequences.
//!
//! The checks run on a tree that may still have mistakes, so that one run finds them all. They skip values that are
//! missing or of the wrong kind, which the check against the table of keys has reported.

use std::collections::HashMap;

use url::Url;

use super::{
    Settings,
    extension::Keys,
    lower, lower_capability,
    mistake::Findings,
    raw::Item,
    rules_network,
    rules_shared::{one_of_url_and_urls, one_or_list, unique},
    settings_handoff, units,
};

/// The checks of everything but capabilities.
pub(super) fn rules(root: &Item, keys: Keys, found: &mut Findings) {
    rules_network::listen(root, found);
    rules_network::admin(root, found);
    one_of_url_and_urls(root, "harness", "who is asked", found);
    credentials_in_urls(root, found);
    names(root, found);
    agent_keys(root, found);
    tokens(root, found);
    paths(root, keys, found);
    audit(root, found);
    meaning(root, found);
}

/// Reports a required credential that no caller can have.
pub(super) fn locked(root: &Item, settings: &Settings, found: &mut Findings) {
    let auth = &settings.auth;
    let signs = !auth.signed_agents.keys.is_empty();
    let require = root.at(&["auth", "signed_agents", "require"]).filter(|item| item.bool() == Some(true));
    if let Some(item) = require.filter(|_| !signs) {
        let what = "no agent has a key here: all of them are turned away";
        found.warning(item.line, "auth.signed_agents.require", what).hint("name their keys in auth.signed_agents.keys");
    }
    let anonymous = root.at(&["policies", "anonymous_access"]).filter(|item| item.bool() == Some(false));
    if let Some(item) =
        anonymous.filter(|_| !signs && auth.api_keys.is_empty() && !settings.verifies_tokens() && auth.login.is_none())
    {
        let what = "no credentials are configured: every agent is refused";
        found
            .warning(item.line, "policies.anonymous_access", what)
            .hint("declare auth.api_keys, auth.jwks or keys of signed_agents");
    }
}

/// The checks of what a contract alone does not have: a site and a store.
pub(super) fn site(root: &Item, contract_alone: bool, found: &mut Findings) {
    rules_network::upstream(root, contract_alone, found);
    store(root, found);
    if !contract_alone {
        credentials(root, found);
    }
}

/// Reports URLs with a user and password: URLs get into logs and metrics, and Frontdesk never sends such credentials.
fn credentials_in_urls(root: &Item, found: &mut Findings) {
    let urls = one_or_list(root.at(&["harness", "urls"])).into_iter().enumerate();
    let urls =
        urls.map(|(index, item)| (format!("harness.urls[{index}]"), Some(item), "put the secret into harness.token"));
    let others = [
        ("harness.url".to_owned(), root.at(&["harness", "url"]), "put the secret into harness.token"),
        ("auth.jwks".to_owned(), root.at(&["auth", "jwks"]), "keys are public; leave it out"),
        (
            "content.semantic.url".to_owned(),
            root.at(&["content", "semantic", "url"]),
            "put the secret into content.semantic.key",
        ),
        (
            "content.model.url".to_owned(),
            root.at(&["content", "model", "url"]),
            "put the secret into content.model.key",
        ),
    ];
    for (key, item, hint) in urls.chain(others) {
        let url = item.and_then(|item| Some((item, Url::parse(item.str()?).ok()?)));
        if let Some((item, _)) = url.filter(|(_, url)| !url.username().is_empty() || url.password().is_some()) {
            found.mistake(item.line, key, format!("{} carries a user or a password", item.shown())).hint(hint);
        }
    }
}

/// Vectors come from one place, and an endpoint needs to know which model is meant.
fn meaning(root: &Item, found: &mut Findings) {
    let filled =
        |key| root.at(&["content", "semantic", key]).filter(|item| item.str().is_some_and(|text| !text.is_empty()));
    match (filled("model"), filled("url")) {
        (Some(_), Some(url)) => {
            found.mistake(url.line, "content.semantic.url", "model is there too; write one of the two");
        }
        (None, Some(url)) if filled("name").is_none() => {
            found.mistake(url.line, "content.semantic.name", "missing: the endpoint has to know which model is meant");
        }
        _ => {}
    }
}

/// Checks that a capability which needs a credential can be called, and that the manifests can say with which
/// credential.
fn credentials(root: &Item, found: &mut Findings) {
    let kinds = ["api_keys", "jwks", "login", "introspection", "authorization_servers"];
    let known = kinds.iter().any(|key| root.at(&["auth", key]).is_some());
    let unsaid = root.at(&["auth", "type"]).filter(|item| item.str() == Some("none"));
    if known && unsaid.is_none() {
        return;
    }
    let needing = root.get("capabilities").map(Item::items).unwrap_or_default().iter().filter(|item| {
        let kind = item.get("type").and_then(Item::str).and_then(lower_capability::capability_kind);
        let need = match item.get("auth").and_then(Item::str) {
            None => kind.is_some_and(|kind| kind.is_action()),
            Some(need) => need == "required",
        };
        let scoped = item.get("required_scopes").is_some_and(|scopes| !scopes.items().is_empty());
        let strong = item.get("requires_strong_authentication").and_then(Item::bool) == Some(true);
        (need || scoped || strong) && item.get("exposed").and_then(Item::bool) != Some(false)
    });
    let mut ids = needing.filter_map(|item| Some((item, item.get("id")?.str()?)));
    let Some((first, id)) = ids.next() else { return };
    let more = match ids.count() {
        0 => String::new(),
        count => format!(" (and {count} more)"),
    };
    match unsaid.filter(|_| known) {
        Some(item) => {
            let what = format!("\"none\", but {id}{more} needs a credential");
            found.warning(item.line, "auth.type", what).hint("leave it out, or write bearer, api_key or oauth2");
        }
        None => {
            let what = format!("{id}{more} needs a credential, but none are configured: no agent can call it");
            found.warning(first.line, "auth", what).hint("declare [[auth.api_keys]] or auth.jwks");
        }
    }
}

/// Checks that names are unique.
fn names(root: &Item, found: &mut Findings) {
    let keys = root.at(&["auth", "api_keys"]).map(Item::items).unwrap_or_default();
    unique(keys, "name", "auth.api_keys", found);
    unique(keys, "sha256", "auth.api_keys", found);
    let recipes = root.at(&["agtp", "recipes"]).map(Item::items).unwrap_or_default();
    unique(recipes, "name", "agtp.recipes", found);
}

/// Checks that no two endpoints of ours have the same path.
fn paths(root: &Item, keys: Keys, found: &mut Findings) {
    let capabilities = root.get("capabilities").map(Item::items).unwrap_or_default();
    let ours = lower::PATHS.iter().map(|(key, default)| (format!("paths.{key}"), root.at(&["paths", key]), *default));
    let handoff = root.get("handoff").map_or("", |_| settings_handoff::PATH);
    let has_login = root.at(&["auth", "login"]).is_some();
    let of_login = lower::LOGIN_PATHS.iter().map(|(key, default)| {
        (format!("paths.{key}"), root.at(&["paths", key]), if has_login { *default } else { "" })
    });
    let others = [
        ("paths.files", ["paths", "files"], lower::FILES),
        ("harness.gateway_path", ["harness", "gateway_path"], ""),
        ("handoff.path", ["handoff", "path"], handoff),
    ]
    .map(|(name, path, default)| (name.to_owned(), root.at(&path), default));
    let mut taken: HashMap<&str, (String, usize)> = HashMap::new();
    for (name, item, default) in ours.chain(of_login).chain(others) {
        let path = item.map_or(default, |item| item.str().unwrap_or_default()).trim_end_matches('/');
        let line = item.map_or(0, |item| item.line);
        match taken.get(path) {
            _ if path.is_empty() && line > 0 && name.starts_with("paths.") => {
                found.mistake(line, name, "\"/\" is all of the site").hint("choose another path");
            }
            _ if path.is_empty() => {}
            // The handoff's own check reports this.
            _ if name != "handoff.path" && keys.documents().any(|ours| ours == path) => {
                let what = format!("{path} is where a document for agents is");
                found.mistake(line, name, what).hint("choose another path");
            }
            Some((other, other_line)) => {
                let what = format!("{path} is already taken by {other}");
                found.mistake(if line > 0 { line } else { *other_line }, name, what);
            }
            None => drop(taken.insert(path, (name, line))),
        }
    }
    // Two capabilities may share a path with different methods; the capability checks cover that.
    for (index, item) in capabilities.iter().enumerate() {
        let Some((endpoint, path)) = item.get("endpoint").and_then(|item| Some((item, item.str()?))) else { continue };
        if let Some((other, _)) = taken.get(path.trim_end_matches('/')) {
            let what = format!("{path} is already taken by {other}");
            found.mistake(endpoint.line, format!("capabilities[{index}].endpoint"), what);
        }
    }
}

/// Warns of tokens without issuer and audience, which could be meant for another site.
fn tokens(root: &Item, found: &mut Findings) {
    let Some(jwks) = root.at(&["auth", "jwks"]) else { return };
    if let (Some(servers), None) = (root.at(&["auth", "authorization_servers"]), root.at(&["auth", "issuer"])) {
        let what =
            "auth.jwks is there without auth.issuer, so it cannot be known whose tokens are verified by which keys";
        found.mistake(servers.line, "auth.authorization_servers", what).hint("write auth.issuer");
        return;
    }
    for (key, what) in [("issuer", "its issuer"), ("audience", "its audience")] {
        if root.at(&["auth", key]).is_none() {
            let what = format!("without auth.{key} a token is accepted regardless of {what}");
            found.warning(jwks.line, "auth.jwks", what).hint(format!("write auth.{key}"));
        }
    }
}

/// Warns of idempotency records that a restart would lose, and of certificates without TLS.
fn store(root: &Item, found: &mut Findings) {
    let url = root.at(&["store", "url"]);
    if let Some(store) = root.get("store") {
        rules_network::both_of_a_client_certificate(store, "store", found);
        let tls = url.and_then(Item::str).is_some_and(|url| url.starts_with("rediss:") || url.starts_with("valkeys:"));
        for item in ["ca", "client_cert", "client_key"].iter().filter_map(|key| Some((key, store.get(key)?))) {
            let ((key, item), what) = (item, "has no effect: store.url is not rediss://");
            if !tls {
                found.warning(item.line, format_args!("store.{key}"), what);
            }
        }
    }
    let capabilities = root.get("capabilities").map(Item::items).unwrap_or_default();
    let is_action = |item: &&Item| {
        let kind = item.get("type").and_then(Item::str).and_then(lower_capability::capability_kind);
        kind.is_some_and(|kind| kind.is_action()) && item.get("exposed").and_then(Item::bool) != Some(false)
    };
    let memory = url.is_none_or(|item| item.str() == Some("memory:"));
    if let (true, Some(action)) = (memory, capabilities.iter().find(is_action)) {
        let line = url.map_or(action.line, |item| item.line);
        let what = "\"memory:\" forgets at a restart which actions were carried out, and no replica knows of them";
        found.warning(line, "store.url", what).hint("write \"file:/var/lib/frontdesk\" or \"redis://host:6379/0\"");
    }
}

/// Checks that the audit log's retention is a duration. The contract may contain any text, but files are deleted by
/// it.
fn audit(root: &Item, found: &mut Findings) {
    let off = root.at(&["audit", "enabled"]).and_then(Item::bool) == Some(false);
    let Some(item) = root.at(&["audit", "retention"]).filter(|_| !off) else { return };
    if item.str().and_then(units::retention).is_none() {
        let what = format!("{} is not a duration; files of the audit log are kept for ever", item.shown());
        found.warning(item.line, "audit.retention", what).hint("write \"90_days\", \"12_months\" or \"1_year\"");
    }
}

/// Refuses private keys for agents: Frontdesk only verifies with them.
fn agent_keys(root: &Item, found: &mut Findings) {
    let keys = root.at(&["auth", "signed_agents", "keys"]).map(Item::items).unwrap_or_default();
    for (index, jwk) in keys.iter().enumerate().filter_map(|(index, key)| Some((index, key.get("jwk")?))) {
        if jwk.get("d").is_some() || jwk.get("k").is_some() {
            found
                .mistake(jwk.line, format_args!("auth.signed_agents.keys[{index}].jwk"), "is a private key")
                .hint("only its public half belongs here; treat this one as lost");
        }
    }
}
