//! A site that sends its pages to its own name is read by that name, and nothing else is.

use super::*;

/// By what name the site is asked.
fn by(ask: &Ask) -> Option<String> {
    ask.by.as_ref().map(|name| name.origin())
}

/// A site that goes by this name only; by any other it redirects there.
fn known_as(origin: &'static str) -> Site<impl Fn(&Ask) -> Option<Said>> {
    Site::new(move |ask: &Ask| {
        if by(ask).as_deref() != Some(origin) {
            return said(301, &[("location", &format!("{origin}{}", ask.target))], "");
        }
        match &*ask.target {
            "/robots.txt" => said(200, &[], "User-agent: *\nDisallow: /secret\n"),
            // Links as the site writes them.
            "/" => {
                page("Start", &[&format!("{origin}/a"), "/b", "/secret", "http://site.test/c", "http://other.test/d"])
            }
            "/a" | "/b" | "/c" | "/d" => page(&ask.target, &[]),
            _ => missing(),
        }
    })
}

#[test]
fn a_site_is_read_by_its_own_name() {
    for origin in ["http://shop.test", "https://shop.test", "https://site.test", "http://127.0.0.1:17001"] {
        let site = known_as(origin);
        let (books, ending) = site.round("", Books::default(), 0);
        assert_eq!((paths(&books), ending), (vec!["/".into(), "/a".into(), "/b".into()], Ending::Complete), "{origin}");
        let (books, _) = site.round("", books, 1);
        assert_eq!(paths(&books), ["/", "/a", "/b"], "{origin}");
        assert!(books.get("/").unwrap().page.markdown.contains("Start"));
    }
}

#[test]
fn robots_of_the_name_are_kept() {
    // By the upstream's name everything may be read; by the site's nothing.
    let site = Site::new(|ask: &Ask| match (&*ask.target, by(ask).is_some()) {
        ("/robots.txt", true) => said(200, &[], "User-agent: *\nDisallow: /\n"),
        ("/", false) => said(301, &[("location", "http://shop.test/")], ""),
        ("/", true) => page("Start", &[]),
        _ => missing(),
    });
    let (books, _) = site.round("start = ['/']", Books::default(), 0);
    assert_eq!((books.len(), site.asked()), (0, vec!["/".into(), "/robots.txt".into(), "/robots.txt".into()]));
}

#[test]
fn a_name_that_does_not_answer_is_not_the_sites() {
    let site = Site::new(|ask: &Ask| match (&*ask.target, by(ask).is_some()) {
        ("/robots.txt", _) => missing(),
        (_, true) => said(404, &[], ""),
        ("/", false) => page("Start", &["/a"]),
        ("/a", false) => page("A", &[]),
        (_, false) => said(302, &[("location", &format!("https://other.test{}", ask.target))], ""),
    });
    let (books, _) = site.round("", Books::default(), 0);
    assert_eq!(paths(&books), ["/", "/a"]);
}

#[test]
fn only_where_the_operator_begins_a_name_is_believed() {
    let site = Site::new(|ask: &Ask| match (&*ask.target, by(ask)) {
        (_, Some(name)) => panic!("asked by {name}"),
        ("/", _) => page("Start", &["/go"]),
        // What a stranger wrote into a page.
        ("/go", _) => said(302, &[("location", "http://internal.test/go")], ""),
        _ => missing(),
    });
    assert_eq!(paths(&site.round("", Books::default(), 0).0), ["/"]);
}

#[test]
fn a_site_that_always_has_another_name_is_left_alone() {
    let site = Site::new(|ask: &Ask| {
        let next = by(ask).map_or(0, |name| name.len());
        said(302, &[("location", &format!("http://{}.test{}", "x".repeat(next + 1), ask.target))], "")
    });
    let (books, _) = site.round("", Books::default(), 0);
    assert!(books.is_empty() && site.asked().len() < 60, "{}", site.asked().len());
}

#[test]
fn the_operators_word_stands() {
    let site = Site::new(|ask: &Ask| match by(ask) {
        Some(name) => panic!("asked by {name}"),
        None => said(301, &[("location", &format!("http://shop.test{}", ask.target))], ""),
    });
    let (books, _) = site.round("[site]\norigin = 'http://site.test'", Books::default(), 0);
    assert!(books.is_empty());
}

#[test]
fn a_start_page_of_a_language_is_read_by_the_name_of_its_redirect() {
    let site = Site::new(|ask: &Ask| match (&*ask.target, by(ask).as_deref()) {
        ("/", None) => said(302, &[("location", "https://shop.test/en/")], ""),
        ("/en/", Some("https://shop.test")) => page("Start", &["https://shop.test/en/a"]),
        ("/en/a", Some("https://shop.test")) => page("A", &[]),
        (_, None) => said(302, &[("location", "https://shop.test/en/")], ""),
        _ => missing(),
    });
    let (books, _) = site.round("", Books::default(), 0);
    assert_eq!(paths(&books), ["/en/", "/en/a"]);
}
