//! Plain words from Markdown, and where their sentences end. Linear in whatever a page holds.

use std::borrow::Cow;

use super::markdown;

/// The text of inline Markdown, and how many bytes of it were links.
pub(super) fn text(markdown: &str) -> (String, usize) {
    let mut out = String::with_capacity(markdown.len());
    // Where a `[` was opened, in the output; and which of them turned out to begin a link.
    let mut open: Vec<usize> = Vec::new();
    let mut drop: Vec<usize> = Vec::new();
    let mut links = 0;
    let bytes = markdown.as_bytes();
    let stars_are_marks = stars(markdown) > 1;
    let mut at = 0;
    loop {
        at += ordinary(&markdown[at..], &mut out, |byte| {
            matches!(byte, b'\\' | b'[' | b'!' | b']' | b'`' | b'*' | b'<' | b'_')
        });
        let Some(c) = markdown[at..].chars().next() else { break };
        let next = at + c.len_utf8();
        match c {
            '\\' if bytes.get(next).is_some_and(u8::is_ascii_punctuation) => {
                out.push(char::from(bytes[next]));
                at = next + 1;
                continue;
            }
            '[' => {
                open.push(out.len());
                out.push('[');
            }
            '!' if bytes.get(next) == Some(&b'[') => {}
            ']' => match (open.pop(), target(&bytes[next..])) {
                (Some(begin), Some(len)) => {
                    links += out.len() - begin - 1;
                    drop.push(begin);
                    at = next + len;
                    continue;
                }
                // A link that was cut within its text ends here.
                (None, Some(len)) => {
                    at = next + len;
                    continue;
                }
                _ => out.push(']'),
            },
            '`' => {
                let (ticks, length) = markdown::code(&markdown[at..]);
                if let Some(length) = length {
                    out.push_str(&markdown[at + ticks..at + length - ticks]);
                }
                at += length.unwrap_or(ticks);
                continue;
            }
            '*' if stars_are_marks && !stands_alone(markdown, at, next) => {}
            '<' => match element(&markdown[at..]) {
                Some((length, shown, is_link)) => {
                    out.push_str(shown);
                    links += if is_link { shown.len() } else { 0 };
                    at += length;
                    continue;
                }
                None => out.push('<'),
            },
            '_' if !within_word(markdown, at, next) => {}
            _ => out.push(c),
        }
        at = next;
    }
    if !drop.is_empty() {
        drop.sort_unstable();
        let mut dropped = drop.iter().peekable();
        let mut kept = String::with_capacity(out.len());
        for (index, c) in out.char_indices() {
            if dropped.next_if(|at| **at == index).is_none() {
                kept.push(c);
            }
        }
        out = kept;
    }
    (clean(&out), links)
}

/// Copies a text up to the first mark (an ASCII character), and says how many bytes that was.
pub(super) fn ordinary(text: &str, out: &mut String, is_mark: impl Fn(u8) -> bool) -> usize {
    let length = text.bytes().position(is_mark).unwrap_or(text.len());
    out.push_str(&text[..length]);
    length
}

/// How many runs of stars there are that could begin or end a mark; one alone is a star.
fn stars(markdown: &str) -> usize {
    let bytes = markdown.as_bytes();
    let is_run = |at: usize| at == 0 || !matches!(bytes[at - 1], b'*' | b'\\');
    let runs = (0..bytes.len()).filter(|at| bytes[*at] == b'*' && is_run(*at));
    runs.filter(|at| !stands_alone(markdown, *at, at + 1)).count()
}

/// Is there white space on both sides of a sign?
fn stands_alone(text: &str, at: usize, next: usize) -> bool {
    text[..at].chars().next_back().is_none_or(char::is_whitespace)
        && text[next..].chars().next().is_none_or(char::is_whitespace)
}

