//! Byte-pair encoding: a word is its bytes, and the two neighbours that make the lowest token are joined, again and
//! again.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::LONGEST;

/// No two neighbours make a token.
const NONE: u32 = u32::MAX;

/// Every token and its number, which is also its rank. Only looked up, never added to, so a hash without a secret will
/// do.
pub(super) struct Vocabulary(HashMap<&'static [u8], u32, FixedState>);

impl Vocabulary {
    /// Once in the life of a process: its bytes are never given back.
    pub(super) fn load() -> Self {
        let source = tiktoken::encoding::o200k_base();
        let size = source.vocab_size() as u32;
        let bytes: &'static [u8] = Box::leak(source.decode(&(0..size).collect::<Vec<_>>()).into_boxed_slice());
        let mut ranks = HashMap::with_capacity_and_hasher(size as usize, FixedState::default());
        let mut rest = bytes;
        for rank in 0..size {
            let (token, after) = rest.split_at(source.decode(&[rank]).len());
            ranks.insert(token, rank);
            rest = after;
        }
        Self(ranks)
    }

    fn rank(&self, bytes: &[u8]) -> u32 {
        self.0.get(bytes).copied().unwrap_or(NONE)
    }

    /// The tokens of a word of at most [`LONGEST`] bytes.
    pub(super) fn count(&self, word: &[u8]) -> usize {
        if word.len() < 2 || self.0.contains_key(word) {
            return word.len().min(1);
        }
        // Where each part begins, and the rank of it joined with the next.
        let mut starts = [0u16; LONGEST + 1];
        let mut ranks = [NONE; LONGEST];
        for (n, start) in starts[..=word.len()].iter_mut().enumerate() {
            *start = n as u16;
        }
        for (rank, pair) in ranks.iter_mut().zip(word.windows(2)) {
            *rank = self.rank(pair);
        }
        let mut parts = word.len();
        loop {
            let (at, lowest) = lowest(&ranks[..parts - 1]);
            if lowest == NONE {
                return parts;
            }
            starts.copy_within(at + 2..=parts, at + 1);
            ranks.copy_within(at + 1..parts, at);
            parts -= 1;
            let joined = |from: usize, to: usize| self.rank(&word[starts[from].into()..starts[to].into()]);
            ranks[at] = if at + 2 <= parts { joined(at, at + 2) } else { NONE };
            if at > 0 {
                ranks[at - 1] = joined(at - 1, at + 1);
            }
        }
    }
}

/// The leftmost of the lowest ranks, and where it is.
fn lowest(ranks: &[u32]) -> (usize, u32) {
    let lowest = ranks.iter().copied().min().unwrap_or(NONE);
    (ranks.iter().position(|rank| *rank == lowest).unwrap_or(0), lowest)
}
