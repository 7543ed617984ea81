//! Properties that hold for any text of a declaration, checked on the fuzzer's corpus.

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
