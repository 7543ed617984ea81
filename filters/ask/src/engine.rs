//! The search library's part: an index in memory, written once and then only read.

use tantivy::{
    IndexReader, IndexSettings, ReloadPolicy, Searcher, TantivyError,
    directory::RamDirectory,
    doc,
    indexer::NoMergePolicy,
    schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions},
};

/// What the library may use to write with, in bytes.
const WRITER: usize = 32_000_000;

/// The fast field that leads from a document to its passage.
pub(super) const NUMBER: &str = "number";

/// The library's part.
pub(super) struct Engine {
    pub(super) searcher: Searcher,
    pub(super) title: Field,
    pub(super) heading: Field,
    pub(super) above: Field,
    pub(super) body: Field,
    pub(super) links: Field,
}

/// The index while it is written.
pub(super) struct Writing {
    directory: RamDirectory,
    index: tantivy::Index,
    writer: tantivy::IndexWriter,
    fields: [Field; 5],
    number: Field,
    spelled: [String; 5],
}

impl Writing {
    pub(super) fn new() -> Result<Self, TantivyError> {
        let indexing =
            TextFieldIndexing::default().set_tokenizer("whitespace").set_index_option(IndexRecordOption::WithFreqs);
        let options = TextOptions::default().set_indexing_options(indexing);
        let mut schema = Schema::builder();
        let fields =
            ["title", "heading", "above", "body", "links"].map(|name| schema.add_text_field(name, options.clone()));
        let number = schema.add_u64_field(NUMBER, FAST);
        let directory = RamDirectory::create();
        let index = tantivy::Index::create(directory.clone(), schema.build(), IndexSettings::default())?;
        let writer = index.writer_with_num_threads(1, WRITER)?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        Ok(Self { directory, index, writer, fields, number, spelled: Default::default() })
    }

    /// Adds a passage: the stems of its title, its heading, the headings above, its text and the links to its page.
    pub(super) fn add(&mut self, at: usize, all: [&[u32]; 5]) -> Result<(), TantivyError> {
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
        ))?;
        Ok(())
    }

    /// The index, and how many bytes it takes.
    pub(super) fn finish(mut self) -> Result<(Engine, usize), TantivyError> {
        self.writer.commit()?;
        self.writer.wait_merging_threads()?;
        let reader: IndexReader = self.index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let [title, heading, above, body, links] = self.fields;
        let engine = Engine { searcher: reader.searcher(), title, heading, above, body, links };
        Ok((engine, self.directory.total_mem_usage()))
    }
}

/// A stem's number as the library holds it.
pub(super) fn spelled(number: u32) -> String {
    format!("{number:x}")
}
