//! What holds of a question whatever its body is: the fuzzer's list, on its corpus.

use super::question;
use crate::{
    corpus::{dice, holds},
    strict,
};

#[path = "../../../../tests/fuzz/invariants/converse.rs"]
mod invariants;

#[test]
fn the_corpus_holds() {
    holds("converse", invariants::hold);
}
