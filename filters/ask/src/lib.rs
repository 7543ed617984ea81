//! Answers to questions, from the site's own pages and without a model.
//!
//! A visitor asks in plain words and gets the passages of the site that answer, whole and as Markdown, the best first, with
//! where they stand and how much they are to be trusted. Nothing is made up: an answer is a quotation (the Agent
//! Handshake's §5.2). A question that names a section which several pages have is asked back (§6.3), and what is not on the
//! site is said not to be.
//!
//! Pages and visitors are both strangers. What a page says is quoted and never obeyed; what a visitor writes is only
//! ever compared with the words of the site.
//!
//! A crate of its own, because it alone needs a search engine. It gets pages and a question and gives an answer; it knows
//! no configuration, no caller and no dialect, and opens no socket.

#![forbid(unsafe_code)]

mod about;
mod answer;
mod boilerplate;
mod bytes;
mod compounds;
mod confidence;
mod cost;
mod coverage;
mod engine;
mod everyday;
mod findings;
mod follow;
mod headings;
mod index;
mod injection;
mod intake;
mod languages;
mod lead;
mod links;
mod markdown;
mod meaning;
mod overlap;
mod particles;
mod passage;
mod plain;
mod question;
mod quotation;
mod quote;
mod rank;
mod related;
mod remembered_turn;
mod saved;
mod speaker;
mod spelling;
mod spoken;
mod synonyms;
#[cfg(test)]
mod tests;
mod tokens;
mod unclear;
mod verbatim;
mod vocabulary;
mod wish;
mod words;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use frontdesk_page::content::Page;

pub use coverage::Coverage;
pub use meaning::{Embeddings, Later, Vectors};
pub use remembered_turn::Turn;
pub use words::Draft;

use index::Index;

/// What the operator said about the site; the rest is read from its pages.
#[derive(Clone, Debug, Default)]
pub struct SiteFacts {
    pub name: Option<String>,
    pub description: Option<String>,
    /// Where the site is reached, `https://example.com`: what its links begin with.
    pub origin: Option<String>,
    pub operator: Option<String>,
    pub contact: Option<String>,
    /// Name and description of what agents can call.
    pub capabilities: Vec<(String, String)>,
}

/// The pages of a site, ready to be asked. It never changes: a new crawl makes a new one.
#[derive(Default)]
pub struct Library {
    facts: SiteFacts,
    index: Index,
    number: u64,
    coverage: Coverage,
    /// `None`: only words are searched.
    meaning: Option<meaning::Meaning>,
    /// As the crawler read them, shared with it.
    shelf: Vec<Arc<Page>>,
}

/// What a visitor asks.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// In plain words; the first 4,096 characters are read.
    pub query: &'a str,
    /// The turns of this session, the oldest first.
    pub before: &'a [Turn],
    /// What the visitor chose, or wrote, when asked back.
    pub clarification: Option<&'a str>,
    /// The most tokens an answer may take, with its sources and follow-ups.
    pub max_tokens: usize,
    /// The most tokens of what is quoted; see [`ANSWER_TOKENS`].
    pub answer_tokens: usize,
    /// The visitor's language, as a tag: `de-AT`.
    pub locale: Option<&'a str>,
    /// What [`Embeddings::question`] made of it; `None`: only words are searched.
    pub vector: Option<&'a [f32]>,
}

impl Default for Question<'_> {
    fn default() -> Self {
        Self {
            query: "",
            before: &[],
            clarification: None,
            max_tokens: ANSWER_TOKENS + 500,
            answer_tokens: ANSWER_TOKENS,
            locale: None,
            vector: None,
        }
    }
}

/// How much of the site an answer quotes, in tokens, where nobody says otherwise.
pub const ANSWER_TOKENS: usize = 1_500;

