//! Writes a prepared tree as CommonMark with GitHub's tables, struck-through text and task lists.
//!
//! The tree is walked without recursion: containers lie in each other only so deep ([`super::prune`]), and everything
//! else is flat: blocks, and what stands in a line.

mod blocks;
mod code_block;
mod escape;
mod inline;
mod list;
mod table;

use std::time::Duration;

use dom_query::NodeRef;
use frontdesk_base::work_limit::WorkLimit;

use self::{
    blocks::Blocks,
    inline::{Line, Mark, Piece},
    list::List,
};
use super::{
    math,
    walk::{attribute, collapsed, has_word, name},
};

pub(super) use escape::plain;

/// How much CPU time writing may take: some forty times what the largest page takes. Beyond it, the page goes out as HTML.
const LONGEST: Duration = Duration::from_secs(if cfg!(debug_assertions) { 40 } else { 2 });

/// Elements that begin a paragraph and end one.
const BLOCKS: [&str; 35] = [
    "address",
    "article",
    "aside",
    "body",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "form",
    "header",
    "hgroup",
    "html",
    "legend",
    "li",
    "main",
    "menu",
    "p",
    "search",
    "section",
    "summary",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "blockquote",
    "ul",
];

/// The Markdown of what lies below `root`; `None` where it is longer than `most` bytes, or takes too long to write.
pub(super) fn markdown(root: &NodeRef<'_>, most: usize) -> Option<String> {
    written_within(WorkLimit::begin(LONGEST), root, most)
}

fn written_within(limit: WorkLimit, root: &NodeRef<'_>, most: usize) -> Option<String> {
    let mut writer = Writer::new(Shape::Blocks, most, limit);
    writer.walk(root)?;
    writer.flush();
    (writer.blocks.len() <= most).then(|| writer.blocks.finish())
}

/// What becomes of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Blocks,
    /// One line: breaks between them.
    Cell,
}

