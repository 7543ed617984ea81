//! Who hears of it when there is something to tell the harnesses, or when one gave no decision; and what is counted.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use parking_lot::Mutex;
use serde_json::{Value, json};

/// Told that something waits.
type Wake = Box<dyn Fn() + Send + Sync>;
/// Told which harness gave no decision that can be followed, and why.
type Trouble = Box<dyn Fn(&str, &str) + Send + Sync>;

/// Who hears of what, and what is counted.
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
    /// Whom to tell when something waits.
    pub fn on_put(&self, wake: impl Fn() + Send + Sync + 'static) {
        *self.wake.lock() = Some(Box::new(wake));
    }

    /// Whom to tell when a harness gave no decision that can be followed.
    pub fn on_trouble(&self, tell: impl Fn(&str, &str) + Send + Sync + 'static) {
        *self.trouble.lock() = Some(Box::new(tell));
    }

    pub(super) fn trouble(&self, harness: &str, why: &str) {
        if let Some(tell) = &*self.trouble.lock() {
            tell(harness, why);
        }
    }

    /// Something waits.
    pub(super) fn put(&self) {
        if let Some(wake) = &*self.wake.lock() {
            wake();
        }
    }

    /// A question was asked.
    pub(super) fn asked(&self) {
        self.questions.fetch_add(1, Ordering::Relaxed);
    }

    /// `waiting`: events that have yet to be told.
    pub(super) fn heartbeat(&self, waiting: usize) -> Value {
        json!({
            "uptime_ms": u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX),
            "total_events_processed": self.questions.load(Ordering::Relaxed),
            "current_state": "serving",
            "queue_depth": waiting,
        })
    }
}
