//! Limits what the library may read of an HTTP/1 connection to one request.
//!
//! The library reads as much as it can. Bytes that it read beyond the end of a request would be out of our sight. So it
//! gets a head up to its end and then that request's body, with chunks only while they are valid. The rest waits in the
//! connection for the next request.

use frontdesk_http1::{chunk_scan::ChunkScan, framing::announced};
use http::header;
use pingora::http::RequestHeader;

/// How a request's body ends, by its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestBody {
    Length(u64),
    Chunked,
    /// With the connection: another protocol is spoken on it now.
    Unbounded,
}

impl RequestBody {
    /// The body that follows a head.
    pub fn of(head: &RequestHeader) -> Self {
        match head.headers.contains_key(header::TRANSFER_ENCODING) {
            true => Self::Chunked,
            false => Self::Length(announced(&head.headers).unwrap_or(0)),
        }
    }
}

/// What the next bytes belong to.
#[derive(Debug)]
pub(super) enum Portion {
    /// A head, with its last three bytes so far.
    Head(u32),
    /// A body with so many bytes left.
    Length(u64),
    /// A chunked body.
    Chunks(ChunkScan),
    /// A body with wrong framing, and the reason.
    Refused(&'static str),
    /// The next request.
    Next,
    /// Bytes that are not examined.
    Rest,
}

impl Portion {
    /// A request begins.
    pub(super) fn head() -> Self {
        Self::Head(0)
    }

    /// The head is complete, and this body follows it. Call it again after an upgrade of the connection.
    pub(super) fn head_is_read(&mut self, body: RequestBody) {
        if let (Self::Length(_) | Self::Next, RequestBody::Unbounded) = (&*self, body) {
            *self = Self::Rest;
        }
        if let Self::Head(last) = *self {
            *self = match body {
                RequestBody::Chunked if ends_head(last) => Self::Chunks(ChunkScan::default()),
                // The library already has more than the head, which was not examined.
                RequestBody::Chunked => Self::Refused("a body that began unseen"),
                RequestBody::Length(length) if ends_head(last) => Self::of_length(length),
                RequestBody::Length(_) | RequestBody::Unbounded => Self::Rest,
            };
        }
    }

    fn of_length(length: u64) -> Self {
        if length == 0 { Self::Next } else { Self::Length(length) }
    }

    /// How many of these bytes may be passed on. If it is none, they belong to the next request.
    ///
    /// # Errors
    ///
    /// Why no more of the body may be read.
    pub(super) fn of(&mut self, bytes: &[u8]) -> Result<usize, &'static str> {
        match self {
            Self::Rest => Ok(bytes.len()),
            Self::Next => Ok(0),
            Self::Length(left) => {
                let here = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
                *self = Self::of_length(*left - here as u64);
                Ok(here)
            }
            Self::Refused(why) => Err(why),
            Self::Head(last) => {
                let end = bytes.iter().position(|byte| {
                    *last = (*last << 8 | u32::from(*byte)) & 0xff_ffff;
                    ends_head(*last)
                });
                Ok(end.map_or(bytes.len(), |end| end + 1))
            }
            Self::Chunks(scan) => {
                let seen = scan.scan(bytes);
                match seen {
                    Ok(_) if scan.is_done() => *self = Self::Next,
                    Ok(_) => {}
                    Err(why) => *self = Self::Refused(why),
                }
                seen
            }
        }
    }
}

