//! Work on large answers, done apart from the threads that serve everybody.
//!
//! Whoever runs the desk has threads for it that may be busy for a while, a few at a time. Where none is free in time the
//! answer is not passed on: what was not looked through does not leave.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;

use super::Desk;
use frontdesk_firewall::Firewall;

/// A text of more bytes is looked through apart.
const LARGE: usize = 64 * 1024;

/// Work for a thread that may be blocked.
pub type Job = Box<dyn FnOnce() + Send>;

/// Where work that takes long is done.
#[async_trait]
pub trait Apart: Send + Sync {
    /// Does it, and returns when it is done; or without it, where there is no room for it in time.
    async fn apart(&self, job: Job);
}

impl Desk<'_> {
    /// What the firewall says of something of this size; `None`: there was no room to look it through.
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
