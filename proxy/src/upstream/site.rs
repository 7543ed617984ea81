//! The site's side of a plain request: its bytes go up, and the answer is read as the bytes come.
//!
//! Heads are read by the parser that the library uses, as kindly as it does; nothing is copied out of what was read.

use std::{mem::MaybeUninit, ops::Range, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{Method, StatusCode, Version};
use httparse::{Header, ParserConfig, Status};
use pingora::{
    Error, ErrorType, OrErr, Result,
    http::{ResponseHeader, header_value_from_raw},
    prelude::timeout,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{chunks::Chunks, kept::Plain};
use crate::answer::is_bodiless;

/// What is read at once: a head, and most bodies with it.
const READ: usize = 64 * 1024;
/// Room below which there is more made.
const LEAST: usize = 4 * 1024;
/// The longest head, in bytes; more than one read over it ends the request.
const LONGEST_HEAD: usize = 1 << 20;
/// Headers of an answer at most.
const MOST: usize = 256;
/// As many are looked at without room being made for them.
const USUAL: usize = 32;

/// How the end of a body is known (RFC 9112 §6.3).
#[derive(Debug)]
enum Body {
    /// So many bytes are left.
    Length(u64),
    Chunked(Chunks),
    /// With the connection.
    Close,
}

/// One request to a site.
pub struct Site {
    plain: Plain,
    patience: Duration,
    buf: BytesMut,
    body: Body,
    keeps: bool,
}

/// An answer's head, as it was sent.
pub struct Head {
    bytes: Bytes,
    fields: Vec<(Range<usize>, Range<usize>)>,
    reason: Range<usize>,
    pub status: StatusCode,
    version: Version,
}

impl Site {
    pub fn new(plain: Plain, patience: Duration) -> Self {
        Self { plain, patience, buf: BytesMut::new(), body: Body::Length(0), keeps: false }
    }

    /// Sends a request, or a part of one.
    pub async fn ask(&mut self, part: &[u8]) -> Result<()> {
        let sent = timeout(self.patience, self.plain.tcp.write_all(part)).await;
        sent.or_err(ErrorType::WriteTimedout, "asking").and_then(|sent| sent.or_err(ErrorType::WriteError, "asking"))
    }

    /// Reads until there is a whole head, of an interim answer perhaps.
    pub async fn head(&mut self) -> Result<Head> {
        loop {
            if !self.buf.is_empty()
                && let Some((length, mut head)) = parse(&self.buf)?
            {
                head.bytes = self.buf.split_to(length).freeze();
                return Ok(head);
            }
            if self.buf.len() > LONGEST_HEAD {
                return Error::e_explain(ErrorType::InvalidHTTPHeader, "the answer's head is too long");
            }
            if self.read(READ).await? == 0 {
                let had = self.buf.len();
                return Error::e_explain(ErrorType::ConnectionClosed, format!("after {had} bytes of an answer's head"));
            }
        }
    }

    /// Settles how the body of the answer that was read is framed.
    pub fn expect(&mut self, method: &Method, head: &Head) -> Result<()> {
        let framing = head.framing()?;
        let bodiless = *method == Method::HEAD || is_bodiless(head.status);
        self.keeps = head.is_kept(&framing, bodiless);
        self.body = match framing {
            _ if bodiless => Body::Length(0),
            Framing::Length(length) => Body::Length(length),
            Framing::Chunked => Body::Chunked(Chunks::default()),
            Framing::Close => Body::Close,
        };
        Ok(())
    }

    /// Whether the body has been read to its end.
    pub fn is_done(&self) -> bool {
        match &self.body {
            Body::Length(left) => *left == 0,
            Body::Chunked(chunks) => chunks.is_done(),
            Body::Close => false,
        }
    }

    /// The next part of the body; `None` at its end, where only the end of the connection told of it.
    pub async fn part(&mut self) -> Result<Option<Bytes>> {
        loop {
            if !self.buf.is_empty() {
                match &mut self.body {
                    Body::Length(left) => {
                        let here = usize::try_from(*left).map_or(self.buf.len(), |left| left.min(self.buf.len()));
                        *left -= here as u64;
                        return Ok(Some(self.buf.split_to(here).freeze()));
                    }
                    Body::Close => return Ok(Some(self.buf.split().freeze())),
                    Body::Chunked(chunks) => {
                        let part = chunks.take(&mut self.buf)?;
                        if !part.is_empty() || chunks.is_done() {
                            return Ok(Some(part));
                        }
                    }
                }
            }
            let most = match &self.body {
                Body::Length(left) => usize::try_from(*left).map_or(READ, |left| left.min(READ)),
                Body::Chunked(_) | Body::Close => READ,
            };
            if self.read(most).await? == 0 {
                if matches!(self.body, Body::Close) {
                    self.body = Body::Length(0);
                    return Ok(None);
                }
                return Error::e_explain(ErrorType::ConnectionClosed, "in the middle of an answer's body");
            }
        }
    }

    /// The connection, if the site keeps it and nothing is left on it.
    pub fn kept(self) -> Option<Plain> {
        (self.keeps && self.is_done() && self.buf.is_empty()).then_some(self.plain)
    }

    /// There is room only while it is filled: whoever waits for a slow site holds nothing but the socket.
    async fn read(&mut self, most: usize) -> Result<usize> {
        let Self { plain: Plain { tcp, alarm, .. }, buf, patience, .. } = self;
        let reading = async {
            std::future::poll_fn(|cx| tcp.poll_read_ready(cx)).await?;
            if buf.is_empty() && buf.capacity() < most {
                *buf = BytesMut::with_capacity(most);
            } else if buf.capacity() - buf.len() < LEAST {
                buf.reserve(most);
            }
            tcp.read_buf(buf).await
        };
        tokio::select! {
            biased;
            read = reading => read.or_err(ErrorType::ReadError, "reading an answer"),
            () = alarm.within(*patience) => Error::e_explain(ErrorType::ReadTimedout, "reading an answer"),
        }
    }
}

/// How the end of the body is known, before it is known whose answer it is.
enum Framing {
    Length(u64),
    Chunked,
    Close,
}

impl Head {
    /// Name and value of each line, and both as they were sent.
    pub fn lines(&self) -> impl Iterator<Item = (&[u8], &[u8], &[u8])> {
        let bytes = &self.bytes;
        let whole = |name: &Range<usize>, value: &Range<usize>| bytes.get(name.start..value.end).unwrap_or_default();
        let fields = self.fields.iter();
        fields.map(move |(name, value)| (&bytes[name.clone()], &bytes[value.clone()], whole(name, value)))
    }

    /// A part of it, for whoever keeps it.
    pub fn shared(&self, part: &[u8]) -> Bytes {
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
        let fields = self.fields.iter().filter(move |(n, _)| self.bytes[n.clone()].eq_ignore_ascii_case(name));
        fields.map(|(_, value)| &self.bytes[value.clone()])
    }

    /// The words after the status.
    pub fn reason(&self) -> &[u8] {
        &self.bytes[self.reason.clone()]
    }

    /// As the library has it: a transfer coding wins over a length, and one that does not end with `chunked` ends with
    /// the connection. Lengths that differ, or are none, frame nothing.
    fn framing(&self) -> Result<Framing> {
        if let Some(codings) = self.values(b"transfer-encoding").next_back() {
            let last = codings.rsplit(|byte| *byte == b',').next().unwrap_or_default();
            let chunked = last.trim_ascii().eq_ignore_ascii_case(b"chunked");
            return Ok(if chunked { Framing::Chunked } else { Framing::Close });
        }
        let mut lengths = self.values(b"content-length").flat_map(|value| value.split(|byte| *byte == b','));
        let Some(first) = lengths.next() else { return Ok(Framing::Close) };
        let length = digits(first).filter(|length| lengths.all(|other| digits(other) == Some(*length)));
        let length = length.ok_or_else(|| Error::explain(ErrorType::InvalidHTTPHeader, "no valid Content-Length"))?;
        Ok(Framing::Length(length))
    }

    /// Whether the site keeps the connection after this (RFC 9112 §9.3).
    fn is_kept(&self, framing: &Framing, bodiless: bool) -> bool {
        let says = |what: &[u8]| {
            let mut tokens = self.values(b"connection").flat_map(|value| value.split(|byte| *byte == b','));
            tokens.any(|token| token.trim_ascii().eq_ignore_ascii_case(what))
        };
        match self.version {
            _ if matches!(framing, Framing::Close) && !bodiless => false,
            Version::HTTP_11 => !says(b"close"),
            _ => says(b"keep-alive") && !matches!(framing, Framing::Chunked),
        }
    }

    /// The same as the library has it. `cased`: its names are to be seen as they were written.
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
        for (name, value) in &self.fields {
            let value = header_value_from_raw(self.bytes.slice(value.clone()));
            whole.append_header(self.bytes.slice(name.clone()), value)?;
        }
        if whole.headers.contains_key(http::header::TRANSFER_ENCODING) {
            whole.remove_header(&http::header::CONTENT_LENGTH);
        }
        Ok(whole)
    }
}

/// A head and its length, if it is all there; its bytes are still to be put in.
fn parse(buf: &[u8]) -> Result<Option<(usize, Head)>> {
    match parse_into(buf, &mut [const { MaybeUninit::uninit() }; USUAL]) {
        Err(httparse::Error::TooManyHeaders) => parse_into(buf, &mut [const { MaybeUninit::uninit() }; MOST]),
        parsed => parsed,
    }
    .or_err(ErrorType::InvalidHTTPHeader, "the answer's head is not HTTP")
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
    let fields = read.headers.iter().filter(|header| !header.name.is_empty());
    let head = Head {
        bytes: Bytes::new(),
        fields: fields.map(|header| (range(header.name.as_bytes()), range(header.value))).collect(),
        reason: read.reason.filter(|reason| !reason.is_empty()).map_or(0..0, |reason| range(reason.as_bytes())),
        status,
        version: if read.version == Some(1) { Version::HTTP_11 } else { Version::HTTP_10 },
    };
    Ok(Some((length, head)))
}

/// A length as it may be written: digits, and nothing else.
pub fn digits(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let value = |so_far: u64, byte: &u8| so_far.checked_mul(10)?.checked_add(digit(byte)?);
    (!text.is_empty()).then(|| text.iter().try_fold(0, value))?
}
