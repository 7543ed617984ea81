//! From passages to an answer: the few sentences that answer, where they stand, and what else can be asked.
//!
//! Sentences are taken as they are and quoted, together with the heading they stand under, for "Yes." means nothing
//! without its question. An answer that would cost too many tokens loses its follow-ups first, then its weaker sources,
//! then of its sentences those at the ends that say least of what was asked.

use super::{
    Answer, Library, MOST_TOKENS, Question, Relevance, Source, asked::Asked, index::Entry, passage::Kind, plain,
    search::Ranked, unclear,
};
use frontdesk_base::tokens;

/// The most questions that are proposed after an answer.
pub(super) const FOLLOW_UPS: usize = 3;
/// Sentences of one passage, in bytes, and of each further one.
const EXCERPT: usize = 420;
pub(super) const FURTHER: usize = 220;
/// How near a page has to come to the best to be named as a source.
const INDIRECT: f32 = 0.75;
const BACKGROUND: f32 = 0.55;
const SOURCES: usize = 3;
/// Questions tried, to find those that can be answered.
const TRIED: usize = 6;
/// Bytes of a sentence that is no answer without the next: "Yes."
const SHORT: usize = 12;
/// What a source costs beyond its title and address: names and marks of JSON.
const PER_SOURCE: usize = 12;

/// A sentence, and how much of what was asked it says.
pub(super) struct Sentence {
    pub(super) text: String,
    worth: f32,
}

/// What is quoted of one passage.
pub(super) struct Quote {
    /// What it stands under, ready to be followed.
    heading: String,
    sentences: Vec<Sentence>,
}

impl Quote {
    /// Sentences that are worth the same.
    pub(super) fn of(texts: Vec<String>) -> Self {
        let sentences = texts.into_iter().map(|text| Sentence { text, worth: 0.0 }).collect();
        Self { heading: String::new(), sentences }
    }

    fn text(&self) -> String {
        let heading = Some(self.heading.as_str()).filter(|heading| !heading.is_empty());
        heading.into_iter().chain(self.sentences.iter().map(|s| s.text.as_str())).collect::<Vec<_>>().join(" ")
    }

    /// Leaves out the first sentence or the last, whichever is worth less; the one that answers stays.
    fn shorten(&mut self) {
        let worth = |sentence: Option<&Sentence>| sentence.map_or(0.0, |sentence| sentence.worth);
        match worth(self.sentences.first()) < worth(self.sentences.last()) {
            true => _ = self.sentences.remove(0),
            false => _ = self.sentences.pop(),
        }
    }

    /// Makes its only sentence as short as that, at the cost of what it stands under.
    fn cut(&mut self, most: usize) {
        let [only] = self.sentences.as_mut_slice() else { return };
        if count(&only.text) + 2 > most || only.text.len() <= SHORT {
            only.text = format!("{} {}", self.heading, only.text).trim_start().to_owned();
        }
        self.heading.clear();
        only.text = cut(&only.text, most);
    }
}

impl Library {
    /// The answer from the first `quoted` of these passages; the others are sources at most.
    pub(super) fn found(&self, question: &Question<'_>, asked: &Asked, ranked: &[Ranked], quoted: usize) -> Answer {
        let mut quotes: Vec<(u32, Quote)> = Vec::new();
        let each = if quoted > 1 { FURTHER } else { EXCERPT };
        for part in ranked.iter().take(quoted) {
            quotes.push((part.page, self.quote(asked, part, each)));
        }
        if let Some(best) = ranked.first().filter(|_| quoted == 1)
            && let Some(more) = complement(asked, best, ranked)
        {
            quotes.push((more.page, self.quote(asked, more, FURTHER)));
        }
        let sources = self.sources(ranked, &quotes);
        let follow_ups = ranked.first().map(|best| self.follow_ups(best, ranked)).unwrap_or_default();
        fit(quotes.into_iter().map(|(_, quote)| quote).collect(), sources, follow_ups, question.max_tokens)
    }

