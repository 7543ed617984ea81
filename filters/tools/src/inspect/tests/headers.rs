//! The fuzzer's list for header fields, on its corpus. Here, because the reader of `Link` is this module's own.

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
