//! Which verbs a policy admits, and as which verb.

use super::*;
use crate::path;

/// BOOK is removed, and its successor is not.
fn catalog() -> Catalog {
    let mut document: Value =
        serde_json::from_slice(include_bytes!("../../../../conf/catalog/agtp-1.0.0.json")).unwrap();
    document["version"] = "2.0.0".into();
    for verb in document["verbs"].as_array_mut().unwrap() {
        if verb["name"] == "BOOK" {
            verb["removed_in"] = "2.0.0".into();
        }
    }
    Catalog::read(document.to_string().as_bytes()).unwrap()
}

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

fn redirect(from: (&str, Option<&str>), to: (&str, Option<&str>)) -> frontdesk_config::Redirect {
    let text = |text: Option<&str>| text.map(str::to_owned);
    frontdesk_config::Redirect {
        from_method: from.0.into(),
        from_path: text(from.1),
        to_method: to.0.into(),
        to_path: text(to.1),
    }
}

#[test]
fn aliases_are_seeded_and_take_one_step() {
    let catalog = Catalog::built_in();
    let policy = Policy::new(&MethodPolicy::default(), &catalog);
    for (sent, meant) in
        [("GET", "FETCH"), ("POST", "CREATE"), ("PUT", "REPLACE"), ("DELETE", "REMOVE"), ("PATCH", "MODIFY")]
    {
        assert_eq!(policy.resolve(sent), Resolved { method: meant, requested: Some(sent) });
    }
    assert_eq!(policy.resolve("BOOK"), Resolved { method: "BOOK", requested: None });

    // Declared aliases replace the defaults.
    let written = MethodPolicy { aliases: Some(vec![("RETRIEVEALL".into(), "LIST".into())]), ..Default::default() };
    let policy = Policy::new(&written, &catalog);
    assert_eq!(policy.resolve("RETRIEVEALL").method, "LIST");
    assert_eq!(policy.resolve("GET"), Resolved { method: "GET", requested: None });
    let none = Policy::new(&MethodPolicy { aliases: Some(Vec::new()), ..Default::default() }, &catalog);
    assert_eq!(none.resolve("GET").requested, None);
    assert_eq!(none.admits("GET", &catalog), Admission::Unknown);
}

#[test]
fn a_verb_is_admitted_refused_or_unknown() {
    let catalog = Catalog::built_in();
    let open = Policy::new(&MethodPolicy { disallow: strings(&["TRANSFER"]), ..Default::default() }, &catalog);
    for (verb, expected) in [
        ("BOOK", Admission::Admitted),
        ("QUERY", Admission::Admitted),
        ("TRANSFER", Admission::Refused),
        ("TRANSLATE", Admission::Unknown),
        ("GET", Admission::Unknown),
        ("HEAD", Admission::Unknown),
        ("book", Admission::Unknown),
        ("X-BOOK", Admission::Unknown),
        ("", Admission::Unknown),
    ] {
        assert_eq!(open.admits(verb, &catalog), expected, "{verb}");
    }
    let listed = MethodPolicy { allow: Some(strings(&["BOOK", "FRANK"])), ..Default::default() };
    let listed = Policy::new(&listed, &catalog);
    for (verb, expected) in [
        ("BOOK", Admission::Admitted),
        ("FRANK", Admission::Admitted),
        // The floor is always allowed.
        ("DEPRECATE", Admission::Admitted),
        ("CANCEL", Admission::Refused),
        ("FRANKY", Admission::Unknown),
    ] {
        assert_eq!(listed.admits(verb, &catalog), expected, "{verb}");
    }
    assert_eq!(listed.custom(), ["FRANK"]);
    // The configuration check refuses it; the floor would still be allowed.
    let floor = Policy::new(&MethodPolicy { disallow: strings(&["QUERY"]), ..Default::default() }, &catalog);
    assert_eq!(floor.admits("QUERY", &catalog), Admission::Admitted);
}

#[test]
fn legacy_verbs_without_an_alias_have_a_meaning_of_their_own() {
    let catalog = Catalog::built_in();
    let declared = MethodPolicy {
        legacy: strings(&LEGACY),
        aliases: Some(Vec::new()),
        disallow: strings(&["PATCH"]),
        // A list of verbs does not affect names that are no verbs.
        allow: Some(strings(&["BOOK", "GET"])),
        ..Default::default()
    };
    let policy = Policy::new(&declared, &catalog);
    let meaning = |verb: &str| match policy.admits(verb, &catalog) {
        Admission::Legacy(legacy) => Some((legacy.method(), legacy.action(), legacy == Legacy::Put)),
        _ => None,
    };
    assert_eq!(meaning("GET"), Some(("QUERY", None, false)));
    assert_eq!(meaning("POST"), Some(("EXECUTE", None, false)));
    assert_eq!(meaning("PUT"), Some(("EXECUTE", None, true)));
    assert_eq!(meaning("DELETE"), Some(("EXECUTE", Some("delete"), false)));
    assert_eq!(policy.admits("PATCH", &catalog), Admission::Refused);
    assert_eq!((policy.admits("HEAD", &catalog), policy.custom()), (Admission::Unknown, &[][..]));
}

