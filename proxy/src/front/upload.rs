//! Ends an upload whose client sends its body too slowly (`protection.min_rate`, `protection.transfer_timeout`).
//!
//! A task looks once a second how much has come. It does not count a second in which the client holds its body back until
//! the site wants it, or in which the site takes nothing more of what has come already. The upload is watched to its end,
//! also while the site answers. An agent endpoint reads its body by itself, within a time of its own ([`crate::intake`]).

use std::{
    os::fd::RawFd,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering},
    },
    time::Duration,
};

use frontdesk_http1::framing::{announced, is_held_back};
use http::{HeaderMap, Version, header};
use pingora::proxy::Session;
use tokio::{task::AbortHandle, time::sleep};

use super::{Front, ctx::Ctx, early_answer::Unaccounted};
use crate::{accept::ConnInfo, client_pace::Pace, sys};

/// How often it is looked how much has come.
const TICK: Duration = Duration::from_secs(1);
/// No socket.
const NONE: RawFd = -1;

/// Watches one upload for as long as this lives.
pub struct UploadWatch {
    state: Arc<State>,
    connection: Arc<ConnInfo>,
    task: AbortHandle,
}

/// What the request and the task that watches its upload know of each other.
#[derive(Debug)]
struct State {
    received: AtomicU64,
    /// The client holds its body back until the site wants it.
    held_back: AtomicBool,
    /// The socket to the site, where it carries nothing but this request.
    site: AtomicI32,
    too_slow: AtomicBool,
}

/// What bounds an upload.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// Bytes a second; 0: no bound.
    min_rate: u64,
    /// How long the client may pause.
    pause: Duration,
    /// All the waiting; zero: no bound.
    longest: Duration,
    /// How long the site may take nothing, where nobody can tell that it does.
    patience: Duration,
}

impl State {
    /// Whether the client could send something, and it would go up.
    fn is_waited_for(&self) -> bool {
        let site = self.site.load(Ordering::Relaxed);
        !self.held_back.load(Ordering::Relaxed) && (site == NONE || sys::takes_more(site))
    }

    /// Returns once the client was too slow.
    async fn watch(&self, bounds: Bounds) {
        let mut pace = Pace::new(bounds.min_rate, bounds.pause).patient(bounds.patience);
        let (mut counted, mut waited) = (0, Duration::ZERO);
        loop {
            sleep(TICK).await;
            if !self.is_waited_for() {
                continue;
            }
            let received = self.received.load(Ordering::Relaxed);
            pace.moved(received.saturating_sub(counted));
            counted = received;
            waited += TICK;
            let is_too_long = !bounds.longest.is_zero() && waited >= bounds.longest;
            if pace.is_too_slow_after(TICK) || is_too_long {
                self.too_slow.store(true, Ordering::Relaxed);
                return;
            }
        }
    }
}

impl UploadWatch {
    fn start(state: State, bounds: Bounds, connection: Arc<ConnInfo>, is_stream: bool) -> Self {
        let state = Arc::new(state);
        connection.watch_reading();
        let (watched, told) = (state.clone(), connection.clone());
        let task = tokio::spawn(async move {
            watched.watch(bounds).await;
            if is_stream {
                // The library waits for frames; without its request the stream is reset.
                told.abandon();
            } else {
                told.end_reading();
            }
        });
        Self { state, connection, task: task.abort_handle() }
    }

    /// So many bytes of the body have come.
    pub(super) fn received(&self, bytes: usize) {
        self.state.received.fetch_add(bytes as u64, Ordering::Relaxed);
        self.state.held_back.store(false, Ordering::Relaxed);
    }

    /// The site has said that it wants the body.
    pub(super) fn is_wanted(&self) {
        self.state.held_back.store(false, Ordering::Relaxed);
    }

    /// Whether the upload was ended.
    pub(super) fn is_too_slow(&self) -> bool {
        self.state.too_slow.load(Ordering::Relaxed)
    }

    /// How many bytes of the body have come.
    pub(super) fn bytes(&self) -> usize {
        usize::try_from(self.state.received.load(Ordering::Relaxed)).unwrap_or(usize::MAX)
    }
}

impl Drop for UploadWatch {
    fn drop(&mut self) {
        self.task.abort();
        self.connection.unwatch_reading();
    }
}

