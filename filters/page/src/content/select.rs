//! Where the content of a page is: what the page itself marks as its main part, else all of its body.

use dom_query::{Document, NodeRef};

use super::walk::{attribute, is_hidden, name, weight};

/// What an article must weigh of the whole page to be what the page is about: one in so many.
const ARTICLES_SHARE: usize = 4;

/// The element whose text is the page's, and how it was found.
pub(super) struct Content<'a> {
    pub root: NodeRef<'a>,
    pub found: Found,
}

/// How the content of a page was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// The page marks it.
    Marked,
    /// It is the article that the page says it is.
    Article,
    /// It is all of the page.
    Whole,
}

/// Finds the content: `main`, `role=main`, the only `article`, else the body.
pub(super) fn content(document: &Document) -> Option<Content<'_>> {
    let body = document.body()?;
    let mut mains = Vec::new();
    let mut articles = Vec::new();
    let mut stack = vec![body];
    while let Some(node) = stack.pop() {
        match name(&node).as_str() {
            "script" | "style" | "template" | "svg" => continue,
            _ if is_hidden(&node) => continue,
            // Within an article lie others: comments, say.
            "article" => {
                articles.push(node);
                continue;
            }
            // What lies within has words only if it has.
            "main" => {
                mains.push(node);
                continue;
            }
            _ if attribute(&node, "role").is_some_and(|role| role.eq_ignore_ascii_case("main")) => {
                mains.push(node);
                continue;
            }
            _ => {}
        }
        stack.extend(node.children_it(true));
    }
    if let Some(main) = mains.into_iter().find(|main| weight(main) > 0) {
        return Some(Content { root: main, found: Found::Marked });
    }
    match articles.as_slice() {
        [article] if weight(article) * ARTICLES_SHARE >= weight(&body) => {
            Some(Content { root: *article, found: Found::Marked })
        }
        _ => Some(Content { root: body, found: Found::Whole }),
    }
}