    /// A passage's heading and the sentences of it that answer.
    fn quote(&self, asked: &Asked, ranked: &Ranked, most: usize) -> Quote {
        let entry = &self.index.entries[ranked.entry];
        let title = &self.index.leaves[ranked.page as usize].title;
        let mut sentences = excerpt(entry, asked, most);
        if sentences.len() > 1 && sentences.first().is_some_and(|first| first.text.len() <= SHORT) {
            let first = sentences.remove(0);
            sentences[0].text = format!("{} {}", first.text, sentences[0].text);
            sentences[0].worth = sentences[0].worth.max(first.worth);
        }
        let heading = match entry.heading.as_str() {
            "" => title.clone(),
            heading if title.contains(heading) || heading.contains(title.as_str()) || heading.ends_with('?') => {
                heading.to_owned()
            }
            heading => format!("{title}, {heading}"),
        };
        let end = if heading.ends_with(['?', '!', '.', ':']) { "" } else { ":" };
        Quote { heading: if sentences.is_empty() { heading } else { heading + end }, sentences }
    }

    fn sources(&self, ranked: &[Ranked], quotes: &[(u32, Quote)]) -> Vec<Source> {
        let best = ranked.first().map_or(0.0, |ranked| ranked.score);
        let mut pages: Vec<(u32, Relevance)> = Vec::new();
        for (page, _) in quotes {
            if pages.iter().all(|(known, _)| known != page) {
                pages.push((*page, Relevance::Direct));
            }
        }
        for other in ranked {
            let relevance = match other.score / best {
                near if near >= INDIRECT => Relevance::Indirect,
                near if near >= BACKGROUND => Relevance::Background,
                _ => break,
            };
            if pages.len() < SOURCES && pages.iter().all(|(known, _)| *known != other.page) {
                pages.push((other.page, relevance));
            }
        }
        let source = |(page, relevance): (u32, Relevance)| {
            let leaf = &self.index.leaves[page as usize];
            Source { title: leaf.title.clone(), url: self.url(&leaf.path), relevance }
        };
        pages.into_iter().map(source).collect()
    }

    /// Questions that the site answers, near to what was asked: what stands beside the answer, then what came next.
    pub(super) fn follow_ups(&self, best: &Ranked, ranked: &[Ranked]) -> Vec<String> {
        let beside = |at: &usize| self.index.entries.get(*at).is_some_and(|entry| entry.page == best.page);
        let around = (best.entry + 1..best.entry + 4).chain(best.entry.checked_sub(1)).filter(beside);
        let mut questions: Vec<String> = Vec::new();
        for at in around.chain(ranked.iter().skip(1).map(|ranked| ranked.entry)).take(TRIED) {
            if questions.len() == FOLLOW_UPS {
                break;
            }
            let same = self.index.entries[at].heading == self.index.entries[best.entry].heading;
            if let Some(question) = self.as_question(at).filter(|_| !same)
                && !questions.contains(&question)
                && self.can_answer(&question, at)
            {
                questions.push(question);
            }
        }
        questions
    }

    /// A passage's heading as something to ask.
    pub(super) fn as_question(&self, at: usize) -> Option<String> {
        let entry = self.index.entries.get(at)?;
        let title = &self.index.leaves[entry.page as usize].title;
        let heading = entry.heading.as_str();
        if heading.is_empty() || heading.len() + title.len() > 120 || entry.linked > 70 {
            return None;
        }
        Some(match heading == title || heading.ends_with('?') {
            true => heading.to_owned(),
            false => format!("{title}: {heading}"),
        })
    }

    /// Is this answered by the page of that passage, and nothing asked back?
    pub(super) fn can_answer(&self, question: &str, at: usize) -> bool {
        let entry = &self.index.entries[at];
        let read = self.read(question, None, &[], entry.language);
        read.found.first().is_some_and(|best| best.page == entry.page)
            && unclear::candidates(&self.index, &read).is_none()
    }
}

/// A passage of another kind that holds what the best one lacks.
fn complement<'a>(asked: &Asked, best: &Ranked, ranked: &'a [Ranked]) -> Option<&'a Ranked> {
    let held = asked.share(best.covered);
    if held > 0.9 {
        return None;
    }
    let adds = |other: &&Ranked| {
        other.score >= BACKGROUND * best.score && asked.share(best.covered | other.covered) > held + 0.15
    };
    ranked.iter().skip(1).take(8).find(adds)
}

