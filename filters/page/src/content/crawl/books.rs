//! What is known of the site's pages, from one reading to the next.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use ring::digest;

use frontdesk_base::date;

use super::{acts, guess::Guess};
use crate::content::Page;

/// The most that all pages together may take, in bytes: Markdown, titles, and what is kept of links. An operator who wants
/// many pages gets more room, by the page.
pub const MOST_BYTES: usize = 64 * 1024 * 1024;
const BYTES_A_PAGE: usize = 16 * 1024;
/// The most of one page's Markdown; of a longer one the beginning is kept.
pub const MOST_OF_PAGE: usize = 1024 * 1024;
/// The most links of one page that are kept.
pub const MOST_LINKS: usize = 1_000;
/// The most addresses of which it is kept that they led back, or were no documents.
const MOST_CAME_BACK: usize = 1_000;
/// What a link takes.
const LINK: usize = size_of::<Arc<str>>();
/// What a page takes besides its words.
const OVERHEAD: usize = 512;

/// One page, and how to ask whether it has changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    pub page: Arc<Page>,
    /// Where it leads on this site.
    pub links: Vec<Arc<str>>,
    /// Feeds and sitemaps that it names.
    pub lists: Vec<Arc<str>>,
    pub etag: Option<String>,
    pub last_modified: Option<String>,
    /// What a sitemap said when it was read.
    pub listed_modified: Option<String>,
    /// It was a guess that proved right: no page that is kept has it among its links.
    pub guessed: bool,
    /// When the site was last asked for it, in seconds since 1970.
    pub checked: u64,
}

/// Whether a page was taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    Done,
    /// Another page says the same.
    Duplicate,
    /// The bound on pages, or on all of them together, is reached.
    Full,
}

type Digest = [u8; 16];

/// `/users/#/ban` for all users.
fn kind_of(target: &str) -> Arc<str> {
    acts::pattern(target).map_or_else(|| target.into(), Arc::from)
}

/// All pages that are known.
#[derive(Debug, Default, Clone)]
pub struct Books {
    kept: BTreeMap<Arc<str>, (Kept, Digest)>,
    said: HashMap<Digest, Arc<str>>,
    bytes: usize,
    /// Changes with every page that comes, changes or goes.
    version: u64,
    /// The site's own sitemap. This process alone knows.
    site_map: Option<Arc<str>>,
    /// What led back to the page that links to it, with `#` for identifiers. This process alone knows.
    came_back: HashSet<Arc<str>>,
    /// Guesses of each kind that were right or wrong. This process alone knows.
    guesses: [Tried; Guess::KINDS],
    /// Addresses that were taken for documents and are none. This process alone knows.
    no_documents: HashSet<Arc<str>>,
}

/// How guesses of one kind turned out.
#[derive(Debug, Default, Clone, Copy)]
struct Tried {
    right: usize,
    wrong: usize,
}

/// A page with when it changed, as the site says it (W3C date and time).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dated {
    pub page: Arc<Page>,
    pub modified: Option<String>,
}

impl Books {
    /// Takes note of the site's own sitemap.
    pub(super) fn note_site_map(&mut self, target: &Arc<str>) {
        if self.site_map.is_none() {
            self.site_map = Some(target.clone());
            self.version += 1;
        }
    }

    /// The site has no sitemap any more.
    pub(super) fn forget_site_map(&mut self) {
        self.version += u64::from(self.site_map.take().is_some());
    }

    /// The path of the site's own sitemap, where one was read.
    pub fn site_map(&self) -> Option<&str> {
        self.site_map.as_deref()
    }

    /// Takes note that an address led back to the page that links to it.
    pub(super) fn note_came_back(&mut self, target: &str) {
        if self.came_back.len() < MOST_CAME_BACK {
            self.came_back.insert(kind_of(target));
        }
    }

    /// Whether it, or one of its kind, led back to the page that links to it.
    pub(super) fn came_back(&self, target: &str) -> bool {
        !self.came_back.is_empty() && self.came_back.contains(&kind_of(target))
    }

    /// Takes note of whether what an address was taken for is right. One that was not is not asked for again.
    pub(super) fn note_guess(&mut self, target: &Arc<str>, guess: Guess, is_right: bool) {
        let tried = &mut self.guesses[guess as usize];
        let count = if is_right { &mut tried.right } else { &mut tried.wrong };
        *count = count.saturating_add(1);
        if !is_right && self.no_documents.len() < MOST_CAME_BACK {
            self.no_documents.insert(target.clone());
        }
    }

    /// Whether guesses of this kind prove right on this site.
    pub(super) fn is_proven(&self, guess: Guess) -> bool {
        let tried = self.guesses[guess as usize];
        tried.right > tried.wrong
    }

