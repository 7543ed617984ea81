//! Decides in one pass, without building anything, whether a JSON text can be passed on as it is.
//!
//! A plain text is valid JSON without duplicate members, with numbers short enough to be exact and no more escapes
//! than JSON needs. The scan removes blanks and needless escapes. A text that is not plain may still be valid: `None`
//! means that this module does not decide, and serde_json parses it.

mod reduced;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, ops::Range};

use reduced::{escape, reduced};

/// Maximum depth of plain text; serde_json itself takes 127.
const DEEPEST: usize = 64;
/// Maximum members of one object, since each name is compared with those before it.
const MOST_MEMBERS: usize = 64;
/// Maximum digits of one number.
const MOST_DIGITS: usize = 17;
/// Maximum known values of a list item. The bytes after them must equal those of the next item.
const MOST_KNOWN: usize = 256;

/// The text in the form that can be passed on.
pub(super) fn text(json: &[u8]) -> Option<Cow<'_, [u8]>> {
    std::str::from_utf8(json).ok()?;
    let mut scan = Scan { json, names: Vec::with_capacity(32), known: Vec::with_capacity(32), has_more: false };
    let at = scan.blanks(0);
    let at = scan.value(at, 0)?;
    if scan.blanks(at) < json.len() {
        return None;
    }
    Some(if scan.has_more { Cow::Owned(reduced(json)) } else { Cow::Borrowed(json) })
}

/// A scan over the text. Each method gets a start position and returns the position after what it read.
struct Scan<'j> {
    json: &'j [u8],
    /// The member names so far, of all open objects.
    names: Vec<Name<'j>>,
    /// The positions of the values in the last item of each open list. List items are mostly alike: an item is plain
    /// if it differs from the last one only in these values.
    known: Vec<Known>,
    /// The text has blanks or needless escapes, which have to be removed.
    has_more: bool,
}

/// The position of a value that is neither a list nor an object.
#[derive(Clone, Copy)]
struct Known {
    start: usize,
    end: usize,
    /// The value is a string; its quotes are not part of the range.
    is_text: bool,
}

/// The name of a member. Its first bytes tell it from most other names.
#[derive(Clone, Copy)]
struct Name<'j> {
    /// The first eight bytes.
    mark: u64,
    /// The name with its closing quote.
    text: &'j [u8],
}

impl<'j> Name<'j> {
    #[inline(always)]
    fn new(json: &'j [u8], start: usize, end: usize) -> Self {
        let text = &json[start..=end];
        let mask = if text.len() < 8 { (1 << (8 * text.len())) - 1 } else { u64::MAX };
        Self { mark: eight(json, start) & mask, text }
    }

    #[inline(always)]
    fn is(&self, other: &Self) -> bool {
        // Both end in a quote, and neither has another one.
        self.mark == other.mark && (self.text.len() <= 8 || self.text == other.text)
    }
}

/// Eight bytes, little-endian, padded with zeros.
#[inline(always)]
fn eight(json: &[u8], start: usize) -> u64 {
    let rest = json.get(start..).unwrap_or_default();
    u64::from_le_bytes(rest.first_chunk().copied().unwrap_or_else(|| {
        let mut eight = [0; 8];
        eight[..rest.len()].copy_from_slice(rest);
        eight
    }))
}

impl<'j> Scan<'j> {
    #[inline(always)]
    fn peek(&self, at: usize) -> Option<u8> {
        self.json.get(at).copied()
    }

    #[inline(always)]
    fn blanks(&mut self, at: usize) -> usize {
        if self.peek(at).is_some_and(|byte| byte <= b' ') { self.some_blanks(at) } else { at }
    }

    #[cold]
    fn some_blanks(&mut self, mut at: usize) -> usize {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek(at) {
            self.has_more = true;
            at += 1;
        }
        at
    }

    #[inline(always)]
    fn value(&mut self, at: usize, depth: usize) -> Option<usize> {
        let end = match self.peek(at)? {
            b'"' => {
                let (end, _) = self.string(at)?;
                self.know(at + 1, end, true);
                return Some(end + 1);
            }
            b'{' if depth < DEEPEST => return self.object(at, depth + 1),
            b'[' if depth < DEEPEST => return self.array(at, depth + 1),
            _ => self.bare(at)?,
        };
        self.know(at, end, false);
        Some(end)
    }

    /// Scans a literal or a number.
    #[inline(always)]
    fn bare(&self, at: usize) -> Option<usize> {
        match self.peek(at)? {
            b't' => self.word(at, b"true"),
            b'f' => self.word(at, b"false"),
            b'n' => self.word(at, b"null"),
            _ => self.number(at),
        }
    }

    #[inline(always)]
    fn know(&mut self, start: usize, end: usize, is_text: bool) {
        if self.known.len() < MOST_KNOWN {
            self.known.push(Known { start, end, is_text });
        }
    }

    #[inline(always)]
    fn word(&self, at: usize, word: &[u8]) -> Option<usize> {
        self.json[at..].starts_with(word).then_some(at + word.len())
    }

