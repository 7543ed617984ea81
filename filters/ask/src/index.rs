//! The passages of a site, held in memory and findable.
//!
//! The library (tantivy) finds candidates by BM25 over title, heading and text. Which of them answers is decided in
//! `search` from the stems of every sentence, which are kept here as numbers: nothing of a page is analysed again when
//! somebody asks.

use std::{
    collections::{HashMap, HashSet},
    hash::BuildHasher,
    sync::Arc,
};

use foldhash::fast::RandomState;
use tantivy::{
    IndexReader, IndexSettings, ReloadPolicy, Searcher, TantivyError,
    directory::RamDirectory,
    doc,
    indexer::NoMergePolicy,
    schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions},
    tokenizer::Language,
};

use super::{
    passage::{self, Kind},
    plain,
    words::{self, Words},
};
use frontdesk_page::content::Page;

/// Passages of a whole site; further ones are not indexed.
const PASSAGES: usize = 60_000;
/// Bytes of what is kept of a whole site, text and stems; beyond, further pages are not indexed.
const TEXT: usize = 48 << 20;
/// What the library needs at least to write with, in bytes.
const WRITER: usize = 15_000_000;

/// A page, but for its text.
pub(super) struct Leaf {
    pub(super) path: String,
    pub(super) title: String,
    pub(super) description: Option<String>,
    pub(super) terms: Box<[u32]>,
}

/// A passage, with its stems.
pub(super) struct Entry {
    pub(super) page: u32,
    pub(super) heading: String,
    pub(super) heading_terms: Box<[u32]>,
    pub(super) said: Box<[Said]>,
    /// How many stems, all sentences together.
    pub(super) length: u32,
    pub(super) linked: u8,
    /// The first of its page.
    pub(super) lead: bool,
    pub(super) language: Language,
}

pub(super) struct Said {
    pub(super) text: Box<str>,
    pub(super) kind: Kind,
    pub(super) terms: Box<[u32]>,
}

/// The library's part.
pub(super) struct Engine {
    pub(super) searcher: Searcher,
    pub(super) title: Field,
    pub(super) heading: Field,
    pub(super) body: Field,
}

#[derive(Default)]
pub(super) struct Index {
    pub(super) leaves: Vec<Leaf>,
    pub(super) entries: Vec<Entry>,
    /// The number of every stem, and in how many passages it stands.
    vocabulary: HashMap<Box<str>, u32, RandomState>,
    frequency: Vec<u32>,
    pub(super) engine: Option<Engine>,
    /// Languages of the pages, the most frequent first.
    pub(super) languages: Vec<(Language, Words)>,
    /// Stems of a passage, on average.
    pub(super) average: f32,
    pub(super) bytes: usize,
}

/// The fast field that leads from a document to its passage.
pub(super) const NUMBER: &str = "number";

impl Index {
    /// Reads pages. What may not be indexed, what is there twice and what exceeds the bounds is left out.
    pub(super) fn build(pages: &[Arc<Page>]) -> Self {
        let mut index = Self::default();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for page in pages {
            *counts.entry(page.language.as_deref().unwrap_or("en")).or_default() += 1;
        }
        let mut languages: Vec<(Language, usize)> = Vec::new();
        for (tag, count) in counts {
            let language = words::language(tag).unwrap_or(Language::English);
            match languages.iter_mut().find(|(known, _)| *known == language) {
                Some((_, total)) => *total += count,
                None => languages.push((language, count)),
            }
        }
        languages.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        index.languages = languages.into_iter().map(|(language, _)| (language, Words::new(language))).collect();
        index.read(pages);
        let total: usize = index.entries.iter().map(|entry| entry.length as usize).sum();
        index.average = total as f32 / index.entries.len().max(1) as f32;
        // Without the library nothing is found, and that is what is said.
        if let Ok((engine, bytes)) = index.engine() {
            index.engine = Some(engine);
            index.bytes += bytes;
        }
        index
    }

    fn read(&mut self, pages: &[Arc<Page>]) {
        let hasher = RandomState::default();
        let paths: HashSet<&str> = pages.iter().map(|page| page.path.as_str()).collect();
        let suffix = common_suffix(pages);
        let mut seen = HashSet::new();
        let mut languages = std::mem::take(&mut self.languages);
        for page in pages.iter().filter(|page| !page.noindex) {
            let elsewhere = page.canonical.as_deref().is_some_and(|path| path != page.path && paths.contains(path));
            if elsewhere || self.bytes > TEXT || !seen.insert(hasher.hash_one(&page.markdown)) {
                continue;
            }
            let wanted = page.language.as_deref().and_then(words::language).unwrap_or(Language::English);
            let Some((language, words)) = languages.iter_mut().find(|(language, _)| *language == wanted) else {
                continue;
            };
            self.page(page, suffix.as_deref(), *language, words);
        }
        self.languages = languages;
    }

