//! What stands around a text by the names that a site gives it: comments, teasers of other pages, boxes to share,
//! subscribe or consent.

use dom_query::NodeRef;

use super::walk::{attribute, name, words_of_name};

/// Words in a class or an id, alone or joined by `-`, `_` or a capital letter.
const WORDS: [&str; 52] = [
    "ad",
    "ads",
    "advert",
    "advertisement",
    "breadcrumb",
    "breadcrumbs",
    "byline",
    "comment",
    "comments",
    "consent",
    "cookie",
    "cookies",
    "disqus",
    "dontmiss",
    "follow",
    "footer",
    "gdpr",
    "livefyre",
    "masthead",
    "modal",
    "mostpopular",
    "mostread",
    "nav",
    "navbar",
    "navigation",
    "newsletter",
    "newsletters",
    "outbrain",
    "pagination",
    "paywall",
    "popular",
    "popup",
    "promo",
    "promoted",
    "readmore",
    "recirc",
    "recommendation",
    "recommendations",
    "recommended",
    "related",
    "respond",
    "share",
    "sharebar",
    "sharedaddy",
    "sharing",
    "sidebar",
    "signup",
    "social",
    "sponsored",
    "subscribe",
    "taboola",
    "trending",
];
/// Elements that hold the text itself, or too much to be judged by a name.
const NEVER: [&str; 12] =
    ["html", "body", "main", "article", "p", "pre", "code", "table", "blockquote", "h1", "figure", "li"];

/// Whether the names of an element say that it stands beside the text.
pub(super) fn is_beside(node: &NodeRef<'_>) -> bool {
    if NEVER.contains(&name(node).as_str()) {
        return false;
    }
    ["class", "id", "data-component", "data-module"].iter().filter_map(|named| attribute(node, named)).any(|names| {
        let words: Vec<String> = names.split_ascii_whitespace().flat_map(words_of_name).collect();
        // A class as "no-comments" or "has-sidebar" tells how a page looks.
        words.iter().any(|word| WORDS.contains(&word.as_str()))
            && !words
                .iter()
                .any(|word| matches!(word.as_str(), "no" | "has" | "with" | "without" | "not" | "body" | "content"))
    })
}
