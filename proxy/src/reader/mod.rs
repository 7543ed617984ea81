//! Crawls the site in the background, so that questions can be answered from its own pages.
//!
//! The crawler acts as an anonymous client from outside: the site's host name, a documentation address, no cookies, GET
//! only, one request at a time, and at most `content.rate`. The filters decide what to read and in what order. This
//! module does the requests, the pace, and the publication of the pages.

mod disk;
mod pace;
mod publishing;
mod report;
mod round;
mod shared;
mod vectors;

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use frontdesk_filters::{
    concierge::{Coverage, Library},
    content::crawl::{Books, Ending, Rules},
    state::NotKept,
};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{
    live::{Live, Reading, Stage},
    metrics::Metrics,
    outbound::Outbound,
    running::Running,
    upstream::Pool,
};
use round::Left;
use shared::{KEPT_READINGS, LOOKED, Shared, Turn};

/// How soon a failed crawl is repeated: without known pages, and with some.
const AGAIN_FIRST: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_secs(60);
/// How soon a site that does not announce changes is crawled again, unless the operator set a time.
const UNTOLD: Duration = Duration::from_secs(24 * 3600);
/// The crawler.
pub struct Reader {
    live: Arc<Live>,
    outbound: Arc<Outbound>,
    metrics: Arc<Metrics>,
    /// Becomes true when the process shuts down.
    drain: watch::Receiver<bool>,
    /// Only one round runs at a time. Held for moments.
    known: Mutex<Known>,
    /// The site's name that was logged last.
    named: Mutex<Option<String>>,
    /// What the index on disk was written from.
    saved: Mutex<disk::Saved>,
    vectors: vectors::Known,
    /// The crawl results of other replicas; `None` if there are none.
    shared: tokio::sync::Mutex<Option<(Site, Shared)>>,
}

/// The known pages, and the site that they belong to.
struct Known {
    site: Option<Site>,
    books: Books,
    published: Option<Published>,
    due: Instant,
}

/// What a library was built from.
#[derive(Clone, PartialEq, Eq)]
struct Published {
    /// The version of the pages.
    version: u64,
    /// The hash of the configuration whose texts it contains.
    hash: String,
    coverage: Coverage,
}

/// The inputs of a round. If one of them changes, the round starts again.
#[derive(Clone)]
struct Site {
    rules: Rules,
    pool: Arc<Pool>,
    /// Whether to build a library, or only to list the pages.
    library: bool,
}

impl PartialEq for Site {
    fn eq(&self, other: &Self) -> bool {
        self.rules == other.rules && Arc::ptr_eq(&self.pool, &other.pool) && self.library == other.library
    }
}

/// Why it is unknown which replica crawls.
enum NotShared {
    Away,
    Failed(String),
}

impl From<NotKept> for NotShared {
    fn from(_: NotKept) -> Self {
        Self::Away
    }
}

impl Reader {
    /// A crawler without pages.
    pub fn new(
        live: &Arc<Live>,
        outbound: &Arc<Outbound>,
        metrics: &Arc<Metrics>,
        drain: &watch::Receiver<bool>,
    ) -> Arc<Self> {
        let (live, outbound, metrics) = (live.clone(), outbound.clone(), metrics.clone());
        let known = Known { site: None, books: Books::default(), published: None, due: Instant::now() };
        Arc::new(Self {
            live,
            outbound,
            metrics,
            drain: drain.clone(),
            known: Mutex::new(known),
            named: Mutex::default(),
            saved: Mutex::default(),
            vectors: Default::default(),
            shared: Default::default(),
        })
    }

    /// How long until the next task.
    pub fn rest(&self) -> Duration {
        match self.live.current().snapshot.settings.reads_site() {
            true => self.known.lock().due.saturating_duration_since(Instant::now()),
            false => AGAIN,
        }
    }

