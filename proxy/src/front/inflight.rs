//! Calls in flight: how many there are, and whether more may begin.
//!
//! It is closed while a process hands its sockets over and what is promised is kept in its memory alone: a call that it
//! still begins could be tried again at a successor, which knows of none.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use frontdesk_filters::{Fault, Refusal};
use tokio::sync::Notify;

/// One for all of a process.
#[derive(Debug, Default)]
pub struct InflightLimit {
    closed: AtomicBool,
    inside: AtomicUsize,
    left: Notify,
}

/// A call that is under way for as long as this lives.
pub struct Inside<'a>(&'a InflightLimit);

impl InflightLimit {
    /// Lets a call in, unless nobody may come in any more.
    pub fn enter(&self) -> Option<Inside<'_>> {
        self.inside.fetch_add(1, Ordering::SeqCst);
        // Counted first: the closing task sees this call, or this call sees that it is closed.
        let inside = Inside(self);
        (!self.closed.load(Ordering::SeqCst)).then_some(inside)
    }

    /// Lets nobody in any more, and returns when everybody has left.
    pub async fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        loop {
            let left = self.left.notified();
            if self.inside.load(Ordering::SeqCst) == 0 {
                return;
            }
            left.await;
        }
    }

    /// Whether nobody is let in.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Lets calls in again.
    pub fn open(&self) {
        self.closed.store(false, Ordering::SeqCst);
    }

    /// The refusal for a call that is not let in.
    pub fn refusal() -> Refusal {
        let detail = "Frontdesk is being replaced by its successor, and takes this call in a moment. Send it again.";
        Refusal { reason: "handing_over", retry_after: Some(1), ..Refusal::from(Fault::Unavailable).saying(detail) }
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        if self.0.inside.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.left.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use super::*;

    #[tokio::test]
    async fn it_waits_for_the_calls_inside() {
        let entry = Arc::new(InflightLimit::default());
        let inside = entry.enter();
        assert!(inside.is_some());
        let closing = tokio::spawn({
            let entry = entry.clone();
            async move { entry.close().await }
        });
        while entry.enter().is_some() {
            tokio::task::yield_now().await;
        }
        assert!(!closing.is_finished());
        drop(inside);
        tokio::time::timeout(Duration::from_secs(5), closing).await.unwrap().unwrap();
        assert!(entry.enter().is_none());
        entry.open();
        assert!(entry.enter().is_some());
    }
}
