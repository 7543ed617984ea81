//! One upstream: where it is, how it is connected to, and what is known of its health.

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
use http::{HeaderValue, Version};
use pingora::{
    Error, ErrorType,
    protocols::l4::{ext::set_tcp_keepalive, socket::SocketAddr as LibraryAddr},
    upstreams::peer::HttpPeer,
};

use super::{
    handshake,
    http1_client::Exchange,
    idle_pool::{IdlePool, PooledConn},
    peer,
    tls::TlsClient,
    transport::Transport,
};

/// How long a site may be silent where the library would wait for ever.
const LONGEST: Duration = Duration::from_secs(3600);
/// The error of an upstream whose name has never been resolved.
pub const UNRESOLVED: ErrorType = ErrorType::HTTPStatus(503);

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
    pub(super) up: AtomicBool,
    pub(super) failed_checks: AtomicU32,
    /// Passed over until then, in milliseconds since the pool was made.
    pub(super) cooling_until: AtomicU64,
    pub(super) kept: IdlePool,
    /// How the fast path shakes hands with it; `None` in cleartext, or where only the library can.
    tls: Option<TlsClient>,
    /// It was offered HTTP/2 and HTTP/1.1, and chose HTTP/1.1.
    chose_http1: AtomicBool,
}

impl Backend {
    /// One of those that the settings name, with its certificates read.
    pub(super) fn new(settings: &Upstream, url: &UpstreamUrl, group: u64) -> Result<Self, String> {
        let scheme = if url.tls { "https" } else { "http" };
        let bracketed = if url.host.contains(':') { format!("[{}]", url.host) } else { url.host.clone() };
        let label = format!("{scheme}://{bracketed}:{}", url.port);
        let default_port = url.port == if url.tls { 443 } else { 80 };
        let authority = if default_port { bracketed } else { format!("{bracketed}:{}", url.port) };
        let known = url.host.parse::<IpAddr>().ok().map(|ip| vec![SocketAddr::new(ip, url.port)]);
        Ok(Self {
            template: peer::template(settings, url, group)?,
            authority: HeaderValue::try_from(&authority).map_err(|_| format!("{authority}: not a host name"))?,
            addresses: ArcSwap::from_pointee(known.unwrap_or_default()),
            label,
            url: url.clone(),
            turn: AtomicUsize::new(0),
            up: AtomicBool::new(true),
            failed_checks: AtomicU32::new(0),
            cooling_until: AtomicU64::new(0),
            kept: IdlePool::default(),
            tls: if url.tls { TlsClient::new(settings, url)? } else { None },
            chose_http1: AtomicBool::new(false),
        })
    }

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

    async fn address(&self) -> pingora::Result<SocketAddr> {
        if let Some(address) = self.known_address() {
            return Ok(address);
        }
        self.resolve().await;
        let unresolved = || Error::explain(UNRESOLVED, "the upstream's name cannot be resolved");
        self.known_address().ok_or_else(unresolved)
    }

    fn known_address(&self) -> Option<SocketAddr> {
        match &self.addresses.load()[..] {
            [] => None,
            [only] => Some(*only),
            several => several.get(self.turn.fetch_add(1, Ordering::Relaxed) % several.len()).copied(),
        }
    }

    /// Whether the fast path can speak to it: in HTTP/1.1, with a TLS set-up of its own where TLS is needed.
    pub fn speaks_http1(&self) -> bool {
        (self.tls.is_some() || !self.url.tls) && self.is_http1()
    }

    /// Whether its connections carry one request at a time: as the settings have it, or as the upstream chose (ALPN). Before
    /// the first answer over TLS that is not known.
    pub fn is_http1(&self) -> bool {
        let alpn = &self.template.options.alpn;
        let chose_http1 = || alpn.get_min_http_version() == 1 && self.chose_http1.load(Ordering::Relaxed);
        alpn.get_max_http_version() == 1 || chose_http1()
    }

    /// Notes in which version of HTTP it spoke with the library, which offers it whatever the settings allow.
    pub fn spoke(&self, version: Version) {
        let http1 = version < Version::HTTP_2;
        // Looked at first: it changes hardly ever, and all threads read it.
        if self.chose_http1.load(Ordering::Relaxed) != http1 {
            self.chose_http1.store(http1, Ordering::Relaxed);
        }
    }

    /// A connection of the fast path, asked for at `now`: kept from another request, or new.
    ///
    /// # Errors
    ///
    /// As the library has them: no byte of a request has left.
    pub async fn connect(&self, now: Instant) -> pingora::Result<PooledConn> {
        let address = self.address().await?;
        if let Some(plain) = self.kept.take(address, now) {
            return Ok(plain);
        }
        self.connect_anew(address).await
    }

    /// A connection that nobody has asked anything on.
    ///
    /// # Errors
    ///
    /// As the library has them.
    pub async fn connect_again(&self) -> pingora::Result<PooledConn> {
        self.connect_anew(self.address().await?).await
    }

    async fn connect_anew(&self, address: SocketAddr) -> pingora::Result<PooledConn> {
        let options = &self.template.options;
        let tcp = handshake::open(address, options.connection_timeout).await.map_err(Error::into_up)?;
        let _ = tcp.set_nodelay(true);
        if let Some(settings) = &options.tcp_keepalive {
            let _ = set_tcp_keepalive(&tcp, settings);
        }
        let transport = match &self.tls {
            Some(tls) => Transport::Tls(tls.connect(tcp).await.map_err(Error::into_up)?),
            None => Transport::Cleartext(tcp),
        };
        Ok(PooledConn::new(transport, address))
    }

    /// Keeps the connection of a request whose answer, begun at `answered`, has been read to its end, if it can carry
    /// another one.
    pub fn keep(&self, exchange: Exchange, answered: Instant) {
        if let Some(address) = exchange.sent_unasked() {
            self.kept.suspect(address);
        }
        if let Some(plain) = exchange.kept() {
            self.kept.put(plain, answered);
        }
    }

    /// How long a read from it or a write to it may take.
    pub fn patience(&self) -> Duration {
        self.template.options.read_timeout.unwrap_or(LONGEST)
    }

    /// Whether it is believed to be well.
    pub fn is_up(&self) -> bool {
        self.up.load(Ordering::Relaxed)
    }

    /// Whether it has an address to be reached at.
    pub(super) fn is_resolved(&self) -> bool {
        !self.addresses.load().is_empty()
    }

    /// The addresses it has at the moment.
    pub fn addresses(&self) -> Arc<Vec<SocketAddr>> {
        self.addresses.load_full()
    }

    pub(super) async fn resolve(&self) -> bool {
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
