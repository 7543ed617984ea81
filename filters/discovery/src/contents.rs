//! The pages of a site that were read, for everything that lists them.

use std::sync::Arc;

use frontdesk_page::content::{Page, crawl::Dated};

use crate::{llms, similar_addresses::SimilarAddresses, sitemap};

/// The pages, those nearest to the start first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    pages: Vec<Dated>,
    /// The path of the site's own sitemap, where the crawler read one.
    site_map: Option<String>,
    near: SimilarAddresses,
}

impl Contents {
    /// All pages that were read, and the path of the site's own sitemap.
    pub fn new(mut pages: Vec<Dated>, site_map: Option<String>) -> Self {
        pages.retain(|dated| ![llms::PATH, sitemap::PATH].contains(&dated.page.path.as_str()));
        let segments = |path: &str| path.split('/').filter(|segment| !segment.is_empty()).count();
        pages.sort_by_cached_key(|Dated { page, .. }| {
            (page.path.contains('?'), segments(&page.path), page.path.clone())
        });
        let near = SimilarAddresses::new(pages.iter().map(|dated| dated.page.path.as_str()));
        Self { pages, site_map, near }
    }

    /// All pages, the most informative first: those nearest to the root, without listing pages.
    pub fn pages(&self) -> &[Dated] {
        &self.pages
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// The page at a path.
    pub fn page(&self, path: &str) -> Option<&Arc<Page>> {
        self.pages.iter().find(|dated| dated.page.path == path).map(|dated| &dated.page)
    }

    /// The path of the site's own sitemap.
    pub fn site_map(&self) -> Option<&str> {
        self.site_map.as_deref()
    }

    /// The pages whose addresses are most like one that is not there, the most similar first.
    pub fn nearest(&self, target: &str, most: usize) -> impl Iterator<Item = &Page> {
        self.near.find(target, most).into_iter().filter_map(|nth| self.pages.get(nth)).map(|dated| dated.page.as_ref())
    }
}
