//! Imports a site without an API (`import site`): its search boxes, other forms and feeds become capabilities. Software
//! that is known to have a public JSON API is asked whether it answers, and called by that.
//!
//! Nothing here opens a socket: a [`SiteImport`] says which page to read next, by GET alone, and takes what came. It
//! follows no link that may act, and sends no form.

mod field;
mod form;
mod pages;
mod private;
mod search;
mod software;
#[cfg(test)]
mod tests;
mod write;

use std::collections::{HashSet, VecDeque};

use bytes::Bytes;
use frontdesk_base::charset;
use frontdesk_filters::firewall;
use frontdesk_page::content::{
    self,
    crawl::may_act,
    css::{self, Css, Tree},
};
use url::{Position, Url};

use crate::import::Imported;
use form::Found;
use pages::Pages;
use software::Candidate;

/// The most pages that are read, and the largest of them.
const MOST_PAGES: usize = 16;
/// The most requests in all, with redirects, feeds and probes.
const MOST_REQUESTS: usize = 48;
/// The most feeds.
const MOST_FEEDS: usize = 5;
/// The most forms that are looked at on a page, and the most capabilities.
const MOST_FORMS: usize = 100;
pub const BOUND: usize = 2 << 20;
/// Words in the address of pages that often have a form.
const INTERESTING: [&str; 12] = [
    "contact",
    "kontakt",
    "search",
    "suche",
    "book",
    "reserv",
    "order",
    "enquir",
    "inquir",
    "quote",
    "appointment",
    "feedback",
];

/// One import, from its first page to the declaration.
pub struct SiteImport {
    base: Url,
    todo: VecDeque<String>,
    asked: HashSet<String>,
    read: usize,
    requests: usize,
    pages: Pages,
    found: Vec<Found>,
    /// Title and path.
    feeds: Vec<(String, String)>,
    /// Feeds that pages named and that are still to be asked for: where, and the title.
    named_feeds: Vec<(String, String)>,
    left_out: Vec<String>,
    /// Software that pages named, by the address that shows whether its API answers.
    candidates: Vec<Candidate>,
    known: Vec<Candidate>,
}

