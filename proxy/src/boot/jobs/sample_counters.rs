//! The background job that samples the counters for the operator's page.

use std::{sync::Arc, time::Duration};

use crate::{jobs::Job, metrics::Metrics};

/// The interval, and the time limit. One sample reads a few dozen numbers.
const SAMPLE: Duration = Duration::from_secs(1);

/// Samples the counts of the last second.
pub(super) fn sample(metrics: &Arc<Metrics>) -> Job {
    let metrics = metrics.clone();
    Job {
        name: "sample",
        to_the_end: true,
        wake: None,
        interval: Box::new(|| SAMPLE),
        bound: SAMPLE,
        run: Box::new(move || {
            let metrics = metrics.clone();
            Box::pin(async move {
                metrics.seen.sample(&metrics);
                Ok(())
            })
        }),
    }
}
