//! Judges whether a value can be a secret: how random it is, and whether it is a placeholder.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// Shannon entropy in bits per byte.
pub(super) fn entropy(value: &[u8]) -> f32 {
    let mut counts = [0u16; 256];
    for byte in value.iter().take(1024) {
        counts[usize::from(*byte)] += 1;
    }
    let len = value.len().clamp(1, 1024) as f32;
    counts.iter().filter(|count| **count > 0).map(|count| f32::from(*count) / len).map(|p| -p * p.log2()).sum()
}

/// The composition of a value.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mix {
    pub(super) lower: usize,
    pub(super) upper: usize,
    pub(super) digits: usize,
    /// Characters that occur in passwords and not in words.
    pub(super) signs: usize,
    /// Characters that join words.
    pub(super) joints: usize,
    /// The number of changes between lower case, upper case and digits.
    pub(super) turns: usize,
    pub(super) blanks: usize,
}

impl Mix {
    pub(super) fn of(value: &[u8]) -> Self {
        let mut mix = Self::default();
        let mut last = 0;
        for byte in value {
            let class = match byte {
                b'a'..=b'z' => {
                    mix.lower += 1;
                    1
                }
                b'A'..=b'Z' => {
                    mix.upper += 1;
                    2
                }
                b'0'..=b'9' => {
                    mix.digits += 1;
                    3
                }
                b' ' | b'\t' | b'\n' | b'\r' => {
                    mix.blanks += 1;
                    last
                }
                b'-' | b'_' | b'.' | b'/' | b':' | b',' => {
                    mix.joints += 1;
                    last
                }
                _ => {
                    mix.signs += 1;
                    last
                }
            };
            mix.turns += usize::from(last != 0 && class != last);
            last = class;
        }
        mix
    }

    pub(super) fn letters(&self) -> usize {
        self.lower + self.upper
    }

    fn len(&self) -> usize {
        self.letters() + self.digits + self.signs + self.joints + self.blanks
    }

    /// Whether it looks generated and not written: words and dates change character classes seldom.
    pub(super) fn is_thrown(&self) -> bool {
        let turns = self.turns * 100;
        let len = self.len().max(1);
        match self.digits {
            0 => self.lower > 0 && self.upper > 0 && turns >= 40 * len,
            1 => turns >= 25 * len,
            _ => turns >= 16 * len,
        }
    }
}

/// Parts of values that mark a placeholder.
const STAND_INS: [&[u8]; 26] = [
    b"your",
    b"example",
    b"placeholder",
    b"changeme",
    b"change-me",
    b"change_me",
    b"insert",
    b"replace",
    b"redacted",
    b"dummy",
    b"sample",
    b"xxxx",
    b"****",
    b"....",
    b"<",
    b"${",
    b"{{",
    b"$(",
    b"%(",
    b"process.env",
    b"-here",
    b"_here",
    b"goes-here",
    b"foobar",
    b"\xe2\x80\xa6",
    b"\xe2\x80\xa2\xe2\x80\xa2",
];

static STANDING_IN: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let built = AhoCorasick::builder().ascii_case_insensitive(true).build(STAND_INS);
    built.expect("the words are written above, and are few")
});

/// Whether a value is a placeholder: `<your-token>`, `xxxx`, `${TOKEN}`, `YOUR_API_KEY`. AWS's documented key, which
/// ends in `EXAMPLE`, is one too.
pub(super) fn stands_in(value: &[u8]) -> bool {
    let value = &value[..value.len().min(256)];
    let mut seen = [false; 256];
    let distinct = value.iter().filter(|byte| !std::mem::replace(&mut seen[usize::from(**byte)], true)).count();
    if distinct <= 4 {
        return true;
    }
    STANDING_IN.is_match(value)
}

/// Whether `text` contains `word`, ignoring ASCII case. `word` is in lower case.
pub(super) fn contains_any_case(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word))
}

/// `8-4-4-4-12` hexadecimal digits: an identifier far more often than a secret.
pub(super) fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_from_dice() {
        for thrown in ["wJalrXUtnFEMIK7MDENGbPxRfiCY3q8Za1", "9f86d081884c7d659a2feaa0c55ad015", "a8Kd02LmQ71zPq5x"] {
            assert!(Mix::of(thrown.as_bytes()).is_thrown(), "{thrown}");
        }
        for written in
            ["home-page-banner-2024", "created_at_desc", "customer-order-id", "supersecretvalue", "ArrowDown"]
        {
            assert!(!Mix::of(written.as_bytes()).is_thrown(), "{written}");
        }
        assert!(entropy(b"aaaaaaaa") < 0.1 && entropy(b"abcdefgh") > 2.9);
    }

    #[test]
    fn what_stands_in_says_so() {
        for value in ["<your-token>", "xxxxxxxxxxxx", "${TOKEN}", "YOUR_API_KEY", "0000000000", "AKIAIOSFODNN7EXAMPLE"]
        {
            assert!(stands_in(value.as_bytes()), "{value}");
        }
        assert!(!stands_in(b"hunter2trombone"));
        assert!(is_uuid(b"550e8400-e29b-41d4-a716-446655440000"));
    }
}
