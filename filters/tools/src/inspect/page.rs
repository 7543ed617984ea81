//! Evaluates the links of a page.

use http::header;
use url::Url;

use super::{About, Answer, CONTRACT, Inspection, NEGOTIATED, links, offer};

/// Maximum linked contracts that are tried.
const LINKED: usize = 3;

impl Inspection {
    /// Follows the page's links to contracts and offers (AICP §6.3, §6.4).
    pub(super) fn page(&mut self, url: &Url, answer: &Answer) {
        let headers = answer.headers.get_all(header::LINK).iter().filter_map(|value| value.to_str().ok());
        let mut links: Vec<links::Link> = headers.flat_map(links::of_header).collect();
        links.extend(links::of_page(&answer.body));
        self.structured_data = offer::structured(&answer.body);
        self.mcp = offer::mcp_linked(&links);
        self.seen.page(url, answer, &links, self.structured_data);
        if self.found.is_some() {
            return;
        }
        let to_contract: Vec<_> = links.iter().filter(|link| link.is("agent-interface")).take(LINKED).collect();
        for link in to_contract.into_iter().rev() {
            match url.join(&link.target) {
                Ok(to) if to.origin() == self.base.origin() => {
                    if !matches!(to.path(), CONTRACT | NEGOTIATED) {
                        self.todo.push_front((About::Linked, to.to_string()));
                    }
                }
                _ => self.note(format!("the page links to a contract elsewhere; not followed: {}", link.target)),
            }
        }
    }
}
