//! Kinds of addresses that only a page links to.

/// What an address is taken for that only a page links to. Each kind is tried at one address first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guess {
    /// A file with the ending of a document.
    Document,
    /// A folder, or a file without an ending.
    Folder,
    /// A page whose address has the shape of the one by which the page before it is known.
    Shape,
    /// A page of the same book.
    Book,
}

impl Guess {
    /// The number of kinds.
    pub(super) const KINDS: usize = 4;
}
