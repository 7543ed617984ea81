//! Backslashes: Markdown puts one before signs that would mean something, also in the middle of a token (`ghp\_16C7…`).
//!
//! Lines that have such an escape are searched once more, as they read; the text itself has been searched, and what is
//! found in both is one.

/// A line as it reads, and where each of its bytes is spelled.
pub(super) struct Line {
    pub(super) read: Vec<u8>,
    /// One more than `read` has bytes: the last is where the line ends.
    places: Vec<usize>,
}

impl Line {
    /// Where `at` in `read` is spelled.
    pub(super) fn place(&self, at: usize) -> usize {
        self.places.get(at).or(self.places.last()).copied().unwrap_or_default()
    }
}

/// Each line of a text that has a backslash before a sign.
pub(super) fn lines(text: &[u8], mut each: impl FnMut(Line)) {
    let is_escape = |at: usize| text.get(at + 1).is_some_and(u8::is_ascii_punctuation);
    let mut past = 0;
    for at in memchr::memchr_iter(b'\\', text) {
        if at < past || !is_escape(at) {
            continue;
        }
        let start = memchr::memrchr(b'\n', &text[past..at]).map_or(past, |newline| past + newline + 1);
        let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |newline| at + newline);
        let mut line = Line { read: Vec::with_capacity(end - start), places: Vec::with_capacity(end - start + 1) };
        let mut next = start;
        while next < end {
            let len = if text[next] == b'\\' && next + 1 < end && is_escape(next) { 2 } else { 1 };
            line.read.push(text[next + len - 1]);
            line.places.push(next);
            next += len;
        }
        line.places.push(end);
        each(line);
        past = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_an_escape_is_read_once() {
        let mut all = Vec::new();
        let text = b"plain\na\\_b\\*c\\\nd\\e\nx\\\\";
        lines(text, |line| all.push(line));
        assert_eq!(all.iter().map(|line| line.read.as_slice()).collect::<Vec<_>>(), [&b"a_b*c\\"[..], b"x\\"]);
        let first = &all[0];
        assert_eq!(&text[first.place(1)..first.place(2)], b"\\_");
        assert_eq!(text[first.place(first.read.len())], b'\n');
    }
}