/// An element as we write it, or an address in angle brackets: its length, what is shown of it, whether it is a link.
pub(super) fn element(rest: &str) -> Option<(usize, &str, bool)> {
    const ELEMENTS: [(&str, &str); 11] = [
        ("<sup>", "^"),
        ("</sup>", ""),
        ("<sub>", ""),
        ("</sub>", ""),
        ("<br>", " "),
        ("<strong>", ""),
        ("</strong>", ""),
        ("<em>", ""),
        ("</em>", ""),
        ("<del>", "~~"),
        ("</del>", "~~"),
    ];
    if let Some((element, shown)) = ELEMENTS.into_iter().find(|(element, _)| rest.starts_with(element)) {
        return Some((element.len(), shown, false));
    }
    if !rest.starts_with("<https://") && !rest.starts_with("<http://") {
        return None;
    }
    let end = rest.bytes().take(2048).position(|b| b == b'>' || b.is_ascii_whitespace())?;
    rest[end..].starts_with('>').then(|| (end + 1, &rest[1..end], true))
}

/// The length of `(where a link leads)`, if that is what stands here.
pub(super) fn target(rest: &[u8]) -> Option<usize> {
    if rest.first() != Some(&b'(') {
        return None;
    }
    let mut depth = 0;
    for (at, byte) in rest.iter().enumerate().take(2048) {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b'\n' => return None,
            _ => {}
        }
        match depth {
            0 => return Some(at + 1),
            3.. => return None,
            _ => {}
        }
    }
    None
}

fn within_word(text: &str, at: usize, next: usize) -> bool {
    let letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    letter(text[..at].chars().next_back()) && letter(text[next..].chars().next())
}

/// One space between words, and no character that is not seen: controls, directions, joiners, tags.
pub(super) fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split(char::is_whitespace) {
        let before = out.len();
        if before > 0 {
            out.push(' ');
        }
        let begin = out.len();
        out.push_str(&seen(word));
        if out.len() == begin {
            out.truncate(before);
        }
    }
    out
}

/// A text without characters that are not seen; tabs stay.
pub(super) fn seen(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\t')) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|c| *c == '\t' || !is_unseen(*c)).collect())
}

fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Calls `each` with every sentence of a text, none longer than about `longest` bytes.
pub(super) fn sentences(text: &str, longest: usize, each: &mut impl FnMut(&str)) {
    let mut begin = 0;
    let mut chars = text.char_indices().peekable();
    let mut say = |mut sentence: &str| {
        sentence = sentence.trim();
        while !sentence.is_empty() {
            let part = shortened(sentence, longest);
            each(part);
            sentence = sentence[part.len()..].trim();
        }
    };
    while let Some((at, c)) = chars.next() {
        if !matches!(c, '.' | '!' | '?' | '。' | '！' | '？') {
            continue;
        }
        let mut end = at + c.len_utf8();
        while let Some((at, c)) = chars.next_if(|(_, c)| matches!(c, '.' | '!' | '?' | '"' | '”' | '’' | '\'' | ')'))
        {
            end = at + c.len_utf8();
        }
        let full = matches!(c, '。' | '！' | '？');
        let spaced = chars.peek().is_none_or(|(_, c)| c.is_whitespace());
        let next = text[end..].trim_start().chars().next();
        let starts = next.is_none_or(|c| !c.is_lowercase());
        if full || spaced && starts && !(c == '.' && is_abbreviation(&text[begin..at], next)) {
            say(&text[begin..end]);
            begin = end;
        }
    }
    say(&text[begin..]);
}

/// Does a text end in something that a full stop shortens rather than ends?
fn is_abbreviation(text: &str, next: Option<char>) -> bool {
    const KNOWN: [&str; 20] = [
        "e.g", "i.e", "etc", "mr", "mrs", "ms", "dr", "prof", "st", "vs", "approx", "ca", "cf", "fig", "z.b", "d.h",
        "bzw", "p.ex", "inc", "ltd",
    ];
    let word = text.rsplit(char::is_whitespace).next().unwrap_or_default().trim_start_matches(['(', '"', '“']);
    if word.len() > 8 {
        return false;
    }
    let one = word.chars().count() == 1 && word.chars().all(|c| c.is_alphabetic());
    // "1." numbers what follows; "2009." ends a sentence.
    let number = !word.is_empty()
        && word.len() <= 2
        && word.bytes().all(|b| b.is_ascii_digit())
        && text.trim().len() == word.len();
    let numbered = matches!(word, "no" | "No" | "nr" | "Nr") && next.is_some_and(|c| c.is_ascii_digit());
    one || number || numbered || KNOWN.contains(&word.to_lowercase().as_str())
}

