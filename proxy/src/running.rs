//! One configuration with everything that requests need to run under it.

use std::{net::IpAddr, sync::Arc, time::SystemTime};

use frontdesk_audit as audit;
use frontdesk_filters::{
    Learned, Snapshot,
    harness::Harness,
    site::{Declaration, Mistake},
};
use frontdesk_store::Store;

use crate::{
    client_share::Bound,
    handoff::{Handoff, Notes},
    upstream::{NoPlace, Place, Pool},
};

/// The state that one request uses from beginning to end.
pub struct Running {
    pub snapshot: Snapshot,
    pub pool: Arc<Pool>,
    /// Kept while `[store]` stays the same, so that counts outlive a swap.
    pub store: Arc<Store>,
    /// Kept while `[audit]` stays the same; `None` without an audit log.
    pub audit: Option<Arc<audit::Log>>,
    /// Kept while `[harness]` stays the same; `None` without a harness.
    pub harness: Option<Arc<Harness>>,
    /// Kept while `handoff.dir` stays the same, because it holds the last complete state while an agent writes there.
    pub handoff: Option<Arc<Handoff>>,
    /// The same for its handler.
    pub notes: Option<Notes>,
    /// The declaration that everything was compiled from. New facts compile it again.
    pub declaration: Declaration,
    pub since: SystemTime,
}

/// The parts that outlive a configuration if the next one does not change them.
pub(crate) struct Homes {
    pub(crate) pool: Arc<Pool>,
    pub(crate) store: Arc<Store>,
    pub(crate) audit: Option<Arc<audit::Log>>,
    pub(crate) harness: Option<Arc<Harness>>,
    pub(crate) handoff: Option<Arc<Handoff>>,
}

impl Running {
    /// These parts, to compile the declaration again.
    pub(crate) fn homes(&self) -> Homes {
        let (pool, store, audit) = (self.pool.clone(), self.store.clone(), self.audit.clone());
        Homes { pool, store, audit, harness: self.harness.clone(), handoff: self.handoff.clone() }
    }

    pub(crate) fn new(declaration: Declaration, learned: &Learned, homes: Homes) -> Self {
        let snapshot = Snapshot::compile(&declaration, learned);
        let Homes { pool, store, audit, harness, handoff } = homes;
        let notes = handoff.clone().map(Handoff::notes);
        Self { snapshot, pool, store, audit, harness, handoff, notes, declaration, since: SystemTime::now() }
    }

    /// The same, as the successor of another configuration.
    pub(crate) fn after(self, before: &Self) -> Self {
        Self { snapshot: self.snapshot.after(&before.snapshot), ..self }
    }

    /// Warnings for the operator, one line each.
    pub fn warnings(&self) -> Vec<String> {
        let warnings = self.declaration.warnings.iter().map(Mistake::to_string);
        warnings.chain(self.snapshot.problems().iter().cloned()).collect()
    }

    /// A permit for one more upstream request of a client.
    pub fn place(&self, client: Option<IpAddr>) -> Result<Place, NoPlace> {
        let settings = &self.snapshot.settings;
        let bound = client.and_then(|client| Bound::of(client, settings.upstream.max_requests, settings));
        self.pool.place(bound.as_ref())
    }

    /// A prefix of the hash, long enough to tell configurations apart.
    pub fn short_hash(&self) -> &str {
        self.snapshot.hash.get(..8).unwrap_or(&self.snapshot.hash)
    }

    /// How long this configuration has been in use.
    pub fn age(&self) -> std::time::Duration {
        self.since.elapsed().unwrap_or_default()
    }
}
