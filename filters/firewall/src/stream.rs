//! Scans a text that arrives in pieces, and finds matches that are split across them.
//!
//! The end of the input is held back until enough has followed: a window of 8 KB, or up to 64 KB while something that
//! has begun (a word without blanks, a private key) is incomplete. A longer private key is replaced at its start, and
//! its rest dropped until its end, or until characters that no key contains. A longer word passes, because no token is
//! that long.

use std::sync::Arc;

use super::{Finding, Firewall, Flags, Kind, Mode, pass, pem};

/// Bytes that are held back.
const WINDOW: usize = 8 * 1024;
/// Maximum bytes that are held back.
const HELD: usize = 64 * 1024;
/// Bytes of passed text that are kept, for names before values and words before phrases.
const PAST: usize = 1024;

/// Scans a text in pieces.
#[derive(Debug)]
pub struct Stream {
    firewall: Arc<Firewall>,
    /// The passed text, then the held text.
    held: Vec<u8>,
    /// Bytes of passed text.
    past: usize,
    /// Scan again when this much is held.
    due: usize,
    /// Within a private key that is too long to hold.
    swallowing: bool,
    flags: Flags,
    blocked: bool,
}

impl Stream {
    pub fn new(firewall: Arc<Firewall>) -> Self {
        Self {
            firewall,
            held: Vec::new(),
            past: 0,
            due: 2 * WINDOW,
            swallowing: false,
            flags: Flags::default(),
            blocked: false,
        }
    }

    /// Adds a piece; returns the text that may leave now. Nothing leaves after a blocking finding.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for piece in piece.chunks(HELD) {
            self.held.extend_from_slice(piece);
            if self.held.len() - self.past >= self.due {
                self.advance(false, &mut out);
            }
        }
        out
    }

    /// Returns the rest at the end of the input.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.advance(true, &mut out);
        out
    }

    /// The findings so far.
    pub fn flags(&self) -> &Flags {
        &self.flags
    }

    /// Whether the text is blocked.
    pub fn is_blocked(&self) -> bool {
        self.blocked
    }

    fn advance(&mut self, last: bool, out: &mut Vec<u8>) {
        if self.blocked {
            self.held.clear();
            self.past = 0;
            return;
        }
        if self.swallowing {
            self.swallow(last);
            if self.swallowing {
                return;
            }
        }
        let found = self.firewall.scan(&self.held);
        let len = self.held.len();
        let mut cut = if last { len } else { self.cut(&found) };
        let mut at = self.past;
        let mut passed = Vec::new();
        for finding in found {
            if finding.start >= cut || finding.end <= at || finding.kind == Kind::Injection && finding.start < at {
                continue;
            }
            let mode = self.firewall.modes.of(finding.kind);
            if mode == Mode::Block {
                self.blocked = true;
                out.clear();
            }
            if mode == Mode::Redact {
                out.extend_from_slice(&self.held[at..finding.start.max(at)]);
                pass::write_marker(out, &finding.rule);
                at = finding.end;
                if at > cut {
                    // It is longer than the maximum, so its rest is dropped.
                    self.swallowing = true;
                    cut = at;
                }
            }
            passed.push(finding);
        }
        self.flags.merge(&self.firewall.flagged(&passed));
        if self.blocked {
            self.held.clear();
            self.past = 0;
            return;
        }
        out.extend_from_slice(&self.held[at..cut.max(at)]);
        let keep = cut.saturating_sub(PAST);
        self.held.drain(..keep);
        self.past = cut - keep;
        // Scan again when another window has arrived.
        self.due = self.held.len() - self.past + WINDOW;
    }

    /// How far the text may leave.
    fn cut(&self, found: &[Finding]) -> usize {
        let len = self.held.len();
        let window = len.saturating_sub(WINDOW).max(self.past);
        let floor = len.saturating_sub(HELD).max(self.past);
        let word = self.held[floor..window].iter().rev().take_while(|byte| !byte.is_ascii_whitespace()).count();
        // A word longer than the maximum is no token.
        let may_wait = window - word > floor || len - self.past < HELD;
        let mut cut = if may_wait { window - word } else { window };
        for finding in found.iter().rev() {
            if finding.start < cut && finding.end > cut {
                cut = if finding.start >= floor { finding.start } else { cut };
            }
        }
        cut
    }

    /// Drops the rest of a long key.
    fn swallow(&mut self, last: bool) {
        let text = &self.held[self.past..];
        let inner = |byte: &u8| pem::is_base64(*byte) || byte.is_ascii_whitespace() || matches!(byte, b'\\' | b'-');
        let mut len = text.iter().take_while(|byte| inner(byte)).count();
        let end = memchr::memmem::find(&text[..len], b"-----END ");
        match end {
            Some(end) => {
                let label = &text[end + 9..];
                match memchr::memmem::find(&label[..label.len().min(80)], b"-----") {
                    Some(close) => len = end + 9 + close + 5,
                    None if label.len() < 80 && !last => len = end,
                    None => len = end + 9,
                }
                self.swallowing = text[end..].len() < 89 && !last && len == end;
            }
            // Its end may be split across pieces.
            None if len == text.len() && !last => len = len.saturating_sub(16),
            None => self.swallowing = false,
        }
        self.held.drain(self.past..self.past + len);
        self.due = self.held.len() - self.past + WINDOW;
    }
}
