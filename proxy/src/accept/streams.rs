//! Counts the open streams of an HTTP/2 connection, and its idle time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

/// The streams of one HTTP/2 connection.
pub(super) struct Streams {
    open: AtomicUsize,
    started: Instant,
    /// When the last stream ended, in milliseconds since `started`.
    last_end: AtomicU64,
    /// There was at least one stream.
    served: AtomicBool,
    /// Notified when the last open stream ends.
    pub(super) idle: Notify,
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
    pub(super) fn begin(self: &Arc<Self>) -> OpenStream {
        self.open.fetch_add(1, Ordering::Relaxed);
        self.served.store(true, Ordering::Relaxed);
        OpenStream(self.clone())
    }

    /// Whether there was a stream.
    pub(super) fn served(&self) -> bool {
        self.served.load(Ordering::Relaxed)
    }

    /// The idle time; `None` while a stream is open.
    pub(super) fn idle_for(&self) -> Option<Duration> {
        (self.open.load(Ordering::Relaxed) == 0).then(|| {
            let last = Duration::from_millis(self.last_end.load(Ordering::Relaxed));
            self.started.elapsed().saturating_sub(last)
        })
    }
}

/// Counts one stream while it exists.
pub(super) struct OpenStream(Arc<Streams>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        let now = u64::try_from(self.0.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.last_end.store(now, Ordering::Relaxed);
        if self.0.open.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.0.idle.notify_one();
        }
    }
}
