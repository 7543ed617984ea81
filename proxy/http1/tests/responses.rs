//! What holds of responses whatever they say: the fuzzer's list, on its corpus and on what is generated.

#[path = "../../../tests/fuzz/invariants/dice.rs"]
mod dice;
#[path = "../../../tests/fuzz/invariants/responses.rs"]
mod invariants;

use std::path::Path;

use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, TestRunner},
};

const CASES: u32 = 20_000;

#[test]
fn the_corpus_holds() {
    let corpus = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fuzz/corpus/responses"));
    let mut files: Vec<_> = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 15, "{} files", files.len());
    for file in files {
        println!("{}", file.display());
        invariants::hold(&std::fs::read(file).unwrap());
    }
}

/// Pieces of responses in any order, some of them changed.
fn response() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.0 200 OK\r\n",
        "HTTP/1.1 204 \r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "Content-Length: 5\r\n",
        "Content-Length : 3\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Connection: close\r\n",
        "Connection: keep-alive\r\n",
        "X-F: a\r\n b\r\n",
        "\r\n",
        "\n",
        "hello",
        "5\r\nhello\r\n",
        "0\r\n\r\n",
        "0\r\nA: b\r\n\r\n",
        ";a=\"b\"",
    ]);
    let bytes = vec(piece, 0..9).prop_map(|pieces| pieces.concat().into_bytes());
    let changed = prop::option::weighted(0.2, (any::<prop::sample::Index>(), any::<u8>()));
    (bytes, changed).prop_map(|(mut bytes, changed)| {
        if let (Some((at, byte)), false) = (changed, bytes.is_empty()) {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes
    })
}

#[test]
fn generated_responses_hold() {
    let config = Config::default();
    let config = Config { cases: config.cases.max(CASES), failure_persistence: None, ..config };
    let head =
        prop::sample::select(vec!["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"]);
    let rest = prop_oneof![response(), vec(any::<u8>(), 0..60)];
    let input = (0..4_u8, any::<u8>(), head, rest);
    let held = TestRunner::new(config).run(&input, |(choice, how, head, rest)| {
        let head = if choice == 0 { head.as_bytes() } else { b"" };
        invariants::hold(&[&[choice, how][..], head, &rest].concat());
        Ok(())
    });
    if let Err(e) = held {
        panic!("{e}");
    }
}
