//! Passages found by what they mean: vectors that a model makes of passages and questions, compared by their angle.
//!
//! The model is the operator's and works elsewhere; here are its vectors, one a text, and how they are searched. They are
//! brought together with the search for words: how near a meaning is adds to how well the words fit. A vector belongs to a
//! text and not to a page: what is moved is not computed again.

use std::{
    collections::{HashMap, HashSet},
    future::Future,
    hash::BuildHasher,
    pin::Pin,
    sync::{Arc, PoisonError, RwLock},
};

use foldhash::fast::{FixedState, RandomState};

use super::{
    Library,
    bytes::{Reading, Writing},
    headings,
    index::Index,
    plain,
};

/// What an implementation gives back later.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A model that makes vectors of texts. Implemented where input and output are allowed.
pub trait Embeddings: Send + Sync {
    /// Tells its vectors from those of another model.
    fn name(&self) -> &str;

    /// The vectors of passages, in their order.
    fn passages<'a>(&'a self, texts: &'a [String]) -> Later<'a, Result<Vec<Vec<f32>>, String>>;

    /// The vector of a question.
    fn question<'a>(&'a self, text: &'a str) -> Later<'a, Result<Vec<f32>, String>>;
}

/// Passages that a question finds by meaning.
const FOUND: usize = 96;
/// So many passages of ten need a vector before a meaning is searched for.
const ENOUGH: usize = 9;
/// The longest text that a vector is made of, in bytes; models read about 256 tokens.
const TEXT: usize = 1_600;
/// The largest vector that is kept.
const SIZE: usize = 4_096;
/// Questions that hardly any site answers: how near they come to its passages says what "near" means with a model.
const ELSEWHERE: [&str; 9] = [
    "How deep is the Mariana Trench?",
    "Who painted the ceiling of the Sistine Chapel?",
    "How long do I have to boil an egg?",
    "Which team won the ice hockey final last night?",
    "What are the symptoms of hay fever?",
    "When do tulips have to be planted?",
    "How do I tune a violin?",
    "Which vaccines does a puppy need?",
    "What is the capital of Mongolia?",
];

/// Vectors by the texts that they are of. Shared by the libraries of a site, and grows while it is used.
pub struct Vectors {
    /// The model that made them.
    name: String,
    table: RwLock<Table>,
}

#[derive(Default)]
struct Table {
    /// Numbers of a vector.
    size: usize,
    rows: HashMap<u64, u32, RandomState>,
    marks: Vec<u64>,
    /// One after the other, in whole numbers up to 127, and the length of each.
    data: Vec<i8>,
    lengths: Vec<f32>,
    /// Of the questions that nothing here answers.
    elsewhere: Vec<Vec<i8>>,
    /// How near those come to the passages, as a cosine.
    far: f32,
}

/// A library's passages among the vectors.
pub(super) struct Meaning {
    pub(super) vectors: Arc<Vectors>,
    entries: HashMap<u64, u32, RandomState>,
}

/// A passage near a question.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    pub(super) entry: usize,
    /// How near, from 0 (as a question that has nothing to do with the site) to 1 (the same).
    pub(super) nearness: f32,
}

