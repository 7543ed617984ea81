//! Converts a document's security schemes to `[auth]` and to the needs of each capability.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use url::Url;

use super::{name, operation::Operation, walk::looks_up};

/// The authentication that a capability needs.
#[derive(Default)]
pub(super) struct Needs {
    /// none | optional | required.
    pub(super) auth: &'static str,
    pub(super) scopes: Vec<String>,
    /// The document does not say.
    pub(super) guessed: bool,
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
}

fn schemes(document: &Value) -> impl Iterator<Item = (&String, &Value)> {
    document.pointer("/components/securitySchemes").and_then(Value::as_object).into_iter().flatten()
}

/// The document's global settings. `base` resolves its relative URLs.
pub(super) fn auth(document: &Value, base: Option<&Url>) -> Auth {
    let mut auth = Auth { kind: "none", ..Auth::default() };
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
    !scope.trim().is_empty() && !scope.contains("${") && !scope.chars().any(name::is_unseen)
}

/// The needs of an operation. A missing statement is no permission: an action then needs an authenticated caller.
pub(super) fn needs(operation: &Operation, document: &Value, action: bool, notes: &mut Vec<String>) -> Needs {
    let declared = operation.own.get("security").or(document.get("security")).and_then(Value::as_array);
    let Some(ways) = declared else {
        return Needs { auth: if action { "required" } else { "none" }, scopes: Vec::new(), guessed: true };
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
    Needs { auth, scopes: if auth == "required" { scopes } else { Vec::new() }, guessed: false }
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
