//! Which endpoint a path belongs to, however many there are: a step for each segment.

use std::{borrow::Cow, collections::HashMap};

use foldhash::fast::RandomState;
use http::Method;

use super::{Endpoint, What, place};
use crate::path;

/// Every endpoint, by canonical path.
#[derive(Debug, Clone, Default)]
pub struct Endpoints {
    exact: HashMap<String, Endpoint, RandomState>,
    /// Paths with places.
    templates: Node,
    below: Vec<(String, Endpoint)>,
}

/// What may follow the segments so far.
#[derive(Debug, Clone, Default)]
struct Node {
    endpoint: Option<Box<Endpoint>>,
    literal: HashMap<String, Node, RandomState>,
    /// A segment with a place: what stands before it and after it.
    places: Vec<(String, String, Node)>,
}

impl Endpoints {
    /// Adds one. A path that is there already is called in one more way; a document stays what it is.
    pub(crate) fn add(&mut self, endpoint: Endpoint) {
        let canonical = path::canonical(&endpoint.declared).into_owned();
        if endpoint.below {
            self.below.push((canonical, endpoint));
            // Of two that fit, the nearer one.
            self.below.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        } else if canonical.contains('{') {
            let segments: Vec<&str> = segments(&canonical).collect();
            let node = self.templates.grow(&segments);
            match &mut node.endpoint {
                Some(there) => there.join(endpoint),
                None => node.endpoint = Some(Box::new(endpoint)),
            }
        } else {
            match self.exact.get_mut(&canonical) {
                Some(there) => there.join(endpoint),
                None => drop(self.exact.insert(canonical, endpoint)),
            }
        }
    }

    /// The endpoint that a request belongs to.
    pub(crate) fn find(&self, target: &str, canonical: &str, method: &Method) -> Option<&Endpoint> {
        let under = |prefix: &str| canonical.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'));
        self.exact
            .get(canonical)
            .or_else(|| self.template(target, canonical))
            .or_else(|| self.below.iter().find(|(prefix, _)| under(prefix)).map(|(_, e)| e))
            .filter(|endpoint| !endpoint.yields || endpoint.takes(method))
    }

    /// By the canonical path; and by whatever else a site may take for its segments.
    fn template(&self, target: &str, canonical: &str) -> Option<&Endpoint> {
        if self.templates.literal.is_empty() && self.templates.places.is_empty() {
            return None;
        }
        let by_reading =
            || path::readings(target).iter().find_map(|sent| self.templates.find(sent.iter().map(Cow::as_ref)));
        self.templates.find(segments(canonical)).or_else(by_reading)
    }

    /// The paths of the documents, in order.
    pub fn documents(&self) -> Vec<&str> {
        let mut paths: Vec<&str> = self.exact.values().filter_map(|e| Some(e.published()?.path.as_str())).collect();
        paths.sort_unstable();
        paths
    }
}

impl Endpoint {
    /// Is called in one more way; a document stays what it is.
    fn join(&mut self, other: Endpoint) {
        if let (What::Calls(calls), What::Calls(more)) = (&mut self.what, other.what) {
            calls.extend(more);
        }
    }
}

impl Node {
    fn grow(&mut self, segments: &[&str]) -> &mut Node {
        let Some((first, rest)) = segments.split_first() else { return self };
        let next = match place(first) {
            None => self.literal.entry((*first).to_owned()).or_default(),
            Some((before, _, after)) => {
                let same = |(b, a, _): &(String, String, Node)| b == before && a == after;
                let at = self.places.iter().position(same).unwrap_or_else(|| {
                    self.places.push((before.to_owned(), after.to_owned(), Node::default()));
                    self.places.len() - 1
                });
                &mut self.places[at].2
            }
        };
        next.grow(rest)
    }

    /// What is written out is nearer than a place.
    fn find<'p>(&self, mut rest: impl Iterator<Item = &'p str> + Clone) -> Option<&Endpoint> {
        let Some(first) = rest.next() else { return self.endpoint.as_deref() };
        let literal = self.literal.get(first).and_then(|node| node.find(rest.clone()));
        literal.or_else(|| {
            let fits = |before: &str, after: &str| {
                first.len() > before.len() + after.len() && first.starts_with(before) && first.ends_with(after)
            };
            self.places.iter().filter(|(b, a, _)| fits(b, a)).find_map(|(_, _, node)| node.find(rest.clone()))
        })
    }
}

fn segments(path: &str) -> impl Iterator<Item = &str> + Clone {
    path.split('/').filter(|segment| !segment.is_empty())
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
        let canonical = path::canonical(target);
        endpoints.find(target, &canonical, &Method::GET).map(|endpoint| endpoint.declared.clone())
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
}
