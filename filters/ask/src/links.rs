//! What other pages call a page when they link to it.

use std::collections::{HashMap, HashSet};

use frontdesk_page::content::Page;

use super::plain;

/// Texts kept of the links to one page, and how long each may be, in bytes.
const TEXTS: usize = 12;
const LONGEST: usize = 120;
/// The longest text of a link with its marks, in bytes.
const MARKED_UP: usize = 8 * LONGEST;
/// Fragments kept of one page.
const ANCHORS: usize = 2_000;
/// Links of one page that are read.
const LINKS: usize = 2_000;
/// Texts that say nothing of where a link leads.
const EMPTY: [&str; 22] = [
    "here",
    "next",
    "previous",
    "prev",
    "up",
    "home",
    "more",
    "read more",
    "link",
    "this page",
    "top",
    "back",
    "index",
    "contents",
    "weiter",
    "zurück",
    "nach oben",
    "suivant",
    "précédent",
    "siguiente",
    "anterior",
    "subir",
];

/// The texts of links, by the path that they lead to.
#[derive(Default)]
pub(super) struct LinkTexts {
    texts: HashMap<String, Vec<String>>,
    /// From how many pages.
    pages: HashMap<String, u32>,
    /// The fragments that links lead to, by the path and the text of the link in small letters.
    anchors: HashMap<String, HashMap<String, String>>,
}

impl LinkTexts {
    /// Those of all these pages, as path and Markdown.
    pub(super) fn of<'a>(pages: impl Iterator<Item = (&'a str, &'a str)>, known: &HashSet<&str>) -> Self {
        let mut found = Self::default();
        for (path, markdown) in pages {
            let mut left = LINKS;
            let mut linked = HashSet::new();
            each(markdown, |text, target| {
                if left == 0 {
                    return;
                }
                left -= 1;
                let Some((target, fragment)) = on_site(target).filter(|(target, _)| known.contains(target)) else {
                    return;
                };
                // Of brackets around half of a page only a few are looked at.
                if text.len() > MARKED_UP {
                    return;
                }
                let text = plain::text(text).0;
                if let Some(fragment) = fragment {
                    let anchors = found.anchors.entry(target.to_owned()).or_default();
                    if anchors.len() < ANCHORS && text.len() <= 2 * LONGEST {
                        anchors.entry(bare(&text)).or_insert_with(|| fragment.to_owned());
                    }
                }
                if target == path {
                    return;
                }
                linked.insert(target);
                let says = !EMPTY.contains(&text.to_lowercase().as_str()) && text.chars().any(char::is_alphabetic);
                if says && (2..=LONGEST).contains(&text.len()) {
                    let texts = found.texts.entry(target.to_owned()).or_default();
                    if texts.len() < TEXTS && !texts.contains(&text) {
                        texts.push(text);
                    }
                }
            });
            for target in linked {
                *found.pages.entry(target.to_owned()).or_default() += 1;
            }
        }
        found
    }

    /// What a page is called, all texts together, and from how many pages.
    pub(super) fn to(&self, path: &str) -> (String, u32) {
        let texts = self.texts.get(path).map(|texts| texts.join("\n")).unwrap_or_default();
        (texts, self.pages.get(path).copied().unwrap_or_default())
    }

    /// The fragment under which a heading of a page can be reached, where a link that is called like it says so: as tables of
    /// contents do.
    pub(super) fn anchor(&self, path: &str, heading: &str) -> Option<&str> {
        self.anchors.get(path)?.get(&bare(heading)).map(String::as_str)
    }
}

/// The fragments that a page gives its headings. Of headings with the same words each gets its own.
pub(super) struct Anchors<'a> {
    by_heading: HashMap<String, Vec<&'a str>>,
}

impl<'a> Anchors<'a> {
    pub(super) fn of(page: &'a Page) -> Self {
        let mut by_heading: HashMap<String, Vec<&str>> = HashMap::new();
        for (heading, fragment) in &page.anchors {
            by_heading.entry(bare(heading)).or_default().push(fragment);
        }
        Self { by_heading }
    }

    /// The fragment of the heading with these words that has so many of them before it.
    pub(super) fn nth(&self, heading: &str, before: usize) -> Option<&'a str> {
        self.by_heading.get(&bare(heading))?.get(before).copied().filter(|fragment| is_plain(fragment))
    }
}

/// The letters and digits of a text, in small letters.
pub(super) fn bare(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Path and query of a link, whatever host it names, and its fragment.
fn on_site(target: &str) -> Option<(&str, Option<&str>)> {
    let (target, fragment) = match target.split_once('#') {
        Some((target, fragment)) => (target, Some(fragment).filter(|fragment| is_plain(fragment))),
        None => (target, None),
    };
    let path = match target.split_once("://") {
        Some((_, rest)) => rest.find('/').map(|at| &rest[at..])?,
        None => target,
    };
    path.starts_with('/').then_some((path, fragment))
}

/// Can it stand in an address as it is?
fn is_plain(fragment: &str) -> bool {
    let fits =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'%' | b':' | b'/');
    (1..=120).contains(&fragment.len()) && fragment.bytes().all(fits)
}

/// Calls `with` with the text and the target of every link.
fn each<'a>(markdown: &'a str, mut with: impl FnMut(&'a str, &'a str)) {
    let mut open: Vec<usize> = Vec::new();
    let bytes = markdown.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'[' => open.push(at + 1),
            b'\n' if bytes.get(at + 1) == Some(&b'\n') => open.clear(),
            b']' => {
                let begin = open.pop();
                if let Some(begin) = begin
                    && let Some(length) = plain::target(&bytes[at + 1..])
                {
                    let target = &markdown[at + 2..at + length];
                    let target = target.split(' ').next().unwrap_or_default().trim_matches(['<', '>']);
                    with(&markdown[begin..at], target);
                    at += length;
                }
            }
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_called_what_links_call_it() {
        let pages = [
            ("/", "See [the **price** list](https://a.test/prices#x) and [here](/prices). [Out](https://b.test/no)"),
            ("/prices", "[Myself](/prices)"),
            ("/x", "[What it costs](/prices \"t\") [the **price** list](/prices) [Bar](/wiki/Foo_(bar))"),
        ];
        let known = HashSet::from(["/", "/prices", "/x", "/wiki/Foo_(bar)"]);
        let texts = LinkTexts::of(pages.into_iter(), &known);
        assert_eq!(texts.to("/prices"), ("the price list\nWhat it costs".to_owned(), 2));
        assert_eq!(texts.to("/no"), (String::new(), 0));
        assert_eq!(texts.to("/wiki/Foo_(bar)").0, "Bar");
        assert_eq!(texts.anchor("/prices", "The Price list"), Some("x"));
        assert_eq!(texts.anchor("/prices", "What it costs"), None);
    }

    #[test]
    fn hostile_links_take_linear_time() {
        for text in ["[", "](", "[](", "[a](/", "\\"] {
            let limit = frontdesk_base::work_limit::WorkLimit::begin(std::time::Duration::from_secs(20));
            each(&text.repeat(500_000 / text.len()), |_, _| ());
            assert!(!limit.is_over(), "{text}");
        }
        let around = format!("{}{}{}", "[".repeat(2_000), "x ".repeat(450_000), "](/)".repeat(2_000));
        let limit = frontdesk_base::work_limit::WorkLimit::begin(std::time::Duration::from_secs(20));
        LinkTexts::of([("/a", around.as_str())].into_iter(), &HashSet::from(["/"]));
        assert!(!limit.is_over());
    }
}
