//! The background job that maintains the store: reconnects, sweeps, and reports its state.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::sleep;

use crate::{jobs::Job, live::Live, metrics::Metrics};

/// The interval.
const TEND: Duration = Duration::from_secs(1);

/// The difference of the clocks, in seconds, above which the job warns.
const CLOCKS_DIFFER: f64 = 5.0;

/// Maintains the store and reports its state to the metrics and the log.
pub(super) fn tend(live: &Arc<Live>, metrics: &Arc<Metrics>) -> Job {
    let (live, metrics) = (live.clone(), metrics.clone());
    let told: Arc<[AtomicU64; 2]> = Arc::default();
    let is_wrong: Arc<Mutex<bool>> = Arc::default();
    Job {
        name: "store",
        to_the_end: true,
        wake: Some(live.swaps()),
        interval: Box::new(|| TEND),
        bound: Duration::from_secs(30),
        run: Box::new(move || {
            let (store, metrics) = (live.current().store.clone(), metrics.clone());
            let (told, is_wrong) = (told.clone(), is_wrong.clone());
            Box::pin(async move {
                let tended = store.tend().await;
                let status = store.status();
                metrics.store_up.set(status.reachable.into());
                metrics.store_full.set(status.full.into());
                metrics.store_keys.set(i64::try_from(status.tracked).unwrap_or(i64::MAX));
                metrics.store_waiting.set(i64::try_from(status.waiting).unwrap_or(i64::MAX));
                metrics.store_decided_without.inc_by(since(&told[0], status.without));
                if let Some(ahead) = status.clock_ahead {
                    metrics.store_clock_ahead.set(ahead);
                    warn_of_clocks(&mut is_wrong.lock(), ahead);
                }
                metrics.store_losses.inc_by(since(&told[1], status.losses));
                tended
            })
        }),
    }
}

/// Logs once when the clocks of this machine and of the store differ, and once when they agree again.
fn warn_of_clocks(is_wrong: &mut bool, ahead: f64) {
    let differ = ahead.abs() >= CLOCKS_DIFFER;
    if differ && !*is_wrong {
        tracing::warn!(
            ahead_seconds = ahead.round(),
            "the clocks of the store and of this machine differ: set both by NTP; deadlines of calls go by the store's, \
             tokens and signatures by this machine's"
        );
    } else if !differ && *is_wrong {
        tracing::info!("the clocks of the store and of this machine agree again");
    }
    *is_wrong = differ;
}

/// The increase since the last report.
fn since(told: &AtomicU64, now: u64) -> u64 {
    let before = told.swap(now, Ordering::Relaxed);
    // A new store has started its count at zero.
    if now < before { now } else { now - before }
}

/// Stores the results of the last calls at exit, if the store is reachable.
pub(in crate::boot) async fn flush_ends(live: &Live) {
    let store = live.current().store.clone();
    while store.status().waiting > 0 {
        let _ = store.tend().await;
        sleep(Duration::from_millis(100)).await;
    }
}
