//! Accepts connections (decision 0019): permit → PROXY header → TLS → idle wait with only the socket → an app with a
//! deadline; for HTTP this is the library.
//!
//! The library's own listener limits neither the handshake nor the whole head, keeps a session for each idle
//! connection, and shuts down by sleeping. This one limits all of them, and its drain ends as soon as nothing runs.

mod admission;
mod conn;
mod frames_in;
mod gate;
mod http2;
mod info;
mod linger;
mod proxy_header;
mod read_limit;
mod read_write;
mod serve;
mod stream;
mod streams;
mod tls;
mod write_pace;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use frontdesk_filters::caller::forwarded;
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    time::{Instant, timeout_at},
};
use tokio_rustls::TlsAcceptor;

use crate::{certificate::Certificate, client_share::Share};
use conn::Io;
use gate::begun;

pub use admission::Admission;
pub use conn::Conn;
#[cfg(feature = "agtp")]
pub use gate::Due;
pub use gate::{Gate, Paused};
pub use info::ConnInfo;
pub use read_limit::RequestBody;
pub use serve::{FastPathOutcome, ServeFast, WithFastPath};

tokio::task_local! {
    /// The connection of the current request.
    static CONNECTION: Arc<ConnInfo>;
}

/// The connection of the current request; `None` outside a request.
pub fn connection() -> Option<Arc<ConnInfo>> {
    CONNECTION.try_with(Arc::clone).ok()
}

/// A protocol implementation that serves connections.
pub trait App: Send + Sync + 'static {
    /// Serves a connection to its end. The permit is released after the last request.
    fn serve(
        self: Arc<Self>,
        gate: Arc<Gate>,
        admitted: Admitted,
        admission: Arc<Admission>,
    ) -> impl Future<Output = ()> + Send;
}

/// What a listener does with a connection first: PROXY header and TLS.
#[derive(Clone)]
pub struct Manner {
    pub tls: Option<TlsAcceptor>,
    pub h2c: bool,
    pub proxy_protocol: bool,
}

impl Manner {
    /// HTTP/1.1 in cleartext only.
    pub fn plain() -> Self {
        Self { tls: None, h2c: false, proxy_protocol: false }
    }

    /// TLS with a certificate that may be replaced.
    pub fn tls(certificate: Arc<Certificate>, proxy_protocol: bool) -> Result<Self, rustls::Error> {
        Ok(Self { tls: Some(tls::http(certificate)?), h2c: false, proxy_protocol })
    }

    /// For frames: TLS with that certificate, or cleartext.
    #[cfg(feature = "agtp")]
    pub fn frames(certificate: Option<Arc<Certificate>>, proxy_protocol: bool) -> Result<Self, rustls::Error> {
        Ok(Self { tls: certificate.map(tls::frames).transpose()?, h2c: false, proxy_protocol })
    }
}

/// Binds an address. For port 0 the system chooses a port: see `local_addr`.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    // Accepted sockets inherit it. It detects peers that vanished.
    socket.set_keepalive(true)?;
    socket.bind(address)?;
    socket.listen(4096)
}

/// Accepts until the drain begins, except in pauses. Each connection runs in a task of its own.
pub async fn listen<A: App>(gate: Arc<Gate>, listener: Arc<TcpListener>, manner: Manner, app: Arc<A>) {
    let mut drain = gate.drain.clone();
    let mut pause = gate.pause.subscribe();
    let mut accepting = gate.accepting.read().await;
    loop {
        let accepted = tokio::select! {
            // A drain or pause wins over a connection that arrives at the same time.
            biased;
            () = begun(&mut drain) => return gate.stir(),
            () = begun(&mut pause) => {
                drop(accepting);
                accepting = gate.accepting.read().await;
                continue;
            }
            accepted = listener.accept() => accepted,
        };
        let (tcp, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(e) => {
                tracing::warn!(error = %e, "a connection could not be accepted");
                // Most likely there are no file descriptors left, and an immediate retry would only spin.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let Ok(mut share) = gate.share(peer.ip()) else { continue };
        // An accepted connection is served, even if the drain begins at this moment.
        let permit = tokio::select! {
            biased;
            permit = gate.permit(share.as_ref()) => permit,
            () = begun(&mut drain) => return gate.stir(),
        };
        let Ok(permit) = permit else { continue };
        let open = gate.metrics.connection_opened();
        let (gate, manner, app) = (gate.clone(), manner.clone(), app.clone());
        tokio::spawn(async move {
            let _open = open;
            // Boxed, so that an idle connection does not hold the memory of the handshake.
            if let Some(conn) = Box::pin(admit(&gate, manner, tcp, peer, &mut share)).await {
                app.serve(gate, conn, Arc::new(Admission::new(permit, share))).await;
            }
        });
    }
}

/// A connection that is ready for its protocol.
pub struct Admitted {
    pub conn: Box<Conn>,
    http2: bool,
    /// The deadline of the first request's head.
    pub deadline: Instant,
}

/// Everything before the protocol, within `protection.header_timeout` from accept on.
async fn admit(
    gate: &Gate,
    manner: Manner,
    mut tcp: TcpStream,
    peer: SocketAddr,
    share: &mut Option<Share>,
) -> Option<Admitted> {
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
            Ok(Ok(named)) => {
                client = named.unwrap_or(peer);
                if client.ip() != peer.ip() {
                    *share = gate.share(client.ip()).ok()?;
                }
            }
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
