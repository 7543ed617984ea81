//! Which operations of a document are imported: all, or those with a name, a path or a tag.

use serde_json::{Map, Value};

use super::name;
use crate::lines::one_line;

/// The most operations that are named to choose from.
const MOST_NAMED: usize = 12;

/// The wanted operations. Both lists empty: all.
pub(super) struct Chosen<'a> {
    /// Patterns of operation ids, ids of capabilities, and paths, with `*` for anything: `pets*`, `/pets/*`,
    /// `GET /pets/*`.
    only: &'a [String],
    /// Patterns of tags.
    tags: &'a [String],
}

impl<'a> Chosen<'a> {
    pub(super) fn new(only: &'a [String], tags: &'a [String]) -> Self {
        Self { only, tags }
    }

    /// Whether there is a choice at all.
    pub(super) fn is_all(&self) -> bool {
        self.only.is_empty() && self.tags.is_empty()
    }

    /// Whether an operation is wanted: by one of the names, if there are any, and by one of the tags, if there are any.
    pub(super) fn takes(&self, method: &str, path: &str, own: &Map<String, Value>) -> bool {
        (self.only.is_empty() || self.only.iter().any(|pattern| is_named(pattern, method, path, own)))
            && (self.tags.is_empty() || tags(own).any(|tag| self.tags.iter().any(|pattern| fits(pattern, tag))))
    }
}

fn is_named(pattern: &str, method: &str, path: &str, own: &Map<String, Value>) -> bool {
    if let Some((wanted, pattern)) = pattern.split_once(' ') {
        return wanted.eq_ignore_ascii_case(method) && fits(pattern.trim(), path);
    }
    if pattern.starts_with('/') {
        return fits(pattern, path);
    }
    let id = own.get("operationId").and_then(Value::as_str).unwrap_or_default();
    let ours = match name::of_operation(id) {
        ours if ours.is_empty() => name::of_place(path, method),
        ours => ours,
    };
    fits(pattern, id) || fits(pattern, &ours)
}

/// The names of the first operations of a document, to choose from.
pub(super) fn some(document: &Value) -> String {
    let paths = document["paths"].as_object().into_iter().flatten();
    let operations = paths.flat_map(|(path, item)| {
        let of = |(method, own): (&String, &Value)| match own["operationId"].as_str() {
            Some(id) => id.to_owned(),
            None => format!("\"{} {path}\"", method.to_uppercase()),
        };
        let methods = item.as_object().into_iter().flatten().filter(|(_, own)| own["responses"].is_object());
        methods.map(of).collect::<Vec<_>>()
    });
    let all: Vec<String> = operations.collect();
    let more = if all.len() > MOST_NAMED { format!(" and {} more", all.len() - MOST_NAMED) } else { String::new() };
    all.iter().take(MOST_NAMED).map(|name| one_line(name)).collect::<Vec<_>>().join(", ") + &more
}

/// The tags of an operation.
pub(super) fn tags(own: &Map<String, Value>) -> impl Iterator<Item = &str> {
    own.get("tags").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Whether a text fits a pattern with `*` for anything, in any letter case.
fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.to_lowercase(), text.to_lowercase());
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn operations_are_chosen_by_id_path_and_tag() {
        let own = json!({"operationId": "listPets", "tags": ["Pets", "public"]});
        let own = own.as_object().unwrap();
        let takes = |only: &[&str], tags: &[&str]| {
            let (only, tags): (Vec<_>, Vec<_>) =
                (only.iter().map(|s| (*s).into()).collect(), tags.iter().map(|s| (*s).into()).collect());
            Chosen::new(&only, &tags).takes("GET", "/pets/{id}", own)
        };
        for (only, tags) in [
            (vec![], vec![]),
            (vec!["listPets"], vec![]),
            (vec!["x", "list_pets"], vec![]),
            (vec!["list*"], vec!["pets"]),
            (vec!["/pets/*"], vec![]),
            (vec!["get /pets/{id}"], vec!["pub*"]),
            (vec!["*pet*"], vec![]),
        ] {
            assert!(takes(&only, &tags), "{only:?} {tags:?}");
        }
        for (only, tags) in [
            (vec!["/pets"], vec![]),
            (vec!["POST /pets/*"], vec![]),
            (vec!["listPets"], vec!["admin"]),
            (vec![], vec!["pet"]),
            (vec!["*pets*x"], vec![]),
        ] {
            assert!(!takes(&only, &tags), "{only:?} {tags:?}");
        }
        assert!(fits("a*b*c", "aXbYc") && !fits("ab*ba", "aba") && fits("*", ""));
    }
}
