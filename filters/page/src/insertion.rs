//! What goes into pages, and what became of one.

use bytes::Bytes;

use super::form_marks::FormMark;

/// A `<link>` element to be inserted, unless the head has one of that relation.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The relation, one word.
    pub rel: String,
    /// The whole element.
    pub html: Bytes,
}

/// Where in the body the notice goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Position {
    /// Before everything else in it.
    Start,
    /// After everything else in it. Frameworks that take over the whole page in the browser throw it away when an
    /// element that they do not know stands before their own first one; behind their last one they let it stand.
    #[default]
    End,
}

/// What is inserted: prepared once, shared by all pages.
#[derive(Clone, Debug, PartialEq)]
pub struct Insertion {
    /// The notice, one element that may be the first or the last in a body.
    pub notice: Bytes,
    /// Where it goes.
    pub position: Position,
    /// The links, in the order in which they are inserted.
    pub links: Vec<Link>,
    /// A page is told where its Markdown is too, by an element of its own ([`super::Inserter::of_page`]).
    pub markdown: bool,
    /// An element that loads a script, for pages whose policy allows it; empty where there is none.
    pub script: Bytes,
    /// Forms of the site to mark, on the pages that have them.
    pub forms: Vec<FormMark>,
}

/// What became of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Not decided yet.
    Pending,
    /// The notice is in, and the links that the page did not have.
    Inserted,
    /// The page has a notice of its own; only the links it did not have are in.
    OwnNotice,
    /// A frameset has no body: only the links are in.
    Frameset,
    /// A piece of a page, passed as it is.
    Fragment,
    /// Passed as it is from some point on (links may be in already).
    GaveUp(Why),
}

/// Why a page was passed as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// No body within [`super::SCAN_MAX_BYTES`].
    Limit,
    /// A tag longer than [`super::MARKUP_MAX_BYTES`].
    HugeMarkup,
    /// UTF-16 or UTF-32 by its byte order mark, or a `<meta>` that names an ISO-2022 encoding.
    WideEncoding,
    /// The page ends within a tag, a comment, a script or the like.
    Unfinished,
    /// Only a whole parser could tell where the body opens.
    Doubt,
    /// The body is not in the coding that it was declared to be in.
    NotAsDeclared,
}
