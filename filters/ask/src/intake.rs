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

/// The language of a page, by its own word or by its words.
pub(super) fn language(page: &Page) -> Language {
    let tagged = page.language.as_deref().and_then(languages::of_tag);
    tagged.or_else(|| languages::guess(&page.markdown)).unwrap_or(Language::English)
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
