//! The passages of a site, findable: words in fields (title, headings, text, texts of links), searched by BM25.
//!
//! The search library gives candidates; which of them answers is decided in `rank`. The text itself stays where it is, in
//! the Markdown of the pages: a passage is a place in it.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    ops::Range,
    sync::Arc,
};

use tantivy::{TantivyError, tokenizer::Language};

use super::{
    boilerplate::{self, Repeated},
    engine::{Engine, Writing},
    headings,
    intake::{common_suffix, kept, language, says_the_same, spoken},
    links::{Anchors, LinkTexts},
    passage::{self, Form},
    plain,
    vocabulary::{BREAK, Vocabulary},
};
use frontdesk_page::content::Page;

/// Passages of a whole site; further ones are not indexed.
const PASSAGES: usize = 400_000;
/// Where more than one page in so many has changed, the index is built anew.
const REBUILT: usize = 4;
/// A page, but for its text.
#[derive(Clone)]
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
    /// It was removed or has changed since: nothing of it is found any more.
    pub(super) is_gone: bool,
}

/// What stands under one heading of a page.
#[derive(Clone)]
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
#[derive(Clone)]
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
    /// What the search library takes, in bytes.
    pub(super) engine_bytes: usize,
    /// What most titles end in.
    pub(super) suffix: Option<String>,
    /// What stands on most pages, by the pages that the index was begun with.
    pub(super) repeated: Arc<Repeated>,
}

impl Index {
    /// Reads pages. What may not be indexed, what is there twice and what exceeds the bounds is left out.
    pub(super) fn build(pages: &[Arc<Page>]) -> Self {
        // Without the library nothing is found, and that is what is said.
        let pages = kept(pages);
        let mut index = Self::default();
        let tongues = index.speak(&pages);
        index.suffix = common_suffix(&pages);
        index.repeated = Arc::new(Repeated::of(pages.iter().map(|page| page.markdown.as_str())));
        for (page, tongue) in pages.iter().zip(&tongues) {
            index.vocabulary.note(&page.markdown, usize::from(*tongue));
        }
        let begun = Writing::new().and_then(|mut writing| {
            index.read(&pages, &pages, &tongues, &mut writing)?;
            index.finish(writing)
        });
        if begun.is_err() {
            index.engine = None;
        }
        index
    }

    /// The index of these pages, with what this one has of them already. `None` where so much has changed that building it
    /// anew is better, or where a newer index was made of this one before.
    pub(super) fn updated(&self, pages: &[Arc<Page>]) -> Option<Self> {
        let engine = self.engine.as_ref()?;
        let pages = kept(pages);
        let here = self.leaves.iter().enumerate().filter(|(_, leaf)| !leaf.is_gone);
        let here: HashMap<&str, usize> = here.map(|(at, leaf)| (leaf.page.path.as_str(), at)).collect();
        let mut stays = vec![false; self.leaves.len()];
        let mut new = Vec::new();
        for page in &pages {
            match here.get(page.path.as_str()) {
                Some(at) if says_the_same(&self.leaves[*at].page, page) => stays[*at] = true,
                _ => new.push(page.clone()),
            }
        }
        let staying = stays.iter().filter(|stays| **stays).count();
        let dead = self.leaves.len() - staying;
        if (new.len() + dead) * REBUILT > pages.len() {
            return None;
        }
        let tongue = |page: &Arc<Page>| {
            // The first is that of most pages.
            let Some(language) = language(page) else { return Some(0) };
            self.vocabulary.tongues.iter().position(|tongue| tongue.language == language)
        };
        let tongues = new.iter().map(|page| Some(tongue(page)? as u8)).collect::<Option<Vec<u8>>>()?;
        let mut writing = Writing::on(engine).ok()??;
        let mut index = Self {
            leaves: self.leaves.clone(),
            sections: self.sections.clone(),
            entries: self.entries.clone(),
            vocabulary: self.vocabulary.clone(),
            engine: None,
            average: self.average,
            engine_bytes: 0,
            suffix: self.suffix.clone(),
            repeated: self.repeated.clone(),
        };
        for at in (0..stays.len()).filter(|at| !stays[*at] && !self.leaves[*at].is_gone) {
            index.leaves[at].is_gone = true;
            writing.remove(at as u32);
        }
        for (page, tongue) in new.iter().zip(&tongues) {
            index.vocabulary.note(&page.markdown, usize::from(*tongue));
        }
        index.read(&new, &pages, &tongues, &mut writing).ok()?;
        index.finish(writing).ok()?;
        Some(index)
    }

