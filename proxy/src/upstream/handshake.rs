//! The connection of a protocol upgrade: the end of the request goes up before the answer is read.
//!
//! The library takes the empty end of an upgrade's request, where it meets it after the site's 101, for the client's
//! goodbye and cuts both sides off. Both can wait at once when a site is quick and the machine is busy, and then it is
//! chance which of them is taken first. So what is read after something was written waits one turn.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use async_trait::async_trait;
use pingora::{
    Error, ErrorType, OrErr,
    connectors::l4::Connect,
    protocols::l4::{
        ext::set_tcp_keepalive,
        socket::SocketAddr,
        stream::Stream,
        virt::{VirtualSockOpt, VirtualSocket, VirtualSocketStream},
    },
    upstreams::peer::HttpPeer,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// Makes a peer the peer of one upgrade: a connection of its own, never shared, never kept.
pub(super) fn alone(peer: &mut HttpPeer) {
    static ALONE: AtomicU64 = AtomicU64::new(u64::MAX);
    // From the other end than the pools' groups, which count up.
    peer.group_key = ALONE.fetch_sub(1, Ordering::Relaxed);
    peer.options.idle_timeout = Some(Duration::from_millis(1));
    let limit = peer.options.connection_timeout;
    peer.options.custom_l4 = Some(Arc::new(Opening { limit }));
}

/// Connects, within a second where there is no other limit.
pub(super) async fn open(address: std::net::SocketAddr, limit: Option<Duration>) -> pingora::Result<TcpStream> {
    let limit = limit.unwrap_or(Duration::from_secs(1));
    tokio::time::timeout(limit, TcpStream::connect(address))
        .await
        .or_err(ErrorType::ConnectTimedout, "connecting")?
        .map_err(|e| match e.kind() {
            io::ErrorKind::ConnectionRefused => Error::because(ErrorType::ConnectRefused, "connecting", e),
            _ => Error::because(ErrorType::ConnectError, "connecting", e),
        })
}

#[derive(Debug)]
struct Opening {
    limit: Option<Duration>,
}

#[async_trait]
impl Connect for Opening {
    async fn connect(&self, address: &SocketAddr) -> pingora::Result<Stream> {
        let SocketAddr::Inet(address) = address else {
            return Error::e_explain(ErrorType::InternalError, "an upstream without an address");
        };
        let io = open(*address, self.limit).await?;
        Ok(VirtualSocketStream::new(Box::new(InTurn { io, wrote: false })).into())
    }
}

/// A socket whose first read after a write comes a turn later.
#[derive(Debug)]
struct InTurn {
    io: TcpStream,
    wrote: bool,
}

impl VirtualSocket for InTurn {
    fn set_socket_option(&self, option: VirtualSockOpt) -> io::Result<()> {
        match option {
            VirtualSockOpt::NoDelay => self.io.set_nodelay(true),
            VirtualSockOpt::KeepAlive(settings) => set_tcp_keepalive(&self.io, &settings).map_err(io::Error::other),
            _ => Ok(()),
        }
    }
}

impl AsyncRead for InTurn {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if std::mem::take(&mut self.wrote) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }
}

impl AsyncWrite for InTurn {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.wrote = true;
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
