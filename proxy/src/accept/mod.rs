//! The way in (decision 19): permit → PROXY → TLS → wait with only the socket held → an app under a deadline, which is the
//! library for HTTP.
//!
//! The library's own listener bounds neither the handshake nor the whole head, keeps a session for each idle
//! connection, and stops by sleeping. This one bounds all of it, and its drain ends as soon as nothing runs.

mod conn;
mod info;
mod linger;
mod proxy_header;
mod serve;
mod tls;

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use frontdesk_filters::caller::forwarded;
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::{Notify, OwnedSemaphorePermit, RwLock, Semaphore, watch},
    time::{Instant, sleep_until, timeout_at},
};
use tokio_rustls::TlsAcceptor;

use crate::{admin::metrics::Metrics, certificate::Certificate, live::Live};
use conn::Io;

pub use conn::Conn;
pub use info::ConnInfo;

/// How long after it was opened or served last a connection may bring one more request once the process is to end.
const LAST_CALL: Duration = Duration::from_secs(1);

tokio::task_local! {
    /// The connection that the current request came in on.
    static CONNECTION: Arc<ConnInfo>;
}

/// The connection that the current request came in on; `None` outside a request.
pub fn connection() -> Option<Arc<ConnInfo>> {
    CONNECTION.try_with(Arc::clone).ok()
}

/// What all listeners of a kind share: the bound on connections, the drain.
pub struct Gate {
    live: Arc<Live>,
    metrics: Arc<Metrics>,
    permits: Arc<Semaphore>,
    /// How many permits there are, taken or not.
    size: AtomicUsize,
    idle: AtomicUsize,
    /// Newcomers that wait for a permit.
    waiting: AtomicUsize,
    /// Woken when a newcomer waits for a permit: the longest idle connection makes room.
    room: Notify,
    drain: watch::Receiver<bool>,
    /// Read by whoever still accepts.
    accepting: RwLock<()>,
}

impl Gate {
    /// A gate for `size` connections. `drain` turns true when the process is to end.
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
            accepting: RwLock::default(),
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

    /// A permit for a newcomer. With none left an idle connection makes room, now or as soon as one idles.
    async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = self.permits.clone().try_acquire_owned() {
            return Some(permit);
        }
        self.metrics.rejected("max_connections");
        let _waiting = Counted::one(&self.waiting);
        if self.idle.load(Ordering::SeqCst) > 0 {
            self.room.notify_one();
        }
        self.permits.clone().acquire_owned().await.ok()
    }

    /// Waits, with nothing but the socket held, until the client begins a request, and says when its head has to be
    /// complete: `first` for the first one of a connection. `None`: the connection is over.
    pub async fn begun(&self, conn: &mut Conn, first: Option<Instant>) -> Option<Instant> {
        let (head_limit, idle_limit) = self.limits();
        let mut drain = self.drain.clone();
        let since = Instant::now();
        let _idle = Counted::one(&self.idle);
        if first.is_none() && self.waiting.load(Ordering::SeqCst) > 0 {
            // Somebody waits for the place that this connection only keeps.
            return None;
        }
        let ready = tokio::select! {
            ready = conn.readable() => ready.is_ok(),
            () = sleep_until(first.unwrap_or_else(|| Instant::now() + idle_limit)) => {
                if first.is_some() { self.metrics.rejected("header_timeout") }
                false
            }
            // Whoever was served a moment ago may be asking on at this very moment: they are answered, and told to go.
            () = begun(&mut drain) => timeout_at(since + LAST_CALL, conn.readable()).await.is_ok_and(|ready| ready.is_ok()),
            () = self.room.notified() => false,
        };
        ready.then(|| first.unwrap_or_else(|| Instant::now() + head_limit))
    }

    /// `header_timeout` and `idle_timeout` as they are now.
    pub fn limits(&self) -> (Duration, Duration) {
        let running = self.live.current();
        let protection = &running.snapshot.settings.protection;
        (protection.header_timeout, protection.idle_timeout)
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

/// Returns once the drain has begun.
async fn begun(drain: &mut watch::Receiver<bool>) {
    let _ = drain.wait_for(|begun| *begun).await;
}

/// What speaks with clients once they are in.
pub trait App: Send + Sync + 'static {
    /// Serves a connection to its end. The permit goes back when the last of its requests has.
    fn serve(
        self: Arc<Self>,
        gate: Arc<Gate>,
        admitted: Admitted,
        permit: Arc<OwnedSemaphorePermit>,
    ) -> impl Future<Output = ()> + Send;
}

/// What a listener does with a connection before anything is spoken.
#[derive(Clone)]
pub struct Manner {
    pub tls: Option<TlsAcceptor>,
    pub h2c: bool,
    pub proxy_protocol: bool,
}

