//! Decodes a chunked body (RFC 9112 §7.1) from what has been read of it.

use bytes::{Buf, Bytes, BytesMut};
use httparse::Status;

use crate::Malformed;

/// The longest line that says how long a chunk is, and all that may come after the last one, in bytes.
const LONGEST_LINE: usize = 8 * 1024;
/// The most bytes of such lines beyond [`FREE_OF_LINE`] each in a whole body: extensions, which nobody uses.
const MOST_EXTENSIONS: usize = 64 * 1024;
/// A size of 16 digits and the line's end.
const FREE_OF_LINE: usize = 18;
/// Chunks that have come together leave together, so many bytes at most.
const TOGETHER: usize = 64 * 1024;

/// Decodes one body.
#[derive(Debug, Default)]
pub struct ChunkDecoder {
    at: At,
    /// Bytes of trailers that were passed over.
    trailed: usize,
    /// Bytes of extensions that were passed over.
    extended: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum At {
    #[default]
    Size,
    /// So many bytes of the chunk are left.
    Data(u64),
    /// The end of the line after a chunk.
    AfterData,
    Trailers,
    Done,
}

impl ChunkDecoder {
    /// Whether the body has been read to its end.
    pub fn is_done(&self) -> bool {
        self.at == At::Done
    }

    /// Takes what is there of the body; empty where that is not enough for any of it. What is wrong after something
    /// that is right is an error the next time.
    ///
    /// # Errors
    ///
    /// Why it is no chunked body.
    pub fn take(&mut self, buf: &mut BytesMut) -> Result<Bytes, Malformed> {
        let mut first = Bytes::new();
        let mut more = BytesMut::new();
        loop {
            match self.step(buf, TOGETHER - more.len()) {
                Ok(Step::Data(part)) if first.is_empty() => first = part.freeze(),
                Ok(Step::Data(part)) => {
                    if more.is_empty() {
                        more.extend_from_slice(&first);
                    }
                    more.extend_from_slice(&part);
                }
                Ok(Step::On) => {}
                Err(e) if first.is_empty() => return Err(e),
                Ok(Step::Stop) | Err(_) => return Ok(if more.is_empty() { first } else { more.freeze() }),
            }
            if more.len() >= TOGETHER {
                return Ok(more.freeze());
            }
        }
    }

