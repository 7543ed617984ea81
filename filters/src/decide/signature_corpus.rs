//! What holds of signatures whatever the fields say: the fuzzer's list, on its corpus.

use crate::{
    Learned, Request, Snapshot, caller,
    corpus::{dice, holds},
    decide, site, state,
};

#[path = "../../../tests/fuzz/invariants/signatures.rs"]
mod invariants;

#[test]
fn the_corpus_holds() {
    holds("signatures", invariants::hold);
}