enum Step<'a> {
    Enter(NodeRef<'a>),
    /// The element ends.
    Leave(NodeRef<'a>, End),
}

/// What is to be done at an element's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Block,
    Heading,
    Mark,
    Container,
    List,
    Tag(&'static str),
    Quote,
}

struct Writer {
    shape: Shape,
    most: usize,
    limit: WorkLimit,
    blocks: Blocks,
    pieces: Vec<Piece>,
    /// What is open around the place that is written; a link is named once.
    marks: Vec<(Mark, bool)>,
    heading: Option<usize>,
    lists: Vec<List>,
}

impl Writer {
    fn new(shape: Shape, most: usize, limit: WorkLimit) -> Writer {
        Writer {
            shape,
            most,
            limit,
            blocks: Blocks::default(),
            pieces: Vec::new(),
            marks: Vec::new(),
            heading: None,
            lists: Vec::new(),
        }
    }

    fn walk(&mut self, root: &NodeRef<'_>) -> Option<()> {
        let mut stack = Vec::new();
        push_children(&mut stack, root);
        while let Some(step) = stack.pop() {
            if self.blocks.len() > self.most || self.limit.is_over() {
                return None;
            }
            match step {
                Step::Enter(node) => self.enter(node, &mut stack)?,
                Step::Leave(node, end) => self.leave(&node, end),
            }
        }
        Some(())
    }

    fn enter<'a>(&mut self, node: NodeRef<'a>, stack: &mut Vec<Step<'a>>) -> Option<()> {
        if node.is_text() {
            self.pieces.push(Piece::Text(node.text().to_string()));
            return Some(());
        }
        if !node.is_element() {
            return Some(());
        }
        let called = name(&node);
        let end = match called.as_str() {
            "br" => {
                self.pieces.push(if self.heading.is_some() { Piece::Text(" ".into()) } else { Piece::Break });
                return Some(());
            }
            "hr" => {
                self.boundary();
                if self.shape == Shape::Blocks && self.heading.is_none() {
                    self.blocks.write("---");
                }
                return Some(());
            }
            "img" => {
                self.image(&node);
                return Some(());
            }
            "input" => {
                self.checkbox(&node);
                return Some(());
            }
            "math" => {
                let formula = math::formula(&node).map(|formula| match formula {
                    math::Formula::Tex(tex) => tex,
                    math::Formula::Line(line) => plain(&line),
                });
                self.pieces.extend(formula.map(Piece::Raw));
                return Some(());
            }
            "pre" => {
                self.code_block(&node);
                return Some(());
            }
            "code" => {
                self.pieces.push(Piece::Code(node.text().to_string()));
                return Some(());
            }
            "table" if self.shape == Shape::Blocks && self.heading.is_none() => {
                self.flush();
                return self.table(&node);
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" if self.shape == Shape::Blocks && self.heading.is_none() => {
                self.flush();
                self.heading = called[1..].parse().ok();
                End::Heading
            }
            "blockquote" if self.is_free() => {
                self.flush();
                self.blocks.open("> ", "> ");
                End::Container
            }
            "ul" | "ol" | "menu" if self.is_free() => {
                self.list(&node, called == "ol");
                End::List
            }
            "li" if self.is_free() && !self.lists.is_empty() => {
                self.item(&node);
                End::Container
            }
            "dd" if self.is_free() => {
                self.flush();
                self.blocks.open("- ", "  ");
                End::Container
            }
            // A term, and what is shown of something folded, told apart from what follows.
            "dt" | "summary" if self.is_free() && !has_strong(&node) => {
                self.flush();
                self.open(Mark::Strong);
                End::Mark
            }
            block if BLOCKS.contains(&block) || block.starts_with('h') && block.len() == 2 => {
                self.boundary();
                End::Block
            }
            "b" | "strong" => {
                self.open(Mark::Strong);
                End::Mark
            }
            "i" | "em" => {
                self.open(Mark::Em);
                End::Mark
            }
            "del" | "s" | "strike" => {
                self.open(Mark::Del);
                End::Mark
            }
            "a" if node.has_attr("href") => {
                self.open(Mark::Link(attribute(&node, "href").unwrap_or_default().into()));
                End::Mark
            }
            "sup" | "sub" if !is_one_link(&node) && !collapsed(&node.text()).is_empty() => {
                let (opens, closes) = if called == "sup" { ("<sup>", "</sup>") } else { ("<sub>", "</sub>") };
                self.pieces.push(Piece::Tag(opens));
                End::Tag(closes)
            }
            "q" => {
                self.pieces.push(Piece::Text("“".into()));
                End::Quote
            }
            _ => {
                push_children(stack, &node);
                return Some(());
            }
        };
        stack.push(Step::Leave(node, end));
        push_children(stack, &node);
        Some(())
    }

    fn leave(&mut self, node: &NodeRef<'_>, end: End) {
        match end {
            End::Block => self.boundary(),
            End::Heading => {
                self.flush();
                self.heading = None;
            }
            End::Mark => {
                if self.marks.pop().is_some_and(|(_, open)| open) {
                    self.pieces.push(Piece::Close);
                }
                if matches!(name(node).as_str(), "dt" | "summary") {
                    self.boundary();
                }
            }
            End::Container => {
                self.flush();
                self.blocks.close();
            }
            End::List => {
                self.flush();
                self.lists.pop();
                self.blocks.list_ended();
            }
            End::Tag(tag) => self.pieces.push(Piece::Tag(tag)),
            End::Quote => self.pieces.push(Piece::Text("”".into())),
        }
    }

    /// May blocks be written here?
    fn is_free(&self) -> bool {
        self.shape == Shape::Blocks && self.heading.is_none()
    }

    fn open(&mut self, mark: Mark) {
        self.pieces.push(Piece::Open(mark.clone()));
        self.marks.push((mark, true));
    }

    /// Between two blocks: a paragraph ends, or one word does.
    fn boundary(&mut self) {
        match (self.shape, self.heading) {
            (Shape::Blocks, None) => self.flush(),
            (Shape::Cell, _) => self.pieces.push(Piece::Break),
            (Shape::Blocks, Some(_)) => self.pieces.push(Piece::Text(" ".into())),
        }
    }

    /// Writes the paragraph or heading that is under way. What is open goes on after it.
    fn flush(&mut self) {
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.extend(self.marks.iter().filter(|(_, open)| *open).map(|_| Piece::Close));
        let line = if self.heading.is_some() { Line::Heading } else { Line::Paragraph };
        let written = inline::written(&pieces, line);
        if !written.is_empty() {
            let text = match self.heading {
                Some(level) => format!("{} {written}", "#".repeat(level)),
                None => written,
            };
            self.blocks.write(&text);
            let has_words = pieces.iter().any(|piece| match piece {
                Piece::Text(text) | Piece::Code(text) => text.chars().any(char::is_alphanumeric),
                _ => false,
            });
            for (mark, open) in &mut self.marks {
                *open &= !(has_words && matches!(mark, Mark::Link(_)));
            }
        }
        self.pieces.extend(self.marks.iter().filter(|(_, open)| *open).map(|(mark, _)| Piece::Open(mark.clone())));
    }

    fn image(&mut self, node: &NodeRef<'_>) {
        let Some(source) = attribute(node, "src").filter(|source| !source.is_empty()) else { return };
        let alt = collapsed(&attribute(node, "alt").unwrap_or_default());
        self.pieces.push(Piece::Raw(format!("![{}]({})", escape::in_brackets(&alt), escape::address(&source))));
    }

    /// A box to tick is written in an item of a list alone, where it is part of a list of tasks.
    fn checkbox(&mut self, node: &NodeRef<'_>) {
        let in_item = node.ancestors_it(Some(4)).any(|around| name(&around) == "li");
        if has_word(node, "type", &["checkbox"]) && in_item && self.shape == Shape::Blocks {
            self.pieces.push(Piece::Raw(if node.has_attr("checked") { "[x] " } else { "[ ] " }.to_owned()));
        }
    }
}

