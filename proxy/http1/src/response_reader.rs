//! Reads a whole response as its bytes come: its head, how its body is framed, its body, and whether the connection can
//! carry another request after it.
//!
//! The owner of the connection puts bytes into [`ResponseReader::buffer`] and asks again.

use bytes::{Bytes, BytesMut};
use http::Method;

use crate::{Body, Framing, Malformed, ResponseHead, chunk_decoder::ChunkDecoder, framing, response_head::take};

/// The longest head, in bytes; more than one read over it ends the request.
const LONGEST_HEAD: usize = 1 << 20;

/// How much of a body is still to come.
#[derive(Debug)]
enum Rest {
    /// So many bytes.
    Length(u64),
    Chunked(ChunkDecoder),
    /// Whatever comes until the connection ends.
    UntilClose,
}

/// Reads one response.
#[derive(Debug)]
pub struct ResponseReader {
    buf: BytesMut,
    rest: Rest,
    keeps: bool,
    is_bodiless: bool,
}

impl Default for ResponseReader {
    fn default() -> Self {
        Self { buf: BytesMut::new(), rest: Rest::Length(0), keeps: false, is_bodiless: false }
    }
}

impl ResponseReader {
    /// What has been read and not taken yet. What comes next is put behind it.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buf
    }

    /// Takes the next head, of an interim response perhaps. `None`: it is not all there.
    ///
    /// # Errors
    ///
    /// Why it is no head.
    pub fn head(&mut self) -> Result<Option<ResponseHead>, Malformed> {
        if !self.buf.is_empty()
            && let Some(head) = take(&mut self.buf)?
        {
            return Ok(Some(head));
        }
        match self.buf.len() > LONGEST_HEAD {
            true => Err(Malformed::Rule("the answer's head is too long")),
            false => Ok(None),
        }
    }

    /// Settles how the body that follows a head is framed. Call it once, with the head that is not an interim one.
    ///
    /// # Errors
    ///
    /// Why the body could be framed in more than one way.
    pub fn expect(&mut self, method: &Method, head: &ResponseHead) -> Result<Framing, Malformed> {
        let framing = framing::of(method, head.status, head.version, head)?;
        self.keeps = framing.keeps;
        self.is_bodiless = framing.body == Body::Absent;
        self.rest = match framing.body {
            Body::Absent => Rest::Length(0),
            Body::Length(length) => Rest::Length(length),
            Body::Chunked => Rest::Chunked(ChunkDecoder::default()),
            Body::UntilClose => Rest::UntilClose,
        };
        Ok(framing)
    }

    /// Whether the response has no body by its status or by the request's method. Some sites send one all the same.
    pub fn is_bodiless(&self) -> bool {
        self.is_bodiless
    }

    /// Whether the body has been read to its end.
    pub fn is_done(&self) -> bool {
        match &self.rest {
            Rest::Length(left) => *left == 0,
            Rest::Chunked(chunks) => chunks.is_done(),
            Rest::UntilClose => false,
        }
    }

    /// Takes the next part of the body. `None`: more has to be read for one.
    ///
    /// # Errors
    ///
    /// Why it is no body.
    pub fn part(&mut self) -> Result<Option<Bytes>, Malformed> {
        if self.buf.is_empty() {
            return Ok(None);
        }
        match &mut self.rest {
            Rest::Length(left) => {
                let here = usize::try_from(*left).map_or(self.buf.len(), |left| left.min(self.buf.len()));
                *left -= here as u64;
                Ok(Some(self.buf.split_to(here).freeze()))
            }
            Rest::UntilClose => Ok(Some(self.buf.split().freeze())),
            Rest::Chunked(chunks) => {
                let part = chunks.take(&mut self.buf)?;
                Ok((!part.is_empty() || chunks.is_done()).then_some(part))
            }
        }
    }

    /// How many bytes are worth reading at once, `most` at most: none beyond the end of the body where that is known.
    pub fn wanted(&self, most: usize) -> usize {
        match &self.rest {
            Rest::Length(left) => usize::try_from(*left).map_or(most, |left| left.min(most)),
            Rest::Chunked(_) | Rest::UntilClose => most,
        }
    }

    /// The connection has ended in the body. Whether the body ended with it; else it was cut off.
    pub fn ends_with_connection(&mut self) -> bool {
        let ends = matches!(self.rest, Rest::UntilClose);
        if ends {
            self.rest = Rest::Length(0);
        }
        ends
    }

    /// Whether bytes came after this response that no request asked for ([`framing::is_unasked`]). A response without a
    /// body by its method or status is excepted: the bytes are likely the body of it.
    pub fn has_unasked(&self) -> bool {
        self.is_done() && !self.is_bodiless() && framing::is_unasked(&self.buf)
    }

    /// Whether the connection can carry another request: the site keeps it, and nothing of this response is left, nor
    /// anything that came after it.
    pub fn is_reusable(&self) -> bool {
        self.keeps && self.is_done() && self.buf.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bodies of the responses to these requests that come over one connection, in pieces of `step` bytes, for as
    /// long as it can be used again.
    fn read(wire: &[u8], step: usize, methods: &[Method]) -> Result<Vec<Vec<u8>>, Malformed> {
        let mut pieces = wire.chunks(step);
        let mut bodies = Vec::new();
        for method in methods {
            let mut reader = ResponseReader::default();
            let head = loop {
                match reader.head()? {
                    Some(head) if head.status.is_informational() => {}
                    Some(head) => break head,
                    None => match pieces.next() {
                        Some(piece) => reader.buffer().extend_from_slice(piece),
                        None => return Ok(bodies),
                    },
                }
            };
            reader.expect(method, &head)?;
            let mut body = Vec::new();
            while !reader.is_done() {
                match (reader.part()?, pieces.len() == 0) {
                    (Some(part), _) => body.extend_from_slice(&part),
                    (None, false) => reader.buffer().extend_from_slice(pieces.next().unwrap_or_default()),
                    (None, true) if reader.ends_with_connection() => {}
                    (None, true) => return Ok(bodies),
                }
            }
            bodies.push(body);
            if !reader.is_reusable() {
                break;
            }
        }
        Ok(bodies)
    }

    #[test]
    fn responses_are_read_one_after_another_however_they_come() {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
        let wire = format!("{hint}{chunked}");
        for step in 1..=wire.len() {
            assert_eq!(read(wire.as_bytes(), step, &[Method::GET]), Ok(vec![b"abc".to_vec()]), "{step}");
        }
        let until_close = "HTTP/1.1 200 OK\r\n\r\nall of it";
        assert_eq!(read(until_close.as_bytes(), 4, &[Method::GET]), Ok(vec![b"all of it".to_vec()]));
        let cut_off = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort";
        assert_eq!(read(cut_off.as_bytes(), 4, &[Method::GET]), Ok(vec![]));
    }

    #[test]
    fn a_connection_with_more_than_was_asked_for_is_not_used_again() {
        let two = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nownHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged";
        let methods = [Method::GET, Method::GET];
        assert_eq!(read(two.as_bytes(), two.len(), &methods), Ok(vec![b"own".to_vec()]));
        // To HEAD there is no body, whatever is announced.
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nown";
        assert_eq!(read(head.as_bytes(), head.len(), &[Method::HEAD, Method::GET]), Ok(vec![vec![]]));
    }

    #[test]
    fn a_head_has_a_bound() {
        let mut reader = ResponseReader::default();
        reader.buffer().extend_from_slice(b"HTTP/1.1 200 OK\r\nA: ");
        reader.buffer().extend_from_slice(&vec![b'x'; LONGEST_HEAD]);
        assert!(reader.head().is_err());
    }
}
