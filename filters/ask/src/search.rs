//! Which passages answer a question, and how well.
//!
//! The library gives candidates; each is then judged by how much of the question it holds, where (title, heading,
//! text), how close together (in one sentence, side by side), and the best of them by how much they say in the very
//! words of the question. Every figure is a share of the whole question.

use std::collections::HashMap;

use tantivy::{
    Term as Key,
    collector::TopDocs,
    query::{BooleanQuery, BoostQuery, Occur, Query, TermQuery},
    schema::IndexRecordOption,
};

use super::{
    asked::{Asked, LIGHT, TERMS, each},
    index::{self, Engine, Entry, Index, NUMBER},
    passage::Kind,
};

/// The share of a question that a passage has to hold to be an answer.
pub(super) const FOUND: f32 = 0.5;
/// Passages that are judged, and of those the ones compared word by word.
const CANDIDATES: usize = 96;
const COMPARED: usize = 32;
/// What a word of the heading counts for in a sentence below it.
const BESIDE: f32 = 0.6;
/// What the very words of a question count for.
const VERBATIM: f32 = 0.8;
/// Fewer words in a row, or more of a question, are not compared.
const SHORTEST: usize = 3;
const WORDS: usize = 48;

/// A passage and how well it answers.
#[derive(Clone, Debug)]
pub(super) struct Ranked {
    pub(super) entry: usize,
    pub(super) page: u32,
    pub(super) score: f32,
    /// Which words of the question it holds, as bits; and which of them its heading and its page's title hold.
    pub(super) covered: u64,
    pub(super) headed: u64,
    pub(super) titled: u64,
    /// How much of the question one of its sentences holds, with the heading, as a share.
    pub(super) close: f32,
}

/// The passages that hold most of a question, the best first.
pub(super) fn rank(index: &Index, asked: &Asked, query: &str) -> Vec<Ranked> {
    let Some(engine) = &index.engine else { return Vec::new() };
    let mut ranked: Vec<Ranked> = candidates(engine, asked)
        .into_iter()
        .filter_map(|at| Some((at, index.entries.get(at)?)))
        .filter(|(_, entry)| entry.language == asked.language)
        .map(|(at, entry)| judge(index, asked, at, entry))
        .collect();
    let best_first = |a: &Ranked, b: &Ranked| b.score.total_cmp(&a.score).then(a.entry.cmp(&b.entry));
    ranked.sort_by(best_first);
    let verbatim = Verbatim::new(query);
    for ranked in ranked.iter_mut().take(COMPARED) {
        ranked.score += VERBATIM * verbatim.share(&index.entries[ranked.entry]);
    }
    ranked.sort_by(best_first);
    ranked
}

fn candidates(engine: &Engine, asked: &Asked) -> Vec<usize> {
    let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
    for (id, (bits, fit)) in &asked.by_id {
        for (field, boost) in [(engine.title, 1.5), (engine.heading, 2.0), (engine.body, 1.0)] {
            let key = Key::from_field_text(field, &index::spelled(*id));
            let term = TermQuery::new(key, IndexRecordOption::WithFreqs);
            let light = if bits & asked.counting() != 0 { 1.0 } else { LIGHT };
            clauses.push((Occur::Should, Box::new(BoostQuery::new(Box::new(term), boost * fit * light))));
        }
    }
    if clauses.is_empty() {
        return Vec::new();
    }
    let top = TopDocs::with_limit(CANDIDATES).order_by_score();
    let Ok(found) = engine.searcher.search(&BooleanQuery::new(clauses), &top) else { return Vec::new() };
    let number = |document: tantivy::DocAddress| {
        let numbers = engine.searcher.segment_reader(document.segment_ord).fast_fields().u64(NUMBER).ok()?;
        numbers.first(document.doc_id).map(|number| number as usize)
    };
    found.into_iter().filter_map(|(_, document)| number(document)).collect()
}

fn judge(index: &Index, asked: &Asked, at: usize, entry: &Entry) -> Ranked {
    let leaf = &index.leaves[entry.page as usize];
    let (heading, headed) = asked.share_of(&entry.heading_terms);
    let (title, titled) = asked.share_of(&leaf.terms);
    let mut counts = [0f32; TERMS];
    let mut fits = [0f32; TERMS];
    let mut covered = headed | titled;
    let (mut close, mut prose) = (0f32, false);
    for said in &entry.said {
        let mut here = 0u64;
        for id in &said.terms {
            if let Some((bits, fit)) = asked.by_id.get(id) {
                each(*bits, |term| {
                    counts[term] += 1.0;
                    fits[term] = fits[term].max(*fit);
                });
                here |= bits;
            }
        }
        covered |= here;
        close = close.max(asked.held(here) + BESIDE * asked.held(headed & !here));
        prose |= matches!(said.kind, Kind::Prose | Kind::Item);
    }
    let long = 0.4 + 0.6 * entry.length as f32 / index.average.max(1.0);
    let weights = asked.terms.iter().zip(counts).zip(fits);
    let text: f32 = weights.map(|((term, n), fit)| term.weight * fit * n / (n + 0.6 * long)).sum();
    let text = text / asked.total.max(f32::MIN_POSITIVE);
    // How much of the heading is the question's: "Refunds" is about refunds, "Refunds, fares, seats" less so.
    let all: f32 = entry.heading_terms.iter().map(|id| index.rarity(Some(*id))).sum();
    let ours: f32 =
        entry.heading_terms.iter().filter(|id| asked.by_id.contains_key(id)).map(|id| index.rarity(Some(*id))).sum();
    let aimed = if all > 0.0 { ours / all } else { 0.0 };
    let said = entry.said.iter().map(|said| &said.terms);
    let side = asked.side_by_side(said.chain([&entry.heading_terms]));
    let mut score = text + 0.6 * heading + 0.35 * title + 0.7 * close + 0.3 * aimed * heading + 0.3 * side;
    // What a page begins with is what it is about.
    if entry.lead {
        score *= 1.1;
    }
    // Synopses and lists of links lead to answers; they are none.
    if !prose {
        score *= 0.9;
    }
    if entry.linked > 70 {
        score *= 0.5;
    }
    Ranked { entry: at, page: entry.page, score, covered, headed, titled, close }
}

/// The very words of a question, small ones too: "what Exim processes are doing" is a heading somewhere.
struct Verbatim {
    words: HashMap<String, Vec<usize>>,
    count: usize,
}

impl Verbatim {
    fn new(query: &str) -> Self {
        let mut words: HashMap<String, Vec<usize>> = HashMap::new();
        let mut count = 0;
        for word in spoken(query).take(WORDS) {
            words.entry(word).or_default().push(count);
            count += 1;
        }
        Self { words, count }
    }

    /// The longest run of words that a passage has in common with the question, as a share of the question.
    fn share(&self, entry: &Entry) -> f32 {
        if self.count < SHORTEST {
            return 0.0;
        }
        let texts = entry.said.iter().map(|said| &*said.text).chain([entry.heading.as_str()]);
        let longest = texts.map(|text| self.run(text)).max().unwrap_or_default();
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
