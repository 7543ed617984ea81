//! A page as a tree, within bounds.
//!
//! The parser is a library's, and HTML lets a few bytes cost much: attributes are compared with those before them, a
//! tag with every open element, and formatting left open is repeated in each paragraph that follows. So pages that are
//! plainly too deep are not begun with, and the others are fed in small pieces, with a look at the clock and at the
//! size of the tree in between.

use std::{collections::HashMap, time::Duration};

use dom_query::Document;
use foldhash::fast::RandomState;
use frontdesk_base::work_limit::WorkLimit;
use html5ever::{
    ParseOpts, parse_document,
    tendril::{StrTendril, TendrilSink},
    tree_builder::TreeBuilderOpts,
};
use memchr::{memchr, memchr_iter, memmem};

/// How deep elements may lie in each other.
pub(super) const MAX_DEPTH: usize = 512;
/// How many nodes a tree may have, texts and comments among them.
const MAX_NODES: usize = 400_000;
/// How much CPU time parsing may take, and as much again what is made of the tree. Tests have less: what they try would use it up
/// each time.
pub(super) const PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 300 } else { 2_000 });
/// How many bytes are parsed between two looks.
const PIECE_BYTES: usize = 1024;

/// The page's tree; `None` where it would be too deep, too large or too slow.
pub(super) fn parse(html: &str) -> Option<Document> {
    if plainly_too_deep(html.as_bytes()) {
        return None;
    }
    let limit = WorkLimit::begin(PATIENCE);
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
        if document.tree.len() > MAX_NODES || limit.is_over() {
            return None;
        }
    }
    Some(parser.finish())
}

/// Elements that have no end, or that end by themselves where the next one begins. All others, unknown ones too, lie in
/// each other if their ends are not written.
const NOT_NESTING: [&[u8]; 46] = [
    b"a",
    b"area",
    b"base",
    b"body",
    b"br",
    b"button",
    b"caption",
    b"col",
    b"colgroup",
    b"dd",
    b"dt",
    b"embed",
    b"form",
    b"h1",
    b"h2",
    b"h3",
    b"h4",
    b"h5",
    b"h6",
    b"head",
    b"hr",
    b"html",
    b"img",
    b"input",
    b"keygen",
    b"li",
    b"link",
    b"meta",
    b"nobr",
    b"optgroup",
    b"option",
    b"p",
    b"param",
    b"rb",
    b"rp",
    b"rt",
    b"rtc",
    b"source",
    b"tbody",
    b"td",
    b"tfoot",
    b"th",
    b"thead",
    b"tr",
    b"track",
    b"wbr",
];
/// Elements whose text is no markup.
const RAW: [&[u8]; 8] = [b"script", b"style", b"textarea", b"title", b"xmp", b"iframe", b"noembed", b"noframes"];
/// The longest name that is told from others.
const LONGEST_NAME: usize = 24;

/// Are more of these open at once than any page has? A first look, cheap and easily deceived: what it misses is found
/// by the clock, and in the tree.
fn plainly_too_deep(html: &[u8]) -> bool {
    let mut open: HashMap<[u8; LONGEST_NAME], usize, RandomState> = HashMap::default();
    let (mut depth, mut read, mut closes) = (0usize, 0, 0);
    for at in memchr_iter(b'<', html) {
        if at < read {
            continue;
        }
        let tag = &html[at + 1..];
        if tag.starts_with(b"!--") {
            read = memmem::find(tag, b"-->").map_or(html.len(), |end| at + 1 + end);
            continue;
        }
        let (is_end, tag) = tag.strip_prefix(b"/").map_or((false, tag), |tag| (true, tag));
        let len = tag.iter().take(LONGEST_NAME).take_while(|b| b.is_ascii_alphanumeric() || **b == b'-').count();
        if !tag.first().is_some_and(u8::is_ascii_alphabetic) {
            continue;
        }
        let mut name = [0; LONGEST_NAME];
        name[..len].copy_from_slice(&tag[..len]);
        name.make_ascii_lowercase();
        if NOT_NESTING.contains(&&name[..len]) {
            continue;
        }
        if is_end {
            if let Some(count) = open.get_mut(&name).filter(|count| **count > 0) {
                *count -= 1;
                depth -= 1;
            }
            continue;
        }
        if RAW.contains(&&name[..len]) {
            let end = [b"</", &name[..len]].concat();
            let is_end = |from: &usize| tag[*from..].get(..end.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(&end));
            read = memchr_iter(b'<', tag).find(is_end).map_or(html.len(), |end| html.len() - tag.len() + end);
            continue;
        }
        // `<path d="…"/>` ends itself.
        if closes <= at {
            closes = memchr(b'>', &html[at..]).map_or(html.len(), |end| at + end);
        }
        if html[closes - 1] == b'/' {
            continue;
        }
        *open.entry(name).or_default() += 1;
        depth += 1;
        if depth > MAX_DEPTH {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn whatever_lies_in_itself_too_deep_is_known_at_once() {
        for name in ["pre", "summary", "q", "sup", "header", "x-y", "unheard", "MARK", "math", "mi"] {
            let began = Instant::now();
            let html = format!("<p>x{}", format!("<{name} class=x>y").repeat(100_000));
            assert!(plainly_too_deep(html.as_bytes()) && began.elapsed() < Duration::from_secs(5), "{name}");
        }
        for html in [
            "<li>x".repeat(5_000),
            "<p>x<br>".repeat(5_000),
            format!("<svg>{}</svg>", "<path d='M 0 0'/>".repeat(5_000)),
            format!("<script>{}</script><p>x", "if (a<b) x;".repeat(5_000)),
            format!("<!-- {} --><p>x", "<div>".repeat(5_000)),
            "<mark>x</mark><x-y>z</x-y>".repeat(5_000),
            "a < b, a <3, </div>".repeat(5_000),
        ] {
            assert!(!plainly_too_deep(html.as_bytes()), "{}", &html[..40]);
        }
        let began = Instant::now();
        assert!(plainly_too_deep("<b".repeat(1_000_000).as_bytes()) || began.elapsed() < Duration::from_secs(10));
    }
}
