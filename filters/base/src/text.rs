//! Shared helpers: display of bytes and text, and parsing of header fields.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName};
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};

/// All lines of a list field as one (RFC 9110 §5.3). Lines that are not text are skipped.
pub fn joined(headers: &HeaderMap, name: HeaderName) -> Option<Cow<'_, str>> {
    let mut lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    let first = lines.next()?;
    let Some(second) = lines.next() else { return Some(first.into()) };
    Some([first, second].into_iter().chain(lines).collect::<Vec<_>>().join(", ").into())
}

/// Letters without accents, as in `cerrar-sesion`. Combining accents are dropped as well.
pub fn without_accents(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let (mut plain, mut on_latin) = (String::with_capacity(text.len()), false);
    for c in DecomposingNormalizerBorrowed::new_nfkd().normalize_iter(text.chars()) {
        let is_accent = matches!(c, '\u{300}'..='\u{36f}');
        match c {
            _ if is_accent && on_latin => continue,
            'ß' | 'ẞ' => plain.push_str("ss"),
            'æ' | 'Æ' => plain.push_str("ae"),
            'œ' | 'Œ' => plain.push_str("oe"),
            'ł' | 'Ł' => plain.push('l'),
            'ø' | 'Ø' => plain.push('o'),
            'đ' | 'Đ' => plain.push('d'),
            'ı' => plain.push('i'),
            other => plain.push(other),
        }
        on_latin = c.is_ascii_alphabetic();
    }
    // Recompose the characters of other scripts.
    Cow::Owned(ComposingNormalizerBorrowed::new_nfc().normalize_iter(plain.chars()).collect())
}

/// The trimmed value of a field that may occur once.
///
/// # Errors
///
/// The field occurs more than once, or is not text.
pub fn once<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, NotOnce> {
    let mut lines = headers.get_all(name).iter();
    match (lines.next().map(|line| line.to_str()), lines.next()) {
        (None, _) => Ok(None),
        (Some(Ok(line)), None) => Ok(Some(line.trim())),
        _ => Err(NotOnce(name.clone())),
    }
}

/// A field that should occur once as text does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotOnce(pub(crate) HeaderName);

impl std::fmt::Display for NotOnce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "The header {} has to be there once, as text.", self.0)
    }
}

/// In lower-case hex digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    // Hex digits are ASCII.
    String::from_utf8(digits.collect()).unwrap_or_default()
}

/// Decodes hex digits of either case.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::try_from(digit(pair[0])? * 16 + digit(*pair.get(1)?)?).ok()).collect()
}

/// The first characters of a text.
pub fn clip(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end])
}

/// The same, with an ellipsis where text was cut.
pub fn shortened(text: &str, characters: usize) -> String {
    let begin = clip(text, characters);
    if begin.len() < text.len() { format!("{begin}…") } else { begin.to_owned() }
}

/// The same within the limit, ellipsis included.
pub fn fitted(text: &str, characters: usize) -> String {
    if text.chars().nth(characters).is_none() {
        return text.to_owned();
    }
    let begin = clip(text, characters.saturating_sub(1)).trim_end();
    if characters == 0 { String::new() } else { format!("{begin}…") }
}

/// Escapes text for HTML, between tags or in a quoted attribute.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

/// The first position of this byte outside quoted strings (RFC 9110 §5.6.4), or the length.
pub fn outside_quotes(text: &str, wanted: u8) -> usize {
    // Most fields contain no quotes.
    let Some(first) = memchr::memchr2(wanted, b'"', text.as_bytes()) else { return text.len() };
    let (mut quoted, mut escaped) = (false, false);
    let found = text.bytes().skip(first).position(|byte| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            byte if byte == wanted && !quoted => return true,
            _ => {}
        }
        false
    });
    found.map_or(text.len(), |found| first + found)
}

/// The parts of a list; quoted strings are not split.
pub fn parts(list: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(list);
    std::iter::from_fn(move || {
        let all = rest?;
        let end = outside_quotes(all, separator);
        rest = all.get(end + 1..);
        Some(&all[..end])
    })
}

/// The text inside the quotes, if there are any. Escapes are kept.
pub fn unquoted(text: &str) -> &str {
    let text = text.strip_prefix('"').unwrap_or(text);
    text.strip_suffix('"').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_is_read_as_it_is_written() {
        assert_eq!(hex(&[0, 0x1f, 0xa0, 0xff]), "001fa0ff");
        assert_eq!(unhex("001fA0ff"), Some(vec![0, 0x1f, 0xa0, 0xff]));
        for wrong in ["0", "001", "0g", "ä"] {
            assert_eq!(unhex(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(clip("äöü", 2), "äö");
        assert_eq!(clip("ab", 2), "ab");
        let fits = [("ab", 2, "ab"), ("äöü", 2, "ä…"), ("a bc", 3, "a…"), ("a", 0, ""), ("", 0, ""), ("ab", 1, "…")];
        for (text, characters, expected) in fits {
            assert_eq!(fitted(text, characters), expected);
        }
        assert_eq!(shortened("äöü", 2), "äö…");
        assert_eq!(shortened("äö", 2), "äö");
    }

    #[test]
    fn what_is_quoted_is_not_taken_apart() {
        let of = |list| parts(list, b',').collect::<Vec<_>>();
        assert_eq!(of("a,\"b,\\\",c\",,d"), ["a", "\"b,\\\",c\"", "", "d"]);
        assert_eq!(of(""), [""]);
        assert_eq!(of("a\\,b\"c,d"), ["a\\", "b\"c,d"]);
        assert_eq!([unquoted("\"a\\\"\""), unquoted("\""), unquoted("a")], ["a\\\"", "", "a"]);
    }

    #[test]
    fn nothing_in_html_ends_a_tag_or_an_attribute() {
        assert_eq!(escaped("<a title='\"&\"'>"), "&lt;a title=&#39;&quot;&amp;&quot;&#39;&gt;");
    }
}
