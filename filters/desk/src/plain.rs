//! Tells whether a JSON text can be passed on without being taken apart: one look at each byte, and nothing is built.
//!
//! Plain is a text that the library would read, without a member twice, whose numbers are short enough to be exact, with
//! no more escapes than JSON needs. Blanks, and escapes that could be left out, are taken out. What is not plain is not
//! therefore wrong: `None` means that this module does not judge it.

mod reduced;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, ops::Range};

use reduced::{escape, reduced};

/// Deeper than that is not plain; the library itself takes 127.
const DEEPEST: usize = 64;
/// Members of one object: each is compared with those before it.
const MOST_MEMBERS: usize = 64;
/// Digits of one number.
const MOST_DIGITS: usize = 17;
/// Of an item of a list so many values are known; what comes behind them has to be the same in the next one.
const MOST_KNOWN: usize = 256;

/// The text as it can be passed on.
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

/// Each step is told where it begins, and says where the next one does.
struct Scan<'j> {
    json: &'j [u8],
    /// Names of the members so far, of all objects that are still open.
    names: Vec<Name<'j>>,
    /// Where values stand in what was read last of each list that is still open. What is in a list is mostly alike: an
    /// item is plain if it has other such values in their places, and is else the same byte for byte.
    known: Vec<Known>,
    /// There is more in it than is passed on.
    has_more: bool,
}

/// Where a value stands that is neither a list nor an object.
#[derive(Clone, Copy)]
struct Known {
    start: usize,
    end: usize,
    /// What stands between quotes, which are none of it.
    is_text: bool,
}

/// The name of a member. Its beginning tells it from most others.
#[derive(Clone, Copy)]
struct Name<'j> {
    /// Its first eight bytes.
    mark: u64,
    /// With the quote at its end.
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
        // A quote is at the end of both, and nowhere else.
        self.mark == other.mark && (self.text.len() <= 8 || self.text == other.text)
    }
}

/// Eight bytes, the first one lowest; zeros behind the end.
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

    /// A word or a number.
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

    /// Where the quote behind a name is that no member before it has. `first`: of this object's names.
    #[inline(always)]
    fn new_name(&mut self, at: usize, first: usize) -> Option<usize> {
        let (end, escaped) = self.string(at)?;
        let name = Name::new(self.json, at + 1, end);
        let before = &self.names[first..];
        // With an escape it could be spelled otherwise.
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
        // The last item that was read by itself.
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

    /// Where an item ends that begins at `at` and is like the `last` one. `first`: of what is known of that.
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
            // Where they part there has to be a value, or the end of one.
            let parted = from + same;
            let value = known.find(|known| known.end >= parted).filter(|known| known.start <= parted)?;
            at += value.start - from;
            at = if value.is_text { at + unmarked(self.json.get(at..)?) } else { self.bare(at)? };
            from = value.end;
        }
    }

    /// Where the closing quote is, and whether there is an escape before it.
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
        // With an exponent it may be too large for anybody.
        (at - start <= MOST_DIGITS && !matches!(self.peek(at), Some(b'e' | b'E'))).then_some(at)
    }

    /// One or more.
    #[inline(always)]
    fn digits(&self, start: usize) -> Option<usize> {
        let mut at = start;
        while let Some(b'0'..=b'9') = self.peek(at) {
            at += 1;
        }
        (at > start).then_some(at)
    }
}

/// How many bytes two texts have in common from their beginnings on: eight at a time.
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

/// How many bytes stand before the next quote, backslash or control character: eight at a time.
#[inline(always)]
fn unmarked(text: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // The high bit of the first byte that is below `n`, and perhaps of later ones.
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
