//! Generates /llms.txt (llmstxt.org), a short overview of the site, where the site has none.
//!
//! Rendered whenever the crawled pages change, never for a request.

use std::{collections::BTreeMap, fmt::Write};

use http::HeaderValue;

pub use crate::llms_addresses::LlmsAddresses;
pub(crate) use crate::one_line::line;
use crate::{Contents, Entry, Occupied};
use frontdesk_config::Settings;
use frontdesk_config::names::{SITE_DESCRIPTION, SITE_NAME};
use frontdesk_desk::{Document, Variant, origin};
use frontdesk_firewall::{Firewall, Form};

mod when;

/// Its path.
pub const PATH: &str = "/llms.txt";
/// Maximum listed pages.
const MOST_LINKS: usize = 200;
/// Maximum bytes.
const MOST_BYTES: usize = 64 * 1024;
/// Maximum characters of a page's title, and of its description.
const LONGEST_TITLE: usize = 120;
const LONGEST_DESCRIPTION: usize = 200;
/// The section of pages at the top level.
const TOP: &str = "Pages";

/// One page.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Listed {
    path: String,
    title: String,
    description: Option<String>,
}

/// The listed pages.
fn listed(contents: &Contents) -> Vec<Listed> {
    let nearest = contents.pages().iter().take(MOST_LINKS).map(|dated| dated.page.as_ref());
    let listed = nearest.map(|page| Listed {
        path: page.path.clone(),
        title: line(&page.title, LONGEST_TITLE),
        description: page.description.as_deref().map(|text| line(text, LONGEST_DESCRIPTION)),
    });
    listed.collect()
}

/// The path of llms.txt, ours or the site's; `None` where there is none.
pub fn endpoint(settings: &Settings, occupied: &Occupied) -> Option<&'static str> {
    (settings.content.llms_txt || occupied.contains(PATH)).then_some(PATH)
}

/// Its entry in lists, where there is one, ours or the site's.
pub fn entry(settings: &Settings, occupied: &Occupied) -> Option<Entry> {
    endpoint(settings, occupied).map(|path| Entry {
        name: "llms",
        rel: Some("describedby"),
        path: path.to_owned(),
        media_type: "text/plain",
        title: "What this site has to read, in one short text",
    })
}

/// Our llms.txt as it is served; `None` where the site has one, or the operator disabled it. Without
/// `contents` the site has not been crawled yet.
pub fn document(
    settings: &Settings,
    occupied: &Occupied,
    contents: Option<&Contents>,
    ways: LlmsAddresses<'_>,
    firewall: &Firewall,
) -> Option<Document> {
    if !settings.content.llms_txt || occupied.contains(PATH) {
        return None;
    }
    let nothing = Contents::default();
    let mut passed = firewall.pass(render(settings, contents.unwrap_or(&nothing), ways).into(), Form::Text);
    if passed.blocked {
        // Scan the text from pages. The endpoints' addresses are the operator's own.
        passed = firewall.pass(render(settings, &nothing, ways).into(), Form::Text);
    }
    if passed.blocked {
        return None;
    }
    let cache_control = if contents.is_some() { "public, max-age=300" } else { "no-cache" };
    let variant = Variant::new("text/plain; charset=utf-8", passed.body, &HeaderValue::from_static(cache_control))
        .telling(settings.signals.published().as_ref())
        .generated()
        .flagged(&passed.flags);
    Some(Document { path: PATH.into(), variants: vec![variant], negotiate: None, versions: Vec::new() })
}

