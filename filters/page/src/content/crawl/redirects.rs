//! Where a redirect leads: elsewhere on the site, to another name of it, or to what is not asked for.

use std::sync::Arc;

use http::{StatusCode, header};

use super::{
    Ask, Crawl, Fetched, Lane, MOST_HOPS, MOST_RENAMED, Outcome, Why, WhyLeftOut, acts, books::Kept, robots::Robots,
    robots_of,
};

impl Crawl {
    /// Asks for the same by the name that the site says it has. Only where the operator begins: other addresses may be a
    /// stranger's to write.
    fn asks_by_name(&mut self, ask: &Ask, location: &str) -> bool {
        if ask.lane != Lane::Start || ask.hops >= MOST_HOPS || self.renamed >= MOST_RENAMED {
            return false;
        }
        let Some((name, target)) = self.rules.renamed(location, &ask.target) else { return false };
        let by = Some(Arc::new(name));
        if by == ask.by {
            return false;
        }
        self.renamed += 1;
        // What may be read under that name is asked first.
        if ask.why != Why::Robots && self.robots.iter().all(|(known, _)| *known != by) {
            self.hops.push_back(robots_of(by.clone()));
        }
        self.hops.push_back(Ask { target: target.into(), by, hops: ask.hops + 1, ..ask.clone() });
        true
    }

    pub(super) fn moved(&mut self, ask: &Ask, fetched: &Fetched) -> Outcome {
        let location = fetched.headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
        if location.is_some_and(|location| self.asks_by_name(ask, location)) {
            return Outcome::Moved;
        }
        self.books.remove(&ask.target);
        let at = self.rules.url(&ask.target);
        let target = location.zip(at).and_then(|(location, at)| self.rules.listed(location, &at));
        let nowhere = |crawl: &mut Self, outcome| {
            if ask.why == Why::Robots {
                crawl.begin(ask, Robots::allowing());
            }
            outcome
        };
        let Some(target) = target else { return nowhere(self, Outcome::OffSite) };
        // A page that is called like an act may move to an address that is, too.
        let is_new = acts::is_called_like_act(&target) && !acts::is_called_like_act(&ask.target);
        if acts::acts(&target) || is_new {
            self.left_out.note_redirect(&target, &ask.target, WhyLeftOut::Acts);
            return nowhere(self, Outcome::Acts);
        }
        if ask.hops >= MOST_HOPS {
            return nowhere(self, Outcome::Gone);
        }
        // What acts on a GET shows its page again afterwards.
        let is_answer = matches!(fetched.status, StatusCode::FOUND | StatusCode::SEE_OTHER) && ask.why == Why::Page;
        let links_here = |page: &Kept| page.links.contains(&ask.target);
        if is_answer && ask.hops == 0 && self.books.get(&target).is_some_and(links_here) {
            self.books.note_came_back(&ask.target);
            return Outcome::CameBack;
        }
        // A server of files moves an address for good.
        let is_for_good = matches!(fetched.status, StatusCode::MOVED_PERMANENTLY | StatusCode::PERMANENT_REDIRECT);
        if let Some(guess) = ask.guess.filter(|_| !is_for_good) {
            self.books.note_guess(&ask.target, guess, false);
            return Outcome::Other;
        }
        // A list that leads to a page is not that page's turn.
        if ask.why != Why::Page || self.frontier.meet(&target) {
            let target: Arc<str> = target.into();
            // Where no page is wanted, it must not answer that the page is what it was.
            let kept = self.books.get(&target).filter(|_| ask.why == Why::Page);
            let if_none_match = kept.and_then(|kept| kept.etag.clone());
            let if_modified_since = kept.and_then(|kept| kept.last_modified.clone());
            let hops = ask.hops + 1;
            self.hops.push_back(Ask { target, if_none_match, if_modified_since, hops, ..ask.clone() });
        }
        Outcome::Moved
    }
}
