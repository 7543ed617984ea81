//! What holds of the frame reader and writer whatever they are fed: one list, for the fuzzer and for the tests.

use bytes::{Buf, BytesMut};
use http::StatusCode;
use ring::digest::{SHA256, digest};

use super::frames::{Bounds, Frame, Reader, Refused, Wants, write};

/// Panics where one of them does not hold. The first byte chooses bounds and pieces, the others are the stream.
pub fn hold(data: &[u8]) {
    let Some((&choice, stream)) = data.split_first() else { return };
    let choice = usize::from(choice);
    let bounds = Bounds { head: [24, 96, 1024, 32 * 1024][choice & 3], body: [0, 8, 256, 64 * 1024][choice >> 2 & 3] };
    let whole = read(bounds, stream, stream.len().max(1));
    assert_eq!(read(bounds, stream, (choice >> 4) + 2), whole, "in pieces");
    assert_eq!(read(bounds, stream, 1), whole, "byte by byte");

    let mut at = 0;
    for event in &whole {
        let (taken, frame) = match event {
            Event::Frame(taken, frame) => (*taken, Some(frame)),
            Event::Refused(taken, _, frame) => (*taken, frame.as_ref()),
            Event::Closed(..) => break,
        };
        let bytes = &stream[at..at + taken];
        at += taken;
        assert_whole(bytes, bounds);
        if let Some(frame) = frame {
            assert_is(frame, bytes);
        }
        if let Event::Frame(_, frame) = event {
            assert!(frame.target.starts_with('/') && frame.target.bytes().all(|b| b.is_ascii_graphic() && b != b'#'));
            assert_eq!(read(bounds, bytes, bytes.len()), [Event::Frame(taken, frame.clone())], "alone as among others");
            assert_written_once(frame);
        }
    }
}

/// What came out of a reader, with how many bytes each took.
#[derive(Debug, PartialEq)]
enum Event {
    Frame(usize, Same),
    Refused(usize, String, Option<Same>),
    Closed(String),
}

/// A frame that can be compared.
#[derive(Debug, PartialEq, Clone)]
struct Same {
    method: http::Method,
    target: String,
    headers: http::HeaderMap,
    body: bytes::Bytes,
    digest: [u8; 32],
}

impl From<Frame> for Same {
    fn from(Frame { method, target, headers, body, digest }: Frame) -> Self {
        Self { method, target, headers, body, digest }
    }
}

/// Feeds the stream in pieces, and only where more is asked for.
fn read(bounds: Bounds, stream: &[u8], piece: usize) -> Vec<Event> {
    let mut reader = Reader::new(bounds);
    let mut events = Vec::new();
    let mut pieces = stream.chunks(piece);
    let mut taken = 0;
    loop {
        let before = reader.buffer().len();
        assert!(before <= bounds.head + bounds.body + piece, "no more is held than a request and a piece");
        let next = reader.next_frame();
        let took = before - reader.buffer().len();
        match next {
            Ok(Some(frame)) => events.push(Event::Frame(took, frame.into())),
            Ok(None) => {
                assert_eq!(took, 0, "nothing is lost while waiting");
                let held = reader.buffer().len();
                match reader.wants() {
                    Wants::Request => assert_eq!(held, 0),
                    Wants::Head => assert!((1..bounds.head).contains(&held)),
                    Wants::Body => assert!(held < bounds.head + bounds.body),
                    Wants::Nothing => panic!("only a refusal ends it"),
                }
                let Some(piece) = pieces.next() else { break };
                reader.buffer().extend_from_slice(piece);
                continue;
            }
            Err(Refused { code, detail, closes, frame, .. }) => {
                let said = format!("{code}: {detail}");
                if closes {
                    assert_eq!((reader.wants(), reader.buffer().len()), (Wants::Nothing, 0));
                    reader.buffer().extend_from_slice(b"AGTP/1.0 QUERY /\r\n\r\n");
                    assert!(matches!(reader.next_frame(), Ok(None)), "nothing follows");
                    events.push(Event::Closed(said));
                    return events;
                }
                events.push(Event::Refused(took, said, frame.map(|frame| (*frame).into())));
            }
        }
        assert!(took > 0, "it goes on");
        taken += took;
    }
    assert_eq!(taken + reader.buffer().len(), stream.len(), "what was taken and what is held is what came");
    events
}

/// The bytes are one head that ends where the first empty line does, and the body that it announces; found here in
/// another way than the reader's.
fn assert_whole(bytes: &[u8], bounds: Bounds) {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    assert!(head.starts_with("agtp/1.0 ") && bytes.starts_with(b"AGTP"));
    assert_eq!(head.matches('\n').count(), head.matches("\r\n").count());
    assert_eq!(head.matches('\r').count(), head.matches("\r\n").count());
    let said: Vec<&str> = head.split("\r\n").filter_map(|line| line.strip_prefix("content-length:")).collect();
    let length = match said[..] {
        [] => 0,
        [length] => length.trim().parse().expect("digits"),
        _ => panic!("two lengths"),
    };
    assert!(!head.contains("\r\ntransfer-encoding:"));
    assert!(end <= bounds.head && length <= bounds.body);
    assert_eq!(bytes.len(), end + length);
}

fn assert_is(frame: &Same, bytes: &[u8]) {
    assert_eq!(frame.digest, digest(&SHA256, bytes).as_ref());
    assert!(bytes.ends_with(&frame.body));
    assert!(bytes[9..].starts_with(frame.method.as_str().as_bytes()));
}

/// Whatever a reply carries, it is one head and one body.
fn assert_written_once(frame: &Same) {
    let headers = frame.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let reply = super::Reply { headers, body: frame.body.clone(), ..super::Reply::empty(StatusCode::OK) };
    let mut out = BytesMut::new();
    write(&reply, &mut out);
    let end = out.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
    assert!(out[..end].ends_with(format!("\r\nContent-Length: {}\r\n\r\n", frame.body.len()).as_bytes()));
    out.advance(end);
    assert_eq!(out, frame.body);
}
