//! The directory that is published: looked at on threads that may be blocked, a few at a time.
//!
//! What is looked for, and what is made of it, `frontdesk-filters` knows.

mod opened;
mod replace;

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use frontdesk_filters::{
    handoff::{Busy, Directory, Shelf, Source, View},
    site,
};
use parking_lot::Mutex;
use tokio::{sync::Semaphore, time::timeout};

use crate::admin::metrics::Metrics;

pub use opened::{Links, Opened};
pub use replace::replace;

/// Looks at a time. One looks, and others wait for what it sees.
const LOOKS: usize = 4;
/// How long somebody waits for a turn and a look.
const PATIENCE: Duration = Duration::from_secs(5);

/// Under which an entry of a manifest is counted that was refused.
const REFUSED: &str = "handoff_name";

/// A directory, and what was seen of it.
pub struct Handoff {
    dir: Arc<Path>,
    shelf: Arc<Shelf>,
    looks: Arc<Semaphore>,
    metrics: Arc<Metrics>,
    /// The entries that were refused when it was last looked at; they are logged and counted when others are.
    refused: Mutex<Vec<String>>,
}

impl Handoff {
    /// The one that was declared; the same as before, where the directory is.
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

    /// Says once which entries of the manifest were refused.
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
            // The thread holds the permit: a disk that hangs takes no more threads than there are permits.
            let looked = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                // The operator named it: where it is a link, that is meant, and is how a whole state is put in place at once.
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
