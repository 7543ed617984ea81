//! Connections to a site that only wait for another request, for whoever asks it without the library.
//!
//! The library watches each kept connection with a task of its own, which costs more than the request that it is kept
//! for. These lie in a list: one is looked at when it is wanted again, and all of them each second.

use std::{
    io,
    net::SocketAddr,
    os::fd::AsRawFd,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use parking_lot::Mutex;
use pingora::protocols::{
    GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl, TimingDigest, UniqueID,
    UniqueIDType, raw_connect::ProxyDigest,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf},
    net::TcpStream,
};

/// How many wait at most, for each upstream.
const MOST: usize = 128;
/// So long after it was used last a connection is taken without asking the system whether the site has closed it.
const FRESH: Duration = Duration::from_millis(20);

/// A cleartext connection to a site.
#[derive(Debug)]
pub struct Plain {
    tcp: TcpStream,
    address: SocketAddr,
    used: Instant,
}

/// The connections of one upstream.
#[derive(Debug, Default)]
pub(super) struct Kept(Mutex<Vec<Plain>>);

impl Plain {
    pub(super) fn new(tcp: TcpStream, address: SocketAddr) -> Self {
        Self { tcp, address, used: Instant::now() }
    }

    /// Returns when there is something to read, or an end, as far as the system has told.
    pub async fn readable(&self) -> io::Result<()> {
        std::future::poll_fn(|cx| self.tcp.poll_read_ready(cx)).await
    }

    /// Nothing has come that nobody asked for, nor an end.
    fn is_well(&self) -> bool {
        self.tcp.try_read(&mut [0]).is_err_and(|e| e.kind() == io::ErrorKind::WouldBlock)
    }

    /// The same, by the system itself: what it has seen may not have been told yet.
    fn is_certainly_well(&self) -> bool {
        use nix::{
            errno::Errno,
            sys::socket::{MsgFlags, recv},
        };
        let seen = recv(self.tcp.as_raw_fd(), &mut [0], MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT);
        seen == Err(Errno::EAGAIN)
    }
}

impl Kept {
    /// The one that was used last, if the site still holds it open.
    pub(super) fn take(&self, address: SocketAddr) -> Option<Plain> {
        loop {
            let plain = {
                let mut kept = self.0.lock();
                let last = kept.iter().rposition(|plain| plain.address == address)?;
                kept.remove(last)
            };
            if if plain.used.elapsed() < FRESH { plain.is_well() } else { plain.is_certainly_well() } {
                return Some(plain);
            }
        }
    }

    /// Keeps one that has been read to the end of an answer.
    pub(super) fn put(&self, mut plain: Plain) {
        plain.used = Instant::now();
        let mut kept = self.0.lock();
        if kept.len() < MOST {
            kept.push(plain);
        }
    }

    /// Lets go of what the site has closed, and of what has waited for longer than `most`.
    pub(super) fn sweep(&self, most: Duration) {
        let gone: Vec<Plain> =
            self.0.lock().extract_if(.., |plain| plain.used.elapsed() > most || !plain.is_certainly_well()).collect();
        drop(gone);
    }
}

impl AsyncRead for Plain {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_read(cx, buf)
    }
}

impl AsyncWrite for Plain {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}

#[async_trait]
impl Shutdown for Plain {
    async fn shutdown(&mut self) {
        let _ = AsyncWriteExt::shutdown(&mut self.tcp).await;
    }
}

impl UniqueID for Plain {
    fn id(&self) -> UniqueIDType {
        self.tcp.as_raw_fd()
    }
}

impl Ssl for Plain {}

impl Peek for Plain {}

impl GetTimingDigest for Plain {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        Vec::new()
    }
}

impl GetProxyDigest for Plain {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        None
    }
}

impl GetSocketDigest for Plain {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        None
    }
}
