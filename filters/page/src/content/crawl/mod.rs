//! Reading the site as a stranger would: what is asked next, and what is made of the answer. No sockets.
//!
//! A round begins at robots.txt, goes on to where the operator begins, to what the site lists and to what its documents
//! link to (see `evidence`), and ends: every address is asked once, twice where it failed, and there are bounds on pages,
//! requests, bytes, depth and time. What was read stays in the [`Books`], so that the next round only asks whether it has
//! changed.

pub(super) mod acts;
mod answer;
mod ask;
mod authority;
mod books;
mod evidence;
mod feed;
mod frontier;
mod glob;
mod guess;
mod gzip;
mod left_out;
mod links;
mod lists;
mod logged;
mod read;
mod redirects;
mod references;
mod retries;
pub mod robots;
mod rules;
pub mod shared;
mod site_name;
pub mod sitemap;
mod static_file;
mod target;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod wishes;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

pub use answer::{Fetched, Outcome};
pub use ask::Ask;
use ask::{Why, robots_of};
pub use authority::Name;
pub use books::{Books, Dated, Kept, Put};
use frontier::{Frontier, Lane, Waiting};
pub use left_out::{LeftOut, NotFollowed, Why as WhyLeftOut};
pub use logged::without_values;
use retries::Retries;
use robots::Robots;
pub use rules::{CrawlSettings, Paths, Rules};

/// Whether an address is called like an act: `/jobs/stop`, `/posts/2/edit`. Nobody should follow a link there to look.
pub fn may_act(target: &str) -> bool {
    acts::is_called_like_act(target)
}

/// The most bytes of a page that are read.
pub const MOST_OF_BODY: usize = 4 * 1024 * 1024;
/// Redirects that are followed in a row.
const MOST_HOPS: u8 = 5;
/// How often in a round the site may say that it has another name.
const MOST_RENAMED: usize = 12;
/// Sitemaps that are read in a round.
const MOST_LISTS: usize = 100;
/// How deep sitemaps may be nested.
const DEEPEST_LIST: u16 = 3;
/// Failures in a row after which the site is left alone, unless it still has what it had before.
const MOST_FAILURES: usize = 5;
/// Requests of a round for each page that may be kept, and the same for few pages.
const ASKED_FOR_EACH: usize = 2;
const ASKED_AT_LEAST: usize = 200;
/// How long a page is kept that no round comes to, in seconds.
const KEPT_UNMET: u64 = 7 * 24 * 3600;
/// The most bytes of pages that are put aside until it is known whether they are read under another name.
const MOST_ASIDE: usize = 16 * 1024 * 1024;
/// How long a sitemap is believed that a page has not changed.
const BELIEVED: u64 = 24 * 3600;

/// How a round ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Everything that was to be read was.
    Complete,
    /// There was more to ask than a round may ask.
    Spent,
    /// The site could not be asked any further.
    Stopped(String),
}

/// One round.
#[derive(Debug)]
pub struct Crawl {
    rules: Rules,
    books: Books,
    frontier: Frontier,
    /// What robots.txt says, by the name by which it was asked; the first holds where there is none of a name.
    robots: Vec<(Option<Arc<Name>>, Robots)>,
    /// What redirects lead to.
    hops: VecDeque<Ask>,
    /// What failed, and is asked once more.
    retries: Retries,
    /// A first page that was written only now has been asked for again.
    has_settled: bool,
    /// The name that the site says it has, and has been read by.
    name: Option<Arc<Name>>,
    /// How often it said that it has another.
    renamed: usize,
    /// What sitemaps say of when a page changed.
    modified: HashMap<Arc<str>, String>,
    /// Pages that are there, or may be.
    met: HashSet<Arc<str>>,
    /// Links that look like controls: they are followed once others of their kind have proved to be documents.
    controls: HashSet<Arc<str>>,
    /// Links that were not followed.
    left_out: left_out::Notes,
    asked: usize,
    lists: usize,
    /// The site's own sitemap was read in this round.
    has_site_map: bool,
    failures: usize,
    /// The last page that was there, and whether it is asked for again: is it the pages that fail, or the site?
    well: Option<Ask>,
    trying: bool,
    /// Pages that name another as the one; that one's name, and what they take.
    aside: Vec<(Arc<str>, Arc<str>, Kept)>,
    aside_bytes: usize,
    /// There is more to ask.
    spent: bool,
    pause: Option<Duration>,
    stopped: Option<String>,
    /// Seconds since 1970.
    now: u64,
}

impl Crawl {
    /// A round that begins with what is known, at `now` in seconds since 1970.
    pub fn new(rules: Rules, books: Books, now: u64) -> Self {
        Self {
            frontier: Frontier::new(rules.max_pages),
            rules,
            books,
            robots: Vec::new(),
            hops: VecDeque::new(),
            retries: Retries::default(),
            has_settled: false,
            name: None,
            renamed: 0,
            modified: HashMap::new(),
            met: HashSet::new(),
            controls: HashSet::new(),
            left_out: left_out::Notes::default(),
            asked: 0,
            lists: 0,
            has_site_map: false,
            failures: 0,
            well: None,
            trying: false,
            aside: Vec::new(),
            aside_bytes: 0,
            spent: false,
            pause: None,
            stopped: None,
            now,
        }
    }