#[test]
fn redirects_take_one_step() {
    let catalog = Catalog::built_in();
    let declared = MethodPolicy {
        redirects: vec![
            redirect(("BOOK", Some("/room")), ("RESERVE", Some("/rooms"))),
            redirect(("BOOK", Some("/rooms/{id}")), ("RESERVE", Some("/stays/{id}"))),
            redirect(("SEARCH", None), ("QUERY", None)),
            redirect(("FIND", None), ("QUERY", Some("/catalogue"))),
            redirect(("CANCEL", Some("/room")), ("REMOVE", None)),
        ],
        ..Default::default()
    };
    let policy = Policy::new(&declared, &catalog);
    let goes = |method: &str, target: &str| {
        let asked = path::read(target, &catalog).unwrap();
        policy.redirect(method, &asked).map(|(method, path)| (method.to_owned(), path))
    };
    let to = |method: &str, path: Option<&str>| Some((method.to_owned(), path.map(str::to_owned)));
    assert_eq!(goes("BOOK", "/room?x=1"), to("RESERVE", Some("/rooms")));
    assert_eq!(goes("BOOK", "/rooms/a%2Cb%20c"), to("RESERVE", Some("/stays/a%2Cb%20c")));
    assert_eq!(goes("SEARCH", "/whatever"), to("QUERY", None));
    assert_eq!(goes("FIND", "/whatever"), to("QUERY", Some("/catalogue")));
    assert_eq!((goes("RESERVE", "/room"), goes("BOOK", "/other")), (None, None));
    let told = |target| Value::Object(policy.redirects_for(&path::read(target, &catalog).unwrap()));
    let everywhere = json!({"SEARCH": "QUERY", "FIND": "QUERY"});
    assert_eq!(told("/other"), everywhere);
    assert_eq!(told("/room"), json!({"SEARCH": "QUERY", "FIND": "QUERY", "BOOK": "RESERVE", "CANCEL": "REMOVE"}));
}

#[test]
fn what_names_a_removed_verb_is_as_if_it_were_not_written() {
    let catalog = catalog();
    let declared = MethodPolicy {
        allow: Some(strings(&["BOOK", "RESERVE", "FRANK"])),
        disallow: strings(&["BOOK", "CANCEL"]),
        legacy: strings(&["GET"]),
        aliases: Some(vec![("HOLD".into(), "BOOK".into()), ("GET".into(), "FETCH".into())]),
        redirects: vec![
            redirect(("RESERVE", None), ("BOOK", None)),
            redirect(("CANCEL", Some("/room")), ("REMOVE", None)),
        ],
    };
    let policy = Policy::new(&declared, &catalog);
    assert_eq!((policy.admits("BOOK", &catalog), policy.custom()), (Admission::Unknown, &strings(&["FRANK"])[..]));
    assert_eq!(policy.resolve("HOLD").requested, None);
    assert_eq!(policy.redirect("RESERVE", &path::read("/room", &catalog).unwrap()), None);
    assert_eq!(
        *policy.manifest(),
        json!({
            "allow": ["RESERVE", "FRANK"],
            "disallow": ["CANCEL"],
            "legacy": ["GET"],
            "aliases": {"GET": "FETCH"},
            "redirects": [{"from_method": "CANCEL", "from_path": "/room", "to_method": "REMOVE"}],
        })
    );
}

#[test]
fn the_manifest_says_what_holds_where_nothing_is_written() {
    let policy = Policy::new(&MethodPolicy::default(), &Catalog::built_in());
    let aliases = json!({"GET": "FETCH", "POST": "CREATE", "PUT": "REPLACE", "DELETE": "REMOVE", "PATCH": "MODIFY"});
    assert_eq!(
        *policy.manifest(),
        json!({"allow": "*", "disallow": [], "legacy": "NONE", "aliases": aliases, "redirects": []})
    );
    let all = MethodPolicy { legacy: strings(&LEGACY), ..Default::default() };
    assert_eq!(Policy::new(&all, &Catalog::built_in()).manifest()["legacy"], "*");
}
