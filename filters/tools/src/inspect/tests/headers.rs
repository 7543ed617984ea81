//! The fuzzer's invariants for header fields, on its corpus. It is here because the parser of `Link` is private to
//! this module.

use frontdesk_base::{
    accept,
    corpus::{dice, holds},
};
use frontdesk_filters::caller::forwarded;

use crate::inspect::links;

#[path = "../../../../../tests/fuzz/invariants/headers.rs"]
mod invariants;

#[test]
fn the_corpus_holds() {
    holds("headers", invariants::hold);
}
