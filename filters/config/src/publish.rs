//! What leaves of the declaration: the contract for agents, and the redacted document for the operator.

use std::{collections::HashSet, sync::Arc};

use serde_json::{Map, Value as Json};

use super::{
    extension::Keys,
    keys::ROOT,
    lower_capability::confirmed,
    merge_policy::put,
    node::Node,
    raw::{Item, Value},
    schema::{Kind, Table},
    schemas::Schemas,
};

/// Replaces a secret.
const REDACTED: &str = "[redacted]";
/// Replaces a possible secret: a value under an unknown key in an unchecked file.
pub(super) const HIDDEN: &str = "[hidden]";

/// The published part of the declaration, in written order.
pub(super) fn contract(root: &Item, keys: Keys, schemas: &Schemas) -> Node {
    let mut entries = published(keys, &ROOT, root);
    if let Some(Node::Table(named)) = entries.iter_mut().find(|(key, _)| key == "schemas").map(|(_, node)| node) {
        // References to files are private; the schemas in the files are published.
        named.retain(|(_, node)| matches!(node, Node::Table(_)));
        let inline: HashSet<String> = named.iter().map(|(name, _)| name.clone()).collect();
        for (name, schema) in schemas.named.iter().filter(|(name, _)| !inline.contains(*name)) {
            named.extend(Node::from_json(schema).map(|node| (name.clone(), node)));
        }
    }
    entries.retain(|(_, node)| !matches!(node, Node::Table(entries) if entries.is_empty()));
    Node::Table(entries)
}

fn published(keys: Keys, table: &Table, item: &Item) -> Vec<(String, Node)> {
    let mut entries = Vec::with_capacity(item.entries().len());
    entries.extend(item.entries().iter().filter_map(|entry| {
        let node = match keys.key(table, &entry.key) {
            Some(key) if key.private => return None,
            Some(key) => match &key.kind {
                Kind::Sub(table) => Node::Table(published(keys, table, &entry.item)),
                Kind::Subs(table) => {
                    let exposed = |item: &&Item| item.get("exposed").and_then(Item::bool) != Some(false);
                    let items = entry.item.items().iter().filter(exposed);
                    Node::Array(items.map(|item| one_of_many(keys, table, item)).collect())
                }
                _ => entry.item.node(),
            },
            None => entry.item.node(),
        };
        Some((entry.key.to_string(), node))
    }));
    entries
}

/// A table of an array. Where one of a capability's private tables affects agents, the published table says so in one
/// word.
fn one_of_many(keys: Keys, table: &Table, item: &Item) -> Node {
    let mut node = Node::Table(published(keys, table, item));
    if let Some(confirmed) = confirmed(item) {
        put(&mut node, "requires_user_confirmation", Some(Node::Boolean(confirmed)));
    }
    if needs_more_than_it_says(item) {
        put(&mut node, "auth", Some(Node::String("required".to_owned())));
    }
    node
}

/// Whether a capability is declared open but needs what only a credential provides. The contract then says `required`,
/// as is enforced.
fn needs_more_than_it_says(item: &Item) -> bool {
    let open = matches!(item.get("auth").and_then(Item::str), Some("none" | "optional"));
    let scopes = item.get("required_scopes").is_some_and(|scopes| !scopes.items().is_empty());
    open && (scopes || item.get("requires_strong_authentication").and_then(Item::bool) == Some(true))
}

/// The whole document for the operator, without secrets and values from outside the file.
pub(super) fn redacted(root: &Item, keys: Keys) -> Arc<str> {
    shown(keys, root, Some(&ROOT), false).to_string().into()
}

/// The same for a document that may be wrong. A secret may stand under a misspelled key or table, so no value under an
/// unknown key is shown.
pub(super) fn outlined(root: &Item, keys: Keys) -> Json {
    known(keys, root, &ROOT)
}

fn known(keys: Keys, item: &Item, table: &Table) -> Json {
    let Value::Table(entries) = &item.value else { return HIDDEN.into() };
    let entries = entries.iter().map(|entry| {
        let value = match keys.key(table, &entry.key) {
            None => HIDDEN.into(),
            Some(key) => match (&key.kind, &entry.item.value) {
                (Kind::Sub(table), Value::Table(_)) if !key.secret => known(keys, &entry.item, table),
                (Kind::Subs(table), Value::Array(items)) if !key.secret => {
                    items.iter().map(|item| known(keys, item, table)).collect()
                }
                _ => shown(keys, &entry.item, None, key.secret),
            },
        };
        (entry.key.to_string(), value)
    });
    Json::Object(entries.collect())
}

