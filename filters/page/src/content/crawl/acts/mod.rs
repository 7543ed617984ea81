//! Which addresses are called like an act: they stop, delete or vote, although a GET should not.
//!
//! This is a second net. Whether a link is followed is decided by what shows that it leads to a document (see
//! `evidence`). Words cannot decide that: there are more verbs, and more ways to glue them, than any list has. They only
//! keep out what a list, a redirect or the shape of an address would let through.

mod query;
mod segment;
#[cfg(test)]
mod tests;
mod words;

use segment::{Segment, decoded};
use words::{MODIFIERS, SWITCHES};

/// Segments behind a verb that are looked past: identifiers, `up`, `confirm`.
const MOST_BEHIND: usize = 4;

/// Whether an address says plainly that it acts: `/?action=stop`, `/posts/2/delete`, `/delete_post.php`, `/logout`. It is
/// not asked for even if the site lists it or redirects to it.
pub(super) fn acts(target: &str) -> bool {
    let address = Address::of(target);
    address.parameters.iter().any(|parameter| query::acts(parameter)) || address.acts()
}

/// Whether an address is called like an act in any way: `/jobs/stop`, `/clear-cache`, `/posts/2/edit`. It is not asked for
/// where only its shape speaks for it.
pub(super) fn is_called_like_act(target: &str) -> bool {
    acts(target) || Address::of(target).is_called_like_act()
}

/// Whether an address is called like what is done to a thing and what pages are called as well: `/jobs/start`.
pub(super) fn is_doubtful(target: &str) -> bool {
    let address = Address::of(target);
    address.verbs().into_iter().any(|at| address.segments[at].is_doubtful())
}

/// Whether any word of an address's last segment is one of an act: `/stop.html`, `/how-to-stop.html`. It is not asked for
/// where only its ending speaks for it.
pub(super) fn has_word_of_act(target: &str) -> bool {
    is_called_like_act(target) || Address::of(target).segments.last().is_some_and(Segment::has_word_of_act)
}

/// What an address has in common with others of its kind: its path, with `#` for each identifier. `None` where there is
/// none in it.
pub(super) fn pattern(target: &str) -> Option<String> {
    let path = target.split('?').next().unwrap_or_default();
    let mut has_id = false;
    let pattern = path.split('/').map(|segment| match is_identifier(segment) {
        true => {
            has_id = true;
            "#"
        }
        false => segment,
    });
    let pattern: Vec<&str> = pattern.collect();
    has_id.then(|| pattern.join("/"))
}

/// Whether a segment, perhaps with an ending, is a number or another identifier.
pub(super) fn is_identifier(segment: &str) -> bool {
    let name = segment.split_once('.').map_or(segment, |(name, _)| name);
    Segment::of(name).is_id
}

struct Address {
    segments: Vec<Segment>,
    /// Of the query, and of the path where it has some.
    parameters: Vec<String>,
}

impl Address {
    fn of(target: &str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let path = decoded(path);
        // A site may decode a path before it takes it apart.
        let (path, hidden) = path.split_once('?').unwrap_or((&path, ""));
        let mut parameters: Vec<String> = Vec::new();
        let mut segments = Vec::new();
        for written in path.split(['/', '\\']) {
            let mut parts = written.split(';');
            let name = parts.next().unwrap_or_default();
            parameters.extend(parts.filter(|part| !part.is_empty()).map(str::to_owned));
            if name.contains('=') {
                parameters.push(name.to_owned());
            } else if !name.is_empty() {
                segments.push(Segment::of(name));
            }
        }
        let asked = query.split(['&', ';']).chain(hidden.split(['&', ';'])).filter(|parameter| !parameter.is_empty());
        parameters.extend(asked.map(str::to_owned));
        Self { segments, parameters }
    }

    /// A verb that is the whole path, or stands beside an identifier.
    fn acts(&self) -> bool {
        if let [only] = self.segments.as_slice()
            && (only.is_verb() && !only.is_verb_below_root() && !only.is_written)
        {
            return true;
        }
        self.verbs().into_iter().any(|at| {
            let segment = &self.segments[at];
            let has_target = self.is_beside_id(at) || !self.parameters.is_empty();
            has_target && (segment.is_verb() || segment.is_called_as_act()) || segment.is_program && segment.has_verb()
        })
    }

    fn is_called_like_act(&self) -> bool {
        let only = self.segments.len() == 1;
        self.verbs().into_iter().any(|at| {
            let segment = &self.segments[at];
            let has_target = self.is_beside_id(at) || !self.parameters.is_empty() || segment.is_program;
            segment.is_verb() && !segment.is_written && !(only && segment.is_verb_below_root())
                || segment.is_called_as_act()
                || has_target && (segment.has_verb() || segment.is_doubtful())
        })
    }

    /// Where in the path a verb would act: at its end, before what it acts on, or at its beginning.
    fn verbs(&self) -> Vec<usize> {
        let Some(last) = self.segments.len().checked_sub(1) else { return Vec::new() };
        let is_switch = |at: &usize| SWITCHES.contains(&self.segments[*at].joined);
        let mut found = vec![last, self.named()];
        found.extend(last.checked_sub(1).into_iter().chain([0]).filter(|at| !is_switch(at)));
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The last segment that is neither an identifier nor a modifier.
    fn named(&self) -> usize {
        let last = self.segments.len().saturating_sub(1);
        let behind = |segment: &&Segment| segment.is_id || MODIFIERS.contains(&segment.joined);
        last - self.segments.iter().rev().take_while(behind).take(MOST_BEHIND).count().min(last)
    }

    /// Whether an identifier stands before or behind a segment: not a date.
    fn is_beside_id(&self, at: usize) -> bool {
        let is_id = |at: usize| self.segments.get(at).is_some_and(|segment| segment.is_id && !segment.is_year);
        let before = at.checked_sub(1).is_some_and(is_id);
        let dated = self.segments[..at].iter().any(|segment| segment.is_year);
        before && !dated || self.segments[at + 1..].iter().any(|segment| segment.is_id && !segment.is_year)
    }
}
