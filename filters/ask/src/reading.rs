//! What a question comes to once its words were looked for, before anything is said of it.

use super::{Turn, asked::Asked, search::Ranked};

/// What a question comes to.
pub(super) struct Read {
    pub(super) asked: Asked,
    /// Passages that hold enough of it, the best first.
    pub(super) found: Vec<Ranked>,
    /// The best of those that do not.
    pub(super) near: Vec<Ranked>,
}

impl Read {
    /// Whether it found an answer. "When to go?" may be a section; "what is this?" is about the site.
    pub(super) fn answers(&self, before: &[Turn]) -> bool {
        let vague = before.is_empty() && self.asked.promoted;
        self.found.first().is_some_and(|best| !vague || best.headed != 0)
    }
}
