//! From the bytes of a page to text: which encoding a page is in, as browsers find it out.

use std::borrow::Cow;

use crate::page_type;

/// How far into a page a `<meta>` may name its encoding (the HTML standard's prescan).
const PRESCAN_BYTES: usize = 1024;

/// 0x80 to 0x9F in windows-1252; what is not assigned stays a control character.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’',
    '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// The text of a page with this Content-Type: by its byte order mark, else by what the header says, else by its
/// `<meta>`, else UTF-8 if it is valid and windows-1252 if it is not. `None` in any other encoding.
pub fn text<'a>(body: &'a [u8], content_type: &str) -> Option<Cow<'a, str>> {
    if let Some(body) = body.strip_prefix(b"\xef\xbb\xbf") {
        return Some(String::from_utf8_lossy(body));
    }
    if body.starts_with(b"\xff\xfe") || body.starts_with(b"\xfe\xff") {
        return None;
    }
    let named = page_type::charset(content_type).filter(|charset| !charset.is_empty()).map(str::to_owned);
    let Some(named) = named.or_else(|| prescan(body)) else {
        return Some(std::str::from_utf8(body).map_or_else(|_| windows_1252(body), Cow::Borrowed));
    };
    match named.to_ascii_lowercase().as_str() {
        "utf-8" | "utf8" | "unicode-1-1-utf-8" => Some(String::from_utf8_lossy(body)),
        "windows-1252" | "cp1252" | "x-cp1252" | "iso-8859-1" | "iso8859-1" | "iso_8859-1" | "latin1" | "l1"
        | "us-ascii" | "ascii" => Some(windows_1252(body)),
        _ => None,
    }
}

/// What a `<meta charset>` or `<meta http-equiv>` near the top says.
fn prescan(body: &[u8]) -> Option<String> {
    let top = String::from_utf8_lossy(&body[..body.len().min(PRESCAN_BYTES)]).to_ascii_lowercase();
    let mut rest = top.as_str();
    while let Some(at) = rest.find("<meta") {
        let tag = &rest[at..];
        let tag = &tag[..tag.find('>').unwrap_or(tag.len())];
        if let Some(at) = tag.find("charset") {
            let value = tag[at + "charset".len()..].trim_start().strip_prefix('=').unwrap_or("").trim_start();
            let value = value.trim_start_matches(['"', '\'']);
            let end = value.find(|c: char| matches!(c, '"' | '\'' | ';' | '/') || c.is_whitespace());
            let name = &value[..end.unwrap_or(value.len())];
            if !name.is_empty() {
                // A page whose ASCII could be read is not in UTF-16, whatever it says.
                return Some(if name.starts_with("utf-16") { "utf-8" } else { name }.to_owned());
            }
        }
        rest = &rest[at + "<meta".len()..];
    }
    None
}

fn windows_1252(body: &[u8]) -> Cow<'_, str> {
    if body.is_ascii() {
        return String::from_utf8_lossy(body);
    }
    let letter = |&byte: &u8| match byte {
        0x80..=0x9f => WINDOWS_1252[usize::from(byte - 0x80)],
        _ => char::from(byte),
    };
    Cow::Owned(body.iter().map(letter).collect())
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn the_nearest_word_about_the_encoding_counts() {
        let is = |body: &[u8], kind, expected: Option<&str>| assert_eq!(text(body, kind).as_deref(), expected);
        is("é".as_bytes(), "text/html", Some("é"));
        is(b"\xe9\x80", "text/html", Some("é€"));
        is(b"\xe9", "text/html; charset=utf-8", Some("\u{fffd}"));
        is("é".as_bytes(), "text/html; charset=\"UTF-8\"", Some("é"));
        is(b"\xef\xbb\xbf\xc3\xa9", "text/html; charset=latin1", Some("é"));
        is(b"\xff\xfea\0", "text/html", None);
        is(b"a", "text/html; charset=shift_jis", None);
        is(b"<meta charset='ISO-8859-1'>\xc3\xa9", "text/html", Some("<meta charset='ISO-8859-1'>Ã©"));
        is(b"<META content=\"text/html; charset=koi8-r\" http-equiv=Content-Type>", "text/html", None);
        is(b"<meta charset=koi8-r>a", "text/html; charset=utf-8", Some("<meta charset=koi8-r>a"));
        is(b"<meta charset=utf-16>a", "text/html", Some("<meta charset=utf-16>a"));
        is(b"<meta charset>", "text/html", Some("<meta charset>"));
    }
}
