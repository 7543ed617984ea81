//! Splits a stream of bytes into requests, however it is fragmented, within bounds.
//!
//! The caller reads from the socket only while [`Reader::next_frame`] returns no request. So pipelined requests stay
//! in the kernel's buffer, and a connection holds at most one request and one read.

use bytes::{Buf, Bytes, BytesMut};
use ring::digest;

use super::{
    BEGINNING,
    frame::Frame,
    head::{self, Head},
    refused::Refused,
};

/// Maximum bytes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The request line and the headers, empty line included.
    pub head: usize,
    pub body: usize,
}

/// What the reader waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wants {
    /// The first byte of a request.
    Request,
    /// The rest of a head.
    Head,
    /// The rest of a body.
    Body,
    /// Nothing: the last refusal ends the connection.
    Nothing,
}

/// Reads the requests of one connection.
pub struct Reader {
    bounds: Bounds,
    /// Bytes that were read and not consumed.
    bytes: BytesMut,
    stage: Stage,
}

enum Stage {
    /// Within a head: the start of the incomplete line, and how far it was scanned.
    Head {
        line: usize,
        seen: usize,
    },
    /// Within a body: its length and that of the head.
    Body(Box<Head>, usize, usize),
    Over,
}

const FIRST: Stage = Stage::Head { line: 0, seen: 0 };

impl Reader {
    /// A reader at the start of a connection.
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds, bytes: BytesMut::new(), stage: FIRST }
    }

    /// Applies new bounds, to a head in progress too. A body keeps the bounds under which its head was read.
    pub fn hold_to(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    /// The buffer to read into, after its present contents.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.bytes
    }

    /// What [`Reader::next_frame`] waits for, after it has returned no request.
    pub fn wants(&self) -> Wants {
        match self.stage {
            Stage::Head { .. } if self.bytes.is_empty() => Wants::Request,
            Stage::Head { .. } => Wants::Head,
            Stage::Body(..) => Wants::Body,
            Stage::Over => Wants::Nothing,
        }
    }

    /// The next request; `None` while it is incomplete.
    ///
    /// # Errors
    ///
    /// The input is no request. If the refusal does not close the connection, the input was consumed and the next
    /// request can be read.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, Refused> {
        let next = self.advance();
        if next.as_ref().is_err_and(|refused| refused.closes) {
            self.stage = Stage::Over;
        }
        // An idle connection holds no memory, and nothing is read after a refusal that closes.
        if self.bytes.is_empty() || matches!(self.stage, Stage::Over) {
            self.bytes = BytesMut::new();
        }
        next
    }

    /// The refusal of a body that does not arrive in time; it closes the connection.
    pub fn late(&mut self) -> Refused {
        let refused = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Body(head, _, start) => cut_off(*head, self.bytes.split_to(start).freeze(), Refused::late()),
            _ => Refused::late(),
        };
        self.bytes = BytesMut::new();
        refused
    }

    fn advance(&mut self) -> Result<Option<Frame>, Refused> {
        if let Stage::Head { .. } = self.stage {
            let Some(end) = self.end_of_head()? else { return Ok(None) };
            let (head, body) = head::read(&self.bytes[..end], self.bounds.body)?;
            match body {
                Ok(length) => self.stage = Stage::Body(Box::new(head), length, end),
                Err(refused) => return Err(cut_off(head, self.bytes.split_to(end).freeze(), refused)),
            }
        }
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Body(head, length, start) if self.bytes.len() - start >= length => {
                self.stage = FIRST;
                let frame = self.bytes.split_to(start + length).freeze();
                taken(*head, frame, start).map(Some)
            }
            waiting => {
                self.stage = waiting;
                Ok(None)
            }
        }
    }

    /// The end of the head, once it has arrived. Errors are found in stream order, so the fragmentation does not
    /// matter.
    fn end_of_head(&mut self) -> Result<Option<usize>, Refused> {
        let Stage::Head { line, seen } = &mut self.stage else { return Ok(None) };
        let within = &self.bytes[..self.bytes.len().min(self.bounds.head)];
        let beginning = within.len().min(BEGINNING.len());
        if within[..beginning] != BEGINNING[..beginning] {
            return Err(Refused::other_protocol());
        }
        while let Some(at) = memchr::memchr(b'\n', within.get(*seen..).unwrap_or_default()) {
            let end = *seen + at;
            match end.checked_sub(1) {
                Some(before) if within[before] == b'\r' && before == *line => return Ok(Some(end + 1)),
                Some(before) if within[before] == b'\r' => (*line, *seen) = (end + 1, end + 1),
                _ => return Err(Refused::framing("A line ends with LF alone. End each with CR and LF.")),
            }
        }
        *seen = within.len();
        if within.len() < self.bounds.head { Ok(None) } else { Err(Refused::head_too_large(self.bounds.head)) }
    }
}

/// The refusal of a request whose body is not read, with the request.
fn cut_off(head: Head, bytes: Bytes, refused: Refused) -> Refused {
    let start = bytes.len();
    let frame = taken(head, bytes, start).map_or_else(|line| line.frame, |frame| Some(Box::new(frame)));
    Refused { frame, ..refused }
}

/// The request in these bytes; the head is the first `start` of them.
fn taken(head: Head, mut bytes: Bytes, start: usize) -> Result<Frame, Refused> {
    let whole = digest::digest(&digest::SHA256, &bytes);
    let mut digest = [0; 32];
    digest.copy_from_slice(whole.as_ref());
    bytes.advance(start);
    let (method, target, refused) = match head.line {
        Ok((method, target)) => (method, target, None),
        Err((refused, Some(method))) => (method, "/".to_owned(), Some(refused)),
        Err((refused, None)) => return Err(refused),
    };
    let frame = Frame { method, target, headers: head.headers, body: bytes, digest };
    match refused {
        None => Ok(frame),
        Some(refused) => Err(Refused { frame: Some(Box::new(frame)), ..refused }),
    }
}
