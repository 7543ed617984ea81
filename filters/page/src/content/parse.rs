//! A page as a tree, within bounds.
//!
//! The parser is a library's, and HTML lets a few bytes cost much: attributes are compared with those before them, a
//! tag with every open element, and formatting left open is repeated in each paragraph that follows. So pages that are
//! plainly too deep are not begun with, and the others are fed in small pieces, with a look at the clock and at the
//! size of the tree in between.

use std::time::{Duration, Instant};

use dom_query::Document;
use html5ever::{
    ParseOpts, parse_document,
    tendril::{StrTendril, TendrilSink},
    tree_builder::TreeBuilderOpts,
};
use memchr::memchr_iter;

/// How deep elements may lie in each other.
pub(super) const MAX_DEPTH: usize = 512;
/// How many nodes a tree may have, texts and comments among them.
const MAX_NODES: usize = 400_000;
/// How long parsing may take, and as long again what is made of the tree. Tests have less: what they try would use it up
/// each time.
pub(super) const PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 300 } else { 2_000 });
/// How many bytes are parsed between two looks.
const PIECE_BYTES: usize = 1024;

/// The page's tree; `None` where it would be too deep, too large or too slow.
pub(super) fn parse(html: &str) -> Option<Document> {
    if plainly_too_deep(html.as_bytes()) {
        return None;
    }
    let began = Instant::now();
    // As somebody without scripts would see it.
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let opts = ParseOpts { tree_builder, ..ParseOpts::default() };
    let mut parser = parse_document(Document::default(), opts);
    let mut rest = html;
    while !rest.is_empty() {
        let piece;
        (piece, rest) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        parser.process(StrTendril::from(piece));
        let document = &parser.tokenizer.sink.sink;
        document.errors.borrow_mut().clear();
        if document.tree.len() > MAX_NODES || began.elapsed() > PATIENCE {
            return None;
        }
    }
    Some(parser.finish())
}

/// Elements whose end has to be written, and that are found in each other in any number.
const NESTING: [&[u8]; 22] = [
    b"div",
    b"span",
    b"b",
    b"i",
    b"u",
    b"s",
    b"em",
    b"strong",
    b"font",
    b"small",
    b"big",
    b"code",
    b"ul",
    b"ol",
    b"dl",
    b"table",
    b"section",
    b"article",
    b"blockquote",
    b"details",
    b"template",
    b"svg",
];

/// Are more of these open at once than any page has? A first look, cheap and easily deceived: what it misses is found
/// by the clock, and in the tree.
fn plainly_too_deep(html: &[u8]) -> bool {
    let mut open = [0usize; NESTING.len()];
    let mut depth = 0;
    for at in memchr_iter(b'<', html) {
        let tag = &html[at + 1..];
        let (end, tag) = tag.strip_prefix(b"/").map_or((false, tag), |tag| (true, tag));
        let len = tag.iter().take(12).take_while(|b| b.is_ascii_alphanumeric()).count();
        let Some(nth) = NESTING.iter().position(|name| name.eq_ignore_ascii_case(&tag[..len])) else { continue };
        if !end {
            open[nth] += 1;
            depth += 1;
        } else if open[nth] > 0 {
            open[nth] -= 1;
            depth -= 1;
        }
        if depth > MAX_DEPTH {
            return true;
        }
    }
    false
}
