//! Hostile values, the same in each run, and checks of the shape that a request must keep with any of them.

use super::message::Request;
use percent_encoding::percent_decode_str;
use std::collections::BTreeSet;

/// Values with a special meaning somewhere: in a path, a query, a head, a parser, a template, a terminal.
#[rustfmt::skip]
const PIECES: [&str; 54] = [
    "/", "..", ".", "//", "\\", "%2f", "%252f", "%5c", "%2e%2e", "%252e", "%00", "%0d%0a", "%", "%u2215", "?", "#", "&",
    "=", ";", "+", " ", "\t", ":", "@", "*", "$", "'", "\"", "<", ">", "|", "^", "`", "[", "]", "{", "}", "\0", "\r", "\n",
    "\r\nX-Evil: 1\r\n", " HTTP/1.1\r\nHost: evil.test\r\n\r\nGET /evil HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    "http://evil.test/", "é", "世", "\u{202e}", "\u{feff}", "\u{ff0f}", "\u{2024}", "{city}", "{{ 7 * 7 }}", "${HOME}",
    "\u{7f}", "\u{85}",
];

/// Names with a meaning elsewhere.
const NAMES: [&str; 8] = ["host", "X-Channel", "content-length", "__proto__", "a[b]", "_method", "body", "path"];

/// A small random number generator with a fixed sequence.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % most
    }

    fn one_of(&mut self, all: &[&'static str]) -> &'static str {
        all[self.below(all.len())]
    }

    /// One value, sometimes a long one.
    pub fn value(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..=self.below(4) {
            match self.below(3) {
                0 => text.push_str(self.one_of(&["a", "Rome", "x-channel", "fixed", "0"])),
                _ if self.below(60) == 0 => text.push_str(&self.one_of(&PIECES).repeat(100)),
                _ => text.push_str(self.one_of(&PIECES)),
            }
        }
        text
    }

    /// The name of an input.
    pub fn name(&mut self) -> String {
        if self.below(3) == 0 { self.one_of(&NAMES).to_owned() } else { self.value() }
    }
}

pub fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// The decoded path segments and query pairs of a target that has nothing else.
#[track_caller]
pub fn parts(target: &str) -> (Vec<String>, Vec<(String, String)>) {
    assert!(target.starts_with('/') && !target.starts_with("//"), "no path: {target:?}");
    let safe = |c: char| c.is_ascii_graphic() && !"\"#<>\\^`{|}".contains(c);
    assert!(target.chars().all(safe), "not as a target is written: {target:?}");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    (path.split('/').skip(1).map(decoded).collect(), pairs(query))
}

/// The decoded pairs of a query or a form.
pub fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(&name.replace('+', " ")), decoded(&value.replace('+', " ")))
    };
    text.split('&').filter(|p| !p.is_empty()).map(pair).collect()
}

/// All header lines, without values that differ with each call. No name may occur twice.
#[track_caller]
pub fn headers(request: &Request) -> BTreeSet<(String, String)> {
    let line = |(name, value): &(String, String)| {
        let name = name.to_ascii_lowercase();
        let own = ["x-request-id", "content-length"].contains(&name.as_str());
        (name, if own { String::new() } else { value.clone() })
    };
    let set: BTreeSet<_> = request.headers.0.iter().map(line).collect();
    assert_eq!(set.len(), request.headers.0.len(), "a header twice: {:?}", request.headers);
    set
}

/// Checks the head: a request line of three words, header lines, and an empty line.
#[track_caller]
pub fn assert_one_head(request: &Request) {
    let head = String::from_utf8(request.raw_head.clone()).expect("a head of text");
    let lines: Vec<&str> = head.trim_end_matches("\r\n").split("\r\n").collect();
    assert_eq!(lines[0].split(' ').count(), 3, "{:?}", lines[0]);
    assert!(lines.iter().all(|l| !l.contains(char::is_control)), "a control character: {lines:?}");
    assert!(lines[1..].iter().all(|l| l.contains(':')), "{lines:?}");
}
