//! What is learned of the world outside while a configuration runs: where the site has something of its own, what its
//! pages say, keys that others publish. It is compiled in, and outlives a swap as long as it is true.

use std::sync::Arc;

use bytes::Bytes;
use frontdesk_filters::{Learned, concierge::Library, content::llms::Contents, dialect::Occupied};

use super::{Live, Running, apart::take_apart};

impl Live {
    /// Whether the site is known to have something of its own at a path.
    pub fn occupied(&self, path: &str) -> bool {
        self.state.lock().learned.occupied.contains(path)
    }

    /// Takes note of where the site that was asked has something of its own; ours moves out of its way, or back.
    /// Blocks while another reload runs: not for a worker thread.
    pub fn occupy(&self, occupied: Occupied, asked: &Running) {
        let _one = self.reloading.lock();
        // Another site, or other questions, may have been swapped in while this one was asked.
        let current = self.current();
        let paths = |running: &Running| Occupied::probes(&running.snapshot.settings.paths);
        if !Arc::ptr_eq(&current.pool, &asked.pool)
            || paths(&current) != paths(asked)
            || self.state.lock().learned.occupied == occupied
        {
            return;
        }
        tracing::info!(%occupied, "where the site has something of its own has changed; ours follows");
        self.learn(|learned| learned.occupied = occupied);
    }

    /// Takes into use what was read of a site. Blocks like [`Live::occupy`].
    pub fn publish(&self, library: Library, contents: Option<Arc<Contents>>, read: &Running) {
        let _one = self.reloading.lock();
        // Of a site that is another by now nothing is published, but that nothing is known.
        if !Arc::ptr_eq(&self.current().pool, &read.pool) && contents.is_some() {
            return;
        }
        take_apart(self.library.swap(Arc::new(library)));
        let known = self.state.lock().learned.contents == contents;
        if !known {
            self.learn(|learned| learned.contents = contents);
        }
    }

    /// Takes keys into use that were fetched from a URL. Blocks like [`Live::occupy`].
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

    /// Compiles the running declaration again. The caller holds `reloading`, so that nobody else learns meanwhile.
    fn learn(&self, what: impl FnOnce(&mut Learned)) {
        let current = self.current();
        let mut learned = self.state.lock().learned.clone();
        what(&mut learned);
        let known = current.snapshot.settings.key_urls();
        learned.keys.retain(|url, _| known.contains(&url.as_str()));
        let mut wiser = Running::new(current.declaration.clone(), &learned, current.homes());
        wiser.since = current.since;
        self.state.lock().learned = learned;
        drop(current);
        take_apart(self.current.swap(Arc::new(wiser)));
    }
}
