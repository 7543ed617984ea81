//! Properties that hold for any signature fields, checked on the fuzzer's corpus.

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
