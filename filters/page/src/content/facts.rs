//! What a page says of itself: its title, its language, where its links lead, and what may be done with it.

use std::collections::HashSet;

use dom_query::NodeRef;
use frontdesk_base::date;
use url::Url;

use super::{
    article_signs::Signs,
    controls::Controls,
    link_markup::{Follow, asks_for_password, follow, presses},
    published::{self, Published},
    walk::{attribute, collapsed, has_word, is_hidden, name},
};

/// How many links of a page are kept.
const MAX_LINKS: usize = 5_000;
/// How long a link, a title or a description may be, in bytes.
const MAX_LINK_BYTES: usize = 2_048;
const MAX_WORDS_BYTES: usize = 1_000;

/// Everything that is said outside the text.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub title: Option<String>,
    pub description: Option<String>,
    pub language: Option<String>,
    pub modified: Option<String>,
    pub links: Vec<String>,
    /// Where links lead that act by their markup.
    pub acting: Vec<String>,
    /// Which links look like controls.
    pub controls: Controls,
    pub published: Published,
    /// It asks for a password where its content stands.
    pub asks_for_password: bool,
    pub canonical: Option<String>,
    pub noindex: bool,
    pub nofollow: bool,
    pub alternate_markdown: Option<String>,
    /// Against which relative links are meant.
    pub base: Option<Url>,
    /// What the page says of being an article.
    pub signs: Signs,
    title_of_cards: Option<String>,
    description_of_cards: Option<String>,
    heading: Option<String>,
}

/// What an element stands in.
#[derive(Clone, Copy, Default)]
struct Inside {
    /// A form or a button.
    pressed: bool,
    /// Something beside the content.
    beside: bool,
}

/// Collects the facts of a whole document that was found at `at`.
pub(super) fn collect(root: &NodeRef<'_>, at: &Url) -> Facts {
    let mut facts = Facts { base: base(root, at), ..Facts::default() };
    let base = facts.base.clone().unwrap_or_else(|| at.clone());
    let mut seen = HashSet::from([path_and_query(at)]);
    // Left alone, whatever other links lead there.
    let mut acts = HashSet::new();
    let mut stack = vec![(*root, Inside::default())];
    while let Some((node, mut inside)) = stack.pop() {
        let called = name(&node);
        facts.signs.take(&node, &called);
        match called.as_str() {
            "script" => {
                facts.published.note_script(&node);
                continue;
            }
            "style" | "template" | "svg" => continue,
            "html" => facts.language = attribute(&node, "lang").filter(|lang| is_language(lang)),
            "title" if facts.title.is_none() => facts.title = words(&node.text()),
            "h1" if facts.heading.is_none() && !is_hidden(&node) => facts.heading = words(&node.text()),
            "meta" => facts.meta(&node),
            "link" => facts.link(&node, &base, at),
            "a" if facts.links.len() + facts.acting.len() < MAX_LINKS => {
                let href = attribute(&node, "href");
                let target = href.as_deref().and_then(|href| same_origin(href, &base, at));
                match (target, follow(&node, inside.pressed)) {
                    (None, _) | (_, Follow::No) => {}
                    (Some(target), Follow::Yes) => {
                        facts.controls.note(&node, &target);
                        if let Some(href) = href.filter(|href| published::is_relative(href)) {
                            facts.published.note_relative(&href, &node.text());
                            facts.published.relative.insert(target.clone());
                        }
                        if has_word(&node, "rel", &["next", "prev"]) {
                            facts.published.sequence.push(target.clone());
                        }
                        facts.links.extend(seen.insert(target.clone()).then_some(target));
                    }
                    (Some(target), Follow::Pressed) => facts.acting.push(target),
                    (Some(target), Follow::Acts) => {
                        acts.insert(target.clone());
                        facts.acting.push(target);
                    }
                }
            }
            "header" | "nav" | "aside" | "footer" | "dialog" => inside.beside = true,
            "form" | "button" => inside.pressed |= presses(&node),
            "input" if asks_for_password(&node) => facts.asks_for_password |= !inside.beside,
            _ => {}
        }
        stack.extend(node.children_it(true).map(|child| (child, inside)));
    }
    facts.links.retain(|link| !acts.contains(link));
    facts.title = [facts.title.take(), facts.title_of_cards.take(), facts.heading.take()].into_iter().flatten().next();
    if let Some(title) = &facts.title {
        facts.published.note_title(title, at.path());
    }
    facts.description = facts.description.take().or(facts.description_of_cards.take());
    facts
}

impl Facts {
    fn meta(&mut self, node: &NodeRef<'_>) {
        let named = ["name", "property", "http-equiv"].into_iter().find_map(|key| attribute(node, key));
        let named = named.unwrap_or_default();
        let content = attribute(node, "content").unwrap_or_default();
        self.published.note_meta(&named, &content);
        match named.to_ascii_lowercase().as_str() {
            "description" if self.description.is_none() => self.description = words(&content),
            "og:description" if self.description_of_cards.is_none() => self.description_of_cards = words(&content),
            "og:title" if self.title_of_cards.is_none() => self.title_of_cards = words(&content),
            "article:modified_time" | "og:updated_time" | "dcterms.modified" | "last-modified"
                if self.modified.is_none() =>
            {
                self.modified = date::w3c(&content);
            }
            "robots" | "frontdesk" => {
                for word in content.split([',', ' ', ';']).map(|word| word.trim().to_ascii_lowercase()) {
                    self.noindex |= matches!(word.as_str(), "noindex" | "none");
                    self.nofollow |= matches!(word.as_str(), "nofollow" | "none");
                }
            }
            _ => {}
        }
    }

    fn link(&mut self, node: &NodeRef<'_>, base: &Url, at: &Url) {
        self.published.has_canonical |= has_word(node, "rel", &["canonical"]);
        let Some(target) = attribute(node, "href").and_then(|href| same_origin(&href, base, at)) else { return };
        self.published.note_link(node, &target);
        if has_word(node, "rel", &["canonical"]) {
            self.canonical.get_or_insert(target);
        } else if has_word(node, "rel", &["alternate"])
            && attribute(node, "type").is_some_and(|kind| kind.eq_ignore_ascii_case("text/markdown"))
        {
            self.alternate_markdown.get_or_insert(target);
        }
    }
}

/// The first `<base href>`, if it is one that can be believed.
fn base(root: &NodeRef<'_>, at: &Url) -> Option<Url> {
    let base = root.descendants_it().find(|node| name(node) == "base" && node.has_attr("href"))?;
    at.join(&attribute(&base, "href")?).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
}

/// The path and query that a link leads to, if it stays on this site.
fn same_origin(href: &str, base: &Url, at: &Url) -> Option<String> {
    if href.len() > MAX_LINK_BYTES {
        return None;
    }
    let url = base.join(href).ok()?;
    if url.origin() != at.origin() {
        return None;
    }
    // A path of two slashes would be read as a host.
    Some(path_and_query(&url)).filter(|path| path.len() <= MAX_LINK_BYTES && !path.starts_with("//"))
}

/// A URL's path and query.
pub(super) fn path_and_query(url: &Url) -> String {
    url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()))
}

fn words(text: &str) -> Option<String> {
    let mut words = collapsed(text);
    if words.len() > MAX_WORDS_BYTES {
        words.truncate(words.floor_char_boundary(MAX_WORDS_BYTES - '…'.len_utf8()));
        words.push('…');
    }
    (!words.is_empty()).then_some(words)
}

/// Does it look like a language tag (BCP 47)?
fn is_language(tag: &str) -> bool {
    (2..=35).contains(&tag.len()) && tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}
