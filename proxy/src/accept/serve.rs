//! One connection's life where HTTP is spoken: request after request over HTTP/1.1, streams over HTTP/2.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use pingora::{
    apps::{HttpPersistentSettings, HttpServerApp},
    protocols::{
        Digest, Stream,
        http::{
            ServerSession,
            v2::server::{H2Accept, HttpSession as Http2Session, default_h2_options, handshake},
        },
    },
};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit},
    time::{Instant, sleep, timeout_at},
};

use super::{Admitted, App, CONNECTION, Gate, conn::Conn, gate::begun, info::HeadOutcome};

/// What a client begins with that speaks HTTP/2 over cleartext (RFC 9113 §3.4).
pub(super) const H2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Refused streams after which an HTTP/2 connection is closed.
const REFUSALS: usize = 32;
/// How long a client may take to read the last words of an HTTP/2 connection.
const FAREWELL: Duration = Duration::from_secs(1);

impl<A> App for A
where
    A: HttpServerApp + Send + Sync + 'static,
{
    async fn serve(self: Arc<Self>, gate: Arc<Gate>, admitted: Admitted, permit: Arc<OwnedSemaphorePermit>) {
        if admitted.http2 {
            Box::pin(http2(gate, admitted, self, permit)).await;
        } else {
            // The permit lives as long as this does.
            http1(gate, admitted, self, &Long).await;
        }
    }
}

/// Whoever may serve a request over HTTP/1.1 before the library sees it.
pub trait Shortcut: Send + Sync + 'static {
    /// Looks at what has been read of a request, and serves it or leaves it as it is. `leaving`: the connection is not
    /// kept.
    fn serve(&self, conn: Box<Conn>, leaving: bool) -> impl Future<Output = Way> + Send;
}

/// What became of a request that somebody else than the library may have served.
pub enum Way {
    /// Nothing: it is the library's.
    Library(Box<Conn>),
    /// It was served, and the connection is there for another one.
    Next(Box<Conn>),
    /// It was served, and the connection is over.
    Over,
}

/// Leaves everything to the library.
struct Long;

impl Shortcut for Long {
    async fn serve(&self, conn: Box<Conn>, _: bool) -> Way {
        Way::Library(conn)
    }
}

/// An application of the library's, and a shortcut to some of what it does.
pub struct Shortened<A, S> {
    pub app: Arc<A>,
    pub shortcut: S,
}

impl<A, S> App for Shortened<A, S>
where
    A: HttpServerApp + Send + Sync + 'static,
    S: Shortcut,
{
    async fn serve(self: Arc<Self>, gate: Arc<Gate>, admitted: Admitted, permit: Arc<OwnedSemaphorePermit>) {
        if admitted.http2 {
            Box::pin(http2(gate, admitted, self.app.clone(), permit)).await;
        } else {
            http1(gate, admitted, self.app.clone(), &self.shortcut).await;
        }
    }
}

async fn http1<A>(gate: Arc<Gate>, admitted: Admitted, app: Arc<A>, shortcut: &impl Shortcut)
where
    A: HttpServerApp + Send + Sync + 'static,
{
    let mut conn = admitted.conn;
    // The first head has what is left of the time since accept.
    let mut first = Some(admitted.deadline);
    let drain = gate.drain.clone();
    let mut settings: Option<HttpPersistentSettings> = None;
    let mut pipelined = false;
    // The beginning of the next request is where only the library can see it.
    let mut hidden = false;
    loop {
        let (head_limit, idle_limit) = gate.limits();
        let deadline = match pipelined {
            true => Some(Instant::now() + head_limit),
            false => gate.begun(&mut conn, first.take()).await,
        };
        let Some(deadline) = deadline else { return };
        conn.begin_head(deadline);
        if !hidden {
            // Boxed: an idle connection holds nothing of it.
            match Box::pin(shortcut.serve(conn, gate.drains())).await {
                Way::Library(left) => conn = left,
                Way::Next(served) => {
                    conn = served;
                    pipelined = !conn.ahead().is_empty();
                    continue;
                }
                Way::Over => return,
            }
        }
        let info = conn.info().clone();
        let mut session = ServerSession::new_http1(conn as Stream);
        match settings.take() {
            Some(settings) => settings.apply_to_session(&mut session),
            None => {
                session.set_keepalive(Some(idle_limit.as_secs().max(1)));
                session.set_pipelining_enabled(true);
            }
        }
        let reused = tokio::select! {
            reused = CONNECTION.scope(info.clone(), app.process_new_http(session, &drain)) => reused,
            () = info.abandoned() => None,
        };
        match info.head_outcome() {
            HeadOutcome::Late => gate.metrics.rejected("header_timeout"),
            // Refused heads are counted where they are answered.
            HeadOutcome::Refused | HeadOutcome::Read | HeadOutcome::Gone => {}
        }
        let Some((stream, kept)) = reused.map(|r| r.consume()) else { return };
        let Ok(same) = stream.into_any().downcast::<Conn>() else { return };
        hidden = same.took_more_than_a_head() && kept.as_ref().is_some_and(holds_next_request);
        pipelined = hidden;
        (conn, settings) = (same, kept);
    }
}

/// Whether the beginning of the next request was read with the last one. The library keeps it to itself, but for its
/// debug form; looked at only when more than a head was read.
fn holds_next_request(settings: &HttpPersistentSettings) -> bool {
    format!("{settings:?}").contains("pipelined_prefix: Some(")
}

async fn http2<A>(gate: Arc<Gate>, admitted: Admitted, app: Arc<A>, permit: Arc<OwnedSemaphorePermit>)
where
    A: HttpServerApp + Send + Sync + 'static,
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
                let (app, drain, permit) = (app.clone(), drain.clone(), permit.clone());
                tokio::spawn(async move {
                    let _held = (stream, permit);
                    let session = ServerSession::new_http2(session);
                    tokio::select! {
                        _ = CONNECTION.scope(info.clone(), app.process_new_http(session, &drain)) => {}
                        () = info.abandoned() => {}
                    }
                });
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
