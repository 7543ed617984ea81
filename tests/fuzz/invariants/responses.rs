//! What holds of a site's response, whatever it says: it is read alike however its bytes come, nothing after its end
//! becomes a part of it, a connection with something left on it is not used again, and what goes on to the client has
//! one framing. One list, for the fuzzer and for the tests.

use bytes::BytesMut;
use frontdesk_http1::{
    Body, Framing, ResponseReader, chunk_decoder::ChunkDecoder, chunk_scan::ChunkScan, framing, hop::end_response,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version};

use super::dice::Dice;

/// Panics where one of them does not hold. The first byte chooses which is looked at, the second how.
pub fn hold(data: &[u8]) {
    let [choice, how, rest @ ..] = data else { return };
    let method = if how & 1 == 0 { Method::GET } else { Method::HEAD };
    match choice % 4 {
        0 => comes_in_any_pieces(rest, &method, usize::from(how >> 1) + 1),
        1 => written(&mut Dice(rest), &method, usize::from(how >> 1) + 1),
        2 => chunks(rest, usize::from(*how) + 1),
        _ => goes_on_with_one_framing(&mut Dice(rest), &method),
    }
}

/// How a response was read.
#[derive(Debug, PartialEq)]
struct Read {
    statuses: Vec<u16>,
    body: Vec<u8>,
    /// It was read to its end.
    whole: bool,
    /// How many bytes belong to it.
    length: usize,
    reusable: bool,
}

/// Reads one response from a connection that ends after `wire`, which comes in pieces of `step` bytes.
fn read(wire: &[u8], method: &Method, step: usize) -> Option<Read> {
    let mut reader = ResponseReader::default();
    let mut come = 0_usize;
    let mut more = |reader: &mut ResponseReader, most: usize| {
        let piece = &wire[come..wire.len().min(come.saturating_add(step.min(most).max(1)))];
        reader.buffer().extend_from_slice(piece);
        come += piece.len();
        !piece.is_empty()
    };
    let mut read = Read { statuses: Vec::new(), body: Vec::new(), whole: false, length: 0, reusable: false };
    let head = loop {
        match reader.head().ok()? {
            Some(head) => {
                read.statuses.push(head.status.as_u16());
                if !head.status.is_informational() {
                    break head;
                }
            }
            None if more(&mut reader, usize::MAX) => {}
            None => return Some(read),
        }
    };
    reader.expect(method, &head).ok()?;
    while !reader.is_done() {
        match reader.part().ok()? {
            Some(part) => read.body.extend_from_slice(&part),
            None => {
                let wanted = reader.wanted(usize::MAX);
                if !more(&mut reader, wanted) && !reader.ends_with_connection() {
                    return Some(read);
                }
            }
        }
    }
    let left = reader.buffer().len();
    assert!(!reader.is_reusable() || left == 0, "used again with {left} bytes on it");
    // What was not read at all is on the connection too; the next request that takes it from the pool finds that.
    Some(Read { whole: true, length: come - left, reusable: reader.is_reusable() && come == wire.len(), ..read })
}

fn comes_in_any_pieces(wire: &[u8], method: &Method, step: usize) {
    let (once, pieces) = (read(wire, method, usize::MAX), read(wire, method, step));
    assert_eq!(once.is_none(), pieces.is_none(), "in pieces of {step}");
    if let (Some(once), Some(pieces)) = (&once, &pieces) {
        assert_eq!(once, pieces, "in pieces of {step}");
    }
    // What comes after the end of a whole response changes nothing of it, and the connection is not used again.
    if let Some(once) = once.filter(|once| once.whole && once.length <= wire.len()) {
        let own = &wire[..once.length];
        let after = read(&[own, b"HTTP/1.1 200 OK\r\n\r\nforged"].concat(), method, usize::MAX);
        let after = after.expect("it was read before");
        let until_close = !after.whole || after.length > once.length;
        assert!(until_close || after.body == once.body && !after.reusable, "{after:?} after {once:?}");
    }
}

