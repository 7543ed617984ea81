//! From text to the stems that are compared: the same way for pages and for questions, by the language of the page.
//!
//! A word is a run of letters, digits and `_`. A compound such as `server_name` counts whole and by its parts, so that
//! manuals can be asked by the exact name or by half of it. Scripts without spaces are cut into pairs of characters.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::Arc,
};

use tantivy::tokenizer::{
    AsciiFoldingFilter, Language, Stemmer, StopWordFilter, TextAnalyzer, Token, TokenStream, Tokenizer,
};

use super::vocabulary::{ALIKE, LIGHT, STOP};

/// Longer words, in bytes, are no words: keys, hashes, encoded data.
const LONGEST: usize = 48;

/// The stems of one language.
#[derive(Clone)]
pub(super) struct Words {
    analyser: TextAnalyzer,
    light: Arc<HashSet<String>>,
    /// Stems of other words for the same thing.
    alike: Arc<HashMap<String, Vec<String>>>,
}

impl Words {
    pub(super) fn new(language: Language) -> Self {
        let tag = tag(language);
        let own = STOP.iter().filter(|(of, _)| *of == tag).flat_map(|(_, words)| words.split(' '));
        let splitter = Splitter { dropped: Arc::new(own.map(str::to_owned).collect()), ..Splitter::default() };
        let builder = TextAnalyzer::builder(splitter).dynamic();
        let builder = match StopWordFilter::new(language) {
            Some(filter) => builder.filter_dynamic(filter),
            None => builder,
        };
        let mut analyser = builder.filter_dynamic(Stemmer::new(language)).filter_dynamic(AsciiFoldingFilter).build();
        let mut light = HashSet::new();
        for (_, words) in LIGHT.iter().filter(|(of, _)| *of == tag) {
            stems(&mut analyser, words, |stem, _| _ = light.insert(stem.to_owned()));
        }
        let mut alike: HashMap<String, Vec<String>> = HashMap::new();
        for group in ALIKE.iter().filter(|(of, _)| *of == tag).flat_map(|(_, groups)| groups.iter()) {
            let mut group_stems = Vec::new();
            stems(&mut analyser, group, |stem, _| group_stems.push(stem.to_owned()));
            for stem in &group_stems {
                let others = group_stems.iter().filter(|other| *other != stem).cloned();
                alike.entry(stem.clone()).or_default().extend(others);
            }
        }
        Self { analyser, light: Arc::new(light), alike: Arc::new(alike) }
    }

    /// Calls `each` with every stem and where its word stands. A compound comes before its parts.
    pub(super) fn stems(&mut self, text: &str, each: impl FnMut(&str, Range<usize>)) {
        stems(&mut self.analyser, text, each);
    }

    /// Stems of words that may stand for this one.
    pub(super) fn alike(&self, stem: &str) -> &[String] {
        self.alike.get(stem).map_or(&[], Vec::as_slice)
    }

    /// Is it a word that frames a question rather than saying what it is about?
    pub(super) fn is_light(&self, stem: &str) -> bool {
        self.light.contains(stem)
    }
}

fn stems(analyser: &mut TextAnalyzer, text: &str, mut each: impl FnMut(&str, Range<usize>)) {
    let mut stream = analyser.token_stream(text);
    while stream.advance() {
        let token = stream.token();
        if !token.text.is_empty() {
            each(&token.text, token.offset_from..token.offset_to);
        }
    }
}

/// The language of a tag such as `de-AT`; `None` if there are no stems for it.
pub(super) fn language(tag: &str) -> Option<Language> {
    let primary = tag.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
    TAGS.iter().find(|(name, _)| *name == primary).map(|(_, language)| *language)
}

const TAGS: [(&str, Language); 20] = [
    ("en", Language::English),
    ("ar", Language::Arabic),
    ("da", Language::Danish),
    ("nl", Language::Dutch),
    ("fi", Language::Finnish),
    ("fr", Language::French),
    ("de", Language::German),
    ("el", Language::Greek),
    ("hu", Language::Hungarian),
    ("it", Language::Italian),
    ("nb", Language::Norwegian),
    ("nn", Language::Norwegian),
    ("no", Language::Norwegian),
    ("pt", Language::Portuguese),
    ("ro", Language::Romanian),
    ("ru", Language::Russian),
    ("es", Language::Spanish),
    ("sv", Language::Swedish),
    ("ta", Language::Tamil),
    ("tr", Language::Turkish),
];

fn tag(language: Language) -> &'static str {
    TAGS.iter().find(|(_, known)| *known == language).map_or("en", |(tag, _)| tag)
}

