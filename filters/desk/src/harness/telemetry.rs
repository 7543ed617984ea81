//! Callbacks and counters of supervision: for queued notifications, and for harnesses that gave no decision.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use parking_lot::Mutex;
use serde_json::{Value, json};

/// Called when a notification is queued.
type Wake = Box<dyn Fn() + Send + Sync>;
/// Called with the name of a harness that gave no valid decision, and the reason.
type Trouble = Box<dyn Fn(&str, &str) + Send + Sync>;

/// The callbacks and counters.
pub struct Telemetry {
    wake: Mutex<Option<Wake>>,
    trouble: Mutex<Option<Trouble>>,
    since: Instant,
    questions: AtomicU64,
}

impl Default for Telemetry {
    fn default() -> Self {
        let (wake, trouble, questions) = Default::default();
        Self { wake, trouble, since: Instant::now(), questions }
    }
}

impl Telemetry {
    /// Sets the callback for queued notifications.
    pub fn on_put(&self, wake: impl Fn() + Send + Sync + 'static) {
        *self.wake.lock() = Some(Box::new(wake));
    }

    /// Sets the callback for harnesses that gave no valid decision.
    pub fn on_trouble(&self, tell: impl Fn(&str, &str) + Send + Sync + 'static) {
        *self.trouble.lock() = Some(Box::new(tell));
    }

    /// Reports that a harness gave no valid decision, and why.
    pub fn trouble(&self, harness: &str, why: &str) {
        if let Some(tell) = &*self.trouble.lock() {
            tell(harness, why);
        }
    }

    /// Reports a queued notification.
    pub(super) fn put(&self) {
        if let Some(wake) = &*self.wake.lock() {
            wake();
        }
    }

    /// Counts a request for a decision.
    pub(super) fn asked(&self) {
        self.questions.fetch_add(1, Ordering::Relaxed);
    }

    /// The heartbeat's payload. `waiting`: queued notifications.
    pub(super) fn heartbeat(&self, waiting: usize) -> Value {
        json!({
            "uptime_ms": u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX),
            "total_events_processed": self.questions.load(Ordering::Relaxed),
            "current_state": "serving",
            "queue_depth": waiting,
        })
    }
}
