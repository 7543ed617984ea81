//! What a search for the words of a question found, and whether that is an answer.

use super::{Turn, confidence, index::Index, question::Asked, rank::Ranked};

/// A question and the passages that its words find.
pub(super) struct Read {
    pub(super) asked: Asked,
    /// The best first.
    pub(super) ranked: Vec<Ranked>,
    /// Words were taken for others that are spelled like them.
    pub(super) is_guessed: bool,
    /// It is a name alone: no word of it says what is wanted of that.
    pub(super) is_name: bool,
    /// It leans on what was asked before, and the best passage holds nothing of that.
    pub(super) is_elsewhere: bool,
}

impl Read {
    /// Whether it found an answer. "When to go?" may be a section; "what is this?" is about the site.
    pub(super) fn answers(&self, index: &Index, before: &[Turn]) -> bool {
        let vague = before.is_empty() && self.asked.promoted;
        let found = self.ranked.first().filter(|best| !vague || best.headed != 0);
        found.is_some() && !self.is_elsewhere && confidence::answers(index, &self.asked, &self.ranked, self.is_guessed)
    }
}
