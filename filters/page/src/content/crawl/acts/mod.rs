//! Which addresses act: asking for them stops, deletes, votes or signs out, although a GET should not.
//!
//! The address is all there is to tell by, so this errs on the side of leaving alone. A verb acts where it stands as a
//! segment of its own at the end of a path, with or without an identifier behind it, or where the query says so. A verb
//! within a longer name is the title of a page (`/docs/delete-a-branch`), and some verbs are titles by themselves
//! (`/install`). What the verbs are stands in `words`.

mod deeds;
mod query;
mod segment;
#[cfg(test)]
mod tests;
mod unsure;
mod words;

use std::collections::HashSet;

use segment::{Segment, decoded};
use words::{
    ACTION_SEGMENTS, CARTS, DESTROYERS, DOCUMENTS, DOUBTFUL_BEFORE_ID, HOSTS_OF_DOCUMENTS, MODIFIERS, SWITCHES,
};

/// Segments behind a verb that are looked past: identifiers, `up`, `confirm`.
const MOST_BEHIND: usize = 4;

/// What an address looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Reads,
    /// It has a query, which may mean anything.
    HasQuery,
    /// It is called like an act, but stands where documents stand.
    Document,
    /// It may act, by where its words stand.
    Unsure,
    Acts,
}

/// Judges a path with its query. `documents`: everything under this name is a document.
pub(super) fn verdict(target: &str, documents: bool) -> Verdict {
    let address = Address::of(target, documents);
    if address.parameters.iter().any(|parameter| query::acts(parameter)) {
        return Verdict::Acts;
    }
    let mut document = false;
    for at in address.verbs() {
        match address.at(at) {
            Verdict::Acts => return Verdict::Acts,
            Verdict::Document => document = true,
            _ => {}
        }
    }
    if address.compound_acts() || address.doubtful_acts() {
        return Verdict::Acts;
    }
    if !document && address.is_unsure() {
        return Verdict::Unsure;
    }
    match (document, address.parameters.is_empty()) {
        (_, false) => Verdict::HasQuery,
        (true, true) => Verdict::Document,
        (false, true) => Verdict::Reads,
    }
}

/// Whether an address may act where it stands in a page of an application: its last word is a verb that pages of other
/// sites are called after as well.
pub(super) fn is_doubtful(target: &str, documents: bool) -> bool {
    Address::of(target, documents).is_doubtful()
}

/// Whether everything under a host's name is a document: `docs.example.com`.
pub(super) fn is_of_documents(host: &str) -> bool {
    host.split_once('.').is_some_and(|(label, _)| HOSTS_OF_DOCUMENTS.contains(&label.to_ascii_lowercase()))
}

/// What an address has in common with others of its kind: its path, with `#` for each identifier. `None` where there is
/// none in it.
pub(super) fn pattern(target: &str) -> Option<String> {
    let path = target.split('?').next().unwrap_or_default();
    let is_row = |segment: &str| {
        let name = segment.split_once('.').map_or(segment, |(name, _)| name);
        Segment::of(name).is_id
    };
    let mut has_id = false;
    let pattern = path.split('/').map(|segment| match is_row(segment) {
        true => {
            has_id = true;
            "#"
        }
        false => segment,
    });
    let pattern: Vec<&str> = pattern.collect();
    has_id.then(|| pattern.join("/"))
}

/// Whether a link that is called so (`Delete`, `Log out`) acts by its name, and does not stand among documents.
pub(in crate::content) fn is_called_so(label: &str, target: &str) -> bool {
    // A count may stand behind it.
    let label = label.trim_matches(|c: char| !c.is_alphabetic()).replace('.', " ");
    let label = Segment::of(&label);
    let is_switch = SWITCHES.contains(&label.joined);
    label.is_verb() && !is_switch && {
        let address = Address::of(target, false);
        !address.is_document(address.segments.len())
    }
}

/// What the links of a page act on that act by their path: a verb that is doubtful by itself acts beside them.
pub(super) fn things(links: &[&str]) -> HashSet<String> {
    let acts = |link: &&&str| !link.contains('?') && verdict(link, false) == Verdict::Acts;
    links.iter().filter(acts).filter_map(|link| thing(link)).collect()
}

/// Whether a link does something to one of these things: `/jobs/mailer/start` beside `/jobs/mailer/stop`.
pub(super) fn is_beside(things: &HashSet<String>, link: &str) -> bool {
    !things.is_empty() && thing(link).is_some_and(|thing| things.contains(&thing))
}