/// Whether a head ends with these three bytes. The library also accepts a bare line feed as a line end. A false
/// positive only costs one more read.
fn ends_head(last: u32) -> bool {
    const EMPTY_LINE: u32 = u32::from_be_bytes([0, b'\n', b'\r', b'\n']);
    const BARE: u32 = u32::from_be_bytes([0, 0, b'\n', b'\n']);
    last == EMPTY_LINE || last & 0xffff == BARE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths of the portions of these bytes, which arrive `step` by `step`, until the next request.
    fn portions(wire: &[u8], step: usize, body: RequestBody) -> Result<Vec<usize>, &'static str> {
        let (mut portion, mut lengths) = (Portion::head(), Vec::new());
        for mut piece in wire.chunks(step) {
            while !piece.is_empty() {
                let length = portion.of(piece)?;
                if length == 0 {
                    return Ok(lengths);
                }
                piece = &piece[length..];
                lengths.push(length);
                if matches!(portion, Portion::Head(last) if ends_head(last)) {
                    portion.head_is_read(body);
                }
            }
        }
        Ok(lengths)
    }

    #[test]
    fn a_head_ends_a_portion_however_it_comes() {
        for head in ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\r\nA: b\n\r\n"]
        {
            let wire = format!("{head}rest\r\n\r\nof it");
            for step in 1..wire.len() {
                let lengths = portions(wire.as_bytes(), step, RequestBody::Unbounded).unwrap();
                let ends = lengths.iter().scan(0, |so_far, length| {
                    *so_far += length;
                    Some(*so_far)
                });
                assert!(ends.into_iter().any(|end| end == head.len()), "{head:?} by {step}: {lengths:?}");
            }
            let lengths = portions(wire.as_bytes(), 999, RequestBody::Unbounded).unwrap();
            assert_eq!(lengths, [head.len(), wire.len() - head.len()]);
        }
    }

    #[test]
    fn a_request_ends_where_its_body_does() {
        let (head, next) = ("POST / HTTP/1.1\r\nA: b\r\n\r\n", "GET / HTTP/1.1\r\n\r\n");
        for body in ["", "x", "0123456789", "\r\n\r\n"] {
            let wire = format!("{head}{body}{next}");
            for step in 1..=wire.len() {
                let lengths = portions(wire.as_bytes(), step, RequestBody::Length(body.len() as u64)).unwrap();
                assert_eq!(lengths.iter().sum::<usize>(), head.len() + body.len(), "{body:?} by {step}");
            }
        }
    }

    #[test]
    fn a_body_is_framed_by_its_head() {
        let framed = |lines: &[(&'static str, &str)]| {
            let mut head = RequestHeader::build("POST", b"/", None).unwrap();
            for (name, value) in lines {
                head.append_header(*name, *value).unwrap();
            }
            RequestBody::of(&head)
        };
        assert_eq!(framed(&[]), RequestBody::Length(0));
        assert_eq!(framed(&[("content-length", "5")]), RequestBody::Length(5));
        assert_eq!(framed(&[("transfer-encoding", "chunked")]), RequestBody::Chunked);
        assert_eq!(framed(&[("transfer-encoding", "chunked"), ("content-length", "5")]), RequestBody::Chunked);
    }

    #[test]
    fn what_comes_after_an_upgrade_is_no_request() {
        let mut portion = Portion::head();
        let head = b"GET /chat HTTP/1.1\r\nUpgrade: websocket\r\n\r\n";
        assert_eq!(portion.of(head), Ok(head.len()));
        portion.head_is_read(RequestBody::Length(0));
        assert_eq!(portion.of(b"frames"), Ok(0));
        portion.head_is_read(RequestBody::Unbounded);
        assert_eq!(portion.of(b"frames"), Ok(6));
    }

    #[test]
    fn chunks_end_a_portion_and_what_is_wrong_with_them_all_of_it() {
        let head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        let next = "GET / HTTP/1.1\r\n\r\n";
        let good = format!("{head}2\r\nok\r\n0\r\n\r\n{next}");
        assert_eq!(portions(good.as_bytes(), 999, RequestBody::Chunked).unwrap(), [head.len(), 12]);
        for step in 1..50 {
            let wire = format!("{head}\r\n\r\n{next}");
            assert!(portions(wire.as_bytes(), step, RequestBody::Chunked).is_err(), "{step}");
        }
        let mut refused = Portion::Refused("why");
        assert_eq!((refused.of(b"x"), refused.of(b"x")), (Err("why"), Err("why")));
    }

    #[test]
    fn chunks_that_began_unseen_are_refused() {
        let mut portion = Portion::head();
        assert_eq!(portion.of(b"POST / HTTP/1.1\r\n"), Ok(17));
        portion.head_is_read(RequestBody::Chunked);
        assert!(portion.of(b"0\r\n\r\n").is_err());
    }
}
