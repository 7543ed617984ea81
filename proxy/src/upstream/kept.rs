//! Connections to a site that only wait for another request, for whoever asks it without the library.
//!
//! The library watches each kept connection with a task of its own, which costs more than the request that it is kept
//! for. These lie in a list: one is looked at when it is wanted again, and all of them each second.

use std::{
    io,
    net::SocketAddr,
    os::fd::AsRawFd,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::net::TcpStream;

use crate::alarm::Alarm;

/// How many wait at most, for each upstream.
const MOST: usize = 128;
/// So long after it was used last a connection is taken without asking the system whether the site has closed it.
const FRESH: Duration = Duration::from_millis(20);

/// A cleartext connection to a site.
#[derive(Debug)]
pub struct Plain {
    pub(super) tcp: TcpStream,
    /// For whoever waits for the site.
    pub(super) alarm: Alarm,
    address: SocketAddr,
    /// When it was taken for a request, or an answer began on it.
    pub(super) used: Instant,
    reused: bool,
}

/// The connections of one upstream.
#[derive(Debug, Default)]
pub(super) struct Kept(Mutex<Vec<Plain>>);

impl Plain {
    pub(super) fn new(tcp: TcpStream, address: SocketAddr) -> Self {
        Self { tcp, alarm: Alarm::default(), address, used: Instant::now(), reused: false }
    }

    /// Whether another request was answered on it before.
    pub fn is_reused(&self) -> bool {
        self.reused
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
    pub(super) fn take(&self, address: SocketAddr, now: Instant) -> Option<Plain> {
        loop {
            let mut plain = {
                let mut kept = self.0.lock();
                let last = kept.iter().rposition(|plain| plain.address == address)?;
                kept.remove(last)
            };
            let fresh = now.saturating_duration_since(plain.used) < FRESH;
            let well = if fresh { plain.is_well() } else { plain.is_certainly_well() };
            if well {
                (plain.reused, plain.used) = (true, now);
                return Some(plain);
            }
        }
    }

    /// Keeps one that has been read to the end of an answer, which had begun at `answered`.
    pub(super) fn put(&self, mut plain: Plain, answered: Instant) {
        plain.used = answered;
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
