//! The bytes of a connection to a site: a socket, or TLS over one.

use std::{
    io,
    os::fd::AsRawFd,
    pin::Pin,
    task::{Context, Poll, Waker, ready},
};

use bytes::BytesMut;
use frontdesk_http1::framing::is_unasked;
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

/// Bytes that are looked at on an idle connection: the start of a status line, after some line ends.
const FIRST: usize = 16;

/// An open connection to a site.
#[derive(Debug)]
pub(super) enum Transport {
    Cleartext(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// What an idle connection shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Idle {
    /// Nothing has come: it can carry a request.
    Silent,
    /// The site has closed it, or what came is harmless. It carries no request.
    Ended,
    /// Bytes have come that no request asked for.
    Unasked,
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

    /// What has come while no request was waiting. The system itself is asked: the runtime may not know yet.
    pub(super) fn idle(&mut self) -> Idle {
        let mut first = [0; FIRST];
        let seen = recv(self.socket().as_raw_fd(), &mut first, MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT);
        match (self, seen) {
            (Self::Cleartext(_), Err(Errno::EAGAIN)) => Idle::Silent,
            (Self::Cleartext(_), Ok(count)) => idle_after(&first[..count]),
            (Self::Cleartext(_), Err(_)) => Idle::Ended,
            (Self::Tls(tls), _) => {
                // Messages of TLS itself, such as tickets for later sessions, may come at any time. They are read here.
                let mut cx = Context::from_waker(Waker::noop());
                let decrypted = match Pin::new(&mut **tls).poll_fill_buf(&mut cx) {
                    Poll::Pending => None,
                    Poll::Ready(decrypted) => Some(decrypted.map_or(Idle::Ended, idle_after)),
                };
                let socket = tls.get_ref().0.as_raw_fd();
                let is_read =
                    || recv(socket, &mut [0], MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT) == Err(Errno::EAGAIN);
                decrypted.unwrap_or_else(|| if is_read() { Idle::Silent } else { Idle::Ended })
            }
        }
    }

    fn socket(&self) -> &TcpStream {
        match self {
            Self::Cleartext(tcp) => tcp,
            Self::Tls(tls) => tls.get_ref().0,
        }
    }
}

fn idle_after(bytes: &[u8]) -> Idle {
    if is_unasked(bytes) { Idle::Unasked } else { Idle::Ended }
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
