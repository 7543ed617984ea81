//! A question as stems: which of its words the site knows, what each says, and how much of it a text holds.
//!
//! A visitor's words never reach a query parser: what is left of them here are numbers of stems from the site's own
//! vocabulary. The rest, the words that the site does not have, is what tells "not on this site" from "the best there is".

use std::{collections::HashMap, ops::Range};

use tantivy::tokenizer::Language;

use super::{index::Index, words::Words};
use frontdesk_base::text::clip;

/// The longest question that is read, in characters.
const QUERY: usize = 4096;
/// Words of a question that are used.
pub(super) const TERMS: usize = 64;
/// What a word counts for that only frames the question.
pub(super) const LIGHT: f32 = 0.2;
/// What another word for the same thing counts for.
const OTHER: f32 = 0.75;

/// A word of a question.
pub(super) struct Term {
    /// As it was written.
    pub(super) written: String,
    /// Its stems that the site knows, and how well each fits.
    ids: Vec<(u32, f32)>,
    pub(super) weight: f32,
    /// Says what the question is about, and was asked just now rather than before.
    pub(super) counts: bool,
    light: bool,
}

impl Term {
    /// Does the site not have this word, nor another for it?
    pub(super) fn is_unknown(&self) -> bool {
        self.ids.is_empty()
    }
}

/// A text that is part of a question.
pub(super) struct Part<'a> {
    pub(super) text: &'a str,
    /// How much it counts: 1 for what is asked now, less for what was said before.
    pub(super) weight: f32,
    /// Is an answer to hold it?
    pub(super) wanted: bool,
}

/// A question, as stems.
pub(super) struct Asked {
    pub(super) terms: Vec<Term>,
    /// Which words of the question a stem stands for, as bits, and how well.
    pub(super) by_id: HashMap<u32, (u64, f32), foldhash::fast::RandomState>,
    /// Words that stand side by side in the question.
    pub(super) pairs: Vec<(u32, u32)>,
    pub(super) total: f32,
    /// Wants a number: how much, how many, how long, when.
    pub(super) number: bool,
    pub(super) language: Language,
    /// It is of nothing but words that frame a question, which then count.
    pub(super) promoted: bool,
}