/// Cuts text into lower-case words.
#[derive(Default)]
struct Splitter {
    dropped: Arc<HashSet<String>>,
    words: Vec<(Range<usize>, String)>,
    token: Token,
}

impl Clone for Splitter {
    /// For another text: what was cut last stays behind.
    fn clone(&self) -> Self {
        Self { dropped: self.dropped.clone(), ..Self::default() }
    }
}

struct Split<'a> {
    words: std::slice::IterMut<'a, (Range<usize>, String)>,
    token: &'a mut Token,
}

impl Tokenizer for Splitter {
    type TokenStream<'a> = Split<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Split<'a> {
        self.words.clear();
        self.token.reset();
        split(text, &self.dropped, &mut self.words);
        Split { words: self.words.iter_mut(), token: &mut self.token }
    }
}

impl TokenStream for Split<'_> {
    fn advance(&mut self) -> bool {
        let Some((range, word)) = self.words.next() else { return false };
        self.token.text = std::mem::take(word);
        self.token.offset_from = range.start;
        self.token.offset_to = range.end;
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

fn split(text: &str, dropped: &HashSet<String>, words: &mut Vec<(Range<usize>, String)>) {
    let mut keep = |range: Range<usize>| {
        let word = &text[range.clone()];
        if word.len() > LONGEST {
            return;
        }
        let word = word.to_lowercase();
        if !dropped.contains(&word) {
            words.push((range, word));
        }
    };
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut chars = text.char_indices().peekable();
    let mut before = None;
    while let Some((start, first)) = chars.next() {
        if !is_word(first) {
            before = Some(first);
            continue;
        }
        let mut end = start + first.len_utf8();
        if is_unspaced(first) {
            let mut last = (start, end);
            let mut alone = true;
            while let Some((at, next)) = chars.next_if(|(_, c)| is_unspaced(*c)) {
                end = at + next.len_utf8();
                keep(last.0..end);
                (last, alone) = ((at, end), false);
            }
            if alone {
                keep(last.0..last.1);
            }
            continue;
        }
        while let Some((at, next)) = chars.next_if(|(_, c)| is_word(*c) && !is_unspaced(*c)) {
            end = at + next.len_utf8();
        }
        let word = &text[start..end];
        // What follows an apostrophe in English and French says nothing of its own.
        if matches!(before.take(), Some('\'' | '’')) && matches!(word, "s" | "t" | "re" | "ll" | "ve" | "d" | "m") {
            continue;
        }
        let trimmed = word.trim_matches('_');
        let start = start + (word.len() - word.trim_start_matches('_').len());
        if trimmed.is_empty() {
            continue;
        }
        keep(start..start + trimmed.len());
        if trimmed.contains('_') {
            let mut at = start;
            for part in trimmed.split('_') {
                if part.len() > 1 {
                    keep(at..at + part.len());
                }
                at += part.len() + 1;
            }
        }
    }
}

/// Chinese and Japanese, which write no spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(language: Language, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        Words::new(language).stems(text, |stem, range| {
            assert!(text.get(range).is_some());
            found.push(stem.to_owned());
        });
        found
    }

    #[test]
    fn words_are_stems_of_their_language() {
        assert_eq!(all(Language::English, "The travellers’ cancelled bookings, don't"), ["travel", "cancel", "book"]);
        assert_eq!(all(Language::German, "Die Häuser der Stadt"), ["haus", "stadt"]);
        assert_eq!(all(Language::French, "Les réservations annulées"), ["reserv", "annul"]);
    }

    #[test]
    fn compounds_count_whole_and_by_their_parts() {
        assert_eq!(all(Language::English, "__server_name__ --dry-run"), ["server_nam", "server", "name", "dri", "run"]);
    }

    #[test]
    fn scripts_without_spaces_are_cut_into_pairs() {
        assert_eq!(all(Language::English, "東京都 a京"), ["東京", "京都", "京"]);
    }

    #[test]
    fn endless_words_are_none() {
        assert!(all(Language::English, &"x".repeat(1_000_000)).is_empty());
        assert!(all(Language::English, &"_".repeat(1_000_000)).is_empty());
        assert_eq!(all(Language::English, &"'s".repeat(100_000)).len(), 0);
    }

    #[test]
    fn question_words_are_light() {
        let words = Words::new(Language::English);
        assert!(words.is_light("when") && words.is_light("best") && !words.is_light("bag"));
        assert_eq!(language("de-AT"), Some(Language::German));
        assert_eq!(language("tlh"), None);
    }
}