/// Renders the text from the declaration and the pages.
pub fn render(settings: &Settings, contents: &Contents, ways: LlmsAddresses<'_>) -> String {
    let origin = origin(settings);
    let listed = listed(contents);
    let mut out = heading(settings, contents);
    let when = when::lines(settings, ways);
    if !when.is_empty() {
        let _ = write!(out, "\n## When to use this site\n\n{when}");
    }
    let mut asked = String::new();
    if let Some(converse) = ways.converse {
        let _ = writeln!(asked, "- [Ask a question]({origin}{converse}): POST JSON, as the manifest says");
    }
    if let Some(manifest) = ways.manifest {
        let _ = writeln!(asked, "- [Manifest]({origin}{manifest}): what agents can ask and call here");
    }
    if let Some(full) = ways.full {
        let _ = writeln!(asked, "- [All pages in one text]({origin}{full}): for reading everything at once");
    }
    if let Some(auth) = ways.auth_md {
        let _ = writeln!(asked, "- [Access]({origin}{auth}): what can be had without a credential, and how to get one");
    }
    if !asked.is_empty() {
        let _ = write!(out, "\n## For agents\n\n{asked}");
    }

    let mut sections: BTreeMap<(bool, String), Vec<String>> = BTreeMap::new();
    for listed in &listed {
        let section = section(&listed.path);
        let about = listed.description.as_deref().map(|about| format!(": {about}")).unwrap_or_default();
        let address = listed.path.replace('(', "%28").replace(')', "%29");
        let item = format!("- [{}]({origin}{address}){about}\n", listed.title);
        sections.entry((section != TOP, section)).or_default().push(item);
    }
    if sections.is_empty() {
        sections.insert((false, TOP.into()), vec![format!("- [Start page]({origin}/)\n")]);
    }
    let mut left_out = contents.len() - listed.len();
    for ((_, section), items) in sections {
        let mut text = format!("\n## {section}\n\n");
        let mut fitting = 0;
        for item in &items {
            // Leave room for a last line.
            if out.len() + text.len() + item.len() + 100 > MOST_BYTES {
                break;
            }
            text.push_str(item);
            fitting += 1;
        }
        left_out += items.len() - fitting;
        if fitting > 0 {
            out.push_str(&text);
        }
    }
    if left_out > 0 {
        let _ = write!(out, "\nPages that are not listed here: {left_out}\n");
    }
    out
}

/// The site's name and what it is, in its own words.
pub(crate) fn heading(settings: &Settings, contents: &Contents) -> String {
    let site = &settings.site;
    let start = contents.page("/");
    let host = site.origin.as_deref().and_then(|origin| origin.trim_end_matches('/').split_once("://"));
    let host = host.map(|(_, host)| host);
    let name = site.name.as_deref().or(start.map(|start| start.title.as_str())).or(host).unwrap_or("This site");
    let mut out = format!("# {}\n", line(name, SITE_NAME));
    if let Some(description) = site.description.as_deref().or(start.and_then(|start| start.description.as_deref())) {
        let _ = write!(out, "\n> {}\n", line(description, SITE_DESCRIPTION));
    }
    out
}

