//! Which endpoint a path belongs to, however many there are: a step for each segment.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use foldhash::fast::RandomState;
use http::{HeaderMap, Method};

use super::{Endpoint, What, handlers::Handlers, overrides, place, tree::Node};
use frontdesk_base::path::{self, Path, folded_segment};

/// Every endpoint, by canonical path.
#[derive(Debug, Clone, Default)]
pub struct Endpoints {
    all: Vec<Endpoint>,
    exact: HashMap<String, usize, RandomState>,
    /// Paths with places.
    templates: Node,
    below: Vec<(String, usize)>,
    /// Every path again, folded: what a site could take for one of ours is ours.
    folded: Node,
    /// Those that guard a handler of the site's, by the other addresses that it may have.
    handlers: Handlers,
    /// A path is declared in another form than its folded one.
    declared_unfolded: bool,
}

impl Endpoints {
    /// Adds one. A path that is there already is called in one more way; a document stays what it is.
    pub fn add(&mut self, endpoint: Endpoint) {
        let path = Path::of(&endpoint.declared);
        let next = self.all.len();
        let folded: Vec<String> = segments(&path.canonical).map(folded_declared).collect();
        let declared = folded.clone();
        let folded = self.folded.grow(&folded);
        let there = if endpoint.below {
            folded.below.get_or_insert(next);
            self.below.push((path.canonical.clone().into_owned(), next));
            // Of two that fit, the nearer one.
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

    /// The endpoint that a request belongs to. One whose path is spelled in another way is found too: what is not spelled
    /// exactly is nothing here, and it is nothing of the site's.
    pub fn find(&self, path: &Path<'_>, method: &Method) -> Option<&Endpoint> {
        self.find_with(path, method, None)
    }

    /// The same for a request with these headers: they may name another method.
    pub fn find_with(&self, path: &Path<'_>, method: &Method, headers: Option<&HeaderMap>) -> Option<&Endpoint> {
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

    /// In a place of a path may stand what otherwise divides segments, or ends them.
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
    /// Is called in one more way; a document stays what it is.
    fn join(&mut self, other: Endpoint) {
        if let (What::Calls(calls), What::Calls(more)) = (&mut self.what, other.what) {
            calls.extend(more);
        }
    }
}

fn segments(path: &str) -> impl Iterator<Item = &str> + Clone {
    path.split('/').filter(|segment| !segment.is_empty())
}

/// A declared segment, folded; the name of its place stays.
fn folded_declared(segment: &str) -> String {
    match place(segment) {
        None => folded_segment(segment),
        Some((before, name, after)) => format!("{}{{{name}}}{}", folded_segment(before), folded_segment(after)),
    }
}

/// What a site takes for the path that reads a target as a URL: in `//host/path` the first segment is a host (RFC 3986
/// §4.2), and some parsers take backslashes for slashes.
fn behind_authority(target: &str) -> Option<&str> {
    let slash = ['/', '\\'];
    let rest = target.trim_start_matches(slash);
    (target.len() - rest.len() > 1).then(|| rest.find(slash).and_then(|at| rest.get(at..))).flatten()
}
