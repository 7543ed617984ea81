//! The bytes of a connection to a site: a socket, or TLS over one.

use std::{
    io,
    os::fd::AsRawFd,
    pin::Pin,
    task::{Context, Poll, Waker, ready},
};

use bytes::BytesMut;
use nix::{
    errno::Errno,
    sys::socket::{MsgFlags, recv},
};
use tokio::{
    io::{AsyncBufRead, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

use crate::socket;

/// An open connection to a site.
#[derive(Debug)]
pub(super) enum Transport {
    Cleartext(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Transport {
    /// Reads what there is into the room of `buf`, which `make_room` makes once there is something, a byte or more;
    /// 0: the end. Over TLS the end of the socket without a goodbye of TLS is an error: the answer may have been cut off.
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut BytesMut,
        make_room: impl Fn(&mut BytesMut),
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Cleartext(tcp) => socket::poll_read(tcp, cx, buf, make_room),
            Self::Tls(tls) => poll_read_decrypted(Pin::new(tls), cx, buf, make_room),
        }
    }

    /// Writes all of it.
    pub(super) async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Cleartext(tcp) => socket::write_all(tcp, bytes).await,
            Self::Tls(tls) => {
                tls.write_all(bytes).await?;
                tls.flush().await
            }
        }
    }

    /// Acknowledges at once what comes until something is sent.
    pub(super) fn acknowledge(&self) {
        socket::acknowledge(self.socket());
    }

    /// Whether nothing has come that nobody asked for, nor an end, as far as the runtime has been told.
    fn is_silent(&mut self) -> bool {
        match self {
            Self::Cleartext(tcp) => tcp.try_read(&mut [0]).is_err_and(|e| e.kind() == io::ErrorKind::WouldBlock),
            // Messages of TLS itself, such as tickets for later sessions, may come at any time. They are read here.
            Self::Tls(tls) => {
                let mut cx = Context::from_waker(Waker::noop());
                Pin::new(&mut **tls).poll_fill_buf(&mut cx).is_pending()
            }
        }
    }

    /// The same, by the system itself: what it has seen may not have been told to the runtime yet.
    pub(super) fn is_certainly_silent(&mut self) -> bool {
        let seen = |tcp: &TcpStream| recv(tcp.as_raw_fd(), &mut [0], MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT);
        match self {
            Self::Cleartext(tcp) => seen(tcp) == Err(Errno::EAGAIN),
            Self::Tls(_) => self.is_silent() && seen(self.socket()) == Err(Errno::EAGAIN),
        }
    }

    fn socket(&self) -> &TcpStream {
        match self {
            Self::Cleartext(tcp) => tcp,
            Self::Tls(tls) => tls.get_ref().0,
        }
    }
}

/// Reads what has been decrypted, record after record while there is room: a record holds 16 KB at most, and what is read
/// at once leaves at once.
fn poll_read_decrypted(
    mut tls: Pin<&mut Box<TlsStream<TcpStream>>>,
    cx: &mut Context<'_>,
    buf: &mut BytesMut,
    make_room: impl Fn(&mut BytesMut),
) -> Poll<io::Result<usize>> {
    let before = buf.len();
    loop {
        let mut tls = Pin::new(&mut **tls);
        let here = match tls.as_mut().poll_fill_buf(cx) {
            Poll::Ready(Ok(decrypted)) if !decrypted.is_empty() => {
                if buf.len() == before {
                    make_room(buf);
                }
                let here = decrypted.len().min(buf.capacity() - buf.len());
                debug_assert!(here > 0, "nothing read into no room would be the end");
                buf.extend_from_slice(&decrypted[..here]);
                here
            }
            // What was read goes first; the end, an error and a wait stay for the next time.
            _ if buf.len() > before => return Poll::Ready(Ok(buf.len() - before)),
            ended => return Poll::Ready(ready!(ended).map(|_| 0)),
        };
        tls.consume(here);
        if buf.len() == buf.capacity() {
            return Poll::Ready(Ok(buf.len() - before));
        }
    }
}
