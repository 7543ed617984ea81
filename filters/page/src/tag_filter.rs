//! The quick way through a body: which `<` may begin something that decides where the body ends, and is it really
//! markup?
//!
//! Nearly every tag of a body decides nothing, and its end is of no interest either. So the scan jumps from `<` to `<`,
//! looks at two letters, and goes on. What it skips so may have been a `<` within an attribute's value; only where
//! something that matters seems to begin has the scan to know that it is not within a tag. [`place`] tells that: nearly
//! always from the last few bytes before, else by reading every tag since the last place that was known.

use memchr::{memchr, memchr_iter, memrchr};

use super::{
    names::Name,
    tag::{Tag, Walk, is_space},
};

/// Elements whose start tag changes what the bytes after it mean, or whether `</body>` counts.
const STARTS: [&str; 18] = [
    "applet",
    "frameset",
    "iframe",
    "marquee",
    "math",
    "noembed",
    "noframes",
    "noscript",
    "object",
    "plaintext",
    "script",
    "select",
    "style",
    "svg",
    "table",
    "template",
    "textarea",
    "title",
];
/// `xmp` stands apart: no other name begins with its letter.
const XMP: &str = "xmp";
/// Elements whose end tag does.
const ENDS: [&str; 8] = ["applet", "body", "html", "marquee", "object", "select", "table", "template"];

/// For each first letter the second ones, a bit each.
type Pairs = [u32; 256];

static START_PAIRS: Pairs = {
    let mut pairs = pairs(&STARTS);
    let xmp = XMP.as_bytes();
    pairs[xmp[0] as usize] |= bit(xmp[1]);
    pairs[xmp[0].to_ascii_uppercase() as usize] |= bit(xmp[1]);
    // Comments, CDATA, and what is read as a comment.
    pairs[b'!' as usize] = u32::MAX;
    pairs[b'?' as usize] = u32::MAX;
    pairs
};
static END_PAIRS: Pairs = {
    let mut pairs = pairs(&ENDS);
    let mut byte = 0;
    while byte < 256 {
        // What is no end tag is read as a comment.
        if !(byte as u8).is_ascii_alphabetic() {
            pairs[byte] = u32::MAX;
        }
        byte += 1;
    }
    pairs
};

const fn pairs(names: &[&str]) -> Pairs {
    let (mut pairs, mut n) = ([0; 256], 0);
    while n < names.len() {
        let name = names[n].as_bytes();
        pairs[name[0] as usize] |= bit(name[1]);
        pairs[name[0].to_ascii_uppercase() as usize] |= bit(name[1]);
        n += 1;
    }
    pairs
}

/// The bit of a letter, in any case. The last bit stands for everything that is no letter.
#[inline(always)]
const fn bit(letter: u8) -> u32 {
    let n = (letter | 0x20).wrapping_sub(b'a');
    if n < 26 { 1 << n } else { 1 << 31 }
}

/// The next `<` from `from` on, outside of SVG and MathML, that may begin something that matters.
#[inline]
pub(super) fn next(text: &[u8], from: usize) -> Option<usize> {
    memchr_iter(b'<', &text[from..]).map(|n| from + n).find(|&at| may_matter(&text[at..]))
}

#[inline(always)]
fn may_matter(text: &[u8]) -> bool {
    match *text {
        [_, b'/', first, second, ..] => END_PAIRS[first as usize] & bit(second) != 0 && matters(text, 2, first),
        [_, first, second, ..] if first != b'/' => {
            START_PAIRS[first as usize] & bit(second) != 0 && matters(text, 1, first)
        }
        // At the end of what is there nothing can be said yet.
        _ => true,
    }
}

/// By the whole name, where the first two letters are those of a name that matters.
#[cold]
fn matters(text: &[u8], from: usize, first: u8) -> bool {
    if !first.is_ascii_alphabetic() {
        return true;
    }
    let Some(len) = text[from..].iter().position(|&byte| is_space(byte) || byte == b'/' || byte == b'>') else {
        return true;
    };
    let name = Name::of(&text[from..from + len]);
    if from == 2 { name.matters_at_end() } else { name.is_raw() || name.matters_at_start() }
}

