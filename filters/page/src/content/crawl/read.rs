//! What is made of an answer with a body: a list is taken in, a page is kept and its links are followed.

use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use bytes::Bytes;
use frontdesk_base::text::fitted;
use http::header;
use url::Url;

use super::{
    Ask, Crawl, Fetched, Lane, MOST_ASIDE, Outcome, Why, WhyLeftOut, acts,
    books::{self, Kept, Put},
    evidence::Evidence,
    gzip, lists,
    sitemap::Sitemap,
    static_file::{self, Served},
    wishes::{Kind, Wishes},
};
use crate::content::{self, Marks, Page, is_relative};

/// The longest ETag or Last-Modified that is kept.
const LONGEST_VALIDATOR: usize = 256;

/// The longest title of a page that is Markdown, in characters.
const LONGEST_TITLE: usize = 200;

impl Crawl {
    pub(super) fn read(&mut self, ask: &Ask, fetched: &Fetched) -> Outcome {
        let Some(body) = unpacked(ask, fetched) else {
            self.note_guess(ask, false);
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
        let outcome = match self.parsed(ask, fetched, kind, &body) {
            Some((page, found)) => {
                let is_right = ask.guess.is_none() || found.is_document(&ask.target);
                self.note_guess(ask, is_right);
                if is_right { self.page(ask, fetched, page, &found) } else { Outcome::Other }
            }
            None => {
                // A file that is no page acts as little as one that is.
                self.note_guess(
                    ask,
                    matches!(Served::of(&ask.target, &fetched.headers, self.now), Served::File { .. }),
                );
                Outcome::Other
            }
        };
        if outcome != Outcome::Page {
            self.books.remove(&ask.target);
        }
        outcome
    }

    fn note_guess(&mut self, ask: &Ask, is_right: bool) {
        if let Some(guess) = ask.guess {
            self.books.note_guess(&ask.target, guess, is_right);
        }
    }

    /// The page in an answer, and what it has to say about where to go on. `None`: it is no page.
    fn parsed(&self, ask: &Ask, fetched: &Fetched, kind: Kind, body: &[u8]) -> Option<(Page, Found)> {
        let at = self.rules.url(&ask.target)?;
        let media = fetched.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
        let text = content::text(body, media)?;
        let page = match kind {
            // Whatever a page does to its reader, it does it to itself only.
            Kind::Html => {
                catch_unwind(AssertUnwindSafe(|| content::read_marked(&text, &at, !self.rules.is_named))).ok().flatten()
            }
            Kind::Markdown => Some((from_markdown(&text, ask), Marks::default())),
            Kind::Text | Kind::Other => None,
        };
        let (mut page, marks) = page?;
        let found = Found {
            links: std::mem::take(&mut page.links),
            canonical: page.canonical.as_deref().and_then(|canonical| self.rules.listed(canonical, &at)),
            marks,
            is_markdown: kind == Kind::Markdown,
            served: Served::of(&ask.target, &fetched.headers, self.now),
            at,
        };
        Some((page, found))
    }

    fn page(&mut self, ask: &Ask, fetched: &Fetched, mut page: Page, found: &Found) -> Outcome {
        let wishes = Wishes::of(&fetched.headers);
        let noindex = wishes.noindex || page.noindex;
        // A site whose start is not to be found is not for strangers; nor is what stands behind a login.
        let leads_nowhere =
            wishes.nofollow || page.nofollow || found.marks.is_login || noindex && ask.lane == Lane::Start;
        // Whether it came from a file, which its links are followed for, shows in a moment.
        let is_young = !leads_nowhere
            && ask.lane == Lane::Start
            && !self.has_settled
            && static_file::may_settle(&ask.target, &fetched.headers, self.now);
        if is_young {
            self.has_settled = true;
            self.pause = self.pause.max(Some(static_file::SETTLES));
            self.hops.push_front(ask.clone());
        }
        let leads_nowhere = leads_nowhere || is_young;
        let (links, lists) = if leads_nowhere { Default::default() } else { self.lead_on(ask, found) };
        if noindex {
            return Outcome::Hidden;
        }
        // It is asked for if the site lists it, or if it is not called like an act.
        let may_be_named =
            |named: &String| self.frontier.knows(named) || !named.contains('&') && !acts::is_called_like_act(named);
        let named = found.canonical.clone().filter(|named| **named != *ask.target).filter(may_be_named);
        if let Some(named) = &named {
            self.frontier.offer(named, ask.lane.max(Lane::Near), ask.depth);
        }
        if page.markdown.trim().is_empty() {
            return Outcome::Other;
        }
        page.path = ask.target.to_string();
        page.markdown.truncate(page.markdown.floor_char_boundary(books::MOST_OF_PAGE));
        // What was written only now is asked for as a whole once more: then it can be told from what a program dates.
        let is_settled = static_file::is_settled(&fetched.headers, self.now);
        let validator = |name| {
            let value = fetched.headers.get(name).and_then(|value| value.to_str().ok());
            value.filter(|value| is_settled && value.len() <= LONGEST_VALIDATOR).map(str::to_owned)
        };
        let kept = Kept {
            page: Arc::new(page),
            links,
            lists,
            etag: validator(header::ETAG),
            last_modified: validator(header::LAST_MODIFIED),
            listed_modified: self.modified.get(&ask.target).cloned(),
            guessed: ask.guess.is_some() || self.books.get(&ask.target).is_some_and(|kept| kept.guessed),
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

    /// Follows the links of a page and the lists that it names; gives back those that are kept with it.
    fn lead_on(&mut self, ask: &Ask, found: &Found) -> (Vec<Arc<str>>, Vec<Arc<str>>) {
        let Found { links, canonical, marks, is_markdown, served, at } = found;
        let target = |link: &String| self.rules.target(link, at);
        let targets = |links: &[String]| links.iter().take(books::MOST_LINKS).filter_map(target).collect::<Vec<_>>();
        let (targets, acting, sequence) = (targets(links), targets(&marks.acting), targets(&marks.published.sequence));
        let is_relative =
            |link: &&String| marks.published.relative.contains(*link) || *is_markdown && is_relative(link);
        let controls: HashSet<String> = marks.controls.iter().filter_map(target).collect();
        let relative: HashSet<String> = links.iter().filter(is_relative).filter_map(target).collect();
        for link in acting.iter().filter(|link| !targets.contains(link)) {
            self.left_out.note(link, &ask.target, WhyLeftOut::Acts);
        }
        let evidence = Evidence {
            at: &ask.target,
            served: *served,
            is_markdown: *is_markdown,
            is_declared: marks.published.is_declared,
            has_canonical: marks.published.has_canonical,
            is_listing: marks.published.is_listing,
            sequence: &sequence,
            controls: &controls,
            canonical: canonical.as_deref(),
        };
        let kept = self.follow(ask, &targets, &relative, &evidence);
        // Feeds of single pages are of no use, and there would be many.
        let lists = marks.published.lists.iter().filter(|_| ask.lane == Lane::Start && *served != Served::Personal);
        let lists: Vec<Arc<str>> = lists.filter_map(|list| self.rules.listed(list, at)).map(Arc::from).collect();
        self.read_lists(&lists);
        (kept, lists)
    }
}

/// What a page has to say about where to go on.
struct Found {
    /// As the page has them.
    links: Vec<String>,
    canonical: Option<String>,
    marks: Marks,
    is_markdown: bool,
    served: Served,
    at: Url,
}

impl Found {
    /// Whether the page shows that it is a document: it came from a file, is part of a book, lists files, or is known by the
    /// address at which it was asked for.
    fn is_document(&self, target: &str) -> bool {
        matches!(self.served, Served::File { .. })
            || self.is_markdown
            || self.marks.published.is_listing
            || !self.marks.published.sequence.is_empty()
            || self.marks.published.is_declared && self.canonical.as_deref() == Some(target)
    }
}

/// The body without its coding; we ask for none, and know the one that is sent all the same.
pub(super) fn unpacked(ask: &Ask, fetched: &Fetched) -> Option<Bytes> {
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
        modified: None,
        anchors: Vec::new(),
    }
}