impl Manner {
    /// Cleartext HTTP/1.1 and nothing else.
    pub fn plain() -> Self {
        Self { tls: None, h2c: false, proxy_protocol: false }
    }

    /// TLS with a certificate that may be swapped.
    pub fn tls(certificate: Arc<Certificate>, proxy_protocol: bool) -> Result<Self, rustls::Error> {
        Ok(Self { tls: Some(tls::http(certificate)?), h2c: false, proxy_protocol })
    }

    /// For frames: TLS with that certificate, or cleartext.
    pub fn frames(certificate: Option<Arc<Certificate>>, proxy_protocol: bool) -> Result<Self, rustls::Error> {
        Ok(Self { tls: certificate.map(tls::frames).transpose()?, h2c: false, proxy_protocol })
    }
}

/// Binds an address. A port of 0 is replaced by what the system chose: see `local_addr`.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    // Inherited by what is accepted: finds peers that vanished without a word.
    socket.set_keepalive(true)?;
    socket.bind(address)?;
    socket.listen(4096)
}

/// Accepts until the drain begins. Each connection runs in a task of its own.
pub async fn listen<A: App>(gate: Arc<Gate>, listener: Arc<TcpListener>, manner: Manner, app: Arc<A>) {
    let mut drain = gate.drain.clone();
    let _accepting = gate.accepting.read().await;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = begun(&mut drain) => return,
        };
        let (tcp, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(e) => {
                tracing::warn!(error = %e, "a connection could not be accepted");
                // Out of file descriptors, most likely: trying at once would only spin.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // Whoever got in is served, whatever begins in the same moment.
        let permit = tokio::select! {
            biased;
            permit = gate.permit() => permit,
            () = begun(&mut drain) => return,
        };
        let Some(permit) = permit else { return };
        let open = gate.metrics.connection_opened();
        let (gate, manner, app) = (gate.clone(), manner.clone(), app.clone());
        tokio::spawn(async move {
            let _open = open;
            // Boxed: what the handshake needs is not held while the connection idles.
            if let Some(conn) = Box::pin(admit(&gate, manner, tcp, peer)).await {
                app.serve(gate, conn, Arc::new(permit)).await;
            }
        });
    }
}

/// A connection that is ready to speak.
pub struct Admitted {
    pub conn: Box<Conn>,
    http2: bool,
    /// When the first request's head has to be complete.
    pub deadline: Instant,
}

/// Everything before anything is spoken, within `protection.header_timeout` from accept on.
async fn admit(gate: &Gate, manner: Manner, mut tcp: TcpStream, peer: SocketAddr) -> Option<Admitted> {
    let (limit, trusted) = {
        let running = gate.live.current();
        let settings = &running.snapshot.settings;
        let trusted = manner.proxy_protocol && forwarded::is_trusted(peer.ip(), &settings.listen.trusted_proxies);
        (settings.protection.header_timeout, trusted)
    };
    let _ = tcp.set_nodelay(true);
    let deadline = Instant::now() + limit;
    let mut client = peer;
    if manner.proxy_protocol {
        if !trusted {
            gate.metrics.rejected("proxy_protocol");
            return None;
        }
        match timeout_at(deadline, proxy_header::read(&mut tcp)).await {
            Ok(Ok(named)) => client = named.unwrap_or(peer),
            Ok(Err(_)) => {
                gate.metrics.rejected("proxy_protocol");
                return None;
            }
            Err(_) => {
                gate.metrics.rejected("header_timeout");
                return None;
            }
        }
    }
    let info = Arc::new(ConnInfo::new(client, manner.tls.is_some(), gate.metrics.clone()));
    let Some(acceptor) = manner.tls else {
        let mut conn = Box::new(Conn::new(Io::Plain(tcp), info));
        let http2 = manner.h2c
            && match timeout_at(deadline, conn.begins_with(serve::H2_PREFACE)).await {
                Ok(begins) => begins.ok()?,
                Err(_) => {
                    gate.metrics.rejected("header_timeout");
                    return None;
                }
            };
        return Some(Admitted { conn, http2, deadline });
    };
    match timeout_at(deadline, acceptor.accept(tcp)).await {
        Ok(Ok(tls)) => {
            let http2 = tls.get_ref().1.alpn_protocol() == Some(b"h2");
            Some(Admitted { conn: Box::new(Conn::new(Io::Tls(Box::new(tls)), info)), http2, deadline })
        }
        Ok(Err(e)) => {
            tracing::debug!(%peer, error = %e, "TLS handshake failed");
            gate.metrics.rejected("tls_handshake");
            None
        }
        Err(_) => {
            gate.metrics.rejected("header_timeout");
            None
        }
    }
}
