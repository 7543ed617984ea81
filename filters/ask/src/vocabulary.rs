//! The stems of a site: every word of its pages has a number, the same for all forms of the word.
//!
//! Pages and questions go through the same steps: cut, lower case, stemmed in a language, accents taken off. A compound
//! of a language that writes them as one word counts by its parts too, where the parts are words of the site.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use tantivy::tokenizer::Language;

use super::{
    bytes::{Reading, Writing},
    compounds, languages, related,
    speaker::{Speaker, listed},
    spelling,
    synonyms::LIGHT,
    tokens::{self, Piece, WHOLE},
};

/// Stands where a sentence ends.
pub(super) const BREAK: u32 = u32::MAX;
/// The mark before a stem that stands within a compound: "Namen" in "Dateinamen". No word begins with it.
const WITHIN: char = '+';

/// One language of the site.
#[derive(Clone)]
pub(super) struct Tongue {
    pub(super) language: Language,
    speaker: Speaker,
    /// Stems of words that frame a question.
    light: HashSet<String>,
    /// The number of the stem of every word of the site, in small letters.
    words: HashMap<Box<str>, u32, RandomState>,
}

/// All stems of a site.
#[derive(Clone, Default)]
pub(super) struct Vocabulary {
    pub(super) tongues: Vec<Tongue>,
    stems: HashMap<Box<str>, u32, RandomState>,
    /// The number of a stem within compounds, by that of the stem as a word.
    within: HashMap<u32, u32, RandomState>,
    /// In how many passages each stem stands.
    frequency: Vec<u32>,
    /// The row of each stem in the table of related words.
    related: Vec<u32>,
    /// About how much memory it takes, in bytes.
    pub(super) bytes: usize,
}

impl Tongue {
    pub(super) fn new(language: Language) -> Self {
        let mut speaker = Speaker::new(language);
        let light = listed(LIGHT, languages::tag(language)).map(|word| speaker.stem(word)).collect();
        Self { language, speaker, light, words: HashMap::default() }
    }

    /// How it forms its words.
    pub(super) fn speaker(&self) -> Speaker {
        self.speaker.clone()
    }

    /// Does the word of this stem frame a question rather than saying what it is about?
    pub(super) fn is_light(&self, stem: &str) -> bool {
        self.light.contains(stem)
    }

    /// The parts of a compound, where all of them are words of the site.
    pub(super) fn parts<'a>(&self, word: &'a str) -> Vec<&'a str> {
        if !languages::compounds(self.language) {
            return Vec::new();
        }
        compounds::parts(word, &|part| self.words.contains_key(part))
    }
}

impl Vocabulary {
    /// That of these languages, the most frequent first.
    pub(super) fn new(languages: &[Language]) -> Self {
        Self { tongues: languages.iter().map(|language| Tongue::new(*language)).collect(), ..Self::default() }
    }

    /// Writes down its words and stems.
    pub(super) fn save(&self, out: &mut Writing) {
        let mut stems: Vec<(&str, u32)> = self.stems.iter().map(|(stem, number)| (&**stem, *number)).collect();
        stems.sort_unstable_by_key(|(_, number)| *number);
        out.number(stems.len());
        for (stem, number) in stems {
            out.text(stem);
            out.number(self.frequency(number) as usize);
        }
        for tongue in &self.tongues {
            out.number(tongue.words.len());
            for (word, number) in &tongue.words {
                out.text(word);
                out.number(*number as usize);
            }
        }
    }

    /// Reads what [`Self::save`] wrote of these languages.
    pub(super) fn restored(languages: &[Language], from: &mut Reading<'_>) -> Option<Self> {
        let mut found = Self::new(languages);
        for number in 0..from.number32()? {
            let stem = from.text()?;
            found.bytes += stem.len() + 48;
            found.related.push(related::row(stem));
            found.stems.insert(stem.into(), number);
            found.frequency.push(from.number32()?);
        }
        let within = found.stems.iter().filter_map(|(stem, number)| {
            stem.strip_prefix(WITHIN).and_then(|word| found.stems.get(word)).map(|word| (*word, *number))
        });
        found.within = within.collect();
        for tongue in &mut found.tongues {
            for _ in 0..from.number()? {
                let (word, number) = (from.text()?, from.number32()?);
                found.bytes += word.len() + 40;
                tongue.words.insert(word.into(), number);
            }
        }
        Some(found)
    }

