//! A tree of path segments with placeholders.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::place;
use frontdesk_base::path::is_short_for;

/// The possible continuations of a path.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    /// The endpoint of the path that ends here, if any.
    pub(super) here: Option<usize>,
    /// The endpoint of all paths below that have none of their own.
    pub(super) below: Option<usize>,
    literal: HashMap<String, Node, RandomState>,
    /// Segments with a placeholder: the text before it and after it.
    places: Vec<(String, String, Node)>,
}

impl Node {
    /// Whether it is a leaf.
    pub(super) fn is_empty(&self) -> bool {
        self.literal.is_empty() && self.places.is_empty()
    }

    /// The node of a path; created if missing.
    pub(super) fn grow(&mut self, segments: &[impl AsRef<str>]) -> &mut Node {
        let Some((first, rest)) = segments.split_first() else { return self };
        let next = match place(first.as_ref()) {
            None => self.literal.entry(first.as_ref().to_owned()).or_default(),
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

    /// The endpoint of a path. Literal segments take precedence over placeholders.
    pub(super) fn find<'p>(&self, mut rest: impl Iterator<Item = &'p str> + Clone) -> Option<usize> {
        let Some(first) = rest.next() else { return self.here };
        let literal = self.literal_for(first).and_then(|node| node.find(rest.clone()));
        let by_place = || {
            let mut fitting = self.places.iter().filter(|(before, after, _)| fits(first, before, after));
            fitting.find_map(|(_, _, node)| node.find(rest.clone()))
        };
        literal.or_else(by_place).or(self.below)
    }

    /// Whether some of these segments, in their order, form a path: `..` may have removed any of the others.
    pub(super) fn find_among(&self, pieces: &[&str]) -> Option<usize> {
        if self.here.is_some() {
            return self.here;
        }
        let after_first = |is_it: &dyn Fn(&str) -> bool| {
            let at = pieces.iter().position(|piece| is_it(piece))?;
            pieces.get(at + 1..)
        };
        let literal = || {
            self.literal.iter().find_map(|(name, node)| {
                node.find_among(after_first(&|piece| piece == name || is_short_for(piece, name))?)
            })
        };
        let by_place = || {
            self.places
                .iter()
                .find_map(|(before, after, node)| node.find_among(after_first(&|piece| fits(piece, before, after))?))
        };
        literal().or_else(by_place).or(self.below.filter(|_| !pieces.is_empty()))
    }

    fn literal_for(&self, segment: &str) -> Option<&Node> {
        let by_short_name = || {
            let is_short = segment.contains('~');
            is_short.then(|| self.literal.iter().find(|(name, _)| is_short_for(segment, name)))?.map(|(_, node)| node)
        };
        self.literal.get(segment).or_else(by_short_name)
    }
}

fn fits(segment: &str, before: &str, after: &str) -> bool {
    segment.len() > before.len() + after.len() && segment.starts_with(before) && segment.ends_with(after)
}