    /// Whether a guess of this kind may be made: they prove right, or none was wrong so far. On a site where no kind has
    /// proved right, one wrong guess is the last of all.
    pub(super) fn may_guess(&self, guess: Guess) -> bool {
        let is_right = |tried: &Tried| tried.right > tried.wrong;
        let may_begin = self.guesses.iter().any(is_right) || self.guesses.iter().all(|tried| tried.wrong == 0);
        self.is_proven(guess) || may_begin && self.guesses[guess as usize].wrong == 0
    }

    /// Whether an address was asked for, and is no document.
    pub(super) fn is_no_document(&self, target: &str) -> bool {
        self.no_documents.contains(target)
    }

    /// Takes in a page, or what it is now.
    pub fn put(&mut self, target: &Arc<str>, kept: Kept, max_pages: usize) -> Put {
        let digest = digest_of(&kept.page);
        if self.said.get(&digest).is_some_and(|other| other != target) {
            self.remove(target);
            return Put::Duplicate;
        }
        let before = self.kept.get(target).map_or(0, |(kept, _)| kept.size());
        if !self.kept.contains_key(target) && self.kept.len() >= max_pages {
            return Put::Full;
        }
        if self.bytes - before + kept.size() > most_bytes(max_pages) {
            self.remove(target);
            return Put::Full;
        }
        let same = self.kept.get(target).is_some_and(|(old, _)| old.page == kept.page);
        let kept = if same { Kept { page: self.kept[target].0.page.clone(), ..kept } } else { kept };
        let version = self.version + u64::from(!same);
        self.remove(target);
        self.version = version;
        self.bytes += kept.size();
        self.said.insert(digest, target.clone());
        self.kept.insert(target.clone(), (kept, digest));
        Put::Done
    }

    /// Forgets a page.
    pub fn remove(&mut self, target: &str) {
        if let Some((kept, digest)) = self.kept.remove(target) {
            self.said.remove(&digest);
            self.bytes -= kept.size();
            self.version += 1;
        }
    }

    /// Forgets all pages but these.
    pub fn keep_only(&mut self, these: &HashSet<Arc<str>>) {
        let gone: Vec<Arc<str>> = self.kept.keys().filter(|target| !these.contains(*target)).cloned().collect();
        gone.iter().for_each(|target| self.remove(target));
    }

    /// Takes note that a page is still what it was.
    pub fn checked(&mut self, target: &str, now: u64) {
        if let Some((kept, _)) = self.kept.get_mut(target) {
            kept.checked = now;
        }
    }

    /// What is known of one.
    pub fn get(&self, target: &str) -> Option<&Kept> {
        self.kept.get(target).map(|(kept, _)| kept)
    }

    /// All that is known, by path.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Kept)> {
        self.kept.iter().map(|(target, (kept, _))| (target, kept))
    }

    /// All pages, by path.
    pub fn pages(&self) -> Vec<Arc<Page>> {
        self.kept.values().map(|(kept, _)| kept.page.clone()).collect()
    }

    /// All pages, by path, with when they changed: by the site's sitemap, else by the page itself, else by its file.
    pub fn dated(&self) -> Vec<Dated> {
        let modified = |kept: &Kept| {
            let said = [&kept.listed_modified, &kept.page.modified, &kept.last_modified];
            said.into_iter().flatten().find_map(|text| date::w3c(text))
        };
        let dated = |(_, kept): (_, &Kept)| Dated { page: kept.page.clone(), modified: modified(kept) };
        self.iter().map(dated).collect()
    }

    /// Whether the site tells of most pages when they changed: then asking again costs it little.
    pub fn tell_changes(&self) -> bool {
        let tells = |kept: &Kept| kept.etag.is_some() || kept.last_modified.is_some() || kept.listed_modified.is_some();
        self.iter().filter(|(_, kept)| tells(kept)).count() * 2 >= self.len()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Whether no further page would be taken in.
    pub fn is_full(&self, max_pages: usize) -> bool {
        self.kept.len() >= max_pages || self.bytes >= most_bytes(max_pages)
    }

    /// Another number for other pages.
    pub fn version(&self) -> u64 {
        self.version
    }
}

/// The most that all pages together may take, where so many are wanted.
fn most_bytes(max_pages: usize) -> usize {
    MOST_BYTES.max(max_pages.saturating_mul(BYTES_A_PAGE))
}

impl Kept {
    /// What it takes, in bytes.
    pub(super) fn size(&self) -> usize {
        let page = &self.page;
        let words =
            [&page.description, &page.language, &page.modified, &self.etag, &self.last_modified, &self.listed_modified];
        let words: usize = words.into_iter().flatten().map(String::len).sum();
        OVERHEAD
            + page.path.len()
            + page.title.len()
            + page.markdown.len()
            + words
            + page.anchors.iter().map(|(heading, id)| heading.len() + id.len() + 48).sum::<usize>()
            + (self.links.len() + self.lists.len()) * LINK
    }
}

