//! A fuzzer's bytes as choices: what is written by a grammar and then read again comes from these.

#![allow(dead_code, reason = "no list needs all of it")]

/// What is left of the bytes; where nothing is left every choice is the first.
pub struct Dice<'a>(pub &'a [u8]);

impl<'a> Dice<'a> {
    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// Less than this.
    pub fn below(&mut self, most: usize) -> usize {
        usize::from(self.byte()) % most
    }

    pub fn yes(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// The rest, where it is text that may stand in a header field.
    pub fn text(&self) -> Option<&'a str> {
        let fits = |text: &&str| text.bytes().all(|byte| byte == b'\t' || byte >= b' ' && byte != 0x7f);
        std::str::from_utf8(self.0).ok().filter(fits)
    }
}
