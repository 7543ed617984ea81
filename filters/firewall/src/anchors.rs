//! Finds candidates in one pass over a text: every place where the beginning (anchor) of some pattern stands.
//!
//! Most of a text contains none. Each byte has three 64-bit rows, one for each of an anchor's first three bytes, with
//! one bit per group of anchors. The rows of three consecutive bytes, combined, give the groups that may match there.
//! All rows take 6 KB and stay in the cache, whereas an automaton for as many anchors takes half a megabyte and waits
//! for memory at every byte. The candidates are then compared in full, ignoring case.

use std::sync::LazyLock;

use super::{jwt, named_secrets, pem, phrases, token::TOKENS, words};

/// The possible finding at an anchor.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    Token(usize),
    Pem,
    Jwt,
    Authorization,
    /// The last word of a name that holds a secret.
    Word,
    Url,
    /// A data URL.
    Data,
    Phrase(usize),
    Odd,
    Mark(usize),
}

/// The bits of a row.
const GROUPS: usize = u64::BITS as usize;

/// For each byte: the groups with an anchor that has it at this position.
type Row = [u64; 256];

struct Anchors {
    /// For the first, second and third byte.
    rows: Box<[Row; 3]>,
    /// The groups with an anchor of only two bytes.
    short: u64,
    /// Anchors with the same first two bytes are in one group, shorter ones first.
    groups: Box<[Vec<(Wanted, Anchor)>; GROUPS]>,
}

/// The groups whose anchors may have begun with the last byte, and with the last two.
#[derive(Clone, Copy, Default)]
struct Begun {
    one: u64,
    two: u64,
}

/// Calls `hit` for each anchor with its start and end. Its result is where to continue, if that is later.
pub(super) fn each(text: &[u8], mut hit: impl FnMut(Anchor, usize, usize) -> usize) {
    let anchors = &*ANCHORS;
    let mut past = 0;
    anchors.candidates(text, |start, groups| {
        let mut left = groups;
        while left != 0 {
            for (anchor, kind) in &anchors.groups[left.trailing_zeros() as usize] {
                if start >= past && anchor.begins(&text[start..]) {
                    past = past.max(hit(*kind, start, start + anchor.text.len()));
                }
            }
            left &= left - 1;
        }
    });
}

/// An anchor, prepared to compare its first eight bytes at once.
struct Wanted {
    text: &'static [u8],
    /// In lower case; zero beyond a short anchor.
    first: u64,
    /// The case bit of each letter.
    letters: u64,
    /// All bits of each byte that is present.
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
    /// The possible starts of anchors, with their groups.
    fn candidates(&self, text: &[u8], mut each: impl FnMut(usize, u64)) {
        let (fours, rest) = text.as_chunks();
        let (mut begun, mut from) = (Begun::default(), 0);
        while let Some((next, hits)) = self.next(&fours[from..], &mut begun) {
            let at = (from + next) * 4;
            for (groups, third) in hits.into_iter().zip(at..).filter(|(groups, _)| *groups != 0) {
                each(third - 2, groups);
            }
            from += next + 1;
        }
        let [first, second, third] = &*self.rows;
        for (byte, at) in rest.iter().zip(fours.len() * 4..) {
            let byte = usize::from(*byte);
            let groups = begun.two & third[byte];
            if groups != 0 {
                each(at - 2, groups);
            }
            begun = Begun { one: first[byte], two: begun.one & second[byte] };
        }
        // The last two bytes of a text have no third byte.
        let groups = begun.two & self.short;
        if groups != 0 {
            each(text.len() - 2, groups);
        }
    }

