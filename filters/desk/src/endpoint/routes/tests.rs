//! Which endpoint a path leads to, in whatever spelling, and which it does not.

use super::*;

fn endpoints(paths: &[&str]) -> Endpoints {
    let mut endpoints = Endpoints::default();
    for path in paths {
        endpoints.add(Endpoint::call(path, Method::GET, false, crate::problem::reply));
    }
    endpoints
}

fn found(endpoints: &Endpoints, target: &str) -> Option<String> {
    endpoints.find(&Path::of(target), &Method::GET).map(|endpoint| endpoint.declared.clone())
}

#[test]
fn a_place_stands_for_one_segment() {
    for (template, target, expected) in [
        ("/records/{id}", "/records/1", true),
        ("/records/{id}", "/records", false),
        ("/records/{id}", "/records/1/2", false),
        ("/records/{id}", "/records/1%2F2", true),
        ("/records/{id}", "/records/1%5c2/", true),
        ("/records/{id}", "/records/1\\x", true),
        ("/records/{id}", "/records/;1", true),
        ("/records/{id}", "/records/1;a=b/2", false),
        ("/records/{id}", "/x/../records/1", true),
        ("/{a}/x/{b}.json", "/1/x/2.json", true),
        ("/{a}/x/{b}.json", "/1/x/.json", false),
        ("/{a}/x/{b}.json", "/1/y/2.json", false),
    ] {
        assert_eq!(found(&endpoints(&[template]), target).is_some(), expected, "{template} {target}");
    }
}

#[test]
fn what_is_written_out_is_nearer() {
    let endpoints = endpoints(&["/a/{x}/c", "/a/b/{y}", "/{z}/b/d", "/a/b/c"]);
    let find = |target| found(&endpoints, target);
    assert_eq!(find("/a/b/c").as_deref(), Some("/a/b/c"));
    assert_eq!(find("/a/q/c").as_deref(), Some("/a/{x}/c"));
    assert_eq!(find("/a/b/q").as_deref(), Some("/a/b/{y}"));
    assert_eq!(find("/q/b/d").as_deref(), Some("/{z}/b/d"));
    assert_eq!(find("/q/b/e"), None);
}

#[test]
fn what_folds_to_an_endpoint_is_found() {
    let endpoints = endpoints(&["/api/Holds", "/Records/{id}.json", "/a/b-long-name.aspx", "/v1/books:search"]);
    for (target, expected) in [
        ("/api/holds", Some("/api/Holds")),
        ("/API/HOLDS", Some("/api/Holds")),
        ("/api/Holds.", Some("/api/Holds")),
        ("/api/hold%2573?x", Some("/api/Holds")),
        ("/api/holds%3fx", Some("/api/Holds")),
        ("/api/holds::$DATA", Some("/api/Holds")),
        ("/api/x%3f/../holds", Some("/api/Holds")),
        ("/api/..%5cx/../holds", Some("/api/Holds")),
        ("/api//../holds", Some("/api/Holds")),
        ("/api/%252e%252e/../holds", Some("/api/Holds")),
        ("/records/1.JSON", Some("/Records/{id}.json")),
        ("/RECORDS/1%2f2.json", Some("/Records/{id}.json")),
        ("/Records/%e2%80%8b.json", Some("/Records/{id}.json")),
        ("/x/..;/records/7.json", Some("/Records/{id}.json")),
        ("/a/B-LONG~1.ASP", Some("/a/b-long-name.aspx")),
        ("/V1/books:SEARCH", Some("/v1/books:search")),
        ("/v1/books", None),
        ("/v1/books:find", None),
        ("/api", None),
        ("/api/hold", None),
        ("/api/holds/1", None),
        ("/x/api/holds", None),
        ("/holds/../api", None),
        ("/records/.json", None),
        ("/?q=/api/holds", None),
    ] {
        assert_eq!(found(&endpoints, target).as_deref(), expected, "{target}");
    }
}

