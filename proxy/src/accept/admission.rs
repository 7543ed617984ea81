//! That a connection was let in: it counts among all connections and among those of its client, and it may only wait.

use std::{
    future::pending,
    sync::atomic::{AtomicUsize, Ordering},
};

use tokio::sync::{Notify, OwnedSemaphorePermit};

use crate::client_share::{Idle, Share};

/// A connection counts for as long as this lives: among all of them, and among those of its client.
pub struct Admission {
    _permit: OwnedSemaphorePermit,
    share: Option<Share>,
}

impl Admission {
    pub(super) fn new(permit: OwnedSemaphorePermit, share: Option<Share>) -> Self {
        Self { _permit: permit, share }
    }

    /// Whether it has to end in the place of one that only waited: others of its client were let in for that.
    pub(super) fn has_to_end(&self) -> bool {
        self.share.as_ref().is_some_and(Share::has_to_end)
    }
}

/// A connection only waits for as long as this lives.
pub(super) struct Idling<'a> {
    /// All that only wait.
    all: &'a AtomicUsize,
    /// Woken for one of them to make room.
    room: &'a Notify,
    /// Among those of its client.
    share: Option<Idle<'a>>,
}

impl<'a> Idling<'a> {
    pub(super) fn begin(all: &'a AtomicUsize, room: &'a Notify, admission: &'a Admission) -> Self {
        all.fetch_add(1, Ordering::SeqCst);
        Self { all, room, share: admission.share.as_ref().map(Share::idles) }
    }

    /// Returns when the connection is asked to make room for another one.
    pub(super) async fn room_wanted(&self) {
        let displaced = async {
            match &self.share {
                Some(share) => share.displaced().await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = self.room.notified() => {}
            () = displaced => {}
        }
    }
}

impl Drop for Idling<'_> {
    fn drop(&mut self) {
        self.all.fetch_sub(1, Ordering::SeqCst);
    }
}
