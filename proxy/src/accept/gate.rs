//! Limits connections: the number of open ones, which idle ones make room, and when the process stops accepting.

use std::{
    future::poll_fn,
    net::IpAddr,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};

use tokio::{
    sync::{Notify, OwnedRwLockWriteGuard, OwnedSemaphorePermit, RwLock, Semaphore, watch},
    time::{Instant, timeout, timeout_at},
};

use super::{
    Conn,
    admission::{Admission, Idling},
};
use crate::{
    alarm::Alarm,
    client_share::{Bound, Share, Shares},
    live::Live,
    metrics::Metrics,
};

/// How long after its last activity a connection may still send one more request once the shutdown has begun.
const LAST_CALL: Duration = Duration::from_secs(1);

/// How long an idle connection may take to make room for a new one. After that the new one counts as held up.
const MAKES_ROOM: Duration = Duration::from_millis(100);

/// The state that all listeners of a kind share: the limit on connections and the drain.
pub struct Gate {
    pub(super) live: Arc<Live>,
    pub(super) metrics: Arc<Metrics>,
    permits: Arc<Semaphore>,
    /// The number of permits, taken or not.
    size: AtomicUsize,
    idle: AtomicUsize,
    /// New connections that wait for a permit.
    waiting: AtomicUsize,
    /// Wakes the longest idle connection when a new one waits for a permit; it then makes room. Also wakes all of them
    /// when the drain begins, because waiting for one event costs less than waiting for two.
    room: Notify,
    pub(super) drain: watch::Receiver<bool>,
    /// Makes accepting tasks release `accepting` for a while.
    pub(super) pause: watch::Sender<bool>,
    /// Connections by client address.
    shares: Arc<Shares>,
    /// Read-locked by every task that accepts.
    pub(super) accepting: Arc<RwLock<()>>,
}

/// The deadline of a request's head.
#[derive(Debug, Clone, Copy)]
pub enum Due {
    By(Instant),
    /// A duration from now on. Most heads are complete before the clock has to be read.
    Within(Duration),
}

impl Due {
    /// The deadline as a moment.
    pub fn by(self) -> Instant {
        match self {
            Self::By(at) => at,
            Self::Within(limit) => Instant::now() + limit,
        }
    }
}

/// A client has all of its share, and none of its idle connections made room.
#[derive(Debug)]
pub(super) struct Refused;

/// While this exists, no connection is accepted. New ones wait in the system's queue, for us or for a successor.
pub struct Paused {
    gate: Arc<Gate>,
    _nobody: Option<OwnedRwLockWriteGuard<()>>,
}

impl Drop for Paused {
    fn drop(&mut self) {
        self.gate.pause.send_replace(false);
    }
}

impl Gate {
    /// A gate for `size` connections. `drain` becomes true when the process shuts down.
    pub fn new(live: Arc<Live>, metrics: Arc<Metrics>, size: usize, drain: watch::Receiver<bool>) -> Arc<Self> {
        Arc::new(Self {
            live,
            metrics,
            permits: Arc::new(Semaphore::new(size)),
            size: AtomicUsize::new(size),
            idle: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            room: Notify::new(),
            drain,
            pause: watch::Sender::new(false),
            shares: Shares::of("connections"),
            accepting: Arc::default(),
        })
    }

    /// A part of the client's share for a new connection. Counts the refusal if the share is used up.
    pub(super) fn share(&self, client: IpAddr) -> Result<Option<Share>, Refused> {
        let all = self.size.load(Ordering::SeqCst);
        let bound = self.live.look(|running| Bound::of(client, all, &running.snapshot.settings));
        let Some(bound) = bound else { return Ok(None) };
        // An idle connection can make room, so it counts as free.
        let free = self.permits.available_permits() + self.idle.load(Ordering::SeqCst);
        self.shares.take(&bound, free).map(Some).ok_or_else(|| {
            self.metrics.rejected("client_connections");
            Refused
        })
    }

    /// Follows a change of `protection.max_connections`. Connections beyond a smaller limit may finish.
    pub fn resize(self: &Arc<Self>, size: usize) {
        let before = self.size.swap(size, Ordering::SeqCst);
        if size > before {
            self.permits.add_permits(size - before);
        } else if size < before {
            let (permits, surplus) = (self.permits.clone(), u32::try_from(before - size).unwrap_or(u32::MAX));
            tokio::spawn(async move {
                if let Ok(taken) = permits.acquire_many(surplus).await {
                    taken.forget();
                }
            });
        }
    }

    /// Stops accepting until the returned value is dropped. Connections accepted before are served. If one of them
    /// still waits for a permit after `LAST_CALL`, there is no pause.
    pub async fn pause(self: &Arc<Self>) -> Paused {
        self.pause.send_replace(true);
        let nobody = timeout(LAST_CALL, self.accepting.clone().write_owned()).await.ok();
        if nobody.is_none() {
            self.pause.send_replace(false);
        }
        Paused { gate: self.clone(), _nobody: nobody }
    }

