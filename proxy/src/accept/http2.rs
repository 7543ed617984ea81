//! A connection over HTTP/2: its streams, one task each, for as long as there is something to wait for.

use std::{
    future::{pending, poll_fn, ready},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use http::{Method, StatusCode, header};
use pingora::{
    apps::HttpServerApp,
    http::ResponseHeader,
    protocols::{
        Digest, Stream,
        http::{
            ServerSession,
            v2::server::{H2Accept, HttpSession as Http2Session, default_h2_options, handshake},
        },
    },
    server::ShutdownWatch,
};
use tokio::time::{Instant, timeout_at};

use super::{
    Admission, Admitted, CONNECTION, Gate, Shortcut,
    gate::{Idling, begun},
    info::ConnInfo,
    streams::Streams,
};
use crate::alarm::Alarm;

/// Refused streams after which an HTTP/2 connection is closed.
const REFUSALS: usize = 32;
/// How long a client may take to read the last words of a connection.
pub(super) const FAREWELL: Duration = Duration::from_secs(1);

/// As many bytes are more than what the protocol says by itself.
const SOMETHING: usize = 1024;

/// Serves streams until the client leaves, or has idled for too long.
pub(super) async fn http2<A, S>(
    gate: Arc<Gate>,
    admitted: Admitted,
    app: Arc<A>,
    shortcut: Arc<S>,
    admission: Arc<Admission>,
) where
    A: HttpServerApp + Send + Sync + 'static,
    S: Shortcut,
{
    let mut drain = gate.drain.clone();
    let (_, idle_limit) = gate.limits();
    let mut conn = admitted.conn;
    conn.begin_frames();
    let info = conn.info().clone();
    info.set_lowest_rate(gate.live.look(|running| running.snapshot.settings.protection.min_rate));
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
    // Since when we leave, or since the client last took something after that.
    let mut leaving: Option<Instant> = None;
    let mut told = 0;
    // There were answers then that the client had not all of.
    let mut owes = false;
    let mut alarm = Alarm::default();
    loop {
        // Idle for as long as is allowed: say goodbye. And do not wait long for a client that does not answer; what has
        // been said to its end may not have been written to its end, though.
        let (so_far, blocked) = info.told_so_far();
        if so_far - told >= SOMETHING && leaving.is_some() {
            (told, leaving) = (so_far, Some(Instant::now()));
        }
        let (since, allowed) = match leaving {
            None => (streams.idle_for(), idle_limit),
            Some(heard) => {
                (streams.idle_for().map(|idle| idle.min(heard.elapsed())), if blocked { idle_limit } else { FAREWELL })
            }
        };
        let mut idle = since.map(|_| gate.idles(&admission));
        let wanted = idle.is_some() && gate.is_crowded() && streams.served();
        let left = allowed.saturating_sub(since.unwrap_or_default());
        // None: time to say goodbye.
        let accepted = tokio::select! {
            biased;
            () = ready(()), if wanted && leaving.is_none() => None,
            accepted = after_others(&info, Http2Session::from_h2_conn(&mut h2, digest.clone())) => Some(accepted),
            () = begun(&mut drain), if leaving.is_none() => None,
            // The last stream has ended in its own task: now this connection idles.
            () = streams.idle.notified() => continue,
            () = room_wanted(idle.as_ref()), if leaving.is_none() => None,
            () = alarm.within(left) => match (leaving, streams.idle_for()) {
                (Some(_), Some(_)) if since.is_some() && info.told_so_far().0 - told < SOMETHING => break,
                (None, Some(idle)) if idle >= allowed => None,
                _ => continue,
            },
        };
        let Some(accepted) = accepted else {
            h2.graceful_shutdown();
            (told, leaving) = (so_far, Some(Instant::now()));
            owes = streams.idle_for().is_none_or(|idle| idle < FAREWELL) || blocked;
            continue;
        };
        match accepted {
            Ok(Some(H2Accept::Session(session))) => {
                if idle.take().is_some() && !gate.may_be_busy(&admission) {
                    return;
                }
                let stream = streams.begin();
                let info = Arc::new(info.for_stream());
                let (app, shortcut, drain) = (app.clone(), shortcut.clone(), drain.clone());
                let admission = admission.clone();
                // Boxed: it is large, and handed on several times.
                let session = Box::new(session);
                // Boxed where it is made: what is spawned is moved several times.
                tokio::spawn(Box::pin(async move {
                    let _held = (stream, admission);
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
            Ok(None) | Err(_) => break,
        }
    }
    if owes {
        info.is_read_to_its_end(admission);
    }
}

/// Returns when a connection that idles is asked to make room.
async fn room_wanted(idling: Option<&Idling<'_>>) {
    match idling {
        Some(idling) => idling.room_wanted().await,
        None => pending().await,
    }
}

/// Drives a connection once everything else that is ready has had its turn: what its streams have to say by then leaves
/// in one write, where each would wake it for a write of its own.
async fn after_others<T>(info: &ConnInfo, driven: impl Future<Output = T>) -> T {
    let mut driven = pin!(driven);
    let mut waited = true;
    poll_fn(|cx| {
        if !waited {
            waited = true;
            // Woken by itself, a task goes to the end of the queue.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        waited = false;
        let done = driven.as_mut().poll(cx);
        if done.is_pending() && info.is_unflushed() {
            cx.waker().wake_by_ref();
        }
        done
    })
    .await
}

/// What the library does with a stream.
async fn long_stream<A>(app: &Arc<A>, session: Box<Http2Session>, drain: &ShutdownWatch, info: &Arc<ConnInfo>)
where
    A: HttpServerApp + Send + Sync + 'static,
{
    let mut session = session;
    if session.req_header().method == Method::CONNECT {
        // The library would answer so too, in its own name.
        if let Ok(mut head) = ResponseHeader::build(StatusCode::METHOD_NOT_ALLOWED, Some(1)) {
            let _ = head.insert_header(header::CONTENT_LENGTH, 0);
            let _ = session.write_response_header(Box::new(head), true);
        }
        return;
    }
    let session = ServerSession::new_http2(*session);
    tokio::select! {
        _ = CONNECTION.scope(info.clone(), app.process_new_http(session, drain)) => {}
        () = info.abandoned() => {}
    }
}

#[cfg(test)]
mod tests {
    use std::{
        cell::Cell,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use tokio::sync::Notify;

    use super::*;
    use crate::admin::metrics::Metrics;

    /// How often a connection is driven while four streams wake it, one after another.
    async fn driven(info: &ConnInfo) -> usize {
        let (woken, ended, driven) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)), Cell::new(0));
        let connection = after_others(info, async {
            loop {
                let notified = woken.notified();
                driven.set(driven.get() + 1);
                info.leaves_unflushed(false);
                if ended.load(Ordering::Relaxed) == 4 {
                    return;
                }
                notified.await;
            }
        });
        let streams = async {
            // The connection is asleep by then.
            tokio::task::yield_now().await;
            for _ in 0..4 {
                let (woken, ended) = (woken.clone(), ended.clone());
                tokio::spawn(async move {
                    ended.fetch_add(1, Ordering::Relaxed);
                    woken.notify_one();
                });
            }
        };
        tokio::join!(connection, streams);
        driven.get()
    }

    #[tokio::test]
    async fn a_connection_is_driven_once_for_all_streams_of_a_turn() {
        let info = ConnInfo::new(([127, 0, 0, 1], 1).into(), false, Metrics::new().unwrap());
        // Before any of them, and after all of them.
        assert_eq!(driven(&info).await, 2);
    }

    #[tokio::test]
    async fn what_was_not_flushed_has_it_driven_again() {
        let info = ConnInfo::new(([127, 0, 0, 1], 1).into(), false, Metrics::new().unwrap());
        let polls = Cell::new(0);
        let flushed = after_others(
            &info,
            poll_fn(|_| {
                polls.set(polls.get() + 1);
                info.leaves_unflushed(polls.get() < 3);
                if polls.get() < 3 { Poll::Pending } else { Poll::Ready(()) }
            }),
        );
        tokio::time::timeout(Duration::from_secs(20), flushed).await.unwrap();
    }
}
