//! Counts of the events that the gateway passes to harnesses for other agents.

use std::{collections::HashMap, mem::take};

use parking_lot::Mutex;

/// Counts of gateway events by kind and decision since the last scrape.
#[derive(Debug, Default)]
pub struct Passed(Mutex<HashMap<(&'static str, String), u64>>);

impl Passed {
    /// Counts one event of a kind with its decision.
    pub fn count(&self, kind: &'static str, decision: &str) {
        *self.0.lock().entry((kind, decision.to_owned())).or_default() += 1;
    }

    /// Takes the counts: kind, decision, number.
    pub fn take(&self) -> HashMap<(&'static str, String), u64> {
        take(&mut *self.0.lock())
    }
}
