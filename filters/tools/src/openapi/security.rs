//! Converts a document's security schemes to `[auth]` and to the needs of each capability.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use url::Url;

use super::{keywords::looks_up, name, operation::Operation};
use crate::lines::is_unseen;

/// The authentication that a capability needs.
#[derive(Default)]
pub(super) struct Needs {
    /// none | optional | required.
    pub(super) auth: &'static str,
    pub(super) scopes: Vec<String>,
    /// The document does not say.
    pub(super) guessed: bool,
    /// What the site wants from this operation, where that is not what it wants from all.
    pub(super) wants: Option<String>,
}

/// `[auth]`.
#[derive(Default)]
pub(super) struct Auth {
    /// none | bearer | api_key | oauth2.
    pub(super) kind: &'static str,
    pub(super) authorization_url: Option<String>,
    pub(super) token_url: Option<String>,
    pub(super) scopes: BTreeSet<String>,
    pub(super) notes: Vec<String>,
    /// What the site wants from all operations; `None`: the document has no schemes.
    pub(super) wants: Option<String>,
}

fn schemes(document: &Value) -> impl Iterator<Item = (&String, &Value)> {
    document.pointer("/components/securitySchemes").and_then(Value::as_object).into_iter().flatten()
}

/// The document's global settings. `base` resolves its relative URLs.
pub(super) fn auth(document: &Value, base: Option<&Url>) -> Auth {
    let mut auth = Auth { kind: "none", ..Auth::default() };
    let each: Vec<String> = schemes(document).take(6).map(|(name, _)| credential(name, document)).collect();
    auth.wants = match document.get("security") {
        Some(security) => Some(wants(security, document)),
        None => (!each.is_empty()).then(|| name::one_line(&each.join(", "), 400)),
    };
    let mut best = 0;
    for (name, scheme) in schemes(document) {
        let (kind, rank) = match (scheme["type"].as_str(), scheme["scheme"].as_str()) {
            (Some("oauth2"), _) => ("oauth2", 4),
            (Some("openIdConnect"), _) => ("bearer", 3),
            (Some("http"), Some(scheme)) if scheme.eq_ignore_ascii_case("bearer") => ("bearer", 3),
            (Some("apiKey"), _) => ("api_key", 2),
            (kind, how) => {
                let kind = [kind, how].into_iter().flatten().collect::<Vec<_>>().join(" ");
                let what = format!("{name} ({kind}) is nothing that Frontdesk asks agents for; it is left out");
                auth.notes.push(name::one_line(&what, 200));
                continue;
            }
        };
        if rank > best {
            (auth.kind, best) = (kind, rank);
        }
        if kind == "oauth2" {
            oauth2(&mut auth, &scheme["flows"], base);
        }
    }
    auth
}

/// The credentials that the site wants, in words: the alternatives of a `security`.
pub(super) fn wants(security: &Value, document: &Value) -> String {
    let one = |way: &Map<String, Value>| {
        let each: Vec<String> = way.keys().take(6).map(|name| credential(name, document)).collect();
        if each.is_empty() { "no credential".to_owned() } else { each.join(" and ") }
    };
    let ways: Vec<String> = security.as_array().into_iter().flatten().filter_map(Value::as_object).map(one).collect();
    let ways = if ways.is_empty() { "no credential".to_owned() } else { ways.join(", or ") };
    name::one_line(&ways, 400)
}

/// One credential: its name in the document, and where the site looks for it.
fn credential(name: &str, document: &Value) -> String {
    let scheme = schemes(document).find(|(other, _)| *other == name).map_or(&Value::Null, |(_, scheme)| scheme);
    let text = |key: &str| scheme[key].as_str().unwrap_or_default();
    let place = match (text("type"), text("scheme").to_ascii_lowercase().as_str()) {
        ("http", "basic") => "Authorization: Basic …".to_owned(),
        ("http", "bearer") => "Authorization: Bearer …".to_owned(),
        ("http", other) => format!("Authorization: {other} …"),
        ("oauth2" | "openIdConnect", _) => "an OAuth token as Authorization: Bearer …".to_owned(),
        ("apiKey", _) => format!("the {} {}", text("in"), text("name")),
        ("mutualTLS", _) => "a client certificate".to_owned(),
        _ => "the document does not say how".to_owned(),
    };
    name::one_line(&format!("{name} ({place})"), 160)
}

