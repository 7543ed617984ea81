//! Removes Markdown's backslash escapes, which can stand in the middle of a token (`ghp\_16C7…`).
//!
//! The search runs on the text without them, and findings are mapped back to the original.

use std::borrow::Cow;

/// A text without escapes, with the positions of its bytes in the original.
pub(super) struct Plain<'a> {
    pub(super) read: Cow<'a, [u8]>,
    /// The positions in `read` before which a backslash was removed, ascending.
    left_out: Vec<usize>,
}

impl<'a> Plain<'a> {
    /// Removes each backslash before a punctuation character. A text without any is not copied.
    pub(super) fn of(text: &'a [u8]) -> Self {
        let is_escape = |at: usize| text.get(at + 1).is_some_and(u8::is_ascii_punctuation);
        let mut read = Vec::new();
        let mut left_out = Vec::new();
        // The original before `next` has been read. A backslash after a backslash is literal.
        let (mut next, mut past) = (0, 0);
        for at in memchr::memchr_iter(b'\\', text) {
            if at < past || !is_escape(at) {
                continue;
            }
            if left_out.is_empty() {
                read.reserve_exact(text.len());
            }
            read.extend_from_slice(&text[next..at]);
            left_out.push(read.len());
            next = at + 1;
            past = at + 2;
        }
        if left_out.is_empty() {
            return Self { read: Cow::Borrowed(text), left_out };
        }
        read.extend_from_slice(&text[next..]);
        Self { read: Cow::Owned(read), left_out }
    }

    /// The original position of `at` in `read`, its backslash included.
    pub(super) fn place(&self, at: usize) -> usize {
        at + self.left_out.partition_point(|out| *out < at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_without_its_backslashes() {
        let text = b"plain\na\\_b\\*c\\\nd\\e\nx\\\\\\\\\\";
        let plain = Plain::of(text);
        assert_eq!(*plain.read, b"plain\na_b*c\\\nd\\e\nx\\\\\\"[..]);
        let start = 7;
        assert_eq!(&text[plain.place(start)..plain.place(start + 1)], b"\\_");
        assert_eq!(plain.place(0), 0);
        assert_eq!(plain.place(plain.read.len()), text.len());
    }

    #[test]
    fn a_text_without_any_is_not_copied() {
        for text in ["", "plain", "a\\n \\\\n".trim_end_matches("\\\\n"), "ends with \\"] {
            let plain = Plain::of(text.as_bytes());
            assert!(matches!(plain.read, Cow::Borrowed(_)), "{text}");
            assert_eq!(plain.place(text.len()), text.len());
        }
    }
}
