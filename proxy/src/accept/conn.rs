//! A client connection, as the proxy library reads and writes it.
//!
//! An idle connection has no buffer: reads go straight into the caller's buffer, and writes are gathered only until the
//! next flush.

use std::{
    cell::RefCell,
    io,
    mem::MaybeUninit,
    os::fd::{AsRawFd, RawFd},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
};

use bytes::{Bytes, BytesMut};
use pingora::protocols::{SocketDigest, l4::socket::SocketAddr as LibraryAddr};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::Sleep,
};
use tokio_rustls::server::TlsStream;

use super::{
    frames_in::FramesIn,
    gate::Due,
    info::ConnInfo,
    linger,
    read_limit::{Portion, RequestBody},
    write_pace::WritePace,
};
use crate::{socket, sys};

/// The first read of a request; most heads fit.
const FIRST_READ: usize = 4096;

/// The socket, with or without TLS.
#[derive(Debug)]
pub(super) enum Io {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    /// The lingering close has taken it.
    Gone,
}

impl Io {
    fn socket(&self) -> RawFd {
        match self {
            Self::Plain(tcp) => tcp.as_raw_fd(),
            Self::Tls(tls) => tls.get_ref().0.as_raw_fd(),
            Self::Gone => -1,
        }
    }
}

/// A connection: the library reads requests from it and writes responses to it.
#[derive(Debug)]
pub struct Conn {
    pub(super) io: Io,
    pub(super) info: Arc<ConnInfo>,
    digest: Arc<SocketDigest>,
    /// Bytes read ahead to detect the protocol. The next read returns them first.
    pub(super) ahead: Bytes,
    /// The part of the request that the next bytes belong to.
    pub(super) portion: Portion,
    /// Written but not yet flushed.
    pub(super) gathered: Vec<u8>,
    /// It carries HTTP/2 frames. The frames of one turn are sent together.
    pub(super) framed: bool,
    /// The count of received frames over HTTP/2.
    frames_in: Option<Box<FramesIn>>,
    /// A frame was written since the last flush, and another flush follows in the same turn.
    pub(super) amid: bool,
    written: u64,
    written_before: u64,
    /// The client's pace of reading, once it has delayed a write.
    write_pace: Option<Box<WritePace>>,
    pub(super) head_due: Option<Due>,
    pub(super) timer: Option<Pin<Box<Sleep>>>,
}

impl Conn {
    pub(super) fn new(io: Io, info: Arc<ConnInfo>) -> Self {
        let fd = io.socket();
        let digest = SocketDigest::from_raw_fd(fd);
        let _ = digest.peer_addr.set(Some(LibraryAddr::Inet(info.client)));
        Self {
            io,
            info,
            digest: Arc::new(digest),
            ahead: Bytes::new(),
            portion: Portion::Rest,
            gathered: Vec::new(),
            framed: false,
            frames_in: None,
            amid: false,
            written: 0,
            written_before: 0,
            write_pace: None,
            head_due: None,
            timer: None,
        }
    }

    /// Facts about the connection.
    pub fn info(&self) -> &Arc<ConnInfo> {
        &self.info
    }

    /// The host in the TLS handshake (SNI).
    #[cfg(feature = "agtp")]
    pub fn server_name(&self) -> Option<&str> {
        match &self.io {
            Io::Tls(tls) => tls.get_ref().1.server_name(),
            Io::Plain(_) | Io::Gone => None,
        }
    }

    pub(super) fn digest(&self) -> Arc<SocketDigest> {
        self.digest.clone()
    }

    /// From now on a request's head is read, with this deadline.
    pub(super) fn begin_head(&mut self, due: Due) {
        self.info.begin_head();
        self.head_due = Some(due);
        self.portion = Portion::head();
        (self.written_before, self.write_pace) = (self.written, None);
        self.timer = None;
    }

    /// From now on frames are written, and flushes between the frames of one turn are postponed. The driver of the
    /// connection sees in [`ConnInfo::is_unflushed`] that the last flush is still due.
    pub(super) fn begin_frames(&mut self) {
        self.framed = true;
        self.frames_in = Some(Box::new(FramesIn::new()));
    }

    /// Waits until data has been read, without a buffer while waiting. The socket's readiness alone is not enough: it
    /// may be spurious. Fails if the client has left.
    pub(super) async fn readable(&mut self) -> io::Result<()> {
        // No response is being written.
        self.write_pace = None;
        self.has_come().await
    }

    async fn has_come(&mut self) -> io::Result<()> {
        if !self.ahead.is_empty() {
            return Ok(());
        }
        self.ahead = std::future::poll_fn(|cx| self.poll_ahead(cx)).await?;
        if self.ahead.is_empty() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    fn poll_ahead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        thread_local!(static ROOM: RefCell<BytesMut> = RefCell::new(BytesMut::with_capacity(FIRST_READ)));
        if let Io::Plain(tcp) = &self.io {
            return ROOM.with_borrow_mut(|room| {
                ready!(socket::poll_read(tcp, cx, room, BytesMut::clear))?;
                Poll::Ready(Ok(Bytes::copy_from_slice(room)))
            });
        }
        let mut bytes = [MaybeUninit::<u8>::uninit(); FIRST_READ];
        let mut buf = ReadBuf::uninit(&mut bytes);
        ready!(self.poll_socket_read(cx, &mut buf))?;
        Poll::Ready(Ok(Bytes::copy_from_slice(buf.filled())))
    }