    fn finish(&mut self, writing: Writing) -> Result<(), TantivyError> {
        let (engine, bytes) = writing.finish()?;
        (self.engine, self.engine_bytes) = (Some(engine), bytes);
        self.average = self.average_length();
        Ok(())
    }

    /// Stems of a passage that is found, on average.
    pub(super) fn average_length(&self) -> f32 {
        let (mut total, mut count) = (0, 0usize);
        for (at, entry) in self.entries.iter().enumerate() {
            if !self.leaf(at).is_gone {
                (total, count) = (total + entry.length as usize, count + 1);
            }
        }
        total as f32 / count.max(1) as f32
    }

    /// About how much memory it takes, in bytes, besides the pages.
    pub(super) fn bytes(&self) -> usize {
        let leaf = |leaf: &Leaf| {
            let words = leaf.title.len() + leaf.description.as_ref().map_or(0, String::len);
            size_of::<Leaf>() + words + 4 * (leaf.title_terms.len() + leaf.link_terms.len())
        };
        let section = |section: &Section| {
            let words: usize = section.path.iter().map(|text| text.len() + size_of::<String>()).sum();
            let terms = 4 * (section.heading_terms.len() + section.above_terms.len());
            size_of::<Section>() + words + terms + section.anchor.as_ref().map_or(0, |anchor| anchor.len())
        };
        self.leaves.iter().map(leaf).sum::<usize>()
            + self.sections.iter().map(section).sum::<usize>()
            + self.entries.len() * size_of::<Entry>()
            + self.vocabulary.bytes
            + self.engine_bytes
    }

    /// The pages that are found.
    pub(super) fn live_leaves(&self) -> impl Iterator<Item = &Leaf> {
        self.leaves.iter().filter(|leaf| !leaf.is_gone)
    }

    /// Finds out the languages of the pages; which of them each is in.
    fn speak(&mut self, pages: &[Arc<Page>]) -> Vec<u8> {
        let (languages, all) = spoken(pages);
        self.vocabulary = Vocabulary::new(&all);
        let place = |language: &Language| all.iter().position(|known| known == language).unwrap_or_default() as u8;
        languages.iter().map(place).collect()
    }

    /// Adds these pages, which are some of the site's.
    fn read(
        &mut self,
        pages: &[Arc<Page>],
        site: &[Arc<Page>],
        tongues: &[u8],
        writing: &mut Writing,
    ) -> Result<(), TantivyError> {
        if pages.is_empty() {
            return Ok(());
        }
        let paths: HashSet<&str> = pages.iter().map(|page| page.path.as_str()).collect();
        let links = LinkTexts::of(site.iter().map(|page| (page.path.as_str(), page.markdown.as_str())), &paths);
        for (page, tongue) in pages.iter().zip(tongues) {
            if self.entries.len() >= PASSAGES {
                break;
            }
            self.add_leaf(page, *tongue, links.to(&page.path));
            let repeated = self.repeated.clone();
            let anchors = Anchors::of(page);
            for section in passage::cut(&page.markdown, |block| repeated.has(block)) {
                let heading = section.path.last().cloned().unwrap_or_default();
                let own = section.alike_before.and_then(|before| anchors.nth(&heading, before));
                let anchor = own.or_else(|| links.anchor(&page.path, &heading));
                self.section(page, section, anchor, writing)?;
            }
        }
        Ok(())
    }

