//! Addresses at which a handler is found, and those that are the site's own.

use super::*;

fn reach(declared: &str, path: &str, reads: bool) -> Option<Reach> {
    let segments = |path: &str| path.split('/').skip(1).filter(|s| !s.is_empty()).map(str::to_owned).collect();
    let (mut handlers, sent): (Handlers, Vec<String>) = (Handlers::default(), segments(path));
    let declared: Vec<String> = segments(declared);
    handlers.add(&declared, 0);
    assert!(!handlers.is_empty());
    if path.is_ascii() && handlers.cannot_be_at(path) {
        return None;
    }
    handlers.find(sent.iter().map(String::as_str), reads).map(|(_, reach)| reach)
}

#[test]
fn a_handler_is_found_at_other_addresses() {
    use Reach::{Form, Program};
    for (declared, path, expected) in [
        ("/api/holds", "/index.php/api/holds", Program),
        ("/api/holds", "/app_dev.php/api/holds", Program),
        ("/api/holds", "/api/index.php/holds", Program),
        ("/api/holds", "/shop/index.php/api/holds", Program),
        ("/api/holds", "/cgi-bin/app.cgi/api/holds.json", Program),
        ("/api/holds", "/cgi-bin/app/api/holds", Program),
        ("/api/holds", "/app.wsgi/api/holds", Program),
        ("/api/holds", "/app.unheard-of/api/holds", Form),
        ("/api/holds", "/index.html/api/holds", Form),
        ("/api/holds", "/(s(lit3py55t21z5v55vlm25s55))/api/holds", Form),
        ("/api/holds", "/api/(x(1)f(abc))/holds.json", Form),
        ("/api/holds", "/api/holds.json", Form),
        ("/api/holds", "/api/holds.php", Program),
        ("/api/holds", "/api/holds.php/x", Program),
        ("/api/holds", "/api/holds.unheard/x", Form),
        ("/api/holds", "/api/holds.json.gz", Form),
        ("/api/holds", "/api/holds.verylongending", Form),
        ("/api/holds", "/api/holds.a-b", Form),
        ("/api/holds", "/api/holds.+json", Form),
        ("/api/holds", "/api/holds.a.b.c.d.e.f", Form),
        ("/api/v1.2.holds", "/api/v1.2.holds.a.b.c.d.e.f", Form),
        ("/api/holds", "/api/holds/index.html", Form),
        ("/api/holds", "/api/holds/index.unheard-of", Form),
        ("/api/holds", "/api/holds/index", Form),
        ("/api/holds", "/api/holds/default.aspx", Program),
        ("/api/holds", "/āpi/hölds", Form),
        ("/api/holds.php", "/api/holds", Program),
        ("/api/holds.php", "/api/holds.html", Form),
        ("/api/holds.php", "/api/holds.php/x/y", Program),
        ("/records/{id}", "/index.php/records/7", Program),
        ("/records/{id}", "/records/7/index.php", Program),
        ("/records/{id}", "/app.unheard-of/records/7", Form),
        ("/records/{id}", "/records.php/7", Program),
        ("/api/holds", "/api.cgi/holds", Program),
        ("/api/holds", "/index/api/holds", Program),
        ("/records/{id}", "/index/records/7", Program),
        ("/{page}", "/index.php/x", Program),
        ("/", "/index.php", Program),
        ("/", "/index.html", Form),
        ("/", "/(s(x))/", Form),
        ("/index.php", "/", Form),
        ("/index.php", "/index", Program),
        ("/index.php", "/index.php/x", Program),
        ("/run/index.html", "/run", Form),
        ("/index.php/api/holds", "/api/holds", Form),
        ("/shop/index.php/api/holds", "/shop/api/holds.json", Form),
    ] {
        assert_eq!(reach(declared, path, false), Some(expected), "{declared} {path}");
        assert_eq!(reach(declared, path, true), Some(expected), "{declared} {path}");
    }
    assert!(reach("/api/holds", "/api/holds.png", false).is_some(), "Rails runs it before it asks for the format");
}

#[test]
fn by_get_a_name_with_a_dot_is_a_page_unless_programs_are_called_so() {
    for path in [
        "/john.doe/records/7",
        "/example.org/records/7",
        "/socket.io/records/7",
        "/asp.net/records/7",
        "/release.notes/records/7",
        "/api.example.com/records/7",
    ] {
        assert_eq!(reach("/records/{id}", path, true), None, "{path}");
        assert_eq!(reach("/records/{id}", path, false), Some(Reach::Form), "{path}: a POST is no page");
    }
    for path in ["/node.js/records/7", "/v2.0/records/7", "/default/records/7", "/app/records/7"] {
        assert_eq!(reach("/records/{id}", path, true), None, "{path}");
        assert_eq!(reach("/records/{id}", path, false), None, "{path}");
    }
}

#[test]
fn other_addresses_are_the_sites() {
    for (declared, path) in [
        ("/api/holds", "/api"),
        ("/api/holds", "/api/holds/7"),
        ("/api/holds", "/api/holds-2.json"),
        ("/api/holds", "/v2/api/holds"),
        ("/api/holds", "/v2.1/api/holds"),
        ("/api/holds", "/api/a.b/holds"),
        ("/api/holds", "/api.json/holds"),
        ("/api/holds", "/index.php"),
        ("/api/holds", "/index.php/api/hold"),
        ("/api/holds", "/api/.holds"),
        ("/api/holds", "/(1)/api/holds"),
        ("/api/holds.json", "/api/holds"),
        ("/records/{id}", "/records/a.b/comments"),
        ("/{page}", "/a.b/c"),
        ("/search.html", "/search"),
        ("/cart", "/"),
        ("/", "/x.php"),
        ("/", "/index.php/contact"),
        ("/index.php/{page}", "/x"),
    ] {
        assert_eq!(reach(declared, path, false), None, "{declared} {path}");
    }
    assert_eq!(reach("/cart", "/cart.js", true), None, "a part of a page");
    assert!(Handlers::default().is_empty() && Handlers::default().find(["x.php"].into_iter(), true).is_none());
}
