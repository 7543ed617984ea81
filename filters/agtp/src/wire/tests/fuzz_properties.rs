//! Properties that hold for any input, checked on the fuzzer's corpus and on random requests.

use proptest::prelude::*;

use crate::wire as frames;
use frontdesk_base::{Reply, corpus::holds};

#[path = "../../../../../tests/fuzz/invariants/frames.rs"]
mod invariants;

#[test]
fn the_corpus_holds() {
    holds("frames", invariants::hold);
}

/// A part of a request, mostly valid.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let of_the_grammar = [
        "AGTP/1.0 ",
        "QUERY",
        "GET",
        "x-y",
        " ",
        "/",
        "/a?b=c",
        "#",
        "\r\n",
        "\r\n\r\n",
        "\n",
        "\r",
        "A: b\r\n",
        ":",
        "\t",
        "Content-Length: ",
        "Content-Length: 0\r\n",
        "Content-Length: 5\r\n\r\nabcde",
        "0",
        "9",
        "-1",
        "Transfer-Encoding: ",
        "chunked\r\n",
        "AGTP/1.0 QUERY /\r\n\r\n",
        "AGTP/1.0 DESCRIBE\r\n",
    ];
    prop_oneof![
        12 => prop::sample::select(of_the_grammar.to_vec()).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..8),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_the_grammar_is_made_of(choice: u8, pieces in prop::collection::vec(piece(), 0..24)) {
        invariants::hold(&[vec![choice], pieces.concat()].concat());
        invariants::hold(&[vec![choice], b"AGTP/1.0 QUERY /".to_vec(), pieces.concat()].concat());
    }

    #[test]
    fn a_good_request_among_noise(choice: u8, noise in prop::collection::vec(any::<u8>(), 0..200)) {
        let good = b"AGTP/1.0 EXECUTE /a\r\nContent-Length: 4\r\n\r\nabcd";
        invariants::hold(&[&[choice], &good[..], &good[..], &noise[..]].concat());
    }
}
