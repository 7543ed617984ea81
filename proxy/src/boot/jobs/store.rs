//! The job that tends the store between requests.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{admin::metrics::Metrics, jobs::Job, live::Live};

/// How often.
const TEND: Duration = Duration::from_secs(1);

/// What the store has to do between requests, and what there is to say about it.
pub(super) fn tend(live: &Arc<Live>, metrics: &Arc<Metrics>) -> Job {
    let (live, metrics, told) = (live.clone(), metrics.clone(), Arc::new(AtomicU64::new(0)));
    Job {
        name: "store",
        to_the_end: true,
        wake: Some(live.swaps()),
        interval: Box::new(|| TEND),
        bound: Duration::from_secs(30),
        run: Box::new(move || {
            let (store, metrics, told) = (live.current().store.clone(), metrics.clone(), told.clone());
            Box::pin(async move {
                let tended = store.tend().await;
                let status = store.status();
                metrics.store_up.set(status.reachable.into());
                metrics.store_keys.set(i64::try_from(status.tracked).unwrap_or(i64::MAX));
                let before = told.swap(status.without, Ordering::Relaxed);
                // Another store has begun to count anew.
                let since = if status.without < before { status.without } else { status.without - before };
                metrics.store_decided_without.inc_by(since);
                tended
            })
        }),
    }
}

/// What there is to say about the audit log.
pub(super) fn audit(live: &Arc<Live>, metrics: &Arc<Metrics>) -> Job {
    let (live, metrics) = (live.clone(), metrics.clone());
    let told = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
    Job {
        name: "audit",
        to_the_end: true,
        wake: Some(live.swaps()),
        interval: Box::new(|| TEND),
        bound: Duration::from_secs(5),
        run: Box::new(move || {
            let status = live.current().audit.as_ref().map(|log| log.status());
            let (metrics, told) = (metrics.clone(), told.clone());
            Box::pin(async move {
                let Some(status) = status else {
                    // Nothing has to be written, so nothing is in the way of it.
                    metrics.audit_up.set(1);
                    return Ok(());
                };
                metrics.audit_up.set(status.well.into());
                let counts = [
                    (&told.0, status.written, &metrics.audit_written),
                    (&told.1, status.dropped, &metrics.audit_dropped),
                ];
                for (told, now, counter) in counts {
                    let before = told.swap(now, Ordering::Relaxed);
                    // Another log has begun to count anew.
                    counter.inc_by(if now < before { now } else { now - before });
                }
                if status.well { Ok(()) } else { Err("the audit log cannot be written".into()) }
            })
        }),
    }
}
