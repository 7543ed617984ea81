//! Sitemaps: which pages a site lists, in XML, as a feed, compressed or as plain text (sitemaps.org).
//!
//! Only events of the XML are read. There is no DTD and no entity but XML's own, so nothing expands; what does not
//! begin as a sitemap is none.

use quick_xml::{Reader, events::Event};

use super::{feed, gzip, references::character_of};

/// The most bytes of one that is read, and the most that a compressed one may grow to.
pub const MOST: usize = 16 * 1024 * 1024;
/// The most pages of one (sitemaps.org says so too).
const MOST_PAGES: usize = 50_000;
/// The most sitemaps that an index names.
const MOST_NESTED: usize = 1_000;
/// The most characters of an address.
const LONGEST: usize = 2_048;
/// How deep elements may be nested; a sitemap needs three.
const DEEPEST: usize = 16;

/// What a sitemap lists.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Sitemap {
    pub pages: Vec<Listed>,
    /// Sitemaps that an index names.
    pub nested: Vec<String>,
    /// It is a sitemap in XML, and no feed or text.
    pub is_map: bool,
    /// It is a feed: it lists what happened last, and that may be anything.
    pub is_feed: bool,
}

/// One page of it, as written.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Listed {
    pub location: String,
    pub modified: Option<String>,
}

impl Listed {
    fn all(locations: Vec<String>) -> Vec<Self> {
        locations.into_iter().map(|location| Self { location, modified: None }).collect()
    }
}

impl Sitemap {
    /// Reads what can be read of it; `None` where it is no sitemap, or has something in it that has no place there.
    pub fn read(body: &[u8]) -> Option<Self> {
        let unpacked;
        let body = match gzip::is_packed(body) {
            true => {
                unpacked = gzip::unpack(body, MOST)?;
                &unpacked[..]
            }
            false => body,
        };
        let text = String::from_utf8_lossy(body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body));
        let begin = text.trim_start();
        match begin.starts_with('<') {
            true => xml(begin).or_else(|| {
                feed::read(begin).map(|locations| Self {
                    pages: Listed::all(locations),
                    is_feed: true,
                    ..Self::default()
                })
            }),
            false => plain(begin),
        }
    }
}

/// An address in each line.
fn plain(text: &str) -> Option<Sitemap> {
    let mut pages = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()).take(MOST_PAGES) {
        if !line.starts_with("http://") && !line.starts_with("https://") {
            return None;
        }
        if line.len() <= LONGEST {
            pages.push(Listed { location: line.to_owned(), modified: None });
        }
    }
    (!pages.is_empty()).then_some(Sitemap { pages, ..Sitemap::default() })
}

/// The element whose text is being read.
#[derive(Clone, Copy, PartialEq)]
enum Field {
    None,
    Location,
    Modified,
}

fn xml(text: &str) -> Option<Sitemap> {
    let mut reader = Reader::from_str(text);
    // What is not closed properly is read all the same; and no names have to be kept.
    reader.config_mut().check_end_names = false;
    reader.config_mut().allow_unmatched_ends = true;
    reader.config_mut().allow_dangling_amp = true;
    let (mut found, mut entry) = (Sitemap { is_map: true, ..Sitemap::default() }, Listed::default());
    let (mut root, mut depth, mut field) = (None::<bool>, 0usize, Field::None);
    loop {
        let Ok(event) = reader.read_event() else { return root.map(|_| found) };
        match event {
            Event::DocType(_) => return None,
            Event::Start(start) => {
                let name = start.local_name();
                let name = name.as_ref();
                depth += 1;
                if depth > DEEPEST {
                    return None;
                }
                match (depth, name) {
                    (1, "urlset") => root = Some(false),
                    (1, "sitemapindex") => root = Some(true),
                    (1, _) => return None,
                    (2, _) => entry = Listed::default(),
                    // What is deeper is about pictures, films and news.
                    (3, "loc") => field = Field::Location,
                    (3, "lastmod") => field = Field::Modified,
                    _ => {}
                }
            }
            Event::End(_) => {
                if depth == 2 {
                    add(&mut found, std::mem::take(&mut entry), root == Some(true));
                }
                depth = depth.saturating_sub(1);
                field = Field::None;
            }
            Event::Text(text) => write(&mut entry, field, &text),
            Event::CData(text) => write(&mut entry, field, &text),
            Event::GeneralRef(name) => {
                // What nobody declared is in no address.
                write(&mut entry, field, character_of(&name).unwrap_or('\0').encode_utf8(&mut [0; 4]));
            }
            Event::Eof => return root.map(|_| found),
            _ => {}
        }
        if found.pages.len() >= MOST_PAGES || found.nested.len() >= MOST_NESTED {
            return Some(found);
        }
    }
}

fn write(entry: &mut Listed, field: Field, text: &str) {
    let whole = match field {
        Field::None => return,
        Field::Location => &mut entry.location,
        Field::Modified => entry.modified.get_or_insert_default(),
    };
    // One byte too many is kept, to tell that there was more.
    let room = (LONGEST + 1).saturating_sub(whole.len());
    whole.extend(text.chars().take(room));
}

