//! An HTTP/2 client that writes raw frames, valid or not, and returns what it receives.
//!
//! A library client cannot break the rules. This one knows only the layout of a frame.

use super::wire::Wire;
use super::{SOON, soon};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;

pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The frame types (RFC 9113 §6).
pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const PRIORITY: u8 = 2;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PUSH_PROMISE: u8 = 5;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

/// END_STREAM on DATA and HEADERS; ACK on SETTINGS and PING.
pub const END: u8 = 1;
pub const END_HEADERS: u8 = 4;
pub const PADDED: u8 = 8;
pub const HAS_PRIORITY: u8 = 32;

/// The error codes that the tests use (RFC 9113 §7).
pub const PROTOCOL_ERROR: u32 = 1;
pub const FLOW_CONTROL_ERROR: u32 = 3;
pub const STREAM_CLOSED: u32 = 5;
pub const FRAME_SIZE_ERROR: u32 = 6;
pub const COMPRESSION_ERROR: u32 = 9;
pub const ENHANCE_YOUR_CALM: u32 = 11;

/// A received frame.
#[derive(Clone, Debug)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

/// The end of a stream, or of the connection before it.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    Answered(u16, String),
    Reset(u32),
    GoAway(u32),
    /// Closed without a frame.
    Closed,
    /// Nothing within the given time.
    Silent,
}

impl Fate {
    /// Whether the stream was refused.
    pub fn is_no(&self) -> bool {
        !matches!(self, Fate::Silent) && !matches!(self, Fate::Answered(..=399, _))
    }
}

pub struct FramesH2 {
    wire: Wire,
}

/// A frame with its correct length.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: impl AsRef<[u8]>) -> Vec<u8> {
    let payload = payload.as_ref();
    headed(payload.len(), kind, flags, stream, payload)
}

/// A frame with any length field.
pub fn headed(length: usize, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(length).expect("a length").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Fields in HPACK, all literal and not indexed, with any bytes.
pub fn block(fields: &[(&[u8], &[u8])]) -> Vec<u8> {
    fn text(into: &mut Vec<u8>, bytes: &[u8]) {
        match u8::try_from(bytes.len()) {
            Ok(short @ ..127) => into.push(short),
            _ => {
                into.push(127);
                let mut rest = bytes.len() - 127;
                while rest >= 128 {
                    into.push(u8::try_from(rest % 128).expect("7 bits") | 128);
                    rest /= 128;
                }
                into.push(u8::try_from(rest).expect("7 bits"));
            }
        }
        into.extend_from_slice(bytes);
    }
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        text(&mut block, name);
        text(&mut block, value);
    }
    block
}

/// The head of a plain GET.
pub fn get(path: &str) -> Vec<u8> {
    block(&[
        (b":method", b"GET"),
        (b":scheme", b"http"),
        (b":authority", b"site.test"),
        (b":path", path.as_bytes()),
        (b"x-asked-by", b"test"),
    ])
}

impl FramesH2 {
    /// A connection without any bytes sent.
    pub async fn connect(addr: SocketAddr) -> FramesH2 {
        let socket = soon("connecting", TcpStream::connect(addr)).await.expect("a connection");
        socket.set_nodelay(true).expect("TCP_NODELAY");
        FramesH2::over(socket)
    }

    /// A client over an existing stream.
    pub fn over(io: impl super::wire::Io + 'static) -> FramesH2 {
        FramesH2 { wire: Wire::new(io) }
    }

    /// A connection that is ready for streams.
    pub async fn open(addr: SocketAddr) -> FramesH2 {
        let mut conn = FramesH2::connect(addr).await;
        conn.send([PREFACE, &frame(SETTINGS, 0, 0, b"")].concat()).await;
        conn
    }

