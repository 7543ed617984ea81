//! One configuration with what it needs to run.

use std::{sync::Arc, time::SystemTime};

use frontdesk_filters::site::{Declaration, Learned, Mistake, Snapshot};

use crate::{audit, store::Store, upstream::Pool};

/// What a request runs on, from its first byte to its last.
pub struct Running {
    pub snapshot: Snapshot,
    pub pool: Arc<Pool>,
    /// Kept as long as `[store]` stays the same: what is counted outlives a swap.
    pub store: Arc<Store>,
    /// Kept as long as `[audit]` stays the same; `None`: nothing is written down.
    pub audit: Option<Arc<audit::Log>>,
    /// What all of it was made from; it is compiled again when more is learned of the world outside.
    pub declaration: Declaration,
    pub since: SystemTime,
}

/// What outlives a configuration, as far as the next one leaves it as it is.
pub(super) struct Homes {
    pub(super) pool: Arc<Pool>,
    pub(super) store: Arc<Store>,
    pub(super) audit: Option<Arc<audit::Log>>,
}

impl Running {
    /// What it runs on, for one that is compiled again.
    pub(super) fn homes(&self) -> Homes {
        Homes { pool: self.pool.clone(), store: self.store.clone(), audit: self.audit.clone() }
    }

    pub(super) fn new(declaration: Declaration, learned: &Learned, homes: Homes) -> Self {
        let snapshot = Snapshot::compile(&declaration, learned);
        let Homes { pool, store, audit } = homes;
        Self { snapshot, pool, store, audit, declaration, since: SystemTime::now() }
    }

    /// What the operator should know about it, a line each.
    pub fn warnings(&self) -> Vec<String> {
        let warnings = self.declaration.warnings.iter().map(Mistake::to_string);
        warnings.chain(self.snapshot.problems().iter().cloned()).collect()
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
