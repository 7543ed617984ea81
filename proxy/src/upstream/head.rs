//! An answer's head, as it was sent: nothing is copied out of what was read.
//!
//! It is read by the parser that the library uses, as kindly as the library does.

use std::{mem::MaybeUninit, ops::Range};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, StatusCode, Version};
use httparse::{Header, ParserConfig, Status};
use pingora::{
    ErrorType, OrErr, Result,
    http::{ResponseHeader, header_value_from_raw},
};

use super::matters::Matters;
use crate::framing::answer::Lines;

/// Headers of an answer at most.
const MOST: usize = 256;
/// As many are looked at without room being made for them.
const USUAL: usize = 32;

/// An answer's head, as it was sent.
pub struct Head {
    bytes: Bytes,
    fields: Vec<Field>,
    /// How long the names are, as bits: most that are looked for are not there, and none is as long.
    lengths: u64,
    reason: Range<usize>,
    /// From 100 on.
    pub status: StatusCode,
    pub(super) version: Version,
}

/// Where a line stands.
struct Field {
    name: Range<usize>,
    value: Range<usize>,
    matters: Option<Matters>,
}

/// A line of a head.
pub struct Line<'a> {
    pub name: &'a [u8],
    pub value: &'a [u8],
    /// Both as they were sent.
    pub whole: &'a [u8],
    pub matters: Option<Matters>,
}

impl Head {
    /// Its lines, in their order.
    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let bytes = &self.bytes;
        self.fields.iter().map(|Field { name, value, matters }| Line {
            name: &bytes[name.clone()],
            value: &bytes[value.clone()],
            whole: bytes.get(name.start..value.end).unwrap_or_default(),
            matters: *matters,
        })
    }

    /// A map of those lines that are to be kept, and room for some more.
    pub fn map(&self, room: usize, mut keep: impl FnMut(&Line<'_>) -> bool) -> Result<HeaderMap> {
        let mut map = HeaderMap::with_capacity(self.fields.len() + room);
        for Line { name, value, .. } in self.lines().filter(|line| keep(line)) {
            let name = HeaderName::from_bytes(name).or_err(ErrorType::InvalidHTTPHeader, "a header without a name")?;
            map.append(name, header_value_from_raw(self.bytes.slice_ref(value)));
        }
        Ok(map)
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

    /// The values of all lines that matter so.
    fn mattering(&self, so: Matters) -> impl DoubleEndedIterator<Item = &[u8]> {
        let fields = self.fields.iter().filter(move |field| field.matters == Some(so));
        fields.map(|field| &self.bytes[field.value.clone()])
    }

    /// The words after the status.
    pub fn reason(&self) -> &[u8] {
        &self.bytes[self.reason.clone()]
    }

    /// All of it as the library has it. `cased`: its names are to be seen as they were written.
    pub fn whole(&self, cased: bool) -> Result<ResponseHeader> {
        let room = Some(self.fields.len() + 4);
        let mut whole = match cased {
            true => ResponseHeader::build(self.status, room)?,
            false => ResponseHeader::build_no_case(self.status, room)?,
        };
        whole.set_version(self.version);
        let reason =
            std::str::from_utf8(self.reason()).or_err(ErrorType::InvalidHTTPHeader, "the reason is no text")?;
        whole.set_reason_phrase(Some(reason))?;
        for Field { name, value, .. } in &self.fields {
            let value = header_value_from_raw(self.bytes.slice(value.clone()));
            whole.append_header(self.bytes.slice(name.clone()), value)?;
        }
        Ok(whole)
    }
}

impl Lines for Head {
    fn codings(&self) -> impl Iterator<Item = &[u8]> {
        self.mattering(Matters::Coding)
    }

    fn lengths(&self) -> impl Iterator<Item = &[u8]> {
        self.mattering(Matters::Length)
    }

    fn options(&self) -> impl Iterator<Item = &[u8]> {
        self.mattering(Matters::Connection)
    }
}

/// Takes a head from the beginning of what was read, if it is all there.
pub(super) fn take(buf: &mut BytesMut) -> Result<Option<Head>> {
    let Some((length, mut head)) = parse(buf)? else { return Ok(None) };
    head.bytes = buf.split_to(length).freeze();
    Ok(Some(head))
}

/// A head and its length; its bytes are still to be put in.
fn parse(buf: &[u8]) -> Result<Option<(usize, Head)>> {
    match parse_into(buf, &mut [const { MaybeUninit::uninit() }; USUAL]) {
        Err(httparse::Error::TooManyHeaders) => parse_into(buf, &mut [const { MaybeUninit::uninit() }; MOST]),
        parsed => parsed,
    }
    .or_err(ErrorType::InvalidHTTPHeader, "the answer's head is not HTTP")
}

/// What stands for a name's length.
fn bit(length: usize) -> u64 {
    1 << (length % u64::BITS as usize)
}

fn parse_into<'b>(
    buf: &'b [u8],
    headers: &mut [MaybeUninit<Header<'b>>],
) -> Result<Option<(usize, Head)>, httparse::Error> {
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
        Field { name: range(name), value: range(header.value), matters: Matters::of(name) }
    }));
    let head = Head {
        bytes: Bytes::new(),
        lengths: fields.iter().fold(0, |bits, field| bits | bit(field.name.len())),
        fields,
        reason: read.reason.filter(|reason| !reason.is_empty()).map_or(0..0, |reason| range(reason.as_bytes())),
        status,
        version: if read.version == Some(1) { Version::HTTP_11 } else { Version::HTTP_10 },
    };
    Ok(Some((length, head)))
}