    fn object(&mut self, at: usize, depth: usize) -> Option<usize> {
        let mut at = self.blanks(at + 1);
        if self.peek(at)? == b'}' {
            return Some(at + 1);
        }
        let first = self.names.len();
        loop {
            if self.peek(at)? != b'"' {
                return None;
            }
            at = self.new_name(at, first)?;
            at = self.blanks(at + 1);
            if self.peek(at)? != b':' {
                return None;
            }
            at = self.blanks(at + 1);
            at = self.value(at, depth)?;
            at = self.blanks(at);
            match self.peek(at)? {
                b',' => at = self.blanks(at + 1),
                b'}' => break,
                _ => return None,
            }
        }
        self.names.truncate(first);
        Some(at + 1)
    }

    /// The closing quote of a name that is new in this object. `first`: the index of this object's first name.
    #[inline(always)]
    fn new_name(&mut self, at: usize, first: usize) -> Option<usize> {
        let (end, escaped) = self.string(at)?;
        let name = Name::new(self.json, at + 1, end);
        let before = &self.names[first..];
        // An escaped name could equal another one in a different spelling.
        if escaped || before.len() >= MOST_MEMBERS || before.iter().any(|other| other.is(&name)) {
            return None;
        }
        self.names.push(name);
        Some(end)
    }

    fn array(&mut self, at: usize, depth: usize) -> Option<usize> {
        let mut at = self.blanks(at + 1);
        if self.peek(at)? == b']' {
            return Some(at + 1);
        }
        let first = self.known.len();
        // The last item that was scanned in full.
        let mut last = 0..0;
        loop {
            at = match self.like(first, &last, at) {
                Some(end) => end,
                None => {
                    let is_deep = matches!(self.peek(at)?, b'{' | b'[');
                    if is_deep {
                        self.known.truncate(first);
                    }
                    let end = self.value(at, depth)?;
                    last = if is_deep { at..end } else { 0..0 };
                    end
                }
            };
            at = self.blanks(at);
            match self.peek(at)? {
                b',' => at = self.blanks(at + 1),
                b']' => return Some(at + 1),
                _ => return None,
            }
        }
    }

    /// The end of an item that begins at `at` and resembles the `last` one. `first`: index of that item's known
    /// values.
    #[inline(always)]
    fn like(&self, first: usize, last: &Range<usize>, at: usize) -> Option<usize> {
        if last.is_empty() {
            return None;
        }
        let (mut from, mut at) = (last.start, at);
        let mut known = self.known[first..].iter();
        loop {
            let wanted = &self.json[from..last.end];
            let same = same(wanted, self.json.get(at..)?);
            if same == wanted.len() {
                return Some(at + same);
            }
            // Where the two first differ there has to be a value, or the end of one.
            let parted = from + same;
            let value = known.find(|known| known.end >= parted).filter(|known| known.start <= parted)?;
            at += value.start - from;
            at = if value.is_text { at + unmarked(self.json.get(at..)?) } else { self.bare(at)? };
            from = value.end;
        }
    }

    /// The position of the closing quote, and whether an escape comes before it.
    #[inline(always)]
    fn string(&mut self, at: usize) -> Option<(usize, bool)> {
        let (mut at, mut escaped) = (at + 1, false);
        loop {
            at += unmarked(self.json.get(at..)?);
            match self.peek(at)? {
                b'"' => return Some((at, escaped)),
                b'\\' => {
                    let (length, needed) = escape(&self.json[at..])?;
                    escaped = true;
                    self.has_more |= !needed;
                    at += length;
                }
                // A control character.
                _ => return None,
            }
        }
    }

    #[inline(always)]
    fn number(&self, at: usize) -> Option<usize> {
        let start = if self.peek(at) == Some(b'-') { at + 1 } else { at };
        let mut at = self.digits(start)?;
        if self.json[start] == b'0' && at > start + 1 {
            return None;
        }
        if self.peek(at) == Some(b'.') {
            at = self.digits(at + 1)?;
        }
        // A number with an exponent may overflow.
        (at - start <= MOST_DIGITS && !matches!(self.peek(at), Some(b'e' | b'E'))).then_some(at)
    }

    /// Scans one or more digits.
    #[inline(always)]
    fn digits(&self, start: usize) -> Option<usize> {
        let mut at = start;
        while let Some(b'0'..=b'9') = self.peek(at) {
            at += 1;
        }
        (at > start).then_some(at)
    }
}

/// The length of the common prefix of two texts, eight bytes at a time.
#[inline(always)]
fn same(one: &[u8], other: &[u8]) -> usize {
    let mut at = 0;
    while let (Some(a), Some(b)) = (one[at..].first_chunk(), other[at..].first_chunk()) {
        let parted = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if parted != 0 {
            return at + parted.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + one[at..].iter().zip(&other[at..]).take_while(|(a, b)| a == b).count()
}

/// How many bytes come before the next quote, backslash or control character, eight bytes at a time.
#[inline(always)]
fn unmarked(text: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // Sets the high bit of the first byte below `n`, and perhaps of later ones.
    let below = |word: u64, n: u64| word.wrapping_sub(ONES * n) & !word & HIGH;
    let mut at = 0;
    while let Some(eight) = text[at..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*eight);
        let marks = below(word ^ (ONES * u64::from(b'"')), 1)
            | below(word ^ (ONES * u64::from(b'\\')), 1)
            | below(word, u64::from(b' '));
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let is_mark = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..b' ');
    at + text[at..].iter().position(is_mark).unwrap_or(text.len() - at)
}
