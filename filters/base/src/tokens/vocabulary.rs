//! Byte-pair encoding: starts from the bytes of a word, and repeatedly joins the neighbours that form the lowest
//! token.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::LONGEST;

/// No two neighbours form a token.
const NONE: u32 = u32::MAX;

/// Every token and its number, which is its rank. Takes 3.5 MB; a map with one slice per token would take eight.
pub(super) struct Vocabulary {
    tokens: Tokens,
    /// Ranks by their tokens' hash. It is read-only, so the hash needs no secret.
    ranks: HashTable<u32>,
    hasher: FixedState,
}

/// All tokens concatenated, by rank.
struct Tokens {
    bytes: Box<[u8]>,
    /// The end of each.
    ends: Box<[u32]>,
}

impl Tokens {
    fn token(&self, rank: u32) -> &[u8] {
        let rank = rank as usize;
        let start = rank.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start as usize..self.ends[rank] as usize]
    }
}

impl Vocabulary {
    pub(super) fn load() -> Self {
        let source = tiktoken::encoding::o200k_base();
        let size = source.vocab_size() as u32;
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(size as usize));
        for rank in 0..size {
            bytes.extend(source.decode(&[rank]));
            ends.push(bytes.len() as u32);
        }
        let tokens = Tokens { bytes: bytes.into(), ends: ends.into() };
        let hasher = FixedState::default();
        let hash = |rank: &u32| hasher.hash_one(tokens.token(*rank));
        let mut ranks = HashTable::with_capacity(size as usize);
        for rank in 0..size {
            ranks.insert_unique(hash(&rank), rank, hash);
        }
        Self { tokens, ranks, hasher }
    }

    fn rank(&self, bytes: &[u8]) -> u32 {
        let found = self.ranks.find(self.hasher.hash_one(bytes), |rank| self.tokens.token(*rank) == bytes);
        found.copied().unwrap_or(NONE)
    }

    /// The tokens of a word of at most [`LONGEST`] bytes.
    pub(super) fn count(&self, word: &[u8]) -> usize {
        if word.len() < 2 || self.rank(word) != NONE {
            return word.len().min(1);
        }
        // The start of each part, and the rank of it joined with the next.
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

/// The leftmost of the lowest ranks, and its position.
fn lowest(ranks: &[u32]) -> (usize, u32) {
    let lowest = ranks.iter().copied().min().unwrap_or(NONE);
    (ranks.iter().position(|rank| *rank == lowest).unwrap_or(0), lowest)
}
