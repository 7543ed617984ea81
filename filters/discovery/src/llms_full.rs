//! /llms-full.txt: the pages that were read, one after the other in one text. It is sent as it is made, page by page, so
//! it takes no memory of its own.

use std::{fmt::Write, sync::Arc};

use bytes::Bytes;
use http::HeaderValue;

use frontdesk_base::reply::Pieces;
use frontdesk_config::Settings;
use frontdesk_desk::{Document, Variant, origin};
use frontdesk_firewall::{Firewall, Form};
use frontdesk_page::content::crawl::Dated;

use crate::{Contents, Entry, Occupied, llms};

/// Its path.
pub const PATH: &str = "/llms-full.txt";
const MEDIA_TYPE: &str = "text/plain";
/// Maximum bytes of Markdown in it.
const MOST_BYTES: usize = 8 * 1024 * 1024;
/// Maximum characters of a page's title.
const LONGEST_TITLE: usize = 200;

/// Whether there is one, ours or the site's.
pub fn is_there(settings: &Settings, occupied: &Occupied) -> bool {
    occupied.contains(PATH) || settings.content.llms_full && settings.reads_site()
}

/// Its entry in lists.
pub fn entry(settings: &Settings, occupied: &Occupied) -> Option<Entry> {
    is_there(settings, occupied).then(|| Entry {
        name: "llms-full",
        rel: None,
        path: PATH.to_owned(),
        media_type: MEDIA_TYPE,
        title: "What this site says, in one long text",
    })
}

/// Ours; `None` where the site has one, or it is off. Before the site was read it leads to the start page.
pub fn document(
    settings: &Settings,
    occupied: &Occupied,
    contents: Option<&Arc<Contents>>,
    firewall: &Arc<Firewall>,
) -> Option<Document> {
    if occupied.contains(PATH) || !is_there(settings, occupied) {
        return None;
    }
    let fresh = if contents.is_some() { "public, max-age=300" } else { "no-cache" };
    let text = Text::new(settings, contents.cloned().unwrap_or_default(), firewall.clone(), MOST_BYTES);
    let variant = Variant::streamed("text/plain; charset=utf-8", Arc::new(text), &HeaderValue::from_static(fresh))
        .telling(settings.signals.published().as_ref())
        .generated();
    Some(Document { path: PATH.into(), variants: vec![variant], negotiate: None, versions: Vec::new() })
}

/// The text: its head, a piece for each page, and how many pages are not in it.
#[derive(Debug)]
struct Text {
    head: String,
    origin: String,
    contents: Arc<Contents>,
    /// How many pages are in it.
    fitting: usize,
    firewall: Arc<Firewall>,
}

impl Text {
    fn new(settings: &Settings, contents: Arc<Contents>, firewall: Arc<Firewall>, most: usize) -> Self {
        let mut room = most;
        let fits = |dated: &&Dated| room.checked_sub(dated.page.markdown.len()).map(|left| room = left).is_some();
        let fitting = contents.pages().iter().take_while(fits).count();
        let origin = origin(settings).to_owned();
        let mut head = llms::heading(settings, &contents);
        if contents.is_empty() {
            let _ = writeln!(head, "\nThe pages were not read yet. They begin at {origin}/.");
        }
        Self { head, origin, contents, fitting, firewall }
    }

    fn page(&self, Dated { page, modified }: &Dated) -> String {
        let mut text = String::with_capacity(page.markdown.len() + 256);
        let title = llms::line(&page.title, LONGEST_TITLE);
        let _ = write!(text, "\n---\n\nPage: {title}\nSource: {}{}\n", self.origin, page.path);
        if let Some(modified) = modified {
            let _ = writeln!(text, "Last updated: {modified}");
        }
        text.push('\n');
        text.push_str(page.markdown.trim_end());
        text.push('\n');
        text
    }
}

impl Pieces for Text {
    fn piece(&self, nth: usize) -> Option<Bytes> {
        let pages = &self.contents.pages()[..self.fitting];
        let text = match nth.checked_sub(1) {
            None => self.head.clone(),
            Some(nth) if nth < pages.len() => self.page(&pages[nth]),
            Some(nth) if nth == pages.len() && self.contents.len() > self.fitting => {
                format!("\n---\n\nPages that are not here: {}\n", self.contents.len() - self.fitting)
            }
            Some(_) => return None,
        };
        let passed = self.firewall.pass(text.into(), Form::Text);
        Some(if passed.blocked { Bytes::new() } else { passed.body })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use frontdesk_config::testing::{Nowhere, declare_text};
    use frontdesk_page::content::testing::page;

    fn settings(more: &str) -> Settings {
        let text = format!("[upstream]\nurl = 'http://a'\n{more}");
        declare_text(Path::new("/x.toml"), &text, &Nowhere).unwrap().settings
    }

    fn text(settings: &Settings, pages: &[(&str, &str)], most: usize) -> String {
        let dated = pages.iter().map(|(path, markdown)| Dated {
            page: Arc::new(page(path, "Title", markdown)),
            modified: path.ends_with('b').then(|| "2026".to_owned()),
        });
        let contents = Arc::new(Contents::new(dated.collect(), None));
        let text = Text::new(settings, contents, Arc::new(settings.firewall.compiled()), most);
        let pieces: Vec<Bytes> = (0..).map_while(|nth| text.piece(nth)).collect();
        String::from_utf8(pieces.concat()).unwrap()
    }

    #[test]
    fn it_has_every_page_with_its_source() {
        let settings = settings("[site]\nname = 'Acme'\norigin = 'https://acme.test/'\n");
        assert_eq!(
            text(&settings, &[("/a/b", "# B\n\nTwo.\n"), ("/", "# A\n\nOne.")], MOST_BYTES),
            "# Acme\n\n---\n\nPage: Title\nSource: https://acme.test/\n\n# A\n\nOne.\n\n---\n\nPage: Title\n\
             Source: https://acme.test/a/b\nLast updated: 2026\n\n# B\n\nTwo.\n"
        );
    }

    #[test]
    fn it_is_bounded_and_says_what_is_not_in_it() {
        let told = text(&settings(""), &[("/1", &"x".repeat(60)), ("/2", &"y".repeat(60)), ("/3", "z")], 100);
        assert!(told.contains("xxx") && !told.contains("yyy"), "{told}");
        assert!(told.ends_with("\n---\n\nPages that are not here: 2\n"), "{told}");
    }

    #[test]
    fn the_sites_own_wins_and_off_is_off() {
        let (auto, off) = (settings(""), settings("[content]\nllms_full = false\n"));
        let mut own = Occupied::default();
        own.insert(PATH.into());
        let firewall = Arc::new(auto.firewall.compiled());
        let is_ours = |settings, occupied| document(settings, occupied, None, &firewall).is_some();
        let nothing = Occupied::default();
        assert!(is_ours(&auto, &nothing) && !is_ours(&auto, &own) && !is_ours(&off, &nothing));
        assert!(entry(&auto, &own).is_some() && entry(&off, &nothing).is_none());
    }

    #[test]
    fn what_must_not_leave_does_not() {
        let settings = settings("[firewall]\nsecrets = 'block'\n");
        let secret = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", "A".repeat(64));
        let told = text(&settings, &[("/1", &secret), ("/2", "fine")], MOST_BYTES);
        assert!(!told.contains("AAAA") && told.contains("fine"), "{told}");
    }
}
