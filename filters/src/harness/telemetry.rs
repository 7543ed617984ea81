//! What harnesses are told without being asked: from a queue that never delays a request. What does not fit is dropped,
//! the oldest first, and counted.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::kinds::Kind;

/// Events that wait.
const MOST: usize = 1024;

/// Told that something waits.
type Wake = Box<dyn Fn() + Send + Sync>;
/// Told which harness gave no decision that can be followed, and why.
type Trouble = Box<dyn Fn(&str, &str) + Send + Sync>;

/// Events that wait to be sent.
pub struct Telemetry {
    waiting: Mutex<VecDeque<(Kind, Value)>>,
    wake: Mutex<Option<Wake>>,
    trouble: Mutex<Option<Trouble>>,
    since: Instant,
    questions: AtomicU64,
    dropped: AtomicU64,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
            wake: Mutex::default(),
            trouble: Mutex::default(),
            since: Instant::now(),
            questions: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        }
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

    pub(super) fn put(&self, kind: Kind, event: Value) {
        {
            let mut waiting = self.waiting.lock();
            if waiting.len() >= MOST {
                waiting.pop_front();
                self.dropped.fetch_add(1, Ordering::Relaxed);
            }
            waiting.push_back((kind, event));
        }
        if let Some(wake) = &*self.wake.lock() {
            wake();
        }
    }

    pub(super) fn take(&self) -> Option<(Kind, Value)> {
        self.waiting.lock().pop_front()
    }

    /// A question was asked.
    pub(super) fn asked(&self) {
        self.questions.fetch_add(1, Ordering::Relaxed);
    }

    /// How many events did not fit since the last time this was asked.
    pub fn dropped(&self) -> u64 {
        self.dropped.swap(0, Ordering::Relaxed)
    }

    pub(super) fn heartbeat(&self) -> Value {
        json!({
            "uptime_ms": u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX),
            "total_events_processed": self.questions.load(Ordering::Relaxed),
            "current_state": "serving",
            "queue_depth": self.waiting.lock().len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_dropped_and_counted() {
        let telemetry = Telemetry::default();
        (0..MOST + 3).for_each(|n| telemetry.put(Kind::Success, n.into()));
        assert_eq!((telemetry.take().unwrap().1, telemetry.dropped(), telemetry.dropped()), (3.into(), 3, 0));
        assert_eq!(std::iter::from_fn(|| telemetry.take()).count(), MOST - 1);
    }
}
