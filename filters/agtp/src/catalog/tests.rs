//! The built-in catalog is complete, and others are parsed or refused.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::*;

const DOCUMENT: &[u8] = include_bytes!("../../../../conf/catalog/agtp-1.0.0.json");

/// The built-in catalog with one change.
fn changed(change: impl FnOnce(&mut Value)) -> Result<Catalog, String> {
    let mut document: Value = serde_json::from_slice(DOCUMENT).unwrap();
    change(&mut document);
    Catalog::read(document.to_string().as_bytes())
}

/// The verb of a document.
fn verb<'a>(document: &'a mut Value, name: &str) -> &'a mut Value {
    document["verbs"].as_array_mut().unwrap().iter_mut().find(|verb| verb["name"] == name).unwrap()
}

#[test]
fn the_built_in_catalog_is_read() {
    let catalog = Catalog::read(DOCUMENT).unwrap();
    assert_eq!((catalog.version.as_str(), catalog.verbs.len()), ("1.0.0", 425));
    assert_eq!((catalog.preferred("GET"), catalog.legacy().count()), (Some("FETCH"), 5));
    for (leaked, verb) in
        [("search", "SEARCH"), ("Check-Out", "CHECKOUT"), ("S_E-ARCH", "SEARCH"), ("get", "GET"), ("patch", "PATCH")]
    {
        assert_eq!(catalog.leaked_by(leaked), Some(verb), "{leaked}");
    }
    let dashes = "-".repeat(100) + "book";
    assert_eq!(catalog.leaked_by(&dashes), Some("BOOK"));
    let long = "SEARCH".repeat(6);
    // The Kelvin sign is no K, and the long s no S, whatever Unicode folds them to.
    for fine in ["flights", "searches", "flights-search", "", "-", "söarch", "boo\u{212a}", "\u{17f}earch", &long] {
        assert_eq!(catalog.leaked_by(fine), None, "{fine}");
    }
}

#[test]
fn every_verb_says_what_it_means() {
    let document: Value = serde_json::from_slice(DOCUMENT).unwrap();
    let names = |key: &str| -> Vec<&str> {
        document[key].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect()
    };
    assert_eq!(document["embedded"], json!(FLOOR));
    assert_eq!(names("categories"), CATEGORIES);
    assert!(names("verbs").is_sorted(), "they are found by eye");
    let mut said = HashSet::new();
    for entry in ["verbs", "categories"].iter().flat_map(|key| document[*key].as_array().unwrap()) {
        let description = entry["description"].as_str().unwrap();
        assert!((10..=160).contains(&description.len()), "{entry}");
        assert!(said.insert(description.to_lowercase()), "twice: {entry}");
    }
    for verb in Catalog::built_in().verbs() {
        assert!(!verb.categories.is_empty(), "{}", verb.name);
        assert!(verb.categories.iter().all(|name| CATEGORIES.contains(&name.as_str())), "{}", verb.name);
    }
}

#[test]
fn a_verb_is_deprecated_and_then_removed() {
    let at = |version: &str| {
        changed(|document| {
            document["version"] = version.into();
            let book = verb(document, "BOOK");
            book["deprecated_in"] = "1.2.0".into();
            book["removed_in"] = "2.0.0".into();
            book["successor"] = "RESERVE".into();
        })
        .unwrap()
    };
    let warning = |catalog: &Catalog| catalog.verb("BOOK").and_then(Verb::warning);
    assert_eq!(warning(&at("1.1.9")), None);
    assert_eq!(warning(&at("1.2.0")).as_deref(), Some("deprecated; successor=RESERVE; removed_in=2.0.0"));
    let gone = at("2.0.0");
    assert!(gone.verb("BOOK").is_none() && gone.is_removed("BOOK") && gone.leaked_by("book").is_none());
    assert!(!at("1.9.9").is_removed("BOOK"));
}

#[test]
fn what_a_later_major_leaves_out_was_removed() {
    let without = |version: &str| {
        let mut document: Value = serde_json::from_slice(DOCUMENT).unwrap();
        document["version"] = version.into();
        document["verbs"].as_array_mut().unwrap().retain(|verb| verb["name"] != "BOOK");
        Catalog::of_operator(document.to_string().as_bytes()).unwrap()
    };
    let later = without("2.0.0");
    assert!(later.verb("BOOK").is_none() && later.is_removed("BOOK") && later.successor("BOOK").is_none());
    assert!(!later.is_removed("BOKK") && !later.is_removed("SEARCH"));
    assert!(!without("1.9.0").is_removed("BOOK"), "nothing is removed within a MAJOR: it is a mistake to name it");
}

#[test]
fn a_catalog_that_is_none_is_refused_with_a_reason() {
    type Change = fn(&mut Value);
    let cases: [(&str, Change); 9] = [
        ("has the version \"1\"", |d| d["version"] = "1".into()),
        ("lacks QUERY", |d| verb(d, "QUERY")["name"] = "QUERIED".into()),
        ("lacks QUERY", |d| verb(d, "QUERY")["removed_in"] = "1.0.0".into()),
        ("has a verb \"Book\"", |d| verb(d, "BOOK")["name"] = "Book".into()),
        ("has the verb CANCEL twice", |d| verb(d, "BOOK")["name"] = "CANCEL".into()),
        ("has the verb HEAD, which is a method of HTTP", |d| verb(d, "BOOK")["name"] = "HEAD".into()),
        ("for a successor of BOOK, which is no verb", |d| verb(d, "BOOK")["successor"] = "a\r\nb".into()),
        ("has a removed_in of BOOK", |d| verb(d, "BOOK")["removed_in"] = "soon".into()),
        ("says that GET means BOKK", |d| d["legacy"][0]["preferred"] = "BOKK".into()),
    ];
    for (why, change) in cases {
        let refused = changed(change).map(|_| ()).unwrap_err();
        assert!(refused.contains(why), "{why}: {refused}");
    }
    for nothing in ["", "[]", "{}", "{\"version\": \"1.0.0\"}"] {
        assert!(Catalog::read(nothing.as_bytes()).is_err_and(|why| why.starts_with("is no catalog: ")));
    }
    // Elsewhere the key is called so.
    let other = String::from_utf8(DOCUMENT.to_vec()).unwrap().replace("\"verbs\":", "\"methods\":");
    assert!(Catalog::read(other.as_bytes()).is_ok());
}
