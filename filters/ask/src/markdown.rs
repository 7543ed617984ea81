//! A page's Markdown as blocks: headings, paragraphs, list items, tables, code. Linear in whatever a page holds.

use std::ops::Range;

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// With its level, 1 to 6.
    Heading(u8),
    Prose,
    /// One item of a list, with everything that is indented below it.
    Item,
    Table,
    Code,
}

/// A block, and where it stands in the Markdown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    pub(super) kind: Kind,
    pub(super) range: Range<usize>,
}

/// Cuts Markdown into its blocks, in their order. Nothing but blank lines and rules stands between them.
pub(super) fn blocks(markdown: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut open: Option<Block> = None;
    let mut fences = Fences::default();
    let mut blank = true;
    let mut at = 0;
    for line in markdown.split_inclusive('\n') {
        let range = at..at + line.trim_end().len();
        at += line.len();
        let text = line.trim();
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        let code = fences.read(line);
        if matches!(code, Line::Within | Line::Closes) {
            if let Some(block) = &mut open {
                block.range.end = range.end.max(block.range.end);
            }
            if matches!(code, Line::Closes) && open.as_ref().is_some_and(|block| block.kind == Kind::Code) {
                found.extend(open.take());
            }
            continue;
        }
        if text.is_empty() {
            if !matches!(open, Some(Block { kind: Kind::Item, .. })) {
                found.extend(open.take());
            }
            blank = true;
            continue;
        }
        let inside_item = indent >= 2 && matches!(open, Some(Block { kind: Kind::Item, .. }));
        if matches!(code, Line::Opens(_)) {
            match (&mut open, inside_item) {
                (Some(block), true) => block.range.end = range.end,
                _ => {
                    found.extend(open.take());
                    // Code may be the first thing that an item holds, and stand in a quotation.
                    let kind = match text {
                        _ if text.starts_with('>') => Kind::Prose,
                        _ if item(text).is_some() => Kind::Item,
                        _ => Kind::Code,
                    };
                    open = Some(Block { kind, range });
                }
            }
            blank = false;
            continue;
        }
        if inside_item {
            if let Some(block) = &mut open {
                block.range.end = range.end;
            }
            blank = false;
            continue;
        }
        let kind = match text {
            _ if heading(text).is_some() => Kind::Heading(heading(text).map_or(1, |(level, _)| level)),
            _ if text.starts_with('|') => Kind::Table,
            _ if is_rule(text) => {
                found.extend(open.take());
                blank = true;
                continue;
            }
            _ if item(text).is_some() => Kind::Item,
            _ => Kind::Prose,
        };
        let goes_on = match (&open, kind) {
            (Some(Block { kind: Kind::Table, .. }), Kind::Table) => true,
            // A line that follows an item at once belongs to it.
            (Some(Block { kind: Kind::Prose | Kind::Item, .. }), Kind::Prose) => !blank,
            _ => false,
        };
        match &mut open {
            Some(block) if goes_on => block.range.end = range.end,
            _ => {
                found.extend(open.take());
                let block = Block { kind, range };
                match kind {
                    Kind::Heading(_) => found.push(block),
                    _ => open = Some(block),
                }
            }
        }
        blank = false;
    }
    found.extend(open);
    found
}

/// Level and text of `## A heading`.
pub(super) fn heading(line: &str) -> Option<(u8, &str)> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    // A `#` that is text is written with a backslash.
    let begins = rest.chars().next().is_none_or(|c| c.is_whitespace() || c.is_alphanumeric());
    ((1..=6).contains(&level) && begins).then(|| (level as u8, rest.trim()))
}

/// What a line holds behind the marks of all items that begin in it.
fn item_text(line: &str) -> &str {
    let mut text = line;
    while let Some(inner) = item(text) {
        text = inner;
    }
    text
}

/// The text of `- an item` or `3. an item`.
pub(super) fn item(line: &str) -> Option<&str> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => line.strip_prefix(['-', '*', '+'])?,
        1..=3 => line[digits..].strip_prefix(['.', ')'])?,
        _ => return None,
    };
    rest.strip_prefix(' ').map(str::trim)
}

/// What a line is to the code around it.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    Text,
    /// The first fence of code, with the line that would close it.
    Opens(String),
    Within,
    Closes,
}

/// Follows the fences around code from line to line.
#[derive(Default)]
pub(super) struct Fences {
    open: Option<Fence>,
}

struct Fence {
    mark: &'static str,
    count: usize,
    is_quoted: bool,
}

impl Fences {
    /// In a text that begins within code.
    pub(super) fn within() -> Self {
        Self { open: Some(Fence { mark: "`", count: 3, is_quoted: false }) }
    }

