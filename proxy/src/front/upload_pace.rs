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

use tokio::{task::AbortHandle, time::sleep};

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
pub(super) struct Bounds {
    /// Bytes a second; 0: no bound.
    pub(super) min_rate: u64,
    /// How long the client may pause.
    pub(super) pause: Duration,
    /// All the waiting; zero: no bound.
    pub(super) longest: Duration,
    /// How long the site may take nothing, where nobody can tell that it does.
    pub(super) patience: Duration,
}

impl State {
    fn new(held_back: bool, site: Option<RawFd>) -> Self {
        Self {
            received: AtomicU64::new(0),
            held_back: AtomicBool::new(held_back),
            site: AtomicI32::new(site.unwrap_or(NONE)),
            too_slow: AtomicBool::new(false),
        }
    }

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
    /// `held_back`: the client holds its body back until the site wants it. `site`: the socket to the site, where it
    /// carries nothing but this request. `is_stream`: the client speaks HTTP/2, and its stream is reset.
    pub(super) fn start(
        bounds: Bounds,
        held_back: bool,
        site: Option<RawFd>,
        connection: Arc<ConnInfo>,
        is_stream: bool,
    ) -> Self {
        let state = Arc::new(State::new(held_back, site));
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

    /// The request goes to another upstream, over this socket.
    pub(super) fn goes_to(&self, site: Option<RawFd>) {
        self.state.site.store(site.unwrap_or(NONE), Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        os::{fd::AsRawFd, unix::net::UnixStream},
    };

    use tokio::time::{Instant, timeout};

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const MINUTE: Duration = Duration::from_secs(60);
    const BOUNDS: Bounds = Bounds { min_rate: 500, pause: MINUTE, longest: HOUR, patience: Duration::ZERO };

    /// How many seconds an upload lasts of which so many bytes come each second.
    async fn lasts(bounds: Bounds, bytes: u64) -> u64 {
        let (state, began) = (State::new(false, None), Instant::now());
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
        let state = State::new(true, None);
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
        let state = State::new(false, Some(ours.as_raw_fd()));
        assert!(timeout(HOUR, state.watch(BOUNDS)).await.is_err());
        sites.read_exact(&mut vec![0; written]).unwrap();
        assert!(timeout(HOUR, state.watch(BOUNDS)).await.is_ok() && state.too_slow.load(Ordering::Relaxed));
    }
}
