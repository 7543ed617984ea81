//! Suggests paths without verbs. Many common words (search, order, profile) are verbs of the catalog, and no request
//! with one in its path can succeed (AGTP-API §5.1).
//!
//! Where the word names the action, it belongs before the path. Where it names a thing, its plural is a valid segment.
//! The operator decides which of the two it is.

use super::{
    catalog::Catalog,
    template::{Template, is_place},
};

/// A suggested replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggested {
    /// A valid path.
    pub path: String,
    /// The verb that stood in the path.
    pub method: Option<String>,
}

/// Words that ask, in any position.
const ASKS: &[&str] =
    &["SEARCH", "FIND", "LIST", "LOOKUP", "QUERY", "BROWSE", "FETCH", "GET", "COMPARE", "DOWNLOAD", "EXPORT"];
/// Words that command in first position, as in `/create/order`.
const COMMANDS: &[&str] = &[
    "CREATE",
    "UPDATE",
    "DELETE",
    "REMOVE",
    "EDIT",
    "CANCEL",
    "SUBMIT",
    "GENERATE",
    "CALCULATE",
    "VALIDATE",
    "VERIFY",
];
/// Verbs whose noun is not their plural.
const THINGS: &[(&str, &str)] = &[
    ("AUTHORIZE", "authorizations"),
    ("BOOK", "bookings"),
    ("CANCEL", "cancellations"),
    ("CONFIRM", "confirmations"),
    ("CREATE", "creations"),
    ("DELETE", "deletions"),
    ("DELIVER", "deliveries"),
    ("EDIT", "revisions"),
    ("ENROLL", "enrollments"),
    ("GET", "items"),
    ("INVITE", "invitations"),
    ("NOTIFY", "notifications"),
    ("PAY", "payments"),
    ("PUBLISH", "publications"),
    ("REGISTER", "registrations"),
    ("REMOVE", "removals"),
    ("RESERVE", "reservations"),
    ("SHIP", "shipments"),
    ("SUBMIT", "submissions"),
    ("SUBSCRIBE", "subscriptions"),
    ("VALIDATE", "validations"),
    ("VERIFY", "verifications"),
];

/// Suggests a path for one that violates the grammar. `acts`: whether the call changes something. `None` where the
/// path is valid, or no suggestion is possible.
pub fn suggest(path: &str, acts: bool, catalog: &Catalog) -> Option<Suggested> {
    let mut segments: Vec<String> = path.split('/').filter(|segment| !segment.is_empty()).map(str::to_owned).collect();
    let verb = |segment: &str| catalog.leaked_by(segment).map(str::to_owned);
    let mut method = None;
    let names_something = |rest: &[String]| rest.iter().any(|segment| !is_place(segment));
    if let Some((last, rest)) = segments.split_last()
        && let Some(verb) = verb(last)
        && (acts || ASKS.contains(&verb.as_str()))
        && names_something(rest)
    {
        method = Some(verb);
        segments.pop();
    } else if let [first, next, ..] = segments.as_slice()
        && let Some(verb) = verb(first)
        && (COMMANDS.contains(&verb.as_str()) || ASKS.contains(&verb.as_str()))
        && !is_place(next)
        && names_something(&segments[1..])
    {
        method = Some(verb);
        segments.remove(0);
    }
    for segment in &mut segments {
        if let Some(verb) = verb(segment) {
            *segment = thing(segment, &verb, catalog);
        }
    }
    let suggested = format!("/{}", segments.join("/"));
    let fits = suggested != path && Template::parse(&suggested, catalog).is_ok();
    let spoken = |verb: String| catalog.preferred(&verb).map_or(verb.clone(), str::to_owned);
    fits.then(|| Suggested { path: suggested, method: method.map(spoken) })
}

/// A noun for a verb that is no verb itself.
fn thing(segment: &str, verb: &str, catalog: &Catalog) -> String {
    let word = segment.trim_matches(['-', '_']).to_ascii_lowercase();
    let plural = match THINGS.iter().find(|(known, _)| *known == verb) {
        Some((_, thing)) => (*thing).to_owned(),
        None if word.ends_with(['s', 'x', 'z']) || word.ends_with("ch") || word.ends_with("sh") => word.clone() + "es",
        None => match word.strip_suffix('y') {
            Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
            _ => word.clone() + "s",
        },
    };
    // No verb contains a digit.
    if catalog.leaked_by(&plural).is_none() { plural } else { word + "-1" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggested(path: &str, acts: bool) -> (String, Option<String>) {
        let suggested = suggest(path, acts, &Catalog::built_in()).unwrap_or_else(|| panic!("{path}"));
        (suggested.path, suggested.method)
    }

    #[test]
    fn a_verb_at_the_end_comes_before_the_path() {
        for (path, acts, to, method) in [
            ("/orders/{id}/cancel", true, "/orders/{id}", "CANCEL"),
            ("/flights/search", false, "/flights", "SEARCH"),
            ("/basket/check-out", true, "/basket", "CHECKOUT"),
            ("/search/flights", false, "/flights", "SEARCH"),
            ("/create/vouchers", true, "/vouchers", "CREATE"),
            ("/users/{id}/delete/", true, "/users/{id}", "REMOVE"),
            ("/order/{id}/cancel", true, "/orders/{id}", "CANCEL"),
        ] {
            let found = suggested(path, acts);
            assert_eq!(found, (to.to_owned(), Some(method.to_owned())), "{path}");
        }
    }

    #[test]
    fn a_thing_has_a_plural() {
        for (path, to) in [
            ("/search", "/searches"),
            ("/products/{id}/price", "/products/{id}/prices"),
            ("/order/{id}", "/orders/{id}"),
            ("/order/items/", "/orders/items"),
            ("/a//reply", "/a/replies"),
            ("/pay", "/payments"),
            ("/Survey", "/surveys"),
            ("/_process_", "/processes"),
            ("/{id}/cancel", "/{id}/cancellations"),
            ("/about/", "/about"),
        ] {
            assert_eq!(suggested(path, false), (to.to_owned(), None), "{path}");
        }
        // Where nothing else names what it is about.
        assert_eq!(suggested("/cancel", true), ("/cancellations".to_owned(), None));
    }

    #[test]
    fn whatever_is_proposed_keeps_to_the_grammar() {
        let catalog = Catalog::built_in();
        for verb in catalog.verbs() {
            let word = verb.name.to_lowercase();
            for path in
                [format!("/{word}"), format!("/x/{{id}}/{word}"), format!("/{word}/x"), format!("/{word}/{word}")]
            {
                for acts in [true, false] {
                    let found = suggest(&path, acts, &catalog).unwrap_or_else(|| panic!("{path}"));
                    assert!(Template::parse(&found.path, &catalog).is_ok(), "{path} {found:?}");
                }
            }
        }
        for fine in ["/orders", "/"] {
            assert_eq!(suggest(fine, true, &catalog), None, "{fine}");
        }
        for beyond in ["/a/x{id}", "/a b/search", "/{a}/{a}/search", "/a/../search"] {
            assert_eq!(suggest(beyond, true, &catalog), None, "{beyond}");
        }
    }

    #[test]
    fn a_catalog_may_have_the_plural_too() {
        let built_in = include_str!("../../../conf/catalog/agtp-1.0.0.json");
        let more = built_in.replace("{\"name\": \"YIELD\"", "{\"name\": \"SEARCHES\"},\n{\"name\": \"YIELD\"");
        let catalog = Catalog::read(more.as_bytes()).unwrap();
        assert_eq!(suggest("/search", false, &catalog).unwrap().path, "/search-1");
    }
}
