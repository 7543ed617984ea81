//! Detects that the configuration or a file it names has changed on the disk.
//!
//! It compares contents, not times or inodes: a Kubernetes ConfigMap changes by a swapped symlink, editors rename
//! files, and network and overlay file systems send no events at all.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use frontdesk_files::{bounded, regular};
use parking_lot::Mutex;

use crate::live::Live;

/// Remembers the last state.
pub struct Watch {
    live: Arc<Live>,
    seen: Mutex<Seen>,
}

/// The results of the last looks.
#[derive(Default)]
struct Seen {
    last: Option<Vec<u8>>,
    /// The state that was last acted on.
    settled: Option<Vec<u8>>,
}

impl Watch {
    /// A watch without a state: the first look compares with the running configuration.
    pub fn new(live: Arc<Live>) -> Arc<Self> {
        Arc::new(Self { live, seen: Mutex::default() })
    }

    /// Looks once, and reloads after a change. Blocks on files.
    pub fn look(&self) {
        let Some(file) = self.live.file() else { return };
        let print = fingerprint(file, &self.live.current().declaration.references);
        let changed = {
            let mut seen = self.seen.lock();
            let still = seen.last.replace(print.clone()) == Some(print.clone());
            // Wait until two looks agree, because a half-written file may be valid.
            if !still {
                return;
            }
            seen.settled.replace(print.clone()) != Some(print)
        };
        // Also retry after a failure: a missing file may have appeared, which no watched content shows.
        if (changed || self.live.failure().is_some()) && self.live.has_news() {
            let _ = self.live.reload();
        }
    }
}

/// A digest of the bytes of all files, and of the list of unreadable ones.
fn fingerprint(file: &Path, references: &[PathBuf]) -> Vec<u8> {
    let mut digest = ring::digest::Context::new(&ring::digest::SHA256);
    let read = std::iter::once(bounded(file)).chain(references.iter().map(|path| regular(path)));
    for read in read {
        match read {
            Ok(bytes) => {
                digest.update(&(bytes.len() as u64).to_be_bytes());
                digest.update(&bytes);
            }
            Err(_) => digest.update(&u64::MAX.to_be_bytes()),
        }
    }
    digest.finish().as_ref().to_vec()
}
