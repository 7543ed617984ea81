//! Decodes JSON strings that contain escapes.
//!
//! A search of the raw text does not see through escapes, and a finding beside one may begin in its middle. So these
//! strings are searched in decoded form, and each finding is mapped back to the raw text.

/// A decoded string that contained an escape.
pub(super) struct Escaped {
    /// Its start in the text, after the quotation mark.
    pub(super) start: usize,
    pub(super) end: usize,
    /// The decoded name before it (`"name": `), a colon and a [`QUOTE`]; then the decoded string and another `QUOTE`.
    pub(super) read: Vec<u8>,
    /// Bytes of the name in `read`.
    pub(super) name: usize,
    /// The raw position of each byte of the string, and of its end.
    places: Vec<usize>,
}

impl Escaped {
    /// The raw position of `at` in `read`; a position in the name maps to the string's start.
    pub(super) fn place(&self, at: usize) -> usize {
        at.checked_sub(self.name).and_then(|at| self.places.get(at)).copied().unwrap_or(self.start)
    }
}

/// Replaces the quotation marks of a decoded string, which may itself contain quotation marks.
pub(super) const QUOTE: u8 = 1;

/// Maximum bytes of a name that matters.
const NAME: usize = 64;

/// Calls `each` for each string of a JSON text that has an escape in it or in its name. One at a time, because decoded
/// strings with their positions take many times the text's memory.
pub(super) fn escaped(text: &[u8], mut each: impl FnMut(Escaped)) {
    if memchr::memchr(b'\\', text).is_none() {
        return;
    }
    let mut at = 0;
    let mut last: Option<(usize, usize, bool)> = None;
    while let Some(open) = memchr::memchr(b'"', &text[at..]).map(|open| at + open + 1) {
        let close = closing(text, open);
        let has_escape = memchr::memchr(b'\\', &text[open..close]).is_some();
        let name = last.filter(|(_, end, _)| is_colon(&text[(end + 1).min(open - 1)..open - 1]));
        if has_escape || name.is_some_and(|(_, _, has_escape)| has_escape) {
            each(read(text, open, close, name.map(|(from, to, _)| (from, to))));
        }
        last = Some((open, close, has_escape));
        at = (close + 1).min(text.len());
    }
}

fn is_colon(between: &[u8]) -> bool {
    between.trim_ascii() == b":"
}

fn read(text: &[u8], start: usize, end: usize, name: Option<(usize, usize)>) -> Escaped {
    let mut read = Vec::with_capacity(end - start + 8);
    let mut places = Vec::with_capacity(end - start + 1);
    if let Some((from, to)) = name {
        unescape(text, to.saturating_sub(NAME).max(from), to, &mut read, &mut places);
        read.extend_from_slice(b"\": ");
        read.push(QUOTE);
    }
    let name = read.len();
    places.clear();
    unescape(text, start, end, &mut read, &mut places);
    if name > 0 {
        read.push(QUOTE);
        places.push(end);
    }
    places.push(end);
    Escaped { start, end, read, name, places }
}

/// Decodes a string, or the end of one, with the raw position of each byte.
fn unescape(text: &[u8], start: usize, end: usize, read: &mut Vec<u8>, places: &mut Vec<usize>) {
    let mut at = start;
    while at < end {
        let (len, character) = if text[at] == b'\\' { escape(&text[at..end]) } else { (1, None) };
        match character {
            Some(character) => {
                let mut bytes = [0; 4];
                let bytes = character.encode_utf8(&mut bytes).as_bytes();
                read.extend_from_slice(bytes);
                places.extend(bytes.iter().map(|_| at));
            }
            None => {
                read.push(text[at]);
                places.push(at);
            }
        }
        at += len;
    }
}

/// The length of an escape, and its character.
fn escape(text: &[u8]) -> (usize, Option<char>) {
    let plain = |character| (2, Some(character));
    match text.get(1) {
        Some(b'n') => plain('\n'),
        Some(b'r') => plain('\r'),
        Some(b't') => plain('\t'),
        Some(b'b') => plain('\u{8}'),
        Some(b'f') => plain('\u{c}'),
        Some(b'u') => {
            let unit = |at: usize| {
                let digits = text.get(at..at + 4)?;
                u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
            };
            match (unit(2), unit(8)) {
                (Some(high @ 0xd800..0xdc00), Some(low @ 0xdc00..0xe000)) if text[6..8] == *b"\\u" => {
                    let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                    (12, char::from_u32(code))
                }
                (Some(code), _) => (6, Some(char::from_u32(code).unwrap_or('\u{fffd}'))),
                (None, _) => (1, None),
            }
        }
        Some(other) if other.is_ascii() => plain(char::from(*other)),
        _ => (1, None),
    }
}

