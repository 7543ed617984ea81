//! One crawl round: picks the next address, requests it, and processes the answer.

use std::time::{Duration, Instant};

use frontdesk_filters::concierge::Coverage;
use frontdesk_filters::content::crawl::{Ask, Books, Crawl, Ending, Fetched, LeftOut, Name, Outcome};
use frontdesk_filters::media;
use http::{HeaderName, HeaderValue, StatusCode, header};
use tokio::time::sleep;

use super::{
    Reader, Site,
    disk::SAVED,
    now,
    pace::Pace,
    publishing::{News, tell},
    report::{Heard, Report, tell_left_out},
    shared::{LOOKED, Shared, Turn},
};
use crate::{
    live::Stage,
    outbound::{Asked, Question},
    rewrite::learn_markdown,
    running::Running,
};

/// The time limit for one answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often the round shares its pages with other replicas.
const SHARED: Duration = Duration::from_secs(10);

/// Whether an answer is a page in HTML.
fn is_page(fetched: &Fetched) -> bool {
    let kind = fetched.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    fetched.status == StatusCode::OK && media::essence(kind).eq_ignore_ascii_case("text/html")
}

/// A documentation address (RFC 5737) as the client: sites may show more to their own network.
const FROM: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-forwarded-for"), HeaderValue::from_static("192.0.2.1"));

/// The same for sites that read this header, as on every proxied request.
const FROM_REALLY: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-real-ip"), HeaderValue::from_static("192.0.2.1"));