/// The section of a page: the first directory of its path, in words.
fn section(path: &str) -> String {
    let path = path.split('?').next().unwrap_or(path);
    let Some((directory, _)) = path.trim_start_matches('/').split_once('/') else { return TOP.into() };
    let words = percent_encoding::percent_decode_str(directory).decode_utf8_lossy().replace(['-', '_', '+'], " ");
    let words = line(&words, 60);
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => TOP.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use frontdesk_config::testing::{Nowhere, declare_text};
    use frontdesk_page::content::{Page, crawl::Dated, testing::page};
    use std::sync::Arc;

    fn settings(more: &str) -> Settings {
        let text = format!("[upstream]\nurl = 'http://a'\n{more}");
        declare_text(Path::new("/x.toml"), &text, &Nowhere).unwrap().settings
    }

    /// As it is where no origin is declared and none is known.
    fn rendered(contents: &Contents) -> String {
        let settings = settings("");
        render(&settings, contents, LlmsAddresses::default()).replace(origin(&settings), "")
    }

    fn contents(pages: &[Arc<Page>]) -> Contents {
        let dated = pages.iter().map(|page| Dated { page: page.clone(), modified: None });
        Contents::new(dated.collect(), None)
    }

    fn described(path: &str, title: &str, description: &str) -> Arc<Page> {
        Arc::new(Page { description: Some(description.into()), ..page(path, title, "x") })
    }

    #[test]
    fn it_has_the_shape_that_readers_expect() {
        let site =
            settings("[site]\nname = 'Acme'\norigin = 'https://acme.test'\ndescription = \"Anvils\\nand more.\"\n");
        let pages = [
            described("/docs/get-started", "Get [started]\n# now", "First\nsteps"),
            Arc::new(page("/", "Acme", "x")),
            Arc::new(page("/about(us)", "About", "x")),
            Arc::new(page("/user-guide/a/b?x=1", "B", "x")),
        ];
        let ways = LlmsAddresses {
            manifest: Some("/.well-known/agent.json"),
            converse: Some("/agent/converse"),
            ..LlmsAddresses::default()
        };
        let expected = "# Acme\n\n> Anvils and more.\n\n## When to use this site\n\n- To read a page of Acme: each is also there as \
            Markdown, at its own address with `Accept: text/markdown` or at its path with `.md` behind it.\n\
            - To have a question answered from the pages of Acme, with their addresses.\n\n## For agents\n\n\
            - [Ask a question](https://acme.test/agent/converse): POST JSON, as the manifest says\n\
            - [Manifest](https://acme.test/.well-known/agent.json): what agents can ask and call here\n\n\
            ## Pages\n\n- [Acme](https://acme.test/)\n- [About](https://acme.test/about%28us%29)\n\n\
            ## Docs\n\n- [Get (started) # now](https://acme.test/docs/get-started): First steps\n\n\
            ## User guide\n\n- [B](https://acme.test/user-guide/a/b?x=1)\n";
        assert_eq!(render(&site, &contents(&pages), ways), expected);
    }

    #[test]
    fn before_the_site_was_read_it_leads_to_its_start() {
        assert_eq!(
            rendered(&Contents::default()),
            "# This site\n\n## When to use this site\n\n- To read a page: each is also there as Markdown, at its own \
             address with `Accept: text/markdown` or at its path with `.md` behind it.\n\n## Pages\n\n\
             - [Start page](/)\n"
        );
        let pages = [described("/", "Home of X", "All about X.")];
        let text = rendered(&contents(&pages));
        assert!(text.starts_with("# Home of X\n\n> All about X.\n"), "{text}");
    }

    #[test]
    fn it_stays_within_its_bounds() {
        let many: Vec<_> = (0..1_000).map(|n| described(&format!("/d/{n}"), &format!("T{n}"), "x")).collect();
        let text = render(&settings(""), &contents(&many), LlmsAddresses::default());
        assert_eq!(text.matches("\n- [").count(), MOST_LINKS);
        assert!(text.ends_with("\nPages that are not listed here: 800\n"), "{text}");
        let long = "w".repeat(1_000);
        let many: Vec<_> = (0..200).map(|n| described(&format!("/{long}/{n}"), &long, &long.repeat(9))).collect();
        let text = render(&settings(""), &contents(&many), LlmsAddresses::default());
        assert!(text.len() <= MOST_BYTES && text.len() > MOST_BYTES / 2, "{}", text.len());
        assert!(text.contains("Pages that are not listed here: "));
    }

    #[test]
    fn the_sites_own_wins_and_off_is_off() {
        let mut own = Occupied::default();
        own.insert(PATH.into());
        let (auto, off) = (settings(""), settings("[content]\nllms_txt = 'off'\n"));
        let is_ours = |settings: &Settings, occupied: &Occupied| {
            document(settings, occupied, None, LlmsAddresses::default(), &settings.firewall.compiled()).is_some()
        };
        assert!(is_ours(&auto, &Occupied::default()) && !is_ours(&auto, &own) && !is_ours(&off, &Occupied::default()));
        assert_eq!(endpoint(&auto, &Occupied::default()), Some(PATH));
        assert_eq!((endpoint(&off, &own), endpoint(&off, &Occupied::default())), (Some(PATH), None));
    }

    #[test]
    fn a_line_is_one_line_of_so_many_characters() {
        assert_eq!(line("a\n\n#  b\u{7}c", 10), "a # b c");
        assert_eq!(line("äöü äöü äöü", 8), "äöü äöü…");
        assert_eq!(line(&"ä".repeat(9), 8), "ääääää…");
    }
}
