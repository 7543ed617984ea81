//! How much of the site an answer rests on: while the site is still being read, what is not found is not "not there".

use super::Library;

/// How much of the site a library has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coverage {
    /// All that could be read.
    Whole,
    /// The first reading is under way.
    #[default]
    Partial,
    /// No page of it could be read.
    Unreadable,
}

impl Library {
    /// The same library, with how much of the site it has.
    pub fn covering(mut self, coverage: Coverage) -> Self {
        self.coverage = coverage;
        self
    }

    /// How much of the site it has.
    pub fn coverage(&self) -> Coverage {
        self.coverage
    }

    /// What is said where nothing was found.
    pub(super) fn nothing_found(&self) -> &'static str {
        match (self.coverage, self.index.live_leaves().next().is_none()) {
            (Coverage::Partial, true) => "No page of this site has been read so far. Ask again in a moment.",
            (_, true) => "No page of this site could be read, so its pages cannot answer that.",
            (Coverage::Partial, false) => {
                "Nothing that has been read of this site so far answers that. The site is still being read: ask again in a \
                 moment."
            }
            (_, false) => "Nothing on this site answers that.",
        }
    }

    /// What stands before words that were not found.
    pub(super) fn unmentioned(&self) -> &'static str {
        if self.coverage == Coverage::Partial { "So far it does not mention" } else { "It does not mention" }
    }

    /// What is said where neither the operator nor a page says what the site is.
    pub(super) fn unknown_site(&self) -> &'static str {
        match self.coverage {
            Coverage::Whole => "Nothing on this site says what it is.",
            Coverage::Partial => {
                "Nothing that has been read of this site so far says what it is. The site is still being read: ask again in \
                 a moment."
            }
            Coverage::Unreadable => "No page of this site could be read, and its operator does not say what it is.",
        }
    }

    /// What stands before a choice that fits nothing.
    pub(super) fn unfitting(&self) -> &'static str {
        match self.coverage {
            Coverage::Partial => "Nothing that has been read of this site so far, and answers the question, fits",
            _ => "Nothing on this site that answers the question fits",
        }
    }
}
