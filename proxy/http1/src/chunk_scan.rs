//! Checks that a chunked request is framed so that nobody can read it in another way (RFC 9112 §7.1).
//!
//! pingora reads the bodies of requests, and more kindly than some site or proxy may: to it a line without a size is the
//! last chunk, a line feed in an extension is a part of it, and trailers may be anything. So the bytes are checked here
//! before pingora gets them. Nothing is decoded.

use memchr::memchr2;

/// Digits of a chunk's size at most: what fits into 64 bits.
const DIGITS: u8 = 16;
/// Bytes of extensions in a whole body, and of trailers behind it.
const EXTENSIONS: usize = 16 * 1024;
const TRAILERS: usize = 8 * 1024;

/// Where in a body we are.
#[derive(Debug, Default)]
pub struct ChunkScan {
    at: At,
    /// Bytes of extensions so far, with the blanks around them.
    extensions: usize,
    /// Bytes of trailers so far.
    trailers: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// So many digits of a size, and what they come to.
    Size(u8, u64),
    /// In blanks behind a size of so much.
    Blank(u64),
    /// In the extensions behind it.
    Extension(u64),
    /// Before the line feed behind it.
    SizeEnd(u64),
    /// So many bytes of the chunk are left.
    Data(u64),
    DataReturn,
    DataFeed,
    /// Where a trailer or the last line begins.
    Line,
    Name,
    Value,
    ValueEnd,
    LastFeed,
    Done,
}

impl Default for At {
    fn default() -> Self {
        Self::Size(0, 0)
    }
}

impl ChunkScan {
    /// Looks at the next bytes of a body, and says how many of them belong to it.
    ///
    /// # Errors
    ///
    /// What is wrong with it. It stays wrong.
    pub fn scan(&mut self, bytes: &[u8]) -> Result<usize, &'static str> {
        let mut at = 0;
        while at < bytes.len() && self.at != At::Done {
            at += self.step(&bytes[at..])?;
        }
        Ok(at)
    }

    /// Whether the body has been seen to its end.
    pub fn is_done(&self) -> bool {
        self.at == At::Done
    }

    /// One step on, over at least one of these bytes, of which there is one.
    fn step(&mut self, bytes: &[u8]) -> Result<usize, &'static str> {
        if let At::Data(left) = self.at {
            let here = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
            let left = left - here as u64;
            self.at = if left == 0 { At::DataReturn } else { At::Data(left) };
            return Ok(here);
        }
        if let At::Value = self.at {
            let here = memchr2(b'\r', b'\n', bytes).unwrap_or(bytes.len()).max(1);
            if here > 1 {
                self.trailer(here)?;
                return if bytes[..here].iter().any(|byte| is_control(*byte)) { Err(CONTROL) } else { Ok(here) };
            }
        }
        let byte = bytes[0];
        self.at = match self.at {
            At::Size(digits, size) => match (byte, char::from(byte).to_digit(16)) {
                (_, Some(_)) if digits == DIGITS => return Err("a chunk's size is too long"),
                (_, Some(digit)) => At::Size(digits + 1, size * 16 + u64::from(digit)),
                _ if digits == 0 => return Err("a chunk without a size"),
                _ => self.after_size(byte, size)?,
            },
            At::Blank(size) => self.after_size(byte, size)?,
            At::Extension(size) => match byte {
                b'\r' => At::SizeEnd(size),
                byte if is_control(byte) => return Err(CONTROL),
                _ => self.extension(At::Extension(size))?,
            },
            At::SizeEnd(0) if byte == b'\n' => At::Line,
            At::SizeEnd(size) if byte == b'\n' => At::Data(size),
            At::DataReturn if byte == b'\r' => At::DataFeed,
            At::DataFeed if byte == b'\n' => At::Size(0, 0),
            At::DataReturn | At::DataFeed => return Err("a chunk that is longer than it says"),
            At::Line if byte == b'\r' => At::LastFeed,
            At::Name if byte == b':' => At::Value,
            At::Line | At::Name if is_token(byte) => {
                self.trailer(1)?;
                At::Name
            }
            At::Line | At::Name => return Err("a trailer that is no field"),
            At::Value if byte == b'\r' => At::ValueEnd,
            At::Value if is_control(byte) => return Err(CONTROL),
            At::Value => {
                self.trailer(1)?;
                At::Value
            }
            At::ValueEnd if byte == b'\n' => At::Line,
            At::LastFeed if byte == b'\n' => At::Done,
            At::SizeEnd(_) | At::ValueEnd | At::LastFeed => return Err("a carriage return without a line feed"),
            At::Data(_) | At::Done => self.at,
        };
        Ok(1)
    }

    fn after_size(&mut self, byte: u8, size: u64) -> Result<At, &'static str> {
        match byte {
            b'\r' => Ok(At::SizeEnd(size)),
            b' ' | b'\t' => self.extension(At::Blank(size)),
            b';' => self.extension(At::Extension(size)),
            _ => Err("a chunk's size is no number"),
        }
    }

    fn extension(&mut self, next: At) -> Result<At, &'static str> {
        self.extensions += 1;
        if self.extensions > EXTENSIONS { Err("more chunk extensions than are taken") } else { Ok(next) }
    }

    fn trailer(&mut self, bytes: usize) -> Result<(), &'static str> {
        self.trailers += bytes;
        if self.trailers > TRAILERS { Err("more trailers than are taken") } else { Ok(()) }
    }
}

const CONTROL: &str = "a control character or a bare line feed";

/// What no extension and no trailer may have in it. A line feed is one.
fn is_control(byte: u8) -> bool {
    byte.is_ascii_control() && byte != b'\t'
}