/// What stands at a place in a body.
#[derive(Debug, PartialEq)]
pub(super) enum Place {
    /// Text, or the beginning of markup.
    Text,
    /// The inside of a tag that begins at `from`, and ends before `end` if its end is there.
    Tag { from: usize, end: Option<usize> },
}

/// What stands at `at`, if `known` is text and nothing between them begins anything but tags?
pub(super) fn place(text: &[u8], known: usize, at: usize) -> Place {
    if surely_text(&text[known..at]) {
        return Place::Text;
    }
    let mut from = known;
    while let Some(n) = memchr(b'<', &text[from..at]) {
        from += n;
        match text[from..] {
            [_, b'/', b, ..] | [_, b, ..] if b.is_ascii_alphabetic() => match tag_len(&text[from..]) {
                Some(len) if from + len <= at => from += len,
                len => return Place::Tag { from, end: len.map(|len| from + len) },
            },
            _ => from += 1,
        }
    }
    Place::Text
}

/// Is the end of `text`, which begins as text and holds nothing but text and tags, surely text again?
///
/// The last `>` ends every tag but one in whose quoted value it stands. A `"` must have begun that value and none may
/// have come since: so it was the last `"`, and it came after a `=` and white space. The same holds for `'`.
#[inline]
fn surely_text(text: &[u8]) -> bool {
    let Some(last) = memrchr(b'<', text) else { return true };
    let Some(n) = memrchr(b'>', &text[last..]) else { return false };
    let before = &text[..last + n];
    let begins_value = |quote: usize| before[..quote].iter().rev().find(|&&b| !is_space(b)) == Some(&b'=');
    !memrchr(b'"', before).is_some_and(begins_value) && !memrchr(b'\'', before).is_some_and(begins_value)
}

fn tag_len(text: &[u8]) -> Option<usize> {
    Tag::plain(text).map(|tag| tag.bytes.len()).or_else(|| Walk::new(text[1] == b'/').end(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_matters_is_found_and_few_others() {
        for name in STARTS.iter().chain(&[XMP]) {
            for written in [format!("a<b><{name}>"), format!("a<b><{} x", name.to_uppercase())] {
                assert_eq!(next(written.as_bytes(), 0), Some(4), "{written}");
            }
        }
        for name in ENDS {
            for written in [format!("a</b></{name}>"), format!("a</b></{}\n", name.to_uppercase())] {
                assert_eq!(next(written.as_bytes(), 0), Some(5), "{written}");
            }
        }
        for name in ["a", "p", "div", "span", "strong", "section", "main", "time", "td", "tbody", "br", "h1", "nav"] {
            let written = format!("<{name}><{name} class=\"x\">.</{name}> 1 < 2 <3 ");
            assert_eq!(next(written.as_bytes(), 0), None, "{written}");
        }
        for written in ["<!--x", "<!doctype x>", "<?php", "</ x", "</>", "<", "</", "<s", "</b", "</bo"] {
            assert_eq!(next(written.as_bytes(), 0), Some(0), "{written}");
        }
    }

    #[test]
    fn what_stands_within_a_tag_is_told_from_text() {
        for (before, text) in [
            ("", true),
            ("plain = \"", true),
            ("<p>", true),
            ("<p class=\"x\">it's \"so\"", true),
            ("<p class=\"x>", false),
            ("<p class='x>\"", false),
            ("<p class='\"'>", true),
            ("<p class=\"'\">", true),
            ("<p class='x\">", false),
            ("<a b=\"<i>\">c", true),
            ("<a b=\"<i>", false),
            ("<a b=\"<i x='y'>", false),
            ("<a b=\"<i x='y'>\">", true),
            ("<a b = \" x\"><i>", true),
            ("<a b=c\"><i>", true),
            ("<a x=>=\">", true),
            ("<a", false),
            ("<a b", false),
            ("1 < 2", true),
            ("<a>x = '<b>", true),
        ] {
            let page = format!("{before}</body>");
            let seen = place(page.as_bytes(), 0, before.len());
            assert_eq!(seen == Place::Text, text, "{before}: {seen:?}");
        }
        assert_eq!(place(b"<i><a b='<svg>'>x", 0, 9), Place::Tag { from: 3, end: Some(16) });
        assert_eq!(place(b"<i><a b='<svg>", 0, 9), Place::Tag { from: 3, end: None });
    }
}
