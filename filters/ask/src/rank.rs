//! Which passages answer a question, and how well.
//!
//! The search library gives candidates by BM25 over the fields; each is then judged by how much of the question it holds,
//! where (title, headings, text, links that lead to its page), how close together (in one sentence, side by side), and by
//! how much it says in the very words of the question. Every figure is a share of the whole question.

use std::{
    cmp::Ordering,
    collections::{HashMap, HashSet},
};

use tantivy::{
    Term as Key,
    collector::TopDocs,
    query::{BooleanQuery, BoostQuery, Occur, Query, TermQuery},
    schema::IndexRecordOption,
};

use super::{
    engine::{self, Engine, NUMBER},
    index::Index,
    meaning::Near,
    overlap::each,
    passage::Form,
    plain,
    question::{Asked, LIGHT, TERMS},
    verbatim::Verbatim,
    vocabulary::BREAK,
    wish::Wish,
};

/// Passages that are judged.
const CANDIDATES: usize = 256;
/// Passages whose very words are compared with the question's.
const COMPARED: usize = 48;
/// How far passages of a section may be apart to be neighbours, and what the nearest of them is worth of the best.
const NEIGHBOURS: usize = 2;
const NEIGHBOUR: f32 = 0.8;
/// What a word of the headings counts for in a sentence below them.
const BESIDE: f32 = 0.6;
/// The share of a question that links to a page have to say to be as good as its title.
const LINKED_TO: f32 = 0.6;
/// How soon a word that comes again counts for less.
const SATURATION: f32 = 0.6;
/// What the nearness of a meaning counts for beside the score by words, which is about 3 where a passage fits well.
const MEANING: f32 = 4.5;
/// The share of a question that the beginning of a line has to hold to say what that is.
const DEFINED: f32 = 0.95;
/// The longest term, in bytes.
const TERM: usize = 80;
/// What it counts for how near a passage comes by related words.
const RELATED: f32 = 2.0;

/// What each sign counts for, by the question sets of `benches/ask` that are for tuning.
mod weight {
    /// The search library's own measure, of its best.
    pub(super) const BM25: f32 = 0.33;
    /// How much of the question the text holds, its heading, the headings above, the page's title, the links to the page,
    /// and all of them.
    pub(super) const BODY: f32 = 0.92;
    pub(super) const HEADING: f32 = 0.5;
    pub(super) const ABOVE: f32 = 0.2;
    pub(super) const TITLE: f32 = 0.28;
    pub(super) const LINKS: f32 = 0.13;
    pub(super) const HELD: f32 = 0.28;
    /// How much of it one sentence holds, and how little else that sentence says; the same of the heading.
    pub(super) const CLOSE: f32 = 0.88;
    pub(super) const EXACT: f32 = 0.15;
    pub(super) const AIMED: f32 = 0.3;
    /// Neighbours of the question that stand side by side, and its very words in a row.
    pub(super) const SIDE: f32 = 0.25;
    pub(super) const VERBATIM: f32 = 0.38;
    /// It begins a section whose heading fits, or its page.
    pub(super) const FIRST: f32 = 0.14;
    pub(super) const LEAD: f32 = 0.03;
    /// It is of the kind that the question points to; it shows code or a table.
    pub(super) const WISHED: f32 = 0.15;
    pub(super) const SHOWS: f32 = 0.06;
    /// It says what the word means that the question asks for.
    pub(super) const DEFINES: f32 = 0.4;
    /// It says how many there are of what the question wants counted.
    pub(super) const COUNTED: f32 = 0.4;
    /// Many pages link to its page.
    pub(super) const LINKED: f32 = 0.12;
    /// The search library's fields.
    pub(super) const FIELDS: [f32; 5] = [0.8, 2.0, 0.6, 1.0, 0.5];
}

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
    /// Which words of the question stand there as they are, rather than as others for the same thing, as bits.
    pub(super) plain: u64,
    /// The share of the question that its heading holds, and that times what else the heading says.
    pub(super) heading: f32,
    pub(super) aimed: f32,
    /// The longest run of the question's very words, as a share.
    pub(super) verbatim: f32,
    /// How near it comes by related words, as it counts; `None` where they say nothing of it.
    pub(super) related: Option<f32>,
    /// How near its meaning is, from 0 to 1; `None` where only words were searched.
    pub(super) near: Option<f32>,
}

impl Ranked {
    /// How well it answers, by its words and by its meaning: by that which a model finds, or else by related words.
    pub(super) fn fit(&self) -> f32 {
        self.score + self.near.map_or(self.related.unwrap_or_default(), |near| MEANING * near)
    }

    /// How well it answers, without related words: they say which of two passages is better, and not whether either answers.
    pub(super) fn fit_without_related(&self) -> f32 {
        self.score + self.near.map_or(0.0, |near| MEANING * near)
    }
}

