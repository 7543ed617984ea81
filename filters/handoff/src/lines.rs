//! Splits Markdown into lines, and tells code from markup.

/// One line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'t> {
    /// The line number, from 1.
    pub(super) number: usize,
    /// Byte offset of its start.
    pub(super) start: usize,
    /// Byte offset of the next line.
    pub(super) end: usize,
    /// The line without its line ending.
    pub(super) text: &'t str,
    /// The line is code, or a fence.
    pub(super) is_code: bool,
}

/// The lines of a text. An unclosed fence extends to the end (CommonMark §4.5), or to the end of its list item. Every
/// line indented by four columns or more counts as code, even where CommonMark would see a paragraph.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    let mut open = Open::default();
    text.split_inclusive('\n').enumerate().map(move |(index, whole)| {
        let line = whole.trim_end_matches(['\n', '\r']);
        let line = Line { number: index + 1, start, end: start + whole.len(), text: line, is_code: open.is_code(line) };
        start += whole.len();
        line
    })
}

/// The blocks that are open at the start of a line.
#[derive(Default)]
struct Open {
    /// The columns at which the text of the open list items begins (§5.2), outermost first.
    items: Vec<usize>,
    /// The fence's character and length. It belongs to the innermost item.
    fence: Option<(u8, usize)>,
}

impl Open {
    /// Reads the next line; whether it is code.
    fn is_code(&mut self, line: &str) -> bool {
        let (mut at, mut text) = indented(line);
        if text.is_empty() {
            return self.fence.is_some();
        }
        while self.items.pop_if(|begins| at < *begins).is_some() {
            self.fence = None;
        }
        if let Some((mark, length)) = self.fence {
            let closes = |(closing, long, bare)| closing == mark && long >= length && bare;
            if !self.is_deep(at) && fence(text).is_some_and(closes) {
                self.fence = None;
            }
            return true;
        }
        while !self.is_deep(at)
            && let Some(marker) = marker(text)
        {
            let (blanks, rest) = indented(&text[marker..]);
            // An item that begins with code, or is empty, has its text one column after the marker.
            let own = if rest.is_empty() || blanks > 4 { 1 } else { blanks };
            self.items.push(at + marker + own);
            if rest.is_empty() {
                return false;
            }
            (at, text) = (at + marker + blanks, rest);
        }
        if !self.is_deep(at) {
            self.fence = fence(text).map(|(mark, length, _)| (mark, length));
        }
        self.is_deep(at) || self.fence.is_some()
    }

    fn is_deep(&self, at: usize) -> bool {
        at - self.items.last().copied().unwrap_or(0) > 3
    }
}

/// The indentation in columns, and the rest.
fn indented(text: &str) -> (usize, &str) {
    let rest = text.trim_start_matches([' ', '\t']);
    let blanks = text[..text.len() - rest.len()].bytes();
    (blanks.fold(0, |column, blank| if blank == b'\t' { (column / 4 + 1) * 4 } else { column + 1 }), rest)
}

/// The length of a list marker at the start.
fn marker(text: &str) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let marks: &[u8] = if digits == 0 { b"-*+" } else { b".)" };
    let marked = digits <= 9 && text.as_bytes().get(digits).is_some_and(|mark| marks.contains(mark));
    let alone = text.as_bytes().get(digits + 1).is_none_or(|next| matches!(next, b' ' | b'\t'));
    (marked && alone).then_some(digits + 1)
}

/// A fence's character, its length, and whether nothing follows it.
fn fence(text: &str) -> Option<(u8, usize, bool)> {
    let mark = *text.as_bytes().first().filter(|mark| matches!(mark, b'`' | b'~'))?;
    let length = text.bytes().take_while(|byte| *byte == mark).count();
    let rest = &text[length..];
    (length >= 3 && !(mark == b'`' && rest.contains('`'))).then(|| (mark, length, rest.trim().is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_told_from_the_rest() {
        let text = "a\r\n```md\n# b\n``\n````\n# c\n~~~ x\n```\n~~~\nd";
        let code: Vec<bool> = lines(text).map(|line| line.is_code).collect();
        assert_eq!(code, [false, true, true, true, true, false, true, true, true, false]);
        assert_eq!(lines(text).last().map(|line| (line.number, line.text, line.end)), Some((10, "d", text.len())));
        assert!(lines("``` a`b\nx").all(|line| !line.is_code), "that is code within a line");
        assert_eq!(lines("").count(), 0);
    }

    #[test]
    fn what_is_indented_too_far_is_code_and_in_items_of_lists_that_is_further() {
        let code = |text: &str| -> String { lines(text).map(|line| if line.is_code { 'c' } else { '.' }).collect() };
        for (text, which) in [
            ("    ```\nx\n\tx\n   x", "c.c."),
            ("- a\n  b\n    c\n\n      d\n  e\nf\n    g", "....c..c"),
            ("- a\n\n  ```\n  b\n\n  ```\nc", "..cccc."),
            ("- ```\n  a\nb", "cc."),
            ("12) a\n\n    ```\n    b\n    ```\n    c\nd", "..ccc.."),
            ("- a\n  - b\n\n    ~~~\n    c\n    ~~~\n    d\n  e", "...ccc.."),
            ("- a\n\n      ```\n      b\n      ```", "..ccc"),
            ("-     a\n  b\n-\n  ```\n  c", "c..cc"),
            ("-a\n    b\n1.a\n1234567890. a\n    b", ".c..c"),
        ] {
            assert_eq!(code(text), which, "{text}");
        }
    }
}
