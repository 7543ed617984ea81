//! Idle connections of the fast path to one upstream.
//!
//! pingora watches each idle connection with a task of its own, which costs more than the request that it is kept for.
//! These lie in a list: one is checked when it is wanted again, and all of them each second.
//!
//! A site may send a second response that no request asked for, by a fault or because somebody made it split one. On a
//! connection that is used again at once, the next client would get it. The check finds what has come already. So after
//! the first such bytes every connection of that upstream rests before it is used again, long enough for the rest to come.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use super::transport::{Idle, Transport};
use crate::alarm::Alarm;

/// How many wait at most, for each upstream.
const MOST: usize = 128;
/// How long a connection rests where bytes may come that no request asked for. What comes is found then.
const REST: Duration = Duration::from_millis(50);
/// How long all connections of an upstream rest after one had such bytes.
const SUSPECTED: Duration = Duration::from_mins(10);

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
pub(super) struct IdlePool {
    idle: Mutex<Vec<PooledConn>>,
    /// Until when all of them rest.
    suspected: Mutex<Option<Instant>>,
}

impl PooledConn {
    pub(super) fn new(transport: Transport, address: SocketAddr) -> Self {
        Self { transport, alarm: Alarm::default(), address, used: Instant::now(), reused: false, rests: false }
    }

    /// Where the site is.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
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
            let all_rest = self.is_suspected(now);
            let mut plain = {
                let mut idle = self.idle.lock();
                let has_rested = |plain: &PooledConn| now.saturating_duration_since(plain.used) >= REST;
                let is_ready = |plain: &PooledConn| !(all_rest || plain.rests) || has_rested(plain);
                let last = idle.iter().rposition(|plain| plain.address == address && is_ready(plain))?;
                idle.remove(last)
            };
            if self.is_silent(&mut plain) {
                (plain.reused, plain.used, plain.rests) = (true, now, false);
                return Some(plain);
            }
        }
    }

    /// Keeps one that has been read to the end of an answer, which had begun at `answered`.
    pub(super) fn put(&self, mut plain: PooledConn, answered: Instant) {
        plain.used = answered;
        if self.is_suspected(answered) {
            // The rest begins at the end of the answer. The site's system may hold bytes back until the answer is
            // acknowledged.
            plain.used = Instant::now();
            plain.transport.acknowledge();
        }
        let mut idle = self.idle.lock();
        if idle.len() < MOST {
            idle.push(plain);
        }
    }

    /// Drops what the site has closed, and what has waited for longer than `most`.
    pub(super) fn sweep(&self, most: Duration) {
        let is_gone = |plain: &mut PooledConn| plain.used.elapsed() > most || !self.is_silent(plain);
        let gone: Vec<PooledConn> = self.idle.lock().extract_if(.., is_gone).collect();
        drop(gone);
    }

    /// Lets all connections rest for a while: one of them had bytes that no request asked for.
    pub(super) fn suspect(&self, address: SocketAddr) {
        let now = Instant::now();
        let before = self.suspected.lock().replace(now + SUSPECTED);
        if before.is_none_or(|until| until <= now) {
            tracing::warn!(
                %address,
                minutes = SUSPECTED.as_secs() / 60,
                "an upstream sent bytes that no request asked for; its idle connections now wait 50 ms before they are \
                 used again; check the upstream for split or repeated responses"
            );
        }
    }

    fn is_suspected(&self, now: Instant) -> bool {
        self.suspected.lock().is_some_and(|until| now < until)
    }

    /// Whether nothing has come on an idle connection.
    fn is_silent(&self, plain: &mut PooledConn) -> bool {
        let idle = plain.transport.idle();
        // After a response without a body, the bytes are likely a body.
        if idle == Idle::Unasked && !plain.rests {
            self.suspect(plain.address);
        }
        idle == Idle::Silent
    }
}
