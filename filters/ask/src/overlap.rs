//! How much of a question a text holds: which of its words, as they are or as others, and side by side.

use super::{
    question::{Asked, TERMS, Term},
    vocabulary::{BREAK, Vocabulary},
};

impl Asked {
    /// How much of what was asked is among these, as a share; the words that count only.
    pub(super) fn share(&self, covered: u64) -> f32 {
        let sum = |wanted: u64| -> f32 {
            let terms = self.terms.iter().enumerate().filter(|(at, term)| term.counts && wanted & (1 << at) != 0);
            terms.map(|(_, term)| term.weight).sum()
        };
        let all = sum(u64::MAX);
        if all > 0.0 { sum(covered) / all } else { 0.0 }
    }

    /// The share of what was asked that is nowhere on the site.
    pub(super) fn unknown_share(&self) -> f32 {
        let unknown = self.terms.iter().enumerate().filter(|(_, term)| term.is_unknown());
        self.share(unknown.fold(0, |bits, (at, _)| bits | 1 << at))
    }

    /// The words that were said before or in a clarification and say something, as bits.
    pub(super) fn context(&self) -> u64 {
        let bits = self.terms.iter().enumerate().filter(|(_, term)| !term.counts && !term.light && !term.is_unknown());
        bits.fold(0, |bits, (at, _)| bits | 1 << at)
    }

    /// The words that count, as bits.
    pub(super) fn counting(&self) -> u64 {
        self.terms.iter().enumerate().filter(|(_, term)| term.counts).fold(0, |bits, (at, _)| bits | 1 << at)
    }

    /// The words that count and that the site does not have.
    pub(super) fn unknown(&self) -> impl Iterator<Item = &Term> {
        self.terms.iter().filter(|term| term.counts && term.is_unknown())
    }

    /// Does the question name something that the site never mentions?
    pub(super) fn names_unknown(&self) -> bool {
        self.unknown().any(|term| term.is_name)
    }

    /// How much of the question these stems are, as a share, and which of its words, as bits.
    pub(super) fn share_of(&self, terms: &[u32]) -> (f32, u64) {
        let mut fits = [0f32; TERMS];
        let mut covered = 0u64;
        for id in terms {
            if let Some((bits, fit)) = self.by_id.get(id) {
                each(*bits, |at| fits[at] = fits[at].max(*fit));
                covered |= bits;
            }
        }
        let held: f32 = self.terms.iter().zip(fits).map(|(term, fit)| term.weight * fit).sum();
        (held / self.total.max(f32::MIN_POSITIVE), covered)
    }

    /// Which words of the question are among these stems as they are, rather than as another for the same thing, as bits.
    pub(super) fn plain(&self, terms: &[u32]) -> u64 {
        let exact = terms.iter().filter_map(|id| self.by_id.get(id)).filter(|(_, fit)| *fit >= 1.0);
        exact.fold(0, |bits, (more, _)| bits | more)
    }

    /// Does a text say how many there are of what the question wants counted: "59100 software packages"?
    pub(super) fn counts(&self, vocabulary: &Vocabulary, text: &str) -> bool {
        const APART: usize = 3;
        if self.counted.is_empty() {
            return false;
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let is_number = |word: &str| {
            word.starts_with(|c: char| c.is_ascii_digit())
                && word.trim_end_matches(',').bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b','))
        };
        let mut near = Vec::new();
        words.iter().enumerate().filter(|(_, word)| is_number(word)).any(|(at, _)| {
            near.clear();
            let next = &words[at + 1..(at + 1 + APART).min(words.len())];
            next.iter().for_each(|word| vocabulary.known(word, self.tongue, &mut near));
            near.iter().any(|id| *id != BREAK && self.counted.contains(id))
        })
    }

    /// The share of the whole question that these words are.
    pub(super) fn held(&self, covered: u64) -> f32 {
        let mut held = 0.0;
        each(covered, |at| held += self.terms[at].weight);
        held / self.total.max(f32::MIN_POSITIVE)
    }

    /// How many of the question's neighbours stand side by side in one of these texts too, as a share.
    pub(super) fn side_by_side<'a>(&self, texts: impl Iterator<Item = &'a [u32]>) -> f32 {
        let mut found = 0u64;
        for pair in texts.flat_map(|text| text.windows(2)) {
            // Few words of a text are the question's: the second look-up is rare.
            if self.by_id.contains_key(&pair[0]) && self.by_id.contains_key(&pair[1]) {
                let at = self.pairs.iter().take(TERMS).position(|(a, b)| *a == pair[0] && *b == pair[1]);
                found |= at.map_or(0, |at| 1 << at);
            }
        }
        found.count_ones() as f32 / self.pairs.len().clamp(1, TERMS) as f32
    }
}

/// Calls `with` with the number of every bit that is set.
pub(super) fn each(mut bits: u64, mut with: impl FnMut(usize)) {
    while bits != 0 {
        with(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}
