//! Parsing, refusals and replies, byte for byte.

mod fuzz_properties;
mod read;
mod refuse;
mod write;

use bytes::BytesMut;

use super::{Bounds, Frame, Reader, Refused};

const BOUNDS: Bounds = Bounds { head: 1024, body: 64 };

/// A reader that was fed these bytes.
fn fed(bytes: impl AsRef<[u8]>) -> Reader {
    let mut reader = Reader::new(BOUNDS);
    reader.buffer().extend_from_slice(bytes.as_ref());
    reader
}

/// The first request.
fn frame(bytes: impl AsRef<[u8]>) -> Frame {
    fed(bytes).next_frame().expect("a request").expect("a whole one")
}

/// The refusal of the first request.
fn refused(bytes: impl AsRef<[u8]>) -> Refused {
    fed(&bytes).next_frame().expect_err(&String::from_utf8_lossy(bytes.as_ref()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// The bytes of a reply.
fn written(reply: &frontdesk_base::Reply) -> String {
    let mut out = BytesMut::new();
    super::write(reply, &mut out);
    String::from_utf8(out.to_vec()).expect("text")
}