impl Vectors {
    /// None so far, of this model.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), table: RwLock::default() }
    }

    /// The model that made them.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.read(|table| table.marks.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// About how much memory they take, in bytes.
    pub fn bytes(&self) -> usize {
        self.read(|table| table.data.len() + 32 * table.marks.len())
    }

    fn read<T>(&self, with: impl FnOnce(&Table) -> T) -> T {
        with(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds the vectors of these texts, and says how many were of another size than those before and are left out. A vector
    /// of no direction stands for a text that is near nothing, so that it is not asked for again.
    pub fn add(&self, texts: &[String], vectors: &[Vec<f32>]) -> usize {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let mut left_out = 0;
        for (text, vector) in texts.iter().zip(vectors) {
            let fitted = table.fitted(vector);
            let nowhere = || (table.size > 0 && vector.len() == table.size).then(|| vec![0; table.size]);
            match fitted.or_else(nowhere) {
                Some(vector) => table.put(mark_of(text), &vector),
                None => left_out += 1,
            }
        }
        left_out
    }

    /// Which questions are asked to learn what "near" means, if that is not known.
    pub fn wanted(&self) -> Option<Vec<String>> {
        let is_known = self.read(|table| !table.elsewhere.is_empty());
        (!is_known).then(|| ELSEWHERE.map(str::to_owned).to_vec())
    }

    /// Takes the vectors of those questions.
    pub fn learn(&self, vectors: &[Vec<f32>]) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        table.elsewhere = vectors.iter().filter_map(|vector| table.fitted(vector)).collect();
    }

    /// Measures how near a question comes that has nothing to do with the passages. To be called when vectors were added.
    pub fn measure(&self) {
        let mut nearest = self.read(|table| {
            let nearest = |vector: &Vec<i8>| table.cosines(vector).fold(0.0, f32::max);
            table.elsewhere.iter().map(nearest).collect::<Vec<f32>>()
        });
        nearest.sort_unstable_by(f32::total_cmp);
        // Of a few questions one may be answered after all.
        let far = nearest.get(nearest.len() / 2).copied().unwrap_or_default();
        self.table.write().unwrap_or_else(PoisonError::into_inner).far = far;
    }

    /// Forgets what is no passage of this library.
    pub fn keep_only(&self, library: &Library) {
        let wanted: HashSet<u64> = texts(&library.index).map(|(_, text)| mark_of(&text)).collect();
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        if table.marks.iter().all(|mark| wanted.contains(mark)) {
            return;
        }
        let old = std::mem::take(&mut *table);
        (table.size, table.elsewhere, table.far) = (old.size, old.elsewhere, old.far);
        for (mark, vector) in old.marks.iter().zip(old.data.chunks(old.size.max(1))) {
            if wanted.contains(mark) {
                table.put(*mark, vector);
            }
        }
    }

    /// What [`Self::restored`] reads.
    pub fn saved(&self) -> Vec<u8> {
        self.read(|table| {
            let mut out = Writing::default();
            out.text(&self.name);
            out.number(table.size);
            out.fixed(u64::from(table.far.to_bits()));
            out.number(table.elsewhere.len());
            table.elsewhere.iter().for_each(|vector| out.bytes(&unsigned(vector)));
            out.number(table.marks.len());
            table.marks.iter().for_each(|mark| out.fixed(*mark));
            out.bytes(&unsigned(&table.data));
            out.finish()
        })
    }

    /// The vectors that were saved, if they are this model's.
    pub fn restored(name: &str, saved: &[u8]) -> Option<Self> {
        let mut from = Reading::of(saved)?;
        if from.text()? != name {
            return None;
        }
        let (size, far) = (from.number().filter(|size| *size <= SIZE)?, f32::from_bits(from.fixed()? as u32));
        let mut table = Table { size, far: if far.is_finite() { far } else { 0.0 }, ..Table::default() };
        for _ in 0..from.number()? {
            table.elsewhere.push(signed(from.bytes()?));
        }
        let marks = (0..from.number()?).map(|_| from.fixed()).collect::<Option<Vec<u64>>>()?;
        let data = signed(from.bytes()?);
        if data.len() != marks.len() * table.size || table.elsewhere.iter().any(|vector| vector.len() != table.size) {
            return None;
        }
        for (mark, vector) in marks.iter().zip(data.chunks(table.size.max(1))) {
            table.put(*mark, vector);
        }
        Some(Self { name: name.to_owned(), table: RwLock::new(table) })
    }
}

impl Table {
    /// A vector of length 127 in whole numbers.
    fn fitted(&mut self, vector: &[f32]) -> Option<Vec<i8>> {
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        let fits = (1..=SIZE).contains(&vector.len()) && (self.size == 0 || self.size == vector.len());
        if !fits || !length.is_finite() || length <= f32::MIN_POSITIVE {
            return None;
        }
        self.size = vector.len();
        // Whole numbers of a unit vector are small: the largest of them is made to fill the byte.
        let most = vector.iter().fold(0.0f32, |most, number| most.max(number.abs()));
        Some(vector.iter().map(|number| (number / most * 127.0).round() as i8).collect())
    }

    fn put(&mut self, mark: u64, vector: &[i8]) {
        match self.rows.get(&mark) {
            Some(row) => {
                self.data[*row as usize * self.size..][..self.size].copy_from_slice(vector);
                self.lengths[*row as usize] = length(vector);
            }
            None => {
                self.rows.insert(mark, self.marks.len() as u32);
                self.marks.push(mark);
                self.data.extend_from_slice(vector);
                self.lengths.push(length(vector));
            }
        }
    }

    /// The cosines of the angles between a vector and all of these.
    fn cosines(&self, vector: &[i8]) -> impl Iterator<Item = f32> {
        let own = length(vector);
        self.data
            .chunks(self.size.max(1))
            .zip(&self.lengths)
            .map(move |(row, length)| dot(vector, row) as f32 / (own * length))
    }
}

fn dot(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(x, y)| i32::from(*x) * i32::from(*y)).sum()
}

fn length(vector: &[i8]) -> f32 {
    (dot(vector, vector) as f32).sqrt().max(1.0)
}

fn unsigned(numbers: &[i8]) -> Vec<u8> {
    numbers.iter().map(|number| number.cast_unsigned()).collect()
}

fn signed(bytes: &[u8]) -> Vec<i8> {
    bytes.iter().map(|byte| byte.cast_signed()).collect()
}

fn mark_of(text: &str) -> u64 {
    FixedState::default().hash_one(text)
}

