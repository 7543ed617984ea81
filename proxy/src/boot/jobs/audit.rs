//! The job that says how the audit log does.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{admin::metrics::Metrics, jobs::Job, live::Live};

/// How often.
const LOOK: Duration = Duration::from_secs(1);

/// What there is to say about the audit log.
pub(super) fn tell(live: &Arc<Live>, metrics: &Arc<Metrics>) -> Job {
    let (live, metrics) = (live.clone(), metrics.clone());
    let told = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
    Job {
        name: "audit",
        to_the_end: true,
        wake: Some(live.swaps()),
        interval: Box::new(|| LOOK),
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
