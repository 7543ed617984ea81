//! Decodes a page: detects its encoding as browsers do.

use std::borrow::Cow;

use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

use crate::page_type;

/// How many bytes of a page are searched for a `<meta>` with the encoding (the HTML standard's prescan).
const PRESCAN_BYTES: usize = 1024;

/// The text of a page with this Content-Type: by its byte order mark, else by what the header says, else by its
/// `<meta>`, else UTF-8 if it is valid and windows-1252 if it is not. A name that no browser knows says nothing. `None`:
/// an encoding that browsers refuse, because its bytes may hide markup (the Encoding standard's "replacement").
pub fn text<'a>(body: &'a [u8], content_type: &str) -> Option<Cow<'a, str>> {
    decoded(body, content_type).map(|(text, _)| text)
}

/// The same, and the encoding that it was in.
pub fn decoded<'a>(body: &'a [u8], content_type: &str) -> Option<(Cow<'a, str>, &'static Encoding)> {
    if let Some((encoding, length)) = Encoding::for_bom(body) {
        return Some((encoding.decode_without_bom_handling(&body[length..]).0, encoding));
    }
    let named = page_type::charset(content_type).and_then(|charset| Encoding::for_label(charset.as_bytes()));
    let encoding = match named.or_else(|| prescan(body)) {
        Some(encoding) if encoding == REPLACEMENT => return None,
        Some(encoding) => encoding,
        None if std::str::from_utf8(body).is_ok() => UTF_8,
        None => WINDOWS_1252,
    };
    Some((encoding.decode_without_bom_handling(body).0, encoding))
}

/// The encoding in the first `<meta charset>` or `<meta http-equiv>` near the top that names one.
fn prescan(body: &[u8]) -> Option<&'static Encoding> {
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
            match Encoding::for_label(name.as_bytes()) {
                // A page whose `<meta>` is readable as ASCII is not in UTF-16, whatever it says.
                Some(encoding) if encoding == UTF_16LE || encoding == UTF_16BE => return Some(UTF_8),
                Some(encoding) if encoding == X_USER_DEFINED => return Some(WINDOWS_1252),
                Some(encoding) => return Some(encoding),
                None => {}
            }
        }
        rest = &rest[at + "<meta".len()..];
    }
    None
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
        is("é".as_bytes(), "text/html; charset=klingon", Some("é"));
        is(b"\xe9", "text/html; charset=none", Some("é"));
        is(b"<meta charset=koi8-r>\xd7", "text/html; charset=klingon", Some("<meta charset=koi8-r>в"));
        is(b"<meta charset=x><meta charset=koi8-r>\xd7", "text/html", Some("<meta charset=x><meta charset=koi8-r>в"));
        is(b"<meta charset=x-user-defined>\xe9", "text/html", Some("<meta charset=x-user-defined>é"));
        is(b"<meta charset=hz-gb-2312>a", "text/html", None);
        is(b"a", "text/html; charset=iso-2022-kr", None);
        is(b"<meta charset='ISO-8859-1'>\xc3\xa9", "text/html", Some("<meta charset='ISO-8859-1'>Ã©"));
        is(
            b"<META content=\"text/html; charset=koi8-r\" http-equiv=Content-Type>\xd7",
            "text/html",
            Some("<META content=\"text/html; charset=koi8-r\" http-equiv=Content-Type>в"),
        );
        is(b"<meta charset=koi8-r>a", "text/html; charset=utf-8", Some("<meta charset=koi8-r>a"));
        is(b"<meta charset=utf-16>a", "text/html", Some("<meta charset=utf-16>a"));
        is(b"<meta charset>", "text/html", Some("<meta charset>"));
    }

    #[test]
    fn every_encoding_of_browsers_is_read() {
        for (charset, body, expected) in [
            ("Shift_JIS", &b"\x93\xfa\x96{"[..], "日本"),
            ("gb2312", b"\xd6\xd0\xce\xc4", "中文"),
            ("gb18030", b"\xd6\xd0\xce\xc4", "中文"),
            ("euc-kr", b"\xc7\xd1\xb1\xdb", "한글"),
            ("big5", b"\xa4\xa4\xa4\xe5", "中文"),
            ("euc-jp", b"\xc6\xfc\xcb\xdc", "日本"),
            ("iso-2022-jp", b"\x1b$BF|K\\\x1b(B", "日本"),
            ("koi8-r", b"\xc4\xc1", "да"),
            ("windows-1251", b"\xe4\xe0", "да"),
            ("iso-8859-15", b"\xa4", "€"),
            ("macintosh", b"\x8e", "é"),
            ("utf-16le", b"\xe9\0", "é"),
            ("utf-16be", b"\0\xe9", "é"),
        ] {
            let kind = format!("text/html; charset={charset}");
            assert_eq!(text(body, &kind).as_deref(), Some(expected), "{charset}");
            if !charset.starts_with("utf-16") {
                let page = [format!("<meta charset={charset}>").as_bytes(), body].concat();
                let read = text(&page, "text/html").unwrap();
                assert!(read.ends_with(expected), "{charset}: {read}");
            }
        }
        assert_eq!(text(b"\xff\xfe\xe9\0", "text/html").as_deref(), Some("é"));
        assert_eq!(text(b"\xfe\xff\0\xe9", "text/html; charset=koi8-r").as_deref(), Some("é"));
    }
}
