//! Shares between replicas which paths the site serves itself: one replica asks the site, the others read the store.
//!
//! The replica that holds a lease asks. The finding stays in the store until it is time to ask again. With a store of
//! this process alone, or an unreachable one, each replica asks for itself.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use bytes::Bytes;
use frontdesk_filters::{
    dialect::{self, Occupied, Probe},
    site::StoreHome,
    state::{Change, Committed, Expect, NotKept, Put},
    text::hex,
};
use ring::digest;

use frontdesk_store::Store;

use crate::running::Running;

/// How long the lease lasts if its holder ends without releasing it.
const LEASE: Duration = Duration::from_secs(10);
/// How often a replica looks for another one's finding.
pub(super) const LOOKED: Duration = Duration::from_secs(30);

/// The place in the store for the findings about one site.
pub(super) struct Found {
    store: Arc<Store>,
    /// The common prefix of its keys.
    name: String,
    probes: Vec<Probe>,
}

/// What this replica has to do next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Another replica has asked; this is the finding.
    Known(Occupied),
    /// Another replica holds the lease and asks now.
    Anothers,
    /// This replica holds the lease: it asks and stores the finding. The number is the lease's version.
    Ours(u64),
    /// Without the store, this replica asks for itself.
    Alone,
}

impl Found {
    /// `None` if the store belongs to this process alone.
    pub(super) fn of(running: &Running) -> Option<Self> {
        if running.store.settings().home == StoreHome::Memory {
            return None;
        }
        let settings = &running.snapshot.settings;
        let probes = dialect::probes(settings);
        let urls: BTreeSet<&str> = running.pool.backends().iter().map(|backend| backend.label.as_str()).collect();
        let paths: Vec<&str> = probes.iter().map(|probe| probe.path.as_str()).collect();
        let site = format!("{:?}", (urls, &settings.site.origin, settings.upstream.preserve_host, paths));
        let digest = digest::digest(&digest::SHA256, site.as_bytes());
        Some(Self { store: running.store.clone(), name: format!("paths:{}", hex(&digest.as_ref()[..8])), probes })
    }

    /// Reads the finding, or tries to get the lease. `held`: this replica's lease of the last round, if that found
    /// nothing.
    pub(super) async fn turn(&self, held: Option<u64>) -> Turn {
        match self.known().await {
            Ok(Some(known)) => return Turn::Known(known),
            Ok(None) => {}
            Err(_) => return Turn::Alone,
        }
        let expect = held.map_or(Expect::Absent, Expect::Version);
        match self.commit("lease", expect, Put::Value(Bytes::from_static(b"asks"), LEASE)).await {
            Ok(Committed::Done(version)) => Turn::Ours(version),
            // Also if our lease of the last round has expired: next time any replica may get it.
            Ok(Committed::Conflict(..)) => Turn::Anothers,
            Err(_) => Turn::Alone,
        }
    }

    /// Stores the finding for `keeps` and releases the lease. If the store fails, each replica asks for itself.
    pub(super) async fn tell(&self, found: &Occupied, lease: u64, keeps: Duration) {
        let paths: Vec<&str> =
            self.probes.iter().map(|probe| probe.path.as_str()).filter(|p| found.contains(p)).collect();
        let value = serde_json::to_vec(&paths).unwrap_or_default();
        let _ = self.commit("found", Expect::Anything, Put::Value(value.into(), keeps)).await;
        let _ = self.commit("lease", Expect::Version(lease), Put::Nothing).await;
    }

    async fn known(&self) -> Result<Option<Occupied>, NotKept> {
        let Some(record) = self.store.records.get(&self.key("found")).await? else { return Ok(None) };
        let paths: Option<Vec<String>> = serde_json::from_slice(&record.value).ok();
        Ok(paths.map(|paths| {
            let mut known = Occupied::default();
            let is_asked = |path: &String| self.probes.iter().any(|probe| probe.path == *path);
            paths.into_iter().filter(is_asked).for_each(|path| known.insert(path));
            known
        }))
    }

    async fn commit(&self, what: &str, expect: Expect, put: Put) -> Result<Committed, NotKept> {
        self.store.records.commit(&[Change { key: self.key(what), expect, put }]).await
    }

    fn key(&self, what: &str) -> String {
        format!("{}:{what}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use frontdesk_filters::site::{self, OnError, StoreTls};

    use super::*;

    fn store() -> (Arc<Store>, std::path::PathBuf) {
        let path = std::env::temp_dir().join(format!("frontdesk-found-{}", std::process::id()));
        let settings = site::Store {
            home: StoreHome::File(path.clone()),
            tls: StoreTls::default(),
            on_error: OnError::Deny,
            wait_replicas: None,
            patience: Duration::from_secs(1),
            prefix: String::new(),
            max_keys: 1_000,
            max_records: 1 << 20,
        };
        (Store::open(&settings).unwrap(), path)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn one_asks_and_the_others_are_told() {
        let (store, path) = store();
        let probe = |path: &str| Probe { path: path.into(), called: false, is_own: |_, _| false };
        let replica = || Found { store: store.clone(), name: "paths:x".into(), probes: vec![probe("/a"), probe("/b")] };
        let (one, other) = (replica(), replica());
        let Turn::Ours(lease) = one.turn(None).await else { panic!("nobody asks yet") };
        assert_eq!(other.turn(None).await, Turn::Anothers);
        // The site did not answer, so the lease's holder asks again.
        let Turn::Ours(again) = one.turn(Some(lease)).await else { panic!("its own lease") };
        assert_eq!(other.turn(Some(lease)).await, Turn::Anothers);
        let mut found = Occupied::default();
        found.insert("/b".into());
        one.tell(&found, again, Duration::from_millis(800)).await;
        assert_eq!(other.turn(None).await, Turn::Known(found.clone()));
        assert_eq!(one.turn(None).await, Turn::Known(found));
        // The finding expires.
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(matches!(other.turn(None).await, Turn::Ours(_)));
        let _ = std::fs::remove_dir_all(path);
    }
}
