//! Counts the tokens of a text, by the o200k vocabulary of current GPT models.
//!
//! For other models this is an estimate. It is still better than a count of words, which is fair for English prose
//! only, and several times too low for JSON or Chinese.
//!
//! The vocabulary comes from the `tiktoken` crate; the counting is ours, with the same result. The crate splits words
//! with a regular expression over whole Unicode classes, whose cost a caller can drive up: half a second for 16 KB of
//! rare letters, eight seconds for a megabyte. Here each character is looked up in a table, and text without
//! boundaries is merged in bounded pieces, so no text costs more than a fraction of a microsecond per byte.

#[cfg(test)]
mod tests;
mod vocabulary;
mod words;

use std::{sync::LazyLock, thread};

use vocabulary::Vocabulary;
use words::Words;

/// Maximum bytes of a word; longer ones are cut, which adds one token per cut, seldom two. Ordinary words are far
/// shorter; a line of Thai or Chinese may not be.
const LONGEST: usize = 256;

struct Tokenizer {
    vocabulary: Vocabulary,
    words: Words,
}

static TOKENIZER: LazyLock<Tokenizer> =
    LazyLock::new(|| Tokenizer { vocabulary: Vocabulary::load(), words: Words::load() });

/// The tokens of a text. Names of special tokens count as text. The first call takes some 200 ms, see [`warm`]. A
/// megabyte may take 0.2 s, so count large texts where blocking is allowed.
pub fn count(text: &str) -> u32 {
    let Tokenizer { vocabulary, words } = &*TOKENIZER;
    let mut count = 0usize;
    let mut rest = text;
    while !rest.is_empty() {
        let mut word;
        (word, rest) = rest.split_at(words.end(rest));
        while !word.is_empty() {
            let piece;
            (piece, word) = word.split_at(word.floor_char_boundary(LONGEST));
            count += vocabulary.count(piece.as_bytes());
        }
    }
    count.try_into().unwrap_or(u32::MAX)
}

/// Loads the vocabulary on a thread of its own, so that no request waits for it, then calls `loaded` there.
pub fn warm(loaded: impl FnOnce() + Send + 'static) {
    // Without a thread the first count loads it.
    _ = thread::Builder::new().name("tokens".into()).spawn(|| {
        LazyLock::force(&TOKENIZER);
        loaded();
    });
}
