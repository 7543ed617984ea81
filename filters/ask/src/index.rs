//! The passages of a site, findable: words in fields (title, headings, text, texts of links), searched by BM25.
//!
//! The search library gives candidates; which of them answers is decided in `rank`. The text itself stays where it is, in
//! the Markdown of the pages: a passage is a place in it.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    hash::BuildHasher,
    sync::Arc,
};

use foldhash::fast::RandomState;
use tantivy::{TantivyError, tokenizer::Language};

use super::{
    boilerplate::{self, Repeated},
    engine::{Engine, Writing},
    languages,
    links::LinkTexts,
    passage::{self, Form},
    plain,
    vocabulary::{BREAK, Vocabulary},
};
use frontdesk_page::content::Page;

/// Passages of a whole site; further ones are not indexed.
const PASSAGES: usize = 400_000;
/// Bytes of Markdown of a whole site; beyond, further pages are not indexed.
const TEXT: usize = 512 << 20;
/// A page, but for its text.
pub(super) struct Leaf {
    pub(super) page: Arc<Page>,
    pub(super) title: String,
    pub(super) description: Option<String>,
    pub(super) title_terms: Box<[u32]>,
    /// Of what other pages call it.
    pub(super) link_terms: Box<[u32]>,
    /// How many other pages link to it.
    pub(super) linked_from: u32,
    /// Which of the site's languages it is in.
    pub(super) tongue: u8,
}

/// What stands under one heading of a page.
pub(super) struct Section {
    pub(super) page: u32,
    /// The headings that lead here, but for the page's title, the outermost first.
    pub(super) path: Box<[String]>,
    /// The fragment under which it can be reached.
    pub(super) anchor: Option<Box<str>>,
    /// Of its own heading, and of those above.
    pub(super) heading_terms: Box<[u32]>,
    pub(super) above_terms: Box<[u32]>,
}

/// A passage: a place in a page's Markdown.
pub(super) struct Entry {
    pub(super) section: u32,
    pub(super) begin: u32,
    pub(super) end: u32,
    /// How many stems.
    pub(super) length: u32,
    pub(super) form: Form,
    /// The first of its page.
    pub(super) lead: bool,
}

#[derive(Default)]
pub(super) struct Index {
    pub(super) leaves: Vec<Leaf>,
    pub(super) sections: Vec<Section>,
    pub(super) entries: Vec<Entry>,
    pub(super) vocabulary: Vocabulary,
    pub(super) engine: Option<Engine>,
    /// Stems of a passage, on average.
    pub(super) average: f32,
    pub(super) bytes: usize,
}

impl Index {
    /// Reads pages. What may not be indexed, what is there twice and what exceeds the bounds is left out.
    pub(super) fn build(pages: &[Arc<Page>]) -> Self {
        // Without the library nothing is found, and that is what is said.
        let pages = kept(pages);
        let mut index = Self::default();
        let tongues = index.speak(&pages);
        match index.read(&pages, &tongues) {
            Ok(()) => {}
            Err(_) => index.engine = None,
        }
        let total: usize = index.entries.iter().map(|entry| entry.length as usize).sum();
        index.average = total as f32 / index.entries.len().max(1) as f32;
        index.bytes += index.vocabulary.bytes + index.entries.len() * size_of::<Entry>();
        index
    }

    /// Finds out the languages of the pages; which of them each is in.
    fn speak(&mut self, pages: &[Arc<Page>]) -> Vec<u8> {
        let languages: Vec<Language> = pages.iter().map(|page| language(page)).collect();
        let mut counts: Vec<(Language, usize)> = Vec::new();
        for language in &languages {
            match counts.iter_mut().find(|(known, _)| known == language) {
                Some((_, count)) => *count += 1,
                None => counts.push((*language, 1)),
            }
        }
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let all: Vec<Language> = counts.into_iter().map(|(language, _)| language).collect();
        self.vocabulary = Vocabulary::new(&all);
        let place = |language: &Language| all.iter().position(|known| known == language).unwrap_or_default() as u8;
        languages.iter().map(place).collect()
    }

    fn read(&mut self, pages: &[Arc<Page>], tongues: &[u8]) -> Result<(), TantivyError> {
        let paths: HashSet<&str> = pages.iter().map(|page| page.path.as_str()).collect();
        let links = LinkTexts::of(pages.iter().map(|page| (page.path.as_str(), page.markdown.as_str())), &paths);
        let repeated = Repeated::of(pages.iter().map(|page| page.markdown.as_str()));
        let suffix = common_suffix(pages);
        for (page, tongue) in pages.iter().zip(tongues) {
            self.vocabulary.note(&page.markdown, usize::from(*tongue));
        }
        let mut writing = Writing::new()?;
        for (page, tongue) in pages.iter().zip(tongues) {
            if self.entries.len() >= PASSAGES {
                break;
            }
            self.add_leaf(page, suffix.as_deref(), *tongue, links.to(&page.path));
            for section in passage::cut(&page.markdown, |block| repeated.has(block)) {
                let anchor = section.path.last().and_then(|heading| links.anchor(&page.path, heading));
                self.section(page, section, anchor, &mut writing)?;
            }
        }
        let (engine, bytes) = writing.finish()?;
        self.engine = Some(engine);
        self.bytes += bytes;
        Ok(())
    }

