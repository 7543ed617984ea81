//! A text that comes in pieces: what is split over two of them is found all the same.
//!
//! The end of what has come is held back until enough has come after it: a window of 8 KB, more where something that has
//! begun (a word without a blank, a private key) is not at its end, up to 64 KB. A private key that is longer still is
//! replaced where it began, and what follows of it swallowed until its end or until something comes that no key has in
//! it. A word that is longer passes: no token is.

use std::sync::Arc;

use super::{Finding, Firewall, Flags, Kind, Mode, pass, pem};

/// What is held back.
const WINDOW: usize = 8 * 1024;
/// The most that is ever held back.
const HELD: usize = 64 * 1024;
/// What is kept of the past, for names before values and words before phrases.
const PAST: usize = 1024;

/// Looks through a text in pieces.
#[derive(Debug)]
pub struct Stream {
    firewall: Arc<Firewall>,
    /// The past, and then what is held back.
    held: Vec<u8>,
    /// Bytes of the past.
    past: usize,
    /// Looked at again when so much is held back.
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

    /// Takes a piece; what may leave by now. Nothing more leaves once something must not.
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

    /// The rest, once there is no more to come.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.advance(true, &mut out);
        out
    }

    /// What was found so far.
    pub fn flags(&self) -> &Flags {
        &self.flags
    }

    /// Whether it must not go on.
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
                    // Longer than may be held: the rest of it goes the same way.
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
        // What is held is looked at again when it has grown by a window.
        self.due = self.held.len() - self.past + WINDOW;
    }

    /// How far it may leave.
    fn cut(&self, found: &[Finding]) -> usize {
        let len = self.held.len();
        let window = len.saturating_sub(WINDOW).max(self.past);
        let floor = len.saturating_sub(HELD).max(self.past);
        let word = self.held[floor..window].iter().rev().take_while(|byte| !byte.is_ascii_whitespace()).count();
        // A word that is longer than what may be held is no token.
        let may_wait = window - word > floor || len - self.past < HELD;
        let mut cut = if may_wait { window - word } else { window };
        for finding in found.iter().rev() {
            if finding.start < cut && finding.end > cut {
                cut = if finding.start >= floor { finding.start } else { cut };
            }
        }
        cut
    }

    /// Drops what belongs to a key that has begun.
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
            // Its end may be at the edge of what has come.
            None if len == text.len() && !last => len = len.saturating_sub(16),
            None => self.swallowing = false,
        }
        self.held.drain(self.past..self.past + len);
        self.due = self.held.len() - self.past + WINDOW;
    }
}