/// A response that is written by its grammar is read as it was meant, up to its last byte and no further.
fn written(dice: &mut Dice, method: &Method, step: usize) {
    let interim = dice.below(3);
    let (mut wire, mut statuses) = (String::new(), vec![103; interim]);
    for _ in 0..interim {
        wire +=
            dice.of(&["HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", "HTTP/1.1 103 \r\nContent-Length: 9\r\n\r\n"]);
    }
    let (status, bodiless) = dice.of(&[(200, false), (404, false), (204, true), (304, true), (299, false)]);
    statuses.push(status);
    wire += &format!("HTTP/1.1 {status} {}\r\n", dice.of(&["OK", "", "not so good"]));
    for _ in 0..dice.below(4) {
        wire += dice.of(&[
            "X-A: b\r\n",
            "Date: x\r\n",
            "X-Length: 7\r\n",
            "Connection: keep-alive\r\n",
            "X-F: a\r\n\tb\r\n",
        ]);
    }
    let no_body = bodiless || *method == Method::HEAD;
    let body: Vec<u8> = (0..dice.below(40)).map(|_| dice.byte()).collect();
    let mut sent = Vec::new();
    if status != 204 && dice.yes() {
        wire += dice.of(&["Transfer-Encoding: chunked\r\n\r\n", "transfer-encoding: CHUNKED\r\n\r\n"]);
        let size = dice.below(9) + 1;
        for chunk in body.chunks(size) {
            let extension = dice.of(&["", ";a=b", ";a=\"b;c\""]);
            sent.extend_from_slice(format!("{}{:x}{extension}\r\n", dice.of(&["", "0", "00"]), chunk.len()).as_bytes());
            sent.extend_from_slice(chunk);
            sent.extend_from_slice(b"\r\n");
        }
        sent.extend_from_slice(dice.of(&[&b"0\r\n\r\n"[..], b"000;x\r\n\r\n", b"0\r\nX-T: y\r\n\r\n"]));
    } else {
        let length = if status == 204 { 0 } else { body.len() };
        wire += &format!("{}: {length}\r\n\r\n", dice.of(&["Content-Length", "content-LENGTH"]));
        sent.extend_from_slice(&body[..length]);
    }
    let mut wire = wire.into_bytes();
    if !no_body {
        wire.extend_from_slice(&sent);
    }
    let length = wire.len();
    let stray = dice.of(&[&b""[..], b"\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", b"0\r\n\r\n"]);
    wire.extend_from_slice(stray);
    let shown = || wire.escape_ascii().to_string();
    let read = read(&wire, method, step).unwrap_or_else(|| panic!("{} was not read", shown()));
    let body = if no_body { Vec::new() } else { body };
    assert_eq!((read.statuses, read.body, read.length), (statuses, body, length), "{}", shown());
    assert_eq!(read.reusable, stray.is_empty(), "{}", shown());
}

/// What is strictly in order is decoded to the same end.
fn chunks(wire: &[u8], step: usize) {
    let mut scan = ChunkScan::default();
    let scanned = scan.scan(wire);
    let (mut decoder, mut buf, mut body, mut come) = (ChunkDecoder::default(), BytesMut::new(), Vec::new(), 0);
    let decoded = loop {
        match decoder.take(&mut buf) {
            Err(e) => break Err(e),
            Ok(part) => body.extend_from_slice(&part),
        }
        if decoder.is_done() || come == wire.len() {
            break Ok(come - buf.len());
        }
        let piece = &wire[come..wire.len().min(come + step)];
        buf.extend_from_slice(piece);
        come += piece.len();
    };
    if let (Ok(length), true) = (scanned, scan.is_done()) {
        assert!(decoder.is_done() && decoded == Ok(length), "{:?}: {decoded:?}, not {length}", wire.escape_ascii());
        assert!(body.len() <= length);
    }
}

/// What goes on to the client has one framing, and it is the one that was decided.
fn goes_on_with_one_framing(dice: &mut Dice, method: &Method) {
    let mut head = HeaderMap::new();
    for _ in 0..dice.below(6) {
        let name =
            dice.of(&["content-length", "transfer-encoding", "connection", "keep-alive", "trailer", "x-a", "upgrade"]);
        let value =
            dice.of(&["5", "5, 5", "0", "x", "", "chunked", "Chunked", "chunked, chunked", "identity", "close", "x-a"]);
        head.append(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let status = dice.of(&[StatusCode::OK, StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED, StatusCode::EARLY_HINTS]);
    let version = dice.of(&[Version::HTTP_11, Version::HTTP_10]);
    let Ok(decided) = framing::of(method, status, version, &head) else { return };
    let mut passed = head.clone();
    end_response(&mut passed, status, decided, false).expect("there is room");
    let again = framing::of(method, status, Version::HTTP_11, &passed);
    assert_eq!(again.map(|framing: Framing| framing.body), Ok(decided.body), "{head:?} became {passed:?}");
    let (lengths, codings) = (passed.get_all("content-length").iter(), passed.get_all("transfer-encoding").iter());
    assert!(lengths.count() + codings.count() <= 1, "{passed:?}");
    assert!(!passed.contains_key("connection") && !passed.contains_key("trailer"), "{passed:?}");
    assert!(decided.body != Body::UntilClose || !decided.keeps, "nobody would know the end");
}
