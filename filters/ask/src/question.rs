//! A question as stems: which of its words the site knows, what each says, and how much of it a text holds.
//!
//! A visitor's words never reach a query parser: what is left of them here are numbers of stems from the site's own
//! vocabulary. No word is demanded. One that the site does not have lowers what an answer is trusted with.

use std::{collections::HashMap, ops::Range};

use super::{
    index::Index,
    particles,
    related::{self, Sense},
    spoken::Spoken,
    tokens::{self, Piece, WHOLE},
    vocabulary::{BREAK, Tongue},
    wish::{self, Wish},
};
use crate::languages;
use frontdesk_base::text::clip;

/// The longest question that is read, in characters.
const QUERY: usize = 4096;
/// Words of a question that are used.
pub(super) const TERMS: usize = 64;
/// The most words of a text whose spelling is corrected: each is compared with every word of the site.
const CORRECTED: usize = 3;
/// What a word counts for that only frames the question.
pub(super) const LIGHT: f32 = 0.2;
/// How well another word for the same thing fits, a part of a compound or an identifier, and a word spelled like it.
const OTHER: f32 = 0.7;
const PARTIAL: f32 = 0.6;
/// How well a word fits that means what a phrase does.
const MEANT: f32 = 0.8;
const MISSPELT: f32 = 0.7;
/// How much of a word's rarity counts: what is rare on a site is often only said in another way there.
const RARITY: f32 = 0.75;
/// What a word weighs that stands in no title and no heading: it is hardly what a page is about.
const UNHEADED: f32 = 0.75;
/// What a word weighs that the site does not have, of what the rarest one would.
const UNKNOWN: f32 = 0.7;

/// A word of a question.
pub(super) struct Term {
    /// As it was written.
    pub(super) written: String,
    /// Its stems that the site knows, and how well each fits.
    pub(super) ids: Vec<(u32, f32)>,
    pub(super) weight: f32,
    /// Says what the question is about, and was asked just now rather than before.
    pub(super) counts: bool,
    pub(super) light: bool,
    /// It looks like a name: a capital letter where the language has none otherwise.
    pub(super) is_name: bool,
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

/// Whether a word that the site does not have may be another one with a mistake in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    Exact,
    Alike,
}

/// A question, as stems.
pub(super) struct Asked {
    pub(super) terms: Vec<Term>,
    /// Which words of the question a stem stands for, as bits, and how well.
    pub(super) by_id: HashMap<u32, (u64, f32), foldhash::fast::RandomState>,
    /// Words that stand side by side in the question.
    pub(super) pairs: Vec<(u32, u32)>,
    pub(super) total: f32,
    pub(super) wish: Wish,
    /// The stems of what is to be counted: "how many packages".
    pub(super) counted: Vec<u32>,
    /// The site's language that it is asked in.
    pub(super) tongue: usize,
    /// It is of nothing but words that frame a question, which then count.
    pub(super) promoted: bool,
    /// What it says, where its language has a table of related words.
    pub(super) sense: Option<Sense>,
}

