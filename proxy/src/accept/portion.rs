//! How much of what a client sends over HTTP/1 the library gets at once: a head up to its end, and a body in chunks only as
//! far as it is in order.
//!
//! The library reads ahead as far as it can. Handed one head and not a byte more, it has nothing of a body before the body
//! has been looked at.

use crate::framing::chunks::ChunkScan;

/// What the bytes that come next are part of.
#[derive(Debug)]
pub(super) enum Portion {
    /// A head, with its last three bytes so far.
    Head(u32),
    /// A body in chunks.
    Chunks(ChunkScan),
    /// A body that was wrong, and why.
    Refused(&'static str),
    /// What needs no look.
    Rest,
}

impl Portion {
    /// A request begins.
    pub(super) fn head() -> Self {
        Self::Head(0)
    }

    /// The head is complete, and a body in chunks follows it, or something else.
    pub(super) fn head_is_read(&mut self, chunked: bool) {
        if let Self::Head(last) = *self {
            *self = match chunked {
                false => Self::Rest,
                true if ends_head(last) => Self::Chunks(ChunkScan::default()),
                // More than the head was handed on: nobody has looked at that.
                true => Self::Refused("a body that began unseen"),
            };
        }
    }

    /// How many of these bytes may be handed on: one at least, if there is one.
    ///
    /// # Errors
    ///
    /// Why no more of the body is to be read.
    pub(super) fn of(&mut self, bytes: &[u8]) -> Result<usize, &'static str> {
        match self {
            Self::Rest => Ok(bytes.len()),
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
                    Ok(_) if scan.is_done() => *self = Self::Rest,
                    Ok(_) => {}
                    Err(why) => *self = Self::Refused(why),
                }
                seen
            }
        }
    }
}

/// Whether a head ends with these three bytes: the library takes a line feed alone for the end of a line, too. What looks
/// like an end and is none only makes it read once more.
fn ends_head(last: u32) -> bool {
    const EMPTY_LINE: u32 = u32::from_be_bytes([0, b'\n', b'\r', b'\n']);
    const BARE: u32 = u32::from_be_bytes([0, 0, b'\n', b'\n']);
    last == EMPTY_LINE || last & 0xffff == BARE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths of the portions in which bytes are handed on that come `step` by `step`.
    fn portions(wire: &[u8], step: usize, chunked: bool) -> Result<Vec<usize>, &'static str> {
        let (mut portion, mut lengths) = (Portion::head(), Vec::new());
        for mut piece in wire.chunks(step) {
            while !piece.is_empty() {
                let length = portion.of(piece)?;
                piece = &piece[length..];
                lengths.push(length);
                if matches!(portion, Portion::Head(last) if ends_head(last)) {
                    portion.head_is_read(chunked);
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
                let lengths = portions(wire.as_bytes(), step, false).unwrap();
                let ends = lengths.iter().scan(0, |so_far, length| {
                    *so_far += length;
                    Some(*so_far)
                });
                assert!(ends.into_iter().any(|end| end == head.len()), "{head:?} by {step}: {lengths:?}");
            }
            assert_eq!(portions(wire.as_bytes(), 999, false).unwrap(), [head.len(), wire.len() - head.len()]);
        }
    }

    #[test]
    fn chunks_end_a_portion_and_what_is_wrong_with_them_all_of_it() {
        let head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        let next = "GET / HTTP/1.1\r\n\r\n";
        let good = format!("{head}2\r\nok\r\n0\r\n\r\n{next}");
        assert_eq!(portions(good.as_bytes(), 999, true).unwrap(), [head.len(), 12, next.len()]);
        for step in 1..50 {
            assert!(portions(format!("{head}\r\n\r\n{next}").as_bytes(), step, true).is_err(), "{step}");
        }
        let mut refused = Portion::Refused("why");
        assert_eq!((refused.of(b"x"), refused.of(b"x")), (Err("why"), Err("why")));
    }

    #[test]
    fn chunks_that_began_unseen_are_refused() {
        let mut portion = Portion::head();
        assert_eq!(portion.of(b"POST / HTTP/1.1\r\n"), Ok(17));
        portion.head_is_read(true);
        assert!(portion.of(b"0\r\n\r\n").is_err());
    }
}