/// The text that a passage's vector is made of: where it stands, and what it says.
fn text_of(index: &Index, entry: usize) -> String {
    let section = &index.sections[index.entries[entry].section as usize];
    let title = index.leaf(entry).title.as_str();
    let mut text = headings::unnumbered(title).to_owned();
    for heading in section.path.iter().filter(|heading| heading.as_str() != title) {
        text.push_str(" › ");
        text.push_str(headings::unnumbered(heading));
    }
    text.push('\n');
    text.push_str(&plain::text(index.markdown(entry)).0);
    text.truncate(text.floor_char_boundary(TEXT));
    text
}

/// The passages that are found, with their texts.
fn texts(index: &Index) -> impl Iterator<Item = (usize, String)> {
    let live = (0..index.entries.len()).filter(|entry| !index.leaf(*entry).is_gone);
    live.map(|entry| (entry, text_of(index, entry)))
}

impl Library {
    /// The same library, searched by these vectors too.
    pub fn with_vectors(mut self, vectors: Arc<Vectors>) -> Self {
        let entries = texts(&self.index).map(|(entry, text)| (mark_of(&text), entry as u32)).collect();
        self.meaning = Some(Meaning { vectors, entries });
        self
    }

    /// The texts of passages that have no vector so far, at most so many.
    pub fn without_vector(&self, most: usize) -> Vec<String> {
        let mut missing = self.lacking_vectors();
        missing.sort_unstable();
        missing.into_iter().take(most).map(|entry| text_of(&self.index, entry as usize)).collect()
    }

    /// How many passages with different texts have no vector so far; 0 where there is no model.
    pub fn count_without_vector(&self) -> usize {
        self.lacking_vectors().len()
    }

    fn lacking_vectors(&self) -> Vec<u32> {
        let Some(meaning) = &self.meaning else { return Vec::new() };
        meaning.vectors.read(|table| {
            let missing = meaning.entries.iter().filter(|(mark, _)| !table.rows.contains_key(mark));
            missing.map(|(_, entry)| *entry).collect()
        })
    }

    /// The vectors that it is searched by.
    pub fn vectors(&self) -> Option<&Arc<Vectors>> {
        self.meaning.as_ref().map(|meaning| &meaning.vectors)
    }

    /// The passages nearest to a question's vector, the nearest first.
    pub(super) fn near(&self, vector: &[f32]) -> Vec<Near> {
        let Some(meaning) = &self.meaning else { return Vec::new() };
        meaning.vectors.read(|table| {
            let mut fit = Table { size: table.size, ..Table::default() };
            let Some(vector) = fit.fitted(vector).filter(|_| table.size > 0) else { return Vec::new() };
            let here = |(cosine, mark)| Some((cosine, *meaning.entries.get(mark)?));
            let mut found: Vec<(f32, u32)> = table.cosines(&vector).zip(&table.marks).filter_map(here).collect();
            // Few passages with a vector would take the place of better ones that have none so far.
            if found.len() * 10 < meaning.entries.len() * ENOUGH {
                return Vec::new();
            }
            found.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            found.truncate(FOUND);
            let nearness = |cosine: f32| ((cosine - table.far) / (1.0 - table.far).max(0.01)).clamp(0.0, 1.0);
            found
                .into_iter()
                .map(|(cosine, entry)| Near { entry: entry as usize, nearness: nearness(cosine) })
                .collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(all: &[&str]) -> Vec<String> {
        all.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn vectors_are_kept_by_what_they_are_of() {
        let vectors = Vectors::new("m");
        vectors.add(&texts(&["a", "b"]), &[vec![1.0, 0.0], vec![0.0, -0.5]]);
        // Another size is left out; what has no direction is near nothing.
        assert_eq!(vectors.add(&texts(&["c", "d", "e"]), &[vec![1.0], vec![0.0, 0.0], vec![f32::NAN, 1.0]]), 1);
        assert_eq!(vectors.add(&texts(&["a"]), &[vec![0.6, 0.8]]), 0);
        assert_eq!(vectors.len(), 4);
        let near: Vec<f32> = vectors.read(|table| table.cosines(&[127, 0]).collect());
        assert!((near[0] - 0.6).abs() < 0.01 && near[1].abs() < 0.01, "{near:?}");
    }

    #[test]
    fn what_was_saved_is_read_by_the_same_model_alone() {
        let vectors = Vectors::new("m");
        vectors.add(&texts(&["a", "b"]), &[vec![1.0, 0.0], vec![0.0, 1.0]]);
        vectors.learn(&[vec![0.8, 0.6], vec![0.6, 0.8], vec![1.0, 0.1]]);
        vectors.measure();
        let saved = vectors.saved();
        let restored = Vectors::restored("m", &saved).expect("vectors");
        assert_eq!(restored.saved(), saved);
        assert!(restored.wanted().is_none() && Vectors::new("m").wanted().is_some());
        let far = restored.read(|table| table.far);
        assert!((far - 0.8).abs() < 0.02, "{far}");
        assert!(Vectors::restored("other", &saved).is_none() && Vectors::restored("m", &saved[1..]).is_none());
    }
}
