//! The sites behind: which one takes the next request, and whether it is believed to be well.

mod advice;
mod backend;
pub mod buffer_pool;
mod handshake;
mod http1_client;
mod idle_pool;
mod peer;
mod tls;
mod transport;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use frontdesk_filters::site::Upstream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    client_share::{Bound, Share, Shares},
    metrics::Metrics,
};
pub use advice::advice;
pub use backend::{Backend, UNRESOLVED};
pub use http1_client::Exchange;
pub use idle_pool::PooledConn;
pub use peer::KEPT;

/// Whether the certificates that the settings name can be used.
pub fn prove(settings: &Upstream) -> Result<(), String> {
    settings.urls.iter().try_for_each(|url| peer::template(settings, url, 0).map(drop))
}

/// How long an upstream that refused a connection is passed over while there are others.
const COOLING: Duration = Duration::from_secs(5);
/// Failed checks in a row after which an upstream counts as down.
const FALL: u32 = 2;

/// The upstreams of one configuration.
pub struct Pool {
    /// What it was made from: a swap that changes none of it keeps the pool, its health and its connections.
    settings: Upstream,
    backends: Vec<Backend>,
    next: AtomicUsize,
    /// For requests at a time, where they are bounded.
    places: Option<Places>,
    started: Instant,
    metrics: Arc<Metrics>,
    /// It is this pool's upstreams that the metrics show.
    shown: AtomicBool,
}

/// Places for requests under way to the site, and which client addresses have them.
struct Places {
    free: Arc<Semaphore>,
    shares: Arc<Shares>,
}

/// A request to the site is under way for as long as this lives.
pub struct Place(#[expect(dead_code, reason = "held, and let go of")] Option<(OwnedSemaphorePermit, Option<Share>)>);

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPlace {
    /// `upstream.max_requests` are under way.
    SiteBusy,
    /// The client's address has its share of them.
    ClientShare,
}

impl Pool {
    /// Makes the pool, reading certificates. The error says which file and why.
    pub fn new(settings: &Upstream, metrics: Arc<Metrics>) -> Result<Arc<Self>, String> {
        // Connections made under other settings, another CA say, are never reused.
        static GROUP: AtomicU64 = AtomicU64::new(1);
        let group = GROUP.fetch_add(1, Ordering::Relaxed);
        let made = settings.urls.iter().map(|url| Backend::new(settings, url, group));
        Ok(Arc::new(Self {
            settings: settings.clone(),
            backends: made.collect::<Result<_, _>>()?,
            next: AtomicUsize::new(0),
            places: (settings.max_requests > 0).then(|| Places {
                free: Arc::new(Semaphore::new(settings.max_requests)),
                shares: Shares::of("requests under way to the site"),
            }),
            started: Instant::now(),
            metrics,
            shown: AtomicBool::new(false),
        }))
    }

    /// Shows this pool's upstreams in the metrics, and those of the one before no more.
    pub fn show(&self, before: Option<&Pool>) {
        if let Some(before) = before {
            before.shown.store(false, Ordering::Relaxed);
        }
        self.shown.store(true, Ordering::Relaxed);
        for backend in before.map(Pool::backends).unwrap_or_default() {
            let _ = self.metrics.upstream_up.remove_label_values(&[&backend.label]);
        }
        for backend in &self.backends {
            self.metrics.upstream_up.with_label_values(&[&backend.label]).set(backend.is_up().into());
        }
    }

    /// The settings it was made from.
    pub fn settings(&self) -> &Upstream {
        &self.settings
    }

    /// All upstreams.
    pub fn backends(&self) -> &[Backend] {
        &self.backends
    }

    /// How an upstream is shown, by its place among them.
    pub fn label(&self, index: usize) -> Option<&str> {
        self.backends.get(index).map(|backend| backend.label.as_str())
    }

    /// A place for one more request, within what its client's address may have. Nobody waits for one: a queue before a site
    /// that cannot keep up only makes everybody late.
    pub fn place(&self, bound: Option<&Bound>) -> Result<Place, NoPlace> {
        let Some(Places { free, shares }) = &self.places else { return Ok(Place(None)) };
        let share = match bound {
            Some(bound) => Some(shares.take(bound, free.available_permits()).ok_or(NoPlace::ClientShare)?),
            None => None,
        };
        if let Ok(permit) = free.clone().try_acquire_owned() {
            return Ok(Place(Some((permit, share))));
        }
        if share.is_none_or(|share| share.is_within) {
            shares.turned_away();
        }
        Err(NoPlace::SiteBusy)
    }

    /// The next upstream in turn among the healthy, the one just tried excepted; with none healthy, any: an answer
    /// that fails is no worse than none. One whose name was never resolved is not well: who asks it waits for its name.
    pub fn choose(&self, tried: Option<usize>) -> usize {
        let count = self.backends.len();
        if count == 1 {
            return 0;
        }
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let in_turn = || (0..count).map(|i| start.wrapping_add(i) % count);
        let cools = |until: u64| until > 0 && until > self.clock(Duration::ZERO);
        let well = |i: &usize| {
            let backend = &self.backends[*i];
            backend.up.load(Ordering::Relaxed)
                && !cools(backend.cooling_until.load(Ordering::Relaxed))
                && backend.is_resolved()
        };
        in_turn().find(|i| Some(*i) != tried && well(i)).or_else(|| in_turn().find(|i| Some(*i) != tried)).unwrap_or(0)
    }

    /// Notes that an upstream refused a connection.
    pub fn refused(&self, index: usize) {
        self.backends[index].cooling_until.store(self.clock(COOLING), Ordering::Relaxed);
    }

    /// The time so far ahead, in milliseconds since the pool was made.
    fn clock(&self, ahead: Duration) -> u64 {
        u64::try_from((self.started.elapsed() + ahead).as_millis()).unwrap_or(u64::MAX)
    }

    /// Notes how an active check went.
    pub fn checked(&self, index: usize, well: bool) {
        let backend = &self.backends[index];
        let failed = if well { 0 } else { backend.failed_checks.load(Ordering::Relaxed).saturating_add(1) };
        backend.failed_checks.store(failed, Ordering::Relaxed);
        let up = failed < FALL;
        if backend.up.swap(up, Ordering::Relaxed) != up {
            tracing::warn!(upstream = backend.label, up, "the health of an upstream changed");
        }
        if well {
            backend.cooling_until.store(0, Ordering::Relaxed);
        }
        // A check may end after its pool has been replaced.
        if self.shown.load(Ordering::Relaxed) {
            self.metrics.upstream_up.with_label_values(&[&backend.label]).set(up.into());
        }
    }

    /// Whether the fast path can speak to all of them.
    pub fn speaks_http1(&self) -> bool {
        self.backends.iter().all(Backend::speaks_http1)
    }

    /// Lets go of kept connections that nobody will use again.
    pub fn sweep(&self) {
        self.backends.iter().for_each(|backend| backend.kept.sweep(KEPT));
    }

    /// Resolves all names anew. What cannot be resolved keeps its last addresses; returns whether all could be.
    pub async fn resolve(&self) -> bool {
        let mut all = true;
        for backend in &self.backends {
            all &= backend.resolve().await;
        }
        all
    }
}
