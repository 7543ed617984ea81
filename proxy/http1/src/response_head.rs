//! The head of a response, as it was sent: nothing is copied out of what was read.
//!
//! It is read by the parser that pingora uses, as kindly as pingora does.

use std::{mem::MaybeUninit, ops::Range};

use bytes::{Bytes, BytesMut};
use http::{StatusCode, Version};
use httparse::{Header, ParserConfig, Status};

use crate::{Malformed, field::FieldClass, framing::Lines};

/// Lines of a head at most.
const MOST: usize = 256;
/// As many are looked at without room being made for them.
const USUAL: usize = 32;

/// The head of a response, as it was sent.
#[derive(Debug)]
pub struct ResponseHead {
    bytes: Bytes,
    fields: Vec<Field>,
    /// How long the names are, as bits: most that are looked for are not there, and none is as long.
    lengths: u64,
    reason: Range<usize>,
    /// From 100 on.
    pub status: StatusCode,
    pub version: Version,
}

/// Where a line stands.
#[derive(Debug)]
struct Field {
    name: Range<usize>,
    value: Range<usize>,
    class: Option<FieldClass>,
}

/// A line of a head.
pub struct Line<'a> {
    pub name: &'a [u8],
    pub value: &'a [u8],
    /// Both as they were sent.
    pub whole: &'a [u8],
    pub class: Option<FieldClass>,
}

impl ResponseHead {
    /// Its lines, in their order.
    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let bytes = &self.bytes;
        self.fields.iter().map(|Field { name, value, class }| Line {
            name: &bytes[name.clone()],
            value: &bytes[value.clone()],
            whole: bytes.get(name.start..value.end).unwrap_or_default(),
            class: *class,
        })
    }

    /// How many lines it has.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether it has no line.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// A part of one of its lines, without a copy.
    pub fn share(&self, part: &[u8]) -> Bytes {
        self.bytes.slice_ref(part)
    }

    /// Whether a line of it goes on in the next one (RFC 9112 §5.2), which not everybody can unfold.
    pub fn is_folded(&self) -> bool {
        let next = self.bytes.iter().skip(1);
        // All of it at once, without an early end: so it is looked at many bytes at a time.
        self.bytes.iter().zip(next).fold(false, |found, (a, b)| found | (*a == b'\n') & matches!(b, b' ' | b'\t'))
    }

    /// The values of all lines with this name, which is in small letters.
    pub fn values<'a>(&'a self, name: &'a [u8]) -> impl DoubleEndedIterator<Item = &'a [u8]> {
        let may_be = self.lengths & bit(name.len()) != 0;
        let fields = if may_be { &self.fields[..] } else { &[] };
        let fields = fields.iter().filter(move |field| self.bytes[field.name.clone()].eq_ignore_ascii_case(name));
        fields.map(|field| &self.bytes[field.value.clone()])
    }

    /// The values of all lines of one class.
    fn of_class(&self, class: FieldClass) -> impl Iterator<Item = &[u8]> {
        let fields = self.fields.iter().filter(move |field| field.class == Some(class));
        fields.map(|field| &self.bytes[field.value.clone()])
    }

    /// The words after the status.
    pub fn reason(&self) -> &[u8] {
        &self.bytes[self.reason.clone()]
    }
}

impl Lines for ResponseHead {
    fn codings(&self) -> impl Iterator<Item = &[u8]> {
        self.of_class(FieldClass::TransferEncoding)
    }

    fn lengths(&self) -> impl Iterator<Item = &[u8]> {
        self.of_class(FieldClass::ContentLength)
    }

    fn options(&self) -> impl Iterator<Item = &[u8]> {
        self.of_class(FieldClass::Connection)
    }
}

/// Takes a head from the beginning of what was read, if it is all there.
///
/// # Errors
///
/// Why it is no head.
pub(crate) fn take(buf: &mut BytesMut) -> Result<Option<ResponseHead>, Malformed> {
    let Some((length, mut head)) = parse(buf)? else { return Ok(None) };
    head.bytes = buf.split_to(length).freeze();
    Ok(Some(head))
}

/// A head and its length; its bytes are still to be put in.
fn parse(buf: &[u8]) -> Result<Option<(usize, ResponseHead)>, httparse::Error> {
    match parse_into(buf, &mut [const { MaybeUninit::uninit() }; USUAL]) {
        Err(httparse::Error::TooManyHeaders) => parse_into(buf, &mut [const { MaybeUninit::uninit() }; MOST]),
        parsed => parsed,
    }
}

/// What stands for a name's length.
fn bit(length: usize) -> u64 {
    1 << (length % u64::BITS as usize)
}

fn parse_into<'b>(
    buf: &'b [u8],
    headers: &mut [MaybeUninit<Header<'b>>],
) -> Result<Option<(usize, ResponseHead)>, httparse::Error> {
    let mut parser = ParserConfig::default();
    parser.allow_spaces_after_header_name_in_responses(true);
    parser.allow_obsolete_multiline_headers_in_responses(true);
    let mut read = httparse::Response::new(&mut []);
    let parsed = parser.parse_response_with_uninit_headers(&mut read, buf, headers)?;
    let Status::Complete(length) = parsed else { return Ok(None) };
    let range = |part: &[u8]| {
        let start = part.as_ptr() as usize - buf.as_ptr() as usize;
        start..start + part.len()
    };
    let status = StatusCode::from_u16(read.code.unwrap_or_default()).map_err(|_| httparse::Error::Status)?;
    let mut fields = Vec::with_capacity(read.headers.len());
    let named = read.headers.iter().filter(|header| !header.name.is_empty());
    fields.extend(named.map(|header| {
        let name = header.name.as_bytes();
        Field { name: range(name), value: range(header.value), class: FieldClass::of(name) }
    }));
    let head = ResponseHead {
        bytes: Bytes::new(),
        lengths: fields.iter().fold(0, |bits, field| bits | bit(field.name.len())),
        fields,
        reason: read.reason.filter(|reason| !reason.is_empty()).map_or(0..0, |reason| range(reason.as_bytes())),
        status,
        version: if read.version == Some(1) { Version::HTTP_11 } else { Version::HTTP_10 },
    };
    Ok(Some((length, head)))
}
