//! The background job that reports the audit log's state to the metrics.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{jobs::Job, live::Live, metrics::Metrics};

/// The interval.
const LOOK: Duration = Duration::from_secs(1);

/// Copies the audit log's state into the metrics.
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
                    // Without an audit log nothing can fail.
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
                    // A new log has started its count at zero.
                    counter.inc_by(if now < before { now } else { now - before });
                }
                if status.well { Ok(()) } else { Err("the audit log cannot be written".into()) }
            })
        }),
    }
}
