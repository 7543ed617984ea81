//! A library as bytes, so that a restart answers at once: everything but the pages themselves, which the crawler keeps.
//!
//! A page is known again by what it says. What was saved of a page that is gone or says something else now is dropped with
//! the next update. Bytes that do not fit are no library, and one is built from the pages.

use std::{collections::HashMap, hash::BuildHasher, sync::Arc};

use foldhash::fast::FixedState;
use frontdesk_page::content::Page;
use tantivy::tokenizer::Language;

use super::{
    Library, SiteFacts,
    boilerplate::Repeated,
    bytes::{Reading, Writing},
    engine::Engine,
    index::{Entry, Index, Leaf, Section},
    languages,
    passage::Form,
    vocabulary::Vocabulary,
};

/// What the bytes begin with. Another form of the index, or another way to cut pages, gets another number.
const MARK: &str = "frontdesk index 4";
const FORMS: [Form; 6] = [Form::Prose, Form::List, Form::Table, Form::Code, Form::Answer, Form::WithinCode];

impl Library {
    /// What [`Self::restored`] reads. `None` where a newer library has gone on with the index of this one, or where there
    /// is nothing to save.
    pub fn saved(&self) -> Option<Vec<u8>> {
        self.index.saved()
    }

    /// The library of these pages, with what was saved of them. `None` where the bytes are damaged or of another version.
    pub fn restored(facts: &SiteFacts, pages: &[Arc<Page>], saved: &[u8]) -> Option<Self> {
        frontdesk_base::tokens::warm(|| {});
        let index = Index::restored(pages, saved)?;
        let library = Self::of_index(facts, pages, index);
        Some(library.renewed(facts, pages))
    }
}

impl Index {
    fn saved(&self) -> Option<Vec<u8>> {
        let files = self.engine.as_ref()?.files()?;
        let mut out = Writing::default();
        out.text(MARK);
        let tags: Vec<&str> = self.vocabulary.tongues.iter().map(|tongue| languages::tag(tongue.language)).collect();
        out.number(tags.len());
        tags.iter().for_each(|tag| out.text(tag));
        self.vocabulary.save(&mut out);
        out.number(self.repeated.blocks.len());
        self.repeated.blocks.iter().for_each(|hash| out.fixed(*hash));
        out.maybe(self.suffix.as_deref());
        out.number(self.leaves.len());
        for leaf in &self.leaves {
            out.text(&leaf.page.path);
            out.fixed(if leaf.is_gone { 0 } else { mark_of(&leaf.page) });
            out.text(&leaf.title);
            out.maybe(leaf.description.as_deref());
            out.numbers(&leaf.title_terms);
            out.numbers(&leaf.link_terms);
            out.number(leaf.linked_from as usize);
            out.number(usize::from(leaf.tongue));
        }
        out.number(self.sections.len());
        for section in &self.sections {
            out.number(section.page as usize);
            out.number(section.path.len());
            section.path.iter().for_each(|text| out.text(text));
            out.maybe(section.anchor.as_deref());
            out.numbers(&section.heading_terms);
            out.numbers(&section.above_terms);
        }
        out.number(self.entries.len());
        for entry in &self.entries {
            let form = FORMS.iter().position(|form| *form == entry.form).unwrap_or_default();
            let numbers = [entry.section, entry.begin, entry.end - entry.begin, entry.length];
            numbers.iter().for_each(|number| out.number(*number as usize));
            out.number(form * 2 + usize::from(entry.lead));
        }
        out.number(files.len());
        for (name, bytes) in &files {
            out.text(name);
            out.bytes(bytes);
        }
        Some(out.finish())
    }

    fn restored(pages: &[Arc<Page>], saved: &[u8]) -> Option<Self> {
        let mut from = Reading::of(saved)?;
        if from.text()? != MARK {
            return None;
        }
        let languages: Vec<Language> =
            (0..from.number()?).map(|_| languages::of_tag(from.text()?)).collect::<Option<_>>()?;
        let vocabulary = Vocabulary::restored(&languages, &mut from)?;
        let blocks = (0..from.number()?).map(|_| from.fixed()).collect::<Option<_>>()?;
        let suffix = from.maybe()?.map(str::to_owned);
        let here: HashMap<&str, &Arc<Page>> = pages.iter().map(|page| (page.path.as_str(), page)).collect();
        let leaf = |from: &mut Reading<'_>| {
            let (path, mark) = (from.text()?, from.fixed()?);
            let page = here.get(path).filter(|page| mark_of(page) == mark);
            Some(Leaf {
                is_gone: mark == 0,
                page: page.map_or_else(|| Arc::new(unknown(path)), |page| (*page).clone()),
                title: from.text()?.to_owned(),
                description: from.maybe()?.map(str::to_owned),
                title_terms: from.numbers()?,
                link_terms: from.numbers()?,
                linked_from: from.number32()?,
                tongue: u8::try_from(from.number()?).ok().filter(|at| usize::from(*at) < languages.len())?,
            })
        };
        let leaves = (0..from.number()?).map(|_| leaf(&mut from)).collect::<Option<Vec<_>>>()?;
        let section = |from: &mut Reading<'_>| {
            let page = from.number32().filter(|page| (*page as usize) < leaves.len())?;
            let path = (0..from.number()?).map(|_| Some(from.text()?.to_owned())).collect::<Option<Vec<_>>>()?;
            let anchor = from.maybe()?.map(Into::into);
            let (heading_terms, above_terms) = (from.numbers()?, from.numbers()?);
            Some(Section { page, path: path.into(), anchor, heading_terms, above_terms })
        };
        let sections = (0..from.number()?).map(|_| section(&mut from)).collect::<Option<Vec<_>>>()?;
        let entry = |from: &mut Reading<'_>| {
            let section = from.number32().filter(|section| (*section as usize) < sections.len())?;
            let (begin, size, length) = (from.number32()?, from.number32()?, from.number32()?);
            let (form, end) = (from.number()?, begin.checked_add(size)?);
            Some(Entry { section, begin, end, length, form: *FORMS.get(form / 2)?, lead: form % 2 == 1 })
        };
        let entries = (0..from.number()?).map(|_| entry(&mut from)).collect::<Option<Vec<_>>>()?;
        let files = (0..from.number()?).map(|_| Some((from.text()?, from.bytes()?))).collect::<Option<Vec<_>>>()?;
        let (engine, engine_bytes) = Engine::of_files(files.into_iter())?;
        let mut index = Self {
            leaves,
            sections,
            entries,
            vocabulary,
            engine: Some(engine),
            average: 0.0,
            engine_bytes,
            suffix,
            repeated: Arc::new(Repeated::of_hashes(blocks)),
        };
        index.average = index.average_length();
        Some(index)
    }
}

/// A page that is not there any more.
fn unknown(path: &str) -> Page {
    Page {
        path: path.to_owned(),
        title: String::new(),
        description: None,
        language: None,
        markdown: String::new(),
        links: Vec::new(),
        canonical: None,
        noindex: true,
        nofollow: false,
        alternate_markdown: None,
        modified: None,
        anchors: Vec::new(),
    }
}

/// What a page says, as a number other than 0.
fn mark_of(page: &Page) -> u64 {
    let said = (&page.title, &page.description, &page.language, &page.markdown, &page.anchors);
    FixedState::default().hash_one(said).max(1)
}