    /// Writes bytes. A peer that has closed is no error here: the read shows it. False if it takes no more.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        matches!(tokio::time::timeout(SOON, self.wire.write(bytes.as_ref())).await, Ok(Ok(())))
    }

    /// The next frame. Acknowledges settings on the way.
    pub async fn next(&mut self) -> Option<Frame> {
        let mut head = Vec::new();
        self.wire.exactly(9, &mut head, &|_| {}).await.ok()?;
        let number = |bytes: &[u8]| bytes.iter().fold(0u32, |all, b| all << 8 | u32::from(*b));
        let length = usize::try_from(number(&head[..3])).expect("24 bits");
        let mut payload = Vec::new();
        self.wire.exactly(length, &mut payload, &|_| {}).await.ok()?;
        let frame = Frame { kind: head[3], flags: head[4], stream: number(&head[5..]) & 0x7fff_ffff, payload };
        if frame.kind == SETTINGS && frame.flags & END == 0 {
            let _ = self.wire.write(&super::frames_h2::frame(SETTINGS, END, 0, b"")).await;
        }
        Some(frame)
    }

    /// The next frame of this type; `None` if the connection ends first.
    pub async fn next_of(&mut self, kind: u8) -> Option<Frame> {
        loop {
            let frame = soon("a frame", self.next()).await?;
            if frame.kind == kind {
                return Some(frame);
            }
        }
    }

    /// Waits for the end of this stream.
    pub async fn fate(&mut self, stream: u32) -> Fate {
        self.fate_within(stream, SOON).await
    }

    pub async fn fate_within(&mut self, stream: u32, limit: Duration) -> Fate {
        let (mut status, mut body) = (None, Vec::new());
        let told = async {
            while let Some(frame) = self.next().await {
                match frame.kind {
                    GOAWAY if code(&frame, 4) != 0 => return Fate::GoAway(code(&frame, 4)),
                    _ if frame.stream != stream => continue,
                    RST_STREAM if status.is_none() => return Fate::Reset(code(&frame, 0)),
                    HEADERS => status = status.or(Some(status_of(&frame.payload))),
                    DATA => body.extend_from_slice(&frame.payload),
                    _ => {}
                }
                let ended = frame.kind == RST_STREAM || matches!(frame.kind, HEADERS | DATA) && frame.flags & END > 0;
                if let (true, Some(status)) = (ended, status) {
                    return Fate::Answered(status, String::from_utf8_lossy(&body).into_owned());
                }
            }
            Fate::Closed
        };
        tokio::time::timeout(limit, told).await.unwrap_or(Fate::Silent)
    }

    /// Waits for the end of the connection.
    pub async fn end(&mut self, limit: Duration) -> Fate {
        self.fate_within(u32::MAX, limit).await
    }
}

/// The error code at this position of the payload.
fn code(frame: &Frame, at: usize) -> u32 {
    frame.payload.get(at..at + 4).map_or(u32::MAX, |four| u32::from_be_bytes(four.try_into().expect("four bytes")))
}

/// The status at the beginning of a header block: from HPACK's static table, or as digits.
fn status_of(block: &[u8]) -> u16 {
    // A server may first announce its table size.
    let block = &block[block.iter().take_while(|b| **b >> 5 == 1).count()..];
    match block {
        [indexed @ 0x88..=0x8e, ..] => [200, 204, 206, 304, 400, 404, 500][usize::from(indexed - 0x88)],
        [0x48 | 0x08 | 0x18, 3, digits @ ..] => String::from_utf8_lossy(&digits[..3]).parse().expect("three digits"),
        [0x48 | 0x08 | 0x18, size, coded @ ..] if size & 0x80 > 0 => digits(&coded[..usize::from(size & 0x7f)]),
        _ => panic!("a status is expected first: {block:02x?}"),
    }
}

/// Three digits in HPACK's Huffman code: 0 to 2 in five bits, the others in six.
fn digits(coded: &[u8]) -> u16 {
    let bits: Vec<u16> = coded.iter().flat_map(|b| (0..8).rev().map(move |n| u16::from(b >> n & 1))).collect();
    let (mut at, mut number) = (0, 0);
    for _ in 0..3 {
        let take = |count: usize| bits[at..at + count].iter().fold(0, |all, bit| all << 1 | bit);
        let (digit, used) = if take(5) < 3 { (take(5), 5) } else { (take(6) - 0b01_1001 + 3, 6) };
        number = number * 10 + digit;
        at += used;
    }
    number
}
