//! Runs the fuzzers' corpora in unit tests: every input is checked against the invariants of its fuzzer.

use std::path::Path;

#[path = "../../../tests/fuzz/invariants/dice.rs"]
pub mod dice;

/// Runs the invariants on each file of a corpus, and panics where one fails.
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
