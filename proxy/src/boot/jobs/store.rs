//! The job that tends the store between requests.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::sleep;

use crate::{admin::metrics::Metrics, jobs::Job, live::Live};

/// How often.
const TEND: Duration = Duration::from_secs(1);

/// Seconds by which clocks may differ without a word.
const CLOCKS_DIFFER: f64 = 5.0;

/// What the store has to do between requests, and what there is to say about it.
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

/// Says it once where the clocks of this machine and of the store differ, and once where they do no more.
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

/// How much was added to what was told before.
fn since(told: &AtomicU64, now: u64) -> u64 {
    let before = told.swap(now, Ordering::Relaxed);
    // Another store has begun to count anew.
    if now < before { now } else { now - before }
}

/// Keeps what became of the last calls, as far as the store is there.
pub(in crate::boot) async fn flush_ends(live: &Live) {
    let store = live.current().store.clone();
    while store.status().waiting > 0 {
        let _ = store.tend().await;
        sleep(Duration::from_millis(100)).await;
    }
}