/// What the name of a field is made of (RFC 9110 §5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many bytes of a wire that comes in pieces of `step` belong to the body, and whether it has come to its end.
    fn scanned(wire: &[u8], step: usize) -> Result<(usize, bool), &'static str> {
        let (mut scan, mut length) = (ChunkScan::default(), 0);
        for piece in wire.chunks(step) {
            length += scan.scan(piece)?;
        }
        Ok((length, scan.is_done()))
    }

    #[test]
    fn what_is_in_order_is_seen_to_its_end_however_it_comes() {
        for body in [
            "0\r\n\r\n",
            "5\r\nhello\r\n0\r\n\r\n",
            "00A\r\n0123456789\r\n1;a=\"b\"\r\n\n\r\n0;c\r\n\r\n",
            "5 \r\nhello\r\n0 ; a = b\r\n\r\n",
            "1\r\nx\r\n0\r\nX-Y: z\r\nEmpty:\r\nTab:\ta\u{e4}\r\n\r\n",
        ] {
            let wire = [body.as_bytes(), b"GET /next"].concat();
            for step in 1..wire.len() {
                assert_eq!(scanned(&wire, step), Ok((body.len(), true)), "{body:?} by {step}");
            }
        }
    }

    #[test]
    fn what_is_not_all_there_has_no_end() {
        for body in ["", "5", "5\r", "5\r\nhel", "5\r\nhello", "5\r\nhello\r\n0\r\n", "5\r\nhello\r\n0\r\nX: y\r\n\r"] {
            assert_eq!(scanned(body.as_bytes(), 99), Ok((body.len(), false)), "{body:?}");
        }
    }

    #[test]
    fn what_could_be_read_otherwise_is_refused() {
        let sizes = [
            "\r\n",
            ";a\r\n",
            " \r\n",
            " 5\r\n",
            "g\r\n",
            "-1\r\n",
            "+1\r\n",
            "0x5\r\n",
            "5 5\r\n",
            "11112222333344445\r\n",
        ];
        let ends = [
            "5\nhello",
            "5\rhello",
            "5\r\rhello",
            "5\r\nhello\n",
            "5\r\nhello!\r\n",
            "5\r\nhello0\r\n",
            "0\n\r\n",
            "0\r\n\n",
        ];
        let extensions = ["5;\nhello", "5;\0\r\n", "5;\x01\x7f\r\n", "5;a\rb\r\n", "5;a\x0b\r\n", "5\t\n"];
        let trailers = [
            "0\r\nGET /smug HTTP/1.1\r\n",
            "0\r\nGET http://a/ HTTP/1.1\r\n",
            "0\r\n X: y\r\n",
            "0\r\n: y\r\n",
            "0\r\nX : y\r\n",
            "0\r\nX: y\nZ: 1\r\n",
            "0\r\nX: y\r\n more\r\n",
            "0\r\nX: \0\r\n",
            "0\r\nX\r\n",
        ];
        for wire in sizes.iter().chain(&ends).chain(&extensions).chain(&trailers) {
            for step in 1..=wire.len() {
                assert!(scanned(wire.as_bytes(), step).is_err(), "{wire:?} by {step}");
            }
        }
    }

    /// Where a body ends to the parser that the library uses; `None`: it is wrong, or not all there.
    fn read_kindly(wire: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            let httparse::Status::Complete((line, size)) = httparse::parse_chunk_size(&wire[at..]).ok()? else {
                return None;
            };
            at += line;
            if size == 0 {
                break;
            }
            at += usize::try_from(size).ok()?;
            (wire.get(at..at + 2)? == b"\r\n").then_some(())?;
            at += 2;
        }
        loop {
            let line = memchr::memchr(b'\n', wire.get(at..)?)? + 1;
            at += line;
            if line <= 2 {
                return Some(at);
            }
        }
    }

    /// Whatever is taken is a body to other readers too, and ends in the same place; and it does not matter how it comes.
    #[test]
    fn what_is_taken_ends_where_others_have_its_end() {
        const PARTS: [&str; 20] = [
            "0",
            "1",
            "a",
            "5",
            "10",
            "\r",
            "\n",
            "\r\n",
            ";",
            " ",
            "\t",
            "x",
            "hello",
            "X: y",
            ":",
            "\"",
            "\0",
            "0\r\n\r\n",
            "5\r\nhello\r\n",
            ";a=b\r\n",
        ];
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = |most: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            usize::try_from(seed >> 33).unwrap_or(0) % most
        };
        let mut taken = 0;
        for _ in 0..200_000 {
            let wire: String = (0..next(8) + 1).map(|_| PARTS[next(PARTS.len())]).collect();
            let wire = wire.as_bytes();
            let whole = scanned(wire, wire.len());
            assert_eq!(whole, scanned(wire, 1), "{:?}", wire.escape_ascii().to_string());
            if let Ok((length, true)) = whole {
                taken += 1;
                assert_eq!(read_kindly(wire), Some(length), "{:?}", wire.escape_ascii().to_string());
            }
        }
        assert!(taken > 1000, "{taken} of them are bodies");
    }

    #[test]
    fn what_is_beside_the_data_is_bounded_in_all() {
        let chunks = |extension: usize, count: usize| format!("1;{}\r\nx\r\n", "a".repeat(extension)).repeat(count);
        assert!(scanned(chunks(100, 100).as_bytes(), 999).is_ok());
        assert!(scanned(chunks(3000, 200).as_bytes(), 999).is_err());
        assert!(scanned(chunks(0, 20_000).as_bytes(), 999).is_err());
        assert!(scanned(format!("0\r\n{}", "X: y\r\n".repeat(20_000)).as_bytes(), 999).is_err());
        assert!(scanned(format!("0\r\nX: {}", "y".repeat(20_000)).as_bytes(), 999).is_err());
    }
}
