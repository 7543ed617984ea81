//! The fuzzer's list for header fields, on its corpus. Here, because the reader of `Link` is this module's own.

use crate::{
    accept,
    caller::forwarded,
    corpus::{dice, holds},
    inspect::links,
};

#[path = "../../../../tests/fuzz/invariants/headers.rs"]
mod invariants;

#[test]
fn the_corpus_holds() {
    holds("headers", invariants::hold);
}