    /// The next request; `None` at the end of the round. `ours` says what is an endpoint of Frontdesk's own.
    pub fn next(&mut self, ours: &dyn Fn(&str) -> bool) -> Option<Ask> {
        let most = self.rules.max_pages.saturating_mul(ASKED_FOR_EACH).max(ASKED_AT_LEAST);
        if self.stopped.is_some() {
            return None;
        }
        let ask = if self.robots.is_empty() { self.robots_next() } else { self.site_next(ours)? };
        if self.asked >= most {
            self.spent = true;
            return None;
        }
        self.asked += 1;
        Some(ask)
    }

    fn robots_next(&mut self) -> Ask {
        self.hops.pop_front().unwrap_or_else(|| robots_of(None))
    }

    fn site_next(&mut self, ours: &dyn Fn(&str) -> bool) -> Option<Ask> {
        loop {
            let ask = match self.hops.pop_front() {
                Some(ask) => ask,
                None => match self.frontier.next() {
                    Some(next) => self.ask(next),
                    None => self.retries.next()?,
                },
            };
            if ask.why == Why::Robots {
                return Some(ask);
            }
            // Where the operator begins may be ours by now or the site's: only the site knows.
            let chosen = ask.lane == Lane::Start && ask.hops == 0;
            let came_back = matches!(ask.lane, Lane::Near | Lane::Linked)
                && (self.books.came_back(&ask.target) || self.books.is_no_document(&ask.target));
            // The first of a kind is none that is called like an act.
            let is_first = |guess| !self.books.is_proven(guess);
            let is_called_so = || {
                self.controls.contains(&ask.target)
                    || acts::is_called_like_act(&ask.target)
                    || acts::is_doubtful(&ask.target)
            };
            if ask.guess.is_some_and(|guess| !self.books.may_guess(guess) || is_first(guess) && is_called_so()) {
                continue;
            }
            if came_back || ours(&ask.target) && !chosen || !self.may_read(&ask) {
                self.books.remove(&ask.target);
                continue;
            }
            if ask.why == Why::List {
                self.lists += 1;
                if self.lists > MOST_LISTS {
                    continue;
                }
                return Some(ask);
            }
            let kept = self.books.get(&ask.target);
            if kept.is_none() && self.books.is_full(self.rules.max_pages) {
                continue;
            }
            if !self.trying && kept.is_some_and(|kept| self.is_believed(&ask.target, kept)) {
                self.still_there(&ask);
                continue;
            }
            return Some(ask);
        }
    }

    fn ask(&self, next: Waiting) -> Ask {
        let Waiting { target, lane, depth, guess } = next;
        let path = target.split('?').next().unwrap_or_default();
        let lists = lane == Lane::Lists
            || lane == Lane::Start && [".xml", ".gz", ".txt"].iter().any(|ending| path.ends_with(ending));
        let (why, most) = if lists { (Why::List, sitemap::MOST) } else { (Why::Page, MOST_OF_BODY) };
        let kept = self.books.get(&target).filter(|_| why == Why::Page);
        Ask {
            if_none_match: kept.and_then(|kept| kept.etag.clone()),
            if_modified_since: kept.and_then(|kept| kept.last_modified.clone()),
            by: self.name.clone(),
            target,
            most,
            why,
            lane,
            depth,
            hops: 0,
            guess,
        }
    }

    /// Whether the site and the operator let it be read.
    fn may_read(&self, ask: &Ask) -> bool {
        let of_name = self.robots.iter().find(|(by, _)| *by == ask.by).or(self.robots.first());
        of_name.is_some_and(|(_, robots)| robots.allows(&ask.target)) && !self.rules.excludes(&ask.target)
    }

    /// Whether the site itself says that a page is still what was read not long ago.
    fn is_believed(&self, target: &str, kept: &Kept) -> bool {
        let said = self.modified.get(target);
        said.is_some() && kept.listed_modified.as_ref() == said && self.now.saturating_sub(kept.checked) < BELIEVED
    }

    /// What is known so far.
    pub fn books(&self) -> &Books {
        &self.books
    }

    /// How long the site wants to be left alone before the next request.
    pub fn pause(&mut self) -> Option<Duration> {
        self.pause.take()
    }

    /// What was not followed since the last call.
    pub fn left_out(&mut self) -> LeftOut {
        self.left_out.take(&self.frontier)
    }

    /// The name by which the site is read, where it has said so itself.
    pub fn name(&self) -> Option<&Name> {
        self.name.as_deref()
    }

    /// Ends the round: what was not met in a whole one is gone; otherwise it may still be there.
    pub fn finish(mut self) -> (Books, Ending) {
        for (target, named, kept) in std::mem::take(&mut self.aside) {
            let is_read = self.met.contains(&named) && self.books.get(&named).is_some();
            if !is_read && self.books.put(&target, kept, self.rules.max_pages) == Put::Done {
                self.met.insert(target);
            }
        }
        match self.stopped {
            Some(why) => (self.books, Ending::Stopped(why)),
            None if self.spent => {
                let since = self.now.saturating_sub(KEPT_UNMET);
                let old =
                    self.books.iter().filter(|(target, kept)| !self.met.contains(*target) && kept.checked < since);
                let old: Vec<Arc<str>> = old.map(|(target, _)| target.clone()).collect();
                old.iter().for_each(|target| self.books.remove(target));
                (self.books, Ending::Spent)
            }
            None => {
                self.books.keep_only(&self.met);
                if !self.has_site_map {
                    self.books.forget_site_map();
                }
                (self.books, Ending::Complete)
            }
        }
    }
}
