//! What a text costs a language model: its tokens, by the o200k vocabulary of today's GPT models.
//!
//! Other models cut differently, so for them it is an estimate, but one made the way a model reads: a number of words
//! is a fair guess for English prose only, and several times too low for JSON or Chinese.
//!
//! The vocabulary is that of the `tiktoken` crate; counting is done here, with the same result. The crate finds words
//! by a regular expression over whole Unicode classes, and a caller can make that cost what he likes: half a second for
//! 16 KB of rare letters, eight for a megabyte. Here every character is looked up in a table, and what no class breaks
//! up is merged in bounded pieces: no text costs more than a fraction of a microsecond a byte.

#[cfg(test)]
mod tests;
mod vocabulary;
mod words;

use std::{sync::LazyLock, thread};

use vocabulary::Vocabulary;
use words::Words;

/// A word longer than this many bytes is cut there, which makes it a token longer for each cut, seldom two. Words as
/// people write them are far below; a line of Thai or Chinese may not be.
const LONGEST: usize = 256;

struct Tokenizer {
    vocabulary: Vocabulary,
    words: Words,
}

static TOKENIZER: LazyLock<Tokenizer> =
    LazyLock::new(|| Tokenizer { vocabulary: Vocabulary::load(), words: Words::load() });

/// The tokens of a text; names of special tokens are text like any other. The first call takes some 200 ms, see
/// [`warm`]; a megabyte may take 0.2 s, so large texts are counted where blocking is allowed.
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

/// Loads the vocabulary on a thread of its own, so that no request has to wait for it, and then calls `loaded` there.
pub fn warm(loaded: impl FnOnce() + Send + 'static) {
    // Without a thread, the first to count loads it.
    _ = thread::Builder::new().name("tokens".into()).spawn(|| {
        LazyLock::force(&TOKENIZER);
        loaded();
    });
}
