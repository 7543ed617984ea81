//! Requests out of a stream of bytes, however it is cut into pieces, within bounds.
//!
//! Whoever feeds it reads from a socket only while [`Reader::next_frame`] says that nothing is whole: so what a client sends
//! ahead stays with the system, and a connection never holds more than one request and one read.

use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderMap, Method};
use ring::digest;

use super::{
    BEGINNING,
    head::{self, Head},
    refused::Refused,
};

/// What one request may take, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The request line and the headers, with the empty line.
    pub head: usize,
    pub body: usize,
}

/// A whole request.
#[derive(Debug)]
pub struct Frame {
    pub method: Method,
    /// The path as it was sent, query included; begins with a slash.
    pub target: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// SHA-256 of its bytes, from the first of the request line to the last of the body; to that of the head where the
    /// body was not read.
    pub digest: [u8; 32],
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wants {
    /// No byte of a request is there.
    Request,
    /// The rest of a head.
    Head,
    /// The rest of a body.
    Body,
    /// Nothing: the last refusal was the last answer.
    Nothing,
}

/// Reads the requests of one connection.
pub struct Reader {
    bounds: Bounds,
    /// What was read and is not taken yet.
    bytes: BytesMut,
    stage: Stage,
}

enum Stage {
    /// Within a head: where the line begins that is not whole yet, and how far it was looked through.
    Head {
        line: usize,
        seen: usize,
    },
    /// Within a body of so many bytes, after a head of so many.
    Body(Box<Head>, usize, usize),
    Over,
}

const FIRST: Stage = Stage::Head { line: 0, seen: 0 };

impl Reader {
    /// Nothing was read yet.
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds, bytes: BytesMut::new(), stage: FIRST }
    }

    /// From now on these bounds hold, for a head that has begun too. A body is held to those that held when its head was read.
    pub fn hold_to(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    /// Where what is read is put, behind what is there.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.bytes
    }

    /// What [`Reader::next_frame`] waits for, once it has said that nothing is whole.
    pub fn wants(&self) -> Wants {
        match self.stage {
            Stage::Head { .. } if self.bytes.is_empty() => Wants::Request,
            Stage::Head { .. } => Wants::Head,
            Stage::Body(..) => Wants::Body,
            Stage::Over => Wants::Nothing,
        }
    }

    /// The next request; `None` while it is not whole.
    ///
    /// # Errors
    ///
    /// What was read is no request. Where that does not close, it was taken off the stream, and the next can be asked for.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, Refused> {
        let next = self.advance();
        if next.as_ref().is_err_and(|refused| refused.closes) {
            self.stage = Stage::Over;
        }
        // An idle connection holds no memory, and nobody reads what follows a refusal that closes.
        if self.bytes.is_empty() || matches!(self.stage, Stage::Over) {
            self.bytes = BytesMut::new();
        }
        next
    }

    /// What is told where the rest of a body does not come in time: the last answer.
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

    /// Where the head ends, once it does. Errors are found in the order of the stream, so that it does not matter how it
    /// was cut into pieces.
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

/// A refusal of what is not read any further than its head, with what that asks.
fn cut_off(head: Head, bytes: Bytes, refused: Refused) -> Refused {
    let start = bytes.len();
    let frame = taken(head, bytes, start).map_or_else(|line| line.frame, |frame| Some(Box::new(frame)));
    Refused { frame, ..refused }
}

/// The request that these bytes are, of which `start` are the head.
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