/// What a path with a verb in it acts on, with the verb left out: `/jobs/mailer/*` of `/jobs/mailer/stop`. `None` where
/// there is no verb, or one that ends a session: it says nothing about its neighbours.
fn thing(target: &str) -> Option<String> {
    let address = Address::of(target, false);
    let segments = &address.segments;
    let last = segments.len().checked_sub(1)?;
    let is_verb = |at: &usize| segments[*at].is_verb() || segments[*at].is_doubtful();
    let verb = [Some(last), last.checked_sub(1)].into_iter().flatten().find(is_verb)?;
    if segments[verb].is_of_session() {
        return None;
    }
    let words = segments.iter().enumerate().map(|(at, s)| if at == verb { "*" } else { s.joined.as_str() });
    Some(words.flat_map(|word| ["/", word]).collect())
}

struct Address {
    segments: Vec<Segment>,
    /// Of the query, and of the path where it has some.
    parameters: Vec<String>,
    /// Under this name there are documents only.
    documents: bool,
}

impl Address {
    fn of(target: &str, documents: bool) -> Self {
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
        Self { segments, parameters, documents }
    }

    /// Where in the path a verb would act.
    fn verbs(&self) -> Vec<usize> {
        let Some(last) = self.segments.len().checked_sub(1) else { return Vec::new() };
        let destroys = |at: usize| DESTROYERS.contains(&self.segments[at].joined);
        let mut found = vec![last, self.named()];
        // Whatever stands alone behind a verb is what it acts on.
        found.extend(last.checked_sub(1).filter(|at| !SWITCHES.contains(&self.segments[*at].joined)));
        found.extend((destroys(0)).then_some(0));
        if self.segments[last].is_id {
            found.extend((last.saturating_sub(MOST_BEHIND)..last).filter(|at| destroys(*at)));
        }
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

    /// What a verb at this place would make of the address.
    fn at(&self, at: usize) -> Verdict {
        let segment = &self.segments[at];
        let before = at.checked_sub(1).map(|before| &self.segments[before]);
        let told =
            before.is_some_and(|before| ACTION_SEGMENTS.contains(&before.joined) || CARTS.contains(&before.joined));
        if told && (segment.is_verb() || segment.is_doubtful()) {
            return Verdict::Acts;
        }
        let is_only = self.segments.len() == 1;
        if !segment.is_verb() || is_only && segment.is_verb_below_root() {
            return Verdict::Reads;
        }
        let beside_id = before.is_some_and(|before| before.is_id && !before.is_year)
            || self.segments[at + 1..].iter().any(|segment| segment.is_id);
        match self.is_document(at) && !beside_id && self.parameters.is_empty() && !segment.is_program {
            true if segment.is_written => Verdict::Reads,
            true => Verdict::Document,
            false => Verdict::Acts,
        }
    }

    /// `/deletePost/3`, `/posts/3/delete-post`, `/delete_post.php`.
    fn compound_acts(&self) -> bool {
        let at = self.named();
        let Some(segment) = self.segments.get(at) else { return false };
        let id = self.id_before(at) || self.segments.get(at + 1).is_some_and(|segment| segment.is_id);
        let last = self.segments.len() - 1;
        let is_called = |at: usize| self.segments[at].is_called_as_act() && !self.is_document(at);
        if is_called(at) || is_called(last) || last > 0 && is_called(last - 1) {
            return true;
        }
        let program = segment.is_program || !self.parameters.is_empty();
        segment.has_verb() && (id || program) && (program || !self.is_document(at))
            || segment.has_doubtful_verb() && id && !self.is_document(at)
    }

    /// `/posts/2/edit`, `/edit/2`, `/edit?id=2`.
    fn doubtful_acts(&self) -> bool {
        let Some(last) = self.segments.len().checked_sub(1) else { return false };
        let is_called = |segment: &Segment| segment.is_doubtful() && !self.parameters.is_empty();
        if self.segments[last].is_program_that_acts()
            || is_called(&self.segments[last])
            || self.segments[last].is_doubtful() && self.id_before(last)
        {
            return true;
        }
        let at = self.named();
        let before_id = DOUBTFUL_BEFORE_ID.contains(&self.segments[at].joined);
        at < last && before_id && !self.is_document(at) && !self.segments[at + 1].is_year
    }

    /// Whether an identifier stands before a segment: not a date, nor the version of a document.
    fn id_before(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1).filter(|before| self.segments[*before].is_id) else { return false };
        let above = &self.segments[..before];
        let dated = self.segments[before].is_year || above.iter().rev().take(2).any(|segment| segment.is_year);
        let versioned = above.last().is_some_and(|segment| DOCUMENTS.contains(&segment.joined));
        !dated && !versioned
    }

    fn is_document(&self, at: usize) -> bool {
        let above = self.segments[..at].iter();
        self.documents || above.clone().any(|s| DOCUMENTS.contains(&s.joined) || s.is_version)
    }
}
