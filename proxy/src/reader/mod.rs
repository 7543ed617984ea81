//! Reads the site in the background, so that questions about it can be answered from its own pages.
//!
//! As an anonymous client from outside would: the site's name, a documentation address, no cookie, GET only, one
//! request at a time and no more than `content.rate`. What is read, and in what order, is decided in the filters; here
//! are the bytes, the pace, and what becomes of the pages.

mod pace;
mod publishing;
mod report;
mod round;
mod shared;

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
    admin::metrics::Metrics,
    live::{Live, Reading, Running, Stage},
    outbound::Outbound,
    upstream::Pool,
};
use round::Left;
use shared::{KEPT_READINGS, LOOKED, Shared, Turn};

/// How soon a site is read again that could not be: when nothing is known of it, and when something is.
const AGAIN_FIRST: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_secs(60);
/// How soon a site is read again that does not say what has changed, where nobody chose another time.
const UNTOLD: Duration = Duration::from_secs(24 * 3600);
/// Whoever reads the site.
pub struct Reader {
    live: Arc<Live>,
    outbound: Arc<Outbound>,
    metrics: Arc<Metrics>,
    /// Turns true when the process is to end.
    drain: watch::Receiver<bool>,
    /// Only one round runs at a time; held for moments.
    known: Mutex<Known>,
    /// The name of the site that the operator was told of last.
    named: Mutex<Option<String>>,
    /// What other replicas know of this site; `None` where there are none.
    shared: tokio::sync::Mutex<Option<(Site, Shared)>>,
}

/// What is known, and of which site.
struct Known {
    site: Option<Site>,
    books: Books,
    published: Option<Published>,
    due: Instant,
}

/// What answers rest on.
#[derive(Clone, PartialEq, Eq)]
struct Published {
    /// Of the books.
    version: u64,
    /// Of the configuration whose words are in it.
    hash: String,
    coverage: Coverage,
}

/// What a round depends on: with another of these it begins anew.
#[derive(Clone)]
struct Site {
    rules: Rules,
    pool: Arc<Pool>,
    /// Whether there is a library to build, or only the contents to list.
    library: bool,
}

impl PartialEq for Site {
    fn eq(&self, other: &Self) -> bool {
        self.rules == other.rules && Arc::ptr_eq(&self.pool, &other.pool) && self.library == other.library
    }
}

/// Why it is not known who is to read.
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
    /// Nothing is known yet.
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
            shared: Default::default(),
        })
    }

    /// How long until there is something to do.
    pub fn rest(&self) -> Duration {
        match self.live.current().snapshot.settings.reads_site() {
            true => self.known.lock().due.saturating_duration_since(Instant::now()),
            false => AGAIN,
        }
    }

    /// Reads the site, if it is time to.
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
            // It may be a day until the next reading, and until then this one is kept.
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

    /// Takes over what another has read, and says who is to read now.
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

    /// How much of the site is known while it is read.
    fn coverage(&self) -> Coverage {
        if self.live.reading().has_ended { Coverage::Whole } else { Coverage::Partial }
    }

    /// What was known is of another site, or nobody wants to know it any more.
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

/// How long a site is left alone after a reading that took so long: a day where each page is full work for it, and never
/// shorter than the reading. What the operator wrote stands.
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

/// What there is to read; `None` where its address is none.
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
            };
            let kept = Kept {
                page: Arc::new(page),
                links: Vec::new(),
                lists: Vec::new(),
                etag: etag.map(str::to_owned),
                last_modified: None,
                listed_modified: None,
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
