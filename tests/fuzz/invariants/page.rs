//! What holds of a page that is rewritten, whatever it is made of: a browser's parser is the judge. The tree of our
//! output without what we put in is the tree of the input, and what we put in are the elements that were meant, where
//! they were meant. One list, for the fuzzer and for the tests.

use std::{
    io::{Read, Write},
    sync::Arc,
};

use bytes::Bytes;
use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};
use html5ever::{ParseOpts, parse_document, tendril::TendrilSink, tokenizer::TokenizerOpts};
use markup5ever_rcdom::{Handle, NodeData, RcDom};

use super::page::{Coding, Insertion, Link, Outcome, Rewriter, Why};

const SECTION: &str = "<section class=\"ours\"><p>mark</p></section>";
const RELATIONS: [&str; 2] = ["agent-interface", "ahp-manifest"];
const MARKDOWN: &str = "<link rel=\"alternate\" href=\"/ours\" type=\"text/markdown\">";
/// Elements that HTML reopens where they were left open (13.2.4.3, "the list of active formatting elements").
const FORMATTING: [&str; 14] =
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];

/// Panics where one of them does not hold. The first byte says in which pieces the rest, a page, comes.
pub fn hold(data: &[u8]) {
    let Some((&choice, page)) = data.split_first() else { return };
    // What is the page's own would be taken for ours.
    if memchr::memmem::find(page, b"ours").is_some() {
        return;
    }
    let size = usize::from(choice % 64) + 1;
    let before = Tree::of(page);
    let whole = rewritten(page, page.len().max(1));
    judge(page, &before, &whole);
    if !page.is_empty() {
        assert_eq!(packed(page), whole, "{} as gzip, at once", shown(page));
    }
    for size in [1, size] {
        let pieces = rewritten(page, size);
        // How far into the body a notice of the site's own is looked for depends on what has come.
        if memchr::memmem::find(page, b"ahp-notice").is_some() {
            judge(page, &before, &pieces);
        } else {
            assert_eq!(pieces, whole, "{} in pieces of {size}", shown(page));
        }
    }
}

fn shown(page: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(page))
}

fn link(rel: &str) -> String {
    format!("<link rel=\"{rel}\" href=\"/ours\">")
}

fn rewriter(coding: Coding) -> Rewriter {
    let insertion = Insertion {
        notice: Bytes::from_static(SECTION.as_bytes()),
        links: RELATIONS.map(|rel| Link { rel: rel.to_owned(), html: Bytes::from(link(rel)) }).to_vec(),
        markdown: true,
    };
    Rewriter::new(coding, Arc::new(insertion)).of_page(Bytes::from_static(MARKDOWN.as_bytes()))
}

/// The page as it leaves of one that came as gzip, all of it at once.
fn packed(page: &[u8]) -> (Vec<u8>, Outcome) {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(page).expect("room");
    let body = encoder.finish().expect("room");
    let mut rewriter = rewriter(Coding::Gzip);
    let left = rewriter.at_once(&body).expect("short enough").expect("a sound coding");
    let mut out = Vec::new();
    MultiGzDecoder::new(&left[..]).read_to_end(&mut out).expect("gzip");
    (out, rewriter.outcome())
}

/// The page as it leaves, fed in pieces of this size.
fn rewritten(page: &[u8], size: usize) -> (Vec<u8>, Outcome) {
    let mut rewriter = rewriter(Coding::Identity);
    let mut out = Vec::new();
    for piece in page.chunks(size) {
        out.extend_from_slice(&rewriter.feed(Bytes::copy_from_slice(piece)).expect("no coding to be broken").joined());
    }
    out.extend_from_slice(&rewriter.finish().expect("no coding to be broken"));
    (out, rewriter.outcome())
}

fn judge(page: &[u8], before: &Tree, (out, outcome): &(Vec<u8>, Outcome)) {
    let shown = || format!("{}\n{}\n{outcome:?}", shown(page), shown(out));
    // Byte by byte the page is what it was.
    let links: Vec<String> = RELATIONS.map(link).into_iter().chain([MARKDOWN.to_owned()]).collect();
    let mut rest = out.clone();
    for ours in links.iter().map(String::as_str).chain([SECTION]) {
        if let Some(at) = memchr::memmem::find(&rest, ours.as_bytes()) {
            rest.drain(at..at + ours.len());
        }
    }
    assert!(rest == page, "{}", shown());

    let after = Tree::of(out);
    // A frameset that comes after a body began without a tag would replace that body, were it not for our words in it;
    // and what stands in a frameset is not there.
    if before.frameset && *outcome == Outcome::Inserted {
        return;
    }
    assert_eq!(before.lines, after.lines, "{}", shown());
    let in_head = after.links.iter().all(|parent| parent == "head");
    assert!(in_head, "{}", shown());
    let all = RELATIONS.iter().all(|rel| after.relations.iter().any(|own| own.eq_ignore_ascii_case(rel)));
    match outcome {
        Outcome::Inserted => {
            assert_eq!(after.sections, [("body".to_owned(), 0)], "{}", shown());
            assert!(all, "{}", shown());
        }
        Outcome::OwnNotice => {
            assert!(after.sections.is_empty() && all && (before.own_notice || before.frameset), "{}", shown());
        }
        Outcome::Frameset => assert!(after.sections.is_empty() && all && before.frameset, "{}", shown()),
        Outcome::Fragment => assert_eq!(out, page),
        Outcome::GaveUp(Why::Unfinished | Why::Doubt | Why::WideEncoding | Why::HugeMarkup | Why::Limit) => {
            assert!(after.sections.is_empty(), "{}", shown());
        }
        Outcome::GaveUp(Why::NotAsDeclared) | Outcome::Pending => panic!("{}", shown()),
    }
}