/// At most `most` bytes, ending between words where there are any.
pub(super) fn shortened(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let cut = &text[..text.floor_char_boundary(most)];
    let words = cut.rfind(' ').map_or(cut, |at| &cut[..at]);
    if words.len() * 2 < cut.len() { cut } else { words }
}

/// Somebody else's words, marked as such: quotation marks within cannot end the quotation.
pub(super) fn quoted(text: &str) -> String {
    let inner: String = clean(text)
        .chars()
        .map(|c| match c {
            '“' | '„' | '«' => '‘',
            '”' | '»' => '’',
            '"' => '\'',
            c => c,
        })
        .collect();
    // Nor do they become a link.
    format!("“{}”", inner.replace("](", "] ("))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        sentences(text, 480, &mut |sentence| found.push(sentence.to_owned()));
        found
    }

    #[test]
    fn sentences_end_where_people_end_them() {
        assert_eq!(
            split(
                "Yes. It costs 3.50 EUR, e.g. at St. Paul. Really? (No.) He was born in 2009. “Fine!” No. 1.2 is out."
            ),
            [
                "Yes.",
                "It costs 3.50 EUR, e.g. at St. Paul.",
                "Really?",
                "(No.)",
                "He was born in 2009.",
                "“Fine!”",
                "No. 1.2 is out."
            ]
        );
        assert_eq!(split("東京です。大阪です。"), ["東京です。", "大阪です。"]);
    }

    #[test]
    fn markup_goes_and_words_stay() {
        assert_eq!(
            text("**Bold** `code_x` _soft_ [a [b]](/c(d) \"t\") ![img](/i.png) \\*kept\\* a[0]").0,
            "Bold code_x soft a [b] img *kept* a[0]"
        );
        assert_eq!(text("`f[i](x)` `\\d\\.` ```\nmake [a](b)\n```").0, "f[i](x) \\d\\. make [a](b)");
        assert_eq!(text("half of a link](/x) and text").0, "half of a link and text");
        assert_eq!(text("Set server_host_name").0, "Set server_host_name");
    }

    #[test]
    fn numbers_stay_what_they_are() {
        assert_eq!(text("~~100~~ 80 EUR, 10<sup>6</sup> users, H<sub>2</sub>O").0, "~~100~~ 80 EUR, 10^6 users, H2O");
        assert_eq!(text("2*3 is 6, and 2 * 3 * 4 is 24").0, "2*3 is 6, and 2 * 3 * 4 is 24");
        assert_eq!(text("**2 * 3** a<br>b <strong>c.</strong>d").0, "2 * 3 a b c.d");
        assert_eq!(text("<https://a.example/x>, 5 < 6"), ("https://a.example/x, 5 < 6".to_owned(), 19));
    }

    #[test]
    fn what_is_not_seen_is_not_said() {
        assert_eq!(clean("a\u{202e}b\u{200b} \u{e0041}\u{7} c\u{1b}[31m"), "ab c[31m");
    }

    #[test]
    fn somebody_elses_words_stay_within_their_marks() {
        assert_eq!(quoted("a” [b](https://evil.test) \"c\""), "“a’ [b] (https://evil.test) 'c'”");
    }

    #[test]
    fn hostile_markup_takes_linear_time() {
        for text in
            ["[", "](", "](((", "!", "_", "\\", "]", "[](", ".", "<", "<https://", "<sup>", "*", "a*", "`", "`a``b"]
        {
            let page = text.repeat(500_000 / text.len());
            let limit = frontdesk_base::work_limit::WorkLimit::begin(std::time::Duration::from_secs(20));
            _ = super::text(&page);
            sentences(&page, 480, &mut |_| ());
            assert!(!limit.is_over(), "{text}");
        }
    }
}
