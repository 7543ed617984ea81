//! The search library's part: an index in memory, to which pages are added and from which pages are removed.

use tantivy::{
    Index, IndexReader, IndexSettings, Opstamp, ReloadPolicy, Searcher, TantivyError, Term,
    directory::{Directory, RamDirectory},
    doc,
    indexer::{LogMergePolicy, NoMergePolicy},
    schema::{FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions},
};

/// What the library may use to write with, in bytes.
const WRITER: usize = 32_000_000;

/// The fast field that leads from a document to its passage.
pub(super) const NUMBER: &str = "number";
/// The field that leads from a page to its documents.
const PAGE: &str = "page";
const FIELDS: [&str; 5] = ["title", "heading", "above", "body", "links"];
/// Files beside those of the segments.
const META: [&str; 2] = ["meta.json", ".managed.json"];

/// The library's part.
pub(super) struct Engine {
    pub(super) searcher: Searcher,
    /// Title, heading, the headings above, text, and the links to the page.
    pub(super) fields: [Field; 5],
    directory: RamDirectory,
    index: Index,
    /// The state of the directory that `searcher` shows. Another one means that a newer engine has written since.
    opstamp: Opstamp,
}

/// The index while it is written.
pub(super) struct Writing {
    directory: RamDirectory,
    index: Index,
    writer: tantivy::IndexWriter,
    fields: [Field; 5],
    number: Field,
    page: Field,
    spelled: [String; 5],
}

fn schema() -> Schema {
    let indexing =
        TextFieldIndexing::default().set_tokenizer("whitespace").set_index_option(IndexRecordOption::WithFreqs);
    let options = TextOptions::default().set_indexing_options(indexing);
    let mut schema = Schema::builder();
    for name in FIELDS {
        schema.add_text_field(name, options.clone());
    }
    schema.add_u64_field(NUMBER, FAST);
    schema.add_u64_field(PAGE, INDEXED);
    schema.build()
}

fn fields(index: &Index) -> Result<[Field; 5], TantivyError> {
    let schema = index.schema();
    let [title, heading, above, body, links] = FIELDS.map(|name| schema.get_field(name));
    Ok([title?, heading?, above?, body?, links?])
}

impl Writing {
    /// Begins an index without documents.
    pub(super) fn new() -> Result<Self, TantivyError> {
        let directory = RamDirectory::create();
        let index = Index::create(directory.clone(), schema(), IndexSettings::default())?;
        let writing = Self::of(directory, index)?;
        writing.writer.set_merge_policy(Box::new(NoMergePolicy));
        Ok(writing)
    }

    /// Goes on with an index; `None` where a newer one has gone on with it already.
    pub(super) fn on(engine: &Engine) -> Result<Option<Self>, TantivyError> {
        if engine.index.load_metas()?.opstamp != engine.opstamp {
            return Ok(None);
        }
        let writing = Self::of(engine.directory.clone(), engine.index.clone())?;
        writing.writer.set_merge_policy(Box::new(LogMergePolicy::default()));
        Ok(Some(writing))
    }

    fn of(directory: RamDirectory, index: Index) -> Result<Self, TantivyError> {
        let writer = index.writer_with_num_threads(1, WRITER)?;
        let (schema, fields) = (index.schema(), fields(&index)?);
        let (number, page) = (schema.get_field(NUMBER)?, schema.get_field(PAGE)?);
        Ok(Self { directory, index, writer, fields, number, page, spelled: Default::default() })
    }

    /// Adds a passage of a page: the stems of its title, its heading, the headings above, its text and the links to its
    /// page.
    pub(super) fn add(&mut self, at: usize, page: u32, all: [&[u32]; 5]) -> Result<(), TantivyError> {
        for (text, terms) in self.spelled.iter_mut().zip(all) {
            text.clear();
            // A stem goes in by its number: the same stems on both sides, and short ones.
            for term in terms {
                text.push_str(&spelled(*term));
                text.push(' ');
            }
        }
        let ([title, heading, above, body, links], texts) = (self.fields, &self.spelled);
        self.writer.add_document(doc!(
            title => texts[0].as_str(),
            heading => texts[1].as_str(),
            above => texts[2].as_str(),
            body => texts[3].as_str(),
            links => texts[4].as_str(),
            self.number => at as u64,
            self.page => u64::from(page),
        ))?;
        Ok(())
    }

    /// Removes the passages of a page.
    pub(super) fn remove(&mut self, page: u32) {
        self.writer.delete_term(Term::from_field_u64(self.page, u64::from(page)));
    }

    /// The index, and how many bytes it takes.
    pub(super) fn finish(mut self) -> Result<(Engine, usize), TantivyError> {
        self.writer.commit()?;
        self.writer.wait_merging_threads()?;
        Engine::open(self.directory, self.index)
    }
}

impl Engine {
    fn open(directory: RamDirectory, index: Index) -> Result<(Self, usize), TantivyError> {
        let reader: IndexReader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let (fields, opstamp) = (fields(&index)?, index.load_metas()?.opstamp);
        let bytes = directory.total_mem_usage();
        Ok((Self { searcher: reader.searcher(), fields, directory, index, opstamp }, bytes))
    }

    /// Does a stem stand in the title or the heading of a passage?
    pub(super) fn is_headed(&self, number: u32) -> bool {
        let spelled = spelled(number);
        let [title, heading, ..] = self.fields;
        let stands =
            |field| self.searcher.doc_freq(&Term::from_field_text(field, &spelled)).is_ok_and(|count| count > 0);
        stands(title) || stands(heading)
    }

    /// Its files, by name; `None` where a newer index has replaced them.
    pub(super) fn files(&self) -> Option<Vec<(String, Vec<u8>)>> {
        let metas = self.index.load_metas().ok().filter(|metas| metas.opstamp == self.opstamp)?;
        let names = metas.list_segment_files().into_iter().chain(META.map(Into::into));
        let mut files = Vec::new();
        for name in names {
            // A segment lists files that it may have; of those without deletions, say, there is none.
            if self.directory.exists(&name).ok()? {
                files.push((name.to_str()?.to_owned(), self.directory.atomic_read(&name).ok()?));
            }
        }
        Some(files)
    }

    /// The engine of these files, and how many bytes it takes.
    pub(super) fn of_files<'a>(files: impl Iterator<Item = (&'a str, &'a [u8])>) -> Option<(Self, usize)> {
        let directory = RamDirectory::create();
        for (name, bytes) in files {
            directory.atomic_write(name.as_ref(), bytes).ok()?;
        }
        let index = Index::open(directory.clone()).ok().filter(|index| index.schema() == schema())?;
        Self::open(directory, index).ok()
    }
}

/// A stem's number as the library holds it.
pub(super) fn spelled(number: u32) -> String {
    format!("{number:x}")
}