    /// A permit for a new connection. If none is free, an idle connection makes room, now or as soon as there is one.
    /// Connections are accepted one after the other, so an address beyond its share does not wait long: connections of
    /// other addresses come after it.
    pub(super) async fn permit(&self, share: Option<&Share>) -> Result<OwnedSemaphorePermit, Refused> {
        if let Ok(permit) = self.permits.clone().try_acquire_owned() {
            return Ok(permit);
        }
        let _waiting = Counted::one(&self.waiting);
        let permit = self.permits.clone().acquire_owned();
        tokio::pin!(permit);
        let displaces = share.is_some_and(|share| share.displaces);
        if displaces || self.idle.load(Ordering::SeqCst) > 0 {
            if !displaces {
                self.room.notify_one();
            }
            // A client that lets its connection be reused loses nothing by this, and nobody has to hear of it.
            if let Ok(permit) = timeout(MAKES_ROOM, &mut permit).await {
                return permit.map_err(|_| Refused);
            }
        }
        if displaces {
            self.metrics.rejected("client_connections");
            return Err(Refused);
        }
        self.metrics.rejected("max_connections");
        if share.is_none_or(|share| share.is_within) {
            self.shares.turned_away();
        }
        permit.await.map_err(|_| Refused)
    }

    /// Waits for the next request, without memory beyond the socket, and returns the deadline of its head. `first`: the
    /// deadline of the connection's first head. `since`: when the connection was opened or last served. `None`: the
    /// connection is over.
    pub async fn begun(
        &self,
        admission: &Admission,
        conn: &mut Conn,
        alarm: &mut Alarm,
        first: Option<Instant>,
        since: Instant,
    ) -> Option<Due> {
        let (head_limit, idle_limit) = self.limits();
        let idling = self.idles(admission);
        if first.is_none() && self.is_crowded() {
            // A new connection waits for this permit.
            return None;
        }
        let ready = tokio::select! {
            // Data that has arrived needs no timer.
            biased;
            ready = conn.readable() => ready.is_ok(),
            () = alarm.at(first.unwrap_or(since + idle_limit)) => {
                if first.is_some() { self.metrics.rejected("header_timeout") }
                false
            }
            // A client served a moment ago may be sending its next request now. It gets an answer, with `Connection:
            // close`.
            () = self.stirred(&idling) => {
                self.drains() && timeout_at(since + LAST_CALL, conn.readable()).await.is_ok_and(|ready| ready.is_ok())
            }
        };
        drop(idling);
        let ready = ready && self.may_be_busy(admission);
        ready.then(|| first.map_or(Due::Within(head_limit), Due::By))
    }

    /// A connection only waits for as long as what this returns lives.
    pub(super) fn idles<'a>(&'a self, admission: &'a Admission) -> Idling<'a> {
        Idling::begin(&self.idle, &self.room, admission)
    }

    /// Whether a connection that only waited may go on: others of its client may have been let in for it to end. Counted if
    /// not.
    pub(super) fn may_be_busy(&self, admission: &Admission) -> bool {
        let has_to_end = admission.has_to_end();
        if has_to_end {
            self.metrics.rejected("client_connections");
        }
        !has_to_end
    }

    /// Whether a new connection waits for a permit.
    pub(super) fn is_crowded(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    /// Returns when a connection that only waits is asked to make room, or once the drain has begun.
    async fn stirred(&self, idling: &Idling<'_>) {
        let mut wanted = pin!(idling.room_wanted());
        // In this order: a task that was not waiting to be woken sees that it has begun.
        poll_fn(|cx| match wanted.as_mut().poll(cx) {
            Poll::Pending if !self.drains() => Poll::Pending,
            _ => Poll::Ready(()),
        })
        .await;
    }

    /// Tells idle connections that the drain has begun.
    pub(super) fn stir(&self) {
        self.room.notify_waiters();
    }

    /// The current `header_timeout` and `idle_timeout`.
    pub fn limits(&self) -> (Duration, Duration) {
        self.live.look(|running| {
            let protection = &running.snapshot.settings.protection;
            (protection.header_timeout, protection.idle_timeout)
        })
    }

    /// The metrics of this gate.
    #[cfg(feature = "agtp")]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Whether the process is shutting down.
    pub fn drains(&self) -> bool {
        *self.drain.borrow()
    }

    /// Returns when no connection is left.
    pub async fn emptied(&self) {
        // Wait until accepting has stopped. Otherwise a connection accepted just now would find no permit.
        let _nobody = self.accepting.write().await;
        let all = u32::try_from(self.size.load(Ordering::SeqCst)).unwrap_or(u32::MAX);
        let _ = self.permits.acquire_many(all).await;
    }
}

/// Counts something while it exists.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn one(counter: &'a AtomicUsize) -> Self {
        counter.fetch_add(1, Ordering::SeqCst);
        Self(counter)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Returns when the drain or a pause begins.
pub(super) async fn begun(drain: &mut watch::Receiver<bool>) {
    let _ = drain.wait_for(|begun| *begun).await;
}