    /// Skips to the next four bytes one of which may be the third of an anchor, and gives the groups of each. A
    /// function of its own that handles four bytes at a time, because it does all the work for most bytes.
    #[inline(never)]
    fn next(&self, text: &[[u8; 4]], begun: &mut Begun) -> Option<(usize, [u64; 4])> {
        let [first, second, third] = &*self.rows;
        let Begun { mut one, mut two } = *begun;
        let mut hits = [0; 4];
        let found = text.iter().position(|four| {
            let [a, b, c, d] = four.map(usize::from);
            hits = [
                two & third[a],
                one & second[a] & third[b],
                first[a] & second[b] & third[c],
                first[b] & second[c] & third[d],
            ];
            (one, two) = (first[d], first[c] & second[d]);
            hits[0] | hits[1] | hits[2] | hits[3] != 0
        });
        *begun = Begun { one, two };
        found.map(|at| (at, hits))
    }
}

/// Shared by all firewalls, built on first use.
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
    written.extend(named_secrets::WORDS.iter().map(|word| (*word, Anchor::Word)));
    written.extend(phrases::first_words().map(|(index, word)| (word, Anchor::Phrase(index))));
    written.extend(words::ODD.iter().map(|odd| (*odd, Anchor::Odd)));
    written.extend(phrases::MARKS.iter().enumerate().map(|(index, (mark, _))| (*mark, Anchor::Mark(index))));
    let start = |anchor: &str| anchor.bytes().take(2).map(|byte| byte.to_ascii_lowercase()).collect::<Vec<_>>();
    // Sorted so that equal beginnings are adjacent.
    written.sort_by_cached_key(|(anchor, _)| (start(anchor), anchor.len()));
    let mut rows = Box::new([[0; 256]; 3]);
    let (mut short, mut groups) = (0, Box::new([const { Vec::new() }; GROUPS]));
    let (mut group, mut last) = (0, Vec::new());
    for (anchor, kind) in written {
        let bytes = anchor.as_bytes();
        if last != start(anchor) {
            group = (group + 1) % GROUPS;
            last = start(anchor);
        }
        for (row, place) in rows.iter_mut().zip(0..) {
            for byte in 0..=u8::MAX {
                // An anchor of two bytes matches any third byte.
                if bytes.get(place).is_none_or(|wanted| wanted.eq_ignore_ascii_case(&byte)) {
                    row[usize::from(byte)] |= 1 << group;
                }
            }
        }
        short |= u64::from(bytes.len() == 2) << group;
        groups[group].push((Wanted::new(bytes), kind));
    }
    Anchors { rows, short, groups }
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_anchor_is_found_wherever_it_stands() {
        for (Wanted { text: anchor, .. }, _) in ANCHORS.groups.iter().flatten() {
            assert!(anchor.len() >= 2, "{anchor:?} is too short to be found");
            let pads = (0..10).map(|pad| ("_@\u{e4}x y\nz|-".get(..pad), "-- --- --".get(pad..)));
            let pads = pads.filter_map(|(before, after)| before.zip(after));
            for (before, after) in pads.chain([("", ""), ("x", ""), ("", " and more"), ("", "x"), ("@@", " @")]) {
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
    fn nothing_else_is_found_and_nothing_twice() {
        let all: Vec<&[u8]> = ANCHORS.groups.iter().flatten().map(|(wanted, _)| wanted.text).collect();
        // Beginnings of anchors in a row, of every length.
        let text: Vec<u8> = (0..3000)
            .flat_map(|n| {
                let anchor = all[n * 7 % all.len()];
                anchor[..anchor.len() - n % 3 % anchor.len()].to_vec()
            })
            .collect();
        let mut found = Vec::new();
        each(&text, |_, start, end| {
            found.push((start, end));
            0
        });
        found.sort_unstable();
        let mut there: Vec<_> = (0..text.len())
            .flat_map(|start| all.iter().map(move |anchor| (start, anchor)))
            .filter(|(start, anchor)| {
                text[*start..].get(..anchor.len()).is_some_and(|at| at.eq_ignore_ascii_case(anchor))
            })
            .map(|(start, anchor)| (start, start + anchor.len()))
            .collect();
        there.sort_unstable();
        assert!(there.len() > 1000);
        assert_eq!(found, there);
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
