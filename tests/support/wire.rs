//! Reads HTTP/1.1 from a byte stream, for both ends: heads, lengths, chunks, trailers.

use super::message::Headers;
use std::io::{Error, ErrorKind, Result};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

pub trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

pub struct Wire {
    pub io: Box<dyn Io>,
    buffered: Vec<u8>,
}

/// A body read from chunks.
#[derive(Default)]
pub struct Chunks {
    pub body: Vec<u8>,
    pub sizes: Vec<usize>,
    pub trailers: Headers,
}

impl Wire {
    pub fn new(io: impl Io + 'static) -> Wire {
        Wire { io: Box::new(io), buffered: Vec::new() }
    }

    /// Writes and flushes.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.io.write_all(bytes).await?;
        self.io.flush().await
    }

    /// The next head with its empty line, or None at a clean end.
    pub async fn head(&mut self) -> Result<Option<Vec<u8>>> {
        match self.until(b"\r\n\r\n").await {
            Ok(head) => Ok(Some(head)),
            Err(e) if e.kind() == ErrorKind::UnexpectedEof && self.buffered.is_empty() => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Everything up to and including `mark`. At an early end the bytes stay buffered.
    pub async fn until(&mut self, mark: &[u8]) -> Result<Vec<u8>> {
        let mut from = 0;
        loop {
            if let Some(at) = find(&self.buffered[from..], mark) {
                let rest = self.buffered.split_off(from + at + mark.len());
                return Ok(std::mem::replace(&mut self.buffered, rest));
            }
            from = self.buffered.len().saturating_sub(mark.len() - 1);
            if self.fill().await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Appends up to `size` bytes to `body`. An early end is an error and keeps the bytes read so far.
    pub async fn exactly(&mut self, mut size: usize, body: &mut Vec<u8>, came: &(dyn Fn(usize) + Sync)) -> Result<()> {
        while size > 0 {
            if self.buffered.is_empty() && self.fill().await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            let take = size.min(self.buffered.len());
            body.extend_from_slice(&self.buffered[..take]);
            self.buffered.drain(..take);
            came(take);
            size -= take;
        }
        Ok(())
    }

    /// Reads a chunked body into `into`, so that bytes before an error are kept.
    pub async fn chunks(&mut self, into: &mut Chunks, came: &(dyn Fn(usize) + Sync)) -> Result<()> {
        loop {
            let line = self.until(b"\r\n").await?;
            let line = String::from_utf8_lossy(&line).into_owned();
            let digits = line.trim().split(';').next().unwrap_or_default();
            let size = usize::from_str_radix(digits, 16).map_err(|_| bad(&format!("chunk size {line:?}")))?;
            if size == 0 {
                break;
            }
            into.sizes.push(size);
            self.exactly(size, &mut into.body, came).await?;
            if self.until(b"\r\n").await? != b"\r\n" {
                return Err(bad("a chunk longer than it says"));
            }
        }
        let mut lines = String::new();
        loop {
            let line = self.until(b"\r\n").await?;
            if line == b"\r\n" {
                into.trailers = Headers::parse(&lines);
                return Ok(());
            }
            lines.push_str(&String::from_utf8_lossy(&line));
        }
    }

    /// Everything up to the end. A reset also counts as an end, with its own error kind.
    pub async fn rest(&mut self, body: &mut Vec<u8>) -> Result<()> {
        loop {
            body.append(&mut self.buffered);
            if self.fill().await? == 0 {
                return Ok(());
            }
        }
    }

    /// The read-ahead bytes and the stream, to continue with another protocol.
    pub fn into_parts(self) -> (Vec<u8>, Box<dyn Io>) {
        (self.buffered, self.io)
    }

    async fn fill(&mut self) -> Result<usize> {
        let mut piece = [0; 16 * 1024];
        let size = self.io.read(&mut piece).await?;
        self.buffered.extend_from_slice(&piece[..size]);
        Ok(size)
    }
}

pub fn find(hay: &[u8], needle: &[u8]) -> Option<usize> {
    hay.windows(needle.len()).position(|w| w == needle)
}

fn bad(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what.to_owned())
}
