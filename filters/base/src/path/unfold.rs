//! Decodes a path repeatedly until nothing changes, and maps each character to the plain one that a site could read.
//!
//! It covers percent-encoding (repeated, nested, `%uXXXX`), overlong UTF-8, letter case, compatibility forms
//! (fullwidth, Kelvin sign, ligatures) and invisible characters.

use icu_normalizer::{ComposingNormalizerBorrowed, uts46::Uts46MapperBorrowed};

/// Maximum rounds. A mapped character (a fullwidth percent sign) can complete a new escape.
const ROUNDS: usize = 8;

/// The plainest text that a path can stand for. NUL stays, because it ends a path for sites written in C.
pub(super) fn unfold(path: &str) -> String {
    if path.is_ascii() && !path.contains('%') {
        return plain_ascii(path);
    }
    let mut text = plain(&decode(path.as_bytes()));
    for _ in 1..ROUNDS {
        if !text.contains('%') {
            break;
        }
        let next = plain(&decode(text.as_bytes()));
        if next == text {
            break;
        }
        text = next;
    }
    text
}

/// Replaces all escapes, including those that a replacement creates. One pass: only the last output can complete one.
fn decode(path: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(path.len());
    for byte in path {
        decoded.push(*byte);
        while replace_last_escape(&mut decoded) {}
    }
    decoded
}

/// Replaces an escape at the end of the bytes; returns whether there was one.
fn replace_last_escape(bytes: &mut Vec<u8>) -> bool {
    if let Some(code) = code_after(bytes, b"%", 2) {
        bytes.truncate(bytes.len() - 3);
        bytes.extend(u8::try_from(code));
        return true;
    }
    // The form that Microsoft's servers accept.
    let Some(code) = code_after(bytes, b"%u", 4).or_else(|| code_after(bytes, b"%U", 4)) else { return false };
    bytes.truncate(bytes.len() - 6);
    if let Some(character) = char::from_u32(code) {
        bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
    true
}

/// The number in this many hex digits at the end of `bytes`, preceded by `mark`.
fn code_after(bytes: &[u8], mark: &[u8], digits: usize) -> Option<u32> {
    let (rest, number) = bytes.split_at_checked(bytes.len().checked_sub(digits)?)?;
    if !rest.ends_with(mark) {
        return None;
    }
    number.iter().try_fold(0, |code, digit| Some(code * 16 + char::from(*digit).to_digit(16)?))
}

fn plain(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => plain_ascii(text),
        _ => plain_characters(bytes),
    }
}

fn plain_ascii(text: &str) -> String {
    text.chars().filter(|c| !is_dropped(*c)).map(|c| c.to_ascii_lowercase()).collect()
}

fn plain_characters(bytes: &[u8]) -> String {
    let (compatible, mapper) = (ComposingNormalizerBorrowed::new_nfkc(), Uts46MapperBorrowed::new());
    let folded = characters(bytes).filter(|c| !is_dropped(*c)).flat_map(|c| {
        let (first, second) = match c {
            // Their capitals are I and SS.
            'ı' | 'İ' => ('i', None),
            'ß' | 'ẞ' => ('s', Some('s')),
            // As Windows maps them for programs without Unicode.
            '\u{2215}' | '\u{2044}' | '\u{29f8}' => ('/', None),
            '\u{2216}' | '\u{29f5}' | '\u{29f9}' => ('\\', None),
            other => (other, None),
        };
        [Some(first), second].into_iter().flatten()
    });
    // Compatibility forms first: the mapping would replace some of them (two dots in one character) with U+FFFD.
    let compatible = compatible.normalize_iter(folded).collect::<Vec<char>>();
    mapper
        .map_normalize(compatible.into_iter())
        .filter(|c| *c != char::REPLACEMENT_CHARACTER && !is_dropped(*c))
        .collect()
}

/// Characters that some sites drop: control characters except NUL, and invisible joiners and separators.
fn is_dropped(c: char) -> bool {
    c != '\0' && (c.is_control() || matches!(c, '\u{200c}' | '\u{200d}'))
}

/// Decodes as a careless decoder would: accepts overlong forms and skips invalid bytes.
fn characters(bytes: &[u8]) -> impl Iterator<Item = char> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(first) = bytes.get(at) {
            let (length, bits) = match first {
                0..=0x7f => (1, u32::from(*first)),
                0xc0..=0xdf => (2, u32::from(first & 0x1f)),
                0xe0..=0xef => (3, u32::from(first & 0x0f)),
                0xf0..=0xf7 => (4, u32::from(first & 0x07)),
                _ => (0, 0),
            };
            let rest = bytes.get(at + 1..at + length).unwrap_or_default();
            if length == 0 || rest.len() + 1 != length || rest.iter().any(|byte| byte & 0xc0 != 0x80) {
                at += 1;
                continue;
            }
            at += length;
            let code = rest.iter().fold(bits, |code, byte| code << 6 | u32::from(byte & 0x3f));
            if let Some(character) = char::from_u32(code) {
                return Some(character);
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_word_unfolds_to_it() {
        for spelling in [
            "/holds",
            "/HoLdS",
            "/%68olds",
            "/%2568olds",
            "/%25%36%38olds",
            "/%25252568olds",
            "/%%36%38olds",
            "/%u0068olds",
            "/%U0068olds",
            "/%u0025%36%38olds",
            "/%c1%a8olds",
            "/%e0%81%a8olds",
            "/%f0%80%81%a8olds",
            "/%c0%a568olds",
            "/ｈolds",
            "/ＨＯＬＤＳ",
            "/％68olds",
            "/hold%C5%BF",
            "/ⓗolds",
            "/𝐡olds",
            "/ho\u{200b}lds",
            "/ho\u{200c}lds",
            "/ho%c2%adlds",
            "/ho\u{feff}lds",
            "/ho\u{fe0f}lds",
            "/ho\u{202e}lds",
            "/ho%01lds",
            "/ho%09lds",
            "/ho%fflds",
            "/ho%ed%a0%80lds",
        ] {
            assert_eq!(unfold(spelling), "/holds", "{spelling}");
        }
        assert_eq!(unfold("/%E2%84%AAey"), "/key");
        assert_eq!(unfold("/ﬁle%00.html"), "/file\0.html");
        assert_eq!(unfold("/FILİS/Straße/ı"), "/filis/strasse/i");
        assert_eq!(unfold("／a＼b？c；d．．e"), "/a\\b?c;d..e");
        assert_eq!(unfold("∕a%e2%81%84b⧸c∖d/½"), "/a/b/c\\d/1\u{2044}2");
    }

    #[test]
    fn other_words_stay_apart() {
        for (path, plain) in [
            ("/%zz/%2", "/%zz/%2"),
            ("/100%", "/100%"),
            ("/%E6%97%A5%E6%9C%AC", "/日本"),
            ("/caf%C3%A9", "/café"),
            ("/%u12", "/%u12"),
            ("", ""),
        ] {
            assert_eq!(unfold(path), plain, "{path}");
        }
    }

    /// The work grows with a path's length and not with its square.
    #[test]
    fn a_long_path_of_nested_escapes_is_read_at_once() {
        let nested = format!("/%{}68", "25".repeat(400_000));
        assert_eq!(unfold(&nested), "/h");
    }
}
