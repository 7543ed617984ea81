//! Numbers and texts as bytes, with a sum over all of them at the end that tells damage.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

/// Bytes that are written.
#[derive(Default)]
pub(super) struct Writing(Vec<u8>);

/// Bytes that are read. Whatever they hold, reading them ends, and takes no more memory than they do many times over.
pub(super) struct Reading<'a>(&'a [u8]);

fn sum(bytes: &[u8]) -> u64 {
    FixedState::default().hash_one(bytes)
}

impl Writing {
    /// Seven bits a byte, the lowest first.
    pub(super) fn number(&mut self, number: usize) {
        let mut left = number as u64;
        while left >= 0x80 {
            self.0.push((left & 0x7f) as u8 | 0x80);
            left >>= 7;
        }
        self.0.push(left as u8);
    }

    pub(super) fn fixed(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len());
        self.0.extend(bytes);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(super) fn maybe(&mut self, text: Option<&str>) {
        self.number(usize::from(text.is_some()));
        self.text(text.unwrap_or_default());
    }

    pub(super) fn numbers(&mut self, numbers: &[u32]) {
        self.number(numbers.len());
        numbers.iter().for_each(|number| self.number(*number as usize));
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        let sum = sum(&self.0);
        self.fixed(sum);
        self.0
    }
}

impl<'a> Reading<'a> {
    /// `None` where the bytes are not what was written.
    pub(super) fn of(bytes: &'a [u8]) -> Option<Self> {
        let (bytes, told) = bytes.split_last_chunk::<8>()?;
        (sum(bytes) == u64::from_le_bytes(*told)).then_some(Self(bytes))
    }

    pub(super) fn number(&mut self) -> Option<usize> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return usize::try_from(number).ok();
            }
        }
        None
    }

    pub(super) fn number32(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    pub(super) fn fixed(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let size = self.number()?;
        let (bytes, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    pub(super) fn maybe(&mut self) -> Option<Option<&'a str>> {
        let is_there = self.number()? == 1;
        let text = self.text()?;
        Some(is_there.then_some(text))
    }

    pub(super) fn numbers(&mut self) -> Option<Box<[u32]>> {
        (0..self.number()?).map(|_| self.number32()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let mut out = Writing::default();
        for number in [0, 1, 127, 128, 300, usize::MAX] {
            out.number(number);
        }
        out.text("wörd");
        out.maybe(None);
        out.maybe(Some(""));
        out.numbers(&[7, u32::MAX]);
        out.fixed(u64::MAX);
        let bytes = out.finish();
        let mut from = Reading::of(&bytes).expect("whole");
        assert_eq!([0; 6].map(|_| from.number()), [0, 1, 127, 128, 300, usize::MAX].map(Some));
        assert_eq!((from.text(), from.maybe(), from.maybe()), (Some("wörd"), Some(None), Some(Some(""))));
        assert_eq!(
            (from.numbers().as_deref(), from.fixed(), from.number()),
            (Some(&[7, u32::MAX][..]), Some(u64::MAX), None)
        );
    }

    #[test]
    fn damage_is_told() {
        let mut out = Writing::default();
        out.text("some words");
        let bytes = out.finish();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(Reading::of(&damaged).is_none(), "{at}");
            assert!(Reading::of(&bytes[..at]).is_none(), "{at}");
        }
    }
}
