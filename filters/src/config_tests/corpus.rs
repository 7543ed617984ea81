//! What holds of a declaration whatever is written in it: the fuzzer's list, on its corpus.

use crate::{
    Learned, Snapshot,
    corpus::{dice, holds},
    site,
};

#[path = "../../../tests/fuzz/invariants/config.rs"]
mod invariants;

#[test]
fn the_corpus_holds() {
    holds("config", invariants::hold);
}