#[test]
fn a_guarded_handler_is_not_found_elsewhere_either() {
    let mut endpoints = Endpoints::default();
    let call = |method| Endpoint::call("/api/holds", method, true, crate::problem::reply);
    endpoints.add(call(Method::GET));
    endpoints.add(call(Method::POST).guarding());
    endpoints.add(Endpoint::call("/open", Method::POST, true, crate::problem::reply));
    let found = |method: Method, target| endpoints.find(&Path::of(target), &method).is_some();
    for target in [
        "/api/holds.json",
        "/API/Holds.JSON?x",
        "/index.php/api/holds",
        "/Index.PHP/x/../api//holds",
        "/index.php/x/%252e%252e/api/holds/index.html",
        "/api/holds%2Ejson",
        "/api/h\u{f6}lds",
        "/api\u{2215}holds",
        "//x/api/holds",
        "///x/api/holds",
        "/\\x\\api/holds",
        "//u@x:1/api/holds.json?y",
    ] {
        assert!(found(Method::POST, target), "{target}");
        assert!(found(Method::DELETE, target), "nobody said that it may: {target}");
    }
    for (method, target) in [
        // What is asked for there without a credential may be asked for elsewhere too.
        (Method::GET, "/api/holds.json"),
        (Method::GET, "/api/holds.php"),
        (Method::POST, "/open.json"),
        (Method::POST, "/index.php/open"),
        (Method::POST, "/index.php"),
        (Method::POST, "/x/api/holds.json"),
        (Method::POST, "/x/api/holds"),
        (Method::POST, "//api"),
    ] {
        assert!(!found(method, target), "{target}");
    }
}

#[test]
fn a_page_beside_a_guarded_handler_is_the_sites_unless_it_may_be_the_handler() {
    let mut endpoints = Endpoints::default();
    let call = |path, method| Endpoint::call(path, method, true, crate::problem::reply);
    endpoints.add(call("/search", Method::POST).guarding());
    endpoints.add(call("/account", Method::GET).guarding());
    endpoints.add(call("/open", Method::POST));
    endpoints.add(call("/open", Method::DELETE).guarding());
    for (method, target, is_ours) in [
        (Method::GET, "/search.xml", false),
        (Method::HEAD, "/search.csv", false),
        (Method::OPTIONS, "/search.txt", false),
        (Method::GET, "/search/index.html?method=fast", false),
        (Method::GET, "/search.xml?_method=POST", true),
        (Method::POST, "/search.xml", true),
        (Method::PUT, "/search.xml", true),
        // A script may take what it needs from the query, whatever the method is.
        (Method::GET, "/search.php", true),
        (Method::GET, "/index.php/search", true),
        (Method::GET, "/account.xml", true),
        (Method::HEAD, "/account.xml", true),
        (Method::GET, "/account.css", false),
        (Method::GET, "/account.css?_method=GET", true),
        // A form may name the method in its body.
        (Method::POST, "/open.json", true),
        (Method::GET, "/open.json", false),
    ] {
        assert_eq!(endpoints.find(&Path::of(target), &method).is_some(), is_ours, "{method} {target}");
    }
    let headers = HeaderMap::from_iter([("x-http-method-override".parse().unwrap(), "POST".parse().unwrap())]);
    let found = |target| endpoints.find_with(&Path::of(target), &Method::GET, Some(&headers)).is_some();
    assert!(found("/search.xml") && !found("/searches.xml"));
}

#[test]
fn the_root_is_guarded_like_any_other_handler() {
    for (declared, target) in [("/", "/index.php"), ("/", "/default.aspx"), ("/index.php", "/"), ("/index.php", "//")] {
        let mut endpoints = Endpoints::default();
        endpoints.add(Endpoint::call(declared, Method::POST, true, crate::problem::reply).guarding());
        assert!(endpoints.find(&Path::of(target), &Method::POST).is_some(), "{declared} {target}");
        assert!(endpoints.find(&Path::of("/page"), &Method::POST).is_none(), "{declared}");
    }
}

#[test]
fn what_is_below_is_found_folded_too() {
    let mut endpoints = Endpoints::default();
    endpoints.add(Endpoint::call("/tools", Method::GET, false, crate::problem::reply).below());
    for (target, expected) in [
        ("/tools/x", true),
        ("/Tools/X", true),
        ("/tools%255cx", true),
        ("/x/../tools/..;/tools/y", true),
        ("/tools", false),
        ("/TOOLS", false),
        ("/tools.x/y", false),
    ] {
        assert_eq!(found(&endpoints, target).is_some(), expected, "{target}");
    }
}