fn add(found: &mut Sitemap, entry: Listed, nested: bool) {
    let location = entry.location.trim();
    if location.is_empty() || location.len() > LONGEST || location.contains('\0') {
        return;
    }
    if nested {
        found.nested.push(location.to_owned());
    } else {
        let modified = entry.modified.map(|text| text.trim().to_owned()).filter(|text| (1..=40).contains(&text.len()));
        found.pages.push(Listed { location: location.to_owned(), modified });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::gzip::testing::packed, *};

    fn locations(body: &[u8]) -> Option<Vec<String>> {
        Some(Sitemap::read(body)?.pages.into_iter().map(|page| page.location).collect())
    }

    const SMALL: &str = "<?xml version=\"1.0\"?>\n<!-- x --><s:urlset xmlns:s='u' xmlns:i='v'>\n\
        <s:url><s:loc> https://site.test/a?x=1&amp;y=&#50; </s:loc><s:lastmod>2026-01-02</s:lastmod>\
        <i:image><i:loc>https://site.test/p.png</i:loc></i:image></s:url>\n\
        <s:url><s:loc><![CDATA[https://site.test/b]]></s:loc><s:changefreq>daily</s:changefreq></s:url>\n\
        <s:url><s:loc>https://site.test/&nbsp;</s:loc></s:url><s:url/></s:urlset>";

    #[test]
    fn pages_and_when_they_changed() {
        let read = Sitemap::read(SMALL.as_bytes()).unwrap();
        let expected = [("https://site.test/a?x=1&y=2", Some("2026-01-02")), ("https://site.test/b", None)];
        let expected = expected
            .map(|(location, modified)| Listed { location: location.into(), modified: modified.map(str::to_owned) });
        assert_eq!((read.pages.as_slice(), read.nested.len()), (expected.as_slice(), 0));
        assert_eq!(Sitemap::read(&packed(SMALL.as_bytes())).unwrap(), read);
        assert_eq!(Sitemap::read(format!("\u{feff}{SMALL}").as_bytes()).unwrap(), read);
    }

    #[test]
    fn an_index_names_others() {
        let index = "<sitemapindex><sitemap><loc>https://site.test/1.xml.gz</loc></sitemap></sitemapindex>";
        assert_eq!(Sitemap::read(index.as_bytes()).unwrap().nested, ["https://site.test/1.xml.gz"]);
    }

    #[test]
    fn one_may_be_a_list_of_lines() {
        assert_eq!(locations(b"https://site.test/a\r\n\r\nhttp://site.test/b\n").unwrap().len(), 2);
        assert_eq!(locations(b"not a sitemap\n"), None);
        assert_eq!(locations(b""), None);
    }

    #[test]
    fn what_is_none_is_none() {
        for text in [
            "<!doctype html><html><body>404</body></html>",
            "<html></html>",
            "<!DOCTYPE u [<!ENTITY a 'b'>]><urlset><url><loc>https://site.test/&a;</loc></url></urlset>",
            "<opml></opml>",
            "<",
        ] {
            assert_eq!(Sitemap::read(text.as_bytes()), None, "{text}");
        }
        assert_eq!(Sitemap::read(b"\x1f\x8b broken"), None);
        assert_eq!(Sitemap::read(format!("<urlset>{}", "<a>".repeat(DEEPEST)).as_bytes()), None);
    }

    #[test]
    fn every_size_has_its_bound() {
        let entry = |location: &str| format!("<url><loc>{location}</loc></url>");
        let many = format!("<urlset>{}</urlset>", entry("https://site.test/").repeat(MOST_PAGES + 1));
        assert_eq!(locations(many.as_bytes()).unwrap().len(), MOST_PAGES);
        let nested = "<sitemap><loc>https://site.test/</loc></sitemap>".repeat(MOST_NESTED + 1);
        let read = Sitemap::read(format!("<sitemapindex>{nested}</sitemapindex>").as_bytes()).unwrap();
        assert_eq!(read.nested.len(), MOST_NESTED);
        let long = entry(&format!("https://site.test/{}", "x".repeat(LONGEST)));
        assert_eq!(locations(format!("<urlset>{long}</urlset>").as_bytes()).unwrap().len(), 0);
        let lines = "https://site.test/\n".repeat(MOST_PAGES + 1);
        assert_eq!(locations(lines.as_bytes()).unwrap().len(), MOST_PAGES);
        // A few kilobytes that would be many megabytes.
        assert_eq!(Sitemap::read(&packed(&vec![b' '; MOST + 1])), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn nothing_panics(text in "(<|>|/|urlset|url|loc|&|;|#|a|!\\[CDATA\\[|\\]\\]>| ){0,60}") {
            let _ = Sitemap::read(text.as_bytes());
            let _ = Sitemap::read(format!("<urlset><url><loc>{text}").as_bytes());
        }
    }
}
