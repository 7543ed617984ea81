//! How many frames of no use an HTTP/2 client has sent: SETTINGS, PING, PRIORITY, DATA without data, frames that nobody
//! knows. Each costs a little, and without a bound a client may send them by the million.
//!
//! Only their heads are looked at. A client earns room for such frames by what it asks for and what it is sent: a PING for
//! each piece of a download is in order.

use std::time::Instant;

/// What a client begins with (RFC 9113 §3.4).
const PREFACE: usize = 24;
const HEAD: usize = 9;
/// Frames of no use that anybody may send, and how many more each second of a connection, each request and each kilobyte
/// that was sent to the client allow.
const FREE: u64 = 4096;
const A_SECOND: u64 = 20;
const A_REQUEST: u64 = 8;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
/// The last type that RFC 9113 defines: CONTINUATION.
const LAST_KNOWN: u8 = 9;
const END_STREAM: u8 = 1;

/// The frames of one connection.
#[derive(Debug)]
pub(super) struct FramesIn {
    since: Instant,
    /// Bytes to pass over: the preface, or what is left of a frame.
    skip: usize,
    /// The beginning of a frame's head.
    head: [u8; HEAD],
    filled: usize,
    useless: u64,
    requests: u64,
}

impl FramesIn {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), skip: PREFACE, head: [0; HEAD], filled: 0, useless: 0, requests: 0 }
    }

    /// Looks at what has come; `sent`: bytes that the client was sent so far. `false`: it has sent too much of no use.
    pub(super) fn look(&mut self, mut bytes: &[u8], sent: usize) -> bool {
        let before = self.useless;
        while !bytes.is_empty() {
            if self.skip > 0 {
                let here = self.skip.min(bytes.len());
                self.skip -= here;
                bytes = &bytes[here..];
                continue;
            }
            let here = (HEAD - self.filled).min(bytes.len());
            self.head[self.filled..self.filled + here].copy_from_slice(&bytes[..here]);
            self.filled += here;
            bytes = &bytes[here..];
            if self.filled == HEAD {
                self.begin();
            }
        }
        // Nobody has to look at the clock until there is something to be measured.
        self.useless == before || self.useless <= FREE || self.useless <= self.allowed(sent)
    }

    fn allowed(&self, sent: usize) -> u64 {
        FREE + A_SECOND * self.since.elapsed().as_secs() + A_REQUEST * self.requests + sent as u64 / 1024
    }

    /// A frame begins, whose head is all here.
    fn begin(&mut self) {
        let [a, b, c, kind, flags, ..] = self.head;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        (self.skip, self.filled) = (length, 0);
        match kind {
            HEADERS => self.requests += 1,
            DATA if length == 0 && flags & END_STREAM == 0 => self.useless += 1,
            PRIORITY | SETTINGS | PING => self.useless += 1,
            kind if kind > LAST_KNOWN => self.useless += 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, length: usize) -> Vec<u8> {
        let [_, a, b, c] = u32::try_from(length).unwrap().to_be_bytes();
        [&[a, b, c, kind, flags, 0, 0, 0, 1][..], &vec![0; length]].concat()
    }

    /// Whether a client that sends these again and again, `step` bytes at a time, is heard to the end.
    fn heard(frames: &[Vec<u8>], times: usize, step: usize, sent: usize) -> bool {
        let mut seen = FramesIn::new();
        let wire = [vec![b'x'; PREFACE], frames.concat().repeat(times)].concat();
        wire.chunks(step).all(|piece| seen.look(piece, sent))
    }

    #[test]
    fn frames_of_no_use_are_bounded() {
        for (kind, flags, length) in
            [(SETTINGS, 0, 6), (SETTINGS, 1, 0), (PING, 0, 8), (PRIORITY, 0, 5), (DATA, 0, 0), (0x42, 0, 64)]
        {
            let frames = [frame(kind, flags, length)];
            for step in [1, 7, 4096] {
                assert!(heard(&frames, 4000, step, 0), "{kind} by {step}");
                assert!(!heard(&frames, 5000, step, 0), "{kind} by {step}");
            }
        }
    }

    #[test]
    fn who_asks_or_is_sent_something_may_send_more() {
        let asks = [frame(HEADERS, END_STREAM, 40), frame(PRIORITY, 0, 5), frame(PING, 0, 8), frame(8, 0, 4)];
        assert!(heard(&asks, 20_000, 4096, 0));
        assert!(heard(&[frame(PING, 0, 8)], 20_000, 4096, 20_000 * 1024));
        assert!(heard(&[frame(DATA, 0, 1000)], 20_000, 4096, 0), "an upload");
        assert!(heard(&[frame(DATA, END_STREAM, 0)], 20_000, 4096, 0), "the ends of uploads");
    }
}
