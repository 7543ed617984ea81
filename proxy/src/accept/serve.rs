//! Serves an HTTP connection: request after request over HTTP/1.1, each on the fast path if possible.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use frontdesk_filters::boxed;
use pingora::{
    apps::{HttpPersistentSettings, HttpServerApp},
    protocols::{
        Stream,
        http::{ServerSession, v2::server::HttpSession as Http2Session},
    },
};
use tokio::{io::AsyncWriteExt, time::timeout};

use super::{
    Admission, Admitted, App, CONNECTION, Gate,
    conn::Conn,
    gate::Due,
    http2::{FAREWELL, http2},
    info::{ConnInfo, HeadOutcome},
};
use crate::alarm::Alarm;

/// The first bytes of a client that speaks HTTP/2 over cleartext (RFC 9113 §3.4).
pub(super) const H2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The fast path: may serve a request before the library sees it.
pub trait ServeFast: Send + Sync + 'static {
    /// Examines the bytes read of a request, and serves it or leaves it unchanged.
    fn serve(&self, conn: Box<Conn>) -> impl Future<Output = FastPathOutcome> + Send;

    /// The same for an HTTP/2 stream. A stream that is not served comes back.
    fn serve_stream(
        &self,
        stream: Box<Http2Session>,
        info: &Arc<ConnInfo>,
    ) -> impl Future<Output = Option<Box<Http2Session>>> + Send;

    /// Records a request whose head could not be parsed. `status`: the response's status; 0: no response.
    fn unread(&self, info: &ConnInfo, status: u16, reason: &'static str, took: Duration);
}

/// The outcome of the fast path for a request.
pub enum FastPathOutcome {
    /// Not served: the library serves it.
    Library(Box<Conn>),
    /// Served, at that moment, and the connection is ready for the next request.
    Next(Box<Conn>, Instant),
    /// Served, and the connection is over. It is returned for an orderly close if the response was complete.
    Over(Option<Box<Conn>>),
}

/// No fast path: the library serves everything.
pub struct NoFastPath;

impl ServeFast for NoFastPath {
    async fn serve(&self, conn: Box<Conn>) -> FastPathOutcome {
        FastPathOutcome::Library(conn)
    }

    async fn serve_stream(&self, stream: Box<Http2Session>, _: &Arc<ConnInfo>) -> Option<Box<Http2Session>> {
        Some(stream)
    }

    fn unread(&self, _: &ConnInfo, _: u16, _: &'static str, _: Duration) {}
}

/// An application of the library with a fast path before it.
pub struct WithFastPath<A, S> {
    pub app: Arc<A>,
    pub shortcut: Arc<S>,
}

impl<A> WithFastPath<A, NoFastPath> {
    /// Without a fast path.
    pub fn long(app: A) -> Self {
        Self { app: Arc::new(app), shortcut: Arc::new(NoFastPath) }
    }
}

impl<A, S> App for WithFastPath<A, S>
where
    A: HttpServerApp + Send + Sync + 'static,
    S: ServeFast,
{
    async fn serve(self: Arc<Self>, gate: Arc<Gate>, admitted: Admitted, admission: Arc<Admission>) {
        if admitted.http2 {
            Box::pin(http2(gate, admitted, self.app.clone(), self.shortcut.clone(), admission)).await;
        } else {
            // The permit is held until this returns.
            http1(gate, admitted, &admission, self.app.clone(), &*self.shortcut).await;
        }
    }
}

async fn http1<A>(gate: Arc<Gate>, admitted: Admitted, admission: &Admission, app: Arc<A>, shortcut: &impl ServeFast)
where
    A: HttpServerApp + Send + Sync + 'static,
{
    let mut conn = admitted.conn;
    // The first head's deadline counts from accept on.
    let mut first = Some(admitted.deadline);
    let drain = gate.drain.clone();
    let mut settings: Option<HttpPersistentSettings> = None;
    let mut pipelined = false;
    let mut alarm = Alarm::default();
    // When the connection was opened or last served.
    let mut since = Instant::now();
    loop {
        let due = match pipelined {
            true => Some(Due::Within(gate.limits().0)),
            false => gate.begun(admission, &mut conn, &mut alarm, first.take(), since.into()).await,
        };
        let Some(due) = due else { return };
        conn.begin_head(due);
        // Boxed, so that an idle connection holds none of its memory.
        match boxed(|| shortcut.serve(conn)).await {
            FastPathOutcome::Library(left) => conn = left,
            FastPathOutcome::Next(served, ended) => {
                (conn, since) = (served, ended);
                pipelined = !conn.ahead().is_empty();
                continue;
            }
            FastPathOutcome::Over(conn) => {
                if let Some(mut conn) = conn {
                    // Over TLS, close_notify tells the client that nothing was cut off (RFC 8446 §6.1).
                    let _ = timeout(FAREWELL, conn.shutdown()).await;
                }
                return;
            }
        }
        let info = conn.info().clone();
        let begun = Instant::now();
        let mut session = ServerSession::new_http1(conn as Stream);
        match settings.take() {
            Some(settings) => settings.apply_to_session(&mut session),
            None => {
                let (_, idle_limit) = gate.limits();
                session.set_keepalive(Some(idle_limit.as_secs().max(1)));
            }
        }
        let reused = tokio::select! {
            reused = CONNECTION.scope(info.clone(), app.process_new_http(session, &drain)) => reused,
            () = info.abandoned() => None,
        };
        match info.head_outcome() {
            HeadOutcome::Late => {
                gate.metrics.rejected("header_timeout");
                shortcut.unread(&info, 0, "header_timeout", begun.elapsed());
            }
            // Requests on the library's path are counted where they are answered.
            HeadOutcome::Refused => shortcut.unread(&info, info.refused_with(), "malformed", begun.elapsed()),
            HeadOutcome::Read | HeadOutcome::Gone => {}
        }
        let Some((stream, kept)) = reused.map(|r| r.consume()) else { return };
        let Ok(same) = stream.into_any().downcast::<Conn>() else { return };
        // The library got no byte of the next request.
        pipelined = !same.ahead().is_empty();
        (conn, settings, since) = (same, kept, Instant::now());
    }
}
