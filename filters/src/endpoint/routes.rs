//! Routes a path to its endpoint, one step per segment, however many endpoints there are.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use http::{HeaderMap, Method};

use super::{Endpoint, What, handlers::Handlers, overrides, place, tree::Node};
use crate::path::{self, Path, folded_segment};

/// All endpoints, by canonical path.
#[derive(Debug, Clone, Default)]
pub struct Endpoints {
    all: Vec<Endpoint>,
    exact: HashMap<String, usize, RandomState>,
    /// The paths with placeholders.
    templates: Node,
    below: Vec<(String, usize)>,
    /// All paths in folded form: whatever a site could take for one of ours is ours.
    folded: Node,
    /// The endpoints that guard a handler of the site, by its other possible addresses.
    handlers: Handlers,
    /// A declared path differs from its folded form.
    declared_unfolded: bool,
}

impl Endpoints {
    /// Adds an endpoint. At an existing path it adds a method; a document stays as it is.
    pub(crate) fn add(&mut self, endpoint: Endpoint) {
        let path = Path::of(&endpoint.declared);
        let next = self.all.len();
        let folded: Vec<String> = segments(&path.canonical).map(folded_declared).collect();
        let declared = folded.clone();
        let folded = self.folded.grow(&folded);
        let there = if endpoint.below {
            folded.below.get_or_insert(next);
            self.below.push((path.canonical.clone().into_owned(), next));
            // The longest matching prefix takes precedence.
            self.below.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
            next
        } else {
            folded.here.get_or_insert(next);
            if path.canonical.contains('{') {
                let segments: Vec<&str> = segments(&path.canonical).collect();
                *self.templates.grow(&segments).here.get_or_insert(next)
            } else {
                *self.exact.entry(path.canonical.clone().into_owned()).or_insert(next)
            }
        };
        if endpoint.guards_something() {
            self.handlers.add(&declared, there);
        }
        self.declared_unfolded |= path.folded.is_some();
        match self.all.get_mut(there) {
            Some(there) => there.join(endpoint),
            None => self.all.push(endpoint),
        }
    }

    /// The endpoint of a request. Matches other spellings of its path too: such a request gets a 404, and does not
    /// pass to the site.
    pub(crate) fn find(&self, path: &Path<'_>, method: &Method) -> Option<&Endpoint> {
        self.find_with(path, method, None)
    }

    /// The same, with the headers of the request, which may override the method.
    pub(crate) fn find_with(&self, path: &Path<'_>, method: &Method, headers: Option<&HeaderMap>) -> Option<&Endpoint> {
        let index = self.find_index(path, method, headers).or_else(|| {
            let behind = Path::of(behind_authority(path.target)?);
            self.find_index(&behind, method, headers)
        });
        index.and_then(|index| self.all.get(index)).filter(|endpoint| !endpoint.yields || endpoint.takes(method))
    }

    fn find_index(&self, path: &Path<'_>, method: &Method, headers: Option<&HeaderMap>) -> Option<usize> {
        let canonical = path.canonical.as_ref();
        let under = |prefix: &str| canonical.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'));
        self.exact
            .get(canonical)
            .copied()
            .or_else(|| self.templates.find(segments(canonical)))
            .or_else(|| self.below.iter().find(|(prefix, _)| under(prefix)).map(|(_, index)| *index))
            .or_else(|| self.find_folded(path))
            .or_else(|| self.find_handler(path, method, headers))
    }

    /// The endpoint that some site could take a path for.
    fn find_folded(&self, path: &Path<'_>) -> Option<usize> {
        let Some(folded) = &path.folded else {
            let is_same = !self.declared_unfolded;
            return if is_same { None } else { self.folded.find(segments(&path.canonical)) };
        };
        if folded.climbs() {
            let pieces: Vec<&str> = folded.pieces().filter(|piece| *piece != "..").collect();
            return self.folded.find_among(&pieces);
        }
        self.folded.find(folded.segments()).or_else(|| self.find_by_reading(path.target))
    }

    /// The endpoint whose handler some site may have at a path.
    fn find_handler(&self, path: &Path<'_>, method: &Method, headers: Option<&HeaderMap>) -> Option<usize> {
        if self.handlers.is_empty() || path.folded.is_none() && self.handlers.cannot_be_at(&path.canonical) {
            return None;
        }
        let overridden = overrides::may_be_overridden(method, path.target, headers);
        let reads = matches!(*method, Method::GET | Method::HEAD) && !overridden;
        let (index, reach) = match &path.folded {
            None => self.handlers.find(segments(&path.canonical), reads),
            Some(folded) => {
                let mut kept: Vec<&str> = Vec::new();
                for segment in folded.segments() {
                    match segment {
                        ".." => drop(kept.pop()),
                        _ => kept.push(segment),
                    }
                }
                self.handlers.find(kept.into_iter(), reads)
            }
        }?;
        self.all.get(index)?.guards(method, overridden, reach).then_some(index)
    }

    /// The value of a placeholder may contain characters that otherwise separate or end segments.
    fn find_by_reading(&self, target: &str) -> Option<usize> {
        if self.templates.is_empty() {
            return None;
        }
        path::readings(target).into_iter().find_map(|sent| {
            let folded = sent.into_iter().map(|segment| match folded_segment(&segment) {
                nothing if nothing.is_empty() => segment.into_owned(),
                folded => folded,
            });
            let folded: Vec<String> = folded.collect();
            self.folded.find(folded.iter().map(String::as_str))
        })
    }

    /// The paths of the documents, in order.
    pub fn documents(&self) -> Vec<&str> {
        let mut paths: Vec<&str> = self.all.iter().filter_map(|e| Some(e.published()?.path.as_str())).collect();
        paths.sort_unstable();
        paths
    }
}

impl Endpoint {
    /// Adds a method; a document stays as it is.
    fn join(&mut self, other: Endpoint) {
        if let (What::Calls(calls), What::Calls(more)) = (&mut self.what, other.what) {
            calls.extend(more);
        }
    }
}

fn segments(path: &str) -> impl Iterator<Item = &str> + Clone {
    path.split('/').filter(|segment| !segment.is_empty())
}

/// A declared segment in folded form, except for the name of its placeholder.
fn folded_declared(segment: &str) -> String {
    match place(segment) {
        None => folded_segment(segment),
        Some((before, name, after)) => format!("{}{{{name}}}{}", folded_segment(before), folded_segment(after)),
    }
}

/// The path as a site sees it that parses a target as a URL: in `//host/path` the first segment is a host (RFC 3986
/// §4.2), and some parsers take backslashes for slashes.
fn behind_authority(target: &str) -> Option<&str> {
    let slash = ['/', '\\'];
    let rest = target.trim_start_matches(slash);
    (target.len() - rest.len() > 1).then(|| rest.find(slash).and_then(|at| rest.get(at..))).flatten()
}

#[cfg(test)]
mod tests {
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
            // What is open here without a credential may be open elsewhere too.
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
            // A script may read its input from the query, whatever the method.
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
        for (declared, target) in
            [("/", "/index.php"), ("/", "/default.aspx"), ("/index.php", "/"), ("/index.php", "//")]
        {
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
}