/// The passages that hold most of a question, the best first.
pub(super) fn rank(index: &Index, asked: &Asked, query: &str) -> Vec<Ranked> {
    let Some(engine) = &index.engine else { return Vec::new() };
    let found = candidates(engine, asked);
    let best = found.first().map_or(1.0, |(score, _)| score.max(f32::MIN_POSITIVE));
    let mut ranked: Vec<Ranked> = found
        .into_iter()
        .filter(|(_, at)| *at < index.entries.len())
        .map(|(score, at)| judge(index, asked, at, score / best))
        .collect();
    take_the_mean(&mut ranked);
    ranked.sort_by(best_first);
    let verbatim = Verbatim::new(query);
    for ranked in ranked.iter_mut().take(COMPARED) {
        let text = plain::text(index.markdown(ranked.entry)).0;
        ranked.verbatim = verbatim.share(&[&text, index.heading(ranked.entry)]);
        ranked.score += weight::VERBATIM * ranked.verbatim;
        if asked.counts(&index.vocabulary, &text) {
            ranked.score += weight::COUNTED;
        }
    }
    ranked.sort_by(best_first);
    raise_neighbours(index, &mut ranked);
    ranked.sort_by(best_first);
    ranked
}

/// The passages in the order that words and meaning give together.
pub(super) fn fused(index: &Index, asked: &Asked, mut ranked: Vec<Ranked>, near: &[Near]) -> Vec<Ranked> {
    let by_words: HashSet<usize> = ranked.iter().map(|ranked| ranked.entry).collect();
    let by_meaning: HashMap<usize, f32> = near.iter().map(|near| (near.entry, near.nearness)).collect();
    let new = near.iter().filter(|near| !by_words.contains(&near.entry));
    ranked.extend(new.map(|near| judge(index, asked, near.entry, 0.0)));
    for ranked in &mut ranked {
        ranked.near = Some(by_meaning.get(&ranked.entry).copied().unwrap_or_default());
    }
    ranked.sort_by(best_first);
    ranked
}

fn best_first(a: &Ranked, b: &Ranked) -> Ordering {
    b.fit().total_cmp(&a.fit()).then(a.entry.cmp(&b.entry))
}

/// A passage of which related words say nothing, such as one in another language, is neither better nor worse for it.
fn take_the_mean(ranked: &mut [Ranked]) {
    let (sum, count) = ranked.iter().filter_map(|ranked| ranked.related).fold((0.0, 0), |(sum, n), r| (sum + r, n + 1));
    if count > 0 {
        ranked.iter_mut().for_each(|ranked| ranked.related = ranked.related.or(Some(sum / count as f32)));
    }
}

/// What stands beside the best passage, in its section, is likely to be of its answer.
fn raise_neighbours(index: &Index, ranked: &mut [Ranked]) {
    let Some((best, others)) = ranked.split_first_mut() else { return };
    let section = index.entries[best.entry].section;
    for other in others.iter_mut().filter(|other| index.entries[other.entry].section == section) {
        let apart = other.entry.abs_diff(best.entry);
        if apart <= NEIGHBOURS {
            let related = other.related.unwrap_or_default();
            other.score = other.score.max(best.fit() * NEIGHBOUR.powi(apart as i32) - related);
        }
    }
}