    /// How each of its languages forms words.
    pub(super) fn speakers(&self) -> Vec<Speaker> {
        self.tongues.iter().map(Tongue::speaker).collect()
    }

    /// Takes note of the words of a text, so that compounds can be told by their parts later.
    pub(super) fn note(&mut self, text: &str, tongue: usize) {
        if !self.tongues.get(tongue).is_some_and(|tongue| languages::compounds(tongue.language)) {
            return;
        }
        tokens::cut(text, |piece, _| {
            if let Piece::Word(word) = piece
                && word.len() >= compounds::PART
            {
                let word = word.to_lowercase();
                self.word(&word, tongue);
            }
        });
    }

    /// The numbers of the stems of a text, new ones included.
    pub(super) fn read(&mut self, text: &str, tongue: usize, out: &mut Vec<u32>) {
        let mut small = String::new();
        tokens::cut(text, |piece, _| match piece {
            Piece::Break => out.push(BREAK),
            Piece::Identifier(name) => {
                small.clear();
                small.push(WHOLE);
                add_in_small_letters(&mut small, name);
                out.push(self.intern(&small));
            }
            Piece::Word(word) => {
                small.clear();
                add_in_small_letters(&mut small, word);
                out.push(self.word(&small, tongue));
                let parts: Vec<String> = self.tongues[tongue].parts(&small).into_iter().map(str::to_owned).collect();
                for part in parts {
                    let word = self.word(&part, tongue);
                    out.push(self.part(&part, word, tongue));
                }
            }
        });
    }

    /// The numbers of the stems of a text whose words are all known.
    pub(super) fn known(&self, text: &str, tongue: usize, out: &mut Vec<u32>) {
        let Some(tongue) = self.tongues.get(tongue) else { return };
        let mut small = String::new();
        tokens::cut(text, |piece, _| match piece {
            Piece::Break => out.push(BREAK),
            Piece::Identifier(name) => {
                small.clear();
                small.push(WHOLE);
                add_in_small_letters(&mut small, name);
                out.extend(self.stems.get(small.as_str()));
            }
            Piece::Word(word) => {
                small.clear();
                add_in_small_letters(&mut small, word);
                out.extend(tongue.words.get(small.as_str()));
                let parts = tongue.parts(&small).into_iter();
                out.extend(parts.filter_map(|part| self.within(*tongue.words.get(part)?)));
            }
        });
    }

    fn word(&mut self, word: &str, tongue: usize) -> u32 {
        if let Some(number) = self.tongues[tongue].words.get(word) {
            return *number;
        }
        let stem = self.tongues[tongue].speaker.stem(word);
        let number = self.intern(&stem);
        self.bytes += word.len() + 40;
        self.tongues[tongue].words.insert(word.into(), number);
        number
    }

    /// The number of a word's stem within a compound.
    fn part(&mut self, part: &str, word: u32, tongue: usize) -> u32 {
        if let Some(number) = self.within(word) {
            return number;
        }
        let stem = self.tongues[tongue].speaker.stem(part);
        let number = self.intern(&format!("{WITHIN}{stem}"));
        self.within.insert(word, number);
        number
    }

    /// The number of a stem where it is part of a compound, by its number as a word; `None` where it is part of none.
    pub(super) fn within(&self, word: u32) -> Option<u32> {
        self.within.get(&word).copied()
    }

    fn intern(&mut self, stem: &str) -> u32 {
        if let Some(number) = self.stems.get(stem) {
            return *number;
        }
        let number = self.frequency.len() as u32;
        self.bytes += stem.len() + 48;
        self.related.push(related::row(stem));
        self.stems.insert(stem.into(), number);
        self.frequency.push(0);
        number
    }

    /// Counts a passage for each of its stems.
    pub(super) fn count(&mut self, present: impl IntoIterator<Item = u32>) {
        for number in present {
            if let Some(count) = self.frequency.get_mut(number as usize) {
                *count += 1;
            }
        }
    }

    /// The number of a stem that stands somewhere on the site.
    pub(super) fn number(&self, stem: &str) -> Option<u32> {
        self.stems.get(stem).copied().filter(|number| self.frequency(*number) > 0)
    }

