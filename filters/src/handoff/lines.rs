//! A Markdown file line by line: what is code is no markup.

/// One line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'t> {
    /// From 1.
    pub(super) number: usize,
    /// Where it begins, in bytes.
    pub(super) start: usize,
    /// Where the next one begins.
    pub(super) end: usize,
    /// Without its end.
    pub(super) text: &'t str,
    /// It is fenced code, or a fence.
    pub(super) is_code: bool,
}

/// The lines of a text. A fence that nobody closes reaches to the end (CommonMark §4.5).
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    let mut fence: Option<(u8, usize)> = None;
    text.split_inclusive('\n').enumerate().map(move |(index, whole)| {
        let line = whole.trim_end_matches(['\n', '\r']);
        let is_code = match (fence, fence_of(line)) {
            (Some((mark, length)), Some((closing, long, bare))) if closing == mark && long >= length && bare => {
                fence = None;
                true
            }
            (Some(_), _) => true,
            (None, Some((mark, length, _))) => {
                fence = Some((mark, length));
                true
            }
            (None, None) => false,
        };
        let line = Line { number: index + 1, start, end: start + whole.len(), text: line, is_code };
        start += whole.len();
        line
    })
}

/// What a fence is made of, how long it is, and whether nothing follows it.
fn fence_of(line: &str) -> Option<(u8, usize, bool)> {
    let text = line.trim_start_matches(' ');
    let mark = *text.as_bytes().first().filter(|mark| matches!(mark, b'`' | b'~'))?;
    let length = text.bytes().take_while(|byte| *byte == mark).count();
    let rest = &text[length..];
    let opens = length >= 3 && line.len() - text.len() <= 3 && !(mark == b'`' && rest.contains('`'));
    opens.then(|| (mark, length, rest.trim().is_empty()))
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
        assert!(lines("    ```\nx").all(|line| !line.is_code), "indented too far");
        assert!(lines("``` a`b\nx").all(|line| !line.is_code), "that is code within a line");
        assert_eq!(lines("").count(), 0);
    }
}
