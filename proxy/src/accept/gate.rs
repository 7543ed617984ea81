//! How many connections there may be at once, which of them only wait, and when nobody is let in any more.

use std::{
    future::{pending, poll_fn},
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

use super::Conn;
use crate::{
    admin::metrics::Metrics,
    alarm::Alarm,
    live::Live,
    share::{Bound, Idle, Share, Shares},
};

/// How long after it was opened or served last a connection may bring one more request once the process is to end.
const LAST_CALL: Duration = Duration::from_secs(1);

/// How long an idle connection may take to make room for a newcomer, before that one counts as held up.
const MAKES_ROOM: Duration = Duration::from_millis(100);

/// What all listeners of a kind share: the bound on connections, the drain.
pub struct Gate {
    pub(super) live: Arc<Live>,
    pub(super) metrics: Arc<Metrics>,
    permits: Arc<Semaphore>,
    /// How many permits there are, taken or not.
    size: AtomicUsize,
    idle: AtomicUsize,
    /// Newcomers that wait for a permit.
    waiting: AtomicUsize,
    /// Woken when a newcomer waits for a permit: the longest idle connection makes room. And all of them once the drain
    /// has begun: to wait for one thing costs less than to wait for two.
    room: Notify,
    pub(super) drain: watch::Receiver<bool>,
    /// Tells whoever accepts to let go of `accepting` for a while.
    pub(super) pause: watch::Sender<bool>,
    /// Connections by client address; `None`: one address may have all of them.
    shares: Option<Arc<Shares>>,
    /// Read by whoever still accepts.
    pub(super) accepting: Arc<RwLock<()>>,
}

/// When a request's head has to be complete.
#[derive(Debug, Clone, Copy)]
pub enum Due {
    By(Instant),
    /// From now on: most heads are complete before anybody has to look at the clock.
    Within(Duration),
}

impl Due {
    /// The moment itself.
    pub fn by(self) -> Instant {
        match self {
            Self::By(at) => at,
            Self::Within(limit) => Instant::now() + limit,
        }
    }
}

/// A connection counts for as long as this lives: among all of them, and among those of its client.
pub struct Admission {
    _permit: OwnedSemaphorePermit,
    share: Option<Share>,
}

impl Admission {
    pub(super) fn new(permit: OwnedSemaphorePermit, share: Option<Share>) -> Self {
        Self { _permit: permit, share }
    }
}

/// A connection only waits for as long as this lives.
pub(super) struct Idling<'a> {
    gate: &'a Gate,
    /// Among those of its client.
    share: Option<Idle<'a>>,
}

impl Idling<'_> {
    /// Returns when the connection is asked to make room: for anybody, or for another one of its client.
    pub(super) async fn room_wanted(&self) {
        let displaced = async {
            match &self.share {
                Some(share) => share.displaced().await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = self.gate.room.notified() => {}
            () = displaced => {}
        }
    }
}

