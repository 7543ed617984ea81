//! Keeps harnesses of earlier configurations while calls that began under those may still send them events.

use std::sync::Arc;

use frontdesk_filters::harness::Harness;
use parking_lot::Mutex;

use super::Live;
use crate::running::Running;

/// Harnesses that the current configuration does not declare.
#[derive(Default)]
pub(super) struct RetiredHarnesses(Mutex<Vec<Arc<Harness>>>);

impl RetiredHarnesses {
    /// Records a swap.
    pub(super) fn swapped(&self, before: &Running, now: &Running) {
        let stays = |harness: &Arc<Harness>| now.harness.as_ref().is_some_and(|now| Arc::ptr_eq(now, harness));
        self.0.lock().extend(before.harness.clone().filter(|harness| !stays(harness)));
    }
}

impl Live {
    /// Every harness that may still get events. Removes one that no call uses any more, after returning it a last time.
    pub fn harnesses(&self) -> Vec<Arc<Harness>> {
        let mut earlier = self.earlier.0.lock();
        let mut all: Vec<Arc<Harness>> = earlier.extract_if(.., |harness| Arc::strong_count(harness) == 1).collect();
        all.extend(earlier.iter().cloned());
        all.extend(self.current().harness.clone());
        all
    }
}
