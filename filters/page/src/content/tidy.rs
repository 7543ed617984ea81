//! The last strokes on what the writer wrote: code in links, and no more empty lines than Markdown needs.

use super::code::{CODE_BEGINS, CODE_ENDS};

/// Stands for an ampersand in a link; a letter that stands for nothing in any text.
pub(super) const AMPERSAND: &str = "\u{fdd2}";

/// Tidies Markdown, and gives it a heading if it has none of the first level.
pub(super) fn tidy(written: &str, title: Option<&str>) -> String {
    let mut text = String::with_capacity(written.len() + 64);
    let mut fence: Option<usize> = None;
    let mut headed = false;
    let mut blank = true;
    for line in written.lines() {
        let inner = line.trim_start_matches([' ', '>']);
        let ticks = inner.len() - inner.trim_start_matches('`').len();
        let code = fence.is_some();
        fence = match fence {
            // Only a line of ticks as long as the first ends it.
            Some(opened) if ticks >= opened && inner.trim_end().len() == ticks => None,
            None if ticks >= 3 && !inner[ticks..].contains('`') => Some(ticks),
            fence => fence,
        };
        if code || fence.is_some() {
            text.push_str(line);
            text.push('\n');
            blank = false;
            continue;
        }
        headed |= line.starts_with("# ");
        let kept = line.trim_end();
        if kept.is_empty() {
            if !blank {
                text.push('\n');
            }
            blank = true;
            continue;
        }
        blank = false;
        push_line(&mut text, kept);
        // Two spaces are a line's end within a paragraph.
        if line.ends_with("  ") {
            text.push_str("  ");
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    if text.is_empty() {
        return text;
    }
    text.push('\n');
    match title {
        Some(title) if !headed => format!("# {}\n\n{text}", escaped(title)),
        _ => text,
    }
}

/// Writes the marks of code in a link as code.
fn push_line(text: &mut String, line: &str) {
    let line = line.replace(AMPERSAND, "&");
    let mut rest = line.as_str();
    while let Some(at) = rest.find([CODE_BEGINS, CODE_ENDS]) {
        text.push_str(&rest[..at]);
        let mark = rest[at..].chars().next().unwrap_or(CODE_ENDS);
        rest = &rest[at + mark.len_utf8()..];
        let Some(end) = rest.find([CODE_BEGINS, CODE_ENDS]) else { continue };
        if mark != CODE_BEGINS || !rest[end..].starts_with(CODE_ENDS) {
            continue;
        }
        text.push('`');
        // In code a backslash is one.
        let mut letters = rest[..end].chars().peekable();
        while let Some(letter) = letters.next() {
            let escapes = letter == '\\' && letters.peek().is_some_and(char::is_ascii_punctuation);
            text.push(if escapes { letters.next().unwrap_or(letter) } else { letter });
        }
        text.push('`');
        rest = &rest[end + CODE_ENDS.len_utf8()..];
    }
    text.push_str(rest);
}

fn escaped(title: &str) -> String {
    let mut out = String::with_capacity(title.len());
    for letter in title.chars() {
        if matches!(letter, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '|') {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::tidy;

    #[test]
    fn code_keeps_its_empty_lines_and_text_does_not() {
        let written = "a  \nb  \n\n\n\n> ```rust\n> x\n>\n>\n> ```\n   \n\n````\n\n\n```\n````\n\n\nc";
        let tidied = "# T\n\na  \nb  \n\n> ```rust\n> x\n>\n>\n> ```\n\n````\n\n\n```\n````\n\nc\n";
        assert_eq!(tidy(written, Some("T")), tidied);
        assert_eq!(tidy("# A\n", Some("T")), "# A\n");
        assert_eq!(tidy("\n \n", Some("T")), "");
        assert_eq!(tidy("```\n# A\n```", Some("*T*")), "# \\*T\\*\n\n```\n# A\n```\n");
    }

    #[test]
    fn code_in_a_link_is_code() {
        let marked = "[see \u{fdd0}a\\_b\\\\\u{fdd1}](x) \u{fdd1}stray\u{fdd0}";
        assert_eq!(tidy(marked, None), "[see `a_b\\`](x) stray\n");
    }
}
