//! An HTTP/2 connection: one task for each stream, until the client leaves or the connection is idle for too long.

use std::{
    future::{pending, poll_fn, ready},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::Duration,
};

use bytes::Bytes;
use h2::{Reason, server::Connection as H2Connection};
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
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    Admission, Admitted, CONNECTION, Gate, ServeFast, admission::Idling, gate::begun, info::ConnInfo, streams::Streams,
};
use crate::alarm::Alarm;

/// The number of refused streams after which the connection is closed.
const REFUSALS: usize = 32;
/// The most streams that are refused at once. A client may have 100 open.
const STREAMS: usize = 128;
/// How long a client may take to read the last frames of a connection.
pub(super) const FAREWELL: Duration = Duration::from_secs(1);

/// How long the last frame of a connection that makes room may take to write. The socket takes it at once, or never.
const LAST_FRAME: Duration = Duration::from_millis(20);

/// More bytes than the protocol sends by itself.
const SOMETHING: usize = 1024;

/// Serves streams until the client leaves, or is idle for too long.
pub(super) async fn http2<A, S>(
    gate: Arc<Gate>,
    admitted: Admitted,
    app: Arc<A>,
    shortcut: Arc<S>,
    admission: Arc<Admission>,
) where
    A: HttpServerApp + Send + Sync + 'static,
    S: ServeFast,
{
    let mut drain = gate.drain.clone();
    let (_, idle_limit) = gate.limits();
    let mut conn = admitted.conn;
    conn.begin_frames();
    let info = conn.info().clone();
    gate.live.look(|running| info.hold_to_pace(&running.snapshot.settings.protection));
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
    // When the shutdown of the connection began, or when the client last read something after that.
    let mut leaving: Option<Instant> = None;
    let mut told = 0;
    // At that time the client had not read all of its responses.
    let mut owes = false;
    // The library still has frames of a stream to write, or waits for the client to end one.
    let unfinished = AtomicBool::new(false);
    let mut alarm = Alarm::default();
    loop {
        // Idle for too long: send GOAWAY. Do not wait long for a client that does not react, but its responses may not
        // be written completely yet.
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
        // A connection that still has something to write cannot make room.
        let writes = unfinished.load(Ordering::Relaxed);
        let idle = since.filter(|_| !blocked && !writes).map(|_| gate.idles(&admission));
        let wanted = idle.is_some() && gate.is_crowded() && streams.served();
        let left = allowed.saturating_sub(since.unwrap_or_default());
        let step = tokio::select! {
            biased;
            () = ready(()), if wanted => Step::MakeRoom,
            accepted = after_others(&info, accept(&mut h2, &digest, &unfinished)) => Step::Accepted(accepted),
            () = begun(&mut drain), if leaving.is_none() => Step::Leave,
            // The last stream has ended in its own task, so the connection is idle now.
            () = streams.idle.notified() => continue,
            // At a shutdown all that idle are woken, and nothing new comes.
            () = room_wanted(idle.as_ref()), if !gate.drains() => Step::MakeRoom,
            () = is_otherwise(&info, blocked, &unfinished, writes) => continue,
            () = alarm.within(left) => match (leaving, streams.idle_for()) {
                (Some(_), Some(_)) if since.is_some() && info.told_so_far().0 - told < SOMETHING => break,
                (None, Some(idle)) if idle >= allowed => Step::Leave,
                _ => continue,
            },
        };
        let accepted = match step {
            Step::Accepted(accepted) => accepted,
            Step::Leave => {
                h2.graceful_shutdown();
                (told, leaving) = (so_far, Some(Instant::now()));
                owes = streams.idle_for().is_none_or(|idle| idle < FAREWELL) || blocked;
                continue;
            }
            Step::MakeRoom => {
                if streams.idle_for().is_some_and(|idle| idle < FAREWELL) && streams.served() {
                    // The client may not have read its last response yet.
                    info.linger();
                }
                return make_room(&mut h2).await;
            }
        };
        match accepted {
            Ok(Some(H2Accept::Session(session))) => {
                if idle.is_some() {
                    drop(idle);
                    if !gate.may_be_busy(&admission) {
                        refuse(&mut h2, session).await;
                        return make_room(&mut h2).await;
                    }
                }
                let stream = streams.begin();
                let info = Arc::new(info.for_stream());
                let (app, shortcut, drain) = (app.clone(), shortcut.clone(), drain.clone());
                let admission = admission.clone();
                // Boxed: it is large, and handed on several times.
                let session = Box::new(session);
                // Boxed at its creation, because spawning moves it several times.
                tokio::spawn(Box::pin(async move {
                    let _held = (stream, admission);
                    let Some(session) = shortcut.serve_stream(session, &info).await else { return };
                    // Boxed, because most streams do not need it.
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

/// What an HTTP/2 connection does next.
enum Step<T> {
    /// A client began a stream, or the connection is over.
    Accepted(T),
    /// Say that no further stream is served, and serve those that are open.
    Leave,
    /// Close at once, because another connection needs the place.
    MakeRoom,
}

/// Drives the connection until a client begins a stream. Notes whether the library has unfinished streams.
async fn accept(
    h2: &mut H2Connection<Stream, Bytes>,
    digest: &Arc<Digest>,
    unfinished: &AtomicBool,
) -> pingora::Result<Option<H2Accept>> {
    poll_fn(|cx| {
        // It only polls the connection, and may be dropped at any time.
        let accepted = pin!(Http2Session::from_h2_conn(h2, digest.clone())).poll(cx);
        unfinished.store(h2.has_streams(), Ordering::Relaxed);
        accepted
    })
    .await
}

/// Closes a connection without open streams. GOAWAY names the last stream that was served, so a client can repeat a
/// request that it sent at this moment (RFC 9113 §6.8).
async fn make_room(h2: &mut H2Connection<Stream, Bytes>) {
    h2.abrupt_shutdown(Reason::NO_ERROR);
    let _ = timeout(LAST_FRAME, poll_fn(|cx| h2.poll_closed(cx))).await;
}

/// Refuses a stream, and those that the library has read behind it, so that the client can repeat their requests (RFC 9113
/// §8.7). Once GOAWAY is due the library drops the frames that wait, so this comes before `make_room`.
async fn refuse(h2: &mut H2Connection<Stream, Bytes>, mut first: Http2Session) {
    first.shutdown_with_reason(Reason::REFUSED_STREAM);
    poll_fn(|cx| {
        // Every turn writes the resets of the turn before.
        for _ in 0..STREAMS {
            let Poll::Ready(Some(Ok((_, mut behind)))) = h2.poll_accept(cx) else { break };
            behind.send_reset(Reason::REFUSED_STREAM);
        }
        Poll::Ready(())
    })
    .await;
}

/// Returns when a connection that idles is asked to make room.
async fn room_wanted(idling: Option<&Idling<'_>>) {
    match idling {
        Some(idling) => idling.room_wanted().await,
        None => pending().await,
    }
}

/// Returns when the socket takes no more, or takes something again, or when the library's last stream has ended. The task
/// that drives the connection polls it.
async fn is_otherwise(info: &ConnInfo, blocked: bool, unfinished: &AtomicBool, writes: bool) {
    poll_fn(|_| {
        let same = info.told_so_far().1 == blocked && unfinished.load(Ordering::Relaxed) == writes;
        if same { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
}

/// Drives a connection after all other ready tasks, so that their frames are sent in one write instead of one write for
/// each wake-up.
async fn after_others<T>(info: &ConnInfo, driven: impl Future<Output = T>) -> T {
    let mut driven = pin!(driven);
    let mut waited = true;
    poll_fn(|cx| {
        if !waited {
            waited = true;
            // A task that wakes itself goes to the end of the queue.
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

/// Serves a stream with the library.
async fn long_stream<A>(app: &Arc<A>, session: Box<Http2Session>, drain: &ShutdownWatch, info: &Arc<ConnInfo>)
where
    A: HttpServerApp + Send + Sync + 'static,
{
    let mut session = session;
    if session.req_header().method == Method::CONNECT {
        // The library would give the same answer, but with its own `Server` header.
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
    use std::{cell::Cell, sync::atomic::AtomicUsize};

    use tokio::sync::Notify;

    use super::*;
    use crate::metrics::Metrics;

    /// How often a connection is driven while four streams wake it in turn.
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
            // The connection's task sleeps by then.
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
        // Before the first of them, and after all of them.
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
