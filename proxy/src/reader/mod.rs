//! Reads the site in the background, so that questions about it can be answered from its own pages.
//!
//! As an anonymous client from outside would: the site's name, a documentation address, no cookie, GET only, one
//! request at a time and no more than `content.rate`. What is read, and in what order, is decided in the filters; here
//! are the bytes, the pace, and what becomes of the pages.

mod pace;
mod shared;

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use frontdesk_filters::{
    concierge::{Library, SiteFacts},
    content::{
        crawl::{Ask, Books, Crawl, Ending, Fetched, Outcome, Rules},
        llms::Contents,
    },
    site::Settings,
    state::NotKept,
};
use http::{HeaderName, HeaderValue, header};
use parking_lot::Mutex;
use tokio::{sync::watch, time::sleep};

use crate::{
    admin::metrics::Metrics,
    boot::asked,
    live::{Live, Running},
    outbound::{Outbound, Question},
    upstream::Pool,
};
use pace::Pace;
use shared::{LOOKED, Shared, Turn};

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// How soon a site is read again that could not be: when nothing is known of it, and when something is.
const AGAIN_FIRST: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_secs(60);
/// How often pages are published while a round goes on; and no more than this part of the time goes into it.
const PUBLISHED: Duration = Duration::from_secs(2);
const PUBLISHING_SHARE: u32 = 8;
/// How often other replicas are told what is known while a round goes on.
const SHARED: Duration = Duration::from_secs(10);

