//! Passages as they are quoted: Markdown that shows what a page says, and in which none of its text works as markup.
//!
//! An answer is read by models and by people, and what a page says is written by strangers. Links are replaced by their
//! texts, and what the page wrote as text becomes no link, no heading and no HTML. Code stays as it is.

use super::{
    markdown::{self, Fences, Line},
    plain::{element, ordinary, seen, target},
};

/// A passage as it is quoted. `is_within_code`: it begins within code, whose first fence is in an earlier passage.
pub(super) fn passage(passage: &str, is_within_code: bool) -> String {
    let mut out = String::with_capacity(passage.len() + 16);
    let mut fences = if is_within_code { Fences::within() } else { Fences::default() };
    // The line that would close the code that is open.
    let mut closing = is_within_code.then(|| "```".to_owned());
    let mut is_of_earlier = is_within_code;
    out.push_str(if is_within_code { "```\n" } else { "" });
    for (number, line) in passage.lines().enumerate() {
        if out.is_empty() && line.trim().is_empty() {
            continue;
        }
        match fences.read(line) {
            Line::Text => {
                closing = None;
                // A passage holds no heading, but may be cut just before something that looks like one.
                let bare = if number == 0 { line.trim_start() } else { line };
                out.push_str(if bare.starts_with('#') { "\\" } else { "" });
                out.push_str(seen(&inline(bare)).trim_end());
            }
            Line::Opens(fence) => {
                closing = Some(fence);
                out.push_str(seen(line).trim_end());
            }
            Line::Within => out.push_str(seen(line).trim_end()),
            // There was nothing of the code but its last fence.
            Line::Closes if is_of_earlier && number == 0 => {
                (closing, is_of_earlier) = (None, false);
                out.clear();
                continue;
            }
            Line::Closes => {
                closing = None;
                // The first fence is ours, and has no indentation.
                let line = if is_of_earlier { "```" } else { line };
                out.push_str(seen(line).trim_end());
                is_of_earlier = false;
            }
        }
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    // What was cut within code does not swallow what follows.
    if let Some(closing) = closing {
        out.push('\n');
        out.push_str(&closing);
    }
    out
}

/// Plain text, in one line, as Markdown that shows just that.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    loop {
        at += ordinary(&text[at..], &mut out, |byte| matches!(byte, b'(' | b':' | b'<' | b'#'));
        let Some(c) = text[at..].chars().next() else { return out };
        let next = at + c.len_utf8();
        match c {
            '<' if begins_html(&text[next..]) => out.push_str("\\<"),
            '#' if out.trim_start().is_empty() => out.push_str("\\#"),
            _ => push(&mut out, &text[at..next]),
        }
        at = next;
    }
}

/// A line of Markdown with the texts of its links in place of them, and without images.
fn inline(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut open: Vec<usize> = Vec::new();
    let bytes = line.as_bytes();
    let mut at = 0;
    loop {
        let plain = line[at..].bytes().position(|byte| matches!(byte, b'\\' | b'!' | b'[' | b']' | b'`' | b'<'));
        let plain = &line[at..plain.map_or(line.len(), |length| at + length)];
        push(&mut out, plain);
        at += plain.len();
        let Some(c) = line[at..].chars().next() else { return out };
        let next = at + c.len_utf8();
        match c {
            '\\' if bytes.get(next).is_some_and(u8::is_ascii_punctuation) => {
                let mark = char::from(bytes[next]);
                if needs_escape(&out, mark) {
                    out.push('\\');
                }
                push(&mut out, &line[next..=next]);
                at = next + 1;
                continue;
            }
            '`' => {
                let (ticks, length) = markdown::code(&line[at..]);
                match length {
                    Some(length) => out.push_str(&line[at..at + length]),
                    // It does not begin code that ends in a later line, where a link would be code to us alone.
                    None => out.push_str(&"\\`".repeat(ticks)),
                }
                at += length.unwrap_or(ticks);
                continue;
            }
            '<' => match element(&line[at..]) {
                Some((length, ..)) => {
                    out.push_str(&line[at..at + length]);
                    at += length;
                    continue;
                }
                None => out.push_str(if begins_html(&line[next..]) { "\\<" } else { "<" }),
            },
            '!' if bytes.get(next) == Some(&b'[') => {}
            '[' => {
                open.push(out.len());
                out.push('[');
            }
            ']' => match (open.pop(), target(&bytes[next..])) {
                (Some(begin), Some(length)) => {
                    let text = out.split_off(begin);
                    push(&mut out, &text[1..]);
                    at = next + length;
                    continue;
                }
                // A link that was cut within its text ends here.
                (None, Some(length)) => {
                    at = next + length;
                    continue;
                }
                _ => out.push(']'),
            },
            _ => out.push(c),
        }
        at = next;
    }
}