/// The sentences of a passage that answer, in their order: all if they are few, else those around the best.
pub(super) fn excerpt(entry: &Entry, asked: &Asked, most: usize) -> Vec<Sentence> {
    let size = |range: std::ops::Range<usize>| entry.said[range].iter().map(|said| said.text.len() + 1).sum::<usize>();
    let said = &entry.said;
    let worth = |at: usize| {
        let number = asked.number && said[at].text.bytes().any(|b| b.is_ascii_digit());
        asked.sentence(&said[at].terms) + if number { 0.1 } else { 0.0 }
            - if said[at].kind == Kind::Code { 0.15 } else { 0.0 }
    };
    let worths: Vec<f32> = (0..said.len()).map(worth).collect();
    let sentence = |at: usize| Sentence { text: ended(&said[at].text), worth: worths[at] };
    if size(0..said.len()) <= most {
        return (0..said.len()).map(sentence).collect();
    }
    let Some(best) = (0..said.len()).max_by(|a, b| worths[*a].total_cmp(&worths[*b]).then(b.cmp(a))) else {
        return Vec::new();
    };
    if said[best].kind == Kind::Row {
        let mut rows: Vec<usize> = (0..said.len()).filter(|at| worths[*at] >= 0.8 * worths[best]).collect();
        rows.sort_by(|a, b| worths[*b].total_cmp(&worths[*a]));
        let mut left = most;
        rows.retain(|at| {
            let fits = said[*at].text.len() <= left || *at == best;
            left = left.saturating_sub(if fits { said[*at].text.len() } else { 0 });
            fits
        });
        rows.sort_unstable();
        return rows.into_iter().map(sentence).collect();
    }
    let (mut begin, mut end) = (best, best + 1);
    loop {
        if end < said.len() && size(begin..end + 1) <= most {
            end += 1;
        } else if begin > 0 && size(begin - 1..end) <= most {
            begin -= 1;
        } else {
            break;
        }
    }
    (begin..end).map(sentence).collect()
}

/// A sentence that ends like one.
fn ended(text: &str) -> String {
    match text.chars().next_back() {
        Some(c) if c.is_alphanumeric() => format!("{text}."),
        _ => text.to_owned(),
    }
}

/// Puts an answer together so that it costs no more than allowed.
pub(super) fn fit(
    mut quotes: Vec<Quote>,
    mut sources: Vec<Source>,
    mut follow_ups: Vec<String>,
    most: usize,
) -> Answer {
    let most = most.clamp(1, MOST_TOKENS);
    let text = |quotes: &[Quote]| quotes.iter().map(|quote| plain::quoted(&quote.text())).collect::<Vec<_>>().join(" ");
    let price = |source: &Source| count(&source.title) + count(&source.url) + PER_SOURCE;
    let cost = |quotes: &[Quote], sources: &[Source], follow_ups: &[String]| {
        count(&text(quotes))
            + sources.iter().map(price).sum::<usize>()
            + follow_ups.iter().map(|text| count(text) + 3).sum::<usize>()
    };
    while cost(&quotes, &sources, &follow_ups) > most {
        if follow_ups.pop().is_some() {
            continue;
        }
        if sources.last().is_some_and(|source| source.relevance != Relevance::Direct) {
            sources.pop();
            continue;
        }
        match quotes.as_mut_slice() {
            [.., further, last] if last.sentences.len() <= 1 && !further.sentences.is_empty() => _ = quotes.pop(),
            [.., last] if last.sentences.len() > 1 => last.shorten(),
            [only] => {
                let room = most.saturating_sub(sources.iter().map(price).sum());
                only.cut(room.max(most / 2));
                break;
            }
            _ => break,
        }
    }
    Answer::Found { text: text(&quotes), sources, follow_ups }
}

/// As many words of a sentence as cost no more than that.
fn cut(sentence: &str, most: usize) -> String {
    let mut text = sentence;
    while count(text) + 2 > most {
        match text.rfind(' ') {
            Some(at) => text = &text[..at],
            None => break,
        }
    }
    if text.len() == sentence.len() { text.to_owned() } else { format!("{text} …") }
}

pub(super) fn count(text: &str) -> usize {
    tokens::count(text) as usize
}
