//! Work that takes long, on threads of its own: other clients do not wait for it.

use std::time::Duration;

use async_trait::async_trait;
use frontdesk_filters::desk::{Job, ScanThreads};
use tokio::{sync::Semaphore, time::timeout};

use super::Front;

/// How much is done at a time, a thread each.
static THREADS: Semaphore = Semaphore::const_new(4);
/// How long work waits for its turn.
const PATIENCE: Duration = Duration::from_secs(2);

/// Does it; `None`: there was no room in time, or it panicked, which has been logged.
pub(super) async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let thread = timeout(PATIENCE, THREADS.acquire()).await.ok()?.ok()?;
    let done = tokio::task::spawn_blocking(move || {
        let _thread = thread;
        work()
    });
    done.await.ok()
}

#[async_trait]
impl ScanThreads for Front {
    async fn apart(&self, job: Job) {
        apart(job).await;
    }
}
