//! What a list of the site leads to: a sitemap, or the links of an llms.txt and of other Markdown.

use std::collections::HashMap;

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
        let targets: Vec<_> = sitemap.pages.iter().map(|page| self.rules.listed(&page.location, &at)).collect();
        let documents = targets.iter().flatten().filter(|target| !acts::acts(target));
        let alike = sitemap.is_feed.then(|| Alike::of(documents));
        for (page, target) in sitemap.pages.into_iter().zip(targets) {
            let Some(target) = target.filter(|target| self.may_follow(ask, target)) else { continue };
            if alike.as_ref().is_some_and(|alike| !alike.has(&target)) {
                self.left_out.note(&target, &ask.target, WhyLeftOut::Acts);
                continue;
            }
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
            let Some(target) = self.rules.target(link, &at).filter(|target| self.may_follow(ask, target)) else {
                continue;
            };
            let has_query = target.contains('?') && !self.rules.follow_queries;
            if has_query || is_done_to_thing(&target) {
                self.left_out.note(&target, &ask.target, WhyLeftOut::Acts);
            } else {
                self.frontier.offer(&target, Lane::Listed, 0);
            }
        }
    }
}

/// The entries of a feed that are of one kind. A feed of documents lists many that are filed alike; a log of events leads to
/// anything.
struct Alike {
    kinds: HashMap<String, usize>,
}

impl Alike {
    fn of<'a>(targets: impl Iterator<Item = &'a String>) -> Self {
        let mut kinds = HashMap::new();
        for target in targets {
            *kinds.entry(kind_of(target)).or_default() += 1;
        }
        Self { kinds }
    }

    /// Whether another entry is filed as this one, or it is the only one.
    fn has(&self, target: &str) -> bool {
        let is_filed = self.kinds.len() == 1 || self.kinds.get(&kind_of(target)).is_some_and(|count| *count > 1);
        is_filed && !is_done_to_thing(target)
    }
}

/// The section in which an address is filed, with `#` for identifiers.
fn kind_of(target: &str) -> String {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let name = query.split('=').next().unwrap_or_default();
    let pattern = acts::pattern(path).unwrap_or_else(|| path.to_owned());
    let section = pattern.trim_end_matches('/').rsplit_once('/').map_or("", |(section, _)| section);
    format!("{section}?{name}")
}

/// Whether an address is a word below an identifier: `/builds/7/rebuild`. That may be what is done to the thing. Below a
/// date it is a title.
fn is_done_to_thing(target: &str) -> bool {
    let path = target.split('?').next().unwrap_or_default().trim_end_matches('/');
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let [before @ .., thing, word] = segments.as_slice() else { return false };
    let is_year = |segment: &&&str| segment.len() == 4 && segment.bytes().all(|byte| byte.is_ascii_digit());
    let is_word = !word.contains(['-', '_', '.']) && !word.starts_with(|c: char| c.is_ascii_uppercase());
    acts::is_identifier(thing)
        && !is_year(&thing)
        && !before.iter().any(|segment| is_year(&segment))
        && is_word
        && !acts::is_identifier(word)
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
    fn entries_of_a_feed_are_of_a_kind() {
        let followed = |targets: &[&str]| {
            let targets: Vec<String> = targets.iter().map(|target| (*target).to_owned()).collect();
            let alike = Alike::of(targets.iter());
            targets.iter().filter(|target| alike.has(target)).count()
        };
        assert_eq!(followed(&["/2024/05/tea/", "/2023/11/green-tea/", "/2023/11/mugs/"]), 3);
        assert_eq!(followed(&["/blog/tea", "/blog/green-tea", "/jobs/deploy"]), 2);
        assert_eq!(followed(&["/?p=5", "/?p=7"]), 2);
        assert_eq!(followed(&["/posts/5-tea"]), 1, "a blog with one post");
        assert_eq!(followed(&["/ack/7", "/builds/7", "/approve-7", "/jobs/deploy"]), 0);
        assert_eq!(followed(&["/builds/7/rebuild", "/builds/8/rebuild", "/builds/8/retry"]), 0);
        assert!(!is_done_to_thing("/questions/7/how-to-brew") && !is_done_to_thing("/tea/brew"));
    }

    #[test]
    fn markdown_leads_somewhere() {
        let text =
            "# X\n- [a](/a): b\n- [c](https://site.test/c \"d\") [e](<f g>)\n<https://site.test/h> <http no>\n[i](j\n";
        assert_eq!(links(text).collect::<Vec<_>>(), ["/a", "https://site.test/c", "f", "//site.test/h"]);
        assert_eq!(links(&"[](x)".repeat(MOST_LINKS + 1)).count(), MOST_LINKS);
    }
}