/// A place where a replacement keeps the text valid JSON.
pub(super) struct Place {
    pub(super) start: usize,
    pub(super) end: usize,
    /// It is a number, so its replacement needs quotation marks.
    pub(super) is_bare: bool,
}

/// A walk over the strings of a text. Findings come in text order, so one walk serves them all, and no byte is read
/// twice: neither a string with many findings nor a text without strings.
#[derive(Default)]
pub(super) struct Walk {
    at: usize,
    /// The start and end of the next string.
    string: Option<(usize, usize)>,
    /// The end of the last number.
    number: usize,
    /// Bytes that were read.
    #[cfg(test)]
    looked: usize,
}

impl Walk {
    fn string(&mut self, text: &[u8]) -> Option<(usize, usize)> {
        if self.string.is_none() {
            let from = self.at;
            self.string = memchr::memchr(b'"', &text[from..]).map(|open| {
                let open = from + open + 1;
                (open, closing(text, open))
            });
            self.at = self.string.map_or(text.len(), |(_, close)| (close + 1).min(text.len()));
            #[cfg(test)]
            (self.looked += self.at - from);
        }
        self.string
    }

    /// Appends the parts of `start..end` that are within strings, or the number that it is, to `places`.
    pub(super) fn places(&mut self, text: &[u8], (start, end): (usize, usize), places: &mut Vec<Place>) {
        let before = places.len();
        while let Some((open, close)) = self.string(text)
            && open <= end
        {
            if close > start {
                let (from, to) = (start.max(open), end.min(close));
                if from < to {
                    places.push(Place { start: from, end: to, is_bare: false });
                }
                if end <= close {
                    return;
                }
            }
            self.string = None;
        }
        // A number is appended only once.
        if places.len() > before || start < self.number {
            return;
        }
        let numeral = |byte: &&u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
        let from = start - text[self.number..start].iter().rev().take_while(numeral).count();
        let to = start + text[start..].iter().take_while(numeral).count();
        #[cfg(test)]
        (self.looked += to - from);
        if from < to {
            self.number = to;
            places.push(Place { start: from, end: to, is_bare: true });
        }
    }
}

/// The closing quotation mark of the string that begins at `open`.
fn closing(text: &[u8], open: usize) -> usize {
    let mut at = open;
    while let Some(len) = memchr::memchr2(b'"', b'\\', &text[at..]) {
        if text[at + len] == b'"' {
            return at + len;
        }
        at = (at + len + 2).min(text.len());
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(text: &[u8]) -> Vec<Escaped> {
        let mut all = Vec::new();
        escaped(text, |string| all.push(string));
        all
    }

    #[test]
    fn escapes_are_read_and_places_kept() {
        let text = br#"{"a":"x","pass\u0077ord":"\u0041\/\ud83d\ude00b","n":1}"#;
        let all = collected(text);
        assert_eq!(all.len(), 2);
        let last = &all[1];
        assert_eq!(last.read, "password\": \u{1}A/😀b\u{1}".as_bytes());
        let value = last.name;
        assert_eq!(&text[last.place(value)..last.place(value + 1)], br"\u0041");
        assert_eq!(&text[last.place(value + 2)..last.place(value + 6)], br"\ud83d\ude00");
        assert_eq!(last.place(last.read.len()), last.end);
        assert!(collected(b"{\"a\":\"b\"}").is_empty());
        // Text that is not JSON is handled without harm.
        for broken in [&b"\"\\"[..], b"\"\\u00", b"\\\"\\\"", b"\"a\\"] {
            collected(broken);
        }
    }

    #[test]
    fn findings_take_one_walk_whatever_is_between_them() {
        let (number, many) = ("[4111111111111111],", 1000);
        let number_at = |before: usize, n: usize| before + n * number.len() + 1;
        let word = "4111111111111111 , ";
        for (text, before) in [
            (number.repeat(many), 0),
            (format!("{}\"a\"", number.repeat(many)), 0),
            (format!("\"a\",{}\"b", number.repeat(many)), 4),
            (format!("\"{}\"", word.repeat(many)), 0),
            ("4".repeat(number.len() * many), 0),
        ] {
            let (mut walk, mut places) = (Walk::default(), Vec::new());
            for n in 0..many {
                let start = number_at(before, n);
                walk.places(text.as_bytes(), (start, start + 16), &mut places);
            }
            assert!(!places.is_empty() && walk.looked <= 2 * text.len(), "{} of {}", walk.looked, text.len());
        }
    }
}
