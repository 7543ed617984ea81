//! Which links of a page are followed, and what becomes of the others.

use std::{collections::HashSet, sync::Arc};

use super::{
    Ask, Crawl, Lane, WhyLeftOut, acts, books,
    evidence::{Evidence, Speaks, may_be_followed},
};

impl Crawl {
    /// A page that is what it was leads where it led: only links that were followed are kept with it.
    pub(super) fn still_there(&mut self, ask: &Ask) {
        self.met.insert(ask.target.clone());
        let links = self.books.get(&ask.target).map(|kept| kept.links.clone()).unwrap_or_default();
        for link in links.iter().filter(|link| !self.books.came_back(link)).cloned().collect::<Vec<_>>() {
            self.offer(ask, &link);
        }
        let lists = self.books.get(&ask.target).map(|kept| kept.lists.clone()).unwrap_or_default();
        self.read_lists(&lists);
    }

    /// Reads the feeds and sitemaps that a page names.
    pub(super) fn read_lists(&mut self, lists: &[Arc<str>]) {
        for list in lists.iter().filter(|list| !acts::acts(list)) {
            self.frontier.offer(list, Lane::Lists, 1);
        }
    }

    /// Follows the links of a page as far as something shows that they lead to documents, and gives back those that are
    /// kept with the page. `relative`: those that are written relative to the page.
    pub(super) fn follow(
        &mut self,
        from: &Ask,
        links: &[String],
        relative: &HashSet<String>,
        evidence: &Evidence<'_>,
    ) -> Vec<Arc<str>> {
        let mut kept = Vec::new();
        for link in links.iter().take(books::MOST_LINKS) {
            match self.why_not(link, relative.contains(link), evidence) {
                // What a list names is followed from there.
                Some(why) if !self.frontier.knows(link) || why == WhyLeftOut::Acts => {
                    self.left_out.note(link, &from.target, why);
                }
                _ => kept.extend(self.offer(from, link)),
            }
        }
        kept.sort_unstable();
        kept.dedup();
        kept
    }

    fn why_not(&self, link: &str, is_relative: bool, evidence: &Evidence<'_>) -> Option<WhyLeftOut> {
        if self.books.came_back(link) {
            return Some(WhyLeftOut::Acts);
        }
        let path = link.split('?').next().unwrap_or(link);
        let mut speaks = evidence.speaks_for(link, is_relative);
        if speaks == Speaks::Nothing && path != link && self.rules.follow_queries {
            let is_own = evidence.is_own_path(link);
            speaks = if is_own { Speaks::Place } else { evidence.speaks_for(path, is_relative).min(Speaks::Place) };
        }
        let is_vouched = self.rules.follows(path) && (path == link || self.rules.follow_queries);
        if speaks < Speaks::Place && is_vouched {
            speaks = Speaks::Place;
        }
        match (may_be_followed(link, speaks), speaks) {
            (true, _) => None,
            (false, Speaks::Nothing) if !acts::acts(link) => Some(WhyLeftOut::Unlisted),
            (false, _) => Some(WhyLeftOut::Acts),
        }
    }

    fn offer(&mut self, from: &Ask, link: &str) -> Option<Arc<str>> {
        let lane = if from.lane == Lane::Start { Lane::Near } else { Lane::Linked };
        // What is known comes before what may be anything.
        let lane = if self.books.get(link).is_some() { lane.min(Lane::Listed) } else { lane };
        self.frontier.offer(link, lane, from.depth.saturating_add(1))
    }
}
