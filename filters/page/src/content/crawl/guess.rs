//! Kinds of addresses that only a page links to.

/// What an address is taken for that only a page links to. Each kind is tried at one address first.
///
/// In the order in which they are tried: the ending says most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Guess {
    /// A file with the ending of a document.
    Document,
    /// A page of the same book.
    Book,
    /// A page whose address has the shape of the one by which the page before it is known.
    Shape,
    /// A folder, or a file without an ending.
    Folder,
}

impl Guess {
    /// The number of kinds.
    pub(super) const KINDS: usize = 4;
}
