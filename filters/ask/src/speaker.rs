//! How a language forms its words: stems, words that say nothing, phrases, and words for the same thing.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use tantivy::tokenizer::{
    AsciiFoldingFilter, Language, RawTokenizer, Stemmer, StopWordFilter, TextAnalyzer, TokenStream,
};

use super::{
    everyday, languages,
    synonyms::{PHRASES, STOP},
};

/// The shortest stem, in bytes, whose ending may be that of a German verb in -ieren: no "Papier".
const VERB: usize = 7;

/// How a language forms its words. Stemming takes it exclusively, so each question gets a copy.
#[derive(Clone)]
pub(super) struct Speaker {
    stemmer: TextAnalyzer,
    stop_filter: Option<TextAnalyzer>,
    stops: Arc<HashSet<String>>,
    /// Stems of other words for the same thing.
    alike: Arc<HashMap<String, Vec<String>>>,
    tag: &'static str,
}

impl Speaker {
    pub(super) fn new(language: Language) -> Self {
        let raw = || TextAnalyzer::builder(RawTokenizer::default());
        let mut stemmer = raw().filter(Stemmer::new(language)).filter(AsciiFoldingFilter).build();
        let stop_filter = StopWordFilter::new(language).map(|filter| raw().filter(filter).build());
        let tag = languages::tag(language);
        let mut alike: HashMap<String, Vec<String>> = HashMap::new();
        for group in everyday::groups(tag) {
            let stems: Vec<String> = group.split_whitespace().map(|word| stem(&mut stemmer, word, tag)).collect();
            for one in &stems {
                let others = stems.iter().filter(|other| *other != one).cloned();
                alike.entry(one.clone()).or_default().extend(others);
            }
        }
        let stops = Arc::new(listed(STOP, tag).map(str::to_owned).collect());
        Self { stemmer, stop_filter, stops, alike: Arc::new(alike), tag }
    }

    /// The stem of a word in small letters.
    pub(super) fn stem(&mut self, word: &str) -> String {
        stem(&mut self.stemmer, word, self.tag)
    }

    /// Does a word say nothing: "the", "is"?
    pub(super) fn is_stop(&mut self, word: &str) -> bool {
        self.stops.contains(word)
            || self.stop_filter.as_mut().is_some_and(|filter| !filter.token_stream(word).advance())
    }

    /// The phrase that these words in small letters begin with: how many words it has, and the stems of what it means.
    pub(super) fn phrase(&mut self, words: &[&str]) -> Option<(usize, Vec<String>)> {
        let phrases = PHRASES.iter().filter(|(of, _)| *of == self.tag).flat_map(|(_, phrases)| phrases.iter());
        let begins = |phrase: &&&(&str, &str)| {
            let mut said = words.iter();
            phrase.0.split(' ').all(|word| said.next() == Some(&word))
        };
        let (phrase, meant) =
            phrases.clone().filter(|phrase| begins(&phrase)).max_by_key(|(phrase, _)| phrase.len())?;
        Some((phrase.split(' ').count(), meant.split(' ').map(|word| self.stem(word)).collect()))
    }

    /// Stems of words that may stand for the one of this stem.
    pub(super) fn alike(&self, stem: &str) -> &[String] {
        self.alike.get(stem).map_or(&[], Vec::as_slice)
    }
}

fn stem(stemmer: &mut TextAnalyzer, word: &str, tag: &str) -> String {
    let mut stream = stemmer.token_stream(word);
    let mut stem = if stream.advance() { stream.token().text.clone() } else { String::new() };
    // The stemmer leaves "installiert" and "Aktualisierung" apart from "installieren" and "aktualisieren".
    let ending = ["iert", "ier"].into_iter().find(|ending| stem.ends_with(ending));
    if let Some(ending) = ending.filter(|_| tag == "de" && stem.len() >= VERB) {
        stem.truncate(stem.len() - ending.len() + 1);
    }
    stem
}

/// The words of a list that are of a language.
pub(super) fn listed(lists: &'static [(&str, &str)], tag: &'static str) -> impl Iterator<Item = &'static str> {
    lists.iter().filter(move |(of, _)| *of == tag).flat_map(|(_, words)| words.split_whitespace())
}
