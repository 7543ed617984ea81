//! Reads and writes a plain socket by direct system calls.
//!
//! The C library's wrappers are cancellation points, which cost two atomic operations for each call. No code here
//! cancels threads.

use std::{
    future::poll_fn,
    io::{self, ErrorKind},
    task::{Context, Poll, ready},
};

use bytes::BytesMut;
use rustix::net::{SendFlags, send};
use tokio::{io::Interest, net::TcpStream};

use crate::sys;

/// A closed peer is an error of the call, not a signal. Where the flag is missing, Rust's start ignores the signal.
#[cfg(target_os = "linux")]
const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;
#[cfg(not(target_os = "linux"))]
const NO_SIGNAL: SendFlags = SendFlags::empty();

/// Reads available bytes into `buf`. Calls `make_room` for at least a byte of room once there is data. 0: the end.
pub fn poll_read(
    tcp: &TcpStream,
    cx: &mut Context<'_>,
    buf: &mut BytesMut,
    make_room: impl Fn(&mut BytesMut),
) -> Poll<io::Result<usize>> {
    loop {
        ready!(tcp.poll_read_ready(cx))?;
        make_room(buf);
        let room = buf.spare_capacity_mut().len();
        debug_assert!(room > 0, "nothing read into no room would be the end");
        let read = all_or_part(tcp, Interest::READABLE, room, || sys::receive(tcp, buf));
        if !is_too_early(&read) {
            return Poll::Ready(read);
        }
    }
}

/// Writes as much as the socket takes at once.
pub fn poll_write(tcp: &TcpStream, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
    loop {
        ready!(tcp.poll_write_ready(cx))?;
        let written = all_or_part(tcp, Interest::WRITABLE, bytes.len(), || Ok(send(tcp, bytes, NO_SIGNAL)?));
        if !is_too_early(&written) {
            return Poll::Ready(written);
        }
    }
}

/// Writes everything.
pub async fn write_all(tcp: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = poll_fn(|cx| poll_write(tcp, cx, bytes)).await?;
        if written == 0 {
            return Err(ErrorKind::WriteZero.into());
        }
        bytes = &bytes[written..];
    }
    Ok(())
}

/// Acknowledges received data at once, and further data until something is sent.
///
/// The system delays an acknowledgement by 40 ms on a connection that answers what it gets. A site without
/// `TCP_NODELAY` that sends a head and a body in two pieces waits for it in between (Nagle's algorithm).
pub fn acknowledge(tcp: &TcpStream) {
    #[cfg(target_os = "linux")]
    let _ = rustix::net::sockopt::set_tcp_quickack(tcp, true);
    #[cfg(not(target_os = "linux"))]
    let _ = tcp;
}

/// Whether the socket was not ready after all.
fn is_too_early(done: &io::Result<usize>) -> bool {
    matches!(done, Err(e) if e.kind() == ErrorKind::WouldBlock)
}

/// Reads or writes. A partial result means that the socket is no longer ready, which saves a system call that would
/// only report it.
fn all_or_part(
    tcp: &TcpStream,
    what: Interest,
    asked: usize,
    act: impl FnOnce() -> io::Result<usize>,
) -> io::Result<usize> {
    let mut done = Err(ErrorKind::WouldBlock.into());
    let _ = tcp.try_io(what, || {
        done = act();
        let is_part = matches!(done, Ok(part) if 0 < part && part < asked);
        if is_part || is_too_early(&done) { Err(ErrorKind::WouldBlock.into()) } else { Ok(()) }
    });
    done
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
        time::timeout,
    };

    use super::*;

    async fn both_ends() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (one, other) = tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
        (one.unwrap(), other.unwrap().0)
    }

    /// `None`: there is nothing to read.
    async fn read(tcp: &TcpStream, buf: &mut BytesMut) -> Option<io::Result<usize>> {
        timeout(Duration::from_millis(50), poll_fn(|cx| poll_read(tcp, cx, buf, |_| ()))).await.ok()
    }

    #[tokio::test]
    async fn what_was_read_to_its_end_is_readable_again_when_more_has_come() {
        let (tcp, mut other) = both_ends().await;
        let mut buf = BytesMut::with_capacity(8);
        for (sent, come) in
            [("", None), ("abc", Some(3)), ("", None), ("defghijkl", Some(5)), ("", Some(4)), ("", None)]
        {
            other.write_all(sent.as_bytes()).await.unwrap();
            assert_eq!(read(&tcp, &mut buf).await.map(Result::unwrap), come);
            if buf.len() == 8 {
                assert_eq!(buf, "abcdefgh");
                buf.clear();
            }
        }
        assert_eq!(buf, "ijkl");
        drop(other);
        // The end stays visible.
        for _ in 0..2 {
            assert_eq!(read(&tcp, &mut buf).await.map(Result::unwrap), Some(0));
        }
    }

    #[tokio::test]
    async fn what_a_socket_does_not_take_at_once_waits_until_it_is_read() {
        let (tcp, mut other) = both_ends().await;
        let sent: Vec<u8> = (0..20_000_000u32).map(|n| (n % 251) as u8).collect();
        let mut come = Vec::new();
        let (written, read) = tokio::join!(
            async {
                let written = write_all(&tcp, &sent).await;
                drop(tcp);
                written
            },
            other.read_to_end(&mut come)
        );
        written.unwrap();
        read.unwrap();
        assert!(come == sent);
    }

    #[tokio::test]
    async fn who_has_left_is_an_error() {
        let (tcp, other) = both_ends().await;
        drop(other);
        let mut failed = false;
        for _ in 0..100 {
            failed |= write_all(&tcp, b"x").await.is_err();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(failed);
    }
}
