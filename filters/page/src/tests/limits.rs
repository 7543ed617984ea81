//! Every bound of the scan, reached.

use super::*;
use crate::{FIRST_MAX_BYTES, MARKUP_MAX_BYTES, REST_MAX_BYTES, SCAN_MAX_BYTES, Why};

fn outcome(page: &[u8]) -> (Vec<u8>, Outcome) {
    let whole = run(&marks(Position::Start), [page]);
    for size in [1000, 4096, 65_536] {
        assert!(run(&marks(Position::Start), page.chunks(size)) == whole, "in pieces of {size}");
    }
    whole
}

#[test]
fn the_body_within_the_limit_or_not() {
    for (comment, inserted) in [(SCAN_MAX_BYTES - 100, true), (SCAN_MAX_BYTES, false)] {
        let page = format!("<html><!--{}--><body>x</body>", "c".repeat(comment)).into_bytes();
        let (out, outcome) = outcome(&page);
        if inserted {
            assert_eq!((out.len(), outcome), (page.len() + 9, Outcome::Inserted));
        } else {
            assert!(out == page && outcome == Outcome::GaveUp(Why::Limit));
        }
    }
}

#[test]
fn a_huge_attribute() {
    for (len, inserted) in [(MARKUP_MAX_BYTES - 20, true), (MARKUP_MAX_BYTES, false)] {
        let page = format!("<html><meta a=\"{}\"><body>x", ">".repeat(len)).into_bytes();
        let (out, outcome) = outcome(&page);
        if inserted {
            assert_eq!((out.len(), outcome), (page.len() + 9, Outcome::Inserted));
        } else {
            assert!(out == page && outcome == Outcome::GaveUp(Why::HugeMarkup));
        }
    }
}

#[test]
fn the_first_element_is_awaited_for_so_long() {
    let page = |len: usize| format!("<html><body>{}<p class=ahp-notice>", " ".repeat(len)).into_bytes();
    for size in [1, 5] {
        let seen = |len: usize| run(&marks(Position::Start), page(len).chunks(size)).1;
        assert_eq!(seen(FIRST_MAX_BYTES - 20), Outcome::OwnNotice);
        assert_eq!(seen(FIRST_MAX_BYTES), Outcome::Inserted);
    }
    // In the chunk at hand it counts a little further.
    assert_eq!(run(&marks(Position::Start), [&page(FIRST_MAX_BYTES)[..]]).1, Outcome::OwnNotice);
    assert_eq!(run(&marks(Position::Start), [&page(REST_MAX_BYTES - 20)[..]]).1, Outcome::OwnNotice);
    assert_eq!(run(&marks(Position::Start), [&page(REST_MAX_BYTES)[..]]).1, Outcome::Inserted);
}

#[test]
fn the_rest_of_the_chunk_is_read_as_a_tokenizer_does() {
    for (rest, own) in [
        ("<p>x</p><section class=ahp-notice>", true),
        ("text <section class='a ahp-notice'>", true),
        // Without its class it has to be the first.
        ("text <section aria-label='AI Agent Notice'>", false),
        ("<section aria-label='AI Agent Notice'>", true),
        ("<script>'</p><section class=ahp-notice>'</script>", false),
        // A paragraph ends the picture, and the style is text to its end.
        ("<svg><p><style/><i class=ahp-notice>", false),
        ("<svg><style/></svg><i class=ahp-notice>", true),
        ("<svg><title>x</title></svg><i class=ahp-notice>", true),
        ("<svg><title>x</title><style>g{}</style></svg><i class=ahp-notice>", true),
        ("<svg><script><!-- </script><i class=ahp-notice>", false),
        ("<svg><title>x</title><style><!-- </style><i class=ahp-notice>", false),
        ("<svg><title><g></title><style></style></svg><i class=ahp-notice>", false),
        // HTML within a picture: it would take a parser to tell what follows.
        ("<svg><foreignObject><div></div><style/><i class=ahp-notice>", false),
        ("<td class=ahp-notice>", false),
        ("text <frameset class=ahp-notice>", false),
        ("<form><form class=ahp-notice>", false),
        ("<select><select class=ahp-notice>", false),
        ("<plaintext><i class=ahp-notice>", false),
        ("<template><i class=ahp-notice></template>", false),
        ("<template><col><i class=ahp-notice>", false),
        ("<template><svg></template><script></script><i class=ahp-notice>", true),
        ("<svg><template></template></svg><i class=ahp-notice>", false),
        ("<p><!-- <section class=ahp-notice> -->", false),
        ("<p><svg><style/><g/></svg><i class=ahp-notice>", true),
        ("<p><textarea><i class=ahp-notice>", false),
        ("a &lt; < <section class=ahp-notice>", true),
    ] {
        let page = format!("<html><body>{rest}");
        let expected = if own { Outcome::OwnNotice } else { Outcome::Inserted };
        assert_eq!(run(&marks(Position::Start), [page.as_bytes()]).1, expected, "{rest}");
    }
}

#[test]
fn wide_byte_order_marks() {
    for mark in [&b"\xfe\xff"[..], b"\xff\xfe", b"\xff\xfe\0\0", b"\0\0\xfe\xff"] {
        let page = [mark, b"<html><body>"].concat();
        for size in [1, 20] {
            let (out, outcome) = run(&marks(Position::Start), page.chunks(size));
            assert!(out == page && outcome == Outcome::GaveUp(Why::WideEncoding));
        }
    }
}

#[test]
fn nothing_waits_that_need_not() {
    let mut inserter = Inserter::new(marks(Position::Start));
    for (piece, out) in [
        ("<!doctype html><html><hea", "<!doctype html><html>"),
        ("d><title>long", "<head><title>long"),
        (" text</ti", " text"),
        ("tle></head", "</title>"),
        ("><bo", "{a}{m}</head>"),
        ("dy> <", "<body>"),
        ("p>x", "{n} <p>x"),
        ("<bo", "<bo"),
    ] {
        assert_eq!(inserter.feed(Bytes::from_static(piece.as_bytes())).joined(), out, "after {piece}");
    }
    let chunk = Bytes::from_static(b"<body>");
    assert_eq!(inserter.feed(chunk.clone()).made.as_ptr(), chunk.as_ptr());
}
