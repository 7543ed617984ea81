//! The fuzzers' corpora, for the tests: every input goes through the list of invariants that it was found with.

use std::path::Path;

#[path = "../../../tests/fuzz/invariants/dice.rs"]
pub mod dice;

/// Runs a list of invariants on each file of the corpus of this name, and panics where one does not hold.
pub fn holds(name: &str, hold: impl Fn(&[u8])) {
    let corpus = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fuzz/corpus")).join(name);
    let mut files: Vec<_> =
        std::fs::read_dir(corpus).expect("a corpus").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    assert!(files.len() >= 15, "{name} has {} files", files.len());
    for file in files {
        println!("{}", file.display());
        hold(&std::fs::read(file).expect("an input"));
    }
}
