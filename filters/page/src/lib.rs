//! What happens to a page on its way out: the links go in at the end of the head, the notice at the end of the body, and
//! all of it streams through. And what a page says, read as Markdown ([`content`]), and how a site is read page by page
//! ([`content::crawl`]).
//!
//! A crate of its own, because it is the largest piece of work on bytes that others wrote, and can be tested and fuzzed
//! by itself. It knows no configuration, no caller and no capability, and opens no socket: it gets bytes, headers and
//! what is to be inserted, and gives bytes.

#![forbid(unsafe_code)]

mod coding;
pub mod content;
mod content_coding;
pub mod csp;
mod decode;
mod encode;
mod form_marks;
pub mod front_matter;
mod head;
mod insert;
mod insertion;
pub mod markdown_path;
mod names;
mod notice;
mod open_elements;
mod parts;
mod raw;
pub mod robots;
mod scan;
pub mod signals;
mod skim;
mod tag;
mod tag_filter;
mod tail;
mod template;
pub mod validators;
pub mod whole;

use std::{fmt, sync::Arc};

use bytes::Bytes;

pub use frontdesk_base::page_type as kind;

pub use coding::{Broken, BrokenWhy, Recoder};
pub use content_coding::Coding;
pub use form_marks::{FormMark, FormMarker};
pub use insert::{Inserter, REST_MAX_BYTES, SCAN_MAX_BYTES};
pub use insertion::{Insertion, Link, Outcome, Position, Why};
pub use parts::Parts;
pub use scan::{FIRST_MAX_BYTES, MARKUP_MAX_BYTES};

/// One page being rewritten, in whatever coding it comes.
#[derive(Debug)]
pub enum Rewriter {
    /// Not compressed.
    Plain(Box<Inserter>),
    /// Decoded on the way in, encoded on the way out.
    Coded(Box<Recoder>),
}

impl Rewriter {
    /// For one page.
    pub fn new(coding: Coding, insertion: Arc<Insertion>) -> Rewriter {
        match coding {
            Coding::Identity => Rewriter::Plain(Box::new(Inserter::new(insertion))),
            _ => Rewriter::Coded(Box::new(Recoder::new(coding, insertion))),
        }
    }

    /// The same, with an element for this page alone.
    pub fn of_page(self, element: Bytes) -> Rewriter {
        match self {
            Rewriter::Plain(inserter) => Rewriter::Plain(Box::new(inserter.of_page(element))),
            Rewriter::Coded(recoder) => Rewriter::Coded(Box::new(recoder.of_page(element))),
        }
    }

    /// The same, with the site's own forms marked on the way.
    pub fn marking(self, forms: FormMarker) -> Rewriter {
        match self {
            Rewriter::Plain(inserter) => Rewriter::Plain(Box::new(inserter.marking(forms))),
            Rewriter::Coded(recoder) => Rewriter::Coded(Box::new(recoder.marking(forms))),
        }
    }

    /// The whole body in, the whole of what leaves out, where that is quicker. `None`: it is to be fed.
    pub fn at_once(&mut self, body: &[u8]) -> Option<Result<Bytes, Broken>> {
        match self {
            Rewriter::Plain(_) => None,
            Rewriter::Coded(recoder) => recoder.at_once(body),
        }
    }

    /// The next piece of the body in, what may leave now out. Only a compressed page can be [`Broken`].
    pub fn feed(&mut self, chunk: Bytes) -> Result<Parts, Broken> {
        match self {
            Rewriter::Plain(inserter) => Ok(inserter.feed(chunk)),
            Rewriter::Coded(recoder) => recoder.feed(chunk).map(Parts::from),
        }
    }

    /// The body has ended: the rest.
    pub fn finish(&mut self) -> Result<Bytes, Broken> {
        match self {
            Rewriter::Plain(inserter) => Ok(inserter.finish()),
            Rewriter::Coded(recoder) => recoder.finish(),
        }
    }

    /// What became of the page so far.
    pub fn outcome(&self) -> Outcome {
        match self {
            Rewriter::Plain(inserter) => inserter.outcome(),
            Rewriter::Coded(recoder) => recoder.outcome(),
        }
    }
}

impl fmt::Debug for Recoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recoder").field("outcome", &self.outcome()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