/// Adds text, so that the brackets before it become no link and no definition of one.
fn push(out: &mut String, text: &str) {
    let is_link = text.starts_with('(') || text.starts_with(':') && out.trim_start().starts_with('[');
    if let Some(before) = out.strip_suffix(']').filter(|_| is_link) {
        let (end, slashes) = (before.len(), before.len() - before.trim_end_matches('\\').len());
        if slashes.is_multiple_of(2) {
            out.insert(end, '\\');
        }
    }
    out.push_str(text);
}

/// Whether a mark that is text would be read as markup here.
fn needs_escape(out: &str, mark: char) -> bool {
    match mark {
        '_' => !out.ends_with(char::is_alphanumeric),
        '*' | '`' | '\\' | '<' | '|' => true,
        // They are markup at the beginning of a line only, or behind the marks of an item.
        '#' | '-' | '+' | '>' | '=' | '~' => !out.contains(char::is_alphanumeric),
        '.' | ')' => out.trim_start().bytes().all(|byte| byte.is_ascii_digit()),
        _ => false,
    }
}

/// Whether what follows a `<` makes it HTML.
fn begins_html(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_no_link_and_no_heading() {
        for (page, quoted) in [
            ("See [the list](/l) and ![a plan](/p.png).", "See the list and a plan."),
            (r"See \[this\](https://evil.test/x)", r"See [this\](https://evil.test/x)"),
            (r"\[a\][\(https://evil.test\)](/x) \[b\][c](/y)", r"[a\](https://evil.test) [b]c"),
            ("[a][b] and\n[b]: https://evil.test", "[a][b] and\n[b\\]: https://evil.test"),
            (r"\## Refund policy", r"\## Refund policy"),
            ("## Cut here", r"\## Cut here"),
            (r"1\. No item, C\# and a\-b", r"1\. No item, C# and a-b"),
            (
                "<a href=\"https://evil.test\">x</a> 5 < 6 10<sup>6</sup>",
                "\\<a href=\"https://evil.test\">x\\</a> 5 < 6 10<sup>6</sup>",
            ),
            ("a ` b\n` [x](https://evil.test) `", "a \\` b\n` [x](https://evil.test) `"),
            (r"`a[i](x)\*` f\[i\] snake\_case \*", r"`a[i](x)\*` f[i] snake_case \*"),
        ] {
            assert_eq!(passage(page, false), quoted);
        }
        assert_eq!(
            escaped("# See [this](https://evil.test) <b> a[0] 5 < 6"),
            r"\# See [this\](https://evil.test) \<b> a[0] 5 < 6"
        );
    }

    #[test]
    fn code_stays_and_is_closed() {
        for (page, quoted) in [
            ("- ```\n  x[i](y)\n  ```\n\nAfter [it](/x).", "- ```\n  x[i](y)\n  ```\n\nAfter it."),
            ("````\n```\n[a](b)\n```\n````\n[c](/d)", "````\n```\n[a](b)\n```\n````\nc"),
            ("```x``` is [inline](/x)", "```x``` is inline"),
            ("> ```sh\n> make [a](b)", "> ```sh\n> make [a](b)\n> ```"),
            ("- ~~~~\n  open", "- ~~~~\n  open\n  ~~~~"),
        ] {
            assert_eq!(passage(page, false), quoted);
        }
        assert_eq!(passage("handlers[i](event) \"\\\"\"", true), "```\nhandlers[i](event) \"\\\"\"\n```");
        assert_eq!(passage("    end\n    ```\n\nText [of](/x) it", true), "```\n    end\n```\n\nText of it");
        assert_eq!(passage("    ```\n\n- an item", true), "- an item");
    }
}
