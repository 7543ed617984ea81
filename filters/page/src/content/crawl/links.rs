//! Which links of a page are followed, and what becomes of the others.

use std::{collections::HashSet, sync::Arc};

use super::{
    Ask, Crawl, Lane, WhyLeftOut, acts, books,
    evidence::{Evidence, Speaks, is_written, may_be_followed},
    guess::Guess,
};

impl Crawl {
    /// A page that is what it was leads where it led: only links that were followed are kept with it.
    pub(super) fn still_there(&mut self, ask: &Ask) {
        self.met.insert(ask.target.clone());
        let links = self.books.get(&ask.target).map(|kept| kept.links.clone()).unwrap_or_default();
        let is_over = |link: &Arc<str>| self.books.came_back(link) || self.books.is_no_document(link);
        for link in links.iter().filter(|link| !is_over(link)).cloned().collect::<Vec<_>>() {
            if self.books.get(&link).is_some() || self.rules.follows(&link) || link.contains('?') {
                self.offer(ask, &link);
            } else {
                // It was not there, or not read, the last time.
                let guess = if is_written(&link) { Guess::Document } else { Guess::Folder };
                self.frontier.offer_guess(&link, lane_of(ask), ask.depth.saturating_add(1), guess);
            }
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
        let (mut kept, mut first) = (Vec::new(), Vec::new());
        let depth = from.depth.saturating_add(1);
        for link in links.iter().take(books::MOST_LINKS) {
            let is_known = self.frontier.knows(link) || self.books.get(link).is_some();
            match self.judge(link, relative.contains(link), evidence) {
                // What a list names is followed from there.
                Err(why) if !self.frontier.knows(link) || why == WhyLeftOut::Acts => {
                    self.left_out.note(link, &from.target, why);
                }
                Err(_) => kept.extend(self.offer(from, link)),
                Ok(speaks) => match evidence.guess(link, speaks).filter(|_| !is_known && !self.rules.follows(link)) {
                    None => kept.extend(self.offer(from, link)),
                    Some(guess) if self.books.is_proven(guess) => {
                        kept.extend(self.frontier.offer_guess(link, lane_of(from), depth, guess));
                    }
                    // What looks like a control is not the first to be tried.
                    Some(guess) if self.books.may_guess(guess) => {
                        let is_control = evidence.controls.contains(link);
                        let is_called_so = acts::is_called_like_act(link) || acts::is_doubtful(link);
                        first.push((is_control, is_called_so, guess, link));
                    }
                    Some(_) => self.left_out.note(link, &from.target, WhyLeftOut::Unlisted),
                },
            }
        }
        // Those that are called like an act come last: it may be known by then that their kind is right.
        first.sort_by_key(|(is_control, is_called_so, guess, _)| (*is_control, *guess, *is_called_so));
        for (is_control, _, guess, link) in first {
            let offered = self.frontier.offer_guess(link, lane_of(from), depth, guess);
            if is_control && let Some(target) = &offered {
                self.controls.insert(target.clone());
            }
            kept.extend(offered);
        }
        kept.sort_unstable();
        kept.dedup();
        kept
    }

    /// What speaks for following a link, or why it is left out.
    fn judge(&self, link: &str, is_relative: bool, evidence: &Evidence<'_>) -> Result<Speaks, WhyLeftOut> {
        if self.books.came_back(link) || self.books.is_no_document(link) {
            return Err(WhyLeftOut::Acts);
        }
        let path = link.split('?').next().unwrap_or(link);
        let mut speaks = evidence.speaks_for(link, is_relative);
        if path != link && self.rules.follow_queries {
            let is_page = evidence.speaks_for(path, is_relative) > Speaks::Guess;
            speaks = if is_page || evidence.is_own_path(link) { Speaks::Place } else { speaks };
        }
        if speaks < Speaks::Place && self.rules.follows(path) && (path == link || self.rules.follow_queries) {
            speaks = Speaks::Place;
        }
        match (may_be_followed(link, speaks), speaks) {
            (true, _) => Ok(speaks),
            (false, Speaks::Nothing) if !acts::acts(link) => Err(WhyLeftOut::Unlisted),
            (false, _) => Err(WhyLeftOut::Acts),
        }
    }

    fn offer(&mut self, from: &Ask, link: &str) -> Option<Arc<str>> {
        let lane = lane_of(from);
        // What is known comes before what may be anything.
        let lane = if self.books.get(link).is_some() { lane.min(Lane::Listed) } else { lane };
        self.frontier.offer(link, lane, from.depth.saturating_add(1))
    }
}

/// In which lane the links of a page wait.
fn lane_of(from: &Ask) -> Lane {
    if from.lane == Lane::Start { Lane::Near } else { Lane::Linked }
}
