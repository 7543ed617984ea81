//! Findings: rule, kind and place, never the text itself.

use std::{cmp::Reverse, fmt, sync::Arc};

/// The kind of a finding; each has a mode of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A token, a password or a private key.
    Secret,
    /// Personal data: an address or an account number.
    Pii,
    /// Text aimed at the model that reads it, and not at a person.
    Injection,
}

/// A rule's name, such as `github-token`; an operator's own is named by its line, `aiignore-12`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    BuiltIn(&'static str),
    Own(Arc<str>),
}

impl Rule {
    /// Letters, digits and hyphens.
    pub fn as_str(&self) -> &str {
        match self {
            Self::BuiltIn(name) => name,
            Self::Own(name) => name,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// A place in a text, in bytes: `start..end`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub rule: Rule,
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
}

/// The certainty of a rule. Of two overlapping findings the more certain one names the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sure {
    /// The format is unique to it.
    Shape,
    /// The operator's pattern.
    Said,
    /// A name beside it says so.
    Beside,
}

/// Collects the findings of one text.
#[derive(Debug, Default)]
pub(super) struct Findings {
    found: Vec<(Finding, Sure)>,
}

impl Findings {
    pub(super) fn secret(&mut self, rule: &'static str, sure: Sure, start: usize, end: usize) {
        self.add(Finding { rule: Rule::BuiltIn(rule), kind: Kind::Secret, start, end }, sure);
    }

    pub(super) fn pii(&mut self, rule: &'static str, start: usize, end: usize) {
        self.add(Finding { rule: Rule::BuiltIn(rule), kind: Kind::Pii, start, end }, Sure::Shape);
    }

    pub(super) fn injection(&mut self, rule: &'static str, start: usize, end: usize) {
        self.add(Finding { rule: Rule::BuiltIn(rule), kind: Kind::Injection, start, end }, Sure::Shape);
    }

    pub(super) fn add(&mut self, finding: Finding, sure: Sure) {
        if finding.start < finding.end {
            self.found.push((finding, sure));
        }
    }

    /// Removes those that fail the predicate.
    pub(super) fn retain(&mut self, keep: impl Fn(&Finding) -> bool) {
        self.found.retain(|(finding, _)| keep(finding));
    }

    pub(super) fn into_parts(self) -> Vec<(Finding, Sure)> {
        self.found
    }

    /// Sorted by position. Overlapping secrets are merged; another finding that overlaps a secret is dropped.
    pub(super) fn settled(mut self) -> Vec<Finding> {
        self.found.sort_by_key(|(finding, sure)| (finding.start, Reverse(finding.end), *sure));
        let mut settled: Vec<(Finding, Sure)> = Vec::with_capacity(self.found.len());
        let mut phrases = Vec::new();
        for (finding, sure) in self.found {
            if finding.kind == Kind::Injection {
                phrases.push(finding);
                continue;
            }
            match settled.last_mut() {
                Some((last, known)) if finding.start < last.end => join(last, known, finding, sure),
                _ => settled.push((finding, sure)),
            }
        }
        phrases.dedup_by(|later, earlier| later.rule == earlier.rule && later.start < earlier.end);
        let mut all: Vec<Finding> = settled.into_iter().map(|(finding, _)| finding).collect();
        if !phrases.is_empty() {
            all.append(&mut phrases);
            all.sort_by_key(|finding| finding.start);
        }
        all
    }
}

fn join(last: &mut Finding, known: &mut Sure, next: Finding, sure: Sure) {
    match (last.kind, next.kind) {
        (Kind::Secret, Kind::Secret) => {
            last.end = last.end.max(next.end);
            if sure < *known {
                (last.rule, *known) = (next.rule, sure);
            }
        }
        // The secret is graver and has exact ends: `user:password@host` is no e-mail address.
        (_, Kind::Secret) => (*last, *known) = (next, sure),
        (Kind::Secret, _) => {}
        _ => last.end = last.end.max(next.end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_is_one() {
        let mut found = Findings::default();
        found.secret("assigned-secret", Sure::Beside, 4, 20);
        found.secret("github-token", Sure::Shape, 6, 20);
        found.pii("email", 18, 30);
        found.pii("iban", 40, 50);
        found.injection("jailbreak", 10, 12);
        let settled = found.settled();
        let said: Vec<_> = settled.iter().map(|f| (f.rule.as_str(), f.start, f.end)).collect();
        assert_eq!(said, [("github-token", 4, 20), ("jailbreak", 10, 12), ("iban", 40, 50)]);
    }
}