impl Asked {
    /// Reads a question. `names` are the site's own name: on every page, so it says nothing.
    pub(super) fn read(
        index: &Index,
        parts: &[Part<'_>],
        names: &str,
        locale: Option<&str>,
        spelling: Spelling,
    ) -> Self {
        let text = parts.first().map(|part| clip(part.text, QUERY)).unwrap_or_default();
        let Spoken { tongue, own } = Spoken::of(index, text, locale);
        let mut asked = Self {
            terms: Vec::new(),
            by_id: HashMap::default(),
            pairs: Vec::new(),
            total: 0.0,
            wish: wish::of(text),
            counted: Vec::new(),
            tongue,
            promoted: false,
            sense: None,
        };
        if index.vocabulary.tongues.is_empty() {
            return asked;
        }
        if let Some(word) = wish::counted(text) {
            index.vocabulary.known(word, tongue, &mut asked.counted);
        }
        if own.is_none() && index.vocabulary.tongues[tongue].language == related::LANGUAGE {
            let texts = parts.iter().map(|part| (clip(part.text, QUERY), part.weight));
            asked.sense = Sense::of(texts, &mut index.vocabulary.tongues[tongue].speaker());
        }
        let mut names_ids = Vec::new();
        index.vocabulary.known(names, tongue, &mut names_ids);
        names_ids.retain(|id| *id != BREAK);
        for part in parts {
            asked.part(index, part, own.as_deref(), &names_ids, spelling);
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
        asked
    }

    fn part(&mut self, index: &Index, part: &Part<'_>, own: Option<&Tongue>, names: &[u32], spelling: Spelling) {
        let vocabulary = &index.vocabulary;
        let mut tongues = vocabulary.speakers();
        tongues.extend(own.map(Tongue::speaker));
        // The language whose small words the question has, and where it stands among them.
        let spoken = own.unwrap_or(&vocabulary.tongues[self.tongue]);
        let at_spoken = if own.is_some() { tongues.len() - 1 } else { self.tongue };
        let text = clip(part.text, QUERY);
        let mut pieces: Vec<(String, Range<usize>, bool)> = Vec::new();
        let mut whole = 0;
        tokens::cut(text, |piece, range| match piece {
            Piece::Identifier(name) if pieces.len() < 4 * TERMS => {
                let name = format!("{WHOLE}{}", name.to_lowercase());
                if vocabulary.number(&name).is_some() {
                    whole = range.end;
                    pieces.push((name, range, true));
                }
            }
            // An identifier that the site knows is enough; of another, the parts are looked for.
            Piece::Word(word) if pieces.len() < 4 * TERMS && range.end > whole => {
                pieces.push((word.to_lowercase(), range, false));
            }
            _ => {}
        });
        let particle = particles::last(spoken.language, text);
        let mut last: Option<u32> = None;
        let (mut phrased, mut corrected) = (0, 0);
        for at in 0..pieces.len() {
            if self.terms.len() == TERMS {
                return;
            }
            let (word, range, is_name) = &pieces[at];
            let mut ids: Vec<(u32, f32)> = Vec::new();
            let (mut stop, mut light, mut stem) = (false, false, String::new());
            if *is_name {
                ids.extend(vocabulary.number(word).map(|id| (id, 1.0)));
                let mut parts = Vec::new();
                vocabulary.known(word.trim_start_matches(WHOLE), self.tongue, &mut parts);
                ids.extend(
                    parts
                        .into_iter()
                        .filter(|id| *id != BREAK && Some(*id) != ids.first().map(|(id, _)| *id))
                        .map(|id| (id, PARTIAL))
                        .collect::<Vec<_>>(),
                );
            } else {
                stop = tongues[at_spoken].is_stop(word);
                for (tongue, stems) in tongues.iter_mut().enumerate() {
                    let here = stems.stem(word);
                    if tongue == at_spoken {
                        light = spoken.is_light(&here);
                        stem.clone_from(&here);
                    }
                    ids.extend(vocabulary.number(&here).map(|id| (id, 1.0)));
                }
            }
            // What the first word of a phrase stands for, the others do not say once more.
            let words: Vec<&str> = pieces[at..].iter().take(6).map(|(word, ..)| word.as_str()).collect();
            let phrase = (at >= phrased).then(|| tongues[at_spoken].phrase(&words)).flatten();
            if let Some((count, meant)) = &phrase {
                phrased = at + count;
                let meant = meant.iter().filter_map(|stem| vocabulary.number(stem)).map(|id| (id, MEANT));
                if stop {
                    ids.clear();
                }
                ids.extend(meant);
                (stop, light) = (false, false);
            } else if at < phrased {
                light = true;
            }
            // "stelle … ein" is "einstellen".
            let joined = particle.filter(|particle| particles::may_be_verb(&text[range.clone()]) && word != particle);
            let joined = joined.map(|particle| tongues[at_spoken].stem(&format!("{particle}{word}")));
            if let Some(id) = joined.and_then(|stem| vocabulary.number(&stem)) {
                ids.push((id, 1.0));
                (stop, light) = (false, false);
            }
            if stop {
                last = None;
                continue;
            }
            let known: Vec<u32> = ids.iter().map(|(id, _)| *id).collect();
            light |= known.iter().any(|id| names.contains(id));
            // Two words that the site writes as one: "back up" finds "backup".
            if let Some((next, beside, false)) = pieces.get(at + 1)
                && beside.start == range.end + 1
            {
                let one = tongues[at_spoken].stem(&format!("{word}{next}"));
                ids.extend(vocabulary.number(&one).map(|id| (id, 1.0)));
            }
            if at > 0 && pieces[at - 1].1.end + 1 == range.start && !pieces[at - 1].2 {
                let one = tongues[at_spoken].stem(&format!("{}{word}", pieces[at - 1].0));
                ids.extend(vocabulary.number(&one).map(|id| (id, 1.0)));
            }
            if !light && !is_name && phrase.is_none() {
                for other in tongues[at_spoken].alike(&stem) {
                    ids.extend(vocabulary.number(other).map(|id| (id, OTHER)));
                }
                for part in vocabulary.tongues[self.tongue].parts(word) {
                    let part = tongues[at_spoken].stem(part);
                    ids.extend(vocabulary.number(&part).map(|id| (id, PARTIAL)));
                }
                if ids.is_empty() && spelling == Spelling::Alike && corrected < CORRECTED {
                    corrected += 1;
                    ids.extend(vocabulary.spelled_like(&stem).map(|id| (id, MISSPELT)));
                }
            }
            // What is part of a compound is not the word itself.
            let parts: Vec<(u32, f32)> =
                ids.iter().filter_map(|(id, fit)| Some((vocabulary.within(*id)?, fit * PARTIAL))).collect();
            ids.extend(parts);
            let id = known.first().copied();
            if part.wanted
                && let (Some(last), Some(id)) = (std::mem::replace(&mut last, id), id)
            {
                self.pairs.push((last, id));
            }
            let again = match id {
                Some(id) => self.terms.iter().any(|term| term.ids.first().is_some_and(|(first, _)| *first == id)),
                None => self.terms.iter().any(|term| term.ids == ids && term.written.to_lowercase() == *word),
            };
            if again || light && ids.is_empty() {
                continue;
            }
            // The commonest of its forms says how much it says.
            let fitting = |fit: f32| ids.iter().filter(move |(_, f)| *f >= fit).map(|(id, _)| *id);
            let commonest = fitting(1.0)
                .max_by_key(|id| vocabulary.frequency(*id))
                .or_else(|| fitting(0.0).max_by_key(|id| vocabulary.frequency(*id)));
            let rarity = match commonest {
                Some(id) => index.rarity(Some(id)),
                None => UNKNOWN * index.rarity(None),
            };
            let rarity = rarity.powf(RARITY);
            let is_headed =
                |id: u32| index.is_headed(id) || vocabulary.within(id).is_some_and(|id| index.is_headed(id));
            let headed = ids.iter().any(|(id, fit)| *fit >= 1.0 && is_headed(*id));
            let factor = if ids.is_empty() || headed { 1.0 } else { UNHEADED };
            let weight = factor * part.weight * rarity * if light { LIGHT } else { 1.0 };
            let counts = !light && part.wanted;
            let written = text[range.clone()].to_owned();
            let begins =
                text[..range.start].trim_end().ends_with(['.', '?', '!', ':']) || text[..range.start].trim().is_empty();
            let is_name = !begins && !languages::capitals(spoken.language) && written.starts_with(char::is_uppercase);
            self.terms.push(Term { written, ids, weight, counts, light, is_name });
        }
    }
}
