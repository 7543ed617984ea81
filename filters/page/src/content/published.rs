//! What in a page shows that it was published for readers: what search engines, feed readers and generators put there.
//! A console for operating something has none of it.

use std::collections::HashSet;

use dom_query::NodeRef;
use percent_encoding::percent_decode_str;

use super::walk::{attribute, has_word};

/// The most feeds, sitemaps and neighbours that a page may name.
const MOST_NAMED: usize = 8;
const FEEDS: [&str; 2] = ["application/rss+xml", "application/atom+xml"];
const LINKED_DATA: &str = "application/ld+json";

/// What a page tells machines about itself.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(in crate::content) struct Published {
    /// It names its generator, or describes itself as Open Graph, JSON-LD or one of a sequence.
    pub is_declared: bool,
    /// It names the address under which it is to be known, here or elsewhere.
    pub has_canonical: bool,
    /// Path and query of its feeds and its sitemap, which the site makes for machines.
    pub lists: Vec<String>,
    /// Path and query of the page before it and the one after it.
    pub sequence: Vec<String>,
    /// Links that are written relative to the page, as those between files of one folder are.
    pub relative: HashSet<String>,
    /// A server of files made it: it lists the files of a folder by their names.
    pub is_listing: bool,
    /// Relative links that lead into the page's folder, and those of them whose text is their own reference.
    inward: usize,
    named_as_written: usize,
}

impl Published {
    pub(super) fn note_meta(&mut self, name: &str, content: &str) {
        let name = name.to_ascii_lowercase();
        self.is_declared |= !content.trim().is_empty() && (name == "generator" || name.starts_with("og:"));
    }

    pub(super) fn note_link(&mut self, link: &NodeRef<'_>, target: &str) {
        let is_feed = has_word(link, "rel", &["alternate"])
            && attribute(link, "type").is_some_and(|kind| FEEDS.iter().any(|feed| kind.eq_ignore_ascii_case(feed)));
        let is_sequence = has_word(link, "rel", &["next", "prev"]);
        self.is_declared |= is_feed || is_sequence;
        let named = match (is_feed || has_word(link, "rel", &["sitemap"]), is_sequence) {
            (true, _) => &mut self.lists,
            (_, true) => &mut self.sequence,
            _ => return,
        };
        if named.len() < MOST_NAMED {
            named.push(target.to_owned());
        }
    }

    /// Notes a link that is written relative to the page, and its text.
    pub(super) fn note_relative(&mut self, reference: &str, text: &str) {
        if reference.starts_with("..") || reference.starts_with("./") {
            return;
        }
        self.inward += 1;
        self.named_as_written += usize::from(is_named_as_written(reference, text));
    }

    /// Tells a listing of files by its title, which ends with the path of the folder (`Index of /docs/`), and by its links,
    /// which are all called what they are.
    pub(super) fn note_title(&mut self, title: &str, path: &str) {
        let ends = title.ends_with(path) || path.len() > 1 && title.ends_with(path.trim_end_matches('/'));
        self.is_listing = ends && path.ends_with('/') && self.inward > 0 && self.inward == self.named_as_written;
    }

    pub(super) fn note_script(&mut self, script: &NodeRef<'_>) {
        self.is_declared |= attribute(script, "type").is_some_and(|kind| kind.eq_ignore_ascii_case(LINKED_DATA));
    }
}

/// Whether a reference is written relative to its page: `stop/`, `../install.html`.
pub(in crate::content) fn is_relative(reference: &str) -> bool {
    let path = reference.trim().split(['?', '#']).next().unwrap_or_default();
    // A colon in the first segment is that of a scheme.
    let first = path.split('/').next().unwrap_or_default();
    !path.is_empty() && !path.starts_with(['/', '\\']) && !first.contains(':')
}

