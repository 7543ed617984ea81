//! Which address the crawler asks for next: each address once, those of a sitemap before those of links, and at most a
//! bounded number.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

use super::{acts, guess::Guess};

/// The most links that are followed in a row: from page to page to page.
const DEEPEST: u16 = 24;
/// The same where the last one has a query: calendars turn their pages for ever.
const DEEPEST_QUERY: u16 = 6;
/// The most queries of one path that are followed.
const MOST_QUERIES: usize = 200;
/// The most pages that are one row of a table each, or the like, and are not listed: `/orders/1`, `/orders/2`.
const MOST_ROWS: usize = 100;
/// Addresses that wait, for each page that may be kept.
const WAITING_FOR_EACH: usize = 4;
/// The same for few pages.
const WAITING_AT_LEAST: usize = 1_000;

/// How an address became known, the most promising first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// The operator begins with it.
    Start,
    /// A page that the operator begins with links to it.
    Near,
    /// A sitemap that another one, or robots.txt, names.
    Lists,
    /// The site lists it.
    Listed,
    /// Some page links to it.
    Linked,
}

const LANES: usize = 5;

/// One address that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub target: Arc<str>,
    pub lane: Lane,
    /// Links from where the operator begins.
    pub depth: u16,
    /// What it is taken for, where nothing but a page says so.
    pub guess: Option<Guess>,
}

/// The addresses that are known, and those that wait.
#[derive(Debug)]
pub struct Frontier {
    lanes: [VecDeque<Waiting>; LANES],
    /// The best lane in which each waits or waited.
    known: HashMap<Arc<str>, Lane>,
    asked: HashSet<Arc<str>>,
    guesses: HashMap<Arc<str>, Guess>,
    /// Queries followed so far of each path.
    queries: HashMap<String, usize>,
    /// Pages of each pattern that wait or were asked.
    rows: HashMap<String, usize>,
    most: usize,
}

impl Frontier {
    /// For a site of which so many pages may be kept.
    pub fn new(max_pages: usize) -> Self {
        Self {
            lanes: Default::default(),
            known: HashMap::new(),
            asked: HashSet::new(),
            guesses: HashMap::new(),
            queries: HashMap::new(),
            rows: HashMap::new(),
            most: max_pages.saturating_mul(WAITING_FOR_EACH).max(WAITING_AT_LEAST),
        }
    }

    /// Takes note of an address. Returns its one shared copy; `None` where there is no room
    /// for it, or it is too far from anywhere.
    pub fn offer(&mut self, target: &str, lane: Lane, depth: u16) -> Option<Arc<str>> {
        self.guesses.remove(target);
        if let Some((target, best)) = self.known.get_key_value(target) {
            let target = target.clone();
            // It waits twice then; whichever comes first is asked.
            if lane < *best && !self.asked.contains(&target) {
                self.wait(target.clone(), lane, depth);
            }
            return Some(target);
        }
        if depth > DEEPEST || self.known.len() >= self.most {
            return None;
        }
        let is_found = matches!(lane, Lane::Near | Lane::Linked);
        if let Some(pattern) = acts::pattern(target).filter(|_| is_found) {
            let count = self.rows.get(&pattern).copied().unwrap_or(0);
            if count >= MOST_ROWS {
                return None;
            }
            self.rows.insert(pattern, count + 1);
        }
        if let (Some((path, _)), true) = (target.split_once('?'), is_found) {
            let count = self.queries.get(path).copied().unwrap_or(0);
            // What is not taken in leaves nothing behind.
            if depth > DEEPEST_QUERY || count >= MOST_QUERIES {
                return None;
            }
            self.queries.insert(path.to_owned(), count + 1);
        }
        let target: Arc<str> = target.into();
        self.wait(target.clone(), lane, depth);
        Some(target)
    }

    /// The same for an address that is a guess, unless something else says that it is a page.
    pub fn offer_guess(&mut self, target: &str, lane: Lane, depth: u16, guess: Guess) -> Option<Arc<str>> {
        let is_new = !self.knows(target);
        let before = self.guesses.get(target).copied();
        let target = self.offer(target, lane, depth)?;
        if let Some(guess) = before.or(is_new.then_some(guess)) {
            self.guesses.insert(target.clone(), guess);
        }
        Some(target)
    }

