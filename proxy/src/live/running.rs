//! One configuration with what it needs to run.

use std::{sync::Arc, time::SystemTime};

use frontdesk_filters::site::{Declaration, Learned, Mistake, Snapshot};

use crate::{store::Store, upstream::Pool};

/// What a request runs on, from its first byte to its last.
pub struct Running {
    pub snapshot: Snapshot,
    pub pool: Arc<Pool>,
    /// Kept as long as `[store]` stays the same: what is counted outlives a swap.
    pub store: Arc<Store>,
    /// What all of it was made from; it is compiled again when more is learned of the world outside.
    pub declaration: Declaration,
    pub since: SystemTime,
}

impl Running {
    pub(super) fn new(declaration: Declaration, learned: &Learned, pool: Arc<Pool>, store: Arc<Store>) -> Self {
        let snapshot = Snapshot::compile(&declaration, learned);
        Self { snapshot, pool, store, declaration, since: SystemTime::now() }
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