    fn page(&mut self, page: &Page, suffix: Option<&str>, language: Language, words: &mut Words) {
        let title = plain::clean(&page.title);
        let title = suffix.and_then(|suffix| title.strip_suffix(suffix)).unwrap_or(&title);
        let title = plain::shortened(title.trim(), passage::HEADING);
        let title = if title.is_empty() { &page.path } else { title };
        let number = self.leaves.len() as u32;
        let terms = self.terms(title, words);
        self.bytes += title.len() + page.path.len() + 4 * terms.len();
        let description = page.description.as_deref().map(|text| plain::shortened(&plain::clean(text), 300).to_owned());
        self.leaves.push(Leaf { path: page.path.clone(), title: title.to_owned(), description, terms });
        for (at, cut) in passage::cut(&page.markdown).into_iter().enumerate() {
            if self.entries.len() == PASSAGES {
                return;
            }
            let heading_terms = self.terms(&cut.heading, words);
            let mut present: HashSet<u32, RandomState> = heading_terms.iter().copied().collect();
            let mut length = 0;
            let mut said = Vec::with_capacity(cut.sentences.len());
            for sentence in cut.sentences {
                let terms = self.terms(&sentence.text, words);
                present.extend(&terms);
                length += terms.len() as u32;
                self.bytes += sentence.text.len() + 4 * terms.len() + size_of::<Said>();
                said.push(Said { text: sentence.text.into(), kind: sentence.kind, terms });
            }
            for term in present {
                self.frequency[term as usize] += 1;
            }
            self.bytes += size_of::<Entry>() + cut.heading.len() + 4 * heading_terms.len();
            self.entries.push(Entry {
                page: number,
                heading: cut.heading,
                heading_terms,
                said: said.into(),
                length,
                linked: cut.linked,
                lead: at == 0,
                language,
            });
        }
    }

    fn terms(&mut self, text: &str, words: &mut Words) -> Box<[u32]> {
        let mut terms = Vec::new();
        words.stems(text, |stem, _| {
            let number = match self.vocabulary.get(stem) {
                Some(number) => *number,
                None => {
                    let number = self.frequency.len() as u32;
                    self.bytes += stem.len() + 32;
                    self.vocabulary.insert(stem.into(), number);
                    self.frequency.push(0);
                    number
                }
            };
            terms.push(number);
        });
        terms.into()
    }

    fn engine(&self) -> Result<(Engine, usize), TantivyError> {
        let indexing =
            TextFieldIndexing::default().set_tokenizer("whitespace").set_index_option(IndexRecordOption::WithFreqs);
        let options = TextOptions::default().set_indexing_options(indexing);
        let mut schema = Schema::builder();
        let title = schema.add_text_field("title", options.clone());
        let heading = schema.add_text_field("heading", options.clone());
        let body = schema.add_text_field("body", options);
        let number = schema.add_u64_field(NUMBER, FAST);
        let directory = RamDirectory::create();
        let index = tantivy::Index::create(directory.clone(), schema.build(), IndexSettings::default())?;
        let mut writer = index.writer_with_num_threads(1, WRITER)?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        // A stem goes in by its number: the same stems on both sides, and short ones.
        let spelled = |terms: &mut dyn Iterator<Item = &u32>| {
            let mut text = String::new();
            for term in terms {
                text.push_str(&spelled(*term));
                text.push(' ');
            }
            text
        };
        for (at, entry) in self.entries.iter().enumerate() {
            writer.add_document(doc!(
                title => spelled(&mut self.leaves[entry.page as usize].terms.iter()),
                heading => spelled(&mut entry.heading_terms.iter()),
                body => spelled(&mut entry.said.iter().flat_map(|said| said.terms.iter())),
                number => at as u64,
            ))?;
        }
        writer.commit()?;
        writer.wait_merging_threads()?;
        let reader: IndexReader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let searcher = reader.searcher();
        Ok((Engine { searcher, title, heading, body }, directory.total_mem_usage()))
    }

    /// The number of a stem.
    pub(super) fn number(&self, stem: &str) -> Option<u32> {
        self.vocabulary.get(stem).copied()
    }

    /// How much a stem says: that of every passage little, that of none the most.
    pub(super) fn rarity(&self, number: Option<u32>) -> f32 {
        let passages = self.entries.len() as f32;
        let with = number.map_or(0.0, |number| self.frequency[number as usize] as f32);
        (1.0 + (passages - with + 0.5) / (with + 0.5)).ln()
    }

    /// In how many passages a stem stands.
    pub(super) fn frequency(&self, number: u32) -> u32 {
        self.frequency[number as usize]
    }
}

/// A stem's number as the library holds it.
pub(super) fn spelled(number: u32) -> String {
    format!("{number:x}")
}

/// What most titles of a site end in: its name, after a separator. It says nothing of a page.
fn common_suffix(pages: &[Arc<Page>]) -> Option<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for page in pages {
        let cut =
            [" | ", " - ", " – ", " — ", " · ", " :: ", " » "].iter().filter_map(|mark| page.title.find(mark)).min();
        if let Some(at) = cut {
            *counts.entry(&page.title[at..]).or_default() += 1;
        }
    }
    let (suffix, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (count > 2 && count * 2 > pages.len()).then(|| suffix.to_owned())
}
