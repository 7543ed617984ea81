//! What holds of a question whatever its body is: the fuzzer's list, on its corpus.

use super::question;
use frontdesk_base::{
    corpus::{dice, holds},
    exact, strict,
};

#[path = "../../../../tests/fuzz/invariants/converse.rs"]
mod invariants;

#[test]
fn the_corpus_holds() {
    holds("converse", invariants::hold);
}
