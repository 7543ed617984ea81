//! Compressed pages: every coding, however it is cut, whole, broken or hostile.

use std::io::{Read, Write};

use flate2::Compression;

use super::*;
use crate::{Broken, BrokenWhy, Coding, Recoder, Rewriter, Why};

pub(super) fn gzip(page: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(page).unwrap();
    encoder.finish().unwrap()
}

fn zlib(page: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(page).unwrap();
    encoder.finish().unwrap()
}

fn raw(page: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(page).unwrap();
    encoder.finish().unwrap()
}

fn br(page: &[u8]) -> Vec<u8> {
    let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22);
    encoder.write_all(page).unwrap();
    encoder.into_inner()
}

fn zst(page: &[u8]) -> Vec<u8> {
    zstd::encode_all(page, 3).unwrap()
}

type Encode = fn(&[u8]) -> Vec<u8>;

const CODINGS: [(&str, Coding, Encode); 5] = [
    ("gzip", Coding::Gzip, gzip),
    ("zlib", Coding::Deflate, zlib),
    ("raw", Coding::Deflate, raw),
    ("br", Coding::Brotli, br),
    ("zstd", Coding::Zstd, zst),
];

pub(super) fn decode(name: &str, encoded: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    match name {
        "gzip" => flate2::read::MultiGzDecoder::new(encoded).read_to_end(&mut out).unwrap(),
        "zlib" => flate2::read::ZlibDecoder::new(encoded).read_to_end(&mut out).unwrap(),
        "raw" => flate2::read::DeflateDecoder::new(encoded).read_to_end(&mut out).unwrap(),
        "br" => brotli::Decompressor::new(encoded, 4096).read_to_end(&mut out).unwrap(),
        _ => zstd::Decoder::new(encoded).unwrap().read_to_end(&mut out).unwrap(),
    };
    out
}

fn noise(len: usize) -> String {
    let mut seed = 1u32;
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'a' + (seed >> 24) as u8 % 26)
    };
    (0..len).map(|_| next()).collect()
}

fn page(len: usize) -> (Vec<u8>, Vec<u8>) {
    let body = noise(len);
    let page = format!("<!doctype html><html><head><title>x</title></head><body><p>{body}</p></body></html>");
    let expected = page.replace("</head>", "{a}{m}</head>").replace("</body>", "{n}</body>");
    (page.into_bytes(), expected.into_bytes())
}

fn recode(coding: Coding, pieces: &[&[u8]]) -> (Vec<u8>, Result<(), BrokenWhy>, Outcome) {
    recode_by(Rewriter::new(coding, marks(Position::End)), pieces)
}

fn recode_by(mut rewriter: Rewriter, pieces: &[&[u8]]) -> (Vec<u8>, Result<(), BrokenWhy>, Outcome) {
    let mut out = Vec::new();
    for piece in pieces {
        match rewriter.feed(Bytes::copy_from_slice(piece)) {
            Ok(bytes) => out.extend_from_slice(&bytes.joined()),
            Err(Broken { sent, why }) => {
                out.extend_from_slice(&sent);
                return (out, Err(why), rewriter.outcome());
            }
        }
    }
    let end = match rewriter.finish() {
        Ok(bytes) => {
            out.extend_from_slice(&bytes);
            Ok(())
        }
        Err(Broken { sent, why }) => {
            out.extend_from_slice(&sent);
            Err(why)
        }
    };
    (out, end, rewriter.outcome())
}

#[test]
fn names_of_codings() {
    for (value, coding) in [
        ("gzip", Some(Coding::Gzip)),
        (" X-GZip ", Some(Coding::Gzip)),
        ("BR", Some(Coding::Brotli)),
        ("deflate", Some(Coding::Deflate)),
        ("zstd", Some(Coding::Zstd)),
        ("identity", Some(Coding::Identity)),
        ("gzip, br", None),
        ("compress", None),
        ("dcz", None),
    ] {
        assert_eq!(Coding::parse(value), coding, "{value}");
    }
}

#[test]
fn every_coding_cut_at_every_byte() {
    for (name, coding, encode) in CODINGS {
        let (page, expected) = page(5000);
        let encoded = encode(&page);
        for at in 0..encoded.len().min(4096) {
            let (out, end, outcome) = recode(coding, &[&encoded[..at], &encoded[at..]]);
            assert_eq!((end, outcome), (Ok(()), Outcome::Inserted), "{name} at {at}");
            assert!(decode(name, &out) == expected, "{name} at {at}");
        }
        for size in [1, 2, 100] {
            let (out, ..) = recode(coding, &encoded.chunks(size).collect::<Vec<_>>());
            assert!(decode(name, &out) == expected, "{name} in pieces of {size}");
        }
    }
}

