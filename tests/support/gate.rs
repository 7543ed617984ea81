//! A gate at which steps of an origin wait until the test opens it.

use std::sync::Arc;
use tokio::sync::watch;

#[derive(Clone)]
pub struct Gate(Arc<watch::Sender<bool>>);

impl Gate {
    pub fn closed() -> Gate {
        Gate(Arc::new(watch::channel(false).0))
    }

    /// Opens the gate for good.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    /// Closes the gate.
    pub fn close(&self) {
        self.0.send_replace(false);
    }

    pub async fn wait(&self) {
        let mut seen = self.0.subscribe();
        // The sender lives in self, so this returns only when the gate is open.
        let _ = seen.wait_for(|open| *open).await;
    }
}
