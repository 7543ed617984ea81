//! The queue of notifications for one harness. Each harness has its own, so that a slow one delays no other. When the
//! queue is full, the oldest events are dropped and counted.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use serde_json::Value;

use super::kinds::Kind;

/// Maximum events in the queue.
const MOST: usize = 1024;

/// The queued events.
#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<VecDeque<(Kind, Arc<Value>)>>,
    dropped: AtomicU64,
}

impl Queue {
    pub(super) fn put(&self, kind: Kind, event: Arc<Value>) {
        let mut waiting = self.waiting.lock();
        if waiting.len() >= MOST {
            waiting.pop_front();
            self.lost();
        }
        waiting.push_back((kind, event));
    }

    pub(super) fn take(&self) -> Option<(Kind, Arc<Value>)> {
        self.waiting.lock().pop_front()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.lock().len()
    }

    /// Counts an event that could not be sent.
    pub(super) fn lost(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Events dropped since the last call.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.swap(0, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_dropped_and_counted() {
        let queue = Queue::default();
        (0..MOST + 3).for_each(|n| queue.put(Kind::Success, Arc::new(n.into())));
        assert_eq!((&*queue.take().unwrap().1, queue.dropped(), queue.dropped()), (&3.into(), 3, 0));
        assert_eq!(std::iter::from_fn(|| queue.take()).count(), MOST - 1);
    }
}