    /// Crawls the site if it is time.
    pub async fn run(&self) -> Result<(), String> {
        loop {
            let running = self.live.current();
            let settings = &running.snapshot.settings;
            let Some(site) = site(&running).filter(|_| settings.reads_site()) else {
                self.forget(&running, None).await?;
                return Ok(());
            };
            if self.known.lock().site.as_ref() != Some(&site) {
                self.forget(&running, Some(site.clone())).await?;
                self.restore(&running, &site).await?;
            }
            if Instant::now() < self.known.lock().due {
                let (books, published) = {
                    let known = self.known.lock();
                    (known.books.clone(), known.published.clone())
                };
                if let Some(Published { coverage, .. }) = published.filter(|shown| shown.hash != running.snapshot.hash)
                {
                    match coverage {
                        Coverage::Unreadable => self.show_unreadable(&running, books.version()).await?,
                        _ => drop(self.show(&running, &books, coverage).await?),
                    }
                }
                return Ok(());
            }
            let content = &settings.content;
            let refresh = content.refresh;
            // The next crawl may be a day away, and these results have to last until then.
            let kept = if content.refresh_is_chosen { refresh * KEPT_READINGS } else { UNTOLD.max(refresh) };
            let mut shared = self.shared.lock().await;
            if shared.as_ref().is_none_or(|(of, shared)| *of != site || !shared.is_in(&running.store)) {
                let made = Shared::of(&running.store, &site.rules, kept);
                *shared = made.map(|shared| (site.clone(), shared));
            }
            let mut shared = shared.as_mut().map(|(_, shared)| shared);
            if let Some(others) = &mut shared {
                match self.with_others(others, &running).await {
                    Ok(Turn::Ours) => {}
                    Ok(Turn::Anothers) => {
                        let pages = self.known.lock().books.len();
                        self.live.note_reading(|reading| {
                            let has_ended = reading.has_ended;
                            *reading = Reading { stage: Stage::ByAnother, pages, has_ended, ..Reading::default() };
                        });
                        self.known.lock().due = Instant::now() + LOOKED.min(refresh);
                        return Ok(());
                    }
                    Err(NotShared::Failed(why)) => return Err(why),
                    Err(NotShared::Away) if self.known.lock().books.is_empty() => shared = None,
                    Err(NotShared::Away) => {
                        self.known.lock().due = Instant::now() + LOOKED;
                        return Err("the store cannot say who is to read the site".into());
                    }
                }
            }
            let is_chosen = content.refresh_is_chosen;
            drop(running);
            let began = Instant::now();
            let left = self.round(&site, shared.as_deref_mut()).await;
            if let Some(others) = shared {
                others.let_go().await;
            }
            let mut known = self.known.lock();
            match left? {
                Left::Draining => return Ok(()),
                Left::Changed => {}
                Left::Ended(Ending::Complete) => {
                    self.metrics.crawl_completed(SystemTime::now());
                    known.due = Instant::now() + rest(refresh, is_chosen, &known.books, began.elapsed());
                    return Ok(());
                }
                Left::Ended(Ending::Spent) => {
                    tracing::info!("the site has more addresses than one crawl round reads; the rest follow later");
                    known.due = Instant::now() + rest(refresh, is_chosen, &known.books, began.elapsed());
                    return Ok(());
                }
                Left::Ended(Ending::Stopped(why)) => {
                    let again = if known.books.is_empty() { AGAIN_FIRST } else { AGAIN };
                    known.due = Instant::now() + again.min(refresh);
                    return Err(why);
                }
            }
        }
    }