    fn wait(&mut self, target: Arc<str>, lane: Lane, depth: u16) {
        self.known.insert(target.clone(), lane);
        self.lanes[lane as usize].push_back(Waiting { target, lane, depth, guess: None });
    }

    /// The next to ask, which is never asked again.
    pub fn next(&mut self) -> Option<Waiting> {
        loop {
            let mut next = self.lanes.iter_mut().find_map(VecDeque::pop_front)?;
            next.guess = self.guesses.remove(&next.target);
            if self.asked.insert(next.target.clone()) {
                return Some(next);
            }
        }
    }

    /// Whether an address waits or was asked.
    pub fn knows(&self, target: &str) -> bool {
        self.known.contains_key(target)
    }

    /// Whether some of the site's lists may not have been read yet.
    pub fn lists_wait(&self) -> bool {
        self.lanes[..=Lane::Lists as usize].iter().any(|lane| !lane.is_empty())
    }

    /// Marks as asked what was met in another way: where a redirect leads. False where it was asked already.
    pub fn meet(&mut self, target: &str) -> bool {
        self.asked.insert(target.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(frontier: &mut Frontier) -> Vec<String> {
        std::iter::from_fn(|| frontier.next()).map(|next| next.target.to_string()).collect()
    }

    #[test]
    fn each_is_asked_once_and_the_promising_ones_first() {
        let mut frontier = Frontier::new(10);
        for (target, lane) in [
            ("/deep", Lane::Linked),
            ("/listed", Lane::Listed),
            ("/near", Lane::Listed),
            ("/near", Lane::Near),
            ("/", Lane::Start),
            ("/", Lane::Linked),
        ] {
            assert!(frontier.offer(target, lane, 1).is_some());
        }
        assert!(frontier.meet("/deep") && !frontier.meet("/deep"));
        assert_eq!(all(&mut frontier), ["/", "/near", "/listed"]);
        frontier.offer("/near", Lane::Start, 0);
        assert_eq!(all(&mut frontier), [""; 0]);
    }

    #[test]
    fn a_calendar_ends() {
        let mut frontier = Frontier::new(1_000_000);
        let (mut depth, mut turned) = (0, 0);
        while frontier.offer(&format!("/calendar?month={depth}"), Lane::Linked, depth).is_some() {
            depth += 1;
            turned += 1;
        }
        assert_eq!(turned, DEEPEST_QUERY + 1);
        frontier.offer("/other?x", Lane::Linked, DEEPEST_QUERY + 1);
        assert_eq!(frontier.queries.len(), 1);
        let followed = (0..1_000).filter(|n| frontier.offer(&format!("/list?page={n}"), Lane::Linked, 1).is_some());
        assert_eq!(followed.count(), MOST_QUERIES);
        let listed = (0..1_000).filter(|n| frontier.offer(&format!("/news?id={n}"), Lane::Listed, 0).is_some());
        assert_eq!(listed.count(), 1_000, "what the site lists is no guess");
        assert!(frontier.offer("/far", Lane::Linked, DEEPEST).is_some());
        assert!(frontier.offer("/farther", Lane::Linked, DEEPEST + 1).is_none());
    }

    #[test]
    fn rows_of_a_table_are_a_sample() {
        let mut frontier = Frontier::new(1_000_000);
        let followed = (0..5_000).filter(|n| frontier.offer(&format!("/orders/{n}"), Lane::Linked, 1).is_some());
        assert_eq!(followed.count(), MOST_ROWS);
        let others = (0..500).filter(|n| frontier.offer(&format!("/orders/{n}-tea"), Lane::Linked, 1).is_some());
        assert_eq!(others.count(), 500, "titles are no rows");
        let listed = (0..5_000).filter(|n| frontier.offer(&format!("/orders/{n}"), Lane::Listed, 0).is_some());
        assert_eq!(listed.count(), 5_000, "what the site lists is read");
        assert!(frontier.offer("/people/1", Lane::Linked, 1).is_some());
    }

    #[test]
    fn no_more_wait_than_there_is_room_for() {
        for (pages, most) in [(1, WAITING_AT_LEAST), (2_000, 2_000 * WAITING_FOR_EACH)] {
            let mut frontier = Frontier::new(pages);
            let taken = (0..10_000).filter(|n| frontier.offer(&format!("/{n}"), Lane::Listed, 0).is_some());
            assert_eq!(taken.count(), most);
        }
    }
}