impl SiteImport {
    /// Begins at a URL.
    ///
    /// # Errors
    ///
    /// It is no http or https URL.
    pub fn new(url: &str) -> Result<Self, String> {
        let text = if url.contains("://") { url.to_owned() } else { format!("https://{url}") };
        let base = Url::parse(&text).map_err(|why| format!("is no URL: {why}"))?;
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
            return Err("has to be an http or https URL".into());
        }
        let start = base[Position::BeforePath..Position::AfterQuery].to_owned();
        let mut todo = VecDeque::from([start.clone()]);
        if start != "/" {
            todo.push_back("/".to_owned());
        }
        let asked = todo.iter().cloned().collect();
        Ok(Self {
            base,
            todo,
            asked,
            read: 0,
            requests: 0,
            pages: Pages::default(),
            found: Vec::new(),
            feeds: Vec::new(),
            named_feeds: Vec::new(),
            left_out: Vec::new(),
            candidates: Vec::new(),
            known: Vec::new(),
        })
    }

    /// The next page to GET.
    pub fn next_page(&mut self) -> Option<Url> {
        if self.read >= MOST_PAGES || self.requests >= MOST_REQUESTS {
            return None;
        }
        self.requests += 1;
        let target = self.todo.pop_front()?;
        let is_feed = self.named_feeds.iter().any(|(feed, _)| *feed == target);
        if !is_feed && !self.candidates.iter().any(|candidate| candidate.probe() == target) {
            self.read += 1;
        }
        self.base.join(&target).ok().filter(|to| self.is_own(to))
    }

    /// Takes a page, or another document that was asked for. `location` is that of a redirect.
    pub fn take(&mut self, at: &Url, content_type: &str, body: &Bytes, location: Option<&str>) {
        let asked = &at[Position::BeforePath..Position::AfterQuery];
        let feed = self.named_feeds.iter().position(|(feed, _)| feed == asked);
        let feed = feed.map(|named| self.named_feeds.remove(named).1);
        if let Some(to) = location.and_then(|to| at.join(to).ok()) {
            match feed {
                Some(title) => self.name_feed(&to, title),
                None => self.wish(&to, true),
            }
            return;
        }
        if let Some(title) = feed {
            let kind = content_type.to_ascii_lowercase();
            if ["xml", "rss", "atom"].iter().any(|known| kind.contains(known)) {
                self.feeds.push((title, asked.to_owned()));
            }
            return;
        }
        if let Some(probed) = self.candidates.iter().position(|candidate| candidate.probe() == asked) {
            let candidate = self.candidates.remove(probed);
            if candidate.is_shown_by(body) {
                self.known.push(candidate);
            }
            return;
        }
        if content_type.contains("opensearchdescription") || at.path().ends_with("opensearch.xml") {
            let found = search::opensearch(&String::from_utf8_lossy(body), &self.base);
            found.into_iter().for_each(|found| self.add(found));
            return;
        }
        let is_page = content_type.to_ascii_lowercase().contains("html");
        let Some(html) = charset::text(body, content_type).filter(|_| is_page) else { return };
        let Some(tree) = Tree::parse(&html) else { return };
        self.read_page(at, &tree);
        if let Some(page) = content::read(&html, at) {
            let mut links: Vec<&String> = page.links.iter().filter(|link| !link.contains('?')).collect();
            // Stable: pages that often have a form come first.
            links.sort_by_key(|link| !INTERESTING.iter().any(|word| link.to_ascii_lowercase().contains(word)));
            for link in links {
                if let Ok(to) = self.base.join(link) {
                    self.wish(&to, false);
                }
            }
        }
    }

    /// Notes a page to read, if it is the site's own and a link there does not act.
    fn wish(&mut self, to: &Url, is_redirect: bool) {
        let Some(target) = self.target_of(to).filter(|_| self.asked.len() < 200) else { return };
        if self.asked.insert(target.clone()) {
            if is_redirect { self.todo.push_front(target) } else { self.todo.push_back(target) }
        }
    }

    fn is_own(&self, to: &Url) -> bool {
        to.host_str() == self.base.host_str() && to.port_or_known_default() == self.base.port_or_known_default()
    }

    /// The path and query of an address that may be asked for: one of the site itself that neither acts nor is hidden.
    /// A path that begins with two slashes would name another host.
    fn target_of(&self, to: &Url) -> Option<String> {
        let target = to[Position::BeforePath..Position::AfterQuery].to_owned();
        let is_fit = self.is_own(to) && !target.starts_with("//") && !may_act(&target) && !firewall::is_hidden(&target);
        is_fit.then_some(target)
    }

    /// Notes a feed to ask for: it is one only if it answers as such.
    fn name_feed(&mut self, to: &Url, title: String) {
        let Some(target) = self.target_of(to) else { return };
        let is_room = self.feeds.len() + self.named_feeds.len() < MOST_FEEDS;
        if is_room && self.asked.insert(target.clone()) {
            self.todo.push_front(target.clone());
            self.named_feeds.push((target, title));
        }
    }

    fn read_page(&mut self, at: &Url, tree: &Tree) {
        let root = tree.root();
        let base = tree.base(at);
        let each =
            |selector: &str| Css::parse(selector).map(|css| css.all(&root).collect::<Vec<_>>()).unwrap_or_default();
        for candidate in software::recognise(&root, &base, &self.base) {
            let probe = candidate.probe();
            if self.asked.insert(probe.clone()) {
                self.todo.push_front(probe);
                self.candidates.push(candidate);
            }
        }
        self.pages.note(&at[Position::BeforePath..Position::AfterQuery], each("title").first().map(css::text));
        for link in each("link[rel~=search][href]") {
            if let Some(to) = css::attribute(&link, "href").and_then(|href| base.join(&href).ok()) {
                self.wish(&to, true);
            }
        }
        for link in each("link[rel~=alternate][href]") {
            let kind = css::attribute(&link, "type").unwrap_or_default();
            let to = css::attribute(&link, "href").and_then(|href| base.join(&href).ok());
            if let Some(to) = to.filter(|_| kind.contains("rss") || kind.contains("atom")) {
                self.name_feed(&to, css::attribute(&link, "title").unwrap_or_default());
            }
        }
        for script in each("script[type='application/ld+json']") {
            let found = search::json_ld(&script.text(), &self.base);
            found.into_iter().for_each(|found| self.add(found));
        }
        for element in each("form").into_iter().take(MOST_FORMS) {
            for read in form::read(&element, &root, &base, at) {
                match read {
                    Ok(found) => self.add(found),
                    Err(why) => {
                        let line = format!("a form on {}: {why}", at.path());
                        if !self.left_out.contains(&line) {
                            self.left_out.push(line);
                        }
                    }
                }
            }
        }
    }

    /// Adds a capability, unless the site has it on another page already.
    fn add(&mut self, found: Found) {
        let same = |known: &Found| known.method == found.method && known.path == found.path;
        let is_full = self.found.len() >= MOST_FORMS;
        match self.found.iter_mut().find(|known| same(known)) {
            // A form says more than a description of it.
            Some(known) if known.page.is_none() && found.page.is_some() => *known = found,
            Some(_) => {}
            None if is_full => {}
            None => self.found.push(found),
        }
    }

    /// The declaration.
    ///
    /// # Errors
    ///
    /// Nothing was found that can be called.
    pub fn finish(mut self) -> Result<Imported, String> {
        if self.known.iter().any(|known| known.software.is_search) {
            self.found.retain(|found| !found.is_search);
        }
        if self.found.is_empty() && self.feeds.is_empty() && self.known.is_empty() {
            let mut why = "has no form, search or feed that agents could call".to_owned();
            for line in &self.left_out {
                why += &format!("\nleft out: {line}");
            }
            return Err(why);
        }
        Ok(write::declaration(&self.base, &self.pages, &self.known, self.found, &self.feeds, &self.left_out))
    }
}
