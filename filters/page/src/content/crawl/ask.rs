//! One request of the crawler.

use std::sync::Arc;

use super::{authority::Name, frontier::Lane, guess::Guess, robots};

/// Where robots.txt is.
const ROBOTS: &str = "/robots.txt";

/// One request to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Path and query.
    pub target: Arc<str>,
    pub if_none_match: Option<String>,
    pub if_modified_since: Option<String>,
    /// By what name the site is asked; `None`: by the one that it is known to have.
    pub by: Option<Arc<Name>>,
    /// No more of the body is read, in bytes.
    pub most: usize,
    pub(super) why: Why,
    pub(super) lane: Lane,
    pub(super) depth: u16,
    pub(super) hops: u8,
    /// What it is taken for, because of the page that links to it; its answer shows whether it is.
    pub(super) guess: Option<Guess>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    Robots,
    /// A sitemap, or an llms.txt.
    List,
    Page,
}

/// The first request of a round, and of each name.
pub(super) fn robots_of(by: Option<Arc<Name>>) -> Ask {
    Ask {
        target: ROBOTS.into(),
        if_none_match: None,
        if_modified_since: None,
        by,
        most: robots::MOST,
        why: Why::Robots,
        lane: Lane::Start,
        depth: 0,
        hops: 0,
        guess: None,
    }
}