    fn add_leaf(&mut self, page: &Arc<Page>, suffix: Option<&str>, tongue: u8, (links, linked_from): (String, u32)) {
        let title = plain::clean(&page.title);
        let title = suffix.and_then(|suffix| title.strip_suffix(suffix)).unwrap_or(&title);
        let title = plain::shortened(title.trim(), passage::HEADING);
        let title = if title.is_empty() { &page.path } else { title };
        let title_terms = self.terms(title, tongue);
        let link_terms = self.terms(&links, tongue);
        self.vocabulary.count(title_terms.iter().chain(link_terms.iter()).copied().collect::<BTreeSet<u32>>());
        self.bytes += size_of::<Leaf>() + title.len() + 4 * (title_terms.len() + link_terms.len());
        let description = page.description.as_deref().map(|text| plain::shortened(&plain::clean(text), 300).to_owned());
        let leaf = Leaf {
            page: page.clone(),
            title: title.to_owned(),
            description,
            title_terms,
            link_terms,
            linked_from,
            tongue,
        };
        self.leaves.push(leaf);
    }

    fn section(
        &mut self,
        page: &Page,
        section: passage::Section,
        anchor: Option<&str>,
        writing: &mut Writing,
    ) -> Result<(), TantivyError> {
        let number = (self.leaves.len() - 1) as u32;
        let leaf = &self.leaves[number as usize];
        let (tongue, title) = (leaf.tongue, leaf.title.clone());
        let mut path = section.path;
        // The title's heading says what the title says.
        if path.first().is_some_and(|first| title.contains(first.as_str()) || first.contains(title.as_str()))
            && path.len() > 1
        {
            path.remove(0);
        }
        let parts: Vec<_> =
            section.parts.into_iter().filter(|part| !boilerplate::is_no_answer(&page.markdown, part, &path)).collect();
        if parts.is_empty() {
            return Ok(());
        }
        let (above, own) = path.split_at(path.len().saturating_sub(1));
        let heading_terms = self.terms(own.first().map(String::as_str).unwrap_or_default(), tongue);
        let above_terms = self.terms(&above.join("\n"), tongue);
        let at = self.sections.len() as u32;
        let lead = self.sections.last().is_none_or(|last| last.page != number);
        self.bytes +=
            size_of::<Section>() + path.iter().map(|text| text.len() + 24).sum::<usize>() + 4 * heading_terms.len();
        self.sections.push(Section {
            page: number,
            path: path.into(),
            anchor: anchor.map(Into::into),
            heading_terms,
            above_terms,
        });
        for (nth, part) in parts.into_iter().enumerate() {
            let mut terms = Vec::new();
            self.vocabulary.read(&plain::text(&page.markdown[part.range.clone()]).0, usize::from(tongue), &mut terms);
            terms.retain(|term| *term != BREAK);
            let section = &self.sections[at as usize];
            let present: BTreeSet<u32> = terms.iter().chain(section.heading_terms.iter()).copied().collect();
            self.vocabulary.count(present);
            let leaf = &self.leaves[number as usize];
            let fields =
                [&*leaf.title_terms, &*section.heading_terms, &*section.above_terms, &*terms, &*leaf.link_terms];
            writing.add(self.entries.len(), fields)?;
            self.entries.push(Entry {
                section: at,
                begin: part.range.start as u32,
                end: part.range.end as u32,
                length: terms.len() as u32,
                form: part.form,
                lead: lead && nth == 0,
            });
        }
        Ok(())
    }

    fn terms(&mut self, text: &str, tongue: u8) -> Box<[u32]> {
        let mut terms = Vec::new();
        self.vocabulary.read(text, usize::from(tongue), &mut terms);
        terms.retain(|term| *term != BREAK);
        terms.into()
    }

    /// The page of a passage.
    pub(super) fn leaf(&self, entry: usize) -> &Leaf {
        &self.leaves[self.sections[self.entries[entry].section as usize].page as usize]
    }

    /// The Markdown of a passage.
    pub(super) fn markdown(&self, entry: usize) -> &str {
        let Entry { begin, end, .. } = self.entries[entry];
        self.leaf(entry).page.markdown.get(begin as usize..end as usize).unwrap_or_default()
    }

    /// The heading of a passage; empty before the first.
    pub(super) fn heading(&self, entry: usize) -> &str {
        self.sections[self.entries[entry].section as usize].path.last().map(String::as_str).unwrap_or_default()
    }

    /// How much a stem says: that of every passage little, that of none the most.
    pub(super) fn rarity(&self, number: Option<u32>) -> f32 {
        let passages = self.entries.len() as f32;
        // Titles and links count too, so that there may be more of them than passages.
        let with = number.map_or(0.0, |number| self.vocabulary.frequency(number) as f32).min(passages);
        (1.0 + (passages - with + 0.5) / (with + 0.5)).ln()
    }
}

/// The pages that may be found, each once.
fn kept(pages: &[Arc<Page>]) -> Vec<Arc<Page>> {
    let hasher = RandomState::default();
    let paths: HashSet<&str> = pages.iter().map(|page| page.path.as_str()).collect();
    let (mut seen, mut size) = (HashSet::new(), 0);
    let found = pages.iter().filter(|page| {
        let elsewhere = page.canonical.as_deref().is_some_and(|path| path != page.path && paths.contains(path));
        let fits = !page.noindex && !elsewhere && size <= TEXT && seen.insert(hasher.hash_one(&page.markdown));
        size += if fits { page.markdown.len() } else { 0 };
        fits
    });
    found.cloned().collect()
}

/// The language of a page, by its own word or by its words.
fn language(page: &Page) -> Language {
    let tagged = page.language.as_deref().and_then(languages::of_tag);
    tagged.or_else(|| languages::guess(&page.markdown)).unwrap_or(Language::English)
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
