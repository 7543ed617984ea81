//! Compares two versions of the catalog (AGTP-API §4.7).
//!
//! Whether a difference breaks a declaration is decided where declarations are read.

use super::{
    catalog::{Catalog, Verb},
    name,
    suggest::{Suggested, suggest},
    template::Template,
};

/// Two versions of a catalog, and their differences.
#[derive(Debug)]
pub struct Diff {
    /// The versions.
    pub from: String,
    pub to: String,
    /// The new verbs, sorted; the other lists are sorted too.
    pub added: Vec<String>,
    pub removed: Vec<Leaving>,
    /// The newly deprecated verbs.
    pub deprecated: Vec<Leaving>,
    old: Catalog,
    new: Catalog,
}

/// A deprecated or removed verb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaving {
    pub name: String,
    /// Its successor.
    pub successor: Option<String>,
    /// The version that removes it.
    pub removed_in: Option<String>,
}

/// One of the two is not a catalog.
#[derive(Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// It is the newer one.
    pub newer: bool,
    /// The rest of a sentence that begins with the file's name.
    pub why: String,
}

/// Compares two catalogs in the structure of §3.1.
///
/// # Errors
///
/// The first of the two that is not a catalog.
pub fn diff(old: &[u8], new: &[u8]) -> Result<Diff, Unreadable> {
    let old = Catalog::read(old).map_err(|why| Unreadable { newer: false, why })?;
    let new = Catalog::read(new).map_err(|why| Unreadable { newer: true, why })?;
    let mut added: Vec<_> =
        new.verbs().map(|verb| &verb.name).filter(|name| old.verb(name).is_none()).cloned().collect();
    let gone = old.verbs().filter(|verb| new.verb(&verb.name).is_none()).map(|verb| Leaving {
        name: verb.name.clone(),
        successor: new.successor(&verb.name).or(verb.successor.as_deref()).map(str::to_owned),
        removed_in: Some(new.version.clone()),
    });
    let is_old = |verb: &&Verb| old.verb(&verb.name).is_some_and(|old| old.deprecated_in.is_some());
    let going = new.verbs().filter(|verb| verb.deprecated_in.is_some() && !is_old(verb)).map(|verb| Leaving {
        name: verb.name.clone(),
        successor: verb.successor.clone(),
        removed_in: verb.removed_in.clone(),
    });
    let (mut removed, mut deprecated): (Vec<_>, Vec<_>) = (gone.collect(), going.collect());
    added.sort_unstable();
    removed.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    deprecated.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(Diff { from: old.version.clone(), to: new.version.clone(), added, removed, deprecated, old, new })
}

impl Diff {
    /// The older of the two.
    pub fn older(&self) -> &Catalog {
        &self.old
    }

    /// A verb that is none any more.
    pub fn gone(&self, verb: &str) -> Option<&Leaving> {
        self.removed.iter().find(|gone| gone.name == verb)
    }

    /// What is wrong with a path by the newer catalog that was right by the older one, as the rest of a sentence that
    /// begins with the path; and what could be written instead.
    pub fn blocks(&self, path: &str) -> Option<(String, Option<Suggested>)> {
        Template::parse(path, &self.old).ok()?;
        let wrong = Template::parse(path, &self.new).err()?;
        Some((wrong.detail, suggest(path, true, &self.new)))
    }

    /// The generated path of a capability before and after, where it changes.
    pub fn moves(&self, id: &str) -> Option<(String, String)> {
        let [before, after] = [&self.old, &self.new].map(|catalog| name::path_of(id, None, catalog));
        (before != after).then_some((before, after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUILT_IN: &str = include_str!("../../../conf/catalog/agtp-1.0.0.json");

    /// FRANK is new, BOOK is gone, SEARCH is going; HIRE is omitted.
    fn newer() -> String {
        BUILT_IN
            .replace("\"version\": \"1.0.0\"", "\"version\": \"2.0.0\"")
            .replace(
                "{\"name\": \"BOOK\",",
                "{\"name\": \"BOOK\", \"removed_in\": \"2.0.0\", \"successor\": \"RESERVE\",",
            )
            .replace(
                "{\"name\": \"SEARCH\",",
                "{\"name\": \"SEARCH\", \"deprecated_in\": \"1.9.0\", \"removed_in\": \"3.0.0\",",
            )
            .replace("{\"name\": \"HIRE\",", "{\"name\": \"FRANK\",")
    }

    fn leaving(name: &str, successor: Option<&str>, removed_in: &str) -> Leaving {
        Leaving { name: name.into(), successor: successor.map(str::to_owned), removed_in: Some(removed_in.into()) }
    }

    #[test]
    fn verbs_come_and_go() {
        let diff = diff(BUILT_IN.as_bytes(), newer().as_bytes()).unwrap();
        assert_eq!((diff.from.as_str(), diff.to.as_str()), ("1.0.0", "2.0.0"));
        assert_eq!(diff.added, ["FRANK"]);
        assert_eq!(diff.removed, [leaving("BOOK", Some("RESERVE"), "2.0.0"), leaving("HIRE", None, "2.0.0")]);
        assert_eq!(diff.deprecated, [leaving("SEARCH", None, "3.0.0")]);
        assert!(diff.blocks("/a/frank").is_some_and(|(why, _)| why.contains("the verb FRANK")));
        // It was no verb before, and a removed verb blocks no path.
        assert_eq!((diff.blocks("/a/search"), diff.blocks("/a/book")), (None, None));
        assert_eq!(diff.moves("frank"), Some(("/frank".into(), "/frank-call".into())));
        assert_eq!(diff.moves("book"), Some(("/book-call".into(), "/book".into())));
        assert_eq!(diff.moves("rooms.book"), None);
    }

    #[test]
    fn nothing_is_different_from_itself() {
        let same = diff(newer().as_bytes(), newer().as_bytes()).unwrap();
        assert!(same.added.is_empty() && same.removed.is_empty() && same.deprecated.is_empty());
    }

    #[test]
    fn it_is_said_which_of_the_two_is_no_catalog() {
        for (old, new, newer) in [("{}", BUILT_IN, false), (BUILT_IN, "{}", true), ("{}", "{}", false)] {
            assert_eq!(diff(old.as_bytes(), new.as_bytes()).map_err(|none| none.newer).err(), Some(newer));
        }
    }
}
