//! A connection of ours, as the proxy library sees one.
//!
//! It bounds what the library does not: the time a whole request head may take, however the bytes drip. And it owns
//! no buffer while it idles: reads go straight to whoever reads, writes are gathered only until they are flushed.

use std::{
    io,
    mem::MaybeUninit,
    os::fd::AsRawFd,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use pingora::protocols::{SocketDigest, l4::socket::SocketAddr as LibraryAddr};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf},
    net::TcpStream,
    time::Sleep,
};
use tokio_rustls::server::TlsStream;

use super::{gate::Due, info::ConnInfo, linger};

/// Small writes are gathered up to this size, about what one segment carries.
const GATHER: usize = 1460;
/// Slices that leave in one system call: what is gathered, and a chunk in three parts.
const MOST_SLICES: usize = 4;
/// What is read at once when a request begins; most heads fit.
const FIRST_READ: usize = 4096;

/// The socket, or TLS over it.
#[derive(Debug)]
pub(super) enum Io {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    /// Taken by the lingering close.
    Gone,
}

/// A connection: what the library reads requests from and writes responses to.
#[derive(Debug)]
pub struct Conn {
    pub(super) io: Io,
    info: Arc<ConnInfo>,
    digest: Arc<SocketDigest>,
    /// Read ahead while telling protocols apart; comes first when reading.
    ahead: Bytes,
    /// Written but not yet flushed.
    gathered: Vec<u8>,
    /// Bytes read since the current request began.
    taken: usize,
    head_due: Option<Due>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Conn {
    pub(super) fn new(io: Io, info: Arc<ConnInfo>) -> Self {
        let fd = match &io {
            Io::Plain(tcp) => tcp.as_raw_fd(),
            Io::Tls(tls) => tls.get_ref().0.as_raw_fd(),
            Io::Gone => -1,
        };
        let digest = SocketDigest::from_raw_fd(fd);
        let _ = digest.peer_addr.set(Some(LibraryAddr::Inet(info.client)));
        Self {
            io,
            info,
            digest: Arc::new(digest),
            ahead: Bytes::new(),
            gathered: Vec::new(),
            taken: 0,
            head_due: None,
            timer: None,
        }
    }

    /// What is known about it.
    pub fn info(&self) -> &Arc<ConnInfo> {
        &self.info
    }

    /// Whom the client asked for when it shook hands (SNI).
    pub fn server_name(&self) -> Option<&str> {
        match &self.io {
            Io::Tls(tls) => tls.get_ref().1.server_name(),
            Io::Plain(_) | Io::Gone => None,
        }
    }

    pub(super) fn digest(&self) -> Arc<SocketDigest> {
        self.digest.clone()
    }

    /// From now on a request's head is read, which has to be complete in time.
    pub(super) fn begin_head(&mut self, due: Due) {
        self.info.begin_head();
        self.head_due = Some(due);
        self.taken = 0;
        self.timer = None;
    }

    /// Whether anything but the request's head was read: a body, or the beginning of the next request.
    pub(super) fn took_more_than_a_head(&self) -> bool {
        self.taken != self.info.head_length()
    }

    /// Waits until something has been read, holding nothing but the socket: the buffer exists only while it is filled.
    /// A socket that merely says it is readable is not enough, it may be wrong. An error when the client has left.
    pub(super) async fn readable(&mut self) -> io::Result<()> {
        if !self.ahead.is_empty() {
            return Ok(());
        }
        self.ahead = std::future::poll_fn(|cx| {
            let mut bytes = [MaybeUninit::<u8>::uninit(); FIRST_READ];
            let mut buf = ReadBuf::uninit(&mut bytes);
            ready!(self.poll_socket_read(cx, &mut buf))?;
            Poll::Ready(io::Result::Ok(Bytes::copy_from_slice(buf.filled())))
        })
        .await?;
        if self.ahead.is_empty() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    /// What has been read and nobody has taken yet.
    pub fn ahead(&self) -> &Bytes {
        &self.ahead
    }

    /// Takes the head of a request, `length` bytes, from what has been read ahead.
    pub fn take_head(&mut self, length: usize) {
        drop(self.take_body(length));
        self.info.head_is_read(length);
    }

    /// Takes the body that came with it.
    pub fn take_body(&mut self, length: usize) -> Bytes {
        self.taken += length;
        let taken = self.ahead.split_to(length);
        self.let_go();
        taken
    }

    /// What has been taken of what was read ahead is not held any longer.
    fn let_go(&mut self) {
        if self.ahead.is_empty() {
            self.ahead = Bytes::new();
        }
    }

    /// Returns when the client has left, or will send nothing more. What it sends meanwhile waits, as far as there is
    /// room.
    pub async fn gone(&mut self) {
        if self.readable().await.is_ok() {
            std::future::pending::<()>().await;
        }
    }

    /// Writes all of it, in as few system calls as the socket allows.
    pub async fn send(&mut self, mut bufs: &mut [io::IoSlice<'_>]) -> io::Result<()> {
        while !bufs.is_empty() {
            let sent = std::future::poll_fn(|cx| self.poll_socket_write(cx, bufs)).await?;
            if sent == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            io::IoSlice::advance_slices(&mut bufs, sent);
        }
        match &mut self.io {
            Io::Tls(tls) => tls.flush().await,
            Io::Plain(_) | Io::Gone => Ok(()),
        }
    }

    /// Whether the client begins with `preface`. What was read for it is there to be read again.
    pub(super) async fn begins_with(&mut self, preface: &[u8]) -> io::Result<bool> {
        let mut seen = Vec::new();
        while seen.len() < preface.len() && preface.starts_with(&seen) {
            seen.reserve(FIRST_READ);
            if self.read_buf(&mut seen).await? == 0 {
                break;
            }
        }
        let same = seen.starts_with(preface);
        self.ahead = Bytes::from(seen);
        Ok(same)
    }

    fn poll_socket_read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Io::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
            Io::Gone => Poll::Ready(Ok(())),
        }
    }

    fn poll_socket_write(&mut self, cx: &mut Context<'_>, bufs: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        match &mut self.io {
            // The system does less for one slice than for a list of one.
            Io::Plain(tcp) if bufs.len() == 1 => Pin::new(tcp).poll_write(cx, &bufs[0]),
            Io::Plain(tcp) => Pin::new(tcp).poll_write_vectored(cx, bufs),
            Io::Tls(tls) => Pin::new(tls).poll_write_vectored(cx, bufs),
            Io::Gone => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    fn poll_gathered(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.gathered.is_empty() {
            let gathered = std::mem::take(&mut self.gathered);
            let written = self.poll_socket_write(cx, &[io::IoSlice::new(&gathered)]);
            self.gathered = gathered;
            match ready!(written)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                n => drop(self.gathered.drain(..n)),
            }
        }
        // An idle connection keeps no buffer.
        self.gathered = Vec::new();
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Conn {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.ahead.is_empty() {
            let n = self.ahead.len().min(buf.remaining());
            buf.put_slice(&self.ahead[..n]);
            self.ahead.advance(n);
            self.let_go();
            self.taken += n;
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        if let Poll::Ready(read) = self.poll_socket_read(cx, buf) {
            self.taken += buf.filled().len() - before;
            return Poll::Ready(read);
        }
        // The timer exists only while a head is incomplete: most heads arrive at once.
        if let (Some(due), false) = (self.head_due, self.info.has_head()) {
            let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due.by())));
            if timer.as_mut().poll(cx).is_ready() {
                self.info.head_is_late();
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        Poll::Pending
    }
}

impl AsyncWrite for Conn {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[io::IoSlice::new(buf)])
    }

