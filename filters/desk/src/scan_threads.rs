//! Scans large answers on threads of their own, so that they do not block the threads that serve requests.
//!
//! The host provides a few threads that may block. If none is free in time, the answer is withheld: nothing leaves
//! unscanned.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;

use super::Desk;
use frontdesk_firewall::Firewall;

/// Texts of more bytes than this are scanned on the blocking threads.
const LARGE: usize = 64 * 1024;

/// A job for a thread that may block.
pub type Job = Box<dyn FnOnce() + Send>;

/// Runs long jobs outside the threads that serve requests.
#[async_trait]
pub trait ScanThreads: Send + Sync {
    /// Runs the job and returns when it is done. Returns without running it where no thread is free in time.
    async fn apart(&self, job: Job);
}

impl Desk<'_> {
    /// Scans something of this size. `None`: no thread was free in time.
    pub async fn looked_through<T: Send + 'static>(
        &self,
        size: usize,
        look: impl FnOnce(&Firewall) -> T + Send + 'static,
    ) -> Option<T> {
        if size <= LARGE {
            return Some(look(&self.compiled.firewall));
        }
        let (firewall, said) = (self.compiled.firewall.clone(), Arc::new(Mutex::new(None)));
        let says = said.clone();
        self.apart.apart(Box::new(move || *says.lock() = Some(look(&firewall)))).await;
        said.lock().take()
    }
}
