//! Where something could be: one pass over a text, for everything that anything found here begins with.
//!
//! Most of a text is nothing. Three bytes, five bits of each, tell whether an anchor can begin there; the table that
//! answers has 4 KB and stays at hand, where an automaton for as many anchors takes half a megabyte and waits for memory
//! at every byte. What the table lets pass is compared. Letters are the same in either case.

use std::sync::LazyLock;

use super::{assigned, jwt, pem, phrases, token::TOKENS, words};

/// What an anchor says could be there.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    Token(usize),
    Pem,
    Jwt,
    Authorization,
    /// The last word of a name that holds a secret.
    Word,
    Url,
    /// A file in the middle of a text.
    Data,
    Phrase(usize),
    Odd,
    Mark(usize),
}

/// Bits of a byte that count, and of three bytes.
const BITS: usize = 5;
const KEYS: usize = 1 << (3 * BITS);

struct Anchors {
    /// A bit for each key that an anchor begins with.
    begins: Box<[u64; KEYS / 64]>,
    /// For each such key, one more than the place of its first anchor.
    first: Box<[u16]>,
    /// Sorted by key; of those with one key the shorter first.
    all: Vec<(usize, Wanted, Anchor)>,
}

/// Gives each anchor in a text: where it stands, and where it ends. What comes back is where to go on, if that is later.
pub(super) fn each(text: &[u8], mut hit: impl FnMut(Anchor, usize, usize) -> usize) {
    let anchors = &*ANCHORS;
    let mut past = 0;
    anchors.candidates(text, |start, key| {
        let first = usize::from(anchors.first[key]) - 1;
        for (_, anchor, kind) in anchors.all[first..].iter().take_while(|(of, ..)| *of == key) {
            if start >= past && anchor.begins(&text[start..]) {
                past = past.max(hit(*kind, start, start + anchor.text.len()));
            }
        }
    });
}

/// An anchor as it is compared: its first eight bytes at once.
struct Wanted {
    text: &'static [u8],
    /// In small letters; nothing where the anchor is shorter.
    first: u64,
    /// The bit in which capitals differ, where there is a letter.
    letters: u64,
    /// Every bit, where there is a byte.
    bytes: u64,
}

impl Wanted {
    fn new(text: &'static [u8]) -> Self {
        let eight = |byte: fn(u8) -> u8| {
            let mut eight = [0; 8];
            eight.iter_mut().zip(text).for_each(|(to, from)| *to = byte(*from));
            u64::from_le_bytes(eight)
        };
        Self {
            text,
            first: eight(|byte| byte.to_ascii_lowercase()),
            letters: eight(|byte| if byte.is_ascii_alphabetic() { 0x20 } else { 0 }),
            bytes: eight(|_| 0xff),
        }
    }

    #[inline]
    fn begins(&self, text: &[u8]) -> bool {
        match text.first_chunk::<8>() {
            Some(eight) => {
                (u64::from_le_bytes(*eight) | self.letters) & self.bytes == self.first
                    && (self.text.len() <= 8 || self.whole(text))
            }
            None => self.whole(text),
        }
    }

    fn whole(&self, text: &[u8]) -> bool {
        text.get(..self.text.len()).is_some_and(|text| text.eq_ignore_ascii_case(self.text))
    }
}

impl Anchors {
    /// Where an anchor may begin, with the key of what stands there.
    fn candidates(&self, text: &[u8], mut each: impl FnMut(usize, usize)) {
        let (mut key, mut from) = (0, 0);
        while let Some(at) = self.next(&text[from..], &mut key).map(|next| from + next) {
            from = at + 1;
            if let Some(start) = at.checked_sub(2) {
                each(start, key);
            }
        }
        // The last bytes of a text begin something too, without a third.
        for back in [2, 1] {
            key = (key << BITS) % KEYS;
            if self.may_begin(key)
                && let Some(start) = text.len().checked_sub(back)
            {
                each(start, key);
            }
        }
    }

    /// The last byte of the next three that an anchor may begin with. By itself: it is all that is done for most bytes.
    #[inline(never)]
    fn next(&self, text: &[u8], key: &mut usize) -> Option<usize> {
        let mut now = *key;
        let found = text.iter().position(|byte| {
            now = (now << BITS | class(*byte)) % KEYS;
            self.may_begin(now)
        });
        *key = now;
        found
    }

    fn may_begin(&self, key: usize) -> bool {
        self.begins[key / 64] >> (key % 64) & 1 == 1
    }
}

fn class(byte: u8) -> usize {
    usize::from(byte) % (1 << BITS)
}

/// The same for every firewall, made when the first one looks at something.
static ANCHORS: LazyLock<Anchors> = LazyLock::new(|| {
    let mut written: Vec<(&str, Anchor)> = vec![
        (pem::ANCHOR, Anchor::Pem),
        (jwt::ANCHOR, Anchor::Jwt),
        ("bearer ", Anchor::Authorization),
        ("basic ", Anchor::Authorization),
        ("://", Anchor::Url),
        (";base64,", Anchor::Data),
    ];
    written.extend(TOKENS.iter().enumerate().map(|(index, token)| (token.prefix, Anchor::Token(index))));
    written.extend(assigned::WORDS.iter().map(|word| (*word, Anchor::Word)));
    written.extend(phrases::first_words().map(|(index, word)| (word, Anchor::Phrase(index))));
    written.extend(words::ODD.iter().map(|odd| (*odd, Anchor::Odd)));
    written.extend(phrases::MARKS.iter().enumerate().map(|(index, (mark, _))| (*mark, Anchor::Mark(index))));
    let mut all = Vec::new();
    for (anchor, kind) in written {
        let bytes = anchor.as_bytes();
        // Of two bytes: whatever comes after them.
        let thirds = match bytes.get(2) {
            Some(third) => class(*third)..class(*third) + 1,
            None => 0..1 << BITS,
        };
        let two = bytes.iter().take(2).fold(0, |key, byte| key << BITS | class(*byte));
        all.extend(thirds.map(|third| (two << BITS | third, Wanted::new(bytes), kind)));
    }
    all.sort_by_key(|(key, wanted, _)| (*key, wanted.text.len()));
    let mut begins = Box::new([0; KEYS / 64]);
    let mut first = vec![0; KEYS].into_boxed_slice();
    for (at, (key, ..)) in all.iter().enumerate().rev() {
        begins[key / 64] |= 1 << (key % 64);
        first[*key] = u16::try_from(at + 1).unwrap_or(u16::MAX);
    }
    Anchors { begins, first, all }
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_anchor_is_found_wherever_it_stands() {
        assert!(ANCHORS.all.len() < usize::from(u16::MAX));
        for (_, Wanted { text: anchor, .. }, _) in &ANCHORS.all {
            assert!(anchor.len() >= 2, "{anchor:?} is too short to be found");
            for (before, after) in [("", ""), ("x", ""), ("", " and more"), ("", "x"), ("@@", " @"), ("\u{e4} ", "\n")]
            {
                let text = [before.as_bytes(), &anchor.to_ascii_uppercase(), after.as_bytes()].concat();
                let mut places = Vec::new();
                each(&text, |_, start, end| {
                    places.push((start, end));
                    0
                });
                assert!(places.contains(&(before.len(), before.len() + anchor.len())), "{anchor:?} in {text:?}");
            }
        }
    }

    #[test]
    fn what_is_passed_over_is_not_found() {
        let mut seen = Vec::new();
        each(b"token token token", |_, start, end| {
            seen.push(start);
            end + 4
        });
        assert_eq!(seen, [0, 12]);
    }
}
