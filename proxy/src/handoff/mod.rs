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
use tokio::{sync::Semaphore, time::timeout};

pub use opened::{Links, Opened};
pub use replace::replace;

/// Looks at a time. One looks, and others wait for what it sees.
const LOOKS: usize = 4;
/// How long somebody waits for a turn and a look.
const PATIENCE: Duration = Duration::from_secs(5);

/// A directory, and what was seen of it.
#[derive(Debug)]
pub struct Handoff {
    dir: Arc<Path>,
    shelf: Arc<Shelf>,
    looks: Arc<Semaphore>,
}

impl Handoff {
    /// The one that was declared; the same as before, where the directory is.
    pub fn open(declared: Option<&site::Handoff>, before: Option<&Arc<Self>>) -> Option<Arc<Self>> {
        let declared = declared?;
        let same = before.filter(|before| *before.dir == *declared.dir);
        Some(same.cloned().unwrap_or_else(|| {
            let (dir, shelf) = (declared.dir.as_path().into(), Arc::default());
            Arc::new(Self { dir, shelf, looks: Arc::new(Semaphore::new(LOOKS)) })
        }))
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
        timeout(PATIENCE, look).await.unwrap_or(Err(Busy))
    }
}
