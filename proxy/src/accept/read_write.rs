//! Reading and writing of a connection by the HTTP implementation.
//!
//! It enforces the time limit of a whole request head, which the library does not. It gathers small writes until a
//! flush. The library flushes HTTP/2 frames one by one; here the frames of one turn are sent together.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::conn::{Conn, Io};

/// Small writes are gathered up to this size, about one TCP segment.
const GATHER: usize = 1460;
/// Frames of several streams are gathered up to this size, the size of a TLS record (RFC 8446 §5.1).
const GATHER_FRAMES: usize = 16 * 1024;
/// The most slices in one system call: the gathered bytes, and a chunk in three parts.
const MOST_SLICES: usize = 4;

impl Conn {
    /// The caller is woken when the socket is writable, and need not try before.
    fn poll_out(&mut self, cx: &mut Context<'_>, bufs: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let written = self.poll_paced_write(cx, bufs);
        if self.framed {
            match &written {
                Poll::Ready(Ok(bytes)) => self.info.tells(Some(*bytes)),
                Poll::Ready(Err(_)) => {}
                Poll::Pending => {
                    self.info.tells(None);
                    self.info.leaves_unflushed(false);
                }
            }
        }
        written
    }

    pub(super) fn poll_gathered(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.gathered.is_empty() {
            let gathered = std::mem::take(&mut self.gathered);
            let written = self.poll_out(cx, &[io::IoSlice::new(&gathered)]);
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
            let here = self.ahead.slice(..self.ahead.len().min(buf.remaining()));
            let n = self.portion_of(&here)?;
            if n > 0 || here.is_empty() {
                buf.put_slice(&here[..n]);
                self.ahead.advance(n);
                self.let_go();
                return Poll::Ready(Ok(()));
            }
        } else {
            let before = buf.filled().len();
            if let Poll::Ready(read) = self.poll_socket_read(cx, buf) {
                read?;
                let read = buf.filled().len() - before;
                let n = self.portion_of(&buf.filled()[before..])?;
                if n < read {
                    self.ahead = Bytes::copy_from_slice(&buf.filled()[before + n..]);
                    buf.set_filled(before + n);
                }
                if n > 0 || read == 0 {
                    return Poll::Ready(Ok(()));
                }
            }
        }
        // The socket is empty, or has only bytes of the next request, which wait until this one is over. The caller
        // waits for the client, and perhaps for the site too, so there is nothing more to write now.
        if let (false, Poll::Ready(Err(e))) = (self.framed, self.poll_gathered(cx)) {
            return Poll::Ready(Err(e));
        }
        if self.info.poll_reading_ended(cx) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        // The timer exists only while a head is incomplete. Most heads arrive at once.
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

    /// Sends gathered and new bytes in one system call: a chunk with its length and its end.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.info.is_written_to(bufs.first().map(|buf| &buf[..]).unwrap_or_default());
        if let (true, [refusal]) = (self.info.is_refused(), bufs)
            && let Some((before, after)) = around_server(refusal)
        {
            self.gathered.extend_from_slice(before);
            self.gathered.extend_from_slice(after);
            return Poll::Ready(Ok(refusal.len()));
        }
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
        // A frame with a payload of its own fills the library's slot for one. So the library flushes it before it looks
        // for the next frame, and flushes once more when there is none.
        self.amid = self.framed && bufs.len() > 1;
        if self.gathered.len() + new <= if self.framed { GATHER_FRAMES } else { GATHER } {
            if self.gathered.capacity() == 0 {
                self.gathered.reserve_exact(GATHER.max(new));
            }
            bufs.iter().for_each(|buf| self.gathered.extend_from_slice(buf));
            return Poll::Ready(Ok(new));
        }
        let gathered = std::mem::take(&mut self.gathered);
        let mut all = [io::IoSlice::new(&[]); MOST_SLICES];
        let slices = std::iter::once(io::IoSlice::new(&gathered)).chain(bufs.iter().copied());
        let count = all.iter_mut().zip(slices).map(|(place, slice)| *place = slice).count();
        let written = self.poll_out(cx, &all[..count]);
        self.gathered = gathered;
        let n = ready!(written)?;
        if n == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        let from_gathered = n.min(self.gathered.len());
        self.gathered.drain(..from_gathered);
        match n - from_gathered {
            // Only gathered bytes were sent. The library offers the new ones again once the socket is writable.
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
        if std::mem::take(&mut self.amid) && !self.gathered.is_empty() {
            self.info.leaves_unflushed(true);
            return Poll::Ready(Ok(()));
        }
        ready!(self.poll_gathered(cx))?;
        if self.framed {
            self.info.leaves_unflushed(false);
        }
        self.poll_paced_flush(cx)
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

/// The parts before and after the library's own `Server` line, in its refusal of an invalid head.
fn around_server(head: &[u8]) -> Option<(&[u8], &[u8])> {
    const LINE: &[u8] = b"\r\nServer: Pingora";
    let at = memchr::memmem::find(head, LINE)?;
    Some((&head[..at], &head[at + LINE.len()..]))
}

#[cfg(test)]
mod tests {
    use std::{io::Read, net::TcpStream, sync::Arc, task::Waker, time::Duration};

    use tokio::{io::AsyncWriteExt, net::TcpListener};

    use super::*;
    use crate::{accept::info::ConnInfo, metrics::Metrics};

    /// A connection, and its other end.
    async fn conn() -> (Conn, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let (ours, from) = listener.accept().await.unwrap();
        let info = Arc::new(ConnInfo::new(from, false, Metrics::new().unwrap()));
        (Conn::new(Io::Plain(ours), info), client)
    }

    /// Whether nothing has arrived.
    fn is_silent(client: &mut TcpStream) -> bool {
        client.set_nonblocking(true).unwrap();
        let read = client.read(&mut [0; 1]);
        client.set_nonblocking(false).unwrap();
        read.is_err_and(|e| e.kind() == io::ErrorKind::WouldBlock)
    }

    /// Writes parts together and flushes. Returns their total length.
    async fn write(conn: &mut Conn, parts: &[&[u8]]) -> usize {
        let slices: Vec<_> = parts.iter().map(|part| io::IoSlice::new(part)).collect();
        let written = conn.write_vectored(&slices).await.unwrap();
        conn.flush().await.unwrap();
        written
    }

    #[tokio::test]
    async fn frames_of_one_turn_leave_together() {
        let (mut conn, mut client) = conn().await;
        conn.begin_frames();
        let mut length = 0;
        for _ in 0..3 {
            length += write(&mut conn, &[b"a frame's head", &[b'x'; 1000]]).await;
            assert!(conn.info().is_unflushed() && is_silent(&mut client));
        }
        conn.flush().await.unwrap();
        client.read_exact(&mut vec![0; length]).unwrap();
        assert!(length == 3 * 1014 && !conn.info().is_unflushed());
        // A frame without a payload of its own is the last one.
        let length = write(&mut conn, &[b"a", b"b"]).await + write(&mut conn, &[b"c"]).await;
        client.read_exact(&mut vec![0; length]).unwrap();
        assert!(length == 3 && !conn.info().is_unflushed());
    }

    #[tokio::test]
    async fn a_frame_that_fills_a_record_waits_for_no_other() {
        let (mut conn, mut client) = conn().await;
        conn.begin_frames();
        let length = write(&mut conn, &[b"head", &[b'x'; GATHER_FRAMES]]).await;
        client.read_exact(&mut vec![0; length]).unwrap();
        assert!(!conn.info().is_unflushed());
    }

    /// Otherwise a client that reads nothing would keep a processor busy.
    #[tokio::test]
    async fn who_waits_for_the_socket_is_woken_by_it_alone() {
        let (mut conn, mut client) = conn().await;
        conn.begin_frames();
        let mut cx = Context::from_waker(Waker::noop());
        let parts = [io::IoSlice::new(b"head"), io::IoSlice::new(&[b'x'; 1000])];
        let (mut written, mut skipped) = (0, false);
        let blocked = loop {
            match Pin::new(&mut conn).poll_write_vectored(&mut cx, &parts) {
                Poll::Ready(length) => written += length.unwrap(),
                Poll::Pending => break true,
            }
            for _ in 0..2 {
                let flushed = Pin::new(&mut conn).poll_flush(&mut cx);
                skipped |= conn.info().is_unflushed();
                if flushed.is_pending() {
                    break;
                }
            }
            if Pin::new(&mut conn).poll_flush(&mut cx).is_pending() {
                break conn.info().is_unflushed();
            }
        };
        assert!(skipped && !conn.info().is_unflushed(), "{blocked}");
        // The client gets everything once it reads.
        let reading = std::thread::spawn(move || client.read_exact(&mut vec![0; written]));
        conn.flush().await.unwrap();
        conn.flush().await.unwrap();
        reading.join().unwrap().unwrap();
    }

    /// Writes until the client is too slow. Returns the waiting time.
    async fn waited_for(conn: &mut Conn) -> Duration {
        loop {
            let began = tokio::time::Instant::now();
            if let Err(e) = conn.write_all(&[b'x'; 64 * 1024]).await {
                assert_eq!(e.kind(), io::ErrorKind::TimedOut);
                return began.elapsed();
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_an_error() {
        let (mut conn, client) = conn().await;
        assert!(!conn.info().is_slow_reader());
        conn.info().set_lowest_rate(500);
        let waited = waited_for(&mut conn).await;
        // The data that it read before allows this much waiting.
        assert!((10..=40).contains(&waited.as_secs()) && conn.info().is_slow_reader(), "{waited:?}");
        drop(client);
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_lowest_rate_a_client_is_waited_for() {
        let (mut conn, client) = conn().await;
        let waited = tokio::time::timeout(Duration::from_secs(100_000), waited_for(&mut conn)).await;
        assert!(waited.is_err() && !conn.info().is_slow_reader());
        drop(client);
    }

    #[tokio::test]
    async fn without_frames_a_flush_is_a_flush() {
        let (mut conn, mut client) = conn().await;
        let length = write(&mut conn, &[b"HTTP/1.1 200 OK\r\n\r\n", b"ok"]).await;
        client.read_exact(&mut vec![0; length]).unwrap();
        assert!(!conn.info().is_unflushed());
    }
}
