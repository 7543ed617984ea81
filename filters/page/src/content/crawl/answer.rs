//! What is made of an answer: a page that is kept, one that is gone, a redirect, a list, or nothing.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use frontdesk_base::text::fitted;
use http::{HeaderMap, StatusCode, header};

use super::{
    Ask, Crawl, MOST_ASIDE, MOST_FAILURES, MOST_HOPS, MOST_RENAMED, Met, Why, WhyLeftOut,
    books::{self, Kept, Put},
    frontier::Lane,
    gzip, lists,
    logged::without_values,
    robots::Robots,
    robots_of,
    sitemap::Sitemap,
    wishes::{Kind, Wishes},
};
use crate::content::{self, Marks, Page};

/// How long a site that has too much to do is left alone where it does not say, and the longest that is waited.
const PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The longest ETag or Last-Modified that is kept.
const LONGEST_VALIDATOR: usize = 256;

/// The longest title of a page that is Markdown, in characters.
const LONGEST_TITLE: usize = 200;

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
            Self::Other => "it is not a page with words",
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
    fn begin(&mut self, ask: &Ask, robots: Robots) {
        let origin = self.rules.origin.clone();
        for start in self.rules.start.clone() {
            if let Some(target) = self.rules.listed(&start, &origin) {
                self.frontier.offer(&target, Lane::Start, 0);
            }
        }
        for sitemap in &robots.sitemaps {
            let target = self.rules.listed(sitemap, &origin);
            if let Some(target) = target.filter(|target| self.rules.leaves_out(target, Met::Listed).is_none()) {
                self.frontier.offer(&target, Lane::Lists, 1);
            }
        }
        self.robots.push((ask.by.clone(), robots));
    }

    /// Asks for the same by the name that the site says it has. Only where the operator begins: other addresses may be a
    /// stranger's to write.
    fn asks_by_name(&mut self, ask: &Ask, location: &str) -> bool {
        if ask.lane != Lane::Start || ask.hops >= MOST_HOPS || self.renamed >= MOST_RENAMED {
            return false;
        }
        let Some((name, target)) = self.rules.renamed(location, &ask.target) else { return false };
        let by = Some(Arc::new(name));
        if by == ask.by {
            return false;
        }
        self.renamed += 1;
        // What may be read under that name is asked first.
        if ask.why != Why::Robots && self.robots.iter().all(|(known, _)| *known != by) {
            self.hops.push_back(robots_of(by.clone()));
        }
        self.hops.push_back(Ask { target: target.into(), by, hops: ask.hops + 1, ..ask.clone() });
        true
    }

    fn moved(&mut self, ask: &Ask, fetched: &Fetched) -> Outcome {
        let location = fetched.headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
        if location.is_some_and(|location| self.asks_by_name(ask, location)) {
            return Outcome::Moved;
        }
        self.books.remove(&ask.target);
        let at = self.rules.url(&ask.target);
        let target = location.zip(at).and_then(|(location, at)| self.rules.listed(location, &at));
        let nowhere = |crawl: &mut Self, outcome| {
            if ask.why == Why::Robots {
                crawl.begin(ask, Robots::allowing());
            }
            outcome
        };
        let Some(target) = target else { return nowhere(self, Outcome::OffSite) };
        if let Some(why) = self.rules.leaves_out(&target, Met::Redirected(&ask.target)) {
            self.left_out.note_redirect(&target, &ask.target, why);
            return nowhere(self, Outcome::Acts);
        }
        if ask.hops >= MOST_HOPS {
            return nowhere(self, Outcome::Gone);
        }
        // What acts on a GET shows its page again afterwards.
        let is_answer = matches!(fetched.status, StatusCode::FOUND | StatusCode::SEE_OTHER) && ask.why == Why::Page;
        let links_here = |page: &Kept| page.links.contains(&ask.target);
        if is_answer && ask.hops == 0 && self.books.get(&target).is_some_and(links_here) {
            self.books.note_came_back(&ask.target);
            return Outcome::CameBack;
        }
        // A list that leads to a page is not that page's turn.
        if ask.why != Why::Page || self.frontier.meet(&target) {
            let target: Arc<str> = target.into();
            // Where no page is wanted, it must not answer that the page is what it was.
            let kept = self.books.get(&target).filter(|_| ask.why == Why::Page);
            let if_none_match = kept.and_then(|kept| kept.etag.clone());
            let if_modified_since = kept.and_then(|kept| kept.last_modified.clone());
            let hops = ask.hops + 1;
            self.hops.push_back(Ask { target, if_none_match, if_modified_since, hops, ..ask.clone() });
        }
        Outcome::Moved
    }

    fn read(&mut self, ask: &Ask, fetched: &Fetched) -> Outcome {
        let Some(body) = unpacked(ask, fetched) else {
            self.books.remove(&ask.target);
            return Outcome::Other;
        };
        let kind = Kind::of(&fetched.headers, &ask.target);
        let listed = ask.why == Why::List || ask.lane == Lane::Start && kind != Kind::Html;
        // A site that answers everything with a page has no list there.
        if listed && kind != Kind::Html {
            if let Some(sitemap) = Sitemap::read(&body) {
                self.sitemap(ask, sitemap);
                return Outcome::List;
            }
            if ask.why == Why::List {
                self.links_of_text(ask, &String::from_utf8_lossy(&body));
                return Outcome::List;
            }
        }
        if ask.why == Why::List {
            return Outcome::Other;
        }
        let outcome = self.page(ask, fetched, kind, &body);
        if outcome != Outcome::Page {
            self.books.remove(&ask.target);
        }
        outcome
    }

    fn page(&mut self, ask: &Ask, fetched: &Fetched, kind: Kind, body: &[u8]) -> Outcome {
        let Some(at) = self.rules.url(&ask.target) else { return Outcome::Other };
        let media = fetched.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
        let Some(text) = content::text(body, media) else { return Outcome::Other };
        let page = match kind {
            // Whatever a page does to its reader, it does it to itself only.
            Kind::Html => {
                catch_unwind(AssertUnwindSafe(|| content::read_marked(&text, &at, !self.rules.is_named))).ok().flatten()
            }
            Kind::Markdown => Some((from_markdown(&text, ask), Marks::default())),
            Kind::Text | Kind::Other => None,
        };
        let Some((mut page, marks)) = page else { return Outcome::Other };
        let wishes = Wishes::of(&fetched.headers);
        let noindex = wishes.noindex || page.noindex;
        // A site whose start is not to be found is not for strangers; nor is what stands behind a login.
        let leads_nowhere = wishes.nofollow || page.nofollow || marks.is_login || noindex && ask.lane == Lane::Start;
        let of_application = marks.is_application || is_personal(&fetched.headers);
        let found = std::mem::take(&mut page.links);
        let links = match leads_nowhere {
            true => Vec::new(),
            false => {
                let targets = |links: &[String]| -> Vec<String> {
                    links.iter().take(books::MOST_LINKS).filter_map(|link| self.rules.target(link, &at)).collect()
                };
                let (targets, acting) = (targets(&found), targets(&marks.acting));
                for link in acting.iter().filter(|link| !targets.contains(link)) {
                    self.left_out.note(link, &ask.target, WhyLeftOut::Acts);
                }
                self.follow(ask, targets.iter().map(String::as_str), of_application)
            }
        };
        if noindex {
            return Outcome::Hidden;
        }
        let named = page.canonical.as_deref().and_then(|canonical| self.rules.listed(canonical, &at));
        let named = named.filter(|named| **named != *ask.target);
        // It is asked for if the site lists it, or links to it as it may be followed.
        let named =
            named.filter(|named| self.frontier.knows(named) || self.rules.leaves_out(named, Met::Linked).is_none());
        if let Some(named) = &named {
            self.frontier.offer(named, ask.lane.max(Lane::Near), ask.depth);
        }
        if page.markdown.trim().is_empty() {
            return Outcome::Other;
        }
        page.path = ask.target.to_string();
        page.markdown.truncate(page.markdown.floor_char_boundary(books::MOST_OF_PAGE));
        let validator = |name| {
            let value = fetched.headers.get(name).and_then(|value| value.to_str().ok());
            value.filter(|value| value.len() <= LONGEST_VALIDATOR).map(str::to_owned)
        };
        let kept = Kept {
            page: Arc::new(page),
            links,
            etag: validator(header::ETAG),
            last_modified: validator(header::LAST_MODIFIED),
            listed_modified: self.modified.get(&ask.target).cloned(),
            checked: self.now,
        };
        if let Some(named) = named {
            // It may lead back here, or to nothing.
            let bytes = kept.size();
            if self.aside_bytes + bytes <= MOST_ASIDE {
                self.aside_bytes += bytes;
                self.aside.push((ask.target.clone(), named.into(), kept));
            }
            return Outcome::Duplicate;
        }
        match self.books.put(&ask.target, kept, self.rules.max_pages) {
            Put::Done => {
                self.met.insert(ask.target.clone());
                Outcome::Page
            }
            Put::Duplicate => Outcome::Duplicate,
            Put::Full => Outcome::Full,
        }
    }
}

