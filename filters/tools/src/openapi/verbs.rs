//! Suggests an AGTP verb and a path without verbs for each operation.
//!
//! Like the type it is a guess from the method and the names. What an operation intends, and whether it can be undone,
//! a person has to say. Many common path words are verbs (search, order, cancel); a note marks each.

use std::sync::Arc;

use serde_json::Value;

use super::name;
use frontdesk_filters::dialect::verbs::{Catalog, Suggested, TakenRoutes, Template, path_of, suggest};

/// The suggestion for an operation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Spoken {
    pub(super) method: String,
    pub(super) path: String,
    /// Why the path differs from the document's.
    pub(super) note: Option<String>,
}

/// Words at the start or end of a name, and the verb for a POST.
const MEANT: &[(&str, &str)] = &[
    ("accept", "ACCEPT"),
    ("approve", "APPROVE"),
    ("archive", "ARCHIVE"),
    ("book", "BOOK"),
    ("buy", "PURCHASE"),
    ("calculate", "CALCULATE"),
    ("cancel", "CANCEL"),
    ("checkout", "CHECKOUT"),
    ("compare", "COMPARE"),
    ("decline", "DECLINE"),
    ("delete", "REMOVE"),
    ("estimate", "ESTIMATE"),
    ("filter", "FILTER"),
    ("find", "FIND"),
    ("hold", "RESERVE"),
    ("invite", "INVITE"),
    ("list", "LIST"),
    ("order", "ORDER"),
    ("pause", "PAUSE"),
    ("pay", "PAY"),
    ("preview", "SIMULATE"),
    ("publish", "PUBLISH"),
    ("purchase", "PURCHASE"),
    ("quote", "QUOTE"),
    ("refund", "REFUND"),
    ("register", "REGISTER"),
    ("reject", "REJECT"),
    ("remove", "REMOVE"),
    ("renew", "RENEW"),
    ("reply", "REPLY"),
    ("reschedule", "RESCHEDULE"),
    ("reserve", "RESERVE"),
    ("restore", "RESTORE"),
    ("resume", "RESUME"),
    ("schedule", "SCHEDULE"),
    ("search", "SEARCH"),
    ("sign", "SIGN"),
    ("start", "START"),
    ("stop", "STOP"),
    ("submit", "SUBMIT"),
    ("subscribe", "SUBSCRIBE"),
    ("transfer", "TRANSFER"),
    ("unsubscribe", "UNSUBSCRIBE"),
    ("update", "UPDATE"),
    ("validate", "VALIDATE"),
    ("verify", "VERIFY"),
];

/// Names endpoints uniquely.
pub(super) struct Verbs {
    catalog: Arc<Catalog>,
    taken: TakenRoutes<()>,
}

impl Verbs {
    pub(super) fn new() -> Self {
        Self { catalog: Catalog::built_in(), taken: TakenRoutes::default() }
    }

    /// The verb and path of an operation. `input` is its schema; `acts`: it changes something.
    pub(super) fn name(&mut self, method: &str, id: &str, path: &str, input: &Value, acts: bool) -> Spoken {
        let plain = plain(path);
        let fits = Template::parse(&plain, &self.catalog).is_ok();
        let suggested = if fits { None } else { suggest(&plain, acts, &self.catalog) };
        let usual = || usual(method, id).to_owned();
        let (verb, proposed) = match suggested {
            Some(Suggested { path, method: Some(verb) }) => (free(verb), path),
            Some(Suggested { path, method: None }) => (usual(), path),
            None => (usual(), plain.clone()),
        };
        let proposed = match self.take(&verb, &proposed, input) {
            true => proposed,
            // Two operations at one path, or an unusable path: the id is unique.
            false => self.by_id(&verb, id),
        };
        let mut words = plain.split('/').filter_map(|word| Some((word, self.catalog.leaked_by(word)?)));
        let note = (proposed != plain).then(|| match words.next() {
            Some((word, leaked)) => format!(
                "\"{word}\" in {plain} is the verb {leaked}, and no path with a verb in it is ever reached: it is {verb} \
                 {proposed} here"
            ),
            None => format!(
                "{plain} could be another's too, or has a place that is no input: it is {verb} {proposed} here"
            ),
        });
        Spoken { method: verb, path: proposed, note }
    }

    /// Takes a path, if it is free and the input fills its placeholders.
    fn take(&mut self, verb: &str, path: &str, input: &Value) -> bool {
        let Ok(template) = Template::parse(path, &self.catalog) else { return false };
        let given = template.names().all(|name| input["properties"].get(name).is_some());
        given && self.taken.take(verb, template, ()).is_ok()
    }

    fn by_id(&mut self, verb: &str, id: &str) -> String {
        let path = path_of(id, None, &self.catalog);
        let numbered = (2..).map(|number: u32| format!("{path}-{number}"));
        let mut each = std::iter::once(path.clone()).chain(numbered);
        each.find(|path| self.take(verb, path, &Value::Null)).unwrap_or(path)
    }
}

/// Avoids floor verbs that have a special meaning on some paths.
fn free(verb: String) -> String {
    if matches!(verb.as_str(), "DISCOVER" | "QUERY") { "SEARCH".to_owned() } else { verb }
}