    /// What the next line is.
    pub(super) fn read(&mut self, line: &str) -> Line {
        let text = line.trim();
        let is_quoted = text.starts_with('>');
        // Code in a quotation ends with it.
        if let Some(fence) = self.open.take_if(|fence| !fence.is_quoted || is_quoted) {
            let bare = if fence.is_quoted { unquoted(text) } else { text };
            if bare.len() >= fence.count && bare.trim_start_matches(fence.mark).is_empty() {
                return Line::Closes;
            }
            self.open = Some(fence);
            return Line::Within;
        }
        self.open = None;
        let held = item_text(unquoted(text));
        let Some((mark, count)) = fence_of(held) else { return Line::Text };
        self.open = Some(Fence { mark, count, is_quoted });
        let before = if is_quoted { "> ".to_owned() } else { " ".repeat(line.trim_end().len() - held.len()) };
        Line::Opens(format!("{before}{}", mark.repeat(count)))
    }
}

/// The mark of a fence and how many there are of it.
fn fence_of(text: &str) -> Option<(&'static str, usize)> {
    ["`", "~"].into_iter().find_map(|mark| {
        let rest = text.trim_start_matches(mark);
        let count = text.len() - rest.len();
        (count >= 3 && !rest.contains(mark)).then_some((mark, count))
    })
}

/// A line without the marks of the quotations that it stands in.
fn unquoted(text: &str) -> &str {
    if text.starts_with('>') { text.trim_start_matches(['>', ' ']) } else { text }
}

/// The longest code between marks in a line, and between fences, in bytes.
const CODE: usize = 1_000;
const FENCED: usize = 8_000;

/// The code that begins here: how many marks it begins with, and how long it is with its marks; `None` where nothing ends it.
pub(super) fn code(text: &str) -> (usize, Option<usize>) {
    let bytes = text.as_bytes();
    let run = |at: usize| bytes[at..].iter().take_while(|byte| **byte == b'`').count();
    let ticks = run(0);
    let looked_at = &bytes[..bytes.len().min(if ticks < 3 { CODE } else { FENCED })];
    let mut at = ticks;
    while let Some(next) = looked_at.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'`')) {
        let (begin, count) = (at + next, run(at + next));
        at = begin + count;
        if count == ticks {
            let is_one_line = ticks >= 3 || !text[ticks..begin].contains("\n\n");
            return (ticks, is_one_line.then_some(at));
        }
    }
    (ticks, None)
}

fn is_rule(text: &str) -> bool {
    text.len() >= 3 && text.bytes().all(|b| matches!(b, b'-' | b'*' | b'_' | b' ' | b'='))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(markdown: &str) -> Vec<(Kind, &str)> {
        blocks(markdown).into_iter().map(|block| (block.kind, &markdown[block.range])).collect()
    }

    #[test]
    fn blocks_are_what_markdown_says_they_are() {
        let page = "# One\n\nA line\nand another.\n\n- an item\n  of two lines\n\n  ```\n  # code\n  ```\n- next\n\n| a | b |\n\
                    |---|---|\n| 1 | 2 |\n\n```sh\n# no heading\n\nx\n```\nAfter.\n\n---\n\n3. three\n";
        assert_eq!(
            cut(page),
            [
                (Kind::Heading(1), "# One"),
                (Kind::Prose, "A line\nand another."),
                (Kind::Item, "- an item\n  of two lines\n\n  ```\n  # code\n  ```"),
                (Kind::Item, "- next"),
                (Kind::Table, "| a | b |\n|---|---|\n| 1 | 2 |"),
                (Kind::Code, "```sh\n# no heading\n\nx\n```"),
                (Kind::Prose, "After."),
                (Kind::Item, "3. three"),
            ]
        );
    }

    #[test]
    fn code_may_begin_an_item() {
        let page = "- ```\n  # code\n  ```\n- one\n  - ```\n    # more\n    ```\n\n# A heading\n";
        let [first, second] = ["- ```\n  # code\n  ```", "- one\n  - ```\n    # more\n    ```"];
        assert_eq!(cut(page), [(Kind::Item, first), (Kind::Item, second), (Kind::Heading(1), "# A heading")]);
    }

    #[test]
    fn code_ends_with_as_many_marks_as_it_begins_with() {
        assert_eq!(code("`a` b"), (1, Some(3)));
        assert_eq!(code("``a`b`` c"), (2, Some(7)));
        assert_eq!(code("```sh\n\nmake\n```"), (3, Some(15)));
        assert_eq!(code("`a\n\nb`"), (1, None));
        assert_eq!(code("``a"), (2, None));
    }

    #[test]
    fn code_in_a_quotation_ends_with_it() {
        let page = "> Say:\n>\n> ```\n> # x\n\n# A heading\n";
        assert_eq!(cut(page).last(), Some(&(Kind::Heading(1), "# A heading")));
    }

    #[test]
    fn hostile_pages_are_cut_in_linear_time() {
        for text in ["#", "- \n", "- ", "|", "```\n", "\n", "  x\n", "1. "] {
            let limit = frontdesk_base::work_limit::WorkLimit::begin(std::time::Duration::from_secs(20));
            blocks(&text.repeat(1_000_000 / text.len()));
            assert!(!limit.is_over(), "{text}");
        }
    }
}
