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

use super::page::{Coding, FormMark, FormMarker, Insertion, Link, Outcome, Position, Rewriter, Why};

const NOTICE: &str = "<div class=\"ours\"><p>mark</p></div>";
/// An element that may stand anywhere and changes nothing around it, where a `<div>` would end a paragraph.
const NEUTRAL: &str = "<template class=\"ours\"></template>";
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
    for position in [Position::Start, Position::End] {
        let ours = Ours { notice: NOTICE, position };
        let whole = ours.rewritten(page, page.len().max(1));
        judge(page, &before, &whole, position);
        if !page.is_empty() {
            assert_eq!(ours.packed(page), whole, "{} as gzip, at once", shown(page));
        }
        // Forms are looked for, and there is none: the page leaves as it would without that.
        for size in [size, page.len().max(1)] {
            let looked = ours.run(ours.rewriter(Coding::Identity).marking(marker()), page, size);
            if position == Position::Start && memchr::memmem::find(page, b"ahp-notice").is_some() {
                judge(page, &before, &looked, position);
            } else {
                assert_eq!(looked.1, whole.1, "{} with forms, in pieces of {size}", shown(page));
                assert_eq!(shown(&looked.0), shown(&whole.0), "with forms, in pieces of {size}");
            }
        }
        for size in [1, size] {
            let pieces = ours.rewritten(page, size);
            // How far from the body's start a notice of the site's own is looked for depends on what has come.
            if position == Position::Start && memchr::memmem::find(page, b"ahp-notice").is_some() {
                judge(page, &before, &pieces, position);
            } else {
                assert_eq!(pieces.1, whole.1, "{} in pieces of {size}", shown(page));
                assert_eq!(shown(&pieces.0), shown(&whole.0), "{} in pieces of {size}", shown(page));
            }
        }
    }
}

/// Of a page that leaves nothing open: the notice is the last element of its body.
#[cfg(test)]
pub fn stands_last(page: &[u8]) {
    let (out, outcome) = Ours { notice: NOTICE, position: Position::End }.rewritten(page, page.len());
    assert_eq!(outcome, Outcome::Inserted, "{}", shown(page));
    let dom = parsed(&out);
    let is =
        |node: &Handle, wanted: &str| matches!(&node.data, NodeData::Element { name, .. } if &*name.local == wanted);
    let child = |node: &Handle, wanted: &str| {
        node.children.borrow().iter().find(|node| is(node, wanted)).cloned().expect("an element")
    };
    let body = child(&child(&dom.document, "html"), "body");
    let elements = body.children.borrow();
    let last = elements.iter().rev().find(|node| matches!(node.data, NodeData::Element { .. })).expect("an element");
    let NodeData::Element { attrs, .. } = &last.data else { unreachable!() };
    assert!(attrs.borrow().iter().any(|a| &*a.value == "ours"), "{}", shown(&out));
}

fn shown(page: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(page))
}

fn link(rel: &str) -> String {
    format!("<link rel=\"{rel}\" href=\"/ours\">")
}

struct Ours {
    notice: &'static str,
    position: Position,
}

impl Ours {
    fn rewriter(&self, coding: Coding) -> Rewriter {
        let insertion = Insertion {
            notice: Bytes::from_static(self.notice.as_bytes()),
            position: self.position,
            links: RELATIONS.map(|rel| Link { rel: rel.to_owned(), html: Bytes::from(link(rel)) }).to_vec(),
            markdown: true,
            script: Bytes::new(),
            forms: Vec::new(),
        };
        Rewriter::new(coding, Arc::new(insertion)).of_page(Bytes::from_static(MARKDOWN.as_bytes()))
    }

    /// The page as it leaves of one that came as gzip, all of it at once.
    fn packed(&self, page: &[u8]) -> (Vec<u8>, Outcome) {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(page).expect("room");
        let body = encoder.finish().expect("room");
        let mut rewriter = self.rewriter(Coding::Gzip);
        let left = rewriter.at_once(&body).expect("short enough").expect("a sound coding");
        let mut out = Vec::new();
        MultiGzDecoder::new(&left[..]).read_to_end(&mut out).expect("gzip");
        (out, rewriter.outcome())
    }

    /// The page as it leaves, fed in pieces of this size.
    fn rewritten(&self, page: &[u8], size: usize) -> (Vec<u8>, Outcome) {
        self.run(self.rewriter(Coding::Identity), page, size)
    }

    fn run(&self, mut rewriter: Rewriter, page: &[u8], size: usize) -> (Vec<u8>, Outcome) {
        let mut out = Vec::new();
        for piece in page.chunks(size) {
            let left = rewriter.feed(Bytes::copy_from_slice(piece)).expect("no coding to be broken");
            out.extend_from_slice(&left.joined());
        }
        out.extend_from_slice(&rewriter.finish().expect("no coding to be broken"));
        (out, rewriter.outcome())
    }
}

/// Marks a form that no page has.
fn marker() -> FormMarker {
    let mark = FormMark { page: "/".into(), action: "/no/such/action".into(), ..FormMark::default() };
    FormMarker::new(vec![mark], Some("utf-8"))
}

