//! /sitemap.xml (sitemaps.org) of the pages that were read, where the site has none.

use std::fmt::Write;

use http::HeaderValue;

use frontdesk_base::text::escaped;
use frontdesk_config::Settings;
use frontdesk_desk::{Document, Variant, origin};
use frontdesk_firewall::{Firewall, Form};
use frontdesk_page::content::crawl::Dated;

use crate::{Contents, Entry, Occupied};

/// Its path.
pub const PATH: &str = "/sitemap.xml";
/// Other places where sites have theirs.
pub const ELSEWHERE: [&str; 3] = ["/sitemap_index.xml", "/sitemap-index.xml", "/wp-sitemap.xml"];
const MEDIA_TYPE: &str = "application/xml";
/// Maximum pages and bytes (sitemaps.org allows more).
const MOST_PAGES: usize = 20_000;
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// The path of the site's own sitemap.
fn of_site<'a>(occupied: &Occupied, contents: Option<&'a Contents>) -> Option<&'a str> {
    let known = [PATH].into_iter().chain(ELSEWHERE).find(|path| occupied.contains(path));
    known.or_else(|| contents.and_then(Contents::site_map))
}

/// The path of the sitemap, the site's or ours; `None` where there is none.
pub fn path<'a>(settings: &Settings, occupied: &Occupied, contents: Option<&'a Contents>) -> Option<&'a str> {
    let ours = settings.discovery.sitemap && settings.reads_site();
    of_site(occupied, contents).or(ours.then_some(PATH))
}

/// Its entry in lists.
pub fn entry(path: &str) -> Entry {
    Entry {
        name: "sitemap",
        rel: Some("sitemap"),
        path: path.to_owned(),
        media_type: MEDIA_TYPE,
        title: "All pages with their dates",
    }
}

/// Our sitemap; `None` where the site has one, or there is nothing to list. Before the site was read it lists the start
/// page.
pub fn document(
    settings: &Settings,
    occupied: &Occupied,
    contents: Option<&Contents>,
    firewall: &Firewall,
) -> Option<Document> {
    let ours = settings.discovery.sitemap && settings.reads_site() && of_site(occupied, contents).is_none();
    let text = ours.then(|| render(origin(settings), contents, firewall))?;
    let fresh = if contents.is_some() { "public, max-age=300" } else { "no-cache" };
    let variant = Variant::new("application/xml; charset=utf-8", text, &HeaderValue::from_static(fresh)).generated();
    Some(Document { path: PATH.into(), variants: vec![variant], negotiate: None, versions: Vec::new() })
}

fn render(origin: &str, contents: Option<&Contents>, firewall: &Firewall) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
    );
    let pages = contents.map(Contents::pages).unwrap_or_default();
    if pages.is_empty() {
        let _ = writeln!(out, "<url><loc>{origin}/</loc></url>");
    }
    for Dated { page, modified } in pages.iter().take(MOST_PAGES) {
        if out.len() + page.path.len() * 5 > MOST_BYTES {
            break;
        }
        // What must not leave must not leave as an address either; and what was blackened leads nowhere.
        if !firewall.is_off() && !firewall.pass(page.path.clone().into(), Form::Text).flags.is_empty() {
            continue;
        }
        let _ = write!(out, "<url><loc>{origin}{}</loc>", escaped(&page.path));
        if let Some(modified) = modified {
            let _ = write!(out, "<lastmod>{}</lastmod>", escaped(modified));
        }
        out.push_str("</url>\n");
    }
    out.push_str("</urlset>\n");
    out
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc};

    use super::*;
    use frontdesk_config::testing::{Nowhere, declare_text};
    use frontdesk_page::content::{crawl::sitemap::Sitemap, testing::page};

    fn settings(more: &str) -> Settings {
        let text = format!("[upstream]\nurl = 'http://a'\n{more}");
        declare_text(Path::new("/x.toml"), &text, &Nowhere).unwrap().settings
    }

    fn contents(site_map: Option<&str>) -> Contents {
        let dated = |path: &str, modified: Option<&str>| Dated {
            page: Arc::new(page(path, "T", path)),
            modified: modified.map(str::to_owned),
        };
        let pages = vec![
            dated("/b?x=1&y=<", None),
            dated("/a", Some("2026-01-02T03:04:05Z")),
            dated("/", Some("2026-01-02")),
            dated("/llms.txt", None),
        ];
        Contents::new(pages, site_map.map(str::to_owned))
    }

    fn text(settings: &Settings, contents: Option<&Contents>) -> String {
        let document = document(settings, &Occupied::default(), contents, &settings.firewall.compiled()).unwrap();
        String::from_utf8(document.variants[0].body().to_vec()).unwrap()
    }

    #[test]
    fn it_lists_every_page_with_its_date() {
        let settings = settings("[site]\norigin = 'https://acme.test/'\n");
        let text = text(&settings, Some(&contents(None)));
        let read = Sitemap::read(text.as_bytes()).unwrap();
        let found: Vec<_> =
            read.pages.iter().map(|listed| (listed.location.as_str(), listed.modified.as_deref())).collect();
        assert_eq!(
            found,
            [
                ("https://acme.test/", Some("2026-01-02")),
                ("https://acme.test/a", Some("2026-01-02T03:04:05Z")),
                ("https://acme.test/b?x=1&y=<", None),
            ]
        );
    }

    #[test]
    fn before_the_site_was_read_it_lists_the_start() {
        let text = text(&settings("[site]\norigin = 'https://acme.test'\n"), None);
        assert!(text.contains("<loc>https://acme.test/</loc>") && text.matches("<url>").count() == 1, "{text}");
    }

    #[test]
    fn a_site_with_a_sitemap_keeps_it() {
        let settings = settings("");
        let firewall = settings.firewall.compiled();
        for own in [PATH, "/sitemap_index.xml", "/wp-sitemap.xml"] {
            let mut occupied = Occupied::default();
            occupied.insert(own.into());
            assert!(document(&settings, &occupied, None, &firewall).is_none(), "{own}");
            assert_eq!(path(&settings, &occupied, None), Some(own));
        }
        let read = contents(Some("/maps/all.xml"));
        assert!(document(&settings, &Occupied::default(), Some(&read), &firewall).is_none());
        assert_eq!(path(&settings, &Occupied::default(), Some(&read)), Some("/maps/all.xml"));
    }

    #[test]
    fn off_is_off() {
        for off in ["[discovery]\nsitemap = false\n", "[content]\nconcierge = false\nllms_txt = 'off'\n"] {
            let settings = settings(off);
            assert!(document(&settings, &Occupied::default(), None, &settings.firewall.compiled()).is_none(), "{off}");
            assert_eq!(path(&settings, &Occupied::default(), None), None);
        }
    }
}