/// What comes back.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Passages of the site as Markdown, the best first, and where they stand. `confidence` is from 0 to 1.
    Found { text: String, sources: Vec<Source>, follow_ups: Vec<String>, confidence: f32 },
    /// Several pages answer, each something else: which is meant? The options can be chosen as they are.
    Unclear { question: String, options: Vec<String> },
    /// The site does not say. The text names the pages that come nearest.
    Nothing { text: String, follow_ups: Vec<String> },
}

/// A page that an answer comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    pub title: String,
    /// Absolute if the origin is known, else a path.
    pub url: String,
    /// The heading that it stands under, if that is not the title.
    pub section: Option<String>,
    pub relevance: Relevance,
}

impl Source {
    /// Is it the same place?
    fn is_as(&self, other: &Self) -> bool {
        self.url == other.url && self.section == other.section
    }
}

/// What a source has to do with the answer (§6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relevance {
    /// The answer is quoted from it.
    Direct,
    /// It is about the same thing.
    Background,
}

impl Relevance {
    /// As it is written on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Background => "background",
        }
    }
}

/// A page that fits a search: an item of `application/feed` (appendix C.2).
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    pub title: String,
    pub url: String,
    pub description: String,
}

impl Library {
    /// An empty library. It answers that no page has been read.
    pub fn empty() -> Self {
        Self::default()
    }

    /// A library without pages, which knows what the operator says of the site.
    pub fn unread(facts: &SiteFacts) -> Self {
        Self::of(facts, &[])
    }

    /// Builds a library of pages. This takes a second for some thousand pages: call it where blocking is allowed.
    pub fn build(facts: &SiteFacts, pages: &[Arc<Page>]) -> Self {
        // Answers are measured in tokens: no visitor shall wait for the vocabulary.
        frontdesk_base::tokens::warm(|| {});
        Self::of(facts, pages)
    }

    /// Updates the library to these pages. It reads only new and changed ones.
    pub fn renewed(&self, facts: &SiteFacts, pages: &[Arc<Page>]) -> Self {
        match self.index.updated(pages) {
            Some(index) => Self::of_index(facts, pages, index),
            None => Self::build(facts, pages),
        }
    }

    fn of(facts: &SiteFacts, pages: &[Arc<Page>]) -> Self {
        Self::of_index(facts, pages, Index::build(pages))
    }

    fn of_index(facts: &SiteFacts, pages: &[Arc<Page>], index: Index) -> Self {
        static BUILT: AtomicU64 = AtomicU64::new(0);
        let number = BUILT.fetch_add(1, Ordering::Relaxed) + 1;
        let mut shelf = pages.to_vec();
        shelf.sort_by(|a, b| a.path.cmp(&b.path));
        // Without pages nothing is known of how much there is.
        let coverage = if shelf.is_empty() { Coverage::Partial } else { Coverage::Whole };
        Self { facts: facts.clone(), index, number, coverage, meaning: None, shelf }
    }

    /// Identifies this library and its vectors within the process, for the keys of caches.
    pub fn number(&self) -> u64 {
        // With more vectors, another answer may come first.
        let vectors = self.meaning.as_ref().map_or(0, |meaning| meaning.vectors.len() as u64);
        self.number + (vectors << 32)
    }

    /// The pages themselves, by their paths.
    pub fn shelf(&self) -> &[Arc<Page>] {
        &self.shelf
    }

    /// How many pages can be found.
    pub fn pages(&self) -> usize {
        self.index.live_leaves().count()
    }

    /// How many passages can be found.
    pub fn passages(&self) -> usize {
        (0..self.index.entries.len()).filter(|at| !self.index.leaf(*at).is_gone).count()
    }

    /// About how much memory it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.index.bytes() + self.meaning.as_ref().map_or(0, |meaning| meaning.vectors.bytes())
    }

    /// Where a page is, as a visitor is told.
    fn url(&self, path: &str) -> String {
        match &self.facts.origin {
            Some(origin) if path.starts_with('/') => format!("{}{path}", origin.trim_end_matches('/')),
            _ => path.to_owned(),
        }
    }
}