/// Whether the text of a link is its reference. Servers cut long names: `a-long-na..>`.
fn is_named_as_written(reference: &str, text: &str) -> bool {
    let name = percent_decode_str(reference).decode_utf8_lossy();
    let text = text.trim();
    let cut = ["..>", "..", "…"].into_iter().find_map(|end| text.strip_suffix(end));
    name == text || cut.is_some_and(|begin| !begin.is_empty() && name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::{super::read_marked, is_relative};

    #[test]
    fn a_listing_of_files_is_told_by_its_title_and_its_links() {
        let is_listing = |at: &str, title: &str, links: &str| {
            let at = Url::parse(&format!("https://site.test{at}")).unwrap();
            let html = format!("<title>{title}</title><h1>{title}</h1>{links}");
            read_marked(&html, &at, false).expect("a page").1.published.is_listing
        };
        // Python's http.server, nginx and Apache.
        let named = "<li><a href='a.en.html'>a.en.html</a></li><li><a href='my%20docs/'>my docs/</a></li>";
        assert!(is_listing("/", "Directory listing for /", named));
        assert!(is_listing("/docs/", "Index of /docs/", &format!("<a href='../'>../</a>{named}")));
        let cut = "<a href='?C=N;O=D'>Name</a><a href='/'>Parent Directory</a>\
                   <a href='a-very-long-name-of-a-file.html'>a-very-long-name-of-..&gt;</a>";
        assert!(is_listing("/docs/", "Index of /docs", cut));
        assert!(!is_listing("/", "Console", named), "its title does not name the folder");
        assert!(!is_listing("/", "Index of /", "<a href='stop/'>Stop</a>"), "its links are called otherwise");
        assert!(!is_listing("/", "Index of /", "<p>Nothing here.</p>"));
    }

    #[test]
    fn a_page_tells_machines_about_itself() {
        let at = Url::parse("https://site.test/a/").unwrap();
        let published = |head: &str| {
            let html = format!("<title>T</title>{head}<body><p>Words.</p>");
            read_marked(&html, &at, false).expect("a page").1.published
        };
        for head in [
            "<meta name=generator content='Hugo 0.1'>",
            "<meta property=og:title content=T>",
            "<script type=application/ld+json>{}</script>",
            "<link rel=next href=/b/>",
            "<link rel=alternate type=application/rss+xml href=/feed/>",
        ] {
            assert!(published(head).is_declared, "{head}");
        }
        for head in [
            "",
            "<meta name=generator content=''>",
            "<meta name=description content=T><meta name=viewport content=x>",
            "<script>og()</script>",
            "<link rel=stylesheet href=/x>",
            "<link rel=canonical href=/a/>",
            "<link rel=alternate type=text/markdown href=/a.md>",
        ] {
            assert!(!published(head).is_declared, "{head}");
        }
        let head = "<link rel=alternate type=application/atom+xml href=/atom><link rel=sitemap href=/map.xml>\
                    <link rel=alternate type=application/rss+xml href=https://other.test/rss><link rel=prev href=/z/>";
        let found = published(head);
        assert_eq!(
            (found.lists.clone(), found.sequence.clone()),
            (vec!["/atom".into(), "/map.xml".into()], vec!["/z/".to_owned()])
        );
        assert!(published("<link rel=canonical href=https://other.test/>").has_canonical && !found.has_canonical);
        let found = published("<a href=b/>x</a><a href=/c/>y</a><a rel=next href=../d>z</a>");
        let mut relative: Vec<String> = found.relative.into_iter().collect();
        relative.sort();
        assert_eq!((relative, found.sequence), (vec!["/a/b/".into(), "/d".into()], vec!["/d".to_owned()]));
    }

    #[test]
    fn a_reference_is_relative_or_not() {
        for reference in ["x", "x/", "./x", "../x.html#y", "x?y=/z", "a/b:c"] {
            assert!(is_relative(reference), "{reference}");
        }
        for reference in ["", "/x", "//x.test/y", "https://x.test/", "mailto:a", "#x", "?x", "\\x"] {
            assert!(!is_relative(reference), "{reference}");
        }
    }
}
