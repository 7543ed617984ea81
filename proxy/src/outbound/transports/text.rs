//! Messages as lines of text, one in each line.

use async_trait::async_trait;
use bytes::{BufMut, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::{
    MOST,
    shared::{Inlet, Outlet},
};

/// The most bytes of one read.
const PIECE: usize = 16 * 1024;

/// Incoming lines.
pub(super) struct Lines<R> {
    from: R,
    buffer: BytesMut,
    /// So many bytes of the buffer contain no line end.
    searched: usize,
}

impl<R> Lines<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, buffer: BytesMut::new(), searched: 0 }
    }
}

#[async_trait]
impl<R: AsyncRead + Send + Unpin + 'static> Inlet for Lines<R> {
    async fn next(&mut self) -> Result<Bytes, String> {
        loop {
            let end = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n');
            if let Some(end) = end.map(|end| self.searched + end).filter(|end| *end <= MOST) {
                let mut line = self.buffer.split_to(end + 1);
                line.truncate(end);
                self.searched = 0;
                return Ok(line.freeze());
            }
            self.searched = self.buffer.len();
            // A line that is too long is an error even if its end has not come yet.
            if self.searched > MOST {
                return Err(format!("a line has more than {MOST} bytes"));
            }
            self.buffer.reserve(PIECE);
            match self.from.read_buf(&mut (&mut self.buffer).limit(PIECE)).await {
                Ok(0) => return Err("closed by the other side".into()),
                Ok(_) => {}
                Err(e) => return Err(e.to_string()),
            }
        }
    }
}

/// Outgoing lines.
pub(super) struct Sheet<W>(pub(super) W);

#[async_trait]
impl<W: AsyncWrite + Send + Unpin + 'static> Outlet for Sheet<W> {
    async fn put(&mut self, message: Bytes) -> Result<(), String> {
        let mut line = Vec::with_capacity(message.len() + 1);
        // Between the tokens of a JSON text, a space may replace a line break. Inside a token there is none.
        line.extend(message.iter().map(|byte| if *byte == b'\n' || *byte == b'\r' { b' ' } else { *byte }));
        line.push(b'\n');
        self.0.write_all(&line).await.map_err(|e| e.to_string())?;
        self.0.flush().await.map_err(|e| e.to_string())
    }
}
