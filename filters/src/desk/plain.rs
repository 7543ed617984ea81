//! Tells whether a JSON text can be passed on without being taken apart: one look at each byte, and nothing is built.
//!
//! Plain is a text that the library would read, without a member twice, whose numbers are short enough to be exact, with
//! no more escapes than JSON needs. Blanks, and escapes that could be left out, are taken out. What is not plain is not
//! therefore wrong: `None` means that this module does not judge it.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

/// Deeper than that is not plain; the library itself takes 127.
const DEEPEST: usize = 64;
/// Members of one object: each is compared with those before it.
const MOST_MEMBERS: usize = 64;
/// Digits of one number.
const MOST_DIGITS: usize = 17;
/// With so many names of objects that are over no more are kept.
const MOST_KEPT: usize = 1024;

/// The text as it can be passed on.
pub(super) fn text(json: &[u8]) -> Option<Cow<'_, [u8]>> {
    std::str::from_utf8(json).ok()?;
    let names = || Vec::with_capacity(32);
    let mut scan = Scan { json, names: names(), kept: names(), last: [(0, 0); DEEPEST + 1], has_more: false };
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
    /// Names of the members so far, of all objects that are still open and are not like the last.
    names: Vec<Name<'j>>,
    /// The same of objects that are over.
    kept: Vec<Name<'j>>,
    /// From where to where those stand there of an object at each depth: of the last one that began otherwise. What is in
    /// a list is mostly alike: as long as the same names come in the same order none is there twice, and nothing has to
    /// be looked for.
    last: [(usize, usize); DEEPEST + 1],
    /// There is more in it than is passed on.
    has_more: bool,
}

/// The name of a member. Its beginning tells it from most others.
#[derive(Clone, Copy)]
struct Name<'j> {
    /// Its first eight bytes, and which of them it has.
    mark: u64,
    mask: u64,
    /// With the quote at its end.
    text: &'j [u8],
}

impl<'j> Name<'j> {
    #[inline(always)]
    fn new(json: &'j [u8], start: usize, end: usize) -> Self {
        let text = &json[start..=end];
        let mask = if text.len() < 8 { (1 << (8 * text.len())) - 1 } else { u64::MAX };
        Self { mark: eight(json, start) & mask, mask, text }
    }

    #[inline(always)]
    fn is(&self, other: &Self) -> bool {
        // A quote is at the end of both, and nowhere else.
        self.mark == other.mark && (self.text.len() <= 8 || self.text == other.text)
    }

    /// Where its quote is, if it is this one that begins there.
    #[inline(always)]
    fn end_at(&self, json: &[u8], start: usize) -> Option<usize> {
        let stands = eight(json, start) & self.mask == self.mark
            && (self.text.len() <= 8 || json[start..].starts_with(self.text));
        stands.then(|| start + self.text.len() - 1)
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
        match self.peek(at)? {
            b'"' => self.string(at).map(|(end, _)| end + 1),
            b'{' if depth < DEEPEST => self.object(at, depth + 1),
            b'[' if depth < DEEPEST => self.array(at, depth + 1),
            b't' => self.word(at, b"true"),
            b'f' => self.word(at, b"false"),
            b'n' => self.word(at, b"null"),
            _ => self.number(at),
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
        let (begun, end) = self.last[depth];
        // The name that comes next if it is like the last; `None`: it is not.
        let mut next = (begun < end).then_some(begun);
        loop {
            if self.peek(at)? != b'"' {
                return None;
            }
            let same = next.filter(|next| *next < end).and_then(|next| self.kept[next].end_at(self.json, at + 1));
            let name_end = match (same, next) {
                (Some(same), _) => {
                    next = next.map(|next| next + 1);
                    same
                }
                (None, so_far) => {
                    self.names.extend_from_slice(&self.kept[begun..so_far.unwrap_or(begun)]);
                    next = None;
                    self.new_name(at, first)?
                }
            };
            at = self.blanks(name_end + 1);
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
        if next.is_none() && self.kept.len() < MOST_KEPT {
            self.last[depth].0 = self.kept.len();
            self.kept.extend_from_slice(&self.names[first..]);
            self.last[depth].1 = self.kept.len();
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
        loop {
            at = self.value(at, depth)?;
            at = self.blanks(at);
            match self.peek(at)? {
                b',' => at = self.blanks(at + 1),
                b']' => return Some(at + 1),
                _ => return None,
            }
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

/// The length of an escape, and whether it has to be one; `None` where the library has to look.
fn escape(text: &[u8]) -> Option<(usize, bool)> {
    match text.get(1)? {
        b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't' => Some((2, true)),
        b'/' => Some((2, false)),
        b'u' => escaped(text).map(|_| (6, false)),
        _ => None,
    }
}

/// The character of an escape such as `\u00e9`, where it can stand for itself.
fn escaped(text: &[u8]) -> Option<char> {
    let digits = std::str::from_utf8(text.get(2..6)?).ok().filter(|digits| !digits.starts_with('+'))?;
    let c = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
    (c >= ' ' && !matches!(c, '"' | '\\')).then_some(c)
}

/// A plain text without what can be left out.
fn reduced(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len());
    let (mut at, mut quoted) = (0, false);
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => quoted = !quoted,
            b' ' | b'\n' | b'\r' | b'\t' if !quoted => {
                at += 1;
                continue;
            }
            b'\\' => {
                let (length, needed) = escape(&json[at..]).unwrap_or((1, true));
                match escaped(&json[at..]).filter(|_| length == 6) {
                    Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                    None if needed => out.extend_from_slice(&json[at..at + length]),
                    None => out.push(b'/'),
                }
                at += length;
                continue;
            }
            _ => {}
        }
        out.push(*byte);
        at += 1;
    }
    out
}
