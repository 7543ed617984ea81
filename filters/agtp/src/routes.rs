//! Routes a verb and a path to an endpoint (AGTP-API §5.4): literal paths first, then the template with the fewest
//! placeholders. Ambiguous templates were refused at load.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use super::endpoint::Endpoint;

/// All endpoints, as a tree with one level per path segment.
#[derive(Debug, Default)]
pub(super) struct Routes {
    root: Node,
    /// All endpoints, in declared order.
    all: Vec<Arc<Endpoint>>,
}

#[derive(Debug, Default)]
struct Node {
    endpoints: Vec<Arc<Endpoint>>,
    literal: HashMap<String, Node>,
    place: Option<Box<Node>>,
}

/// The result of a lookup.
#[derive(Debug)]
pub(super) enum Found<'r> {
    /// An endpoint, with the values of its placeholders.
    Endpoint(&'r Arc<Endpoint>, Vec<(String, String)>),
    /// The path has only these other verbs.
    Others(Vec<&'r str>),
    Nothing,
}

impl Routes {
    /// Adds an endpoint.
    pub(super) fn add(&mut self, endpoint: Arc<Endpoint>) {
        let mut node = &mut self.root;
        for segment in endpoint.template.segments() {
            node = match segment {
                Some(literal) => node.literal.entry(literal.to_owned()).or_default(),
                None => node.place.get_or_insert_default(),
            };
        }
        node.endpoints.push(endpoint.clone());
        self.all.push(endpoint);
    }

    /// Looks up a verb on a path with decoded segments.
    pub(super) fn find(&self, method: &str, segments: &[Cow<'_, str>]) -> Found<'_> {
        let mut fitting = Vec::new();
        self.root.collect(segments, 0, &mut fitting);
        // The most specific first; where it lacks the verb, the next.
        fitting.sort_by_key(|(places, _)| *places);
        let here = || fitting.iter().flat_map(|(_, endpoints)| endpoints.iter());
        if let Some(endpoint) = here().find(|endpoint| endpoint.method == method) {
            let places = endpoint.template.matches(segments).unwrap_or_default();
            return Found::Endpoint(endpoint, places);
        }
        let mut others: Vec<&str> = here().map(|endpoint| endpoint.method.as_str()).collect();
        others.sort_unstable();
        others.dedup();
        if others.is_empty() { Found::Nothing } else { Found::Others(others) }
    }

    /// All endpoints, in declared order.
    pub(super) fn all(&self) -> &[Arc<Endpoint>] {
        &self.all
    }
}

impl Node {
    fn collect<'r>(&'r self, segments: &[Cow<'_, str>], places: usize, found: &mut Vec<(usize, &'r [Arc<Endpoint>])>) {
        let Some((first, rest)) = segments.split_first() else {
            if !self.endpoints.is_empty() {
                found.push((places, &self.endpoints));
            }
            return;
        };
        if let Some(node) = self.literal.get(&**first) {
            node.collect(rest, places, found);
        }
        if let Some(node) = &self.place {
            node.collect(rest, places + 1, found);
        }
    }
}