fn candidates(engine: &Engine, asked: &Asked) -> Vec<(f32, usize)> {
    let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
    // In one order, so that sums of the same question are the same to the last bit.
    let mut stems: Vec<_> = asked.by_id.iter().collect();
    stems.sort_unstable_by_key(|(id, _)| **id);
    for (id, (bits, fit)) in stems {
        for (field, boost) in engine.fields.into_iter().zip(weight::FIELDS) {
            let key = Key::from_field_text(field, &engine::spelled(*id));
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
    found.into_iter().filter_map(|(score, document)| Some((score, number(document)?))).collect()
}

fn judge(index: &Index, asked: &Asked, at: usize, bm25: f32) -> Ranked {
    let entry = &index.entries[at];
    let section = &index.sections[entry.section as usize];
    let leaf = &index.leaves[section.page as usize];
    let (heading, headed) = asked.share_of(&section.heading_terms);
    let (above, over) = asked.share_of(&section.above_terms);
    let (title, titled) = asked.share_of(&leaf.title_terms);
    let (links, linked) = asked.share_of(&leaf.link_terms);
    let named = headed | titled | over;
    let text = plain::text(index.markdown(at)).0;
    let mut terms = Vec::with_capacity(entry.length as usize + 16);
    index.vocabulary.known(&text, usize::from(leaf.tongue), &mut terms);
    let sentences: Vec<&[u32]> = terms.split(|term| *term == BREAK).collect();
    let Held { covered, plain, body, close, exact } = Held::of(index, asked, &sentences, named, entry.length);
    // Links that say nearly all of the question say what their page is about.
    let covered = covered | named | if asked.share(linked) >= LINKED_TO { linked } else { 0 };
    let aimed = aimed(index, asked, &section.heading_terms);
    let side = asked.side_by_side(sentences.iter().copied().chain([&*section.heading_terms, &*leaf.title_terms]));
    let titles = [&*section.heading_terms, &*section.above_terms, &*leaf.title_terms];
    let is_first = at == 0 || index.entries[at - 1].section != entry.section;
    let is_wished = match asked.wish {
        Wish::Any => false,
        Wish::Steps => has_code(index.markdown(at)) || entry.form == Form::Answer,
        Wish::Figure => text.bytes().any(|byte| byte.is_ascii_digit()),
        Wish::Definition => false,
    };
    let defines = asked.wish == Wish::Definition && defines(index, asked, index.markdown(at), usize::from(leaf.tongue));
    let if_so = |so: bool, weight: f32| if so { weight } else { 0.0 };
    let score = weight::BM25 * bm25
        + weight::BODY * body
        + weight::HEADING * heading
        + weight::ABOVE * above
        + weight::TITLE * title
        + weight::LINKS * links
        + weight::HELD * asked.held(covered | linked)
        + weight::CLOSE * close
        + weight::EXACT * exact
        + weight::AIMED * aimed * heading
        + weight::SIDE * side
        + if_so(is_first, weight::FIRST * heading)
        + if_so(entry.lead, weight::LEAD)
        + if_so(is_wished, weight::WISHED)
        + if_so(defines, weight::DEFINES)
        + if_so(matches!(entry.form, Form::Code | Form::WithinCode | Form::Table), weight::SHOWS)
        + weight::LINKED * (1.0 + leaf.linked_from as f32).ln() / 8.0;
    let plain = titles.iter().fold(plain, |bits, terms| bits | asked.plain(terms));
    let sense = asked.sense.as_ref().filter(|_| usize::from(leaf.tongue) == asked.tongue);
    let rows = titles.iter().copied().flatten().chain(&terms).map(|stem| index.vocabulary.related(*stem));
    let related = sense.and_then(|sense| sense.nearness(rows)).map(|near| RELATED * near);
    let (page, near, verbatim, aimed) = (section.page, None, 0.0, aimed * heading);
    Ranked { entry: at, page, score, covered, headed, titled, plain, heading, aimed, verbatim, related, near }
}

/// What the text of a passage holds of a question.
struct Held {
    covered: u64,
    /// The words of the question that it holds as they are.
    plain: u64,
    /// The share of the question that it holds, words counting more that come again.
    body: f32,
    /// The share that one sentence holds, together with the headings.
    close: f32,
    /// The share that one sentence holds, less what else the sentence says.
    exact: f32,
}

impl Held {
    fn of(index: &Index, asked: &Asked, sentences: &[&[u32]], named: u64, length: u32) -> Self {
        let mut counts = [0f32; TERMS];
        let mut fits = [0f32; TERMS];
        let (mut covered, mut close, mut exact) = (0u64, 0f32, 0f32);
        for sentence in sentences {
            let mut here = 0u64;
            for id in *sentence {
                if let Some((bits, fit)) = asked.by_id.get(id) {
                    each(*bits, |term| {
                        counts[term] += fit;
                        fits[term] = fits[term].max(*fit);
                    });
                    here |= bits;
                }
            }
            if here != 0 {
                covered |= here;
                close = close.max(asked.held(here) + BESIDE * asked.held(named & !here));
                exact = exact.max(asked.held(here) * aimed(index, asked, sentence));
            }
        }
        let long = 0.4 + 0.6 * length as f32 / index.average.max(1.0);
        let weights = asked.terms.iter().zip(counts).zip(fits);
        let body: f32 = weights.map(|((term, n), fit)| term.weight * fit * n / (n + SATURATION * long)).sum();
        let plain = sentences.iter().fold(0, |bits, sentence| bits | asked.plain(sentence));
        Self { covered, plain, body: body / asked.total.max(f32::MIN_POSITIVE), close, exact }
    }
}

/// The share of what these stems say that is the question's: "Refunds" is about refunds, "Refunds, fares, seats" less so.
fn aimed(index: &Index, asked: &Asked, terms: &[u32]) -> f32 {
    let (mut all, mut ours) = (0.0, 0.0);
    for id in terms {
        let rarity = index.rarity(Some(*id));
        all += rarity;
        ours += if asked.by_id.contains_key(id) { rarity } else { 0.0 };
    }
    if all > 0.0 { ours / all } else { 0.0 }
}

/// Does a line of a passage begin with what was asked for, and go on: "**Salvage value** - what an asset is worth in the end"?
/// Or is it the term of a definition, which stands below it?
fn defines(index: &Index, asked: &Asked, markdown: &str, tongue: usize) -> bool {
    let wanted = asked.counting().count_ones() as usize;
    let mut terms = Vec::new();
    markdown.lines().any(|line| {
        let term = line.strip_prefix("**").and_then(|line| line.strip_suffix("**")).filter(|term| term.len() <= TERM);
        let line = line.trim_start_matches(|c: char| c.is_ascii_punctuation() || c.is_whitespace());
        let begin = term.unwrap_or_else(|| plain::shortened(line, 40 + 24 * wanted));
        terms.clear();
        index.vocabulary.known(&plain::text(begin).0, tongue, &mut terms);
        let goes_on = terms.len() > wanted + 2;
        if term.is_none() {
            terms.truncate(wanted + 1);
        }
        (term.is_some() || goes_on && !terms.contains(&BREAK)) && asked.share(asked.share_of(&terms).1) >= DEFINED
    })
}

fn has_code(markdown: &str) -> bool {
    markdown.contains('`')
}
