//! How many of a question's very words stand in a row in a passage, small words included: "what Exim processes are doing" is
//! a heading somewhere.

use std::collections::HashMap;

/// Fewer words in a row, or more of a question, are not compared.
const SHORTEST: usize = 3;
const WORDS: usize = 48;

/// The words of a question, and where each stands in it.
pub(super) struct Verbatim {
    words: HashMap<String, Vec<usize>>,
    count: usize,
}

impl Verbatim {
    pub(super) fn new(query: &str) -> Self {
        let mut words: HashMap<String, Vec<usize>> = HashMap::new();
        let mut count = 0;
        for word in spoken(query).take(WORDS) {
            words.entry(word).or_default().push(count);
            count += 1;
        }
        Self { words, count }
    }

    /// The longest run of words that one of these texts has in common with the question, as a share of the question.
    pub(super) fn share(&self, texts: &[&str]) -> f32 {
        if self.count < SHORTEST {
            return 0.0;
        }
        let longest = texts.iter().map(|text| self.run(text)).max().unwrap_or_default();
        if longest < SHORTEST { 0.0 } else { longest as f32 / self.count as f32 }
    }

    fn run(&self, text: &str) -> usize {
        let (mut before, mut here, mut longest) = ([0usize; WORDS + 1], [0usize; WORDS + 1], 0);
        for word in spoken(text) {
            here.fill(0);
            for at in self.words.get(&word).into_iter().flatten() {
                here[at + 1] = before[*at] + 1;
                longest = longest.max(here[at + 1]);
            }
            std::mem::swap(&mut before, &mut here);
        }
        longest
    }
}

fn spoken(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).map(str::to_lowercase)
}