/// The tree as lines, our elements left out and counted by where they stand.
#[derive(Default)]
struct Tree {
    lines: Vec<String>,
    sections: Vec<(String, usize)>,
    links: Vec<String>,
    /// Of all links, ours among them.
    relations: Vec<String>,
    frameset: bool,
    own_notice: bool,
}

impl Tree {
    fn of(page: &[u8]) -> Tree {
        // The parser would take a mark of the byte order for the beginning of the text wherever it goes on.
        let page = page.strip_prefix(b"\xef\xbb\xbf").unwrap_or(page);
        let tokenizer = TokenizerOpts { discard_bom: false, ..TokenizerOpts::default() };
        let options = ParseOpts { tokenizer, ..ParseOpts::default() };
        let dom: RcDom = parse_document(RcDom::default(), options).from_utf8().one(page);
        let mut tree = Tree::default();
        tree.lines.push(format!("{:?}", dom.quirks_mode.get()));
        tree.walk(&dom.document, 0, "");
        tree
    }

    fn walk(&mut self, node: &Handle, depth: usize, parent: &str) {
        let mut text = String::new();
        for (n, child) in node.children.borrow().iter().enumerate() {
            match &child.data {
                NodeData::Text { contents } => text.push_str(&contents.borrow()),
                NodeData::Element { .. } if self.is_ours(child, n, parent) => {}
                data => {
                    self.text(&mut text, depth);
                    self.node(data, depth);
                    if let NodeData::Element { name, template_contents, .. } = data {
                        self.walk(child, depth + 1, &name.local);
                        if let Some(contents) = template_contents.borrow().as_ref() {
                            self.walk(contents, depth + 1, "template");
                        }
                    }
                }
            }
        }
        self.text(&mut text, depth);
    }

    /// Ours have exactly our attributes and contents; all else is the page's.
    fn is_ours(&mut self, element: &Handle, n: usize, parent: &str) -> bool {
        let NodeData::Element { name, attrs, .. } = &element.data else { return false };
        let attrs = attrs.borrow();
        let of = |name: &str| attrs.iter().find(|a| &*a.name.local == name).map(|a| a.value.to_string());
        let words = |text: Option<String>| -> Vec<String> {
            text.unwrap_or_default().split_ascii_whitespace().map(str::to_owned).collect()
        };
        let html = name.ns == html5ever::ns!(html);
        self.frameset |= html && &*name.local == "frameset";
        self.own_notice |= words(of("class")).iter().any(|word| word == "ahp-notice")
            || of("aria-label").is_some_and(|label| label.trim_ascii() == "AI Agent Notice");
        if html && &*name.local == "link" {
            self.relations.extend(words(of("rel")));
            if of("href").as_deref() == Some("/ours") {
                assert!(attrs.len() <= 3 && element.children.borrow().is_empty());
                self.links.push(parent.to_owned());
                return true;
            }
        }
        if html && &*name.local == "section" && attrs.len() == 1 && of("class").as_deref() == Some("ours") {
            let mut inside = Tree::default();
            inside.walk(element, 0, "section");
            let [first, between @ .., last] = &*inside.lines else { panic!("{:?}", inside.lines) };
            assert!(first.contains(":p >") && last.contains("\"mark\""), "{:?}", inside.lines);
            // What the page left open before its body goes on in every paragraph, ours among them.
            let goes_on = |line: &String| FORMATTING.iter().any(|name| line.contains(&format!(":{name} ")));
            assert!(between.iter().all(goes_on), "{:?}", inside.lines);
            self.sections.push((parent.to_owned(), n));
            return true;
        }
        false
    }

    fn node(&mut self, data: &NodeData, depth: usize) {
        let line = match data {
            NodeData::Element { name, attrs, .. } => {
                let mut attrs: Vec<String> =
                    attrs.borrow().iter().map(|a| format!("{:?}={:?}", a.name.expanded(), &*a.value)).collect();
                attrs.sort();
                format!("<{:?} {}>", name.expanded(), attrs.join(" "))
            }
            NodeData::Comment { contents } => format!("<!--{contents}-->"),
            NodeData::Doctype { name, public_id, system_id } => format!("<!doctype {name} {public_id} {system_id}>"),
            _ => return,
        };
        self.lines.push(format!("{}{line}", " ".repeat(depth)));
    }

    /// Text around one of ours is one text without it.
    fn text(&mut self, text: &mut String, depth: usize) {
        if !text.is_empty() {
            self.lines.push(format!("{}{:?}", " ".repeat(depth), std::mem::take(text)));
        }
    }
}
