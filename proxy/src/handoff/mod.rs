//! The published handoff directory: read on blocking threads, a few at a time.
//!
//! `frontdesk-filters` knows which files to read and what to publish.

mod opened;
mod replace;

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use frontdesk_filters::{
    handoff::{Busy, Directory, SnapshotCache, Source, View},
    site,
};
use parking_lot::Mutex;
use tokio::{sync::Semaphore, time::timeout};

use crate::metrics::Metrics;

pub use opened::{Links, Opened};
pub use replace::replace;

/// The most reads at a time. Concurrent requests share one read.
const LOOKS: usize = 4;
/// How long a request waits for its turn and a read.
const PATIENCE: Duration = Duration::from_secs(5);

/// The label under which refused manifest entries are counted.
const REFUSED: &str = "handoff_name";

/// What the handler of the directory reads.
pub type Notes = Arc<dyn Source>;

/// A directory, and its last state.
pub struct Handoff {
    dir: Arc<Path>,
    shelf: Arc<SnapshotCache>,
    looks: Arc<Semaphore>,
    metrics: Arc<Metrics>,
    /// The entries refused by the last read. They are logged and counted again when they change.
    refused: Mutex<Vec<String>>,
}

impl Handoff {
    /// The declared directory. Takes over the previous state if the path is the same.
    pub fn open(
        declared: Option<&site::Handoff>,
        before: Option<&Arc<Self>>,
        metrics: &Arc<Metrics>,
    ) -> Option<Arc<Self>> {
        let declared = declared?;
        let same = before.filter(|before| *before.dir == *declared.dir);
        Some(same.cloned().unwrap_or_else(|| {
            let (dir, shelf) = (declared.dir.as_path().into(), Arc::default());
            let (looks, metrics) = (Arc::new(Semaphore::new(LOOKS)), metrics.clone());
            Arc::new(Self { dir, shelf, looks, metrics, refused: Mutex::default() })
        }))
    }

    /// The same for its handler.
    pub fn notes(self: Arc<Self>) -> Notes {
        self
    }

    /// Logs once which manifest entries were refused.
    fn tell(&self, refused: &[String]) {
        let mut told = self.refused.lock();
        if *told == refused {
            return;
        }
        let new: Vec<&String> = refused.iter().filter(|name| !told.contains(name)).collect();
        if let Some(first) = new.first() {
            let (dir, name, count) = (self.dir.display(), first.escape_debug(), new.len());
            let advice = "remove it from MANIFEST.json; `frontdesk handoff lint` lists all of them";
            tracing::warn!(%dir, %name, count, advice, "MANIFEST.json: ignoring an entry that is no plain file name");
        }
        for _ in &new {
            self.metrics.rejected(REFUSED);
        }
        *told = refused.to_vec();
    }
}

#[async_trait]
impl Source for Handoff {
    async fn view(&self) -> Result<View, Busy> {
        let look = async {
            let permit = self.looks.clone().acquire_owned().await.map_err(|_| Busy)?;
            let (dir, shelf) = (self.dir.clone(), self.shelf.clone());
            // The thread holds the permit, so that a hanging disk blocks no more threads than there are permits.
            let looked = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                // The operator's path may be a symlink: swapping it publishes a whole new state at once.
                let opened = Opened::open(&dir, Links::Followed);
                shelf.look(
                    opened.as_ref().map(|opened| opened as &dyn Directory).map_err(Clone::clone),
                    SystemTime::now(),
                )
            });
            looked.await.map_err(|_| Busy)
        };
        let view = timeout(PATIENCE, look).await.unwrap_or(Err(Busy))?;
        self.tell(view.refused());
        Ok(view)
    }
}
