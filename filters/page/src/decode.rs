//! The decoders, each as one step: some input in, at most one window out.
//!
//! Stepping, not writing into a sink, is what bounds memory: a decoder never gives more than there is room for, so a
//! few bytes that stand for megabytes are met window by window.

use std::io;

use brotli::{BrotliDecompressStream, BrotliResult, BrotliState, enc::StandardAlloc};
use flate2::{Decompress, FlushDecompress};
use zstd::{
    stream::raw::{self, InBuffer, Operation, OutBuffer},
    zstd_safe::DParameter,
};

use super::content_coding::Coding;

/// The largest window a zstd frame may ask for: 8 MiB, as in browsers (RFC 9659).
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// What to do next.
#[derive(Debug, PartialEq)]
pub(super) enum Status {
    /// Step again.
    More,
    /// Nothing more without more input.
    Starved,
}

/// A coding in the flavour that the sender uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Flavour {
    Gzip,
    Zlib,
    RawDeflate,
    Brotli,
    Zstd,
}

type Brotli = BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

enum Inner {
    Flate(Box<Decompress>),
    Brotli(Box<Brotli>, bool),
    Zstd(Box<raw::Decoder<'static>>),
}

/// One body being decoded.
pub(super) struct Decoder {
    flavour: Flavour,
    inner: Inner,
    /// Between two gzip members or zstd frames (and not before the first), or after the end.
    at_end: bool,
    /// What follows the end is nothing of ours.
    ignoring: bool,
    /// Bytes after an end that may begin another member.
    ahead: Vec<u8>,
}

fn corrupt(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl Decoder {
    /// For a body that begins so; `deflate` needs two bytes.
    pub fn new(coding: Coding, first: &[u8]) -> io::Result<Decoder> {
        let flavour = match coding {
            Coding::Gzip => Flavour::Gzip,
            Coding::Deflate if is_zlib(first) => Flavour::Zlib,
            Coding::Deflate => Flavour::RawDeflate,
            Coding::Brotli => Flavour::Brotli,
            Coding::Zstd => Flavour::Zstd,
            Coding::Identity => return Err(corrupt("nothing to decode")),
        };
        Ok(Decoder { flavour, inner: inner(flavour)?, at_end: false, ignoring: false, ahead: Vec::new() })
    }

    pub fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// Would the body be complete if it ended here?
    pub fn complete(&self) -> bool {
        self.at_end || self.ignoring
    }

    /// How much input was taken, how much output was given, and how to go on.
    pub fn step(&mut self, input: &[u8], out: &mut [u8]) -> io::Result<(usize, usize, Status)> {
        if self.ignoring {
            return Ok((input.len(), 0, Status::Starved));
        }
        if self.at_end {
            return self.between(input);
        }
        if !self.ahead.is_empty() {
            // The beginning of a member that was looked at, but not decoded yet; it gives no output.
            let ahead = std::mem::take(&mut self.ahead);
            self.inner_step(&ahead, out)?;
        }
        let (taken, given, end) = self.inner_step(input, out)?;
        self.at_end = end;
        let full = given == out.len();
        let status = if full || (end && taken < input.len()) || taken < input.len() && (taken > 0 || given > 0) {
            Status::More
        } else if taken < input.len() {
            return Err(corrupt("no progress"));
        } else {
            Status::Starved
        };
        Ok((taken, given, status))
    }

    /// After a member: another one, or something to ignore. Browsers ignore whatever is no member, padding included.
    fn between(&mut self, input: &[u8]) -> io::Result<(usize, usize, Status)> {
        let mut taken = 0;
        while !begins(self.flavour, &self.ahead).unwrap_or(false) {
            let Some(&byte) = input.get(taken) else { return Ok((taken, 0, Status::Starved)) };
            taken += 1;
            self.ahead.push(byte);
            if begins(self.flavour, &self.ahead) == Some(false) {
                self.ignoring = true;
                return Ok((input.len(), 0, Status::Starved));
            }
        }
        self.inner = inner(self.flavour)?;
        self.at_end = false;
        Ok((taken, 0, Status::More))
    }

    fn inner_step(&mut self, input: &[u8], out: &mut [u8]) -> io::Result<(usize, usize, bool)> {
        match &mut self.inner {
            Inner::Flate(flate) => {
                let before = (flate.total_in(), flate.total_out());
                let status = flate.decompress(input, out, FlushDecompress::None).map_err(|_| corrupt("deflate"))?;
                let taken = (flate.total_in() - before.0) as usize;
                let given = (flate.total_out() - before.1) as usize;
                Ok((taken, given, status == flate2::Status::StreamEnd))
            }
            Inner::Brotli(state, done) => {
                let (mut left, mut taken) = (input.len(), 0);
                let (mut room, mut given, mut total) = (out.len(), 0, 0);
                let result =
                    BrotliDecompressStream(&mut left, &mut taken, input, &mut room, &mut given, out, &mut total, state);
                match result {
                    BrotliResult::ResultFailure => return Err(corrupt("brotli")),
                    BrotliResult::ResultSuccess => *done = true,
                    BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => {}
                }
                Ok((taken, given, *done))
            }
            Inner::Zstd(zstd) => {
                let mut from = InBuffer::around(input);
                let mut to = OutBuffer::around(out);
                let hint = zstd.run(&mut from, &mut to)?;
                // A hint of 0 after a step that did nothing is only the state before a frame.
                let did = from.pos() > 0 || to.pos() > 0;
                Ok((from.pos(), to.pos(), hint == 0 && did))
            }
        }
    }
}

fn inner(flavour: Flavour) -> io::Result<Inner> {
    Ok(match flavour {
        Flavour::Gzip => Inner::Flate(Box::new(Decompress::new_gzip(15))),
        Flavour::Zlib => Inner::Flate(Box::new(Decompress::new(true))),
        Flavour::RawDeflate => Inner::Flate(Box::new(Decompress::new(false))),
        Flavour::Brotli => {
            let alloc = StandardAlloc::default;
            Inner::Brotli(Box::new(BrotliState::new(alloc(), alloc(), alloc())), false)
        }
        Flavour::Zstd => {
            let mut zstd = raw::Decoder::new()?;
            zstd.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX))?;
            Inner::Zstd(Box::new(zstd))
        }
    })
}

/// Do these bytes begin another member? `None`: too few to tell.
fn begins(flavour: Flavour, ahead: &[u8]) -> Option<bool> {
    let same = |magic: &[u8]| {
        let alike = ahead.iter().zip(magic).all(|(a, b)| a == b);
        if alike && ahead.len() < magic.len() { None } else { Some(alike) }
    };
    match flavour {
        Flavour::Gzip => same(&[0x1f, 0x8b]),
        // A skippable frame, which pzstd puts before each of its own, or a frame.
        Flavour::Zstd if ahead.first().is_some_and(|b| b >> 4 == 5) => same(&[ahead[0], 0x2a, 0x4d, 0x18]),
        Flavour::Zstd => same(&[0x28, 0xb5, 0x2f, 0xfd]),
        _ => Some(false),
    }
}

/// A zlib header: deflate with a window that exists, and a checksum over its two bytes.
fn is_zlib(first: &[u8]) -> bool {
    match first {
        [cmf, flg, ..] => cmf & 0x0f == 8 && cmf >> 4 <= 7 && (u16::from(*cmf) << 8 | u16::from(*flg)) % 31 == 0,
        _ => false,
    }
}
