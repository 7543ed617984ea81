//! Which pages of a site are indexed, what language each is in, and what its titles have in common.

use std::{
    collections::{HashMap, HashSet},
    hash::BuildHasher,
    sync::Arc,
};

use foldhash::fast::RandomState;
use tantivy::tokenizer::Language;

use super::languages;
use frontdesk_page::content::Page;

/// Bytes of Markdown of a whole site; beyond, further pages are not indexed.
const TEXT: usize = 512 << 20;

/// Do two versions of a page say the same?
pub(super) fn says_the_same(a: &Arc<Page>, b: &Arc<Page>) -> bool {
    let is_called_alike = || (&a.title, &a.description, &a.language) == (&b.title, &b.description, &b.language);
    Arc::ptr_eq(a, b) || a.markdown == b.markdown && a.anchors == b.anchors && is_called_alike()
}

/// The pages that may be found, each once.
pub(super) fn kept(pages: &[Arc<Page>]) -> Vec<Arc<Page>> {
    let hasher = RandomState::default();
    let paths: HashSet<&str> = pages.iter().map(|page| page.path.as_str()).collect();
    let (mut seen, mut size) = (HashSet::new(), 0);
    let found = pages.iter().filter(|page| {
        let elsewhere = page.canonical.as_deref().is_some_and(|path| path != page.path && paths.contains(path));
        let fits = !page.noindex && !elsewhere && size <= TEXT && seen.insert(hasher.hash_one(&page.markdown));
        size += if fits { page.markdown.len() } else { 0 };
        fits
    });
    found.cloned().collect()
}

/// The language of a page, by its own word or by its words; `None` where neither tells.
pub(super) fn language(page: &Page) -> Option<Language> {
    let tagged = page.language.as_deref().and_then(languages::of_tag);
    tagged.or_else(|| languages::guess(&page.markdown))
}

/// The languages of these pages, and those of the site, the most frequent first. A page that does not show its own is taken
/// to be in that of most pages.
pub(super) fn spoken(pages: &[Arc<Page>]) -> (Vec<Language>, Vec<Language>) {
    let languages: Vec<Option<Language>> = pages.iter().map(|page| language(page)).collect();
    let mut counts: Vec<(Language, usize)> = Vec::new();
    for language in languages.iter().flatten() {
        match counts.iter_mut().find(|(known, _)| known == language) {
            Some((_, count)) => *count += 1,
            None => counts.push((*language, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut all: Vec<Language> = counts.into_iter().map(|(language, _)| language).collect();
    if all.is_empty() && !pages.is_empty() {
        all.push(Language::English);
    }
    let most = all.first().copied().unwrap_or(Language::English);
    (languages.into_iter().map(|language| language.unwrap_or(most)).collect(), all)
}

/// What most titles of a site end in: its name, after a separator. It says nothing of a page.
pub(super) fn common_suffix(pages: &[Arc<Page>]) -> Option<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for page in pages {
        let cut =
            [" | ", " - ", " – ", " — ", " · ", " :: ", " » "].iter().filter_map(|mark| page.title.find(mark)).min();
        if let Some(at) = cut {
            *counts.entry(&page.title[at..]).or_default() += 1;
        }
    }
    let (suffix, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (count > 2 && count * 2 > pages.len()).then(|| suffix.to_owned())
}