impl Front {
    /// Call this when the head of a request is about to go up, in this version.
    pub(super) fn watch_upload(&self, session: &mut Session, ctx: &mut Ctx, version: Version) {
        let site = ctx.upstream_socket.filter(|_| version < Version::HTTP_2);
        if let Some(watch) = &ctx.upload {
            // Once more, to another upstream.
            return watch.state.site.store(site.unwrap_or(NONE), Ordering::Relaxed);
        }
        let is_stream = session.as_http2().is_some();
        let running = ctx.running(&self.live);
        let (protection, upstream) = (&running.snapshot.settings.protection, &running.snapshot.settings.upstream);
        let bounds = Bounds {
            min_rate: protection.min_rate,
            pause: protection.idle_timeout,
            longest: protection.transfer_timeout,
            // The streams of a client share a window: one may wait for the site of another.
            patience: if site.is_some() && !is_stream { Duration::ZERO } else { upstream.read_timeout },
        };
        let headers = &session.req_header().headers;
        // What a client sends once the protocol was switched is no body.
        let has_body = announced(headers).is_some_and(|length| length > 0)
            || headers.contains_key(header::TRANSFER_ENCODING)
            || is_stream && ctx.sends_body;
        // A call that streams both ways may pause for as long as it likes. Over HTTP/1 there are none.
        let streams_both_ways = version == Version::HTTP_2 && streams_both_ways(headers);
        let is_bounded = bounds.min_rate > 0 || !bounds.longest.is_zero();
        let held_back = is_held_back(headers) && !ctx.wants_body && session.body_bytes_read() == 0;
        let (Some(connection), true) = (ctx.connection.clone(), has_body && is_bounded && !streams_both_ways) else {
            return;
        };
        if session.is_body_done() {
            return;
        }
        if is_stream {
            ctx.unaccounted.get_or_insert_with(|| Box::new(Unaccounted::new(self.clone(), session, 0)));
        }
        let state = State {
            received: AtomicU64::new(0),
            held_back: AtomicBool::new(held_back),
            site: AtomicI32::new(site.unwrap_or(NONE)),
            too_slow: AtomicBool::new(false),
        };
        ctx.upload = Some(UploadWatch::start(state, bounds, connection, is_stream));
    }
}

/// Whether it is a call of gRPC, or a stream of Connect (connectrpc.com), which names its calls that are no streams otherwise.
fn streams_both_ways(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
    let is = |known: &[u8]| kind.get(..known.len()).is_some_and(|kind| kind.eq_ignore_ascii_case(known));
    is(b"application/grpc") || is(b"application/connect+")
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        os::{fd::AsRawFd, unix::net::UnixStream},
    };

    use http::HeaderValue;
    use tokio::time::{Instant, timeout};

    use super::*;

    fn state(held_back: bool, site: RawFd) -> State {
        State {
            received: AtomicU64::new(0),
            held_back: AtomicBool::new(held_back),
            site: AtomicI32::new(site),
            too_slow: AtomicBool::new(false),
        }
    }

    const HOUR: Duration = Duration::from_secs(3600);
    const MINUTE: Duration = Duration::from_secs(60);
    const BOUNDS: Bounds = Bounds { min_rate: 500, pause: MINUTE, longest: HOUR, patience: Duration::ZERO };

    /// How many seconds an upload lasts of which so many bytes come each second.
    async fn lasts(bounds: Bounds, bytes: u64) -> u64 {
        let (state, began) = (state(false, NONE), Instant::now());
        let sending = async {
            loop {
                state.received.fetch_add(bytes, Ordering::Relaxed);
                sleep(TICK).await;
            }
        };
        tokio::select! {
            () = state.watch(bounds) => {}
            () = sending => {}
            () = sleep(24 * HOUR) => return u64::MAX,
        }
        began.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn an_upload_lasts_as_long_as_it_is_fast_enough_and_never_for_ever() {
        assert_eq!(lasts(BOUNDS, 0).await, 10);
        assert!((10..=12).contains(&lasts(BOUNDS, 50).await));
        assert_eq!(lasts(BOUNDS, 600).await, 3600);
        let without_end = Bounds { longest: Duration::ZERO, ..BOUNDS };
        assert_eq!(lasts(without_end, 600).await, u64::MAX);
        assert_eq!(lasts(Bounds { min_rate: 0, ..BOUNDS }, 0).await, 3600);
        assert_eq!(lasts(Bounds { patience: Duration::from_secs(30), ..BOUNDS }, 0).await, 40);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_held_back_is_not_waited_for() {
        let state = state(true, NONE);
        assert!(timeout(HOUR, state.watch(BOUNDS)).await.is_err());
        state.held_back.store(false, Ordering::Relaxed);
        let began = Instant::now();
        state.watch(BOUNDS).await;
        assert_eq!(began.elapsed().as_secs(), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn while_the_site_takes_nothing_more_the_client_is_not_waited_for() {
        let (mut ours, mut sites) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let mut written = 0;
        while let Ok(bytes) = ours.write(&[0; 4096]) {
            written += bytes;
        }
        let state = state(false, ours.as_raw_fd());
        assert!(timeout(HOUR, state.watch(BOUNDS)).await.is_err());
        sites.read_exact(&mut vec![0; written]).unwrap();
        assert!(timeout(HOUR, state.watch(BOUNDS)).await.is_ok() && state.too_slow.load(Ordering::Relaxed));
    }

    #[test]
    fn calls_that_stream_both_ways_are_known_by_their_type() {
        for (kind, is) in [
            ("application/grpc", true),
            ("Application/gRPC+proto", true),
            ("application/connect+json", true),
            ("application/json", false),
        ] {
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(kind))]);
            assert_eq!(streams_both_ways(&headers), is, "{kind}");
        }
        assert!(!streams_both_ways(&HeaderMap::new()));
    }
}
