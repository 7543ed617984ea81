//! The sites behind: which one takes the next request, and whether it is believed to be well.

mod chunks;
mod handshake;
mod head;
mod kept;
mod peer;
mod site;

use std::{
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use frontdesk_filters::site::{Upstream, UpstreamUrl};
use http::HeaderValue;
use pingora::{
    Error, ErrorType,
    protocols::l4::{ext::set_tcp_keepalive, socket::SocketAddr as LibraryAddr},
    upstreams::peer::HttpPeer,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::admin::metrics::Metrics;
pub use head::{Head, digits};
use kept::Kept;
pub use kept::Plain;
pub use site::Site;

/// Whether the certificates that the settings name can be used.
pub fn prove(settings: &Upstream) -> Result<(), String> {
    settings.urls.iter().try_for_each(|url| peer::template(settings, url, 0).map(drop))
}

/// How long an upstream that refused a connection is passed over while there are others.
const COOLING: Duration = Duration::from_secs(5);
/// How long a site may be silent where the library would wait for ever.
const LONGEST: Duration = Duration::from_secs(3600);
/// The error of an upstream whose name has never been resolved.
pub const UNRESOLVED: ErrorType = ErrorType::HTTPStatus(503);
/// Failed checks in a row after which an upstream counts as down.
const FALL: u32 = 2;

/// The upstreams of one configuration.
pub struct Pool {
    /// What it was made from: a swap that changes none of it keeps the pool, its health and its connections.
    settings: Upstream,
    backends: Vec<Backend>,
    next: AtomicUsize,
    /// For requests at a time, where they are bounded.
    places: Option<Arc<Semaphore>>,
    started: Instant,
    metrics: Arc<Metrics>,
    /// It is this pool's upstreams that the metrics show.
    shown: AtomicBool,
}

/// A request to the site is under way for as long as this lives.
pub struct Place(#[expect(dead_code, reason = "held, and let go of")] Option<OwnedSemaphorePermit>);

/// One upstream.
pub struct Backend {
    /// As it is shown: `http://host:port`.
    pub label: String,
    url: UpstreamUrl,
    template: HttpPeer,
    /// Its own name, for `preserve_host = false`.
    pub authority: HeaderValue,
    addresses: ArcSwap<Vec<SocketAddr>>,
    turn: AtomicUsize,
    up: AtomicBool,
    failed_checks: AtomicU32,
    /// Passed over until then, in milliseconds since the pool was made.
    cooling_until: AtomicU64,
    kept: Kept,
}

impl Pool {
    /// Makes the pool, reading certificates. The error says which file and why.
    pub fn new(settings: &Upstream, metrics: Arc<Metrics>) -> Result<Arc<Self>, String> {
        // Connections made under other settings, another CA say, are never reused.
        static GROUP: AtomicU64 = AtomicU64::new(1);
        let group = GROUP.fetch_add(1, Ordering::Relaxed);
        let mut backends = Vec::new();
        for url in &settings.urls {
            let scheme = if url.tls { "https" } else { "http" };
            let bracketed = if url.host.contains(':') { format!("[{}]", url.host) } else { url.host.clone() };
            let label = format!("{scheme}://{bracketed}:{}", url.port);
            let default_port = url.port == if url.tls { 443 } else { 80 };
            let authority = if default_port { bracketed } else { format!("{bracketed}:{}", url.port) };
            let known = url.host.parse::<IpAddr>().ok().map(|ip| vec![SocketAddr::new(ip, url.port)]);
            backends.push(Backend {
                template: peer::template(settings, url, group)?,
                authority: HeaderValue::try_from(&authority).map_err(|_| format!("{authority}: not a host name"))?,
                addresses: ArcSwap::from_pointee(known.unwrap_or_default()),
                label,
                url: url.clone(),
                turn: AtomicUsize::new(0),
                up: AtomicBool::new(true),
                failed_checks: AtomicU32::new(0),
                cooling_until: AtomicU64::new(0),
                kept: Kept::default(),
            });
        }
        Ok(Arc::new(Self {
            settings: settings.clone(),
            backends,
            next: AtomicUsize::new(0),
            places: (settings.max_requests > 0).then(|| Arc::new(Semaphore::new(settings.max_requests))),
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

    /// A place for one more request; `None` where `upstream.max_requests` are under way. Nobody waits for one: a queue
    /// before a site that cannot keep up only makes everybody late.
    pub fn place(&self) -> Option<Place> {
        let Some(places) = &self.places else { return Some(Place(None)) };
        places.clone().try_acquire_owned().ok().map(|place| Place(Some(place)))
    }

    /// The next upstream in turn among the healthy, the one just tried excepted; with none healthy, any: an answer
    /// that fails is no worse than none.
    pub fn choose(&self, tried: Option<usize>) -> usize {
        let count = self.backends.len();
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let in_turn = || (0..count).map(|i| start.wrapping_add(i) % count);
        let cools = |until: u64| {
            let now = || u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
            until > 0 && until > now()
        };
        let well = |i: &usize| {
            let backend = &self.backends[*i];
            backend.up.load(Ordering::Relaxed) && !cools(backend.cooling_until.load(Ordering::Relaxed))
        };
        in_turn().find(|i| Some(*i) != tried && well(i)).or_else(|| in_turn().find(|i| Some(*i) != tried)).unwrap_or(0)
    }

    /// Notes that an upstream refused a connection.
    pub fn refused(&self, index: usize) {
        let until = self.started.elapsed() + COOLING;
        let until = u64::try_from(until.as_millis()).unwrap_or(u64::MAX);
        self.backends[index].cooling_until.store(until, Ordering::Relaxed);
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

    /// Whether all of them are spoken to in cleartext HTTP/1.1.
    pub fn is_plain(&self) -> bool {
        self.backends.iter().all(Backend::is_plain)
    }

    /// Lets go of kept connections that nobody will use again.
    pub fn sweep(&self) {
        self.backends.iter().for_each(|backend| backend.kept.sweep(peer::KEPT));
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

impl Backend {
    /// Where to connect to, its known addresses in turn.
    ///
    /// # Errors
    ///
    /// [`UNRESOLVED`].
    pub async fn peer(&self) -> pingora::Result<HttpPeer> {
        let mut peer = self.template.clone();
        peer._address = LibraryAddr::Inet(self.address().await?);
        Ok(peer)
    }

    async fn address(&self) -> pingora::Result<SocketAddr> {
        let mut addresses = self.addresses.load_full();
        if addresses.is_empty() {
            self.resolve().await;
            addresses = self.addresses.load_full();
        }
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let address = turn.checked_rem(addresses.len()).and_then(|turn| addresses.get(turn));
        address.copied().ok_or_else(|| Error::explain(UNRESOLVED, "the upstream's name cannot be resolved"))
    }

    /// Whether it is spoken to in cleartext HTTP/1.1.
    pub fn is_plain(&self) -> bool {
        !self.url.tls && self.template.options.alpn.get_min_http_version() == 1
    }

    /// A connection to a plain one, asked for at `now`: kept from another request, or new.
    ///
    /// # Errors
    ///
    /// As the library has them: no byte of a request has left.
    pub async fn connect(&self, now: Instant) -> pingora::Result<Plain> {
        let address = self.address().await?;
        if let Some(plain) = self.kept.take(address, now) {
            return Ok(plain);
        }
        let options = &self.template.options;
        let tcp = handshake::open(address, options.connection_timeout).await.map_err(Error::into_up)?;
        let _ = tcp.set_nodelay(true);
        if let Some(settings) = &options.tcp_keepalive {
            let _ = set_tcp_keepalive(&tcp, settings);
        }
        Ok(Plain::new(tcp, address))
    }

    /// Keeps a connection whose last answer, begun at `answered`, has been read to its end.
    pub fn keep(&self, plain: Plain, answered: Instant) {
        self.kept.put(plain, answered);
    }

    /// How long a read from it or a write to it may take.
    pub fn patience(&self) -> Duration {
        self.template.options.read_timeout.unwrap_or(LONGEST)
    }

    /// The same for a protocol upgrade, which has a connection of its own.
    ///
    /// # Errors
    ///
    /// [`UNRESOLVED`].
    pub async fn peer_for_upgrade(&self) -> pingora::Result<HttpPeer> {
        let mut peer = self.peer().await?;
        handshake::alone(&mut peer);
        Ok(peer)
    }

    /// Whether it is believed to be well.
    pub fn is_up(&self) -> bool {
        self.up.load(Ordering::Relaxed)
    }

    /// The addresses it has at the moment.
    pub fn addresses(&self) -> Arc<Vec<SocketAddr>> {
        self.addresses.load_full()
    }

    async fn resolve(&self) -> bool {
        if self.url.host.parse::<IpAddr>().is_ok() {
            return true;
        }
        let limit =
            self.template.options.connection_timeout.unwrap_or(Duration::from_secs(1)).max(Duration::from_secs(2));
        let looked_up =
            tokio::time::timeout(limit, tokio::net::lookup_host((self.url.host.as_str(), self.url.port))).await;
        match looked_up {
            Ok(Ok(found)) => {
                let found: Vec<SocketAddr> = found.collect();
                if found.is_empty() {
                    return false;
                }
                if *self.addresses.load_full() != found {
                    tracing::info!(upstream = self.label, addresses = ?found, "the addresses of an upstream changed");
                    self.addresses.store(Arc::new(found));
                }
                true
            }
            Ok(Err(e)) => {
                tracing::warn!(upstream = self.label, error = %e, "the name of an upstream cannot be resolved");
                false
            }
            Err(_) => {
                tracing::warn!(upstream = self.label, "resolving the name of an upstream took too long");
                false
            }
        }
    }
}