    fn add_leaf(&mut self, page: &Arc<Page>, tongue: u8, (links, linked_from): (String, u32)) {
        let title = plain::clean(&page.title);
        let suffix = self.suffix.as_deref();
        let title = suffix.and_then(|suffix| title.strip_suffix(suffix)).unwrap_or(&title);
        let title = plain::shortened(title.trim(), passage::HEADING);
        let title = if title.is_empty() { &page.path } else { title };
        let title_terms = self.terms(headings::unnumbered(title), tongue);
        let link_terms = self.terms(&links, tongue);
        self.vocabulary.count(title_terms.iter().chain(link_terms.iter()).copied().collect::<BTreeSet<u32>>());
        let description = page.description.as_deref().map(|text| plain::shortened(&plain::clean(text), 300).to_owned());
        let leaf = Leaf {
            page: page.clone(),
            title: title.to_owned(),
            description,
            title_terms,
            link_terms,
            linked_from,
            tongue,
            is_gone: false,
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
        let bare = |heading: &String| headings::unnumbered(heading).to_owned();
        let heading_terms = self.terms(&own.first().map(bare).unwrap_or_default(), tongue);
        let above_terms = self.terms(&above.iter().map(bare).collect::<Vec<_>>().join("\n"), tongue);
        let at = self.sections.len() as u32;
        let lead = self.sections.last().is_none_or(|last| last.page != number);
        self.sections.push(Section {
            page: number,
            path: path.into(),
            anchor: anchor.map(Into::into),
            heading_terms,
            above_terms,
        });
        for (nth, part) in parts.into_iter().enumerate() {
            let terms = self.terms(&plain::text(&page.markdown[part.range.clone()]).0, tongue);
            let section = &self.sections[at as usize];
            let present: BTreeSet<u32> = terms.iter().chain(section.heading_terms.iter()).copied().collect();
            self.vocabulary.count(present);
            let leaf = &self.leaves[number as usize];
            let fields =
                [&*leaf.title_terms, &*section.heading_terms, &*section.above_terms, &*terms, &*leaf.link_terms];
            writing.add(self.entries.len(), number, fields)?;
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

    /// The passages that stand under the same heading as this one, in the order of the page.
    pub(super) fn section_of(&self, entry: usize) -> Range<usize> {
        let section = self.entries[entry].section;
        let begin = self.entries[..entry].iter().rev().take_while(|other| other.section == section).count();
        let end = self.entries[entry..].iter().take_while(|other| other.section == section).count();
        entry - begin..entry + end
    }

    /// The other passages of a passage's page, at most so many, the nearest first; of two as near, the later one.
    pub(super) fn around(&self, entry: usize, most: usize) -> Vec<usize> {
        let page = |entry: &usize| self.sections[self.entries[*entry].section as usize].page;
        let is_same = |other: &usize| page(other) == page(&entry);
        let after = (entry + 1..self.entries.len()).take(most).take_while(is_same);
        let mut around: Vec<usize> = after.chain((0..entry).rev().take(most).take_while(is_same)).collect();
        around.sort_by_key(|other| (other.abs_diff(entry), *other < entry));
        around.truncate(most);
        around
    }

    /// The heading of a passage; empty before the first.
    pub(super) fn heading(&self, entry: usize) -> &str {
        self.sections[self.entries[entry].section as usize].path.last().map(String::as_str).unwrap_or_default()
    }

    /// Does a stem stand in a title or a heading?
    pub(super) fn is_headed(&self, number: u32) -> bool {
        self.engine.as_ref().is_some_and(|engine| engine.is_headed(number))
    }

    /// How much a stem says: that of every passage little, that of none the most.
    pub(super) fn rarity(&self, number: Option<u32>) -> f32 {
        let passages = self.entries.len() as f32;
        // Titles and links count too, so that there may be more of them than passages.
        let with = number.map_or(0.0, |number| self.vocabulary.frequency(number) as f32).min(passages);
        (1.0 + (passages - with + 0.5) / (with + 0.5)).ln()
    }
}
