//! Where words end, as o200k has it: letters with the sign before them and an `'s` after them, a new word where small
//! letters are followed by capitals, up to three digits, runs of signs, runs of space.
//!
//! In the regular expression of the original, alternatives in this order:
//!
//! ```text
//! [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//! \p{N}{1,3}
//! ␣?[^\s\p{L}\p{N}]+[\r\n/]*
//! \s*[\r\n]+
//! \s+(?!\S)
//! \s+
//! ```

use regex_syntax::hir::{Class, HirKind};

/// `\p{Lu}\p{Lt}`.
const UPPER: u8 = 1;
/// `\p{Ll}`.
const LOWER: u8 = 2;
/// `\p{Lm}\p{Lo}`: letters without case.
const CASELESS: u8 = 4;
/// `\p{M}`: what is written onto letters.
const MARK: u8 = 8;
/// `\p{N}`.
const NUMBER: u8 = 16;
/// `\s` but for line ends.
const SPACE: u8 = 32;
/// `[\r\n]`.
const LINE_END: u8 = 64;

const LETTER: u8 = UPPER | LOWER | CASELESS;
/// The characters of the first part of a word, and of the second.
const HEAD: u8 = UPPER | CASELESS | MARK;
const TAIL: u8 = LOWER | CASELESS | MARK;

/// The class of every character; 0 is any other sign.
pub(super) struct Words(Vec<u8>);

impl Words {
    pub(super) fn load() -> Self {
        let mut classes = vec![0; char::MAX as usize + 1];
        let patterns = [
            (r"[\p{Lu}\p{Lt}]", UPPER),
            (r"\p{Ll}", LOWER),
            (r"[\p{Lm}\p{Lo}]", CASELESS),
            (r"\p{M}", MARK),
            (r"\p{N}", NUMBER),
            (r"\s", SPACE),
        ];
        for (pattern, class) in patterns {
            let parsed = regex_syntax::parse(pattern).expect("the tables of Unicode are compiled in");
            let HirKind::Class(Class::Unicode(set)) = parsed.into_kind() else { unreachable!("{pattern} is a class") };
            for range in set.ranges() {
                classes[range.start() as usize..=range.end() as usize].fill(class);
            }
        }
        classes[usize::from(b'\r')] = LINE_END;
        classes[usize::from(b'\n')] = LINE_END;
        Self(classes)
    }

    /// The length of the first word of a text, which is not empty.
    pub(super) fn end(&self, text: &str) -> usize {
        let text = Text { text, classes: &self.0 };
        let Some((first, after)) = text.class(0) else { return 0 };
        let lead = first & (LETTER | NUMBER | LINE_END) == 0;
        let word = (lead.then(|| text.small_word(after)).flatten())
            .or_else(|| text.small_word(0))
            .or_else(|| lead.then(|| text.capitals(after)).flatten())
            .or_else(|| text.capitals(0));
        if let Some(end) = word {
            return end + contraction(&text.text.as_bytes()[end..]);
        }
        if first & NUMBER != 0 {
            return text.number(after);
        }
        text.signs().unwrap_or_else(|| text.space())
    }
}

struct Text<'a> {
    text: &'a str,
    classes: &'a [u8],
}

impl Text<'_> {
    /// The class of the character here, and its length; `None` at the end.
    fn class(&self, at: usize) -> Option<(u8, usize)> {
        match *self.text.as_bytes().get(at)? {
            ascii @ 0..0x80 => Some((self.classes[usize::from(ascii)], 1)),
            _ => {
                let char = self.text[at..].chars().next()?;
                Some((self.classes[char as usize], char.len_utf8()))
            }
        }
    }

    /// The end of a run of characters of these classes.
    fn run(&self, mut at: usize, classes: u8) -> usize {
        while let Some((class, len)) = self.class(at)
            && class & classes != 0
        {
            at += len;
        }
        at
    }

    /// `HEAD*TAIL+`: as many as possible match HEAD, but a TAIL must follow.
    fn small_word(&self, start: usize) -> Option<usize> {
        let mut at = start;
        let mut both = None;
        while let Some((class, len)) = self.class(at) {
            if class & LOWER != 0 {
                return Some(self.run(at, TAIL));
            }
            if class & HEAD == 0 {
                break;
            }
            at += len;
            if class & TAIL != 0 {
                both = Some(at);
            }
        }
        both
    }

    /// `HEAD+TAIL*` where there is no tail.
    fn capitals(&self, start: usize) -> Option<usize> {
        let end = self.run(start, HEAD);
        (end > start).then_some(end)
    }

    /// Up to two more digits.
    fn number(&self, mut at: usize) -> usize {
        for _ in 0..2 {
            match self.class(at) {
                Some((class, len)) if class & NUMBER != 0 => at += len,
                _ => break,
            }
        }
        at
    }

    /// Signs, with one space before and line ends or slashes after them.
    fn signs(&self) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let begin = usize::from(bytes.first() == Some(&b' '));
        let mut at = begin;
        while let Some((class, len)) = self.class(at)
            && class & !MARK == 0
        {
            at += len;
        }
        let tail = bytes[at..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n' | b'/')).count();
        (at > begin).then_some(at + tail)
    }

    /// Space up to its last line end, or without its last character if a word follows, which takes that one.
    fn space(&self) -> usize {
        let (mut at, mut last, mut line) = (0, 0, None);
        while let Some((class, len)) = self.class(at)
            && class & (SPACE | LINE_END) != 0
        {
            last = at;
            at += len;
            if class == LINE_END {
                line = Some(at);
            }
        }
        match line {
            Some(line) => line,
            None if at < self.text.len() && last > 0 => last,
            None => at,
        }
    }
}

/// The length of an `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d` here, in any case.
fn contraction(rest: &[u8]) -> usize {
    let Some((b'\'', rest)) = rest.split_first() else { return 0 };
    match rest {
        [b's' | b'S' | b't' | b'T' | b'm' | b'M' | b'd' | b'D', ..] => 2,
        // The long s, another case of s.
        [0xc5, 0xbf, ..] => 3,
        [b'r' | b'R' | b'v' | b'V', b'e' | b'E', ..] | [b'l' | b'L', b'l' | b'L', ..] => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_where_the_original_ends_them() {
        let words = Words::load();
        for (text, expected) in [
            ("a'\u{17f}'doju", vec!["a'\u{17f}", "'doju"]),
            ("XMLHttp it'S 12345", vec!["XMLHttp", " it'S", " ", "123", "45"]),
            ("x  y \n\n z!\n/ ", vec!["x", " ", " y", " \n\n", " z", "!\n/", " "]),
            ("\u{301}AB\u{301}C", vec!["\u{301}AB\u{301}", "C"]),
        ] {
            let mut found = Vec::new();
            let mut rest = text;
            while !rest.is_empty() {
                let word;
                (word, rest) = rest.split_at(words.end(rest));
                found.push(word);
            }
            assert_eq!(found, expected);
        }
    }
}
