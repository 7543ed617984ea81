//! A socket that remembers why it failed: the library tells only the command that waits at that moment, and a server that
//! does not take our certificate says so when none does.

use std::{
    io,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Why a socket failed, once it has.
pub type Failure = Arc<OnceLock<String>>;

/// Reads and writes of a socket, with the first failure of a read written down.
pub struct Noted<S> {
    socket: S,
    failure: Failure,
}

impl<S> Noted<S> {
    pub fn new(socket: S) -> (Self, Failure) {
        let failure = Failure::default();
        (Self { socket, failure: failure.clone() }, failure)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Noted<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = ready!(Pin::new(&mut self.socket).poll_read(cx, buf));
        if let Err(error) = &read {
            self.failure.get_or_init(|| error.to_string());
        }
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Noted<S> {
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