#[test]
fn several_members_and_what_may_follow_them() {
    let (page, expected) = page(500);
    let (one, two) = page.split_at(50);
    for (name, coding, encode) in CODINGS {
        let mut encoded = encode(&page);
        if matches!(name, "gzip" | "zstd") {
            encoded = [encode(one), encode(b""), encode(two)].concat();
        }
        for tail in [&b""[..], b"\0\0\0\0\0\0\0", b"garbage", b"\x1f", b"\x28\xb5", b"\x50\x2a\x4d\x18\x01\0\0\0x"] {
            let whole = [&encoded[..], tail].concat();
            for size in [1, 7, usize::MAX] {
                let (out, end, _) = recode(coding, &whole.chunks(size.min(whole.len())).collect::<Vec<_>>());
                assert_eq!(end, Ok(()), "{name} {tail:?}");
                assert!(decode(name, &out) == expected, "{name} {tail:?}");
            }
        }
    }
}

#[test]
fn each_piece_leaves_at_once() {
    for (name, coding, _) in CODINGS.into_iter().filter(|(name, ..)| *name != "raw") {
        let mut flushed = super::super::encode::Encoder::new(match name {
            "gzip" => super::super::decode::Flavour::Gzip,
            "zlib" => super::super::decode::Flavour::Zlib,
            "br" => super::super::decode::Flavour::Brotli,
            _ => super::super::decode::Flavour::Zstd,
        })
        .unwrap();
        let mut recoder = Recoder::new(coding, marks(Position::End));
        for part in ["<html><head>", "</head><body><p>", "one", "two"] {
            flushed.write(part.as_bytes()).unwrap();
            let out = recoder.feed(flushed.flush().unwrap()).unwrap();
            assert!(!out.is_empty(), "{name}: {part}");
        }
        assert!(recoder.feed(Bytes::new()).unwrap().is_empty(), "{name}: nothing in, nothing out");
    }
}

#[test]
fn not_what_the_header_says_passes_as_it_came() {
    let (page, _) = page(500);
    for (name, coding, encode) in CODINGS {
        let mut bodies = vec![(page.clone(), "plain"), (encode(&page), "cut")];
        let cut = bodies[1].0.len().min(4);
        bodies[1].0.truncate(cut);
        for (body, what) in bodies {
            let passed = Outcome::GaveUp(Why::NotAsDeclared);
            for size in [usize::MAX, 3] {
                let (out, end, outcome) = recode(coding, &body.chunks(size.min(body.len())).collect::<Vec<_>>());
                assert_eq!((end, outcome), (Ok(()), passed), "{name} {what}");
                assert!(out == body, "{name} {what}");
            }
        }
        assert_eq!(recode(coding, &[]).0, b"", "{name}: empty stays empty");
        assert_eq!(recode(coding, &[b""]).0, b"", "{name}: empty stays empty");
    }
}

#[test]
fn broken_on_the_way() {
    let (page, expected) = page(600_000);
    for (name, coding, encode) in CODINGS {
        let encoded = encode(&page);
        let cut = &encoded[..encoded.len() / 2];
        let (out, end, _) = recode(coding, &cut.chunks(4096).collect::<Vec<_>>());
        assert_eq!(end, Err(BrokenWhy::Truncated), "{name}, {} of {}", cut.len(), encoded.len());
        let sent = decode_some(name, &out);
        assert!(sent.len() > 50_000 && expected.starts_with(&sent), "{name}: {} sent", sent.len());

        let mut bad = encoded.clone();
        let half = bad.len() / 2;
        bad[half..].fill(0xff);
        let (out, end, _) = recode(coding, &bad.chunks(4096).collect::<Vec<_>>());
        assert!(end.is_err(), "{name}");
        let sent = decode_some(name, &out);
        assert!(sent.len() > 10_000 && sent[..10_000] == expected[..10_000], "{name}: {} sent", sent.len());
    }
}

