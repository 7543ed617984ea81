//! Links that are not followed, and which of them the operator hears of.

use std::{collections::HashSet, sync::Arc};

use super::frontier::Frontier;

/// The most of them that are told apart in a round; more are not counted.
const MOST: usize = 10_000;

/// Why a link was not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Its address or its markup says that it acts.
    Acts,
    /// Nothing shows that it leads to a document, and the site does not list it.
    Unlisted,
}

/// A link that was not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFollowed {
    /// Path and query.
    pub link: Arc<str>,
    /// The page or list that it stands in.
    pub page: Arc<str>,
    pub why: Why,
}

/// What was left out since the last look.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub count: usize,
    /// The first of each kind in this round.
    pub first: Vec<NotFollowed>,
}

/// All of one round.
#[derive(Debug, Default)]
pub(super) struct Notes {
    seen: HashSet<Arc<str>>,
    /// Not listed so far: the site's lists may not all have been read.
    waiting: Vec<NotFollowed>,
    told: [bool; 2],
    fresh: LeftOut,
}

impl Notes {
    /// Takes note of a link that stands in `page`.
    pub(super) fn note(&mut self, link: &str, page: &Arc<str>, why: Why) {
        if self.seen.contains(link) || self.seen.len() >= MOST {
            return;
        }
        let link: Arc<str> = link.into();
        self.seen.insert(link.clone());
        let left = NotFollowed { link, page: page.clone(), why };
        match why {
            Why::Acts => self.count(left),
            Why::Unlisted => self.waiting.push(left),
        }
    }

    /// Takes note of where a redirect of `page` leads; the request for `page` is counted by itself.
    pub(super) fn note_redirect(&mut self, link: &str, page: &Arc<str>, why: Why) {
        self.tell(NotFollowed { link: link.into(), page: page.clone(), why });
    }

    fn count(&mut self, left: NotFollowed) {
        self.fresh.count += 1;
        self.tell(left);
    }

    fn tell(&mut self, left: NotFollowed) {
        if !std::mem::replace(&mut self.told[left.why as usize], true) {
            self.fresh.first.push(left);
        }
    }

    /// What is new. What the site lists in the meantime was not left out.
    pub(super) fn take(&mut self, frontier: &Frontier) -> LeftOut {
        if !frontier.lists_wait() {
            for left in std::mem::take(&mut self.waiting) {
                if !frontier.knows(&left.link) {
                    self.count(left);
                }
            }
        }
        std::mem::take(&mut self.fresh)
    }
}
