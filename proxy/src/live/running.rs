//! One configuration with what it needs to run.

use std::{net::IpAddr, sync::Arc, time::SystemTime};

use frontdesk_filters::{
    Learned, Snapshot,
    harness::Harness,
    site::{Declaration, Mistake},
};

use crate::{
    audit,
    handoff::Handoff,
    share::Bound,
    store::Store,
    upstream::{NoPlace, Place, Pool},
};

/// What a request runs on, from its first byte to its last.
pub struct Running {
    pub snapshot: Snapshot,
    pub pool: Arc<Pool>,
    /// Kept as long as `[store]` stays the same: what is counted outlives a swap.
    pub store: Arc<Store>,
    /// Kept as long as `[audit]` stays the same; `None`: nothing is written down.
    pub audit: Option<Arc<audit::Log>>,
    /// Kept as long as `[harness]` stays the same; `None`: nobody is asked.
    pub harness: Option<Arc<Harness>>,
    /// Kept as long as `handoff.dir` stays the same: what was seen of it is all there is while somebody writes there.
    pub handoff: Option<Arc<Handoff>>,
    /// What all of it was made from; it is compiled again when more is learned of the world outside.
    pub declaration: Declaration,
    pub since: SystemTime,
}

/// What outlives a configuration, as far as the next one leaves it as it is.
pub(super) struct Homes {
    pub(super) pool: Arc<Pool>,
    pub(super) store: Arc<Store>,
    pub(super) audit: Option<Arc<audit::Log>>,
    pub(super) harness: Option<Arc<Harness>>,
    pub(super) handoff: Option<Arc<Handoff>>,
}

impl Running {
    /// What it runs on, for one that is compiled again.
    pub(super) fn homes(&self) -> Homes {
        let (pool, store, audit) = (self.pool.clone(), self.store.clone(), self.audit.clone());
        Homes { pool, store, audit, harness: self.harness.clone(), handoff: self.handoff.clone() }
    }

    pub(super) fn new(declaration: Declaration, learned: &Learned, homes: Homes) -> Self {
        let snapshot = Snapshot::compile(&declaration, learned);
        let Homes { pool, store, audit, harness, handoff } = homes;
        Self { snapshot, pool, store, audit, harness, handoff, declaration, since: SystemTime::now() }
    }

    /// What the operator should know about it, a line each.
    pub fn warnings(&self) -> Vec<String> {
        let warnings = self.declaration.warnings.iter().map(Mistake::to_string);
        warnings.chain(self.snapshot.problems().iter().cloned()).collect()
    }

    /// A place at the site for one more request of a client's.
    pub fn place(&self, client: Option<IpAddr>) -> Result<Place, NoPlace> {
        let settings = &self.snapshot.settings;
        let bound = client.and_then(|client| Bound::of(client, settings.upstream.max_requests, settings));
        self.pool.place(bound.as_ref())
    }

    /// Enough of its hash to tell it from others.
    pub fn short_hash(&self) -> &str {
        self.snapshot.hash.get(..8).unwrap_or(&self.snapshot.hash)
    }

    /// How long it has been in use, as far as the clock can tell.
    pub fn age(&self) -> std::time::Duration {
        self.since.elapsed().unwrap_or_default()
    }
}