/// What can be decoded of a stream that is cut off.
fn decode_some(name: &str, encoded: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut reader: Box<dyn Read + '_> = match name {
        "gzip" => Box::new(flate2::read::GzDecoder::new(encoded)),
        "zlib" => Box::new(flate2::read::ZlibDecoder::new(encoded)),
        "raw" => Box::new(flate2::read::DeflateDecoder::new(encoded)),
        "br" => Box::new(brotli::Decompressor::new(encoded, 4096)),
        _ => Box::new(zstd::Decoder::new(encoded).unwrap()),
    };
    let mut piece = [0; 512];
    while let Ok(n @ 1..) = reader.read(&mut piece) {
        out.extend_from_slice(&piece[..n]);
    }
    out
}

#[test]
fn a_bomb_is_cut() {
    let mut page = b"<html><body>".to_vec();
    page.resize(8 * 1024 * 1024, b' ');
    for (name, coding, encode) in CODINGS {
        let encoded = encode(&page);
        let mut recoder = Recoder::new(coding, marks(Position::End));
        let mut sent = 0;
        let why = encoded.chunks(1024).find_map(|chunk| match recoder.feed(Bytes::copy_from_slice(chunk)) {
            Ok(bytes) => {
                sent += bytes.len();
                None
            }
            Err(broken) => Some((broken.why, sent + broken.sent.len())),
        });
        let Some((BrokenWhy::Bomb, sent)) = why else { panic!("{name}: {why:?}") };
        assert!(sent < 64 * 1024, "{name}: {sent}");
        assert!(recoder.given() < 2 * 1024 * 1024, "{name}: {}", recoder.given());
    }
}

#[test]
fn a_window_beyond_the_browsers_is_refused() {
    let (page, expected) = page(100);
    for (log, fine) in [(23, true), (24, false)] {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(log).unwrap();
        encoder.write_all(&page).unwrap();
        encoder.flush().unwrap();
        let encoded = encoder.finish().unwrap();
        let (out, end, _) = recode(Coding::Zstd, &[&encoded]);
        assert_eq!(end, Ok(()));
        assert!(if fine { decode("zstd", &out) == expected } else { out == encoded }, "{log}");
    }
}

#[test]
fn a_whole_page_is_recoded_at_once_to_the_same() {
    let at_once = |coding, body: &[u8]| {
        let mut rewriter = Rewriter::new(coding, marks(Position::End));
        let out = rewriter.at_once(body).map(|out| out.map_err(|broken| broken.why));
        (out, rewriter.outcome())
    };
    for len in [0, 1, 1000, 60_000] {
        let (page, expected) = page(len);
        let (out, outcome) = at_once(Coding::Gzip, &gzip(&page));
        assert_eq!((decode("gzip", &out.unwrap().unwrap()), outcome), (expected, Outcome::Inserted), "{len}");
    }
    let words = "<p>the same few words</p>".repeat(2000);
    let packed = at_once(Coding::Gzip, &gzip(words.as_bytes())).0.unwrap().unwrap();
    assert!(packed.len() < words.len() / 20, "{} of {} bytes", packed.len(), words.len());
    let (page, expected) = page(1000);
    let members = [gzip(&page[..200]), gzip(&page[200..]), gzip(b"")].concat();
    assert_eq!(decode("gzip", &at_once(Coding::Gzip, &members).0.unwrap().unwrap()), expected, "members");
    let (out, outcome) = at_once(Coding::Gzip, &gzip(b"no page at all"));
    assert_eq!((decode("gzip", &out.unwrap().unwrap()), outcome), (b"no page at all".to_vec(), Outcome::Fragment));
    let cut = &gzip(&page)[..300];
    let mut wrong = gzip(&page);
    wrong[30] ^= 0x55;
    for (what, coding, body) in [
        ("another coding", Coding::Brotli, br(&page)),
        ("deflate", Coding::Deflate, zlib(&page)),
        ("not compressed", Coding::Gzip, page.clone()),
        ("cut", Coding::Gzip, cut.to_vec()),
        ("broken", Coding::Gzip, wrong),
        ("long", Coding::Gzip, gzip(&b"<p>".repeat(100_000))),
    ] {
        let mut rewriter = Rewriter::new(coding, marks(Position::End));
        assert!(rewriter.at_once(&body).is_none(), "{what}");
        // Nothing has happened: it may be fed.
        assert_eq!(recode_by(rewriter, &[&body]), recode(coding, &[&body]), "{what}");
    }
    let mut begun = Rewriter::new(Coding::Gzip, marks(Position::End));
    begun.feed(Bytes::from(gzip(&page)[..20].to_vec())).unwrap();
    assert!(begun.at_once(&gzip(&page)[20..]).is_none(), "not from its beginning");
}
