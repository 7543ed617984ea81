//! The text of an article without what surrounds it: comments, teasers of other articles, boxes to share and to
//! subscribe.
//!
//! `dom_smoothie` (Mozilla's Readability) chooses it, for pages that say that they are articles. Its choice counts only
//! where it keeps what the page is about: elsewhere the page is read as any other.

use std::time::Duration;

use dom_query::{Document, NodeRef};
use dom_smoothie::{Config, ParsePolicy, Readability};
use frontdesk_base::work_limit::WorkLimit;

use super::{
    surroundings::is_beside,
    teasers,
    walk::{UNREAD, contains, is_hidden, name},
};

/// Beyond these Readability would take too long: it looks at elements again and again.
const MAX_ELEMENTS: usize = 30_000;
const MAX_DEPTH: usize = 80;
/// After so much CPU time no milder choice is tried.
const PATIENCE: Duration = Duration::from_millis(250);
/// How much of the page's text outside of links and of what stands beside it the article has to hold, in percent.
const ENOUGH: usize = 40;
/// The same where the page has blocks of code: then what is left out is rarely a teaser.
const ENOUGH_OF_CODE: usize = 95;
/// A choice of so many bytes of text is taken without a look at a milder one.
const LONG_ENOUGH: usize = 420;
/// An article shorter than this, in bytes, beside many times as much of comments, is not what the page is about.
const SHORT: usize = 600;
const COMMENTS_MANY_TIMES: usize = 4;

/// An article found on a page.
pub(super) struct Article {
    tree: Document,
    /// What it is called, without the site's name.
    pub title: Option<String>,
}

impl Article {
    /// The element that holds it.
    pub(super) fn root(&self) -> Option<NodeRef<'_>> {
        self.tree.select_single("#readability-page-1").nodes().first().copied()
    }
}

/// Finds the article on a page that says that it is one; `None` where the page is to be read as a whole.
pub(super) fn find(document: &Document) -> Option<Article> {
    if !is_small(document) {
        return None;
    }
    let page = Amount::of(&document.body()?);
    let (article, kept) = choose(document)?;
    let enough = if page.code > 0 { ENOUGH_OF_CODE } else { ENOUGH };
    let is_about = kept.text * 100 >= page.text * enough && kept.code >= page.code;
    let is_discussion = kept.text < SHORT && page.beside > kept.text * COMMENTS_MANY_TIMES;
    if !is_about || is_discussion {
        return None;
    }
    teasers::remove(&article.root()?);
    Some(article)
}

/// The first choice that is long enough, else the longest. Each of them works on a copy of its own.
fn choose(document: &Document) -> Option<(Article, Amount)> {
    let mut best: Option<(Article, Amount)> = None;
    let limit = WorkLimit::begin(PATIENCE);
    for policy in [ParsePolicy::Strict, ParsePolicy::Moderate, ParsePolicy::Clean, ParsePolicy::Raw] {
        let copy = document.clone();
        teasers::remove_boxes(&copy.body()?);
        let config = Config { keep_classes: true, max_elements_to_parse: MAX_ELEMENTS, ..Config::default() };
        let mut readability = Readability::with_document(copy, None, Some(config)).ok()?;
        let Ok(found) = readability.parse_with_policy(policy) else { continue };
        let title = Some(found.title).filter(|title| !title.is_empty());
        let article = Article { tree: readability.doc, title };
        let Some(amount) = article.root().map(|root| Amount::of(&root)) else { continue };
        let is_enough = amount.text >= LONG_ENOUGH;
        if is_enough || best.as_ref().is_none_or(|(_, most)| amount.text > most.text) {
            best = Some((article, amount));
        }
        if is_enough || limit.is_over() {
            break;
        }
    }
    best
}

fn is_small(document: &Document) -> bool {
    let mut stack = vec![(document.root(), 0)];
    let mut elements = 0;
    while let Some((node, depth)) = stack.pop() {
        elements += 1;
        if depth > MAX_DEPTH || elements > MAX_ELEMENTS * 3 {
            return false;
        }
        stack.extend(node.children_it(false).map(|child| (child, depth + 1)));
    }
    true
}

/// How much of what a part of a page holds, in bytes of text.
#[derive(Debug, Default)]
struct Amount {
    /// Outside of links, and of what stands beside the text.
    text: usize,
    /// In what stands beside the text.
    beside: usize,
    /// Blocks of code.
    code: usize,
}

impl Amount {
    fn of(root: &NodeRef<'_>) -> Amount {
        let mut amount = Amount::default();
        let mut stack = vec![(*root, false)];
        while let Some((node, mut beside)) = stack.pop() {
            if node.is_text() {
                let letters = node.text().bytes().filter(|b| !b.is_ascii_whitespace()).count();
                *(if beside { &mut amount.beside } else { &mut amount.text }) += letters;
                continue;
            }
            let called = name(&node);
            match called.as_str() {
                "a" | "nav" | "footer" | "button" | "select" | "textarea" | "form" | "dialog" => continue,
                unread if UNREAD.contains(&unread) => continue,
                _ if is_hidden(&node) => continue,
                "aside" => beside = true,
                "header" if !contains(&node, &["h1"]) => beside = true,
                "pre" if !beside => amount.code += 1,
                _ => beside = beside || is_beside(&node) && !contains(&node, &["h1"]),
            }
            stack.extend(node.children_it(false).map(|child| (child, beside)));
        }
        amount
    }
}