const NO_CODING: (HeaderName, HeaderValue) = (header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
const ACCEPT: &str = "text/html, application/xhtml+xml;q=0.9, text/markdown;q=0.8, */*;q=0.1";

/// Why a round stopped early.
pub(super) enum Left {
    Ended(Ending),
    /// The site or the rules have changed.
    Changed,
    /// The process shuts down, or another replica has begun to crawl.
    Draining,
}

impl Reader {
    pub(super) async fn round(&self, site: &Site, mut others: Option<&mut Shared>) -> Result<Left, String> {
        let books = self.known.lock().books.clone();
        let before = books.version();
        let mut crawl = Crawl::new(site.rules.clone(), books, now());
        let (mut pace, mut report) = (Pace::default(), Report::default());
        let (mut news, mut told, mut saved) = (News::default(), None::<Instant>, Instant::now());
        loop {
            let running = self.live.current();
            if super::site(&running).as_ref() != Some(site) || !running.snapshot.settings.reads_site() {
                return Ok(Left::Changed);
            }
            let Some(ask) = crawl.next(&|target| running.snapshot.answers(target)) else { break };
            let slot = pace.next(running.snapshot.settings.content.rate);
            if !self.wait(slot, others.as_deref_mut()).await {
                return Ok(Left::Draining);
            }
            let began = Instant::now();
            let answer = self.ask(&running, &ask).await;
            let took = began.elapsed();
            pace.took(took);
            let heard = Heard::of(&ask, &answer, took);
            let page = answer.as_ref().is_ok_and(is_page).then(|| ask.target.clone());
            // Parsing a page takes milliseconds or more.
            let taken = tokio::task::spawn_blocking(move || {
                let outcome = crawl.take(&ask, answer);
                (crawl, outcome)
            });
            let outcome: Outcome;
            (crawl, outcome) = taken.await.map_err(|e| e.to_string())?;
            if let (Some(page), Outcome::Other | Outcome::Page) = (page, outcome) {
                // Only a page with words can be Markdown.
                learn_markdown(page.as_bytes(), outcome == Outcome::Page);
            }
            self.metrics.crawled(outcome.label());
            report.heard(&heard, outcome);
            self.tell_name(crawl.name(), &report, None);
            self.left_out(&crawl.left_out(), &mut report);
            self.note(&report, crawl.books(), Stage::UnderWay);
            if news.are_due(crawl.books(), self.version()) {
                news.took(self.show(&running, crawl.books(), self.coverage()).await?);
                if let Some(others) = others.as_deref_mut().filter(|_| told.is_none_or(|at| at.elapsed() >= SHARED)) {
                    tell(others, crawl.books(), 0, true).await;
                    told = Some(Instant::now());
                }
                if saved.elapsed() >= SAVED {
                    self.save(site, crawl.books(), 0).await;
                    saved = Instant::now();
                }
            }
            if let Some(pause) = crawl.pause()
                && !self.wait(pause, others.as_deref_mut()).await
            {
                return Ok(Left::Draining);
            }
        }
        self.left_out(&crawl.left_out(), &mut report);
        let name = crawl.name().cloned();
        let (books, ending) = crawl.finish();
        self.tell_name(name.as_ref(), &report, Some(&books));
        let coverage = match &ending {
            _ if books.is_empty() => Coverage::Unreadable,
            Ending::Complete | Ending::Spent => Coverage::Whole,
            Ending::Stopped(_) => self.coverage(),
        };
        let shown = self.known.lock().published.as_ref().map(|shown| (shown.version, shown.coverage));
        if shown != Some((books.version(), coverage)) {
            let running = self.live.current();
            match (&ending, books.is_empty()) {
                (Ending::Stopped(_), true) => self.show_unreadable(&running, books.version()).await?,
                _ => drop(self.show(&running, &books, coverage).await?),
            }
        }
        if matches!(ending, Ending::Complete | Ending::Spent) && !books.is_empty() {
            self.save(site, &books, now()).await;
        }
        if let (Some(others), Ending::Complete | Ending::Spent) = (others, &ending) {
            tell(others, &books, now(), books.version() != before).await;
        }
        self.note(
            &report,
            &books,
            match &ending {
                Ending::Complete | Ending::Spent => Stage::Ended,
                Ending::Stopped(why) => Stage::Stopped(why.clone()),
            },
        );
        self.known.lock().books = books;
        Ok(Left::Ended(ending))
    }

    /// Counts links that were not followed, and logs the first ones.
    fn left_out(&self, left: &LeftOut, report: &mut Report) {
        report.left_out += left.count;
        if left.count > 0 {
            self.metrics.crawl_left_out(left.count);
        }
        tell_left_out(left);
    }

    /// Logs once by which name the site is read and, at the end, by which name it could have been read.
    fn tell_name(&self, name: Option<&Name>, report: &Report, read: Option<&Books>) {
        let origin = match (name, read) {
            (Some(name), _) => name.origin(),
            (None, Some(books)) if books.is_empty() => match &report.elsewhere {
                Some(elsewhere) => elsewhere.clone(),
                None => return,
            },
            _ => return,
        };
        if self.named.lock().replace(origin.clone()).as_ref() == Some(&origin) {
            return;
        }
        match name {
            Some(_) => tracing::info!(
                "the site redirects to {origin} and is read by that name: write origin = \"{origin}\" under [site], so \
                 that agents are told it too"
            ),
            None => tracing::warn!(
                "no page of the site could be read: it redirects to {origin}. If that is the site's public name, write \
                 origin = \"{origin}\" under [site]"
            ),
        }
    }

    fn note(&self, report: &Report, books: &Books, stage: Stage) {
        self.live.note_reading(|reading| {
            reading.has_ended |= stage == Stage::Ended;
            reading.stage = stage;
            (reading.pages, reading.asked, reading.other) = (books.len(), report.asked, report.other());
            reading.left_out = report.left_out;
        });
    }

    fn version(&self) -> Option<u64> {
        self.known.lock().published.as_ref().map(|shown| shown.version)
    }

    /// False to stop: the process shuts down, or another replica crawls.
    async fn wait(&self, time: Duration, mut others: Option<&mut Shared>) -> bool {
        let until = Instant::now() + time;
        loop {
            // Split long waits, so that the lease is renewed in between.
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
        let peer = running.pool.backends()[index].peer().await.map_err(|_| "the site's name cannot be resolved")?;
        let mut headers = vec![FROM, FROM_REALLY, NO_CODING];
        let conditions =
            [(header::IF_NONE_MATCH, &ask.if_none_match), (header::IF_MODIFIED_SINCE, &ask.if_modified_since)];
        for (name, value) in conditions {
            headers.extend(value.as_deref().and_then(|value| HeaderValue::from_str(value).ok()).map(|v| (name, v)));
        }
        let question = Question { target: &ask.target, accept: ACCEPT, headers: &headers, most: ask.most };
        let mut asked = Asked::at(running, index);
        // The same upstream, under another host name.
        if let Some(name) = &ask.by {
            asked.host = HeaderValue::from_str(&name.authority).map_err(|e| e.to_string())?;
            asked.tls |= name.tls;
        }
        let whole = self.outbound.read(peer, &asked, &question, PATIENCE).await?;
        Ok(Fetched { status: whole.status, headers: whole.headers, body: whole.body })
    }
}
