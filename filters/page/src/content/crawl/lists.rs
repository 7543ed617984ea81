//! What a list of the site leads to: a sitemap, or the links of an llms.txt and of other Markdown.

use super::{Crawl, DEEPEST_LIST, Lane, WhyLeftOut, acts, sitemap::Sitemap};
use crate::content::crawl::Ask;

/// The most links of one Markdown text.
const MOST_LINKS: usize = 5_000;

impl Crawl {
    /// Takes note of what a sitemap lists.
    pub(super) fn sitemap(&mut self, ask: &Ask, sitemap: Sitemap) {
        let Some(at) = self.rules.url(&ask.target) else { return };
        // What an index names is a part of it.
        if sitemap.is_map && ask.depth <= 1 {
            self.books.note_site_map(&ask.target);
            self.has_site_map = true;
        }
        if ask.depth < DEEPEST_LIST {
            for nested in &sitemap.nested {
                let target = self.rules.listed(nested, &at);
                if let Some(target) = target.filter(|target| self.may_follow(ask, target)) {
                    self.frontier.offer(&target, Lane::Lists, ask.depth + 1);
                }
            }
        }
        for page in sitemap.pages {
            let target = self.rules.listed(&page.location, &at);
            let Some(target) = target.filter(|target| self.may_follow(ask, target)) else { continue };
            if let (Some(target), Some(modified)) = (self.frontier.offer(&target, Lane::Listed, 0), page.modified) {
                self.modified.insert(target, modified);
            }
        }
    }

    /// Whether what a list names may be asked for; takes note of it where it may not.
    fn may_follow(&mut self, list: &Ask, target: &str) -> bool {
        let acts = acts::acts(target);
        if acts {
            self.left_out.note(target, &list.target, WhyLeftOut::Acts);
        }
        !acts
    }

    /// Takes note of what a Markdown text links to, on this site.
    pub(super) fn links_of_text(&mut self, ask: &Ask, text: &str) {
        let Some(at) = self.rules.url(&ask.target) else { return };
        for link in links(text) {
            let target = self.rules.target(link, &at);
            if let Some(target) = target.filter(|target| self.may_follow(ask, target)) {
                self.frontier.offer(&target, Lane::Listed, 0);
            }
        }
    }
}

/// Where `[text](address)`, `[text](address "title")` and `<address>` lead.
pub(super) fn links(text: &str) -> impl Iterator<Item = &str> {
    let inline = text.split("](").skip(1).filter_map(|rest| {
        let end = rest.find([')', '\n']).filter(|end| rest[*end..].starts_with(')'))?;
        let link = rest[..end].split_whitespace().next()?;
        Some(link.trim_start_matches('<').trim_end_matches('>'))
    });
    let bare = text.split("<http").skip(1).filter_map(|rest| {
        let end = rest.find(['>', '\n', ' '])?;
        rest[..end].starts_with(['s', ':']).then(|| &rest[..end])
    });
    // Without the four letters it was split at, an address of this site is found by what is left of it.
    let bare = bare.map(|rest| rest.trim_start_matches('s').trim_start_matches(':'));
    inline.chain(bare).take(MOST_LINKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_leads_somewhere() {
        let text =
            "# X\n- [a](/a): b\n- [c](https://site.test/c \"d\") [e](<f g>)\n<https://site.test/h> <http no>\n[i](j\n";
        assert_eq!(links(text).collect::<Vec<_>>(), ["/a", "https://site.test/c", "f", "//site.test/h"]);
        assert_eq!(links(&"[](x)".repeat(MOST_LINKS + 1)).count(), MOST_LINKS);
    }
}
