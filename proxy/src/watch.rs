//! Noticing that the configuration or a file it names has changed on disk.
//!
//! Contents are compared, not times or inodes: a Kubernetes ConfigMap changes by a swapped symlink, editors by rename,
//! and network and overlay file systems send no events at all.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;

use crate::{live::Live, source};

/// Remembers what was seen last.
pub struct Watch {
    live: Arc<Live>,
    seen: Mutex<Seen>,
}

/// What the last looks saw.
#[derive(Default)]
struct Seen {
    last: Option<Vec<u8>>,
    /// What was last acted on.
    settled: Option<Vec<u8>>,
}

impl Watch {
    /// Nothing seen yet: the first look compares with what is running.
    pub fn new(live: Arc<Live>) -> Arc<Self> {
        Arc::new(Self { live, seen: Mutex::default() })
    }

    /// Looks once, and reloads if there is something new. Blocks on files.
    pub fn look(&self) {
        let Some(file) = self.live.file() else { return };
        let print = fingerprint(file, &self.live.current().declaration.references);
        let changed = {
            let mut seen = self.seen.lock();
            let still = seen.last.replace(print.clone()) == Some(print.clone());
            // Seen twice in a row: nobody is in the middle of writing it. Half a file may be a valid one.
            if !still {
                return;
            }
            seen.settled.replace(print.clone()) != Some(print)
        };
        // A file that was missing may have come: nothing that is watched tells of that.
        if (changed || self.live.failure().is_some()) && self.live.has_news() {
            let _ = self.live.reload();
        }
    }
}

/// A digest of the bytes of all files, and of which could not be read.
fn fingerprint(file: &Path, references: &[PathBuf]) -> Vec<u8> {
    let mut digest = ring::digest::Context::new(&ring::digest::SHA256);
    let read = std::iter::once(source::bounded(file)).chain(references.iter().map(|path| source::regular(path)));
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
