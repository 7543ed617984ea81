//! Backslashes: Markdown puts one before signs that would mean something, also in the middle of a token (`ghp\_16C7…`).
//!
//! What is searched is the text as it reads, without them; what is found is told by where it is spelled.

use std::borrow::Cow;

/// A text as it reads, and where each of its bytes is spelled.
pub(super) struct Plain<'a> {
    pub(super) read: Cow<'a, [u8]>,
    /// The places in `read` before which a backslash was left out, ascending.
    left_out: Vec<usize>,
}

impl<'a> Plain<'a> {
    /// Leaves out each backslash before a sign. A text without any is not copied.
    pub(super) fn of(text: &'a [u8]) -> Self {
        let is_escape = |at: usize| text.get(at + 1).is_some_and(u8::is_ascii_punctuation);
        let mut read = Vec::new();
        let mut left_out = Vec::new();
        // What is spelled before `next` has been read; the sign after a backslash is never a backslash of its own.
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

    /// Where `at` in `read` is spelled; with its backslash, if it has one.
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
