//! Idle connections of the fast path to one upstream.
//!
//! pingora watches each idle connection with a task of its own, which costs more than the request that it is kept for.
//! These lie in a list: one is checked when it is wanted again, and all of them each second.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use super::transport::Transport;
use crate::alarm::Alarm;

/// How many wait at most, for each upstream.
const MOST: usize = 128;
/// How long a connection rests where a body may come that the response does not have. What comes is found then.
const REST: Duration = Duration::from_millis(50);

/// An HTTP/1.1 connection to a site.
#[derive(Debug)]
pub struct PooledConn {
    pub(super) transport: Transport,
    /// Wakes the request that waits for the site.
    pub(super) alarm: Alarm,
    address: SocketAddr,
    /// When it was taken for a request, or an answer began on it.
    pub(super) used: Instant,
    reused: bool,
    /// Its last response had no body by its status or method. A site may send one all the same, and it would be taken for
    /// the next response; so the connection rests for [`REST`] first.
    pub(super) rests: bool,
}

/// The connections of one upstream.
#[derive(Debug, Default)]
pub(super) struct IdlePool(Mutex<Vec<PooledConn>>);

impl PooledConn {
    pub(super) fn new(transport: Transport, address: SocketAddr) -> Self {
        Self { transport, alarm: Alarm::default(), address, used: Instant::now(), reused: false, rests: false }
    }

    /// Whether another request was answered on it before.
    pub fn is_reused(&self) -> bool {
        self.reused
    }
}

impl IdlePool {
    /// The one that was used last, if the site still holds it open.
    pub(super) fn take(&self, address: SocketAddr, now: Instant) -> Option<PooledConn> {
        loop {
            let mut plain = {
                let mut kept = self.0.lock();
                let is_ready = |plain: &PooledConn| !plain.rests || now.saturating_duration_since(plain.used) >= REST;
                let last = kept.iter().rposition(|plain| plain.address == address && is_ready(plain))?;
                kept.remove(last)
            };
            // What is there before a request was sent is no response to it. The system is asked each time: the runtime may
            // not know yet.
            if plain.transport.is_certainly_silent() {
                (plain.reused, plain.used, plain.rests) = (true, now, false);
                return Some(plain);
            }
        }
    }

    /// Keeps one that has been read to the end of an answer, which had begun at `answered`.
    pub(super) fn put(&self, mut plain: PooledConn, answered: Instant) {
        plain.used = answered;
        let mut kept = self.0.lock();
        if kept.len() < MOST {
            kept.push(plain);
        }
    }

    /// Lets go of what the site has closed, and of what has waited for longer than `most`.
    pub(super) fn sweep(&self, most: Duration) {
        let is_gone = |plain: &mut PooledConn| plain.used.elapsed() > most || !plain.transport.is_certainly_silent();
        let gone: Vec<PooledConn> = self.0.lock().extract_if(.., is_gone).collect();
        drop(gone);
    }
}