    /// Takes over another replica's results, and decides who crawls now.
    async fn with_others(&self, others: &mut Shared, running: &Arc<Running>) -> Result<Turn, NotShared> {
        let (news, at) = others.news().await?;
        if let Some(books) = news {
            let coverage = if at > 0 { Coverage::Whole } else { self.coverage() };
            self.show(running, &books, coverage).await.map_err(NotShared::Failed)?;
        }
        if at > 0 {
            self.live.note_reading(|reading| reading.has_ended = true);
            let partial = {
                let known = self.known.lock();
                let is_partial = known.published.as_ref().is_some_and(|shown| shown.coverage == Coverage::Partial);
                is_partial.then(|| known.books.clone())
            };
            if let Some(books) = partial {
                self.show(running, &books, Coverage::Whole).await.map_err(NotShared::Failed)?;
            }
            self.metrics.crawl_completed(UNIX_EPOCH + Duration::from_secs(at));
        }
        let content = &running.snapshot.settings.content;
        let refresh =
            rest(content.refresh, content.refresh_is_chosen, &self.known.lock().books, Duration::ZERO).as_secs();
        if at.saturating_add(refresh) > now() { Ok(Turn::Anothers) } else { Ok(others.turn().await?) }
    }

    /// How much of the site is known during a crawl.
    fn coverage(&self) -> Coverage {
        if self.live.reading().has_ended { Coverage::Whole } else { Coverage::Partial }
    }

    /// Drops pages of another site, or pages that no feature needs any more.
    async fn forget(&self, running: &Arc<Running>, site: Option<Site>) -> Result<(), String> {
        self.live.note_reading(|reading| *reading = Reading::default());
        let was_published = {
            let mut known = self.known.lock();
            let due = Instant::now();
            let was = std::mem::replace(&mut *known, Known { site, books: Books::default(), published: None, due });
            was.published.is_some()
        };
        match was_published {
            true => self.publish(running, Library::empty(), None).await,
            false => Ok(()),
        }
    }
}

/// The pause after a crawl that took so long: a day if each page is full work for the site, and never shorter than the
/// crawl. A time that the operator set is used unchanged.
fn rest(refresh: Duration, is_chosen: bool, books: &Books, took: Duration) -> Duration {
    match (is_chosen, books.tell_changes()) {
        (true, _) => refresh,
        (false, true) => refresh.max(took),
        (false, false) => UNTOLD.max(refresh),
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The site to crawl; `None` if its address is not valid.
fn site(running: &Running) -> Option<Site> {
    let settings = &running.snapshot.settings;
    let upstream = &running.pool.backends().first()?.label;
    let rules = Rules::new(settings.crawl(), upstream)?;
    Some(Site { rules, pool: running.pool.clone(), library: settings.content.concierge })
}

#[cfg(test)]
mod tests {
    use frontdesk_filters::content::{Page, crawl::Kept};

    use super::*;

    #[test]
    fn a_site_that_does_not_say_what_changed_is_read_once_a_day() {
        let (quarter, hour) = (Duration::from_secs(900), Duration::from_secs(3600));
        let books = |etag: Option<&str>| {
            let page = Page {
                path: "/".into(),
                title: "T".into(),
                description: None,
                language: None,
                markdown: "words".into(),
                links: Vec::new(),
                canonical: None,
                noindex: false,
                nofollow: false,
                alternate_markdown: None,
                modified: None,
                anchors: Vec::new(),
            };
            let kept = Kept {
                page: Arc::new(page),
                links: Vec::new(),
                lists: Vec::new(),
                etag: etag.map(str::to_owned),
                last_modified: None,
                listed_modified: None,
                guessed: false,
                checked: 0,
            };
            let mut books = Books::default();
            books.put(&"/".into(), kept, 9);
            books
        };
        for (chosen, etag, took, expected) in [
            (false, None, quarter, UNTOLD),
            (false, Some("x"), quarter / 2, quarter),
            (false, Some("x"), hour, hour),
            (true, None, hour, quarter),
        ] {
            assert_eq!(rest(quarter, chosen, &books(etag), took), expected, "{chosen} {etag:?}");
        }
        assert_eq!(rest(quarter, false, &Books::default(), quarter), quarter, "there may be pages soon");
    }
}