    /// The bytes that were read ahead and not taken yet.
    pub fn ahead(&self) -> &Bytes {
        &self.ahead
    }

    /// Takes a request's head of `length` bytes from the bytes read ahead.
    pub fn take_head(&mut self, length: usize) {
        drop(self.take_body(length));
        self.info.head_is_read(RequestBody::Unbounded);
    }

    /// Takes the body bytes that came with the head.
    pub fn take_body(&mut self, length: usize) -> Bytes {
        let taken = self.ahead.split_to(length);
        self.let_go();
        taken
    }

    /// Frees the memory of bytes that have been taken.
    pub(super) fn let_go(&mut self) {
        if self.ahead.is_empty() {
            self.ahead = Bytes::new();
        }
    }

    /// Returns when the client has left or closed its sending side. Data that it sends meanwhile waits, as far as there
    /// is room.
    pub async fn gone(&mut self) {
        if self.has_come().await.is_ok() {
            std::future::pending::<()>().await;
        }
    }

    /// Writes everything, in as few system calls as possible.
    pub async fn send(&mut self, mut bufs: &mut [io::IoSlice<'_>]) -> io::Result<()> {
        while !bufs.is_empty() {
            let sent = std::future::poll_fn(|cx| self.poll_paced_write(cx, bufs)).await?;
            if sent == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            io::IoSlice::advance_slices(&mut bufs, sent);
        }
        match &self.io {
            Io::Tls(_) => std::future::poll_fn(|cx| self.poll_paced_flush(cx)).await,
            Io::Plain(_) | Io::Gone => Ok(()),
        }
    }

    /// Whether the client's first bytes are `preface`. The bytes stay available for reading.
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

    /// How many of the next bytes the reader may have now. If it is none, they belong to the next request.
    pub(super) fn portion_of(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(frames) = &mut self.frames_in {
            return match frames.look(bytes, self.info.told_so_far().0) {
                true => Ok(bytes.len()),
                false => Err(io::Error::new(io::ErrorKind::InvalidData, "too many frames of no use")),
            };
        }
        if self.info.has_head() {
            self.portion.head_is_read(self.info.body());
        }
        self.portion.of(bytes).map_err(|why| {
            self.info.body_is_malformed();
            io::Error::new(io::ErrorKind::InvalidData, why)
        })
    }

    pub(super) fn poll_socket_read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Io::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
            Io::Gone => Poll::Ready(Ok(())),
        }
    }

    /// Writes to the socket. Fails if the client reads too slowly.
    pub(super) fn poll_paced_write(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.poll_socket_write(cx, bufs) {
            Poll::Pending => self.poll_too_slow(cx),
            written => {
                if let Poll::Ready(Ok(bytes)) = &written {
                    self.written += *bytes as u64;
                }
                if let Some(pace) = &mut self.write_pace {
                    pace.goes_on();
                }
                written
            }
        }
    }

    /// The same for data in the TLS layer.
    pub(super) fn poll_paced_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = match &mut self.io {
            Io::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Io::Tls(tls) => Pin::new(tls).poll_flush(cx),
            Io::Gone => Poll::Ready(Ok(())),
        };
        match flushed {
            Poll::Pending => self.poll_too_slow(cx),
            flushed => {
                if let Some(pace) = &mut self.write_pace {
                    pace.goes_on();
                }
                flushed
            }
        }
    }

    /// Called when the socket takes nothing. Fails once the client is too slow.
    fn poll_too_slow<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        let lowest = self.info.lowest_rate();
        if lowest == 0 {
            return Poll::Pending;
        }
        let (written, before, socket) = (self.written, self.written_before, self.io.socket());
        let acknowledged = || written.saturating_sub(sys::unacknowledged(socket));
        // Of what was pipelined an earlier answer may still be on its way.
        let made = || WritePace::new(lowest, self.info.longest_pause(), before.min(acknowledged()));
        let pace = self.write_pace.get_or_insert_with(|| Box::new(made()));
        ready!(pace.poll_too_slow(cx, acknowledged));
        self.info.reads_too_slowly(self.framed);
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    pub(super) fn poll_socket_write(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.io {
            // A plain write is cheaper than a vectored write of one slice.
            Io::Plain(tcp) if bufs.len() == 1 => socket::poll_write(tcp, cx, &bufs[0]),
            Io::Plain(tcp) => Pin::new(tcp).poll_write_vectored(cx, bufs),
            Io::Tls(tls) => Pin::new(tls).poll_write_vectored(cx, bufs),
            Io::Gone => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }
}

impl Drop for Conn {
    fn drop(&mut self) {
        // Send the gathered part of a response that breaks off. Bytes that the socket does not take at once are lost.
        if !self.framed && !self.gathered.is_empty() {
            // No task waits for it, and the timers may be gone already.
            self.info.set_lowest_rate(0);
            let _ = self.poll_gathered(&mut Context::from_waker(Waker::noop()));
        }
        if !self.info.lingers() {
            return;
        }
        let held = self.info.let_go();
        let bound = match (self.info.drains_upload(), &held) {
            (true, _) => linger::UPLOAD,
            (false, Some(_)) => linger::ANSWER,
            (false, None) => linger::REFUSAL,
        };
        match std::mem::replace(&mut self.io, Io::Gone) {
            Io::Plain(tcp) => linger::close(tcp, bound, held),
            Io::Tls(tls) => linger::close(*tls, bound, held),
            Io::Gone => {}
        }
    }
}
