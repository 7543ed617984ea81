//! Decides from header values whether a response is a page that may be rewritten.

use crate::media::essence;

/// Charsets, or prefixes of their names, in which markup has its ASCII bytes.
const ASCII_COMPATIBLE: [&str; 25] = [
    "utf-8",
    "utf8",
    "us-ascii",
    "ascii",
    "ansi_x3.4-1968",
    "iso-8859-",
    "iso8859-",
    "iso_8859-",
    "latin",
    "l1",
    "windows-",
    "cp125",
    "x-cp125",
    "gbk",
    "gb2312",
    "gb18030",
    "x-gbk",
    "big5",
    "shift_jis",
    "shift-jis",
    "sjis",
    "x-sjis",
    "euc-",
    "koi8-",
    "tis-620",
];

/// Whether a response of this Content-Type is a page that may be rewritten.
///
/// XHTML is left alone, because it is XML and any error breaks it. So is a charset that is not known to keep ASCII
/// bytes.
pub fn is_page(content_type: &str) -> bool {
    essence(content_type).eq_ignore_ascii_case("text/html")
        && charset(content_type).is_none_or(|charset| charset.is_empty() || ascii_compatible(charset))
}

/// The charset of a Content-Type. Of a repeated parameter the first counts.
pub fn charset(content_type: &str) -> Option<&str> {
    content_type
        .split(';')
        .skip(1)
        .filter_map(|part| part.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))
        .map(|(_, value)| value.trim().trim_matches(['"', '\'']).trim())
}

/// Whether markup has its ASCII bytes in this charset; no for an unknown one.
pub fn ascii_compatible(charset: &str) -> bool {
    let charset = charset.to_ascii_lowercase();
    ASCII_COMPATIBLE.iter().any(|known| match known.strip_suffix('-') {
        Some(_) => charset.starts_with(known) && charset.len() > known.len(),
        None if matches!(*known, "latin" | "cp125" | "x-cp125" | "big5") => charset.starts_with(known),
        None => charset == *known,
    })
}

/// Whether one of these Cache-Control values forbids a proxy to change the body.
pub fn no_transform<'a>(cache_control: impl IntoIterator<Item = &'a str>) -> bool {
    cache_control
        .into_iter()
        .flat_map(|value| value.split(','))
        .any(|directive| directive.trim().eq_ignore_ascii_case("no-transform"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_may_be_touched() {
        for yes in [
            "text/html",
            "Text/HTML; charset=UTF-8",
            "text/html;charset=\"utf-8\"",
            "text/html; charset=",
            "text/html; level=1; charset=iso-8859-15",
            "text/html; charset=windows-1252",
            "text/html; charset=gb18030",
            "text/html; charset=Shift_JIS",
            "text/html; charset=EUC-JP",
            "text/html; charset=koi8-r",
            "text/html; charset=big5-hkscs",
        ] {
            assert!(is_page(yes), "{yes}");
        }
        for no in [
            "",
            "text/plain",
            "text/html2",
            "application/xhtml+xml",
            "text/html; charset=utf-16",
            "text/html; charset=UTF-16LE",
            "text/html; charset=utf-32",
            "text/html; charset=utf-7",
            "text/html; charset=iso-2022-jp",
            "text/html; charset=hz-gb-2312",
            "text/html; charset=ebcdic-cp-us",
            "text/html; charset=cp037",
            "text/html; charset=x-unheard-of",
            "text/html, text/html",
        ] {
            assert!(!is_page(no), "{no}");
        }
    }

    #[test]
    fn a_directive_not_a_substring() {
        assert!(no_transform(["max-age=1", "public, No-Transform"]));
        assert!(!no_transform(["x-no-transform", "max-age=1"]));
        assert!(!no_transform([]));
    }
}