    /// What is gathered and what is new leave in one system call: a chunk with its length before it and its end after.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.info.is_written_to();
        if let (true, Some(first)) = (self.info.keeps_date(), bufs.first()) {
            let this = &mut *self;
            let before = this.gathered.len();
            this.gathered.extend_from_slice(first);
            if this.info.restore_date(&mut this.gathered[before..]) {
                return Poll::Ready(Ok(first.len()));
            }
            this.gathered.truncate(before);
        }
        let new: usize = bufs.iter().map(|buf| buf.len()).sum();
        if self.gathered.len() + new <= GATHER {
            if self.gathered.capacity() == 0 {
                self.gathered.reserve_exact(GATHER);
            }
            bufs.iter().for_each(|buf| self.gathered.extend_from_slice(buf));
            return Poll::Ready(Ok(new));
        }
        let gathered = std::mem::take(&mut self.gathered);
        let mut all = [io::IoSlice::new(&[]); MOST_SLICES];
        let slices = std::iter::once(io::IoSlice::new(&gathered)).chain(bufs.iter().copied());
        let count = all.iter_mut().zip(slices).map(|(place, slice)| *place = slice).count();
        let written = self.poll_socket_write(cx, &all[..count]);
        self.gathered = gathered;
        let n = ready!(written)?;
        if n == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        let from_gathered = n.min(self.gathered.len());
        self.gathered.drain(..from_gathered);
        match n - from_gathered {
            // Only old bytes went out: the new ones are offered again once the socket takes them.
            0 => {
                ready!(self.poll_gathered(cx))?;
                self.poll_write_vectored(cx, bufs)
            }
            taken => Poll::Ready(Ok(taken)),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_gathered(cx))?;
        match &mut self.io {
            Io::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Io::Tls(tls) => Pin::new(tls).poll_flush(cx),
            Io::Gone => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_gathered(cx))?;
        match &mut self.io {
            Io::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Io::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
            Io::Gone => Poll::Ready(Ok(())),
        }
    }
}

impl Drop for Conn {
    fn drop(&mut self) {
        if !self.info.lingers() {
            return;
        }
        match std::mem::replace(&mut self.io, Io::Gone) {
            Io::Plain(tcp) => linger::close(tcp),
            Io::Tls(tls) => linger::close(*tls),
            Io::Gone => {}
        }
    }
}
