//! Publishes crawled pages: builds the library, takes it into use, and shares it with other replicas.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use frontdesk_filters::{
    concierge::{Coverage, Library},
    content::crawl::Books,
    desk::{site_facts, unread_library},
    discovery::Contents,
};

use super::{Published, Reader, shared::Shared};
use crate::{live::on_config_thread, running::Running};

/// The shortest interval of publications during a round, and the largest part of the time that they may take.
const PUBLISHED: Duration = Duration::from_secs(2);
const PUBLISHING_SHARE: u32 = 8;

impl Reader {
    /// Publishes the pages known so far. Returns how long that took.
    pub(super) async fn show(
        &self,
        running: &Arc<Running>,
        books: &Books,
        coverage: Coverage,
    ) -> Result<Duration, String> {
        let began = Instant::now();
        let (pages, version) = (books.pages(), books.version());
        let settings = &running.snapshot.settings;
        let facts = settings.content.concierge.then(|| site_facts(settings));
        let count = pages.len();
        let (dated, site_map) = (books.dated(), books.site_map().map(str::to_owned));
        // Of the pages that are known already nothing is read again.
        let (before, vectors, configured) = (self.live.library(), self.vectors.clone(), running.clone());
        let built = tokio::task::spawn_blocking(move || {
            let library = facts.map_or_else(Library::empty, |facts| before.renewed(&facts, &pages));
            let library = vectors.given_to(library.covering(coverage), &configured);
            (library, Contents::new(dated, site_map))
        });
        let (library, contents) = built.await.map_err(|e| e.to_string())?;
        self.metrics.crawl_pages(count, library.bytes());
        self.publish(running, library, Some(contents)).await?;
        self.count_without_vector();
        let mut known = self.known.lock();
        known.books = books.clone();
        known.published = Some(Published { version, hash: running.snapshot.hash.clone(), coverage });
        Ok(began.elapsed())
    }

    /// Publishes that the site could not be read. Keeps the list of its pages, because a later crawl may still list
    /// them.
    pub(super) async fn show_unreadable(&self, running: &Arc<Running>, version: u64) -> Result<(), String> {
        let coverage = Coverage::Unreadable;
        let library = unread_library(&running.snapshot.settings).covering(coverage);
        self.publish(running, library, None).await?;
        self.known.lock().published = Some(Published { version, hash: running.snapshot.hash.clone(), coverage });
        Ok(())
    }

    pub(super) async fn publish(
        &self,
        running: &Arc<Running>,
        library: Library,
        contents: Option<Contents>,
    ) -> Result<(), String> {
        let (live, running) = (self.live.clone(), running.clone());
        on_config_thread(move || live.publish(library, contents.map(Arc::new), &running)).await
    }
}

/// Shares the result with other replicas.
pub(super) async fn tell(others: &mut Shared, books: &Books, at: u64, changed: bool) {
    if let Err(why) = others.write(books, at, changed).await {
        tracing::warn!(?why, "the pages read from the site could not be shared with other replicas");
    }
}

/// Decides when to publish during a round.
#[derive(Default)]
pub(super) struct News {
    next: Option<Instant>,
}

impl News {
    pub(super) fn are_due(&self, books: &Books, published: Option<u64>) -> bool {
        let changed = match published {
            Some(version) => version != books.version(),
            None => !books.is_empty(),
        };
        changed && self.next.is_none_or(|next| Instant::now() >= next)
    }

    pub(super) fn took(&mut self, time: Duration) {
        self.next = Some(Instant::now() + PUBLISHED.max(time * PUBLISHING_SHARE));
    }
}
