//! The promises of page rewriting, a file each.

mod coded;
mod corpus;
mod ends;
mod limits;
mod marking;
mod parser;

use std::sync::Arc;

use bytes::Bytes;

use super::{Inserter, Insertion, Outcome, Position};

/// Short marks, easy to see in an expectation: `{a}{m}` for the links, `{n}` for the notice, which goes there.
pub(super) fn marks(position: Position) -> Arc<Insertion> {
    let link =
        |rel: &str, html: &'static str| super::Link { rel: rel.to_owned(), html: Bytes::from_static(html.as_bytes()) };
    Arc::new(Insertion {
        notice: Bytes::from_static(b"{n}"),
        position,
        links: vec![link("agent-interface", "{a}"), link("ahp-manifest", "{m}")],
        markdown: false,
        script: Bytes::new(),
        forms: Vec::new(),
    })
}

/// The page as it leaves, fed in these pieces.
pub(super) fn run<'a>(insertion: &Arc<Insertion>, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, Outcome) {
    let mut inserter = Inserter::new(insertion.clone());
    let mut out = Vec::new();
    for piece in pieces {
        out.extend_from_slice(&inserter.feed(Bytes::copy_from_slice(piece)).joined());
    }
    out.extend_from_slice(&inserter.finish());
    (out, inserter.outcome())
}
