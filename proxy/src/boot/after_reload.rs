//! Parts of the process that outlive a configuration and have to follow the next one.

use std::sync::Arc;

use frontdesk_filters::desk::Kept;

use super::descriptors;
use crate::{
    accept::Gate,
    live::{Live, on_config_thread},
    logs::Logs,
};

/// Follows every swap, also one during the start. `made_with`: the connections and the log level of the first
/// configuration.
pub(super) async fn follow(
    live: Arc<Live>,
    (gate, files): (Arc<Gate>, usize),
    logs: Logs,
    kept: Arc<Kept>,
    made_with: (usize, String),
) {
    let mut swaps = live.swaps();
    let (mut most, mut level) = made_with;
    loop {
        let running = live.current();
        let settings = &running.snapshot.settings;
        if settings.protection.max_connections != most {
            most = settings.protection.max_connections;
            gate.resize(descriptors::connections(most, files));
        }
        if settings.log.level != level {
            level.clone_from(&settings.log.level);
            let _ = logs.set_level(&level);
        }
        drop(running);
        if swaps.changed().await.is_err() {
            return;
        }
        // There may be many connections, and closing them takes a while.
        let kept = kept.clone();
        drop(on_config_thread(move || kept.forget()));
    }
}
