//! Limits useless HTTP/2 frames of a client: SETTINGS, PING, PRIORITY, empty DATA, and unknown types. Each costs
//! little, but without a limit a client could send millions.
//!
//! It looks only at frame heads. Requests and sent data raise a client's allowance: a PING for each piece of a download
//! is normal.

use std::time::Instant;

/// The length of the client's preface (RFC 9113 §3.4).
const PREFACE: usize = 24;
const HEAD: usize = 9;
/// The useless frames that every connection may send, and the additional ones for each second, each request and each
/// kilobyte sent to the client.
const FREE: u64 = 4096;
const A_SECOND: u64 = 20;
const A_REQUEST: u64 = 8;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
/// The last frame type of RFC 9113: CONTINUATION.
const LAST_KNOWN: u8 = 9;
const END_STREAM: u8 = 1;

/// The frame counts of one connection.
#[derive(Debug)]
pub(super) struct FramesIn {
    since: Instant,
    /// Bytes to skip: the preface, or the rest of a frame.
    skip: usize,
    /// The beginning of an incomplete frame head.
    head: [u8; HEAD],
    filled: usize,
    useless: u64,
    requests: u64,
}

impl FramesIn {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), skip: PREFACE, head: [0; HEAD], filled: 0, useless: 0, requests: 0 }
    }

    /// Looks at received bytes. `sent`: the bytes sent to the client so far. `false`: there were too many useless
    /// frames.
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
        // Read the clock only after new useless frames beyond the free ones.
        self.useless == before || self.useless <= FREE || self.useless <= self.allowed(sent)
    }

    fn allowed(&self, sent: usize) -> u64 {
        FREE + A_SECOND * self.since.elapsed().as_secs() + A_REQUEST * self.requests + sent as u64 / 1024
    }

    /// Handles a complete frame head.
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

    /// Whether a client that repeats these frames, `step` bytes at a time, is never cut off.
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