    /// One step on, over `most` bytes of data.
    fn step(&mut self, buf: &mut BytesMut, most: usize) -> Result<Step, Malformed> {
        match self.at {
            At::Size => {
                let Some((line, size)) = size(buf)? else { return Ok(Step::Stop) };
                buf.advance(line);
                self.extended += line.saturating_sub(FREE_OF_LINE);
                if self.extended > MOST_EXTENSIONS {
                    return wrong("too many chunk extensions");
                }
                self.at = if size == 0 { At::Trailers } else { At::Data(size) };
            }
            At::Data(left) => {
                let here = usize::try_from(left).map_or(buf.len(), |left| left.min(buf.len())).min(most);
                if here == 0 {
                    return Ok(Step::Stop);
                }
                let left = left - here as u64;
                self.at = if left == 0 { At::AfterData } else { At::Data(left) };
                return Ok(Step::Data(buf.split_to(here)));
            }
            At::AfterData => match buf.get(..2) {
                Some(b"\r\n") => {
                    buf.advance(2);
                    self.at = At::Size;
                }
                Some(_) => return wrong("a chunk is longer than it said"),
                None => return Ok(Step::Stop),
            },
            At::Trailers => {
                let end = memchr::memchr(b'\n', buf);
                self.trailed += end.map_or(0, |end| end + 1);
                if self.trailed + end.map_or(buf.len(), |_| 0) > LONGEST_LINE {
                    return wrong("too much after the last chunk");
                }
                let Some(end) = end else { return Ok(Step::Stop) };
                if matches!(&buf.split_to(end + 1)[..], b"\r\n" | b"\n") {
                    self.at = At::Done;
                }
            }
            At::Done => return Ok(Step::Stop),
        }
        Ok(Step::On)
    }
}

/// What a step led to.
enum Step {
    Data(BytesMut),
    On,
    /// There is nothing more to be read yet.
    Stop,
}

/// The length of the line and the size of the chunk that it begins; `None`: the line is not all there.
fn size(buf: &[u8]) -> Result<Option<(usize, u64)>, Malformed> {
    match buf.first() {
        None => return Ok(None),
        // The parser takes a line without a number for the end.
        Some(first) if !first.is_ascii_hexdigit() => return wrong("a chunk without its size"),
        Some(_) => {}
    }
    match httparse::parse_chunk_size(buf) {
        Ok(Status::Complete(read)) => Ok(Some(read)),
        Ok(Status::Partial) if buf.len() > LONGEST_LINE => wrong("a chunk's size is too long"),
        Ok(Status::Partial) => Ok(None),
        Err(_) => wrong("a chunk's size is no number"),
    }
}

fn wrong<T>(why: &'static str) -> Result<T, Malformed> {
    Err(Malformed::Rule(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All of a body that comes in pieces of `step` bytes, and what is left after it.
    fn read(wire: &[u8], step: usize) -> Result<(Vec<u8>, usize, bool), Malformed> {
        let (mut chunks, mut buf, mut out) = (ChunkDecoder::default(), BytesMut::new(), Vec::new());
        for piece in wire.chunks(step) {
            buf.extend_from_slice(piece);
            while !chunks.is_done() {
                let part = chunks.take(&mut buf)?;
                if part.is_empty() {
                    break;
                }
                out.extend_from_slice(&part);
            }
        }
        Ok((out, buf.len(), chunks.is_done()))
    }

    #[test]
    fn a_body_is_the_same_however_it_comes() {
        let wire = b"5\r\nhello\r\n1;a=\"b\"\r\n \r\n0A\r\n0123456789\r\n0\r\nX: y\r\n\r\nrest";
        for step in 1..wire.len() {
            assert_eq!(read(wire, step).unwrap(), (b"hello 0123456789".to_vec(), 4, true), "{step}");
        }
        let many = [vec![b'x'; TOGETHER], vec![b'y'; 9]]
            .map(|data| [format!("{:x}\r\n", data.len()).as_bytes(), &data, b"\r\n"].concat())
            .concat();
        let (out, _, done) = read(&[&many[..], b"0\r\n\r\n"].concat(), 1 << 20).unwrap();
        assert!(out.len() == TOGETHER + 9 && done);
    }

    #[test]
    fn extensions_are_bounded_in_sum() {
        let chunk = format!("1;{}\r\nx\r\n", "e".repeat(1_000));
        let few = format!("{}0\r\n\r\n", chunk.repeat(60));
        assert_eq!(read(few.as_bytes(), 999).unwrap().0.len(), 60);
        assert!(read(chunk.repeat(80).as_bytes(), 999).is_err());
        let plain = format!("{}0\r\n\r\n", "1\r\nx\r\n".repeat(9_000));
        assert_eq!(read(plain.as_bytes(), 999).unwrap().0.len(), 9_000);
    }

    #[test]
    fn what_is_no_chunk_is_refused() {
        for wire in [
            "\r\n",
            "g\r\n",
            "-1\r\n",
            " 5\r\nhello",
            "5\r\nhello!\r\n",
            "5\rhello",
            "11112222333344445\r\n",
            "0x5\r\n",
        ] {
            assert!(read(wire.as_bytes(), 99).is_err(), "{wire:?}");
        }
        assert!(read(&[b"0\r\n".as_slice(), &b"A: b\r\n".repeat(LONGEST_LINE)].concat(), 999).is_err());
        assert!(read(&[b"5;".as_slice(), &b"a".repeat(LONGEST_LINE)].concat(), 1 << 20).is_err());
        assert!(!read(b"5\r\nhello\r\n0\r\n", 99).unwrap().2);
    }
}