fn oauth2(auth: &mut Auth, flows: &Value, base: Option<&Url>) {
    for flow in ["authorizationCode", "implicit", "clientCredentials", "password", "deviceAuthorization"] {
        let Some(flow) = flows.get(flow).and_then(Value::as_object) else { continue };
        for (key, url) in [("authorizationUrl", &mut auth.authorization_url), ("tokenUrl", &mut auth.token_url)] {
            let Some(text) = flow.get(key).and_then(Value::as_str) else { continue };
            match absolute(text, base) {
                Some(found) => drop(url.get_or_insert(found)),
                None => auth.notes.push(name::one_line(&format!("{key} {text:?} is not a URL; it is left out"), 300)),
            }
        }
        let scopes = flow.get("scopes").and_then(Value::as_object).into_iter().flatten();
        auth.scopes.extend(scopes.map(|(scope, _)| scope).filter(|scope| is_scope(scope)).cloned());
    }
}

/// An absolute web URL that means the same in a declaration.
fn absolute(text: &str, base: Option<&Url>) -> Option<String> {
    let url = match base {
        Some(base) => base.join(text).ok()?,
        None => Url::parse(text).ok()?,
    };
    let fits = matches!(url.scheme(), "http" | "https") && url.has_host() && !url.as_str().contains("${");
    fits.then(|| url.to_string())
}

fn is_scope(scope: &str) -> bool {
    !scope.trim().is_empty() && !scope.contains("${") && !scope.chars().any(is_unseen)
}

/// The needs of an operation. A missing statement is no permission: an action then needs an authenticated caller.
pub(super) fn needs(operation: &Operation, document: &Value, action: bool, notes: &mut Vec<String>) -> Needs {
    let own = operation.own.get("security");
    let wants = own.filter(|own| document.get("security") != Some(own)).map(|own| wants(own, document));
    let declared = own.or(document.get("security")).and_then(Value::as_array);
    let Some(ways) = declared else {
        let auth = if action { "required" } else { "none" };
        return Needs { auth, scopes: Vec::new(), guessed: true, wants };
    };
    let ways: Vec<&Map<String, Value>> = ways.iter().filter_map(Value::as_object).collect();
    let nobody = ways.iter().any(|way| way.is_empty());
    let known: Vec<_> = ways.into_iter().filter(|way| !way.is_empty()).collect();
    let auth = match (known.is_empty(), nobody) {
        (true, _) => "none",
        (false, true) => "optional",
        (false, false) => "required",
    };
    let with_scopes: Vec<Vec<String>> =
        known.iter().map(|way| scopes_of(way, document)).filter(|scopes| !scopes.is_empty()).collect();
    if with_scopes.len() > 1 {
        notes.push("the document has several security alternatives; these scopes are those of the first".into());
    }
    let scopes = with_scopes.into_iter().next().unwrap_or_default();
    // An optional credential implies no scopes.
    Needs { auth, scopes: if auth == "required" { scopes } else { Vec::new() }, guessed: false, wants }
}

/// The scopes of one scheme; only some kinds have any.
fn scopes_of(way: &Map<String, Value>, document: &Value) -> Vec<String> {
    let scoped = |name: &str| {
        let kind = schemes(document).find(|(other, _)| *other == name).and_then(|(_, scheme)| scheme["type"].as_str());
        matches!(kind, Some("oauth2" | "openIdConnect"))
    };
    let lists = way.iter().filter(|(name, _)| scoped(name)).filter_map(|(_, scopes)| scopes.as_array());
    let all: BTreeSet<String> = lists
        .flatten()
        .filter(|scope| !looks_up(scope))
        .filter_map(Value::as_str)
        .filter(|scope| is_scope(scope))
        .map(str::to_owned)
        .collect();
    all.into_iter().collect()
}