    /// The row of a stem in the table of related words.
    pub(super) fn related(&self, number: u32) -> u32 {
        self.related.get(number as usize).copied().unwrap_or(related::NONE)
    }

    /// In how many passages a stem stands.
    pub(super) fn frequency(&self, number: u32) -> u32 {
        self.frequency.get(number as usize).copied().unwrap_or_default()
    }

    /// The stem of the site that is spelled most like a word which the site does not have: one letter apart, two in a
    /// long word, with the same first letter.
    pub(super) fn spelled_like(&self, stem: &str) -> Option<u32> {
        let letters: Vec<char> = stem.chars().collect();
        let first = *letters.first().filter(|c| c.is_alphabetic())?;
        let most = match letters.len() {
            ..=4 => return None,
            5..=8 => 1,
            _ => 2,
        };
        let near = self.stems.iter().filter(|(other, number)| {
            other.starts_with(first) && other.len().abs_diff(stem.len()) <= 2 * most && self.frequency(**number) > 0
        });
        let best = near
            .filter_map(|(other, number)| Some((spelling::distance(&letters, other, most)?, *number)))
            .min_by_key(|(distance, number)| (*distance, std::cmp::Reverse(self.frequency(*number)), *number))?;
        Some(best.1)
    }
}

fn add_in_small_letters(out: &mut String, text: &str) {
    if text.is_ascii() {
        let begin = out.len();
        out.push_str(text);
        out[begin..].make_ascii_lowercase();
    } else {
        out.extend(text.chars().flat_map(char::to_lowercase));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(language: Language, text: &str) -> (Vocabulary, Vec<u32>) {
        let mut vocabulary = Vocabulary::new(&[language]);
        let mut out = Vec::new();
        vocabulary.read(text, 0, &mut out);
        let present = out.clone();
        vocabulary.count(present);
        (vocabulary, out)
    }

    #[test]
    fn forms_of_a_word_have_one_number() {
        let (_, all) = read(Language::English, "travellers traveller booking");
        assert!(all[0] == all[1] && all[1] != all[2]);
        let (_, all) = read(Language::German, "installiere installiert Installierung");
        assert!(all[0] == all[1] && all[1] == all[2]);
        let (vocabulary, all) = read(Language::German, "Häuser Haus");
        assert_eq!(all[0], all[1]);
        let mut again = Vec::new();
        vocabulary.known("haus HÄUSER unbekannt", 0, &mut again);
        assert_eq!(again, all);
    }

    #[test]
    fn compounds_count_by_their_parts() {
        let mut vocabulary = Vocabulary::new(&[Language::German]);
        vocabulary.note("Papier Format", 0);
        let mut out = Vec::new();
        vocabulary.read("Papierformat Format", 0, &mut out);
        // The compound, its parts, and a word of its own: what stands within another is not the word itself.
        assert_eq!(out.len(), 4);
        assert_ne!(out[2], out[3]);
        assert_eq!(vocabulary.within(out[3]), Some(out[2]));
    }

    #[test]
    fn spelling_mistakes_are_one_or_two_letters() {
        let (vocabulary, all) = read(Language::English, "repository kernel");
        assert_eq!(vocabulary.spelled_like("kernal"), Some(all[1]));
        assert_eq!(vocabulary.spelled_like("kenrel"), Some(all[1]));
        assert_eq!(vocabulary.spelled_like("colonel"), None);
    }

    #[test]
    fn words_that_say_nothing_are_known() {
        let mut english = Speaker::new(Language::English);
        assert!(english.is_stop("the") && english.is_stop("does") && !english.is_stop("ticket"));
        assert_eq!(english.alike("delet"), ["remov", "eras"]);
        assert!(Tongue::new(Language::English).is_light("show") && !Tongue::new(Language::English).is_light("bag"));
        assert!(Speaker::new(Language::German).is_stop("und"));
        let meant = english.phrase(&["get", "rid", "of", "it"]);
        assert!(meant.is_some_and(|(words, stems)| words == 3 && stems.contains(&"remov".to_owned())));
        assert_eq!(english.phrase(&["get", "it"]), None);
    }
}
