//! Properties that hold for any body of a question, checked on the fuzzer's corpus.

use super::question;
use frontdesk_base::{
    corpus::{dice, holds},
    exact_numbers, strict,
};

#[path = "../../../../tests/fuzz/invariants/converse.rs"]
mod invariants;

#[test]
fn the_corpus_holds() {
    holds("converse", invariants::hold);
}