fn judge(page: &[u8], before: &Tree, (out, outcome): &(Vec<u8>, Outcome), position: Position) {
    let shown = || format!("{}\n{}\n{outcome:?}", shown(page), shown(out));
    // Byte by byte the page is what it was.
    let links: Vec<String> = RELATIONS.map(link).into_iter().chain([MARKDOWN.to_owned()]).collect();
    let mut rest = out.clone();
    for ours in links.iter().map(String::as_str).chain([NOTICE]) {
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
    match (outcome, position) {
        (Outcome::Inserted, Position::End) => judge_end(page, before, out),
        _ => assert_eq!(before.lines, after.lines, "{}", shown()),
    }
    let in_head = after.links.iter().all(|parent| parent == "head");
    assert!(in_head, "{}", shown());
    let all = RELATIONS.iter().all(|rel| after.relations.iter().any(|own| own.eq_ignore_ascii_case(rel)));
    match outcome {
        Outcome::Inserted => {
            match position {
                Position::Start => assert_eq!(after.notices, [("body".to_owned(), 0)], "{}", shown()),
                Position::End => assert_eq!(after.notices.len(), 1, "{}", shown()),
            }
            assert!(all, "{}", shown());
        }
        Outcome::OwnNotice => {
            assert!(after.notices.is_empty() && all && (before.own_notice || before.frameset), "{}", shown());
        }
        Outcome::Frameset => assert!(after.notices.is_empty() && all && before.frameset, "{}", shown()),
        Outcome::Fragment => assert_eq!(out, page),
        Outcome::GaveUp(Why::Unfinished | Why::Doubt | Why::WideEncoding | Why::HugeMarkup | Why::Limit) => {
            assert!(after.notices.is_empty(), "{}", shown());
        }
        Outcome::GaveUp(Why::NotAsDeclared) | Outcome::Pending => panic!("{}", shown()),
    }
}

/// The notice stands where a parser takes the body to end, and changes nothing around it.
fn judge_end(page: &[u8], before: &Tree, out: &[u8]) {
    let shown = || format!("{}\n{}", shown(page), shown(out));
    let ours = Ours { notice: NEUTRAL, position: Position::End };
    let (neutral, _) = ours.rewritten(page, page.len().max(1));
    assert_eq!(before.lines, Tree::of(&neutral).lines, "{}", shown());

    let at = memchr::memmem::find(out, NOTICE.as_bytes()).expect("a notice");
    let rest = &out[at + NOTICE.len()..];
    let at = page.len() - rest.len();
    let ends_name = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ' | b'/' | b'>');
    let begins = |text: &[u8], tag: &[u8]| {
        text.get(tag.len()).is_some_and(ends_name) && text[..tag.len()].eq_ignore_ascii_case(tag)
    };
    let is_end = |text: &[u8]| begins(text, b"</body") || begins(text, b"</html");
    if is_end(rest) {
        assert!(ends_body(page, at), "no end of the body: {}", shown());
    } else {
        assert!(matches!(rest, b"" | b"<" | b"</"), "neither an end tag nor the end of the page: {}", shown());
    }
    for earlier in (0..at).filter(|&earlier| is_end(&page[earlier..])) {
        assert!(!ends_body(page, earlier), "an earlier end of the body, at {earlier}: {}", shown());
    }
}

/// Does a parser take a `</body>` there for the end of the body? Then a comment after it is none of the body's, once SVG
/// and MathML that are open have ended.
fn ends_body(page: &[u8], at: usize) -> bool {
    let page = &page[..at];
    let begun = |tag: &[u8]| page.windows(tag.len()).filter(|text| text.eq_ignore_ascii_case(tag)).count();
    let most = (begun(b"<svg") + begun(b"<math")).min(5);
    let orders = (0..=most).flat_map(|count| (0..1u32 << count).map(move |order| (count, order)));
    orders.into_iter().any(|(count, order)| {
        let end = |n: usize| if order & 1 << n == 0 { "</svg>" } else { "</math>" };
        let ends: String = (0..count).map(end).collect();
        let probe = [page, b"</body>", ends.as_bytes(), b"<!--ours-->"].concat();
        Tree::of(&probe).lines.last().is_some_and(|line| line == " <!--ours-->")
    })
}

fn parsed(page: &[u8]) -> RcDom {
    // The parser would take a mark of the byte order for the beginning of the text wherever it goes on.
    let page = page.strip_prefix(b"\xef\xbb\xbf").unwrap_or(page);
    let tokenizer = TokenizerOpts { discard_bom: false, ..TokenizerOpts::default() };
    let options = ParseOpts { tokenizer, ..ParseOpts::default() };
    parse_document(RcDom::default(), options).from_utf8().one(page)
}

/// The tree as lines, our elements left out and counted by where they stand.
#[derive(Default)]
struct Tree {
    lines: Vec<String>,
    notices: Vec<(String, usize)>,
    links: Vec<String>,
    /// Of all links, ours among them.
    relations: Vec<String>,
    frameset: bool,
    own_notice: bool,
}

impl Tree {
    fn of(page: &[u8]) -> Tree {
        let dom = parsed(page);
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
        if &*name.local == "template" && of("class").as_deref() == Some("ours") {
            return true;
        }
        if html && &*name.local == "div" && attrs.len() == 1 && of("class").as_deref() == Some("ours") {
            let mut inside = Tree::default();
            inside.walk(element, 0, "div");
            let [first, between @ .., last] = &*inside.lines else { panic!("{:?}", inside.lines) };
            assert!(first.contains(":p >") && last.contains("\"mark\""), "{:?}", inside.lines);
            // What the page left open before its body goes on in every paragraph, ours among them.
            let goes_on = |line: &String| FORMATTING.iter().any(|name| line.contains(&format!(":{name} ")));
            assert!(between.iter().all(goes_on), "{:?}", inside.lines);
            self.notices.push((parent.to_owned(), n));
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
