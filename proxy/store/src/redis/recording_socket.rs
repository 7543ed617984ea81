//! A socket that remembers why it failed. The library reports a failure only to the command that waits at that moment,
//! but a server that rejects our certificate may say so while no command waits.

use std::{
    io,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The reason of a socket's failure, once it has failed.
pub type Failure = Arc<OnceLock<String>>;

/// A socket that records its first failed read.
pub struct RecordingSocket<S> {
    socket: S,
    failure: Failure,
}

impl<S> RecordingSocket<S> {
    pub fn new(socket: S) -> (Self, Failure) {
        let failure = Failure::default();
        (Self { socket, failure: failure.clone() }, failure)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for RecordingSocket<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = ready!(Pin::new(&mut self.socket).poll_read(cx, buf));
        if let Err(error) = &read {
            self.failure.get_or_init(|| error.to_string());
        }
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for RecordingSocket<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
