//! An HTTP/2 client that writes frames by hand, true or not, and shows what comes back.
//!
//! A client that keeps the rules cannot break them; this one knows no rule but the frame's own shape.

use super::wire::Wire;
use super::{SOON, soon};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpStream;

pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The kinds of frames (RFC 9113 §6).
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

/// The codes that are asked for by name (RFC 9113 §7).
pub const PROTOCOL_ERROR: u32 = 1;
pub const FLOW_CONTROL_ERROR: u32 = 3;
pub const STREAM_CLOSED: u32 = 5;
pub const FRAME_SIZE_ERROR: u32 = 6;
pub const COMPRESSION_ERROR: u32 = 9;
pub const ENHANCE_YOUR_CALM: u32 = 11;

/// A frame as it came.
#[derive(Clone, Debug)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

/// What became of a stream, or of the connection before it.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    Answered(u16, String),
    Reset(u32),
    GoAway(u32),
    /// Without a word.
    Closed,
    /// Nothing within the time given.
    Silent,
}

impl Fate {
    /// Neither carried out nor left open.
    pub fn is_no(&self) -> bool {
        !matches!(self, Fate::Silent) && !matches!(self, Fate::Answered(..=399, _))
    }
}

pub struct FramesH2 {
    wire: Wire,
}

/// A frame's bytes, with its true length.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: impl AsRef<[u8]>) -> Vec<u8> {
    let payload = payload.as_ref();
    headed(payload.len(), kind, flags, stream, payload)
}

/// A frame's bytes, with a length that may be a lie.
pub fn headed(length: usize, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(length).expect("a length").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Fields in HPACK, all literal and none remembered, whatever bytes they are of.
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
    /// Connected, and not a word said.
    pub async fn connect(addr: SocketAddr) -> FramesH2 {
        let socket = soon("connecting", TcpStream::connect(addr)).await.expect("a connection");
        socket.set_nodelay(true).expect("TCP_NODELAY");
        FramesH2::over(socket)
    }

    /// Over a stream that somebody else has set up.
    pub fn over(io: impl super::wire::Io + 'static) -> FramesH2 {
        FramesH2 { wire: Wire::new(io) }
    }

    /// Ready for streams.
    pub async fn open(addr: SocketAddr) -> FramesH2 {
        let mut conn = FramesH2::connect(addr).await;
        conn.send([PREFACE, &frame(SETTINGS, 0, 0, b"")].concat()).await;
        conn
    }

    /// Writes; a peer that has gone away is not an error here, the reading tells. False if it takes no more.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        matches!(tokio::time::timeout(SOON, self.wire.write(bytes.as_ref())).await, Ok(Ok(())))
    }

    /// The next frame; settings are agreed to on the way.
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

    /// The next frame of this kind; `None` if the connection ends before.
    pub async fn next_of(&mut self, kind: u8) -> Option<Frame> {
        loop {
            let frame = soon("a frame", self.next()).await?;
            if frame.kind == kind {
                return Some(frame);
            }
        }
    }

    /// What becomes of this stream.
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

    /// What is said at the end, if the connection ends.
    pub async fn end(&mut self, limit: Duration) -> Fate {
        self.fate_within(u32::MAX, limit).await
    }
}

/// The number at this place of the payload.
fn code(frame: &Frame, at: usize) -> u32 {
    frame.payload.get(at..at + 4).map_or(u32::MAX, |four| u32::from_be_bytes(four.try_into().expect("four bytes")))
}

/// The status of an answer, which stands first in its block: from HPACK's table, or in so many digits.
fn status_of(block: &[u8]) -> u16 {
    // A server may first say how large its table is.
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
