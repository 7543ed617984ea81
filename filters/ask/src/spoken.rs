//! Which language a question is in: one of the site's, or, where no page is known to be in it, one of its own.
//!
//! A page often does not say its language, and a short one does not show it either. The question does: its small words
//! are then left out all the same, and nobody is told that the site does not mention "was" or "ein".

use std::sync::{Arc, Mutex, PoisonError};

use tantivy::tokenizer::Language;

use super::{index::Index, languages, speaker::Speaker, vocabulary::Tongue};

/// Words of a question that its language is told by.
const MOST_WORDS: usize = 256;

/// The language of a question.
pub(super) struct Spoken {
    /// The one of the site's that it is taken for.
    pub(super) tongue: usize,
    /// Its own, where that is none of the site's.
    pub(super) own: Option<Arc<Tongue>>,
}

/// A language that is none of the site's. Its words take a millisecond to read, so that is done once in a process.
fn foreign(language: Language) -> Arc<Tongue> {
    static KNOWN: Mutex<Vec<Arc<Tongue>>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(tongue) = known.iter().find(|tongue| tongue.language == language) {
        return tongue.clone();
    }
    let tongue = Arc::new(Tongue::new(language));
    known.push(tongue.clone());
    tongue
}

impl Spoken {
    /// That of this question. The site's language is the one that has most of its small words; of equals the one that the
    /// text looks like, the visitor's, or that of most pages.
    pub(super) fn of(index: &Index, text: &str, locale: Option<&str>) -> Self {
        let tongues = &index.vocabulary.tongues;
        let guessed = languages::guess(text);
        let likely = guessed.or_else(|| locale.and_then(languages::of_tag));
        let find = |language| tongues.iter().position(|tongue| tongue.language == language);
        let mut speakers = index.vocabulary.speakers();
        let mut own = likely.filter(|language| !tongues.is_empty() && find(*language).is_none()).map(foreign);
        let words = || text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).take(MOST_WORDS);
        let count = |speaker: &mut Speaker| words().filter(|word| speaker.is_stop(&word.to_lowercase())).count();
        let small: Vec<usize> = speakers.iter_mut().map(count).collect();
        let most = small.iter().copied().max().unwrap_or_default();
        // The site's is taken where it has more of them, or as many and only the visitor's language speaks for another.
        let least = if guessed.is_some() { most } else { most + 1 };
        own = own.filter(|own| count(&mut own.speaker()) >= least);
        let likely = [likely, locale.and_then(languages::of_tag)];
        let mut likely = likely.into_iter().flatten().filter_map(find);
        let tongue = likely.find(|at| small[*at] == most).or(small.iter().position(|count| *count == most));
        Self { tongue: tongue.unwrap_or_default(), own }
    }
}
