//! What is made of an answer: a page that is kept, one that is gone, a redirect, a list, or nothing.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};

use super::{
    Ask, Crawl, MOST_FAILURES, Why, acts, frontier::Lane, logged::without_values, read::unpacked, robots::Robots,
};

/// How long a site that has too much to do is left alone where it does not say, and the longest that is waited.
const PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// An answer, as far as it was read.
#[derive(Debug, Clone)]
pub struct Fetched {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Robots,
    List,
    /// A page was read.
    Page,
    /// It is still what it was.
    Unchanged,
    /// It leads elsewhere on the site.
    Moved,
    /// It leads off the site, where nothing is asked.
    OffSite,
    /// It leads to what may act.
    Acts,
    /// It leads back to the page that links to it, as what acts does.
    CameBack,
    /// It is not there, or not for everybody.
    Gone,
    /// It is not to be found (noindex).
    Hidden,
    /// It says what another page says, or names another page as the one.
    Duplicate,
    /// It is not a page.
    Other,
    /// There is no room for it.
    Full,
    Failed,
}

impl Outcome {
    /// For metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::Robots => "robots",
            Self::List => "list",
            Self::Page => "page",
            Self::Unchanged => "unchanged",
            Self::Moved => "moved",
            Self::OffSite => "off_site",
            Self::Acts | Self::CameBack => "acts",
            Self::Gone => "gone",
            Self::Hidden => "hidden",
            Self::Duplicate => "duplicate",
            Self::Other => "other",
            Self::Full => "full",
            Self::Failed => "failed",
        }
    }

    /// For an operator who wonders why there is no page.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Robots => "it is robots.txt",
            Self::List => "it is a list of pages",
            Self::Page => "it is a page",
            Self::Unchanged => "it is the page that it was",
            Self::Moved => "it redirects to another address of the site, which is asked for instead",
            Self::OffSite => "it redirects off the site, where nothing is asked",
            Self::Acts => "it redirects to an address that may act, which is not asked for",
            Self::CameBack => {
                "it redirects to the page that links to it, so it may have acted: it and its like are not asked for again"
            }
            Self::Gone => "it is not there, or not for everybody",
            Self::Hidden => "it is not to be indexed (noindex)",
            Self::Duplicate => "another page says the same, or it names another address as its own (canonical)",
            Self::Other => "it is not a page with words, or not the file that it was taken for",
            Self::Full => "there is no room for it (content.max_pages, or the memory for pages)",
            Self::Failed => "the site did not answer, or answered with an error",
        }
    }
}

impl Crawl {
    /// Takes an answer, or why there is none. Reads whole pages: not for a worker thread.
    pub fn take(&mut self, ask: &Ask, answer: Result<Fetched, String>) -> Outcome {
        if let (Ok(Fetched { status: StatusCode::OK | StatusCode::NOT_MODIFIED, .. }), Some(by)) = (&answer, &ask.by)
            && (ask.why != Why::Robots && self.name.as_ref() != Some(by))
        {
            self.rules.rename(by);
            self.name = Some(by.clone());
        }
        let outcome = match answer {
            Err(why) => return self.failed(ask, why),
            Ok(fetched) => match fetched.status.as_u16() {
                429 | 500..=599 => {
                    if matches!(fetched.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
                        self.pause = Some(pause(&fetched.headers));
                    }
                    return self
                        .failed(ask, format!("{}: the site answers {}", without_values(&ask.target), fetched.status));
                }
                304 if ask.why == Why::Page && self.books.get(&ask.target).is_some() => {
                    self.books.checked(&ask.target, self.now);
                    self.still_there(ask);
                    Outcome::Unchanged
                }
                301 | 302 | 303 | 307 | 308 => self.moved(ask, &fetched),
                _ if ask.why == Why::Robots => {
                    let robots = Robots::answered(Some(fetched.status), &unpacked(ask, &fetched).unwrap_or_default());
                    self.begin(ask, robots);
                    Outcome::Robots
                }
                200 | 203 => self.read(ask, &fetched),
                _ => {
                    if let Some(guess) = ask.guess.filter(|_| fetched.status.is_success()) {
                        self.books.note_guess(&ask.target, guess, false);
                    }
                    self.books.remove(&ask.target);
                    Outcome::Gone
                }
            },
        };
        if matches!(outcome, Outcome::Page | Outcome::Unchanged) {
            self.well = Some(ask.clone());
        }
        self.failures = 0;
        self.trying = false;
        outcome
    }

    /// What was known of it stays.
    fn failed(&mut self, ask: &Ask, why: String) -> Outcome {
        self.met.insert(ask.target.clone());
        self.failures += 1;
        self.retries.put(ask);
        // Without robots.txt nothing may be read (RFC 9309 §2.3.1.4): by another name, or at all.
        if ask.why == Why::Robots && !self.robots.is_empty() {
            self.robots.push((ask.by.clone(), Robots::forbidding()));
        } else if self.trying || ask.why == Why::Robots {
            self.stopped = Some(why);
        } else if self.failures >= MOST_FAILURES {
            match self.well.clone() {
                Some(well) => {
                    self.trying = true;
                    self.hops.push_front(well);
                }
                None => self.stopped = Some(why),
            }
        }
        Outcome::Failed
    }

    /// From here on the site is read.
    pub(super) fn begin(&mut self, ask: &Ask, robots: Robots) {
        let origin = self.rules.origin.clone();
        for start in self.rules.start.clone() {
            if let Some(target) = self.rules.listed(&start, &origin) {
                self.frontier.offer(&target, Lane::Start, 0);
            }
        }
        let guessed = self.books.iter().filter(|(_, kept)| kept.guessed).map(|(target, _)| target.clone());
        for target in guessed.collect::<Vec<_>>() {
            self.frontier.offer(&target, Lane::Linked, 1);
        }
        for sitemap in &robots.sitemaps {
            let target = self.rules.listed(sitemap, &origin);
            if let Some(target) = target.filter(|target| !acts::acts(target)) {
                self.frontier.offer(&target, Lane::Lists, 1);
            }
        }
        self.robots.push((ask.by.clone(), robots));
    }
}

/// How long the site wants to be left alone.
fn pause(headers: &HeaderMap) -> Duration {
    let said = headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    said.map_or(PAUSE, Duration::from_secs).min(LONGEST_PAUSE)
}