fn shown(keys: Keys, item: &Item, table: Option<&Table>, secret: bool) -> Json {
    match &item.value {
        Value::String(text) if text.is_empty() => Json::String(String::new()),
        Value::Table(entries) => {
            let mut map = Map::new();
            for entry in entries {
                let key = table.and_then(|table| keys.key(table, &entry.key));
                let secret = secret || key.map_or_else(|| sounds_secret(&entry.key), |key| key.secret);
                let below = match key.map(|key| &key.kind) {
                    Some(Kind::Sub(table) | Kind::Subs(table)) => Some(*table),
                    _ => None,
                };
                // A free table with a secret-sounding name (a schema's "token") is no secret; a string in it may be.
                let secret = secret && (key.is_some() || !matches!(entry.item.value, Value::Table(_)));
                map.insert(entry.key.to_string(), shown(keys, &entry.item, below, secret));
            }
            Json::Object(map)
        }
        Value::Array(items) => items.iter().map(|item| shown(keys, item, table, secret)).collect(),
        _ if secret || item.replaced => REDACTED.into(),
        // Text without a colon is no URL.
        Value::String(text) if text.contains(':') => without_password(text).into(),
        _ => item.json(),
    }
}

/// Whether a key outside the table of keys probably holds a secret. The short names are the private members of a JWK.
fn sounds_secret(key: &str) -> bool {
    ["d", "p", "q", "dp", "dq", "qi", "k"].iter().any(|name| key.eq_ignore_ascii_case(name)) || ends_like_a_secret(key)
}

fn ends_like_a_secret(key: &str) -> bool {
    let ends_with = |end: &&str| {
        let tail = key.len().checked_sub(end.len()).and_then(|at| key.as_bytes().get(at..));
        tail.is_some_and(|tail| tail.eq_ignore_ascii_case(end.as_bytes()))
    };
    ["token", "secret", "password", "passwd", "api_key", "private_key"].iter().any(ends_with)
}

/// A URL without user, password and the secrets in its query; of a command only its program.
pub fn without_password(text: &str) -> String {
    if let Some((program, _)) = text.strip_prefix("stdio:").and_then(|command| command.trim_start().split_once(' ')) {
        return format!("stdio:{program} {REDACTED}");
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        // The URL of a socket has no authority; its user and password are in the query.
        return if text.contains("unix:/") { without_secrets_in_query(text) } else { text.into() };
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (user, rest) = authority.rfind('@').map_or(("", rest), |at| (REDACTED, &rest[at..]));
    format!("{scheme}://{user}{}", without_secrets_in_query(rest))
}

fn without_secrets_in_query(text: &str) -> String {
    let Some((path, query)) = text.split_once('?') else { return text.into() };
    let is_secret = |name: &str| {
        ends_like_a_secret(name) || name.eq_ignore_ascii_case("pass") || name.to_ascii_lowercase().ends_with("key")
    };
    let pair = |pair: &str| match pair.split_once('=') {
        Some((name, _)) if is_secret(name) => format!("{name}={REDACTED}"),
        _ => pair.to_owned(),
    };
    let query: Vec<String> = query.split('&').map(pair).collect();
    format!("{path}?{}", query.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_shown_without_what_opens_them() {
        let same = ["http://a/b?q=d&p=2&e", "unix:/run/x", "https://a", "a:b", "http://a/?monkeys=1"];
        for text in same {
            assert_eq!(without_password(text), text);
        }
        assert_eq!(without_password("redis://:pw@a:1/0"), "redis://[redacted]@a:1/0");
        assert_eq!(
            without_password("ws://u:p@a/?x=1&api_key=s&Token=t"),
            "ws://[redacted]@a/?x=1&api_key=[redacted]&Token=[redacted]"
        );
        assert_eq!(without_password("http://a/?key=s&"), "http://a/?key=[redacted]&");
        for scheme in ["unix:", "unix://", "redis+unix:", "valkey+unix://"] {
            let (whole, shown) = ("/run/r.sock?db=2&user=u&pass=s", "/run/r.sock?db=2&user=u&pass=[redacted]");
            assert_eq!(without_password(&format!("{scheme}{whole}")), format!("{scheme}{shown}"));
        }
        assert_eq!(without_password("stdio:python3 h.py --token=s"), "stdio:python3 [redacted]");
    }
}
