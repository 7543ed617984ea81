//! Facts that are learned while a configuration runs: paths that the site serves itself, its pages, and public keys of
//! others. They are compiled into the configuration and outlive a swap while they are true.

use std::sync::Arc;

use bytes::Bytes;
use frontdesk_filters::{
    Learned,
    concierge::Library,
    dialect::{self, Occupied},
    discovery::Contents,
};

use super::{Live, config_thread::drop_unused};
use crate::running::Running;

impl Live {
    /// Whether the site is known to serve this path itself.
    pub fn occupied(&self, path: &str) -> bool {
        self.state.lock().learned.occupied.contains(path)
    }

    /// Records which paths that site serves itself; our documents make way for them, or come back. Blocks while another
    /// reload runs: do not call this on a worker thread.
    pub fn occupy(&self, occupied: Occupied, asked: &Running) {
        let _one = self.reloading.lock();
        // A swap may have changed the site or the probed paths meanwhile.
        let current = self.current();
        let paths = |running: &Running| dialect::probes(&running.snapshot.settings);
        if !Arc::ptr_eq(&current.pool, &asked.pool)
            || paths(&current) != paths(asked)
            || self.state.lock().learned.occupied == occupied
        {
            return;
        }
        tracing::info!(%occupied, "the site now serves other paths itself; Frontdesk moved its documents and links");
        self.learn(|learned| learned.occupied = occupied);
    }

    /// Publishes the pages that were read from a site. Blocks like [`Live::occupy`].
    pub fn publish(&self, library: Library, contents: Option<Arc<Contents>>, read: &Running) {
        let _one = self.reloading.lock();
        // After a change of the site, publish nothing of the old one. An empty result still clears the old pages.
        if !Arc::ptr_eq(&self.current().pool, &read.pool) && contents.is_some() {
            return;
        }
        drop_unused(self.library.swap(Arc::new(library)));
        let known = self.state.lock().learned.contents == contents;
        if !known {
            self.learn(|learned| learned.contents = contents);
        }
    }

    /// Uses keys that were fetched from a URL. Blocks like [`Live::occupy`].
    pub fn know_keys(&self, url: String, keys: Bytes) {
        let _one = self.reloading.lock();
        if self.state.lock().learned.keys.get(&url) == Some(&keys) {
            return;
        }
        tracing::info!(url, "keys were fetched and are in use");
        self.learn(|learned| drop(learned.keys.insert(url, keys)));
        for problem in self.current().snapshot.problems() {
            tracing::warn!("{problem}");
        }
    }

    /// Compiles the running declaration again. The caller holds `reloading`, so that facts cannot change meanwhile.
    fn learn(&self, what: impl FnOnce(&mut Learned)) {
        let current = self.current();
        let mut learned = self.state.lock().learned.clone();
        what(&mut learned);
        let known = current.snapshot.settings.key_urls();
        learned.keys.retain(|url, _| known.contains(&url.as_str()));
        let mut wiser = Running::new(current.declaration.clone(), &learned, current.homes()).after(&current);
        wiser.since = current.since;
        self.state.lock().learned = learned;
        drop(current);
        drop_unused(self.current.swap(Arc::new(wiser)));
    }
}