fn push_children<'a>(stack: &mut Vec<Step<'a>>, node: &NodeRef<'a>) {
    stack.extend(node.children_it(true).map(Step::Enter));
}

fn has_strong(node: &NodeRef<'_>) -> bool {
    node.descendants_it()
        .any(|below| matches!(name(&below).as_str(), "b" | "strong" | "h1" | "h2" | "h3" | "h4" | "pre"))
}

/// Is it a link and nothing else: the number of a note?
fn is_one_link(node: &NodeRef<'_>) -> bool {
    let mut children = node.children_it(false).filter(|child| !child.is_text() || !child.text().trim().is_empty());
    matches!((children.next(), children.next()), (Some(link), None) if name(&link) == "a" && link.has_attr("href"))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use dom_query::Document;

    use super::*;

    #[test]
    fn what_takes_too_long_is_given_up() {
        let document = Document::from("<p>Some <b>words</b>.</p><table><tr><td>a</td></tr></table>");
        let root = document.root();
        assert!(written_within(WorkLimit::begin(LONGEST), &root, 1_000).is_some());
        let used_up = WorkLimit::begin(Duration::ZERO);
        assert_eq!(written_within(used_up, &root, 1_000), None);
    }

    /// Each takes as long for each byte as any other text; what is looked for again from every place would take hours.
    #[test]
    fn text_that_looks_like_marks_everywhere_is_written_in_one_go() {
        for unit in ["*_[](", "a", "\\(a_{1}^{2}\\) $$x$$ ", "\\(a $", "](", "`", "~~*", "<b>x</b>", "<i>*</i>_"] {
            let html = format!("<p>{}", unit.repeat(400_000 / unit.len()));
            let document = Document::from(html);
            let began = Instant::now();
            let written = markdown(&document.root(), 4_000_000).expect("Markdown");
            assert!(began.elapsed() < Duration::from_secs(20), "{unit}: {:?}", began.elapsed());
            assert!(written.len() >= 40_000, "{unit}: {}", written.len());
        }
    }
}
