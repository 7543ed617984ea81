//! What the site has where ours would be, as replicas tell each other: one asks the site, the others find it in the store.
//!
//! Whoever takes the lease asks. What was found is kept for as long as one would not ask again; then somebody does. Where
//! the store is this process's own, or away, each asks for itself.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use bytes::Bytes;
use frontdesk_filters::{
    dialect::{Occupied, Probe},
    site::StoreHome,
    state::{Change, Committed, Expect, NotKept, Put},
    text::hex,
};
use ring::digest;

use crate::{live::Running, store::Store};

/// How long nobody else asks when whoever does ends without a word.
const LEASE: Duration = Duration::from_secs(10);
/// How often it is looked for what another has found.
pub(super) const LOOKED: Duration = Duration::from_secs(30);

/// Where the findings about one site are.
pub(super) struct Found {
    store: Arc<Store>,
    /// Keys begin with it.
    name: String,
    probes: Vec<Probe>,
}

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Another has asked.
    Known(Occupied),
    /// Another asks at the moment.
    Anothers,
    /// Ours is to ask, and then to say what was found; the lease is of this version.
    Ours(u64),
    /// Nobody can tell who asks.
    Alone,
}

impl Found {
    /// `None` where the store is this process's own.
    pub(super) fn of(running: &Running) -> Option<Self> {
        if running.store.settings().home == StoreHome::Memory {
            return None;
        }
        let settings = &running.snapshot.settings;
        let probes = Occupied::probes(&settings.paths);
        let urls: BTreeSet<&str> = running.pool.backends().iter().map(|backend| backend.label.as_str()).collect();
        let paths: Vec<&str> = probes.iter().map(|probe| probe.path.as_str()).collect();
        let site = format!("{:?}", (urls, &settings.site.origin, settings.upstream.preserve_host, paths));
        let digest = digest::digest(&digest::SHA256, site.as_bytes());
        Some(Self { store: running.store.clone(), name: format!("paths:{}", hex(&digest.as_ref()[..8])), probes })
    }

    /// What is known, or who is to ask. `held`: the lease of the last time, if it ended in nothing.
    pub(super) async fn turn(&self, held: Option<u64>) -> Turn {
        match self.known().await {
            Ok(Some(known)) => return Turn::Known(known),
            Ok(None) => {}
            Err(_) => return Turn::Alone,
        }
        let expect = held.map_or(Expect::Absent, Expect::Version);
        match self.commit("lease", expect, Put::Value(Bytes::from_static(b"asks"), LEASE)).await {
            Ok(Committed::Done(version)) => Turn::Ours(version),
            // Also where the lease of the last time is over: the next time it is anybody's.
            Ok(Committed::Conflict(..)) => Turn::Anothers,
            Err(_) => Turn::Alone,
        }
    }

    /// Tells the others, for so long, and lets go of the lease. Without the store each asks for itself.
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
        // The site did not answer: who has asked asks again.
        let Turn::Ours(again) = one.turn(Some(lease)).await else { panic!("its own lease") };
        assert_eq!(other.turn(Some(lease)).await, Turn::Anothers);
        let mut found = Occupied::default();
        found.insert("/b".into());
        one.tell(&found, again, Duration::from_millis(800)).await;
        assert_eq!(other.turn(None).await, Turn::Known(found.clone()));
        assert_eq!(one.turn(None).await, Turn::Known(found));
        // What was found does not hold for ever.
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(matches!(other.turn(None).await, Turn::Ours(_)));
        let _ = std::fs::remove_dir_all(path);
    }
}
