//! How near a passage comes to a question in other words: "erase a partition" and "delete a volume".
//!
//! Part of the binary is a table of the stems of English words, each with a vector. The sum of the vectors of a text points
//! roughly where a sentence-embedding model would point for the whole text (docs/decisions/0064-related-words.md says how
//! `related_words/make` computes them). Summing takes no model, no background task and no memory per passage.

use tantivy::tokenizer::Language;

use super::{
    speaker::Speaker,
    tokens::{self, Piece},
};

/// Count and dimensions (u32 each), where each stem ends in the stems' bytes (u32 each), the stems in order, the scale of
/// each vector (f32), the vectors (i8). Numbers are little-endian.
static TABLE: &[u8] = include_bytes!("../related_words/english.bin");
/// Numbers of a vector.
const SIZE: usize = 64;
/// The language of the table.
pub(super) const LANGUAGE: Language = Language::English;
/// The row of a stem that has no vector.
pub(super) const NONE: u32 = u32::MAX;

type Vector = [f32; SIZE];

/// Where the parts of the table begin.
struct Table {
    count: usize,
    stems: usize,
    scales: usize,
    vectors: usize,
}

const fn number(at: usize) -> u32 {
    u32::from_le_bytes([TABLE[at], TABLE[at + 1], TABLE[at + 2], TABLE[at + 3]])
}

impl Table {
    const HEAD: usize = 8;
    const HERE: Self = Self::new();

    const fn new() -> Self {
        let count = number(0) as usize;
        assert!(number(4) as usize == SIZE, "related_words/english.bin has vectors of another size");
        let stems = Self::HEAD + 4 * count;
        let scales = stems + number(stems - 4) as usize;
        let vectors = scales + 4 * count;
        assert!(TABLE.len() == vectors + SIZE * count, "related_words/english.bin is not whole");
        Self { count, stems, scales, vectors }
    }

    fn stem(&self, row: usize) -> &'static [u8] {
        let end = |row: usize| self.stems + number(Self::HEAD + 4 * row) as usize;
        let begin = if row == 0 { self.stems } else { end(row - 1) };
        &TABLE[begin..end(row)]
    }
}

/// The row of a stem, or [`NONE`].
pub(super) fn row(stem: &str) -> u32 {
    let table = Table::HERE;
    let (mut low, mut high) = (0, table.count);
    while low < high {
        let middle = usize::midpoint(low, high);
        match table.stem(middle).cmp(stem.as_bytes()) {
            std::cmp::Ordering::Equal => return middle as u32,
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    NONE
}

/// Adds the vector of a row.
fn add(sum: &mut Vector, row: u32, weight: f32) {
    if row == NONE {
        return;
    }
    let (table, row) = (Table::HERE, row as usize);
    let scale = weight * f32::from_bits(number(table.scales + 4 * row));
    let vector = &TABLE[table.vectors + SIZE * row..][..SIZE];
    for (sum, part) in sum.iter_mut().zip(vector) {
        *sum += scale * f32::from(part.cast_signed());
    }
}

fn length(vector: &Vector) -> f32 {
    vector.iter().map(|part| part * part).sum::<f32>().sqrt()
}

/// What a question says, as a vector of length 1.
pub(super) struct Sense(Vector);

impl Sense {
    /// The sum of the word vectors of weighted texts in the table's language, normalised. `None` if no word has a vector.
    pub(super) fn of<'t>(texts: impl Iterator<Item = (&'t str, f32)>, speaker: &mut Speaker) -> Option<Self> {
        let mut sum = [0.0; SIZE];
        for (text, weight) in texts {
            tokens::cut(text, |piece, _| {
                if let Piece::Word(word) = piece {
                    add(&mut sum, row(&speaker.stem(&word.to_lowercase())), weight);
                }
            });
        }
        let length = length(&sum);
        (length > 0.0).then(|| Self(sum.map(|part| part / length)))
    }

    /// How near a text comes, by the rows of its stems, as a cosine: from -1 to 1; `None` where no stem has a vector.
    pub(super) fn nearness(&self, rows: impl Iterator<Item = u32>) -> Option<f32> {
        let mut sum = [0.0; SIZE];
        for row in rows {
            add(&mut sum, row, 1.0);
        }
        let length = length(&sum);
        (length > 0.0).then(|| self.0.iter().zip(sum).map(|(a, b)| a * b).sum::<f32>() / length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearness(question: &str, text: &str) -> Option<f32> {
        let mut speaker = Speaker::new(LANGUAGE);
        let rows: Vec<u32> = text.split(' ').map(|word| row(&speaker.stem(&word.to_lowercase()))).collect();
        Sense::of([(question, 1.0)].into_iter(), &mut speaker).unwrap().nearness(rows.into_iter())
    }

    #[test]
    fn other_words_for_the_same_are_nearer_than_words_for_something_else() {
        for (question, same, other) in [
            ("How do I erase a partition?", "Deleting a volume from the disk", "Printing a page in colour"),
            ("What does it cost?", "Price of a ticket", "Opening times"),
            ("Why is the screen black?", "The display shows nothing", "Sending mail to a list"),
            ("Can I give my money back?", "Refund of a payment", "Install the package"),
        ] {
            let (near, far) = (nearness(question, same).unwrap(), nearness(question, other).unwrap());
            assert!(near > far + 0.1, "{question}: {near} {far}");
        }
    }

    #[test]
    fn every_stem_of_the_table_has_its_row() {
        let table = Table::HERE;
        assert!(table.count > 20_000);
        for at in (0..table.count).step_by(97).chain([0, table.count - 1]) {
            assert_eq!(row(std::str::from_utf8(table.stem(at)).unwrap()), at as u32);
        }
        for absent in ["", "zzzzzz", "=--amend", "ä"] {
            assert_eq!(row(absent), NONE);
        }
    }

    #[test]
    fn a_text_without_known_words_is_near_nothing() {
        assert_eq!(nearness("delete", "qqqq 1234"), None);
        assert!(Sense::of([("qqqq 1234", 1.0)].into_iter(), &mut Speaker::new(LANGUAGE)).is_none());
    }
}
