//! A gate: steps of an origin wait at it until the test opens it.

use std::sync::Arc;
use tokio::sync::watch;

#[derive(Clone)]
pub struct Gate(Arc<watch::Sender<bool>>);

impl Gate {
    pub fn closed() -> Gate {
        Gate(Arc::new(watch::channel(false).0))
    }

    /// Lets everyone through, now and later.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    /// Nobody goes on from now on.
    pub fn close(&self) {
        self.0.send_replace(false);
    }

    pub async fn wait(&self) {
        let mut seen = self.0.subscribe();
        // The sender lives in self, so this ends only when the gate is open.
        let _ = seen.wait_for(|open| *open).await;
    }
}