impl Drop for Idling<'_> {
    fn drop(&mut self) {
        self.gate.idle.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A client has all of its share.
#[derive(Debug)]
pub(super) struct Refused;

/// Nobody is accepted for as long as this lives: who comes waits in the system's queue, for us or for a successor.
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
    /// A gate for `size` connections. `drain` turns true when the process is to end.
    pub fn new(live: Arc<Live>, metrics: Arc<Metrics>, size: usize, drain: watch::Receiver<bool>) -> Arc<Self> {
        Arc::new(Self { shares: Some(Shares::of("connections")), ..Self::open(live, metrics, size, drain) })
    }

    /// The same where only operators come: a client may have all of it.
    pub fn for_operators(
        live: Arc<Live>,
        metrics: Arc<Metrics>,
        size: usize,
        drain: watch::Receiver<bool>,
    ) -> Arc<Self> {
        Arc::new(Self::open(live, metrics, size, drain))
    }

    fn open(live: Arc<Live>, metrics: Arc<Metrics>, size: usize, drain: watch::Receiver<bool>) -> Self {
        Self {
            live,
            metrics,
            permits: Arc::new(Semaphore::new(size)),
            size: AtomicUsize::new(size),
            idle: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            room: Notify::new(),
            drain,
            pause: watch::Sender::new(false),
            shares: None,
            accepting: Arc::default(),
        }
    }

    /// A connection's part of its client's share. The error is counted: the client has all of its share.
    pub(super) fn share(&self, client: IpAddr) -> Result<Option<Share>, Refused> {
        let Some(shares) = &self.shares else { return Ok(None) };
        let all = self.size.load(Ordering::SeqCst);
        let bound = self.live.look(|running| Bound::of(client, all, &running.snapshot.settings));
        let Some(bound) = bound else { return Ok(None) };
        // A connection that only waits makes room for another one; of the same client, once it has its share.
        let free = self.permits.available_permits() + self.idle.load(Ordering::SeqCst);
        shares.take(&bound, free).map(Some).ok_or_else(|| {
            self.metrics.rejected("client_connections");
            Refused
        })
    }

    /// Follows a changed `protection.max_connections`; connections above a smaller bound end when they end.
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

    /// Accepts nobody any more until what this returns is dropped. Whoever was accepted before is served; should one of
    /// them still wait for a place after `LAST_CALL`, there is no pause.
    pub async fn pause(self: &Arc<Self>) -> Paused {
        self.pause.send_replace(true);
        let nobody = timeout(LAST_CALL, self.accepting.clone().write_owned()).await.ok();
        if nobody.is_none() {
            self.pause.send_replace(false);
        }
        Paused { gate: self.clone(), _nobody: nobody }
    }

    /// A permit for a newcomer. With none left an idle connection makes room, now or as soon as one idles. `share`: the
    /// newcomer's.
    pub(super) async fn permit(&self, share: Option<&Share>) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = self.permits.clone().try_acquire_owned() {
            return Some(permit);
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
                return permit.ok();
            }
        }
        if displaces {
            self.room.notify_one();
        }
        self.metrics.rejected("max_connections");
        if let Some(shares) = self.shares.as_ref().filter(|_| share.is_none_or(|share| share.is_within)) {
            shares.turned_away();
        }
        permit.await.ok()
    }

    /// Waits, with nothing but the socket held, until the client begins a request, and says when its head has to be
    /// complete: `first` for the first one of a connection, which was opened or served last at `since`. `None`: the
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
            // Somebody waits for the place that this connection only keeps.
            return None;
        }
        let ready = tokio::select! {
            // What is here already needs no timer.
            biased;
            ready = conn.readable() => ready.is_ok(),
            () = alarm.at(first.unwrap_or(since + idle_limit)) => {
                if first.is_some() { self.metrics.rejected("header_timeout") }
                false
            }
            // Whoever was served a moment ago may be asking on at this very moment: they are answered, and told to go.
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
        self.idle.fetch_add(1, Ordering::SeqCst);
        Idling { gate: self, share: admission.share.as_ref().map(Share::idles) }
    }

    /// Whether a connection that only waited may go on: others of its client may have been let in for it to end. Counted if
    /// not.
    pub(super) fn may_be_busy(&self, admission: &Admission) -> bool {
        let has_to_end = admission.share.as_ref().is_some_and(Share::has_to_end);
        if has_to_end {
            self.metrics.rejected("client_connections");
        }
        !has_to_end
    }

    /// Whether somebody waits for a place.
    pub(super) fn is_crowded(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    /// Returns when a connection that only waits is asked to make room, or once the drain has begun.
    async fn stirred(&self, idling: &Idling<'_>) {
        let mut wanted = pin!(idling.room_wanted());
        // In this order: whoever was not there to be woken sees that it has begun.
        poll_fn(|cx| match wanted.as_mut().poll(cx) {
            Poll::Pending if !self.drains() => Poll::Pending,
            _ => Poll::Ready(()),
        })
        .await;
    }

    /// Tells whoever only waits that the drain has begun.
    pub(super) fn stir(&self) {
        self.room.notify_waiters();
    }

    /// `header_timeout` and `idle_timeout` as they are now.
    pub fn limits(&self) -> (Duration, Duration) {
        self.live.look(|running| {
            let protection = &running.snapshot.settings.protection;
            (protection.header_timeout, protection.idle_timeout)
        })
    }

    /// Where what happens here is counted.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Whether the process is to end.
    pub fn drains(&self) -> bool {
        *self.drain.borrow()
    }

    /// Returns when no connection is left.
    pub async fn emptied(&self) {
        // Nobody comes any more: else whoever was just accepted would find all permits taken by this.
        let _nobody = self.accepting.write().await;
        let all = u32::try_from(self.size.load(Ordering::SeqCst)).unwrap_or(u32::MAX);
        let _ = self.permits.acquire_many(all).await;
    }
}

/// Counts something for as long as it lives.
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

/// Returns once the drain, or a pause, has begun.
pub(super) async fn begun(drain: &mut watch::Receiver<bool>) {
    let _ = drain.wait_for(|begun| *begun).await;
}
