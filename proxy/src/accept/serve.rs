//! One connection's life where HTTP is spoken: request after request over HTTP/1.1, each by the shortest way it can go.

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

/// What a client begins with that speaks HTTP/2 over cleartext (RFC 9113 §3.4).
pub(super) const H2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Whoever may serve a request before the library sees it.
pub trait Shortcut: Send + Sync + 'static {
    /// Looks at what has been read of a request, and serves it or leaves it as it is.
    fn serve(&self, conn: Box<Conn>) -> impl Future<Output = Way> + Send;

    /// The same for a stream over HTTP/2. One that is left comes back.
    fn serve_stream(
        &self,
        stream: Box<Http2Session>,
        info: &Arc<ConnInfo>,
    ) -> impl Future<Output = Option<Box<Http2Session>>> + Send;

    /// Is told that a request came whose head nobody could read. `status`: what was answered; 0: nothing.
    fn unread(&self, info: &ConnInfo, status: u16, reason: &'static str, took: Duration);
}

/// What became of a request that somebody else than the library may have served.
pub enum Way {
    /// Nothing: it is the library's.
    Library(Box<Conn>),
    /// It was served, until then, and the connection is there for another one.
    Next(Box<Conn>, Instant),
    /// It was served, and the connection is over; it is there to be ended in order, if the answer was whole.
    Over(Option<Box<Conn>>),
}

/// Leaves everything to the library.
pub struct Long;

impl Shortcut for Long {
    async fn serve(&self, conn: Box<Conn>) -> Way {
        Way::Library(conn)
    }

    async fn serve_stream(&self, stream: Box<Http2Session>, _: &Arc<ConnInfo>) -> Option<Box<Http2Session>> {
        Some(stream)
    }

    fn unread(&self, _: &ConnInfo, _: u16, _: &'static str, _: Duration) {}
}

/// An application of the library's, and a shortcut to some of what it does.
pub struct Shortened<A, S> {
    pub app: Arc<A>,
    pub shortcut: Arc<S>,
}

impl<A> Shortened<A, Long> {
    /// Without a shortcut.
    pub fn long(app: A) -> Self {
        Self { app: Arc::new(app), shortcut: Arc::new(Long) }
    }
}

impl<A, S> App for Shortened<A, S>
where
    A: HttpServerApp + Send + Sync + 'static,
    S: Shortcut,
{
    async fn serve(self: Arc<Self>, gate: Arc<Gate>, admitted: Admitted, admission: Arc<Admission>) {
        if admitted.http2 {
            Box::pin(http2(gate, admitted, self.app.clone(), self.shortcut.clone(), admission)).await;
        } else {
            // It counts as long as this lives.
            http1(gate, admitted, &admission, self.app.clone(), &*self.shortcut).await;
        }
    }
}

async fn http1<A>(gate: Arc<Gate>, admitted: Admitted, admission: &Admission, app: Arc<A>, shortcut: &impl Shortcut)
where
    A: HttpServerApp + Send + Sync + 'static,
{
    let mut conn = admitted.conn;
    // The first head has what is left of the time since accept.
    let mut first = Some(admitted.deadline);
    let drain = gate.drain.clone();
    let mut settings: Option<HttpPersistentSettings> = None;
    let mut pipelined = false;
    let mut alarm = Alarm::default();
    // When it was opened, or served last.
    let mut since = Instant::now();
    loop {
        let due = match pipelined {
            true => Some(Due::Within(gate.limits().0)),
            false => gate.begun(admission, &mut conn, &mut alarm, first.take(), since.into()).await,
        };
        let Some(due) = due else { return };
        conn.begin_head(due);
        // Boxed: an idle connection holds nothing of it.
        match boxed(|| shortcut.serve(conn)).await {
            Way::Library(left) => conn = left,
            Way::Next(served, ended) => {
                (conn, since) = (served, ended);
                pipelined = !conn.ahead().is_empty();
                continue;
            }
            Way::Over(conn) => {
                if let Some(mut conn) = conn {
                    // Over TLS the client is told that nothing was cut off (RFC 8446 §6.1).
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
            // They are counted where they are answered.
            HeadOutcome::Refused => shortcut.unread(&info, info.refused_with(), "malformed", begun.elapsed()),
            HeadOutcome::Read | HeadOutcome::Gone => {}
        }
        let Some((stream, kept)) = reused.map(|r| r.consume()) else { return };
        let Ok(same) = stream.into_any().downcast::<Conn>() else { return };
        // The library was handed nothing of the next request.
        pipelined = !same.ahead().is_empty();
        (conn, settings, since) = (same, kept, Instant::now());
    }
}