/// Whether an answer begins a session and is to be kept by nobody: an application's, and no document.
fn is_personal(headers: &HeaderMap) -> bool {
    let controls = headers.get_all(header::CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
    let mut controls = controls.flat_map(|value| value.split(',')).map(|control| control.trim().to_ascii_lowercase());
    headers.contains_key(header::SET_COOKIE) && controls.any(|control| matches!(&*control, "no-store" | "private"))
}

/// The body without its coding; we ask for none, and know the one that is sent all the same.
fn unpacked(ask: &Ask, fetched: &Fetched) -> Option<Bytes> {
    match fetched.headers.get(header::CONTENT_ENCODING).map(|value| value.as_bytes()) {
        None | Some(b"" | b"identity") => Some(fetched.body.clone()),
        Some(b"gzip" | b"x-gzip") => gzip::unpack(&fetched.body, ask.most).map(Bytes::from),
        Some(_) => None,
    }
}

/// A page that the site itself has as Markdown.
fn from_markdown(text: &str, ask: &Ask) -> Page {
    let heading = text.lines().find_map(|line| line.strip_prefix("# ")).map(str::trim);
    let title = heading.filter(|heading| !heading.is_empty()).unwrap_or(&ask.target);
    Page {
        path: ask.target.to_string(),
        title: fitted(title, LONGEST_TITLE),
        description: None,
        language: None,
        markdown: text.to_owned(),
        links: lists::links(text).map(str::to_owned).collect(),
        canonical: None,
        noindex: false,
        nofollow: false,
        alternate_markdown: None,
    }
}

/// How long the site wants to be left alone.
fn pause(headers: &HeaderMap) -> Duration {
    let said = headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    said.map_or(PAUSE, Duration::from_secs).min(LONGEST_PAUSE)
}