fn usual(method: &str, id: &str) -> &'static str {
    match method {
        "GET" | "HEAD" => "FETCH",
        "PUT" => "REPLACE",
        "PATCH" => "MODIFY",
        "DELETE" => "REMOVE",
        _ => {
            let words: Vec<_> = id.split(['.', '_']).filter(|word| !word.is_empty()).collect();
            let edges = [words.first(), words.last()].into_iter().flatten();
            let meant = |word: &&str| MEANT.iter().find(|(known, _)| known == word).map(|(_, verb)| *verb);
            edges.filter_map(meant).next().unwrap_or("CREATE")
        }
    }
}

/// The document's path in AGTP's form: a placeholder is a whole segment with a simple name.
fn plain(path: &str) -> String {
    let endpoint = name::endpoint(path);
    let path = endpoint.strip_prefix("/agent").unwrap_or(&endpoint);
    let word = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let segment = |segment: &str| match segment.split_once('{').and_then(|(_, rest)| rest.split_once('}')) {
        Some((name, _)) if word(name) => format!("/{{{name}}}"),
        Some(_) => format!("/{}", segment.replace(['{', '}'], "")),
        None => format!("/{segment}"),
    };
    let plain: String = path.split('/').filter(|part| !part.is_empty()).map(segment).collect();
    if plain.is_empty() { "/".to_owned() } else { plain }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spoken(verbs: &mut Verbs, method: &str, id: &str, path: &str) -> (String, String, bool) {
        let input = json!({"properties": {"id": {}, "n": {}}});
        let spoken = verbs.name(method, id, path, &input, method != "GET");
        (spoken.method, spoken.path, spoken.note.is_some())
    }

    #[test]
    fn methods_and_names_tell_which_verb_is_meant() {
        for (method, id, path, verb, to) in [
            ("GET", "list_pets", "/pets", "FETCH", "/pets"),
            ("POST", "add_pet", "/pets", "CREATE", "/pets"),
            ("PUT", "put_pet", "/pets/{id}", "REPLACE", "/pets/{id}"),
            ("PATCH", "patch_pet", "/pets/{id}", "MODIFY", "/pets/{id}"),
            ("DELETE", "cancel_pet", "/pets/{id}", "REMOVE", "/pets/{id}"),
            ("POST", "cancel_order", "/orders/{id}/cancellation", "CANCEL", "/orders/{id}/cancellation"),
            ("POST", "room.book", "/rooms/{id}", "BOOK", "/rooms/{id}"),
            ("POST", "buy_ticket", "/tickets", "PURCHASE", "/tickets"),
            ("POST", "hold", "/seats/{id}", "RESERVE", "/seats/{id}"),
            ("GET", "root", "/", "FETCH", "/"),
        ] {
            let (found, at, told) = spoken(&mut Verbs::new(), method, id, path);
            assert_eq!((found.as_str(), at.as_str(), told), (verb, to, false), "{method} {id} {path}");
        }
    }

    #[test]
    fn a_verb_in_a_path_is_told_of_and_avoided() {
        for (method, id, path, verb, to) in [
            ("GET", "search_pets", "/pets/search", "SEARCH", "/pets"),
            ("POST", "x", "/orders/{id}/cancel", "CANCEL", "/orders/{id}"),
            ("PUT", "x", "/orders/{id}/archive", "ARCHIVE", "/orders/{id}"),
            ("GET", "x", "/search", "FETCH", "/searches"),
            ("GET", "x", "/users/{id}/profile", "FETCH", "/users/{id}/profiles"),
            ("POST", "x", "/tools/query", "SEARCH", "/tools"),
            ("GET", "x", "/tools/query", "SEARCH", "/tools"),
            ("POST", "x", "/tools/discover", "SEARCH", "/tools"),
        ] {
            let (found, at, told) = spoken(&mut Verbs::new(), method, id, path);
            assert_eq!((found.as_str(), at.as_str(), told), (verb, to, true), "{method} {path}");
        }
        let input = json!({"properties": {"id": {}}});
        let spoken = Verbs::new().name("POST", "x", "/orders/{id}/cancel", &input, true);
        assert_eq!(
            spoken.note.as_deref(),
            Some(
                "\"cancel\" in /orders/{id}/cancel is the verb CANCEL, and no path with a verb in it is ever reached: it is \
                 CANCEL /orders/{id} here"
            )
        );
    }

    #[test]
    fn what_cannot_be_kept_or_is_taken_is_called_by_its_id() {
        let mut verbs = Verbs::new();
        for (method, id, path, verb, to) in [
            ("GET", "a", "/pets/{id}", "FETCH", "/pets/{id}"),
            ("GET", "b", "/pets/{n}", "FETCH", "/b"),
            ("GET", "c", "/{id}/dogs", "FETCH", "/c"),
            ("GET", "d", "/a/{id}/{id}", "FETCH", "/d"),
            ("GET", "e", "/a/{unknown}", "FETCH", "/e"),
            ("GET", "search", "/a/{id}/{unknown}", "FETCH", "/search-call"),
            ("GET", "b", "/pets/{n}", "FETCH", "/b-2"),
        ] {
            assert_eq!(spoken(&mut verbs, method, id, path), (verb.to_owned(), to.to_owned(), id != "a"), "{id}");
        }
        // A placeholder is a whole segment; two values in one segment are given with the rest.
        for (path, to, told) in [
            ("/files/{id}.json", "/files/{id}", false),
            ("/files/{id}-{n}", "/files/id-n", false),
            ("/files/{pet-id}/", "/files/pet-id", false),
            ("/a b;c/../é", "/a-b-c/-", false),
        ] {
            assert_eq!(spoken(&mut verbs, "GET", "x", path), ("FETCH".into(), to.to_owned(), told), "{path}");
        }
    }
}