impl Asked {
    /// Reads a question. `names` are the site's own name: on every page, so it says nothing.
    pub(super) fn read(index: &Index, parts: &[Part<'_>], names: &str, language: Language) -> Self {
        let mut asked = Self {
            terms: Vec::new(),
            by_id: HashMap::default(),
            pairs: Vec::new(),
            total: 0.0,
            number: false,
            language,
            promoted: false,
        };
        let Some(mut words) =
            index.languages.iter().find(|(known, _)| *known == language).map(|(_, words)| words.clone())
        else {
            return asked;
        };
        let mut own = Vec::new();
        words.stems(names, |stem, _| own.push(stem.to_owned()));
        for part in parts {
            asked.part(index, part, &own, &mut words);
        }
        // A question of nothing but small words is about those.
        if !asked.terms.iter().any(|term| term.counts) {
            asked.promoted = true;
            for term in asked.terms.iter_mut().filter(|term| !term.is_unknown()) {
                term.counts = true;
            }
        }
        asked.total = asked.terms.iter().map(|term| term.weight).sum();
        for (at, term) in asked.terms.iter().enumerate() {
            for (id, fit) in &term.ids {
                let (bits, known) = asked.by_id.entry(*id).or_insert((0, 0.0));
                *bits |= 1 << at;
                *known = known.max(*fit);
            }
        }
        asked.number = parts.first().is_some_and(|part| wants_number(part.text));
        asked
    }

    fn part(&mut self, index: &Index, part: &Part<'_>, own: &[String], words: &mut Words) {
        let text = clip(part.text, QUERY);
        let mut found: Vec<(String, Range<usize>)> = Vec::new();
        let mut whole = 0;
        words.stems(text, |stem, range| {
            // A compound that the site knows is enough; of another, the parts are looked for.
            if range.end <= whole || found.len() >= 4 * TERMS {
                return;
            }
            if stem.contains('_') {
                match index.number(stem) {
                    Some(_) => whole = range.end,
                    None => return,
                }
            }
            found.push((stem.to_owned(), range));
        });
        let joined = joined(index, text, &found, words);
        let mut last: Option<Option<u32>> = None;
        for (at, (stem, range)) in found.into_iter().enumerate() {
            if self.terms.len() == TERMS {
                return;
            }
            let id = index.number(&stem);
            let light = words.is_light(&stem) || own.contains(&stem);
            if part.wanted
                && let (Some(last), Some(id)) = (last.replace(id).flatten(), id)
            {
                self.pairs.push((last, id));
            }
            if id.is_some() && self.terms.iter().any(|term| term.ids.first().map(|(id, _)| *id) == id) {
                continue;
            }
            let mut ids: Vec<(u32, f32)> = id.map(|id| (id, 1.0)).into_iter().collect();
            ids.extend(joined.iter().filter(|(first, _)| at == *first || at == first + 1).map(|(_, id)| (*id, 1.0)));
            if !light {
                for other in words.alike(&stem) {
                    ids.extend(index.number(other).map(|id| (id, OTHER)));
                }
            }
            if light && ids.is_empty() {
                continue;
            }
            let commonest = ids.iter().max_by_key(|(id, _)| index.frequency(*id)).map(|(id, _)| *id);
            let rarity = index.rarity(id.or(commonest));
            let weight = part.weight * rarity * if light { LIGHT } else { 1.0 };
            let counts = !light && part.wanted;
            self.terms.push(Term { written: text[range].to_owned(), ids, weight, counts, light });
        }
    }

    /// How much of what was asked is among these, as a share; the words that count only.
    pub(super) fn share(&self, covered: u64) -> f32 {
        let sum = |wanted: u64| -> f32 {
            let terms = self.terms.iter().enumerate().filter(|(at, term)| term.counts && wanted & (1 << at) != 0);
            terms.map(|(_, term)| term.weight).sum()
        };
        let all = sum(u64::MAX);
        if all > 0.0 { sum(covered) / all } else { 0.0 }
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

    /// The share of the whole question that these words are.
    pub(super) fn held(&self, covered: u64) -> f32 {
        let mut held = 0.0;
        each(covered, |at| held += self.terms[at].weight);
        held / self.total.max(f32::MIN_POSITIVE)
    }

    /// How many of the question's neighbours stand side by side in one of these texts too, as a share.
    pub(super) fn side_by_side<'a>(&self, texts: impl Iterator<Item = &'a Box<[u32]>>) -> f32 {
        let mut found = 0u64;
        for text in texts {
            for pair in text.windows(2) {
                // Few words of a text are the question's: the second look-up is rare.
                if self.by_id.contains_key(&pair[0]) && self.by_id.contains_key(&pair[1]) {
                    let at = self.pairs.iter().take(TERMS).position(|(a, b)| *a == pair[0] && *b == pair[1]);
                    found |= at.map_or(0, |at| 1 << at);
                }
            }
        }
        found.count_ones() as f32 / self.pairs.len().clamp(1, TERMS) as f32
    }

    /// How much of the question one sentence holds.
    pub(super) fn sentence(&self, terms: &[u32]) -> f32 {
        self.share_of(terms).0
    }
}

/// Words that the site writes as one: "back up" finds "backup". With the place of the first.
fn joined(index: &Index, text: &str, found: &[(String, Range<usize>)], words: &mut Words) -> Vec<(usize, u32)> {
    let mut joined = Vec::new();
    for (at, pair) in found.windows(2).enumerate().take(TERMS) {
        let (first, second) = (pair[0].1.clone(), pair[1].1.clone());
        if second.start != first.end + 1 {
            continue;
        }
        let one = format!("{}{}", &text[first], &text[second]);
        words.stems(&one, |stem, _| joined.extend(index.number(stem).map(|id| (at, id))));
    }
    joined
}

fn wants_number(text: &str) -> bool {
    const MARKS: [&str; 14] = [
        "how much",
        "how many",
        "how long",
        "how far",
        "how big",
        "how heavy",
        "how often",
        "when ",
        "what does",
        "cost",
        "price",
        "wie viel",
        "combien",
        "cuánto",
    ];
    let text = text.chars().take(200).collect::<String>().to_lowercase();
    MARKS.iter().any(|mark| text.contains(mark))
}

/// Calls `with` with the number of every bit that is set.
pub(super) fn each(mut bits: u64, mut with: impl FnMut(usize)) {
    while bits != 0 {
        with(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}
