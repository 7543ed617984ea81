//! A connection over HTTP/2: its streams, one task each, for as long as there is something to wait for.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use pingora::{
    apps::HttpServerApp,
    protocols::{
        Digest, Stream,
        http::{
            ServerSession,
            v2::server::{H2Accept, HttpSession as Http2Session, default_h2_options, handshake},
        },
    },
    server::ShutdownWatch,
};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit},
    time::{Instant, sleep, timeout_at},
};

use super::{Admitted, CONNECTION, Gate, Shortcut, gate::begun, info::ConnInfo};

/// Refused streams after which an HTTP/2 connection is closed.
const REFUSALS: usize = 32;
/// How long a client may take to read the last words of a connection.
pub(super) const FAREWELL: Duration = Duration::from_secs(1);

/// Serves streams until the client leaves, or has idled for too long.
pub(super) async fn http2<A, S>(
    gate: Arc<Gate>,
    admitted: Admitted,
    app: Arc<A>,
    shortcut: Arc<S>,
    permit: Arc<OwnedSemaphorePermit>,
) where
    A: HttpServerApp + Send + Sync + 'static,
    S: Shortcut,
{
    let mut drain = gate.drain.clone();
    let (_, idle_limit) = gate.limits();
    let conn = admitted.conn;
    let info = conn.info().clone();
    let digest = Arc::new(Digest { socket_digest: Some(conn.digest()), ..Digest::default() });
    let Ok(shaken) = timeout_at(admitted.deadline, handshake(conn as Stream, Some(default_h2_options()))).await else {
        gate.metrics.rejected("header_timeout");
        return;
    };
    let mut h2 = match shaken {
        Ok(h2) => h2,
        Err(_) => {
            gate.metrics.rejected("malformed");
            return;
        }
    };
    let streams = Arc::new(Streams::default());
    let mut refusals = 0;
    // When we began to leave.
    let mut leaving: Option<Instant> = None;
    loop {
        // Idle for as long as is allowed: say goodbye. And do not wait long for a client that does not answer.
        let (since, allowed) = match leaving {
            None => (streams.idle_for(), idle_limit),
            Some(began) => (streams.idle_for().map(|idle| idle.min(began.elapsed())), FAREWELL),
        };
        let idle = since.map(|_| gate.idles());
        let wanted = idle.is_some() && gate.is_crowded() && streams.served();
        if wanted && leaving.is_none() {
            h2.graceful_shutdown();
            leaving = Some(Instant::now());
            continue;
        }
        let accepted = tokio::select! {
            accepted = Http2Session::from_h2_conn(&mut h2, digest.clone()) => accepted,
            () = begun(&mut drain), if leaving.is_none() => {
                h2.graceful_shutdown();
                leaving = Some(Instant::now());
                continue;
            }
            // The last stream has ended in its own task: now this connection idles.
            () = streams.idle.notified() => continue,
            () = gate.room_wanted(), if idle.is_some() && leaving.is_none() => {
                h2.graceful_shutdown();
                leaving = Some(Instant::now());
                continue;
            }
            () = sleep(allowed.saturating_sub(since.unwrap_or_default())) => {
                match (leaving, streams.idle_for()) {
                    (Some(_), Some(_)) if since.is_some() => return,
                    (None, Some(idle)) if idle >= allowed => {
                        h2.graceful_shutdown();
                        leaving = Some(Instant::now());
                    }
                    _ => {}
                }
                continue;
            }
        };
        match accepted {
            Ok(Some(H2Accept::Session(session))) => {
                let stream = streams.begin();
                let info = Arc::new(info.for_stream());
                let (app, shortcut, drain, permit) = (app.clone(), shortcut.clone(), drain.clone(), permit.clone());
                // Boxed where it is made: what is spawned is moved several times.
                tokio::spawn(Box::pin(async move {
                    let _held = (stream, permit);
                    let Some(session) = shortcut.serve_stream(session, &info).await else { return };
                    // Boxed: most streams need nothing of it.
                    Box::pin(long_stream(&app, session, &drain, &info)).await;
                }));
            }
            Ok(Some(H2Accept::Rejected)) => {
                gate.metrics.rejected("malformed");
                refusals += 1;
                if refusals >= REFUSALS {
                    return;
                }
            }
            Ok(None) | Err(_) => return,
        }
    }
}

/// What the library does with a stream.
async fn long_stream<A>(app: &Arc<A>, session: Http2Session, drain: &ShutdownWatch, info: &Arc<ConnInfo>)
where
    A: HttpServerApp + Send + Sync + 'static,
{
    let session = ServerSession::new_http2(session);
    tokio::select! {
        _ = CONNECTION.scope(info.clone(), app.process_new_http(session, drain)) => {}
        () = info.abandoned() => {}
    }
}

/// The streams of one HTTP/2 connection, to know since when it idles.
struct Streams {
    open: AtomicUsize,
    started: Instant,
    /// When the last stream ended, in milliseconds since `started`.
    last_end: AtomicU64,
    /// There has been a stream.
    served: AtomicBool,
    /// Told when the last open stream has ended.
    idle: Notify,
}

impl Default for Streams {
    fn default() -> Self {
        Self {
            open: AtomicUsize::new(0),
            started: Instant::now(),
            last_end: AtomicU64::new(0),
            served: AtomicBool::new(false),
            idle: Notify::new(),
        }
    }
}

impl Streams {
    fn begin(self: &Arc<Self>) -> OpenStream {
        self.open.fetch_add(1, Ordering::Relaxed);
        self.served.store(true, Ordering::Relaxed);
        OpenStream(self.clone())
    }

    /// Whether there has been a stream.
    fn served(&self) -> bool {
        self.served.load(Ordering::Relaxed)
    }

    /// `None` while a stream is open.
    fn idle_for(&self) -> Option<Duration> {
        (self.open.load(Ordering::Relaxed) == 0).then(|| {
            let last = Duration::from_millis(self.last_end.load(Ordering::Relaxed));
            self.started.elapsed().saturating_sub(last)
        })
    }
}

/// Counts one stream for as long as it lives.
struct OpenStream(Arc<Streams>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        let now = u64::try_from(self.0.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.last_end.store(now, Ordering::Relaxed);
        if self.0.open.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.0.idle.notify_one();
        }
    }
}
