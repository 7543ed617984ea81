//! Decodes UTF-16 bodies, which a search for single-byte text does not see through.

use frontdesk_base::page_type::charset;

use crate::pass::is_opaque;

/// The byte order of UTF-16 text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Utf16 {
    /// Big-endian.
    is_big: bool,
}

impl Utf16 {
    /// Whether a body is UTF-16: its type says so, or it begins as UTF-16 and is valid throughout.
    pub fn of(content_type: &str, body: &[u8]) -> Option<Self> {
        if is_opaque(content_type) {
            return None;
        }
        let marked = match body {
            [0xff, 0xfe, ..] => Some(Self { is_big: false }),
            [0xfe, 0xff, ..] => Some(Self { is_big: true }),
            _ => None,
        };
        let named = charset(content_type).unwrap_or_default().to_ascii_lowercase();
        match named.as_str() {
            "utf-16le" | "utf16le" => marked.or(Some(Self { is_big: false })),
            "utf-16be" | "utf16be" => marked.or(Some(Self { is_big: true })),
            "utf-16" | "utf16" | "ucs-2" | "iso-10646-ucs-2" | "unicode" => {
                marked.or_else(|| Some(Self::guessed(body)))
            }
            _ => marked.filter(|spelled| {
                let valid = char::decode_utf16(spelled.units(body)).all(|letter| letter.is_ok());
                valid && body.len().is_multiple_of(2)
            }),
        }
    }

    /// In mostly Latin text the high bytes are zero.
    fn guessed(body: &[u8]) -> Self {
        let (pairs, _) = body.as_chunks::<2>();
        let (first, second) = pairs.iter().take(1024).fold((0, 0), |(first, second), [one, another]| {
            (first + usize::from(*one == 0), second + usize::from(*another == 0))
        });
        Self { is_big: first > second }
    }

    fn units(self, body: &[u8]) -> impl Iterator<Item = u16> {
        let (pairs, _) = body.as_chunks::<2>();
        pairs.iter().map(move |pair| if self.is_big { u16::from_be_bytes(*pair) } else { u16::from_le_bytes(*pair) })
    }

    /// Decodes the text; invalid units become replacement characters.
    pub fn read(self, body: &[u8]) -> String {
        char::decode_utf16(self.units(body)).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    }

    /// Encodes the text in the same order.
    pub(super) fn write(self, text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(|unit| if self.is_big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_by_its_type_or_its_beginning() {
        for is_big in [false, true] {
            let (spelled, text) = (Utf16 { is_big }, "\u{feff}a\u{e9}\u{1f600}");
            let (marked, plain) = (spelled.write(text), spelled.write("plain"));
            assert_eq!(Utf16::of("application/octet-stream", &marked), Some(spelled));
            assert_eq!(Utf16::of("text/plain; charset=UTF-16", &plain), Some(spelled));
            let named = if is_big { "text/plain; charset=utf-16be" } else { "text/plain; charset=\"UTF-16LE\"" };
            assert_eq!(Utf16::of(named, &plain), Some(spelled));
            assert_eq!(spelled.read(&marked), text);
            assert_eq!(Utf16::of("image/png", &marked), None);
            assert_eq!(Utf16::of("text/plain", &plain), None);
        }
        assert_eq!(Utf16::of("application/octet-stream", b"\xff\xfea\0b"), None, "half a letter");
        assert_eq!(Utf16::of("application/octet-stream", b"\xff\xfe\x00\xd8a\0"), None, "no letter");
    }
}