/// A client somewhere outside, by an address that nobody has (RFC 5737): a site trusts its own network with more.
const FROM: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-forwarded-for"), HeaderValue::from_static("192.0.2.1"));
/// The same for a site that looks there, as every client has it that passes.
const FROM_REALLY: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-real-ip"), HeaderValue::from_static("192.0.2.1"));
const NO_CODING: (HeaderName, HeaderValue) = (header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
const ACCEPT: &str = "text/html, application/xhtml+xml;q=0.9, text/markdown;q=0.8, */*;q=0.1";

/// Whoever reads the site.
pub struct Reader {
    live: Arc<Live>,
    outbound: Arc<Outbound>,
    metrics: Arc<Metrics>,
    /// Turns true when the process is to end.
    drain: watch::Receiver<bool>,
    /// Only one round runs at a time; held for moments.
    known: Mutex<Known>,
    /// What other replicas know of this site; `None` where there are none.
    shared: tokio::sync::Mutex<Option<(Site, Shared)>>,
}

/// What is known, and of which site.
struct Known {
    site: Option<Site>,
    books: Books,
    /// What is published: the version of the books, and the configuration whose words were in it.
    published: Option<(u64, String)>,
    due: Instant,
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

/// Why a round was left.
enum Left {
    Ended(Ending),
    /// Something else is to be read now.
    Changed,
    /// The process is to end, or another has begun to read.
    Draining,
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
                if published.is_some_and(|(_, hash)| hash != running.snapshot.hash) {
                    self.show(&running, &books).await?;
                }
                return Ok(());
            }
            let refresh = settings.content.refresh;
            let mut shared = self.shared.lock().await;
            if shared.as_ref().is_none_or(|(of, shared)| *of != site || !shared.is_in(&running.store)) {
                let made = Shared::of(&running.store, &site.rules, refresh);
                *shared = made.map(|shared| (site.clone(), shared));
            }
            let mut shared = shared.as_mut().map(|(_, shared)| shared);
            if let Some(others) = &mut shared {
                match self.with_others(others, &running).await {
                    Ok(Turn::Ours) => {}
                    Ok(Turn::Anothers) => {
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
            drop(running);
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
                    known.due = Instant::now() + refresh;
                    return Ok(());
                }
                Left::Ended(Ending::Spent) => {
                    tracing::info!("the site has more addresses than are asked for in a round: the others may wait");
                    known.due = Instant::now() + refresh;
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
            self.show(running, &books).await.map_err(NotShared::Failed)?;
        }
        if at > 0 {
            self.metrics.crawl_completed(UNIX_EPOCH + Duration::from_secs(at));
        }
        let refresh = running.snapshot.settings.content.refresh.as_secs();
        if at.saturating_add(refresh) > now() { Ok(Turn::Anothers) } else { Ok(others.turn().await?) }
    }

    /// What was known is of another site, or nobody wants to know it any more.
    async fn forget(&self, running: &Arc<Running>, site: Option<Site>) -> Result<(), String> {
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

    async fn round(&self, site: &Site, mut others: Option<&mut Shared>) -> Result<Left, String> {
        let books = self.known.lock().books.clone();
        let before = books.version();
        let mut crawl = Crawl::new(site.rules.clone(), books, now());
        let mut pace = Pace::default();
        let (mut news, mut told) = (News::default(), None::<Instant>);
        loop {
            let running = self.live.current();
            if self::site(&running).as_ref() != Some(site) || !running.snapshot.settings.reads_site() {
                return Ok(Left::Changed);
            }
            let Some(ask) = crawl.next(&|target| running.snapshot.answers(target)) else { break };
            let slot = pace.next(running.snapshot.settings.content.rate);
            if !self.wait(slot, others.as_deref_mut()).await {
                return Ok(Left::Draining);
            }
            let answer = self.ask(&running, &ask).await;
            // A page takes milliseconds and more to read.
            let taken = tokio::task::spawn_blocking(move || {
                let outcome = crawl.take(&ask, answer);
                (crawl, outcome)
            });
            let outcome: Outcome;
            (crawl, outcome) = taken.await.map_err(|e| e.to_string())?;
            self.metrics.crawled(outcome.label());
            if news.are_due(crawl.books(), self.version()) {
                news.took(self.show(&running, crawl.books()).await?);
                if let Some(others) = others.as_deref_mut().filter(|_| told.is_none_or(|at| at.elapsed() >= SHARED)) {
                    tell(others, crawl.books(), 0, true).await;
                    told = Some(Instant::now());
                }
            }
            if let Some(pause) = crawl.pause()
                && !self.wait(pause, others.as_deref_mut()).await
            {
                return Ok(Left::Draining);
            }
        }
        let (books, ending) = crawl.finish();
        if self.version() != Some(books.version()) && (!matches!(ending, Ending::Stopped(_)) || !books.is_empty()) {
            self.show(&self.live.current(), &books).await?;
        }
        if let (Some(others), Ending::Complete | Ending::Spent) = (others, &ending) {
            tell(others, &books, now(), books.version() != before).await;
        }
        self.known.lock().books = books;
        Ok(Left::Ended(ending))
    }

    fn version(&self) -> Option<u64> {
        self.known.lock().published.as_ref().map(|(version, _)| *version)
    }

    /// False when it is to be left: the process is to end, or another reads.
    async fn wait(&self, time: Duration, mut others: Option<&mut Shared>) -> bool {
        let until = Instant::now() + time;
        loop {
            // Long waits are waited in parts, so that the lease is kept.
            let part = until.saturating_duration_since(Instant::now()).min(LOOKED);
            let mut drain = self.drain.clone();
            tokio::select! {
                () = sleep(part) => {}
                _ = drain.wait_for(|drain| *drain) => return false,
            }
            if let Some(others) = others.as_deref_mut()
                && others.turn().await == Ok(Turn::Anothers)
            {
                return false;
            }
            if Instant::now() >= until {
                return true;
            }
        }
    }

    async fn ask(&self, running: &Running, ask: &Ask) -> Result<Fetched, String> {
        let index = running.pool.choose(None);
        let peer = running.pool.backends()[index].peer().await.ok_or("the site's name cannot be resolved")?;
        let mut headers = vec![FROM, FROM_REALLY, NO_CODING];
        let conditions =
            [(header::IF_NONE_MATCH, &ask.if_none_match), (header::IF_MODIFIED_SINCE, &ask.if_modified_since)];
        for (name, value) in conditions {
            headers.extend(value.as_deref().and_then(|value| HeaderValue::from_str(value).ok()).map(|v| (name, v)));
        }
        let question = Question { target: &ask.target, accept: ACCEPT, headers: &headers, most: ask.most };
        let whole = self.outbound.read(peer, &asked(running, index), &question, PATIENCE).await?;
        Ok(Fetched { status: whole.status, headers: whole.headers, body: whole.body })
    }

    /// Publishes what is known by now; how long that took.
    async fn show(&self, running: &Arc<Running>, books: &Books) -> Result<Duration, String> {
        let began = Instant::now();
        let (pages, version) = (books.pages(), books.version());
        let settings = &running.snapshot.settings;
        let facts = settings.content.concierge.then(|| facts(settings));
        let count = pages.len();
        let built = tokio::task::spawn_blocking(move || {
            let library = facts.map_or_else(Library::empty, |facts| Library::build(&facts, &pages));
            (library, Contents::of(&pages))
        });
        let (library, contents) = built.await.map_err(|e| e.to_string())?;
        self.metrics.crawl_pages(count, library.bytes());
        self.publish(running, library, Some(contents)).await?;
        let mut known = self.known.lock();
        known.books = books.clone();
        known.published = Some((version, running.snapshot.hash.clone()));
        Ok(began.elapsed())
    }

    async fn publish(
        &self,
        running: &Arc<Running>,
        library: Library,
        contents: Option<Contents>,
    ) -> Result<(), String> {
        let (live, running) = (self.live.clone(), running.clone());
        let published = tokio::task::spawn_blocking(move || live.publish(library, contents.map(Arc::new), &running));
        published.await.map_err(|e| e.to_string())
    }
}

/// Lets the others know.
async fn tell(others: &mut Shared, books: &Books, at: u64, changed: bool) {
    if let Err(why) = others.write(books, at, changed).await {
        tracing::warn!(?why, "what was read of the site could not be shared with other replicas");
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
    let rules = Rules::new(settings, upstream)?;
    Some(Site { rules, pool: running.pool.clone(), library: settings.content.concierge })
}

/// What the operator said of the site.
fn facts(settings: &Settings) -> SiteFacts {
    let site = &settings.site;
    let offered = settings.offered().filter(|(_, capability)| capability.built_in.is_none());
    SiteFacts {
        name: site.name.clone(),
        description: site.description.clone(),
        origin: site.origin.clone(),
        operator: site.operator.clone(),
        contact: site.contact.clone(),
        capabilities: offered.map(|(_, c)| (c.id.clone(), c.description.clone().unwrap_or_default())).collect(),
    }
}

/// When pages are published while a round goes on.
#[derive(Default)]
struct News {
    next: Option<Instant>,
}

impl News {
    fn are_due(&self, books: &Books, published: Option<u64>) -> bool {
        let changed = match published {
            Some(version) => version != books.version(),
            None => !books.is_empty(),
        };
        changed && self.next.is_none_or(|next| Instant::now() >= next)
    }

    fn took(&mut self, time: Duration) {
        self.next = Some(Instant::now() + PUBLISHED.max(time * PUBLISHING_SHARE));
    }
}