/// What a page says, told apart from what others say; not where it says it.
fn digest_of(page: &Page) -> Digest {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(page.title.as_bytes());
    context.update(b"\0");
    context.update(page.markdown.as_bytes());
    let mut short = [0; 16];
    short.copy_from_slice(&context.finish().as_ref()[..16]);
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::testing::page;

    fn kept(markdown: &str) -> Kept {
        let page = Arc::new(page("/", "T", markdown));
        Kept {
            page,
            links: Vec::new(),
            lists: Vec::new(),
            etag: None,
            last_modified: None,
            listed_modified: None,
            guessed: false,
            checked: 0,
        }
    }

    #[test]
    fn one_page_is_kept_once() {
        let mut books = Books::default();
        let (a, b): (Arc<str>, Arc<str>) = ("/a".into(), "/b".into());
        assert_eq!(books.put(&a, kept("x"), 10), Put::Done);
        assert_eq!(books.put(&b, kept("x"), 10), Put::Duplicate);
        let version = books.version();
        assert_eq!(books.put(&a, kept("x"), 10), Put::Done);
        assert_eq!(books.version(), version, "nothing has changed");
        assert_eq!(books.put(&a, kept("y"), 10), Put::Done);
        assert_ne!(books.version(), version);
        assert_eq!(books.put(&b, kept("x"), 10), Put::Done);
        assert_eq!(books.put(&b, kept("y"), 10), Put::Duplicate);
        assert_eq!(books.len(), 1, "what became the same as another is gone");
        books.remove("/a");
        assert_eq!((books.len(), books.bytes, books.said.len()), (0, 0, 0));
    }

    #[test]
    fn a_page_changed_when_the_site_says_so() {
        let mut books = Books::default();
        let own = |modified: &str| Arc::new(Page { modified: Some(modified.into()), ..page("/", "T", modified) });
        let http = Some("Sun, 06 Nov 1994 08:49:37 GMT".to_owned());
        let all =
            Kept { page: own("2025"), listed_modified: Some("2026".into()), last_modified: http.clone(), ..kept("a") };
        for (n, kept) in [
            Kept { listed_modified: Some("today".into()), ..all.clone() },
            Kept { page: own("2024"), listed_modified: None, ..all.clone() },
            Kept { last_modified: http, ..kept("c") },
            kept("d"),
        ]
        .into_iter()
        .enumerate()
        {
            books.put(&format!("/{n}").into(), kept, 10);
        }
        books.put(&"/4".into(), Kept { page: own("2023"), ..all }, 10);
        let said: Vec<_> = books.dated().into_iter().map(|dated| dated.modified.unwrap_or_default()).collect();
        assert_eq!(said, ["2025", "2024", "1994-11-06T08:49:37Z", "", "2026"]);
    }

    #[test]
    fn most_pages_tell_when_they_changed_or_not() {
        let mut books = Books::default();
        assert!(books.tell_changes(), "nothing is known to the contrary");
        for (n, etag) in [None, Some("x"), None].into_iter().enumerate() {
            let kept = Kept { etag: etag.map(str::to_owned), ..kept(&n.to_string()) };
            books.put(&format!("/{n}").into(), kept, 10);
        }
        assert!(!books.tell_changes());
        books.remove("/0");
        assert!(books.tell_changes());
    }

    #[test]
    fn there_are_no_more_pages_than_the_bound() {
        let mut books = Books::default();
        for n in 0..3 {
            let put = books.put(&format!("/{n}").into(), kept(&n.to_string()), 2);
            assert_eq!(put, if n < 2 { Put::Done } else { Put::Full });
        }
        assert!(books.is_full(2) && !books.is_full(3));
        assert_eq!(books.put(&"/1".into(), kept("new"), 2), Put::Done, "one that is known may change");
    }

    #[test]
    fn all_together_take_no_more_than_the_bound() {
        let mut books = Books::default();
        let page = "x".repeat(MOST_OF_PAGE);
        let put =
            |books: &mut Books, n: usize| books.put(&format!("/{n}").into(), kept(&format!("{n:04}{page}")), 1000);
        let taken = (0..100).take_while(|n| put(&mut books, *n) == Put::Done).count();
        assert!(books.bytes <= MOST_BYTES && taken == MOST_BYTES / MOST_OF_PAGE - 1, "{taken}");
        books.remove("/0");
        assert_eq!(put(&mut books, 200), Put::Done);
    }
}
